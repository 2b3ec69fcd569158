"""The posterior: scikit-learn's, the same with a table and with a memory, draws by their law, no NaN at the edges."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from belated.errors import NotPositiveDefinite
from belated.learner.confidence import realised_gain
from belated.learner.gp import posterior as module
from belated.learner.gp.kernels import SE, Matern52, Product
from belated.learner.gp.posterior import FEATURES, GP, JITTERS, GrowingPosterior, Posterior, compute_root
from tests.support.examples import examples

KERNELS = {
    "SE": SE(0.3),
    "SE, a lengthscale each": SE((0.2, 0.5, 1.1), 2.5),
    "Matern": Matern52(0.4, 0.7),
    "Matern, a lengthscale each": Matern52((0.15, 0.6, 2.0), 1.3),
    "context and query": Product(SE(0.4, 1.5), Matern52((0.3, 0.8), 2.0)).on([[1], [1, 1]]),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())


def packed(factor):
    """Every row of L, one after the other."""
    return np.concatenate([np.empty(0), *(factor.row(i) for i in range(factor.n))])


def sample(n: int, D: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points with duplicates among them, outcomes, and a noise variance per row."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, D))
    X[n // 2 :: 3] = X[: len(X[n // 2 :: 3])]
    y = np.sin(7 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    return X, y, 10.0 ** rng.uniform(-3, 0, n)


# Eq. (1)


@pytest.mark.parametrize("mean", [0.0, -1.7])
@pytest.mark.parametrize("noise", ["one lam", "a noise per row"])
@pytest.mark.parametrize("kernel", [k for k in KERNELS.values() if not isinstance(k, Product)], ids=repr)
def test_the_posterior_is_scikit_learns(kernel, noise, mean):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install belated[dev]")
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process import kernels as theirs

    X, y, lams = sample(60)
    lams = np.full(60, 0.01) if noise == "one lam" else lams
    l = kernel.lengthscales(3).copy()
    shape = theirs.RBF(l) if isinstance(kernel, SE) else theirs.Matern(l, nu=2.5)
    oracle = GaussianProcessRegressor(theirs.ConstantKernel(kernel.variance) * shape, alpha=lams, optimizer=None)
    oracle.fit(X, y - mean)
    Q = np.vstack([np.random.default_rng(1).random((30, 3)), X[:5]])
    mu, cov = oracle.predict(Q, return_cov=True)

    ours = GP(kernel, 0.01, mean).condition(X, y, None if noise == "one lam" else lams)
    assert_allclose(ours.mean(Q), mean + mu, rtol=0, atol=1e-8)
    assert_allclose(ours.cov(Q), cov, rtol=0, atol=1e-8)
    assert_allclose(ours.variance(Q), np.diag(cov), rtol=0, atol=1e-8)
    assert_allclose(ours.std(Q), np.sqrt(np.diag(cov)), rtol=0, atol=1e-8)


@every_kernel
def test_the_posterior_is_eq_1(kernel):
    """μ = k(K + λI)⁻¹ỹ and σ² = k(x, x) - k(K + λI)⁻¹k with a general solve, contexts included."""
    X, y, lams = sample(40)
    Q = np.random.default_rng(2).random((9, 3))
    A, k = kernel(X, X) + np.diag(lams), kernel(Q, X)
    ours = GP(kernel, 0.5).condition(X, y, lams)
    assert_allclose(ours.mean(Q), k @ np.linalg.solve(A, y), rtol=0, atol=1e-10)
    assert_allclose(ours.cov(Q), kernel(Q, Q) - k @ np.linalg.solve(A, k.T), rtol=0, atol=1e-10)
    assert len(ours.X) < len(X)  # there are repeats: the alpha of a query is the sum of those of its outcomes
    assert_allclose(ours.alpha, np.bincount(ours.place, np.linalg.solve(A, y)), rtol=0, atol=1e-9)


@every_kernel
@pytest.mark.parametrize("listed", [False, True])
def test_before_any_query_it_is_the_prior(kernel, listed):
    Q = np.random.default_rng(3).random((6, 3))
    prior = GP(kernel, 0.1, 2.5).condition(np.empty((0, 3)), np.empty(0), Q=Q if listed else None)
    assert_array_equal(prior.mean(Q), np.full(6, 2.5))
    assert_array_equal(prior.variance(Q), np.full(6, kernel.variance))
    assert_array_equal(prior.cov(Q), kernel(Q, Q))
    mean, variance, d_mean, d_variance = prior.gradients(Q)
    assert_array_equal(mean, np.full(6, 2.5))
    assert_array_equal(variance, np.full(6, kernel.variance))
    assert_array_equal(d_mean, np.zeros((6, 3)))
    assert_array_equal(d_variance, np.zeros((6, 3)))
    assert prior.gain() == 0.0
    assert prior.std_of(np.empty(0, dtype=bool)).shape == (0,)


@pytest.mark.parametrize("lam", [1e-3, 0.05, 1.02])
def test_the_gain_is_the_realised_gain(lam):
    """½ log det(I + K/λ); with a λ per row ½ log det(I + Λ^-½ K Λ^-½)."""
    X, y, lams = sample(50)
    K = SE(0.3)(X, X)
    assert_allclose(GP(SE(0.3), lam).condition(X, y).gain(), realised_gain(K, lam), rtol=1e-10)
    scaled = K / np.sqrt(np.outer(lams, lams))
    assert_allclose(GP(SE(0.3), lam).condition(X, y, lams).gain(), realised_gain(scaled, 1.0), rtol=1e-10)


@every_kernel
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 30), log_lam=st.floats(-8, 1))
@settings(max_examples=examples(25))
def test_the_variance_lies_between_zero_and_the_priors(kernel, seed, n, log_lam):
    X, y, _ = sample(max(n, 1), seed=seed)
    X, y = X[:n], y[:n]
    Q = np.vstack([X, np.random.default_rng(seed).random((10, 3))])
    for listed in (Q, None):
        belief = GP(kernel, 10.0**log_lam).condition(X, y, Q=listed)
        assert np.all(belief.variance(Q) >= 0.0)
        assert np.all(belief.variance(Q) <= kernel.variance)
        assert np.all(np.isfinite(belief.mean(Q)))


def test_telling_changes_the_mean_and_never_the_variance():
    X, y, _ = sample(30)
    Q = np.random.default_rng(4).random((8, 3))
    one, other = (GP(SE(0.3), 0.1).condition(X, outcomes) for outcomes in (y, np.roll(y, 1)))
    assert np.max(np.abs(one.mean(Q) - other.mean(Q))) > 0.01
    assert_array_equal(one.variance(Q), other.variance(Q))
    assert_array_equal(packed(one.factor), packed(other.factor))


# The table of a finite Q


@every_kernel
@pytest.mark.parametrize("n", [1, 31, 32, 33, 70])  # a table has room for 32 rows and then for twice as many
def test_a_table_gives_what_no_table_gives(kernel, n):
    rng = np.random.default_rng(5)
    Q = rng.random((50, 3))
    X, lams = Q[rng.integers(50, size=n)], 10.0 ** rng.uniform(-3, 0, n)
    y = rng.standard_normal(n)
    gp = GP(kernel, 0.1, 0.4)
    listed, plain = gp.condition(X, y, lams, Q), gp.condition(X, y, lams)
    assert plain.table is None
    assert_allclose(listed.mean(Q), plain.mean(Q), rtol=0, atol=1e-9)
    assert_allclose(listed.variance(Q), plain.variance(Q), rtol=0, atol=1e-9)
    assert_allclose(listed.cov(Q), plain.cov(Q), rtol=0, atol=1e-9)
    some = rng.random(n) < 0.5
    assert_allclose(listed.std_of(some) ** 2, plain.std_of(some) ** 2, rtol=0, atol=1e-9)
    assert_array_equal(plain.std_of(some), plain.std(X[some]))
    elsewhere = rng.random((7, 3))  # a table answers for its own Q and for nothing else
    assert_allclose(listed.mean(elsewhere), plain.mean(elsewhere), rtol=0, atol=1e-12)
    assert_allclose(listed.variance(elsewhere), plain.variance(elsewhere), rtol=0, atol=1e-12)


@every_kernel
@pytest.mark.parametrize("lam", [0.05, 1e-16], ids=["healthy", "jittered"])
@pytest.mark.parametrize("listed", [True, False], ids=["table", "dense"])
def test_short_cuts_to_the_same_numbers(kernel, lam, listed):
    """Mean and std together, and both at its own queries."""
    rng = np.random.default_rng(30)
    Q = rng.random((12, 3))
    X, y, lams = Q[[0, 3, 3, 7, 9]], np.array([0.3, 1.0, 1.0, -0.4, 0.8]), lam * np.array([1.0, 1.0, 2.0, 5.0, 1.0])
    belief = GP(kernel, lam, 0.4).condition(X, y, lams, Q if listed else None)
    for at in (Q, rng.random((6, 3))):
        mean, std = belief.mean_and_std(at)
        assert_allclose(mean, belief.mean(at), rtol=0, atol=1e-9)
        assert_allclose(std**2, belief.variance(at), rtol=0, atol=1e-9)
    some = np.array([True, False, True, True, False])
    assert_allclose(
        belief.own_means[belief.place[some]], belief.mean(X[some]), rtol=0, atol=1e-4 if lam < 1e-9 else 1e-9
    )
    assert_allclose(belief.std_of(some) ** 2, belief.variance(X[some]), rtol=0, atol=1e-9)


def test_a_query_outside_the_list_may_be_conditioned_on():
    """By hand, or from a context: its row is in the table although it is not in Q."""
    rng = np.random.default_rng(6)
    Q, X = rng.random((20, 3)), rng.random((6, 3))
    X[:3] = Q[:3]
    y = rng.standard_normal(6)
    listed, plain = (GP(SE(0.4), 0.1).condition(X, y, Q=Q_or_none) for Q_or_none in (Q, None))
    assert_array_equal(listed.table.where, [0, 1, 2, -1, -1, -1])
    assert_allclose(listed.mean(Q), plain.mean(Q), rtol=0, atol=1e-10)
    assert_allclose(listed.std_of(np.ones(6, dtype=bool)), plain.std(X), rtol=0, atol=1e-9)
    assert np.all(np.isfinite(listed.draw(Q, np.random.default_rng(0))))


# Memory


POOL = np.random.default_rng(7).random((14, 2))
POOL[9:11] = POOL[2]  # the same query three times
LISTS = (POOL.copy(), np.random.default_rng(8).random((5, 2)))
SHAPES = (SE(0.3), Matern52(0.3), SE((0.3, 0.9), 2.0))


@dataclass(frozen=True)
class Ask:
    """What a belief is asked for: which queries in which order, which of them with a noise of their own, and how."""

    rows: tuple[int, ...]
    own: frozenset[int]
    kernel: int
    lam: float
    Q: int | None

    def of(self, grown: GrowingPosterior) -> Posterior:
        rows = np.array(self.rows, dtype=int)
        lams = np.where(np.isin(rows, list(self.own)), 0.5, self.lam)
        gp = GP(SHAPES[self.kernel], self.lam, 0.3)
        Q = None if self.Q is None else LISTS[self.Q]
        return grown.condition(gp, rows, POOL[rows], np.cos(9.0 * rows), lams, Q)


orders = st.permutations(range(len(POOL))).flatmap(
    lambda order: st.integers(0, len(POOL)).map(lambda n: tuple(order[:n]))
)
prefixes = st.integers(0, len(POOL)).map(lambda n: tuple(range(n)))
asks = st.builds(
    Ask,
    rows=prefixes | orders,
    own=st.frozensets(st.integers(0, len(POOL) - 1), max_size=2),
    kernel=st.sampled_from([0, 0, 0, 1, 2]),
    lam=st.sampled_from([0.01, 0.01, 0.2]),
    Q=st.sampled_from([0, 0, 1, None]),
)


@given(st.lists(asks, max_size=9))
def test_a_memory_gives_what_a_fresh_belief_gives(sequence):
    """Whatever was asked before: the same bits in the factor and the table, the same numbers to 1e-9; and no belief is
    changed by those that come after it."""
    grown, beliefs = GrowingPosterior(), []
    for ask in sequence:
        belief = ask.of(grown)
        fresh = ask.of(GrowingPosterior())
        assert_array_equal(packed(belief.factor), packed(fresh.factor))
        beliefs.append((belief, fresh))
    for belief, fresh in beliefs:  # looked at only now, when the memory has long gone on
        assert_array_equal(packed(belief.factor), packed(fresh.factor))
        assert_allclose(belief.alpha, fresh.alpha, rtol=0, atol=1e-9)
        for Q in LISTS:
            assert_allclose(belief.mean(Q), fresh.mean(Q), rtol=0, atol=1e-9)
            assert_allclose(belief.variance(Q), fresh.variance(Q), rtol=0, atol=1e-9)
        assert (belief.table is None) == (fresh.table is None)
        if belief.table is not None:
            assert_array_equal(belief.table.V, fresh.table.V)
            assert_array_equal(belief.table.variance, fresh.table.variance)
            assert_array_equal(belief.table.where, fresh.table.where)


@given(st.integers(0, 40), st.lists(st.integers(0, 40), min_size=1, max_size=5))
@settings(max_examples=examples(30))
def test_a_long_table_is_cut_and_grown_like_a_fresh_one(n, cuts):
    """Across the end of the room for 32 rows."""
    rng = np.random.default_rng(9)
    Q = rng.random((15, 2))
    X, y = Q[rng.integers(15, size=80)], rng.standard_normal(80)
    gp, grown = GP(SE(0.3), 0.05), GrowingPosterior()
    for start, count in [(0, n), *((c, 40) for c in cuts)]:
        ids = np.r_[0:start, 40 + start : 40 + count] if count > start else np.arange(start)
        belief = grown.condition(gp, ids, X[ids], y[ids], None, Q)
        fresh = gp.condition(X[ids], y[ids], None, Q)
        assert_array_equal(belief.table.V, fresh.table.V)
        assert_array_equal(belief.table.variance, fresh.table.variance)


def test_growing_costs_one_row_and_cutting_only_what_is_behind(monkeypatch):
    """A memory that started over each time would pass every other test."""
    asked: list[tuple[int, int]] = []

    @dataclass(frozen=True)
    class Counted(SE):
        def __call__(self, X, Z):
            asked.append((len(X), len(Z)))
            return super().__call__(X, Z)

    _, y, lams = sample(30, 2)
    X = np.random.default_rng(9).random((30, 2))
    gp, grown = GP(Counted(0.3), 0.1), GrowingPosterior()
    grown.condition(gp, range(29), X[:29], y[:29])
    asked.clear()
    grown.condition(gp, range(30), X, y)
    assert asked == [(1, 30)]
    asked.clear()
    grown.condition(gp, range(30), X, -y)  # telling
    assert asked == []
    left = np.delete(np.arange(30), 25)  # a query is withdrawn
    grown.condition(gp, left, X[left], y[left])
    assert asked == [(4, 29)]
    asked.clear()
    own = np.full(29, 0.1)
    own[-1] = lams[-1]  # the last outcome brings its own noise
    grown.condition(gp, left, X[left], y[left], own)
    assert asked == [(1, 29)]
    asked.clear()
    again = np.append(left, left[-1])  # the last query is asked again: the noise of its mean is less
    grown.condition(gp, np.append(left, 30), X[again], y[again], np.append(own, 0.1))
    assert asked == [(1, 29)]


def test_a_failure_is_not_taken_for_a_belief():
    X, y, _ = sample(10, 2)
    gp, grown = GP(SE(0.3), 0.1), GrowingPosterior()
    grown.condition(gp, range(10), X, y)
    broken = X.copy()
    broken[7] = np.nan
    with pytest.raises(NotPositiveDefinite):
        grown.condition(gp, [*range(7), 20, 21, 22], broken, y)
    for ids in (range(10), [*range(7), 20, 21, 22]):
        assert_array_equal(packed(grown.condition(gp, ids, X, y).factor), packed(gp.condition(X, y).factor))


# Gradients


def difference(f, Q: np.ndarray, column: int, h: float = 1e-4) -> np.ndarray:
    """∂f/∂q_c by central differences, exact up to h⁴."""
    step = h * np.eye(Q.shape[1])[column]
    return (8 * (f(Q + step) - f(Q - step)) - (f(Q + 2 * step) - f(Q - 2 * step))) / (12 * h)


@every_kernel
@pytest.mark.parametrize("n", [0, 1, 40])
def test_gradients(kernel, n):
    X, y, lams = sample(40)
    belief = GP(kernel, 0.05, 0.7).condition(X[:n], y[:n], lams[:n])
    Q = np.random.default_rng(10).random((12, 3))
    mean, variance, d_mean, d_variance = belief.gradients(Q)
    assert_allclose(mean, belief.mean(Q), rtol=0, atol=1e-12)
    assert_allclose(variance, belief.variance(Q), rtol=0, atol=1e-12)
    path = belief.path(np.random.default_rng(11), 1.7)
    value, slope = path.gradient(Q)
    assert_allclose(value, path(Q), rtol=0, atol=1e-12)
    for c in range(3):
        assert_allclose(d_mean[:, c], difference(belief.mean, Q, c), rtol=1e-7, atol=1e-7)
        assert_allclose(d_variance[:, c], difference(belief.variance, Q, c), rtol=1e-7, atol=1e-7)
        assert_allclose(slope[:, c], difference(path, Q, c), rtol=1e-7, atol=1e-6)
    alone = belief.mean_gradient(Q)
    assert_allclose(alone[0], mean, rtol=0, atol=1e-12)
    assert_allclose(alone[1], d_mean, rtol=0, atol=1e-12)


# Draws


Z_ALPHA = 5.2  # P(|N(0, 1)| > 5.2) = 2e-7


def check_law(draws: np.ndarray, mean: np.ndarray, cov: np.ndarray, heavier: float = 1.0) -> None:
    """Whether N draws (N, q) have this mean and this covariance, however correlated the q values are.

    Whitened by the root of the claimed covariance they are N q independent standard normals w_ij; so are, up to the
    central limit theorem, √N times the mean of each w_j, of each product w_j w_k and of each (w_j² - 1)/√2. Each is
    held against 5.2; there are q(q + 3)/2 of them, so the false-alarm rate is q(q + 3)/2 · 2e-7, 1.3e-5 for q = 10.
    Where w has the right variance and heavier tails, products have a standard error `heavier` times as large."""
    N, q = draws.shape
    w = np.linalg.solve(np.linalg.cholesky(cov), (draws - mean).T)
    assert np.max(np.abs(w.mean(axis=1))) * math.sqrt(N) < Z_ALPHA
    second = (w @ w.T / N - np.eye(q)) * math.sqrt(N) / np.sqrt(1.0 + np.eye(q))
    assert np.max(np.abs(second)) < Z_ALPHA * heavier


@pytest.fixture(scope="module")
def scattered() -> tuple[GP, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A prior, a small Q, and queries in it with their outcomes and noises."""
    rng = np.random.default_rng(12)
    Q = np.linspace(0.0, 1.0, 10)[:, None]
    chosen = np.array([1, 4, 4, 8])
    return GP(Matern52(0.4, 1.5), 0.2, -0.5), Q, Q[chosen], rng.standard_normal(4), np.array([0.2, 0.2, 0.7, 0.05])


