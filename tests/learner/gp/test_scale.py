"""Scales: the best is the largest, there and back, by hand for each rule, and outcomes that would break a division."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from belated.learner.gp.scale import Bounds, FloorToOne, Robust, Scale

NONE = np.empty(0)
SCALINGS = pytest.mark.parametrize("scaling", [FloorToOne(), Robust()], ids=["paper", "robust"])
outcomes = st.lists(st.floats(-1e100, 1e100), max_size=20).map(lambda ys: np.array(ys, dtype=float))
bounds = st.builds(Bounds, st.sampled_from([1.0, -1.0]), st.none() | st.floats(-1e100, 1e100))


def test_a_scale_by_hand():
    up, down = Scale(1.0, 10.0, 4.0), Scale(-1.0, 10.0, 4.0)
    assert_array_equal(up.to_model(np.array([10.0, 14.0, 2.0])), [0.0, 1.0, -2.0])
    assert_array_equal(down.to_model(np.array([10.0, 14.0, 2.0])), [0.0, -1.0, 2.0])  # the least is the best
    assert_array_equal(down.to_user(np.array([0.0, -1.0, 2.0])), [10.0, 14.0, 2.0])


@given(
    st.sampled_from([1.0, -1.0]), st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.lists(st.floats(-1e6, 1e6), max_size=9)
)
def test_there_and_back(sign, shift, width, ys):
    scale, y = Scale(sign, shift, width), np.array(ys, dtype=float)
    assert_allclose(scale.to_user(scale.to_model(y)), y, rtol=1e-12, atol=1e-9)


def test_a_scale_may_end_below():
    """How terrible a terrible outcome is says nothing more; what the user states is taken at its word."""
    scale = Scale(-1.0, 10.0, 4.0, least=-2.0)
    assert_array_equal(scale.to_model(np.array([10.0, 14.0, 18.0, 1e100])), [0.0, -1.0, -2.0, -2.0])
    assert scale.to_model_unbounded(np.array(30.0)) == -5.0
    assert_array_equal(scale.to_model(np.array([-30.0])), [10.0])  # the best have no end


# The floor


@pytest.mark.parametrize(
    ("sign", "floor", "y", "stand_in"),
    [
        (1.0, 2.0, [5.0, 1.0], 2.0),  # stated: also when something worse was heard
        (-1.0, 9.0, [5.0, 11.0], 9.0),
        (1.0, None, [5.0, 1.0, 3.0], 1.0),  # the worst heard
        (-1.0, None, [5.0, 1.0, 3.0], 5.0),  # the worst is the largest
        (1.0, None, [], None),
        (1.0, 0.0, [], 0.0),
    ],
)
def test_what_stands_in_for_the_floor(sign, floor, y, stand_in):
    assert Bounds(sign, floor).stand_in(np.array(y, dtype=float)) == stand_in


# The paper's


@pytest.mark.parametrize(
    ("b", "y", "expected"),
    [
        (Bounds(1.0, 0.0, 10.0), [], Scale(1.0, 0.0, 10.0)),
        (Bounds(1.0, 2.0, 10.0), [3.0, 99.0], Scale(1.0, 2.0, 8.0)),  # B_y = |ceiling - floor|, whatever was heard
        (Bounds(-1.0, 10.0, 2.0), [3.0], Scale(-1.0, 10.0, 8.0)),
        (Bounds(1.0, 2.0), [5.0, 12.0, 3.0], Scale(1.0, 2.0, 10.0)),  # the largest |y - floor| heard
        (Bounds(1.0, 2.0), [-5.0, 4.0], Scale(1.0, 2.0, 7.0)),  # below the floor counts as far
        (Bounds(-1.0, 9.0), [5.0, 8.0], Scale(-1.0, 9.0, 4.0)),
        (Bounds(1.0, 2.0), [], Scale(1.0, 2.0, 1.0)),  # 1 before any
        (Bounds(1.0), [5.0, 12.0, 7.0], Scale(1.0, 5.0, 7.0)),  # the worst heard stands in for the floor
        (Bounds(-1.0), [5.0, 12.0, 7.0], Scale(-1.0, 12.0, 7.0)),
        (Bounds(1.0, None, 20.0), [5.0, 12.0], Scale(1.0, 5.0, 15.0)),
        (Bounds(1.0), [], Scale(1.0, 0.0, 1.0)),
        (Bounds(1.0), [5.0], Scale(1.0, 5.0, 1.0)),  # one outcome has no width
        (Bounds(1.0, 5.0), [5.0, 5.0], Scale(1.0, 5.0, 1.0)),
    ],
)
def test_floor_to_one_by_hand(b, y, expected):
    assert FloorToOne()(b, np.array(y, dtype=float)) == expected


@given(bounds, outcomes)
def test_on_the_papers_scale_nothing_heard_is_beyond_one(b, y):
    """B_y = 1: the floor is at 0 and |model| ≤ 1, without a ceiling."""
    scale = FloorToOne()(b, y)
    floor = b.stand_in(y)
    if floor is not None:
        assert scale.to_model(np.array(floor)) == 0.0
        assert np.max(np.abs(scale.to_model(y)), initial=0.0) <= 1.0 + 1e-12


# The robust


@pytest.mark.parametrize(
    ("b", "y", "shift", "width"),
    [
        (Bounds(1.0), [1.0, 2.0, 3.0, 4.0, 5.0], 3.0, 2.0 / 1.349),
        (Bounds(-1.0), [1.0, 2.0, 3.0, 4.0, 5.0], 3.0, 2.0 / 1.349),
        (Bounds(1.0), [0.0, 0.0, 0.0, 0.0, 0.0, 7.0], 0.0, 7.0),  # no spread in the middle: the farthest
        (Bounds(1.0), [4.0, 4.0, 4.0], 4.0, 4.0),  # no spread at all
        (Bounds(1.0), [0.0, 0.0], 0.0, 1.0),
        (Bounds(1.0), [], 0.0, 1.0),
        (Bounds(1.0, 3.0), [], 3.0, 1.0),
        (Bounds(1.0, 2.0, 10.0), [], 6.0, 2.0),  # what is stated, until three are heard
        (Bounds(1.0, 2.0, 10.0), [9.0, 9.5], 6.0, 2.0),
        (Bounds(1.0, 2.0, 10.0), [1.0, 2.0, 3.0, 4.0, 5.0], 3.0, 2.0 / 1.349),
        (Bounds(-1.0, 10.0, 2.0), [], 6.0, 2.0),
    ],
)
def test_robust_by_hand(b, y, shift, width):
    scale = Robust()(b, np.array(y, dtype=float))
    assert scale.sign == b.sign
    assert_allclose([scale.shift, scale.width], [shift, width], rtol=1e-12)


def test_one_wild_outcome_does_not_flatten_the_rest():
    y = np.random.default_rng(0).standard_normal(50)
    calm = Robust()(Bounds(1.0), y).to_model(y)
    y[7] = 1e6
    wild = np.delete(Robust()(Bounds(1.0), y).to_model(y), 7)
    assert np.std(wild) == pytest.approx(np.std(np.delete(calm, 7)), rel=0.15)


def test_on_the_robust_scale_nothing_is_worse_than_ten_widths():
    y = np.append(np.random.default_rng(2).standard_normal(50), [-1e6, 1e6])
    for sign in (1.0, -1.0):
        model = Robust()(Bounds(sign), y).to_model(y)
        assert model.min() == -10.0
        assert model.max() > 1e5
        assert np.sum(model == -10.0) == 1


def test_the_robust_scale_of_normals_is_standard():
    y = 40 + 3 * np.random.default_rng(1).standard_normal(20_000)
    model = Robust()(Bounds(1.0), y).to_model(y)
    assert np.mean(model) == pytest.approx(0.0, abs=0.05)
    assert np.std(model) == pytest.approx(1.0, abs=0.05)


# Laws of both


@SCALINGS
@given(b=bounds, y=outcomes)
def test_scaled_outcomes_are_finite_and_in_order(scaling, b, y):
    """|y| up to 1e100 is survived; a better outcome is never smaller on the model's scale."""
    scale = scaling(b, y)
    assert scale.sign == b.sign
    assert math.isfinite(scale.shift)
    assert 0 < scale.width < math.inf
    model = scale.to_model(y)
    assert np.all(np.isfinite(model))
    better = np.argsort(b.sign * y, kind="stable")
    assert np.all(np.diff(model[better]) >= 0)
    assert np.all(np.isfinite(scale.to_user(model)))


@SCALINGS
@pytest.mark.parametrize("largest", [1e200, 8e307])
def test_outcomes_at_the_end_of_float64_are_survived(scaling, largest):
    """tell accepts any finite number, so it must not end in inf or NaN here."""
    y = np.array([-largest, 0.0, 1.0, 2.0, largest])
    scale = scaling(Bounds(1.0), y)
    assert np.all(np.isfinite(scale.to_model(y)))
    assert 0 < scale.width < math.inf


@SCALINGS
@pytest.mark.parametrize("y", [0.1 + 0.2, -1e100, 1e-300, 5e-324, 0.0])
def test_equal_outcomes_are_survived(scaling, y):
    many = np.full(7, y)
    scale = scaling(Bounds(1.0), many)
    assert 0 < scale.width < math.inf
    assert np.all(np.abs(scale.to_model(many)) <= 1.0)


def test_which_scales_last_until_the_next_fit():
    assert not FloorToOne().lasting
    assert Robust().lasting
