"""A summary of many rows: it tends to the exact belief, grows like a fresh one, and is never much too sure."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from belated.learner.gp.kernels import SE, Matern52, Product
from belated.learner.gp.posterior import GP, GrowingPosterior, Posterior
from belated.learner.gp.summary import RowSummary, Sizes, SummaryStore, choose_centres
from tests.support.examples import examples

FEW = Sizes(exact=20, centres=16, newest=8, block=8, aside=3)
KERNELS = [Matern52((0.3, 0.6)), SE(0.4, 2.0), Product(SE(0.4), Matern52(0.3, 2.0)).on([[1], [1]])]
POOL = np.random.default_rng(3).random((64, 2))
OUTCOMES = np.sin(5 * POOL[:, 0]) + POOL[:, 1] + 0.2 * np.random.default_rng(4).standard_normal(64)
NOISES = 10.0 ** np.random.default_rng(5).uniform(-2, 0, 64)
Q = np.random.default_rng(6).random((12, 2))


def grow(sizes: Sizes = FEW) -> GrowingPosterior:
    return GrowingPosterior(store=SummaryStore(sizes))


def believe(gp: GP, n: int, sizes: Sizes, centres=(), listed=None) -> Posterior:
    return grow(sizes).condition(gp, np.arange(1, n + 1), POOL[:n], OUTCOMES[:n], NOISES[:n], listed, centres=centres)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_with_every_row_a_centre_the_belief_is_exact(kernel):
    gp = GP(kernel, 0.1, 0.7)
    exact = gp.condition(POOL, OUTCOMES, NOISES)
    belief = believe(gp, 64, FEW, range(1, 65))
    assert len(belief.summarised) == 56  # and the newest eight
    assert_allclose(belief.mean(Q), exact.mean(Q), atol=1e-7)
    assert_allclose(belief.cov(Q), exact.cov(Q), atol=1e-7)
    for mine, theirs in zip(belief.gradients(Q), exact.gradients(Q), strict=True):
        assert_allclose(mine, theirs, atol=1e-6)
    assert_allclose(belief.level_std(Q), exact.level_std(Q), atol=1e-7)
    assert_allclose(belief.gain(), exact.gain(), rtol=1e-7)
    assert_allclose(belief.own_means, belief.mean(belief.X), atol=1e-7)


def test_more_centres_come_nearer_to_the_exact_belief():
    gp = GP(Matern52(0.4), 0.1)
    exact = gp.condition(POOL, OUTCOMES, NOISES).mean(Q)
    order = choose_centres(gp.kernel, POOL[:56], np.full(56, 1e-9), 56) + 1
    gaps = [np.max(np.abs(believe(gp, 64, FEW, order[:count]).mean(Q) - exact)) for count in (4, 12, 28, 56)]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 0.05
    assert gaps[-1] < 1e-7


def test_rows_of_which_the_centres_say_too_little_stay_as_they_are():
    """What is summarised says about f(Z) what its model says, and the rows beside it are outcomes like the newest."""
    gp, centres = GP(Matern52(0.2), 0.1, 0.3), np.arange(0, 40, 8)
    X, y = POOL.copy(), OUTCOMES
    X[[20, 33, 41]] += 3.0  # far from all centres
    belief = grow().condition(gp, np.arange(1, 65), X, y, NOISES, centres=centres + 1)
    apart = np.r_[20, 33, 41, 56:64]
    assert_array_equal(belief.X, X[np.r_[centres, apart]])
    old, Z, kernel = np.setdiff1d(np.arange(56), apart), X[centres], gp.kernel

    def say(A, B):
        """What f(Z) says of the covariance."""
        return kernel(A, Z) @ np.linalg.solve(kernel(Z, Z), kernel(Z, B))

    rows = np.concatenate([old, apart])
    C = np.block(
        [
            [say(X[old], X[old]) + np.diag(kernel.variance - np.diag(say(X[old], X[old]))), say(X[old], X[apart])],
            [say(X[apart], X[old]), kernel(X[apart], X[apart])],
        ]
    ) + np.diag(NOISES[rows])
    there = np.vstack([Q, X[[20, 33]]])
    k = np.hstack([say(there, X[old]), kernel(there, X[apart])])
    assert_allclose(belief.mean(there), gp.mean + k @ np.linalg.solve(C, y[rows] - gp.mean), atol=1e-7)
    assert_allclose(belief.variance(there), kernel.variance - np.sum(k * np.linalg.solve(C, k.T).T, axis=1), atol=1e-7)


@given(st.lists(st.tuples(st.integers(15, 64), st.sampled_from([0, 1, 2]), st.booleans()), min_size=1, max_size=6))
@settings(max_examples=examples(30))
def test_a_memory_gives_what_a_fresh_belief_gives(asks):
    """Bit for bit, whatever was asked before: fewer or more rows, other outcomes, another row left out."""
    gp, memory = GP(KERNELS[0], 0.1), grow()
    for n, change, by_fit in asks:
        ids = np.delete(np.arange(n), [] if change < 2 else [5])
        y = OUTCOMES[ids] * (1 if change == 0 else 3)
        centres = (1, 4, 7, 11) if by_fit else ()
        mine, fresh = (
            each.condition(gp, ids + 1, POOL[ids], y, NOISES[ids], POOL, centres=centres) for each in (memory, grow())
        )
        assert_array_equal(mine.mean(POOL), fresh.mean(POOL))
        assert_array_equal(mine.std(POOL), fresh.std(POOL))
        assert_array_equal(mine.mean(Q), fresh.mean(Q))


def test_what_was_summarised_is_not_computed_again():
    looked_at: list[int] = []

    @dataclass(frozen=True)
    class Counted(SE):
        def __call__(self, X, Z):
            looked_at.append(X.size * Z.size)
            return super().__call__(X, Z)

    gp, memory = GP(Counted(0.3), 0.1), grow()
    memory.condition(gp, range(61), POOL[:61], OUTCOMES[:61], centres=range(8))
    all_rows = sum(looked_at)
    looked_at.clear()
    memory.condition(gp, range(62), POOL[:62], OUTCOMES[:62], centres=range(8))  # one more query
    assert 0 < sum(looked_at) < all_rows / 10
    looked_at.clear()
    memory.condition(gp, range(62), POOL[:62], np.append(OUTCOMES[:61], 9.0), centres=range(8))  # a new outcome
    assert not looked_at


def test_a_query_that_was_corrected_and_back_gives_its_own_belief():
    """The outcomes are the same all the time: what is kept of a block is about its queries too."""
    gp, memory, moved = GP(KERNELS[0], 0.1), grow(), POOL.copy()
    moved[30] = 0.5
    for n, X in ((24, POOL), (64, POOL), (64, moved), (64, POOL)):
        mine, fresh = (
            each.condition(gp, range(n), X[:n], OUTCOMES[:n], NOISES[:n], centres=range(8)) for each in (memory, grow())
        )
        assert_array_equal(mine.mean(Q), fresh.mean(Q))


@pytest.mark.parametrize("begin", [0, 24, 40, 48])
def test_chunks_may_be_summed_up_anywhere(begin):
    """In any order; from nothing, or from a summary that ends within a chunk or with one."""
    sizes, centres, asked = replace(FEW, chunk=2), POOL[:12], []

    def run_backwards(do, chunks):
        chunks = [copy.deepcopy(chunk) for chunk in chunks]
        asked.extend(len(chunk.X) for chunk in chunks)
        return reversed([do(chunk) for chunk in reversed(chunks)])

    nothing = RowSummary.begin(KERNELS[0], centres, sizes)
    start = nothing.extend(POOL[:begin], NOISES[:begin], OUTCOMES[:begin]) if begin else nothing
    here, there = (start.extend(POOL[:60], NOISES[:60], OUTCOMES[:60], run) for run in (None, run_backwards))
    assert asked == {0: [16, 16, 16, 12], 24: [16, 12], 40: [12], 48: [12]}[begin]
    assert_array_equal(here.sums.noise, there.sums.noise)
    assert_array_equal(here.place, there.place)
    assert_array_equal(here.average(OUTCOMES[:60]), there.average(OUTCOMES[:60]))
    assert_array_equal(nothing.extend(POOL[:60], NOISES[:60], OUTCOMES[:60]).sums.noise, here.sums.noise)


def test_gradients_are_differences():
    belief, step = believe(GP(KERNELS[0], 0.1), 64, FEW), 1e-6
    _, _, d_mean, d_variance = belief.gradients(Q)
    for column in range(2):
        shift = step * np.eye(2)[column]
        assert_allclose(
            d_mean[:, column], (belief.mean(Q + shift) - belief.mean(Q - shift)) / (2 * step), rtol=1e-4, atol=1e-5
        )
        assert_allclose(
            d_variance[:, column],
            (belief.variance(Q + shift) - belief.variance(Q - shift)) / (2 * step),
            rtol=1e-4,
            atol=1e-5,
        )


def test_draws_have_the_mean_and_the_spread_of_the_belief():
    """Pathwise on a list, from the centres and their correlated noise, and as functions."""
    belief = believe(GP(Matern52(0.3), 0.1), 64, FEW, listed=POOL)
    rng, count = np.random.default_rng(0), 1500
    on_list = np.stack([belief.draw(POOL, rng) for _ in range(count)])
    paths = np.stack([belief.path(rng)(Q) for _ in range(300)])
    for draws, where in ((on_list, POOL), (paths, Q)):
        mean, std = belief.mean_and_std(where)
        assert np.max(np.abs(np.mean(draws, axis=0) - mean) / std) < 5.0 / np.sqrt(len(draws))
        assert_allclose(np.std(draws, axis=0), std, rtol=5.0 / np.sqrt(2 * len(draws)))


def test_noisy_rows_need_few_centres():
    X = np.random.default_rng(0).random((600, 2))
    kernel = Matern52(0.5)
    counts = [len(choose_centres(kernel, X, np.full(600, lam), 600)) for lam in (10.0, 0.05, 1e-6)]
    assert counts[0] < counts[1] < counts[2] == 600


def test_centres_are_different_queries():
    X = np.repeat(POOL[:5], 4, axis=0)
    assert len(choose_centres(Matern52(0.3), X, np.full(20, 1e-6), 20)) == 5


def measure_gap(d: int, l: float, noise: float, n: int, sizes: Sizes) -> tuple[float, float, float]:
    """The error of the mean in exact standard deviations (root mean square), and the least and the median ratio of
    standard deviations. Half of the rows are uniform, half are near an optimum, as an optimiser leaves them."""
    rng, kernel = np.random.default_rng(0), Matern52((l,) * d)
    optimum = 0.2 + 0.6 * rng.random(d)

    def spread(count: int) -> np.ndarray:
        near = np.clip(optimum + 0.08 * rng.standard_normal((count // 2, d)), 0.0, 1.0)
        return np.vstack([rng.random((count - count // 2, d)), near])[rng.permutation(count)]

    X, there = spread(n), spread(400)
    both = np.vstack([X, there])
    f = np.linalg.cholesky(kernel(both, both) + 1e-8 * np.eye(len(both))) @ rng.standard_normal(len(both))
    y, gp = f[:n] + noise * rng.standard_normal(n), GP(kernel, noise**2)
    old = sizes.count_summarised(n)
    centres = 1 + choose_centres(kernel, X[:old], np.full(old, noise**2), sizes.centres)
    exact = grow(Sizes(exact=n)).condition(gp, np.arange(1, n + 1), X, y)
    belief = grow(sizes).condition(gp, np.arange(1, n + 1), X, y, centres=centres)
    mean, std = exact.mean_and_std(there)
    ratio = belief.std(there) / std
    gap = np.sqrt(np.mean(np.square((belief.mean(there) - mean) / std)))
    return float(gap), float(np.min(ratio)), float(np.median(ratio))


@pytest.mark.parametrize(("d", "l", "noise"), [(2, 0.3, 0.5), (4, 1.0, 0.5)])
def test_the_belief_is_the_exact_one_for_most_purposes(d, l, noise):
    gap, least, _ = measure_gap(d, l, noise, 600, Sizes(exact=400, centres=384, newest=64, block=64, aside=0))
    assert gap <= 0.1
    assert least >= 0.98


@pytest.mark.long
@pytest.mark.parametrize(
    ("d", "l", "noise"), [(2, 0.15, 0.05), (2, 0.15, 0.5), (6, 1.0, 0.5), (4, 0.4, 0.2), (3, 0.3, 1.0)]
)
def test_three_thousand_rows_are_summarised_well(d, l, noise):
    """The cases of docs/scale.md that a summary suits."""
    gap, least, median = measure_gap(d, l, noise, 3000, Sizes())
    assert gap <= 0.1
    assert least >= 0.95
    assert median >= 0.98


@pytest.mark.long
def test_where_each_row_says_something_new_the_belief_is_unsure_rather_than_wrong():
    """Six coordinates, little noise: no summary of this size can be close, and its std says so."""
    gap, least, _ = measure_gap(6, 0.5, 0.05, 3000, Sizes())
    assert 0.1 < gap < 1.0
    assert least >= 0.98