@pytest.mark.parametrize("scale", [1.0, 0.3, 2.5])
@pytest.mark.parametrize("listed", [True, False], ids=["table", "dense"])
def test_exact_draws_have_the_mean_and_the_scaled_covariance(scattered, listed, scale):
    """f ~ GP(μ, ν²σ²), Eq. (3), false-alarm rate 1.3e-5 each."""
    gp, Q, X, y, lams = scattered
    belief = gp.condition(X, y, lams, Q if listed else None)
    rng = np.random.default_rng(13)
    draws = np.array([belief.draw(Q, rng, scale) for _ in range(6000)])
    check_law(draws, belief.mean(Q), scale**2 * belief.cov(Q))


@pytest.mark.parametrize("listed", [True, False], ids=["table", "dense"])
def test_exact_draws_before_any_query(scattered, listed):
    gp, Q, *_ = scattered
    belief = gp.condition(np.empty((0, 1)), np.empty(0), Q=Q if listed else None)
    rng = np.random.default_rng(14)
    check_law(np.array([belief.draw(Q, rng) for _ in range(4000)]), np.full(10, -0.5), gp.kernel(Q, Q))


def test_the_test_of_draws_has_power(scattered):
    """It rejects a covariance scaled by ν instead of ν² at ν = 1.1, a mean off by a tenth of σ, and the prior's law."""
    gp, Q, X, y, lams = scattered
    belief = gp.condition(X, y, lams)
    rng = np.random.default_rng(15)
    draws = np.array([belief.draw(Q, rng, 1.1) for _ in range(6000)])
    mean, cov = belief.mean(Q), belief.cov(Q)
    for wrong in ((mean, 1.1 * cov), (mean + 0.1 * belief.std(Q), 1.21 * cov), (mean, 1.21 * gp.kernel(Q, Q))):
        with pytest.raises(AssertionError):
            check_law(draws, *wrong)


