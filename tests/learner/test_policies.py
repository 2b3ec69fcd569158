"""Policies: their formulas, their gradients by differences, and log h to the last digits over all of the real line."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from belated.learner.belief import ModelBelief
from belated.learner.gp.kernels import SE, Matern52, Product
from belated.learner.gp.posterior import GP
from belated.learner.policies import (
    UCB,
    Greedy,
    LogEI,
    Overtaking,
    RelativeUCB,
    ThompsonSampling,
    UncertaintySampling,
    log_h,
)

KERNELS = {
    "SE": SE((0.3, 0.5, 0.8), 1.7),
    "Matern": Matern52(0.4),
    "context and query": Product(SE(0.4, 1.5), Matern52((0.3, 0.8))).on([[1], [1, 1]]),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
Q = np.random.default_rng(0).random((15, 3))


def belief(kernel, n: int = 12, lam: float = 0.05) -> ModelBelief:
    """Every third row is not heard."""
    rng = np.random.default_rng(1)
    X, y = rng.random((n, 3)), rng.standard_normal(n)
    known = np.arange(n) % 3 > 0
    return ModelBelief(GP(kernel, lam, 0.3).condition(X, y), known, ~known)


def rng() -> np.random.Generator:
    return np.random.default_rng(2)


# Formulas


@every_kernel
@pytest.mark.parametrize("nu", [0.0, 1.0, 3.7])
def test_ucb(kernel, nu):
    b = belief(kernel)
    expected = b.posterior.mean(Q) + nu * np.sqrt(b.posterior.variance(Q))
    assert_allclose(UCB().scores(b, Q, nu, rng()), expected, rtol=1e-14)
    assert_allclose(UCB().surface(b, nu, rng())(Q), expected, rtol=1e-14)


def test_relative_ucb_is_wider_where_less_is_known_than_elsewhere():
    b, nu = belief(SE(0.3)), 1.3
    mean, std = b.posterior.mean_and_std(Q)
    expected = mean + nu * std * np.sqrt(np.log(1.0 + (std / std.min()) ** 2))
    assert_allclose(RelativeUCB().scores(b, Q, nu, rng()), expected, rtol=1e-12)
    least = b.posterior.std(b.queries).min()
    on_surface = mean + nu * std * np.sqrt(np.log(1.0 + (std / least) ** 2))
    assert_allclose(RelativeUCB().surface(b, nu, rng())(Q), on_surface, rtol=1e-12)


@every_kernel
def test_uncertainty_sampling_and_the_greedy(kernel):
    b = belief(kernel)
    for policy, expected in ((UncertaintySampling(), b.posterior.std(Q)), (Greedy(), b.posterior.mean(Q))):
        assert_array_equal(policy.scores(b, Q, 5.0, rng()), expected)
        assert_array_equal(policy.surface(b, 5.0, rng())(Q), expected)


def test_thompson_sampling_is_the_draw_of_the_generator():
    b = belief(KERNELS["SE"])
    assert_array_equal(ThompsonSampling().scores(b, Q, 2.0, rng()), b.posterior.draw(Q, rng(), 2.0))
    assert_array_equal(ThompsonSampling().surface(b, 2.0, rng())(Q), b.posterior.path(rng(), 2.0)(Q))


def expected_improvement(mean: float, std: float, best: float) -> float:
    """E[(f - best)⁺], f ~ N(mean, std²), by quadrature."""
    from scipy.integrate import quad

    def integrand(z: float) -> float:
        return (mean + std * z - best) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    low = (best - mean) / std
    return quad(integrand, low, max(low, 0.0) + 40.0, points=[low + 0.5, low + 3], epsabs=0, epsrel=1e-11, limit=200)[0]


@every_kernel
def test_log_ei_is_the_logarithm_of_the_expected_improvement(kernel):
    b = belief(kernel)
    best = np.max(b.posterior.mean(b.posterior.X[b.known]))
    moments = zip(b.posterior.mean(Q), b.posterior.std(Q), strict=True)
    expected = [math.log(expected_improvement(float(m), float(s), float(best))) for m, s in moments]
    assert_allclose(LogEI().scores(b, Q, 1.0, rng()), expected, rtol=1e-8, atol=1e-8)
    assert_array_equal(LogEI().surface(b, 1.0, rng())(Q), LogEI().scores(b, Q, 9.0, rng()))  # the width plays no part


def test_log_ei_before_anything_is_heard_improves_on_the_prior_mean():
    posterior = GP(SE(0.3), 0.1, 0.7).condition(np.full((1, 3), 0.5), np.array([5.0]))
    b = ModelBelief(posterior, np.array([False]), np.array([True]))
    moments = zip(posterior.mean(Q), posterior.std(Q), strict=True)
    expected = [math.log(expected_improvement(float(m), float(s), 0.7)) for m, s in moments]
    assert_allclose(LogEI().scores(b, Q, 1.0, rng()), expected, rtol=1e-8, atol=1e-8)


def test_log_ei_counts_the_best_mean_of_the_heard_not_of_the_pending():
    """The unheard row has by far the largest ỹ and must not raise the bar."""
    X = np.array([[0.1] * 3, [0.9] * 3])
    posterior = GP(SE(0.2), 0.01).condition(X, np.array([0.0, 50.0]))
    b = ModelBelief(posterior, np.array([True, False]), np.array([True, True]))
    score = LogEI().scores(b, np.full((1, 3), 0.9), 1.0, rng())[0]
    assert score == pytest.approx(math.log(50.0), abs=0.05)


def best_heard(b: ModelBelief) -> np.ndarray:
    """x⁺ (1, D)."""
    heard = b.posterior.X[b.known]
    return heard[[np.argmax(b.posterior.mean(heard))]]


@every_kernel
def test_overtaking_is_how_far_the_mean_may_pass_the_best_once_the_query_is_heard(kernel):
    """By conditioning on two outcomes at q: the difference of the means is linear in the outcome, which is normal."""
    b = belief(kernel)
    gp, x = b.posterior.gp, best_heard(b)
    expected = []
    for q in Q[:, None]:
        X, rows = np.vstack([b.posterior.X, q]), np.vstack([q, x])
        at = [np.subtract(*gp.condition(X, np.append(b.posterior.y_tilde, y)).mean(rows)) for y in (0.0, 1.0)]
        centre, spread = float(b.posterior.mean(q)[0]), math.sqrt(b.posterior.std(q)[0] ** 2 + gp.lam)
        mean, std = at[0] + centre * (at[1] - at[0]), spread * abs(at[1] - at[0])
        expected.append(math.log(expected_improvement(mean, std, 0.0)))
    assert_allclose(Overtaking().scores(b, Q, 1.0, rng()), expected, rtol=1e-7, atol=1e-7)


def test_overtaking_is_the_same_on_a_list_of_queries():
    points = np.random.default_rng(3).random((40, 3))
    y, known = np.random.default_rng(4).standard_normal(12), np.arange(12) % 3 > 0
    gp = GP(SE(0.4), 0.05, 0.3)
    listed = ModelBelief(gp.condition(points[:12], y, Q=points), known, ~known)
    anywhere = ModelBelief(gp.condition(points[:12], y), known, ~known)
    scores = [Overtaking().scores(b, points, 1.0, rng()) for b in (listed, anywhere)]
    away = np.any(points != best_heard(anywhere), axis=1)  # at x⁺ itself there is only rounding
    assert_allclose(scores[0][away], scores[1][away], rtol=1e-8, atol=1e-8)


def test_overtaking_looks_at_the_best_query_in_the_context_at_hand():
    b = belief(SE(0.4))
    z = np.array([0.9])
    heard = b.posterior.X[b.known].copy()
    heard[:, 0] = 0.9
    best = heard[[np.argmax(b.posterior.mean(heard))]]
    here = Overtaking().surface(ModelBelief(b.posterior, b.known, b.recent, z), 1.0, rng())
    assert_array_equal(here.posterior.x, best)


def test_where_outcomes_are_certain_overtaking_is_log_ei():
    b = belief(SE(0.4), lam=1e-12)
    assert_allclose(Overtaking().scores(b, Q, 1.0, rng()), LogEI().scores(b, Q, 1.0, rng()), rtol=1e-4, atol=1e-4)


def test_at_the_best_query_itself_log_ei_sees_a_gain_and_overtaking_none():
    """μ = μ⁺ there, so that LogEI is σ h(0); but asking again what is the best already overtakes nothing."""
    b = belief(SE(0.4), lam=0.5)
    at = best_heard(b)
    assert_allclose(LogEI().scores(b, at, 1.0, rng()), np.log(b.posterior.std(at) / math.sqrt(2 * math.pi)), rtol=1e-9)
    assert Overtaking().scores(b, at, 1.0, rng())[0] < -15.0


def test_what_is_known_to_within_its_noise_is_not_worth_an_outcome_more():
    """Twice the noise in the next outcome, and f(x) where it is: LogEI does not care, overtaking expects less."""
    b = belief(SE(0.4))
    noisier = replace(b.posterior, gp=replace(b.posterior.gp, lam=4.0 * b.posterior.gp.lam))  # the belief is the same
    other = ModelBelief(noisier, b.known, b.recent)
    assert_array_equal(LogEI().scores(other, Q, 1.0, rng()), LogEI().scores(b, Q, 1.0, rng()))
    assert np.all(Overtaking().scores(other, Q, 1.0, rng()) < Overtaking().scores(b, Q, 1.0, rng()))


# Gradients


def difference(f, at: np.ndarray, column: int, h: float = 1e-4) -> np.ndarray:
    """∂f/∂q_c by central differences, exact up to h⁴."""
    step = h * np.eye(at.shape[1])[column]
    return (8 * (f(at + step) - f(at - step)) - (f(at + 2 * step) - f(at - 2 * step))) / (12 * h)


POLICIES = [UCB(), RelativeUCB(), LogEI(), Overtaking(), UncertaintySampling(), Greedy(), ThompsonSampling()]


@every_kernel
@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: type(p).__name__)
def test_gradients(policy, kernel):
    surface = policy.surface(belief(kernel), 1.7, rng())
    values, gradient = surface.gradient(Q)
    assert_allclose(values, surface(Q), rtol=1e-9, atol=1e-9)
    for c in range(3):
        assert_allclose(gradient[:, c], difference(surface, Q, c), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: type(p).__name__)
def test_gradients_before_any_query(policy):
    prior = ModelBelief(GP(SE(0.3), 0.1).condition(np.empty((0, 3)), np.empty(0)), np.empty(0, bool), np.empty(0, bool))
    surface = policy.surface(prior, 1.7, rng())
    values, gradient = surface.gradient(Q)
    assert_allclose(values, surface(Q), rtol=1e-12)
    for c in range(3):
        assert_allclose(gradient[:, c], difference(surface, Q, c), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("lam", [1e-6, 1e-16, 0.0])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: type(p).__name__)
def test_where_nothing_is_uncertain_values_and_gradients_are_finite(policy, lam):
    b = belief(SE(0.3), lam=lam)
    at = np.vstack([b.posterior.X, Q])
    surface = policy.surface(b, 1.7, rng())
    values, gradient = surface.gradient(at)
    assert np.all(np.isfinite(surface(at)))
    assert np.all(np.isfinite(values))
    assert np.all(np.isfinite(gradient))


# log h


def reference(u: float) -> tuple[float, float]:
    """log h(u) and Φ(u)/h(u) by quadrature of integrals that do not cancel.

    For u < 0, with t = s/|u|: h = φ(u)/u² I, I = ∫ s e^(-s - s²/2u²) ds, and Φ = φ(u)/|u| J, J = ∫ e^(-s - s²/2u²) ds.
    For u ≥ 0: h(u) = u + h(-u) and Φ(u) = 1 - Φ(-u)."""
    from scipy.integrate import quad

    if u > 0:
        log_below, _ = reference(-u)
        h = u + math.exp(log_below)
        return math.log(h), 0.5 * math.erfc(-u / math.sqrt(2)) / h
    if u > -1e-3:  # h and Φ are smooth here: four terms of their series
        phi = 1 / math.sqrt(2 * math.pi)
        h = phi * (1 + u**2 / 2 - u**4 / 24) + u / 2
        return math.log(h), (0.5 + phi * (u - u**3 / 6)) / h
    a = abs(u)
    end = min(60.0, 40.0 * a)

    def integral(power: int) -> float:
        return quad(lambda s: s**power * math.exp(-s - (s / a) ** 2 / 2), 0, end, epsabs=0, epsrel=1e-13, limit=400)[0]

    I, J = integral(1), integral(0)
    log_phi = -u * u / 2 - math.log(2 * math.pi) / 2
    return log_phi - 2 * math.log(a) + math.log(I), a * J / I


SWITCHES = [s * (1 + d) for s in (-1.0, -1e3) for d in (-1e-3, -1e-9, 0.0, 1e-9, 1e-3)]
GRID = [*(-np.logspace(8, -6, 57)), -0.5, 0.0, 1e-12, *np.logspace(-6, 3, 37), *SWITCHES]


def test_log_h_against_quadrature():
    """To 1e-9, and below u = -1000, where only the first term of its series is kept, to 4e-6: a part in 1e11 of it."""
    u = np.sort(GRID)
    expected, slopes = np.transpose([reference(float(each)) for each in u])
    values, found = log_h(u)
    assert_allclose(values[u > -999], expected[u > -999], rtol=1e-14, atol=1e-9)
    assert_allclose(values[u <= -999], expected[u <= -999], rtol=1e-14, atol=4e-6)
    assert_allclose(found, slopes, rtol=2e-9)
    for each, value, slope in zip(u, values, found, strict=True):  # the same alone as in a row
        assert_array_equal(np.ravel(log_h(np.array([each]))), [value, slope])


@pytest.mark.parametrize("u", [-40.0, -3.0, -1.5, -0.7, 0.0, 0.3, 2.0, 50.0])
def test_the_slope_of_log_h_is_its_derivative(u):
    h = 1e-4
    at = np.array([u - 2 * h, u - h, u + h, u + 2 * h])
    v = log_h(at)[0]
    assert_allclose(log_h(np.array([u]))[1][0], (8 * (v[2] - v[1]) - (v[3] - v[0])) / (12 * h), rtol=1e-7)


@given(st.lists(st.floats(-1e308, 1e308), min_size=2, max_size=10))
def test_log_h_is_finite_and_rises_everywhere(us):
    u = np.sort(np.array(us))
    value, slope = log_h(u)
    assert np.all(np.isfinite(value))
    assert np.all(np.isfinite(slope))
    assert np.all(slope > 0)
    assert np.all(np.diff(value) >= -4e-6)  # a step of at most that at u = -1000
