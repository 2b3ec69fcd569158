"""β_t, γ_t, ν_t and the theorems against values worked by hand, brute force and the laws that bind them."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from belated.errors import BelatedError, InvalidInput, NotPositiveDefinite
from belated.learner import confidence
from belated.learner.confidence import Constant, Theory

E = math.e


class Table:
    """A kernel on the points 0, 1, 2, ..., given by its matrix."""

    def __init__(self, K):
        self.K = np.asarray(K, dtype=float)
        self.Q = np.arange(len(self.K), dtype=float)[:, None]

    def __call__(self, X, Z):
        return self.K[np.ix_(X[:, 0].astype(int), Z[:, 0].astype(int))]

    def diag(self, X):
        i = X[:, 0].astype(int)
        return self.K[i, i]


class SE:
    """exp(-(x - z)² / (2 l²)) on the line."""

    def __init__(self, lengthscale):
        self.lengthscale = lengthscale

    def __call__(self, X, Z):
        return np.exp(-((X - Z.T) ** 2) / (2 * self.lengthscale**2))

    def diag(self, X):
        return np.ones(len(X))


CHAIN = Table([[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]])


def theory(**changes):
    return Theory(**{"B_f": 1.5, "R": 0.25, "delta": 0.1} | changes)


# β_t and ν_t


@pytest.mark.parametrize(
    ("beta", "delta", "gamma", "B_y", "value"),
    [
        # sqrt(2(5 + 1 + log(2/δ))) = sqrt(2(5 + 1 + 2)) = 4, and R + B_y = 1.25 or 2.25
        (confidence.beta_sdf_ucb, 2 / E**2, 5.0, 1.0, 1.5 + 1.25 * 4),
        (confidence.beta_sdf_ucb, 2 / E**2, 5.0, 2.0, 1.5 + 2.25 * 4),
        # sqrt(2(½ + 1 + log(4/δ))) = sqrt(2(½ + 1 + 3)) = 3
        (confidence.beta_sdf_ts, 4 / E**3, 0.5, 1.0, 1.5 + 1.25 * 3),
        (confidence.beta_sdf_ts, 4 / E**3, 0.5, 2.0, 1.5 + 2.25 * 3),
        # sqrt(2(2½ + 1 + log(1/δ))) = sqrt(2(2½ + 1 + 1)) = 3, and B_y plays no part
        (confidence.beta_baseline, 1 / E, 2.5, 1.0, 1.5 + 0.25 * 3),
        (confidence.beta_baseline, 1 / E, 2.5, 7.0, 1.5 + 0.25 * 3),
    ],
)
def test_beta_by_hand(beta, delta, gamma, B_y, value):
    assert_allclose(beta(theory(delta=delta), gamma, B_y), value, rtol=0, atol=1e-12)


def test_beta_of_thompson_is_beta_of_ucb_at_half_delta():
    """App. A.3: δ replaced by δ/2."""
    ts = confidence.beta_sdf_ts(theory(delta=0.1), 3.0, 1.0)
    assert_allclose(ts, confidence.beta_sdf_ucb(theory(delta=0.05), 3.0, 1.0), rtol=0, atol=1e-12)


def test_beta_is_finite_for_the_smallest_delta():
    """2/δ would overflow; log 2 - log δ does not: log(2 / 2⁻¹⁰⁷⁴) = 1075 log 2."""
    beta = confidence.beta_sdf_ucb(theory(delta=2.0**-1074), 0.0, 1.0)
    assert_allclose(beta, 1.5 + 1.25 * math.sqrt(2 + 2150 * math.log(2)), rtol=1e-12)


def test_nu_by_hand():
    """B_y Σ σ + β = 2 (0.5 + 0.25 + 0.125) + 3."""
    assert_allclose(confidence.nu(3.0, np.array([0.5, 0.25, 0.125]), 2.0), 4.75, rtol=0, atol=1e-12)


def test_nu_before_any_query_is_beta():
    assert confidence.nu(3.0, np.empty(0), 2.0) == 3.0


# λ


@pytest.mark.parametrize(
    ("t", "T"), [(1, 1), (2, 2), (3, 2), (4, 4), (7, 4), (8, 8), (15, 8), (16, 16), (1023, 512), (1024, 1024)]
)
def test_the_doubling_trick(t, T):
    """Epochs of 1, 2, 4, … rounds; the one of T rounds begins with query T."""
    assert theory().horizon_at(t) == theory().epoch_start(t) == theory().in_epoch(t).horizon == T
    assert theory().lam(t) == theory().in_epoch(t).lam(1) == 1 + 2 / T


@given(st.integers(1, 10**9))
def test_every_round_is_in_one_epoch(t):
    first, T = theory().epoch_start(t), theory().horizon_at(t)
    assert first <= t < first + T
    assert theory().epoch_start(first + T - 1) == first
    assert theory().epoch_start(first + T) == first + T


def test_the_epochs_share_delta():
    """Σ δ_i = δ Σ 1/((i + 1)(i + 2)) = δ (1 - 1/(n + 1)) over the first n epochs: the union over all of them is δ."""
    shares = [Fraction(theory(delta=0.5).in_epoch(2**i).delta).limit_denominator(10**6) for i in range(60)]
    assert shares[:4] == [Fraction(1, 4), Fraction(1, 12), Fraction(1, 24), Fraction(1, 40)]
    assert sum(shares) == Fraction(1, 2) * (1 - Fraction(1, 61))
    assert theory().in_epoch(7) == theory().in_epoch(4)


def test_with_a_horizon_there_is_one_epoch():
    known = theory(horizon=5)
    assert [known.epoch_start(t) for t in (1, 5, 9)] == [1, 1, 1]
    assert known.in_epoch(9) is known


@pytest.mark.parametrize(("horizon", "lam"), [(1, 3.0), (2, 2.0), (100, 1.02)])
def test_a_known_horizon_fixes_lambda(horizon, lam):
    assert [theory(horizon=horizon).lam(t) for t in (1, 7, 100)] == [lam] * 3


# γ_t


def test_greedy_gain_by_hand():
    """On the chain with λ = 1 greedy takes 0 (tie), 2 (untouched by 0), 1, and 0 again (tie).

    σ² of these: 1; 1; 1 - ¼/2 - ¼/2 = ¾; and ½ - (½ - ½/2)²/(¾ + 1) = 13/28. So the gains are
    ½ log of 2, 2·2, 4·(1 + ¾) = 7, and 7·(1 + 13/28) = 41/4."""
    gains = confidence.greedy_gain(CHAIN, CHAIN.Q, 4, 1.0)
    by_hand = [0.0, math.log(2) / 2, math.log(4) / 2, math.log(7) / 2, math.log(41 / 4) / 2]
    assert_allclose(gains, by_hand, rtol=0, atol=1e-12)


def test_greedy_gain_takes_one_point_again_and_again():
    """The t-fold query of one point with k = 1 gains ½ log(1 + t/λ)."""
    gains = confidence.greedy_gain(Table([[1.0]]), np.zeros((1, 1)), 50, 1.5)
    assert_allclose(gains, np.log1p(np.arange(51) / 1.5) / 2, rtol=0, atol=1e-12)


def test_greedy_gain_follows_the_variance_not_the_rows():
    """Independent points of variances 1, 3, 2: the order is 1, 2, 0, with variances untouched by each other."""
    kernel = Table(np.diag([1.0, 3.0, 2.0]))
    gains = confidence.greedy_gain(kernel, kernel.Q, 2, 2.0)
    assert_allclose(np.diff(gains), [math.log(2.5) / 2, math.log(2) / 2], rtol=0, atol=1e-12)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=4, unique=True),
    st.integers(0, 4),
    st.floats(0.05, 1.0),
    st.floats(0.05, 3.0),
)
def test_greedy_gain_against_every_multiset(points, t, lengthscale, lam):
    kernel, Q = SE(lengthscale), np.array(points)[:, None]
    multisets = itertools.combinations_with_replacement(range(len(Q)), t)
    most = max(confidence.realised_gain(kernel(Q[list(i)], Q[list(i)]), lam) for i in multisets)
    greedy = confidence.greedy_gain(kernel, Q, t, lam)
    assert greedy.shape == (t + 1,)
    assert (1 - 1 / E) * most - 1e-9 <= greedy[t] <= most + 1e-9
    assert confidence.gamma_bound(greedy)[t] >= most - 1e-9


def test_greedy_gain_grows_and_slows_down():
    Q = np.linspace(0, 1, 40)[:, None]
    steps = np.diff(confidence.greedy_gain(SE(0.1), Q, 200, 1.01))
    assert (steps > 0).all()
    assert (np.diff(steps) <= 1e-12).all()


def test_growing_greedily_is_solving_afresh():
    """60 steps, against Eq. (1) solved anew at each; uneven points, so that no two tie."""
    Q = np.random.default_rng(7).random((30, 1))
    kernel, lam, taken, by_solving = SE(0.15), 1.02, [], [0.0]
    for _ in range(60):
        across = kernel(Q[taken], Q)
        K = kernel(Q[taken], Q[taken]) + lam * np.eye(len(taken))
        taken.append(int(np.argmax(1 - np.sum(across * np.linalg.solve(K, across), axis=0))))
        by_solving.append(confidence.realised_gain(kernel(Q[taken], Q[taken]), lam))
    assert_allclose(confidence.greedy_gain(kernel, Q, 60, lam), by_solving, rtol=0, atol=1e-12)


def test_gamma_bound_divides_by_the_greedy_share():
    assert_allclose(confidence.gamma_bound([0.0, 1 - 1 / E, 2.0]), [0, 1, 2 * E / (E - 1)], rtol=0, atol=1e-12)


def test_realised_gain_by_hand():
    """det(I + K/2) of [[1, ½], [½, 1]] is (3/2)² - (1/4)² = 35/16."""
    gain = confidence.realised_gain([[1, 0.5], [0.5, 1]], 2.0)
    assert_allclose(gain, math.log(35 / 16) / 2, rtol=0, atol=1e-12)


def test_realised_gain_before_any_query_is_zero():
    assert confidence.realised_gain(np.empty((0, 0)), 1.5) == 0.0


@given(st.integers(1, 20), st.floats(0.1, 3.0), st.integers(0, 2**32 - 1))
def test_realised_gain_is_half_the_log_determinant(n, lam, seed):
    A = np.random.default_rng(seed).standard_normal((n, n))
    K = A @ A.T
    sign, logdet = np.linalg.slogdet(np.eye(n) + K / lam)
    assert sign == 1
    assert_allclose(confidence.realised_gain(K, lam), logdet / 2, rtol=1e-10, atol=1e-12)


def test_realised_gain_refuses_what_is_no_covariance():
    with pytest.raises(NotPositiveDefinite):
        confidence.realised_gain([[1, 5], [5, 1]], 1.0)


def test_gamma_of_the_se_kernel():
    assert_allclose(confidence.gamma_se(100, 2), math.log(100) * math.log(100) * math.log(100), rtol=1e-15)
    assert confidence.gamma_se(1, 3) == 0.0


# Theorems and propositions. With λ = 1/(√e - 1): log(1 + 1/λ) = ½, so C₁ = 2 and C₁² = 4.

LAM = 1 / (math.sqrt(E) - 1)
UCB = {"T": 100, "rho": 0.5, "m": 5, "beta_T": 3.0, "gamma_T": 4.0, "B_y": 2.0, "lam": LAM}
TS = UCB | {"B_f": 1.5, "delta": 0.1, "size_Q": 50}


def test_theorem_1_by_hand():
    low, high = confidence.theorem1_interval(np.array([0.5, -1.0]), np.array([0.25, 0.0]), 2.0)
    assert_allclose(low, [0.0, -1.0], rtol=0, atol=1e-12)
    assert_allclose(high, [1.0, -1.0], rtol=0, atol=1e-12)


def test_theorem_4_is_theorem_1():
    args = np.array([0.5, 0.1]), np.array([0.25, 0.3]), 2.0
    assert_allclose(confidence.theorem4_interval(*args), confidence.theorem1_interval(*args), rtol=0, atol=0)


def test_theorem_2_by_hand():
    """(2/½) (2·3·sqrt(100·4) + 5·2·4·4) = 4 (120 + 160)."""
    assert_allclose(confidence.theorem2(**UCB), 1120, rtol=1e-12)


def test_theorem_3_by_hand():
    """T = |𝒬| = 1: a = 1; δ = 2/e²: sqrt(2 log(2/δ)) = 2; 1/(ρp) = 8 e sqrt(π).

    11 (2·3·sqrt(4) + 5·2·4·4) + 2 (4·1½ + 11 (5·2 + 3)) = 11·172 + 2·149 = 2190, and B_f π²/3 = π²/2."""
    bound = confidence.theorem3(**TS | {"T": 1, "size_Q": 1, "delta": 2 / E**2})
    assert_allclose(bound, 2190 * 8 * E * math.sqrt(math.pi) + math.pi**2 / 2, rtol=1e-12)


def long_theorem_3(T, rho, m, beta_T, gamma_T, B_y, B_f, delta, size, lam):
    """The bound that ends the proof of Theorem 3 (App. A.3), multiplied out term by term."""
    p = np.exp(-1) / np.sqrt(16 * np.pi)
    spread = 1 + np.sqrt(np.log(float(size) ** 2 * float(T) ** 4))
    c1 = np.sqrt(2 / (np.log(lam + 1) - np.log(lam)))
    azuma = np.sqrt(np.log(4 / delta**2) * T)
    return (
        11 * spread * c1 * beta_T * T**0.5 * gamma_T**0.5 / rho / p
        + 11 * spread * m * B_y * c1 * c1 * gamma_T / rho / p
        + 4 * B_f * azuma / rho / p
        + 11 * m * B_y * spread * azuma / rho / p
        + 11 * beta_T * spread * azuma / rho / p
        + 2 * B_f * np.pi**2 / 6
    )


def test_theorem_3_by_an_independent_expression():
    expected = long_theorem_3(100, 0.3, 7, 2.5, 6.0, 1.5, 2.0, 0.05, 1000, 1.02)
    bound = confidence.theorem3(
        T=100, rho=0.3, m=7, beta_T=2.5, gamma_T=6.0, B_y=1.5, B_f=2.0, delta=0.05, size_Q=1000, lam=1.02
    )
    assert_allclose(bound, expected, rtol=1e-12)


def test_the_contextual_bound_counts_contexts_times_queries():
    bound = confidence.contextual_ts_bound(100, 0.3, 7, 2.5, 6.0, 1.5, 2.0, 0.05, size_Z=20, size_Q=50, lam=1.02)
    assert_allclose(bound, long_theorem_3(100, 0.3, 7, 2.5, 6.0, 1.5, 2.0, 0.05, 20 * 50, 1.02), rtol=1e-12)


@pytest.mark.parametrize("B_x", [1, 2, 11])
def test_the_propositions_are_the_theorems_without_loss(B_x):
    batch = {"rho": 1.0, "m": B_x - 1}
    ucb = {k: v for k, v in UCB.items() if k not in batch}
    ts = {k: v for k, v in TS.items() if k not in batch}
    assert confidence.proposition1(B_x=B_x, **ucb) == confidence.theorem2(**ucb | batch)
    assert confidence.proposition2(B_x=B_x, **ts) == confidence.theorem3(**ts | batch)


def test_proposition_1_by_hand():
    """A batch of one has m = 0, so 2 C₁ β sqrt(T γ) = 2·2·3·20 is all that is left."""
    assert_allclose(confidence.proposition1(100, 1, 3.0, 4.0, 2.0, LAM), 240, rtol=1e-12)


def test_nothing_ever_in_time_bounds_nothing():
    assert confidence.theorem2(**UCB | {"rho": 0.0, "gamma_T": 1.0}) == math.inf
    assert confidence.theorem3(**TS | {"rho": 0.0}) == math.inf


@given(st.floats(0.01, 1), st.floats(0.01, 1), st.floats(0, 50), st.floats(0, 50))
def test_bounds_fall_with_rho_and_rise_with_m(rho, other_rho, m, other_m):
    (low_rho, high_rho), (low_m, high_m) = sorted([rho, other_rho]), sorted([m, other_m])
    for bound, args in [(confidence.theorem2, UCB), (confidence.theorem3, TS)]:
        assert bound(**args | {"rho": high_rho}) <= bound(**args | {"rho": low_rho})
        assert bound(**args | {"m": low_m}) <= bound(**args | {"m": high_m})


# What is refused, and in which words


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: theory(delta=0), "delta must lie in (0, 1) (got 0)"),
        (lambda: theory(delta=1.0), "delta must lie in (0, 1) (got 1.0)"),
        (lambda: theory(delta=math.nan), "delta must lie in (0, 1) (got nan)"),
        (lambda: theory(R=-0.1), "R must be a finite number of at least 0 (got -0.1)"),
        (lambda: theory(R=math.inf), "R must be a finite number of at least 0 (got inf)"),
        (lambda: theory(B_f=0), "B_f must be a finite number greater than 0 (got 0)"),
        (lambda: theory(B_f=-2.0), "B_f must be a finite number greater than 0 (got -2.0)"),
        (lambda: theory(B_f=10**400), "B_f must be a finite number greater than 0 (got inf)"),
        (lambda: theory(B_f="1"), "B_f must be a number (got '1')"),
        (lambda: theory(B_f=True), "B_f must be a number (got True)"),
        (lambda: theory(horizon=0), "horizon must be a whole number of at least 1 (got 0)"),
        (lambda: theory(horizon=10.5), "horizon must be a whole number of at least 1 (got 10.5)"),
        (lambda: theory(horizon=True), "horizon must be a whole number of at least 1 (got True)"),
        (lambda: theory(gain="exact"), 'gain must be "realised" or "greedy" (got \'exact\')'),
        (lambda: theory().lam(0), "t must be a whole number of at least 1 (got 0)"),
        (lambda: theory(horizon=9).lam(-1), "t must be a whole number of at least 1 (got -1)"),
        (lambda: Constant(-1.0), "value must be a finite number of at least 0 (got -1.0)"),
        (lambda: Constant(math.inf), "value must be a finite number of at least 0 (got inf)"),
        (
            lambda: confidence.beta_sdf_ucb(theory(), -1.0, 1.0),
            "gamma must be a finite number of at least 0 (got -1.0)",
        ),
        (lambda: confidence.beta_sdf_ts(theory(), 1.0, 0.0), "B_y must be a finite number greater than 0 (got 0.0)"),
        (lambda: confidence.beta_baseline(theory(), 1.0, -1), "B_y must be a finite number greater than 0 (got -1)"),
        (
            lambda: confidence.nu(1.0, [0.5, math.nan], 1.0),
            "sigmas_of_recent must be finite numbers of at least 0 (got [0.5, nan])",
        ),
        (lambda: confidence.nu(-1.0, [0.5], 1.0), "beta must be a finite number of at least 0 (got -1.0)"),
        (lambda: confidence.realised_gain([[1.0]], 0.0), "lam must be a finite number greater than 0 (got 0.0)"),
        (lambda: confidence.realised_gain([1.0, 2.0], 1.0), "K must be a square matrix (got shape (2,))"),
        (lambda: confidence.realised_gain([[math.nan]], 1.0), "K must be finite (got nan or inf)"),
        (
            lambda: confidence.greedy_gain(CHAIN, CHAIN.Q, 2, -1.0),
            "lam must be a finite number greater than 0 (got -1.0)",
        ),
        (lambda: confidence.greedy_gain(CHAIN, CHAIN.Q, -1, 1.0), "t must be a whole number of at least 0 (got -1)"),
        (
            lambda: confidence.greedy_gain(CHAIN, np.empty((0, 1)), 1, 1.0),
            "Q must be a matrix of at least one point, one per row (got shape (0, 1))",
        ),
        (lambda: confidence.gamma_se(0, 1), "T must be a whole number of at least 1 (got 0)"),
        (lambda: confidence.gamma_se(10, 0), "n must be a whole number of at least 1 (got 0)"),
        (lambda: confidence.theorem1_interval(0.0, -1.0, 1.0), "std must be at least 0 (got -1.0)"),
        (lambda: confidence.theorem1_interval(0.0, 1.0, -1), "nu must be a finite number of at least 0 (got -1)"),
        (lambda: confidence.theorem2(**UCB | {"T": 0}), "T must be a whole number of at least 1 (got 0)"),
        (lambda: confidence.theorem2(**UCB | {"rho": 1.5}), "rho must lie in [0, 1] (got 1.5)"),
        (lambda: confidence.theorem2(**UCB | {"m": -1}), "m must be a finite number of at least 0 (got -1)"),
        (lambda: confidence.theorem2(**UCB | {"m": math.inf}), "m must be a finite number of at least 0 (got inf)"),
        (
            lambda: confidence.theorem2(**UCB | {"lam": 1.0}),
            "lam must be a finite number greater than 1, as Theorem 1 asks (got 1.0)",
        ),
        (
            lambda: confidence.theorem2(**UCB | {"beta_T": math.nan}),
            "beta_T must be a finite number of at least 0 (got nan)",
        ),
        (
            lambda: confidence.theorem2(**UCB | {"gamma_T": -1}),
            "gamma_T must be a finite number of at least 0 (got -1)",
        ),
        (lambda: confidence.theorem3(**TS | {"delta": 1}), "delta must lie in (0, 1) (got 1)"),
        (lambda: confidence.theorem3(**TS | {"B_f": 0}), "B_f must be a finite number greater than 0 (got 0)"),
        (lambda: confidence.theorem3(**TS | {"size_Q": 0}), "size_Q must be a whole number of at least 1 (got 0)"),
        (
            lambda: confidence.contextual_ts_bound(**TS, size_Z=0),
            "size_Z must be a whole number of at least 1 (got 0)",
        ),
        (
            lambda: confidence.proposition1(100, 0, 1.0, 1.0, 1.0, 1.02),
            "B_x must be a whole number of at least 1 (got 0)",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(InvalidInput) as refused:
        make()
    assert str(refused.value) == sentence
    assert isinstance(refused.value, ValueError)
    assert isinstance(refused.value, BelatedError)


def test_values_are_values():
    assert Constant() == Constant(1.0)
    assert hash(theory(horizon=100)) == hash(theory(horizon=100))
    assert theory(gain="greedy") != theory()