def test_a_draw_takes_its_normals_from_the_generator(scattered):
    """The dense branch is μ + ν R z with R the Cholesky root of cov(Q); a restart draws the same."""
    gp, Q, X, y, lams = scattered
    belief = gp.condition(X, y, lams)
    z = np.random.default_rng(16).standard_normal(10)
    expected = belief.mean(Q) + 2.0 * np.linalg.cholesky(belief.cov(Q)) @ z
    assert_allclose(belief.draw(Q, np.random.default_rng(16), 2.0), expected, rtol=0, atol=1e-12)
    listed = gp.condition(X, y, lams, Q)
    again = [listed.draw(Q, np.random.default_rng(16), 2.0) for _ in range(2)]
    assert_array_equal(again[0], again[1])


@pytest.mark.parametrize("listed", [True, False], ids=["table", "dense"])
def test_a_draw_does_not_depend_on_the_order_of_the_rows(scattered, listed):
    """The noise of a query belongs to its number: told in another order, the same function is drawn."""
    gp, Q, X, y, lams = scattered
    ids, other = np.array([3, 5, 8, 9]), np.array([2, 0, 3, 1])
    one = GrowingPosterior().condition(gp, ids, X, y, lams, Q if listed else None)
    two = GrowingPosterior().condition(gp, ids[other], X[other], y[other], lams[other], Q if listed else None)
    for draw in (lambda b: b.draw(Q, np.random.default_rng(31), 2.0), lambda b: b.path(np.random.default_rng(31))(Q)):
        assert_allclose(draw(one), draw(two), rtol=0, atol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_pathwise_draws_have_the_mean_and_the_scaled_covariance(scattered, scale):
    """Frequencies are drawn anew for each path, so its first two moments are exact: false-alarm rate as above. Given
    its frequencies a path's covariance is a little off, most in the directions that the kernel hardly has, so w has
    heavier tails: a standard error of products up to 1.55 times as large here (from 2000 sets of 512 frequencies)."""
    gp, Q, X, y, lams = scattered
    belief = gp.condition(X, y, lams)
    rng = np.random.default_rng(17)
    draws = np.array([belief.path(rng, scale)(Q) for _ in range(4000)])
    check_law(draws, belief.mean(Q), scale**2 * belief.cov(Q), heavier=1.6)


@every_kernel
def test_one_path_is_within_the_stated_feature_error(kernel):
    """Given its 512 frequencies, a path's prior covariance is the mean of 512 cosines: off by 1/√(2·512) = 0.031 in
    standard deviation, and beyond 0.26 (relative to the variance) at any of the 435 pairs of 30 points with probability
    at most 435 · 2 exp(-512 · 0.26²/2) = 3e-5 (Hoeffding)."""
    X, y, _ = sample(5)
    path = GP(kernel, 0.1).condition(X, y).path(np.random.default_rng(18))
    assert path.omega.shape == (FEATURES, 3)
    assert FEATURES == 512
    Q = np.random.default_rng(19).random((30, 3))
    phase = Q @ path.omega.T
    given_omega = (np.cos(phase) @ np.cos(phase).T + np.sin(phase) @ np.sin(phase).T) / FEATURES
    error = (given_omega - kernel(Q, Q) / kernel.variance)[np.triu_indices(30, 1)]
    assert np.max(np.abs(error)) < 0.26


def test_a_path_passes_through_what_is_known_exactly():
    """With λ tiny the update pulls every path through the outcomes, whatever its frequencies: Matheron's rule."""
    X, y, _ = sample(8, 2)
    X = np.unique(X, axis=0)
    y = y[: len(X)]
    belief = GP(Matern52(0.5), 1e-10).condition(X, y)
    for seed in range(3):
        assert_allclose(belief.path(np.random.default_rng(seed), 3.0)(X), y, rtol=0, atol=1e-3)


# The edges of float64


def equal(n: int) -> np.ndarray:
    return np.full((n, 2), 0.3)


def cluster(n: int) -> np.ndarray:
    return 0.3 + 1e-9 * np.random.default_rng(20).random((n, 2))


def grid(n: int) -> np.ndarray:
    side = np.linspace(0, 1, math.isqrt(n) + 1)
    return np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)[:n]


