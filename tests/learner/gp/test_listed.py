"""A belief about listed pairs is the exact one, and the same bits however it came about."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from belated.learner.gp import listed
from belated.learner.gp.kernels import SE, Matern52, Product
from belated.learner.gp.listed import GrowingListed, JointStore, Listing
from belated.learner.gp.merging import group_rows, merge_outcomes, number_points
from belated.learner.gp.posterior import GP

Q, CONTEXTS = np.random.default_rng(0).random((9, 2)), np.array([[0.0], [0.5], [1.0]])
KERNELS = {
    "product": Product(SE(0.6), Matern52(0.4), split=1),
    "smooth": Product(SE(2.0), SE(1.0, variance=4.0), split=1),
}
STEP = 4


def make_rows(seed: int, n: int, noise: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outcomes of pairs: some with noise of their own, one of them nearly worthless."""
    rng = np.random.default_rng(seed)
    X = np.hstack([CONTEXTS[rng.integers(len(CONTEXTS), size=n)], Q[rng.integers(len(Q) - 2, size=n)]])
    lams = noise * rng.choice([1.0, 0.2, 30.0], size=n)
    lams[::7] = 1e7
    return X, np.sin(3 * X.sum(axis=1)) + rng.standard_normal(n), lams


def condition(gp, X, y, lams, merged, store=None, extra=0):
    """The belief with the first outcomes merged, the next ones in steps, and the last ones apart; `extra` of these are
    no part of the steps (pending)."""
    grouping = group_rows(number_points(X[:merged]))
    first, rest = merge_outcomes(grouping, y[:merged], lams[:merged]), len(X) - merged - extra
    listing = Listing(Q, CONTEXTS, len(grouping.first), rest // STEP * STEP, STEP)
    rows = np.vstack([X[:merged][grouping.first], X[merged:]])
    values = np.concatenate([first.mean, y[merged:]])
    noise = np.concatenate([first.noise, lams[merged:]])
    growing = GrowingListed(JointStore(), listing) if store is None else replace(store, listing=listing)
    return growing, growing.condition(gp, range(1, len(rows) + 1), rows, values, noise)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@given(st.integers(0, 10**6), st.integers(0, 60), st.integers(0, 40), st.sampled_from([1e-4, 0.1, 3.0]))
def test_it_is_the_exact_belief(kernel, seed, merged, later, noise):
    gp = GP(kernel, noise, mean=0.3)
    X, y, lams = make_rows(seed, merged + later, noise)
    _, found = condition(gp, X, y, lams, merged)
    exact = gp.condition(X, y, lams)
    rows = Listing(Q, CONTEXTS, 0, 0, STEP).list_pairs()
    assert_allclose(found.mean(rows), exact.mean(rows), rtol=0.0, atol=1e-9)
    assert_allclose(found.cov(rows), exact.cov(rows), rtol=0.0, atol=1e-9)
    assert_allclose(np.square(found.std(rows)), np.square(exact.std(rows)), rtol=0.0, atol=1e-9)
    now, then = found.difference_from(rows[3:4]), exact.difference_from(rows[3:4])
    for one, other in zip(now.mean_and_std(rows), then.mean_and_std(rows), strict=True):
        assert_allclose(one, other, rtol=0.0, atol=1e-8)


def test_a_belief_that_went_on_has_the_bits_of_a_fresh_one():
    gp = GP(KERNELS["product"], 0.1)
    X, y, lams = make_rows(5, 60, 0.1)
    rows = Listing(Q, CONTEXTS, 0, 0, STEP).list_pairs()
    growing = None
    for n in range(30, 60):
        growing, found = condition(gp, X[:n], y[:n], lams[:n], 28, growing)
        _, fresh = condition(gp, X[:n], y[:n], lams[:n], 28)
        for one, other in zip(found.mean_and_std(rows), fresh.mean_and_std(rows), strict=True):
            assert np.array_equal(one, other)


def test_what_changed_makes_it_anew():
    """Other outcomes, another noise, other hyperparameters, another context: nothing old is used."""
    gp = GP(KERNELS["product"], 0.1)
    X, y, lams = make_rows(6, 40, 0.1)
    rows = Listing(Q, CONTEXTS, 0, 0, STEP).list_pairs()
    growing, _ = condition(gp, X, y, lams, 28)
    changed = y.copy()
    changed[3] += 1.0
    for other_gp, values, noise in ((gp, changed, lams), (gp, y, 2 * lams), (replace(gp, lam=0.2, mean=1.0), y, lams)):
        _, found = condition(other_gp, X, values, noise, 28, growing)
        assert_allclose(found.mean(rows), other_gp.condition(X, values, noise).mean(rows), rtol=0.0, atol=1e-9)


def test_drawn_functions_have_its_mean_and_covariance():
    gp = GP(KERNELS["product"], 0.1)
    X, y, lams = make_rows(7, 50, 0.1)
    _, found = condition(gp, X, y, lams, 28)
    rows = np.hstack([np.repeat(CONTEXTS[:1], len(Q), axis=0), Q])
    rng = np.random.default_rng(0)
    drawn = np.array([found.draw(rows, rng) for _ in range(4000)])
    assert_allclose(drawn.mean(axis=0), found.mean(rows), atol=0.06)
    assert_allclose(np.cov(drawn.T), found.cov(rows), atol=0.06)
    again = found.path(np.random.default_rng(1))
    assert np.array_equal(again(rows), found.draw(found.X, np.random.default_rng(1))[found.joint.find(rows)])


def test_lists_that_were_looked_for_are_forgotten_at_some_time(monkeypatch):
    monkeypatch.setattr(listed, "FEW", 2)
    monkeypatch.setattr(listed, "LISTS", 2)
    X, y, lams = make_rows(8, 40, 0.1)
    _, found = condition(GP(KERNELS["product"], 0.1), X, y, lams, 28)
    rows = found.X
    for n in range(3, 20):
        assert np.array_equal(found.joint.find(rows[:n]), np.arange(n))
    assert len(found.joint.lists) <= 2
