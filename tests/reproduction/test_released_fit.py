"""Fits of the released program: the likelihood, its gradient, merged rows, and where the search ends."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from belated.learner.arrays import Array
from belated.learner.gp.kernels import SE
from belated.learner.gp.posterior import GP
from reproduction.released_fit import (
    JITTER,
    MergedRows,
    NegativeLogLikelihood,
    factor,
    find_optima,
    fit_gp,
    merge_rows,
    softplus,
    softplus_inverse,
)

START = GP(SE(0.1, 1.0), 1.0)
PLACES = [0, 1, 2, 1, 3, 0, 1, 4, 5, 5]  # which query each row has


def make_repeated() -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    return rng.random((6, 2))[PLACES], rng.random(10)


def compute_evidence(theta: Array, X: Array, y: Array) -> float:
    """log p(y | X), row by row."""
    l, v, lam = theta
    K = SE(l, v)(X, X) + (lam + JITTER) * np.eye(len(X))
    return -0.5 * float(y @ np.linalg.solve(K, y) + np.linalg.slogdet(K)[1] + len(X) * np.log(2 * np.pi))


def test_rows_are_merged_in_the_order_of_their_first() -> None:
    X, y = make_repeated()
    rows = merge_rows(X, y)
    np.testing.assert_array_equal(rows.X, X[[0, 1, 2, 4, 7, 8]])
    np.testing.assert_array_equal(rows.counts, [2, 3, 1, 1, 1, 2])
    groups = [y[np.array(PLACES) == place] for place in range(6)]
    np.testing.assert_allclose(rows.y, [group.mean() for group in groups])
    assert rows.scatter == pytest.approx(sum(np.sum(np.square(group - group.mean())) for group in groups))


@pytest.mark.parametrize("theta", [(0.3, 0.8, 0.02), (2.0, 0.1, 1.0), (0.05, 3.0, 1e-5)])
def test_merged_rows_say_what_the_rows_say(theta: tuple[float, float, float]) -> None:
    X, y = make_repeated()
    value, _ = NegativeLogLikelihood(merge_rows(X, y))(np.array(theta))
    assert value == pytest.approx(-compute_evidence(np.array(theta), X, y), rel=1e-8, abs=1e-8)
    gp, rows, Q = GP(SE(*theta[:2]), theta[2]), merge_rows(X, y), np.random.default_rng(1).random((30, 2))
    s = theta[2] + JITTER
    apart, merged = gp.condition(X, y, np.full(10, s)), gp.condition(rows.X, rows.y, s / rows.counts)
    np.testing.assert_allclose(merged.mean(Q), apart.mean(Q), rtol=0, atol=1e-8)
    np.testing.assert_allclose(merged.variance(Q), apart.variance(Q), rtol=0, atol=1e-8)


@pytest.mark.parametrize("theta", [(0.3, 0.8, 0.02), (2.0, 0.1, 1.0)])
def test_the_gradient_is_the_slope(theta: tuple[float, float, float]) -> None:
    objective, here = NegativeLogLikelihood(merge_rows(*make_repeated())), np.array(theta)
    steps = 1e-6 * np.eye(3)
    slopes = [(objective(here + step)[0] - objective(here - step)[0]) / 2e-6 for step in steps]
    np.testing.assert_allclose(objective(here)[1], slopes, rtol=1e-6)


def test_a_fit_is_isotropic_and_the_most_likely() -> None:
    rng = np.random.default_rng(6)
    X = rng.random((40, 2))
    y = np.sin(6 * X[:, 0]) + np.cos(5 * X[:, 1]) + 0.1 * rng.standard_normal(40)
    gp = fit_gp(START, X, y, np.random.default_rng(0))
    l = gp.kernel.lengthscales(2)
    assert l[0] == l[1]
    assert gp.lam == pytest.approx(0.01, rel=0.6)
    theta = np.array([l[0], gp.kernel.variance, gp.lam])
    best = compute_evidence(theta, X, y)
    for scale in itertools.product((0.8, 1.0, 1.25), repeat=3):
        assert compute_evidence(scale * theta, X, y) <= best + 1e-6
    again = fit_gp(START, X, y, np.random.default_rng(1))
    other = np.array([again.kernel.lengthscales(2)[0], again.kernel.variance, again.lam])
    assert compute_evidence(other, X, y) == pytest.approx(best, abs=1e-4)  # other starts, the same place


def test_a_fit_starts_from_where_the_hyperparameters_are() -> None:
    X, y = make_repeated()
    (value, gp), *others = find_optima(GP(SE(0.4, 0.3), 0.1), X, y, np.zeros((2, 3)))
    assert len(others) == 2
    assert others[0] == others[1]  # both from x = 0
    (stays, same), *_ = find_optima(gp, X, y, np.empty((0, 3)))
    assert stays == pytest.approx(value)
    assert same.lam == pytest.approx(gp.lam, rel=1e-3)


def test_a_fit_to_zeros_alone_believes_in_nothing() -> None:
    gp = fit_gp(START, np.random.default_rng(0).random((5, 2)), np.zeros(5), np.random.default_rng(0))
    assert 0.0 < gp.lam < 1e-15
    assert 0.0 < gp.kernel.variance < 1e-15


def test_a_fit_to_equal_outcomes_ends() -> None:
    """There v, l and 1 / λ would grow for ever."""
    gp = fit_gp(START, np.random.default_rng(0).random((10, 2)), np.full(10, 0.65), np.random.default_rng(0))
    assert gp.kernel.lengthscales(2)[0] > 1e3
    assert gp.kernel.variance == pytest.approx(0.65**2, rel=1e-2)


def test_a_factor_that_rounding_makes_fail_gets_jitter() -> None:
    K = np.ones((5, 5))
    chol = factor(K, np.zeros(5))
    np.testing.assert_allclose(chol @ chol.T, K + 1e-6 * np.eye(5), atol=1e-12)


def test_softplus_has_an_inverse_however_large_or_small() -> None:
    theta = np.array([1e-80, 1e-16, 1e-8, 0.5, 3.0, 800.0, 1e6])
    np.testing.assert_allclose(softplus(softplus_inverse(theta)), theta)


def test_one_row_is_enough() -> None:
    rows = merge_rows(np.array([[0.5, 0.5]]), np.array([0.3]))
    assert isinstance(rows, MergedRows)
    assert NegativeLogLikelihood(rows)(np.array([0.1, 1.0, 1.0]))[0] == pytest.approx(
        0.5 * 0.09 / (2 + JITTER) + 0.5 * np.log(2 * np.pi * (2 + JITTER))
    )