TINY_LAMS = [1e-2, 1e-6, 1e-10, 1e-12, 1e-14, 1e-16, 0.0]


@pytest.mark.parametrize("lam", TINY_LAMS)
@pytest.mark.parametrize("kernel", [SE(0.5), Matern52(0.5)], ids=["SE", "Matern"])
@pytest.mark.parametrize("where", [equal, cluster, grid], ids=lambda f: f.__name__)
def test_a_singular_belief_is_finite_and_sane(where, kernel, lam):
    """500 queries that say the same: the jitter ladder ends in a belief that holds what was told."""
    X = where(500)
    y = np.full(500, 1.7)
    Q = np.vstack([X[::100], np.random.default_rng(21).random((5, 2))])
    for listed in (None, Q):
        belief = GP(kernel, lam).condition(X, y, Q=listed)
        assert np.all(np.isfinite(belief.mean(Q)))
        assert np.all((belief.variance(Q) >= 0) & (belief.variance(Q) <= 1))
        assert_allclose(belief.mean(Q)[:5], 1.7, rtol=0, atol=0.05)
        assert np.all(belief.variance(Q)[:5] < 0.01)
        for part in belief.gradients(Q):
            assert np.all(np.isfinite(part))
        path = belief.path(np.random.default_rng(22))
        assert np.all(np.isfinite(path(Q)))


