"""Functions of known norm: the norm is exact, and a run records what each query was chosen by."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from belated.learner.confidence import (
    beta_sdf_ts,
    beta_sdf_ucb,
    gamma_bound,
    greedy_gain,
    nu,
)
from belated.learner.delays.distributions import Fixed, Geometric
from reproduction.theory import rkhs


@pytest.mark.parametrize("seed", range(5))
def test_the_norm_is_exact_and_outcomes_are_bounded(seed):
    """On a finite Q the least norm of a function with these values is fᵀ K⁻¹ f: no function has less than B_f."""
    function = rkhs.draw_function(seed)
    K = rkhs.KERNEL(rkhs.Q[:, None], rkhs.Q[:, None])
    assert_allclose(
        function.f @ np.linalg.pinv(K, rcond=1e-13, hermitian=True) @ function.f, function.B_f**2, rtol=1e-4
    )
    assert_allclose(function.best + rkhs.R, rkhs.B_Y)
    assert np.all(function.f >= 0)
    assert function.gap == np.max(function.f) - np.min(function.f)


def dense(X, y_tilde, T, kernel=rkhs.KERNEL):
    """Eq. (1) on Q with λ = 1 + 2/T."""
    Q = rkhs.Q[:, None]
    S = np.linalg.solve(kernel(X, X) + (1 + 2 / T) * np.eye(len(X)), kernel(X, Q))
    return S.T @ y_tilde, np.sqrt(1 - np.sum(S * kernel(X, Q), axis=0))


def test_a_watched_run_is_chosen_by_eq_1_and_nu():
    """Every delay is 3, m = 2: nothing is ever heard in time, so μ = 0; m = 3: y_s is, before query s + 3."""
    T, function = 12, rkhs.draw_function(0)
    theory_ = function.make_theory(0.1, T)
    gamma = gamma_bound(greedy_gain(rkhs.KERNEL, rkhs.Q[:, None], T, theory_.lam(1)))
    for m in (2, 3):
        ran = rkhs.run_study(function, rkhs.make_sdf("GP-UCB-SDF", theory_, T), Fixed(3), m, T, seed=0)
        X = rkhs.Q[ran.chosen][:, None]
        for t, one in enumerate(ran.rounds, start=1):
            _, std = dense(X[: t - 1], np.zeros(t - 1), T)
            recent = [std[i] for i in ran.chosen[max(0, t - 1 - m) : t - 1]]
            assert_allclose(one.std, std, rtol=0, atol=1e-12)
            assert_allclose(one.nu, nu(beta_sdf_ucb(theory_, gamma[t - 1], 1.0), recent, 1.0), rtol=1e-12)
            upper = one.mean + one.nu * one.std
            assert upper[ran.chosen[t - 1]] >= np.max(upper) - 1e-9  # ties go to the first
            heard = t > 3 and m == 3
            assert np.any(one.mean != 0) == heard
            if heard:
                f = np.where(np.arange(t - 1) < t - 3, function.f[ran.chosen[: t - 1]], 0.0)
                mean, _ = dense(X[: t - 1], f, T)
                assert np.max(np.abs(one.mean - mean)) < rkhs.R  # what the noise can do at most, and less
        assert_allclose(ran.cumulative, np.cumsum(function.best - function.f[ran.chosen]))
        assert_allclose(ran.widths, [one.nu * one.std[i] for one, i in zip(ran.rounds, ran.chosen, strict=True)])


@pytest.mark.parametrize(
    ("name", "rule", "first"), [("GP-UCB-SDF", beta_sdf_ucb, 4.032), ("GP-TS-SDF", beta_sdf_ts, 4.291)]
)
def test_a_watched_algorithm_keeps_its_own_beta(name, rule, first):
    """ν_1 = β_1 with γ_0 = 0: log(2/δ) for Theorem 2, log(4/δ) for Theorem 3."""
    function = rkhs.draw_function(0)
    theory = function.make_theory(0.1, 3)
    ran = rkhs.run_study(function, rkhs.make_sdf(name, theory, 3), Fixed(1), 1, 3, seed=0)
    assert ran.rounds[0].nu == pytest.approx(rule(theory, 0.0, 1.0), rel=1e-12)
    assert round(ran.rounds[0].nu, 3) == first


def test_a_run_is_a_pure_function_of_its_seed():
    function = rkhs.draw_function(1)
    a, b, c = (
        rkhs.run_study(function, rkhs.make_sdf("GP-TS-SDF", 1.0, 15), Geometric(0.3), 3, 15, seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(a.chosen, b.chosen)
    assert not np.array_equal(a.chosen, c.chosen)
