"""Outcomes of one query as one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from belated.learner.gp.merging import group_rows, merge_outcomes, number_points


def test_rows_come_together_in_the_order_in_which_they_first_come():
    X = np.array([[3.0, 1.0], [1.0, 1.0], [3.0, 1.0], [2.0, 5.0], [1.0, 1.0], [3.0, 1.0]])
    first, place = group_rows(number_points(X))
    assert_array_equal(first, [0, 1, 3])
    assert_array_equal(place, [0, 1, 0, 2, 1, 0])
    assert_array_equal(X[first][place], X)
    assert [len(part) for part in group_rows(number_points(np.empty((0, 2))))] == [0, 0]
    first, place = group_rows(np.array([5, 2, 5, 0, 2]))  # some numbers are left out
    assert_array_equal(first, [0, 1, 3])
    assert_array_equal(place, [0, 1, 0, 2, 1])


@given(data=st.data())
def test_a_mean_weighs_each_outcome_by_how_sure_it_is(data):
    n = data.draw(st.integers(1, 12))
    numbers = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    y = np.array(data.draw(st.lists(st.floats(-1e6, 1e6), min_size=n, max_size=n)))
    noise = np.array(data.draw(st.lists(st.floats(1e-6, 1e6), min_size=n, max_size=n)))
    grouping = group_rows(numbers)
    merged = merge_outcomes(grouping, y, noise)
    for point in range(len(grouping.first)):
        own = grouping.place == point
        precision = np.sum(1.0 / noise[own])
        assert merged.noise[point] == pytest.approx(1.0 / precision)
        assert merged.mean[point] == pytest.approx(np.sum(y[own] / noise[own]) / precision, abs=1e-6)
        assert np.sum(merged.weights[own]) == pytest.approx(1.0)
        if np.sum(own) == 1:  # bit for bit
            assert merged.mean[point] == y[own][0]
            assert merged.noise[point] == noise[own][0]


def test_an_outcome_without_noise_outweighs_all_others():
    merged = merge_outcomes(group_rows(np.array([0, 0, 1])), np.array([1.0, 5.0, 2.0]), np.array([0.0, 0.3, 0.0]))
    assert_array_equal(merged.mean, [1.0, 2.0])
    assert_array_equal(merged.noise, [0.0, 0.0])


def test_what_is_huge_or_tiny_does_not_overflow():
    for noise in (1e-300, 1e300):
        merged = merge_outcomes(group_rows(np.zeros(3, dtype=int)), np.full(3, 1e100), np.full(3, noise))
        assert_allclose(merged.mean, 1e100)
        assert_allclose(merged.noise, noise / 3)