@pytest.mark.parametrize("lam", TINY_LAMS)
@pytest.mark.parametrize("kernel", [SE(0.5), Matern52(0.5)], ids=["SE", "Matern"])
@pytest.mark.parametrize("where", [equal, cluster], ids=lambda f: f.__name__)
def test_outcomes_that_contradict_each_other_are_averaged(where, kernel, lam):
    """500 outcomes of one query with noise 0.1: the belief there is their average, however small λ pretends to be."""
    X = where(500)
    y = 1.7 + 0.1 * np.random.default_rng(23).standard_normal(500)
    belief = GP(kernel, lam).condition(X, y)
    assert_allclose(belief.mean(X[:5]), y.mean(), rtol=0, atol=0.05)


@pytest.mark.parametrize("lam", [1e-2, 1e-8, 1e-12, 1e-16, 0.0])
@pytest.mark.parametrize("where", [equal, cluster, grid], ids=lambda f: f.__name__)
def test_drawing_from_a_singular_belief(where, lam):
    """A nearly singular covariance is the fragile step: it must draw all the same, close to what is certain."""
    X = where(100)
    for kernel, others, listed in product((SE(0.5), Matern52(0.5)), (20, 0), (True, False)):
        Q = np.vstack([np.unique(X, axis=0), np.random.default_rng(24).random((others, 2))])
        belief = GP(kernel, lam).condition(X, np.full(100, 1.7), Q=Q if listed else None)
        draw = belief.draw(Q, np.random.default_rng(25))
        off = np.abs(draw - belief.mean(Q)) / np.maximum(belief.std(Q), 0.05)
        assert np.max(off, initial=0.0) < 6, (kernel, others, listed)  # false for what is not finite, too


def test_the_ladder_stops_at_the_first_rung_that_holds():
    """Healthy matrices get no jitter; a duplicate without noise gets the least that is enough."""
    X = np.unique(sample(20, 2)[0], axis=0)
    K = SE(0.3)(X, X)
    assert_array_equal(compute_root(K + 0.1 * np.eye(len(X))), np.linalg.cholesky(K + 0.1 * np.eye(len(X))))
    singular = np.ones((3, 3))
    assert_allclose(compute_root(singular) @ compute_root(singular).T, singular, rtol=0, atol=1e-9)
    assert compute_root(np.empty((0, 0))).shape == (0, 0)
    nearly = np.array([[0.5, 0.5], [0.5, 0.5 + 1e-9]])
    twice = GP(SE(0.3), 0.0).condition(nearly, np.array([1.0, 1.0]))
    assert 0 < twice.factor.diagonal[1] ** 2 < 1e-11
    assert JITTERS[0] == 0.0
    assert list(JITTERS) == sorted(JITTERS)
    assert JITTERS[-1] == 1e-4


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_refused_at_every_rung(bad):
    K = np.eye(3)
    K[1, 1] = bad
    with pytest.raises(NotPositiveDefinite), np.errstate(all="ignore"):
        compute_root(K)
    X, y, lams = sample(5, 2)
    lams[3] = bad
    with pytest.raises(NotPositiveDefinite), np.errstate(all="ignore"):
        GP(SE(0.3), 0.1).condition(X, y, lams)
    X[3, 1] = np.nan
    with pytest.raises(NotPositiveDefinite):
        GP(SE(0.3), 0.1).condition(X, y)


def test_a_negative_direction_beyond_the_ladder_is_refused():
    with pytest.raises(NotPositiveDefinite):
        compute_root(np.array([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.parametrize("lam", [1e-3, 1e-12, 1e-16])
def test_jitter_never_adds_to_the_gain(lam):
    """½ log det(I + K/λ) falls in λ, and jitter is more λ: of n equal queries it is at most ½ log(1 + n/λ)."""
    belief = GP(SE(0.3), lam).condition(equal(200), np.zeros(200))
    assert 0.0 < belief.gain() <= 0.5 * math.log1p(200 / lam) * (1 + 1e-3)


def test_replicates_are_one_outcome_with_less_noise():
    """k outcomes of one query with noise σ say what their average says with noise σ/√k."""
    X, y, _ = sample(6, 2)
    X = np.unique(X, axis=0)
    y, k, sigma = y[: len(X)], 7, 0.3
    more = y[0] + sigma * np.random.default_rng(26).standard_normal(k)
    gp, Q = GP(SE(0.4), 0.05, 0.2), np.random.default_rng(27).random((20, 2))
    n = len(X)
    told = gp.condition(
        np.vstack([X[1:], np.repeat(X[:1], k, axis=0)]),
        np.concatenate([y[1:], more]),
        np.concatenate([np.full(n - 1, gp.lam), np.full(k, sigma**2)]),
    )
    once = gp.condition(
        np.vstack([X[1:], X[:1]]), np.append(y[1:], more.mean()), np.append(np.full(n - 1, gp.lam), sigma**2 / k)
    )
    assert_allclose(told.mean(Q), once.mean(Q), rtol=0, atol=1e-8)
    assert_allclose(told.cov(Q), once.cov(Q), rtol=0, atol=1e-8)


def test_the_order_of_rows_does_not_matter():
    X, y, lams = sample(40)
    Q = np.random.default_rng(28).random((10, 3))
    order = np.random.default_rng(29).permutation(40)
    one = GP(SE(0.4), 0.05).condition(X, y, lams)
    other = GP(SE(0.4), 0.05).condition(X[order], y[order], lams[order])
    assert_allclose(one.mean(Q), other.mean(Q), rtol=0, atol=1e-9)
    assert_allclose(one.variance(Q), other.variance(Q), rtol=0, atol=1e-9)


def test_a_gp_is_a_value():
    gp = GP(SE((0.1, 0.2)), 0.1)
    assert gp == replace(gp)
    assert gp != replace(gp, lam=0.2)
    assert module.GP(SE([0.1, 0.2]), 0.1) == gp


def test_a_sibling_s_factor_is_kept_where_it_agrees_with_more_rows() -> None:
    """The belief of all rows begins with the rows of what was heard; its bits are those of a fresh start."""
    gp, rng = GP(SE(0.3), 0.05), np.random.default_rng(0)
    X, Q = rng.random((40, 2)), rng.random((7, 2))
    heard = GrowingPosterior()
    both = GrowingPosterior(siblings=[heard])
    for changed in (30, 5, 12):  # another outcome of an old query: the noise of its row
        lams, y = np.full(40, 0.05), rng.standard_normal(40)
        lams[changed] = 0.02
        heard.condition(gp, range(1, 34), X[:33], y[:33], lams[:33])
        grown = both.condition(gp, range(1, 41), X, y, lams, Q)
        fresh = GrowingPosterior().condition(gp, range(1, 41), X, y, lams, Q)
        again = heard.condition(gp, range(1, 34), X[:33], y[:33], lams[:33])
        alone = GrowingPosterior().condition(gp, range(1, 34), X[:33], y[:33], lams[:33])
        assert np.array_equal(grown.mean_and_std(Q), fresh.mean_and_std(Q))
        assert np.array_equal(again.mean_and_std(Q), alone.mean_and_std(Q))
