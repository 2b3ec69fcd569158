"""Hyperparameters: the evidence by its formula, its gradient by differences, and fits to good and bad outcomes."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from belated.learner.gp import fit as evidence
from belated.learner.gp.fit import (
    LAM,
    LENGTHSCALE,
    MOST,
    VARIANCE,
    FitSettings,
    HyperPrior,
    NegativeLogPosterior,
    choose_rows,
    fit,
    fit_likeliest,
    group_columns,
)
from belated.learner.gp.kernels import SE, Matern12, Matern32, Matern52, Product
from belated.learner.gp.posterior import GP
from belated.learner.gp.scale import Bounds, FloorToOne, Robust

WIDTHS = (1, 3, 1)  # a number, a choice of three, a number: five columns and three lengthscales
GROUPS = group_columns(WIDTHS)
KERNELS = {
    "SE": SE((0.3, 0.6, 0.9), 1.4).on([WIDTHS]),
    "Matern": Matern52((0.3, 0.6, 0.9), 1.4).on([WIDTHS]),
    "Matern, roughest": Matern12((0.3, 0.6, 0.9), 1.4).on([WIDTHS]),
    "Matern, rougher": Matern32((0.3, 0.6, 0.9), 1.4).on([WIDTHS]),
    "context and query": Product(SE(0.4), Matern52((0.5, 0.8), 1.4)).on([WIDTHS[:1], WIDTHS[1:]]),
}
WEAK = HyperPrior(lengthscale=(math.log(0.5), 1.0), variance=(0.1, 0.7), lam=(math.log(1e-2), 1.5))


def sample(n: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.random(n), np.eye(3)[rng.integers(3, size=n)] / math.sqrt(2), rng.random(n)])
    X[1] = X[0]
    return X, np.sin(5 * X[:, 0]) + X[:, 2] + 0.1 * rng.standard_normal(n) + 2.0


def noises(which: str, n: int = 20) -> np.ndarray:
    """NaN where lam is to be used."""
    own = np.random.default_rng(1).uniform(0.01, 0.5, n)
    if which == "none":
        return np.full(n, np.nan)
    return own if which == "all" else np.where(np.arange(n) % 3 == 0, own, np.nan)


# The evidence


def by_definition(settings: FitSettings, gp: GP, X: np.ndarray, y: np.ndarray, lams: np.ndarray) -> float:
    """-log N(y; m, K + Λ) with determinant and inverse written out, and minus the log of the weak beliefs."""
    A = gp.kernel(X, X) + np.diag(np.where(np.isnan(lams), gp.lam, lams))
    inverse = np.linalg.inv(A)
    m = np.sum(inverse @ y) / np.sum(inverse) if settings.mean == "constant" else 0.0
    r = y - m
    value = 0.5 * r @ inverse @ r + 0.5 * np.linalg.slogdet(A)[1] + 0.5 * len(y) * math.log(2 * math.pi)

    def against(belief: tuple[float, float] | None, number: float) -> float:
        return 0.0 if belief is None else 0.5 * ((math.log(number) - belief[0]) / belief[1]) ** 2

    if not settings.given_kernel:
        l = gp.kernel.lengthscales(5)[[0, 1, 4]]
        value += sum(against(settings.prior.lengthscale, float(each)) for each in l)
        value += against(settings.prior.variance, gp.kernel.variance)
    if settings.lam is None:
        value += against(settings.prior.lam, gp.lam)
    return float(value)


def differences(f, theta: np.ndarray, h: float = 1e-4) -> np.ndarray:
    """The gradient by central differences, exact up to h⁴."""
    steps = h * np.eye(len(theta))
    return np.array(
        [(8 * (f(theta + s) - f(theta - s)) - (f(theta + 2 * s) - f(theta - 2 * s))) / (12 * h) for s in steps]
    )


# Every pair of choices occurs together, and each kernel with everything free.
@pytest.mark.parametrize(
    ("name", "given_kernel", "own", "weak", "mean", "lam"),
    [
        ("SE", False, "none", WEAK, "constant", 0.03),
        ("SE", False, "some", HyperPrior(), "zero", None),
        ("SE", True, "all", HyperPrior(), "constant", None),
        ("Matern", False, "some", WEAK, "constant", None),
        ("Matern", False, "all", WEAK, "constant", 0.03),
        ("Matern", True, "none", HyperPrior(), "zero", 0.03),
        ("Matern", True, "some", WEAK, "zero", None),
        ("context and query", False, "none", WEAK, "constant", None),
        ("context and query", False, "some", WEAK, "constant", 0.03),
        ("context and query", False, "all", WEAK, "zero", None),
        ("context and query", True, "none", HyperPrior(), "constant", None),
    ],
)
def test_the_evidence_and_its_gradient(name, given_kernel, own, weak, mean, lam):
    X, y = sample()
    kernel, lams = KERNELS[name], noises(own)
    settings = FitSettings(kernel, GROUPS, given_kernel, lam, mean, weak)
    objective = NegativeLogPosterior(settings, X, y, lams)
    theta = objective.pack(GP(kernel, 0.02))
    assert len(theta) == (0 if given_kernel else 4) + (lam is None) == len(objective.bounds)
    theta = theta + 0.3 * np.cos(np.arange(len(theta)))  # not at the start, where a mistake might hide
    value, gradient = objective(theta)
    gp = objective.unpack(theta)
    assert value == pytest.approx(by_definition(settings, gp, X, y, lams), abs=1e-8)
    assert gradient.shape == theta.shape
    if len(theta):
        assert_allclose(gradient, differences(lambda t: objective(t)[0], theta), rtol=1e-6, atol=1e-6)
    if given_kernel:
        assert gp.kernel == kernel
    if lam is not None:
        assert gp.lam == lam


def test_a_context_may_have_a_prior_of_its_own():
    """The difference to one prior for all is what the first lengthscale's two priors differ by."""
    X, y = sample()
    one, own = (
        NegativeLogPosterior(
            FitSettings(KERNELS["context and query"], GROUPS, prior=replace(WEAK, context=context), contexts=1),
            X,
            y,
            noises("all"),
        )
        for context in (None, (1.0, 0.2))
    )
    theta = one.pack(GP(KERNELS["context and query"], 0.02)) + 0.1
    (value, gradient), (own_value, own_gradient) = one(theta), own(theta)
    z, own_z = (theta[0] - math.log(0.5)) / 1.0, (theta[0] - 1.0) / 0.2
    assert own_value - value == pytest.approx(0.5 * own_z**2 - 0.5 * z**2)
    assert_allclose(own_gradient - gradient, [own_z / 0.2 - z, 0, 0, 0, 0], atol=1e-9)


@pytest.mark.parametrize("mean", ["zero", "constant"])
@pytest.mark.parametrize("in_part", [False, True])
@pytest.mark.parametrize("own", ["none", "some"])
def test_outcomes_at_one_x_count_as_one(own, in_part, mean):
    """The evidence by the definition, every outcome a row of its own, to 1e-9; and its gradient."""
    X, y = sample()
    X = X[np.arange(len(X)) % 4]  # four points
    shares = np.random.default_rng(4).uniform(0.2, 1.0, len(X)) if in_part else None
    kernel, lams = KERNELS["SE"], noises(own)
    settings = FitSettings(kernel, GROUPS, mean=mean)
    objective = NegativeLogPosterior(settings, X, y, lams, shares)
    assert len(objective.X) < len(X) / 3
    theta = objective.pack(GP(kernel, 0.02)) + 0.3 * np.cos(np.arange(5))
    value, gradient = objective(theta)
    gp = objective.unpack(theta)
    noise = np.where(np.isnan(lams), gp.lam, lams) / (1.0 if shares is None else shares)
    assert value == pytest.approx(by_definition(settings, gp, X, y, noise), abs=1e-9)
    assert_allclose(gradient, differences(lambda t: objective(t)[0], theta), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("own", ["none", "some"])
def test_a_free_mean_is_the_one_that_makes_the_outcomes_most_likely(own):
    X, y = sample()
    settings = FitSettings(KERNELS["SE"], GROUPS, True, 0.03, mean="constant")
    gp = NegativeLogPosterior(settings, X, y, noises(own)).unpack(np.empty(0))
    A = gp.kernel(X, X) + np.diag(np.where(np.isnan(noises(own)), 0.03, noises(own)))

    def cost(m: float) -> float:
        return float((y - m) @ np.linalg.solve(A, y - m))

    assert cost(gp.mean) < min(cost(gp.mean + 1e-3), cost(gp.mean - 1e-3))
    assert gp.mean == pytest.approx(2.5, abs=1.0)


def test_without_a_free_mean_the_mean_is_zero():
    X, y = sample()
    assert fit(FitSettings(KERNELS["SE"], GROUPS), GP(KERNELS["SE"], 0.1), X, y + 100, noises("none")).mean == 0.0


def test_packing_and_unpacking():
    objective = NegativeLogPosterior(FitSettings(KERNELS["SE"], GROUPS), *sample(), noises("none"))
    gp = GP(KERNELS["SE"], 0.02)
    theta = objective.pack(gp)
    assert_allclose(np.exp(theta), [0.3, 0.6, 0.9, 1.4, 0.02], rtol=1e-12)
    again = objective.unpack(theta)
    assert_allclose(again.kernel.lengthscales(5), gp.kernel.lengthscales(5), rtol=1e-12)
    assert again.lam == pytest.approx(0.02, rel=1e-12)
    outside = objective.pack(GP(SE((1e-9, 1.0, 1e9), 1e9).on([WIDTHS]), 1e-30))
    assert_allclose(np.exp(outside), [LENGTHSCALE[0], 1.0, LENGTHSCALE[1], VARIANCE[1], LAM[0]], rtol=1e-12)


def test_the_columns_of_a_choice_share_a_lengthscale():
    assert GROUPS == (0, 1, 1, 1, 2)
    found = fit(FitSettings(KERNELS["Matern"], GROUPS), GP(KERNELS["Matern"], 0.1), *sample(40), noises("none", 40))
    l = found.kernel.lengthscales(5)
    assert l[1] == l[2] == l[3]
    assert len({*l.tolist()}) == 3


# Fits


def inside(gp: GP, D: int) -> None:
    """Finite, and within the bounds."""
    slack = 1 + 1e-9
    assert np.all(gp.kernel.lengthscales(D) >= LENGTHSCALE[0] / slack)
    assert np.all(gp.kernel.lengthscales(D) <= LENGTHSCALE[1] * slack)
    assert VARIANCE[0] / slack <= gp.kernel.variance <= VARIANCE[1] * slack
    assert LAM[0] / slack <= gp.lam <= LAM[1] * slack
    assert math.isfinite(gp.mean)


@pytest.mark.parametrize("shape", [SE, Matern52])
def test_known_hyperparameters_are_recovered(shape):
    """300 outcomes drawn from a GP with lengthscales 0.15 and 0.5, variance 1, λ = 0.01 and mean 3: the lengthscales
    come back to within 30 %, λ to within 30 %, the variance (of which there are few independent pieces) to within a
    factor 3, the mean to within 1.5. (Over 20 seeds the worst were 29 %, 24 %, a factor 2.6 and 0.85.)"""
    rng = np.random.default_rng(2)
    X = rng.random((300, 2))
    true = shape((0.15, 0.5))
    y = 3.0 + np.linalg.cholesky(true(X, X) + 0.01 * np.eye(300)) @ rng.standard_normal(300)
    found = fit(
        FitSettings(shape((0.3, 0.3)), (0, 1), mean="constant"), GP(shape((0.3, 0.3)), 1e-3), X, y, np.full(300, np.nan)
    )
    assert_allclose(found.kernel.lengthscales(2), [0.15, 0.5], rtol=0.3)
    assert found.lam == pytest.approx(0.01, rel=0.3)
    assert 1 / 3 < found.kernel.variance < 3
    assert found.mean == pytest.approx(3.0, abs=1.5)


def test_an_irrelevant_coordinate_gets_a_long_lengthscale():
    rng = np.random.default_rng(3)
    X = rng.random((60, 2))
    y = np.sin(8 * X[:, 0]) + 0.05 * rng.standard_normal(60)
    l = fit(
        FitSettings(SE((0.2, 0.2)), (0, 1)), GP(SE((0.2, 0.2)), 1e-3), X, y, np.full(60, np.nan)
    ).kernel.lengthscales(2)
    assert l[0] < 0.6
    assert l[1] > 5 * l[0]


def test_known_noises_are_not_fitted_again():
    """Half of the outcomes are said to have a standard deviation of 1 and have it; λ is found from the others."""
    rng = np.random.default_rng(4)
    X, own = rng.random((200, 1)), np.where(np.arange(200) % 2 == 0, 1.0, np.nan)
    true = SE((0.2,))
    f = np.linalg.cholesky(true(X, X) + 1e-10 * np.eye(200)) @ rng.standard_normal(200)
    y = f + np.where(np.isnan(own), 0.1, 1.0) * rng.standard_normal(200)
    told = fit(FitSettings(true, (0,)), GP(true, 1e-3), X, y, own)
    assert told.lam == pytest.approx(0.01, rel=0.5)
    blind = fit(FitSettings(true, (0,)), GP(true, 1e-3), X, y, np.full(200, np.nan))
    assert blind.lam > 0.2


def test_a_fit_is_at_least_as_likely_as_its_start_and_as_the_truth():
    rng = np.random.default_rng(5)
    X = rng.random((50, 2))
    true = GP(SE((0.2, 0.6)), 0.02)
    y = np.linalg.cholesky(true.kernel(X, X) + 0.02 * np.eye(50)) @ rng.standard_normal(50)
    settings, lams = FitSettings(SE((0.3, 0.3)), (0, 1)), np.full(50, np.nan)
    objective = NegativeLogPosterior(settings, X, y, lams)
    for start in (GP(SE((0.3, 0.3)), 1e-3), GP(SE((5.0, 0.01)), 0.9), true):
        found = objective(objective.pack(fit(settings, start, X, y, lams)))[0]
        assert found <= objective(objective.pack(start))[0] + 1e-9
        assert found <= objective(objective.pack(true))[0] + 1e-9


@pytest.mark.parametrize("true", [Matern12(0.3), Matern52(0.3)])
def test_of_several_kernels_the_likeliest_is_taken(true):
    """300 outcomes at even x, drawn from a rough and from a smooth GP."""
    X, rng = np.linspace(0.0, 1.0, 300)[:, None], np.random.default_rng(6)
    y = np.linalg.cholesky(true(X, X) + 1e-3 * np.eye(300)) @ rng.standard_normal(300)
    settings, start = FitSettings(SE(0.2), (0,)), GP(SE(0.2), 1e-3)
    for kernels in ((Matern12(0.2), Matern52(0.2)), (Matern52(0.2), Matern12(0.2))):
        found = fit_likeliest(settings, kernels, start, X, y, np.full(300, np.nan))
        assert type(found.kernel) is type(true)
        assert found == fit(replace(settings, kernel=type(true)(0.2)), start, X, y, np.full(300, np.nan))


def test_more_outcomes_than_a_fit_looks_at_say_which_kernel_it_is():
    """600 outcomes of a rough function, which 300 of them do not yet tell from a smooth one."""
    X, rng = np.linspace(0.0, 1.0, 600)[:, None], np.random.default_rng(5)
    y = np.linalg.cholesky(Matern12(0.3)(X, X) + 0.3 * np.eye(600)) @ rng.standard_normal(600)
    settings, start, lams = FitSettings(SE(0.2), (0,), lam=0.3), GP(SE(0.2), 0.3), np.full(600, np.nan)
    kernels = (Matern52(0.2), Matern12(0.2))
    half = slice(None, None, 2)
    assert isinstance(fit_likeliest(settings, kernels, start, X[half], y[half], lams[half]).kernel, Matern52)
    assert isinstance(fit_likeliest(settings, kernels, start, X, y, lams).kernel, Matern12)


def test_the_value_alone_is_the_value_with_its_gradient():
    X, y = sample(30)
    objective = NegativeLogPosterior(FitSettings(KERNELS["SE"], GROUPS), X, y, noises("some", 30))
    theta = objective.isotropic(0.3)
    assert objective.evaluate(theta) == pytest.approx(objective(theta)[0], rel=1e-13)


def test_a_weak_belief_decides_where_the_outcomes_say_nothing():
    """Three outcomes far apart: with a belief the lengthscale stays near it."""
    X, y = np.array([[0.0], [0.5], [1.0]]), np.array([0.3, -0.2, 0.1])
    weak = HyperPrior(lengthscale=(math.log(0.5), 0.1), variance=(0.0, 0.1), lam=(math.log(1e-3), 0.1))
    found = fit(FitSettings(SE((0.2,)), (0,), prior=weak), GP(SE((0.2,)), 0.5), X, y, np.full(3, np.nan))
    assert found.kernel.lengthscales(1)[0] == pytest.approx(0.5, rel=0.3)
    assert found.lam == pytest.approx(1e-3, rel=0.3)


@pytest.mark.parametrize(("given_kernel", "lam"), list(itertools.product([False, True], [None, 0.03])))
def test_what_is_given_by_hand_stays(given_kernel, lam):
    X, y = sample(30)
    kernel = KERNELS["SE"]
    found = fit(FitSettings(kernel, GROUPS, given_kernel, lam), GP(kernel, 0.03), X, y, noises("none", 30))
    assert (found.kernel == kernel) == given_kernel
    assert (found.lam == 0.03) == (lam is not None)


# Many outcomes


@given(st.integers(0, 5000))
def test_a_fit_looks_at_a_bounded_number_of_outcomes(n):
    rows = choose_rows(n)
    assert len(rows) == min(n, MOST) or (n > MOST and 0.95 * MOST <= len(rows) <= MOST)
    assert np.all(np.diff(rows) > 0)
    if n:
        assert rows[0] == 0
        assert rows[-1] == n - 1
        assert np.max(np.diff(rows), initial=1) <= math.ceil(n / MOST) + 1  # spread evenly


def test_a_fit_of_many_outcomes_uses_the_subset(monkeypatch):
    seen = []

    class Watched(NegativeLogPosterior):
        def __init__(self, settings, X, y, lams, shares):
            assert len(X) == len(y) == len(lams) == len(shares)
            seen.append(X)
            super().__init__(settings, X[:20], y[:20], lams[:20], shares[:20])  # the rest would only take time

    monkeypatch.setattr(evidence, "NegativeLogPosterior", Watched)
    X = np.random.default_rng(6).random((3 * MOST, 1))
    fit(FitSettings(SE((0.2,)), (0,)), GP(SE((0.2,)), 0.1), X, X[:, 0], np.full(3 * MOST, np.nan), np.ones(3 * MOST))
    assert [len(rows) for rows in seen] == [MOST]
    assert_array_equal(seen[0], X[choose_rows(3 * MOST)])


def test_a_share_of_a_half_is_twice_the_noise():
    """A row that counts in part has the noise λ / share, in the likelihood and in its gradient."""
    rng = np.random.default_rng(8)
    X, y = rng.random((12, 2)), rng.standard_normal(12)
    shares = rng.uniform(0.1, 1.0, 12)
    settings = FitSettings(SE((0.3, 0.3)), (0, 1))
    in_part = NegativeLogPosterior(settings, X, y, np.full(12, np.nan), shares)
    theta = np.log([0.2, 0.4, 1.5, 0.05])
    as_own_noise = NegativeLogPosterior(settings, X, y, 0.05 / shares)
    assert in_part(theta)[0] == pytest.approx(as_own_noise(theta)[0], rel=1e-12)
    step = 1e-6 * np.eye(4)
    numeric = [(in_part(theta + e)[0] - in_part(theta - e)[0]) / 2e-6 for e in step]
    assert in_part(theta)[1] == pytest.approx(numeric, rel=1e-4, abs=1e-6)


# Bad outcomes


def bad_outcomes() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    y = rng.standard_normal(30)
    one_wild = y.copy()
    one_wild[4] = 1e6
    return {
        "zero": np.zeros(30),
        "constant": np.full(30, 0.1 + 0.2),
        "constant but for rounding": 0.3 + 4e-17 * np.arange(30),
        "one of a million": one_wild,
        "one of 1e100": np.where(np.arange(30) == 4, 1e100, y),
        "all of 1e100": 1e100 * y,
        "all of 1e-100": 1e-100 * y,
        "two values": (np.arange(30) % 2).astype(float),
        "offset": 1e12 + y,
    }


BAD = bad_outcomes()


@pytest.mark.parametrize("scaling", [FloorToOne(), Robust()], ids=["paper", "robust"])
@pytest.mark.parametrize("y", BAD.values(), ids=BAD.keys())
def test_a_fit_survives(y, scaling):
    """Scaled as the algorithms do it; the belief that follows is finite."""
    scale = scaling(Bounds(1.0), y)
    model = scale.to_model(y)
    assert np.all(np.isfinite(model))
    X = np.random.default_rng(8).random((30, 2))
    X[10:15] = X[3]
    lams = np.full(30, np.nan)
    with np.errstate(over="ignore", invalid="ignore"):  # as a choice fits
        found = fit(
            FitSettings(Matern52((0.3, 0.3)), (0, 1), mean="constant"), GP(Matern52((0.3, 0.3)), 1e-3), X, model, lams
        )
    inside(found, 2)
    belief = found.condition(X, model)
    assert np.all(np.isfinite(scale.to_user(belief.mean(X))))
    assert np.all((belief.variance(X) >= 0) & (belief.variance(X) <= found.kernel.variance))


@pytest.mark.parametrize("n", [3, 30])
def test_a_fit_survives_when_all_queries_are_one(n):
    y = np.random.default_rng(9).standard_normal(n)
    X = np.full((n, 2), 0.4)
    found = fit(
        FitSettings(SE((0.3, 0.3)), (0, 1), mean="constant"), GP(SE((0.3, 0.3)), 1e-3), X, y, np.full(n, np.nan)
    )
    inside(found, 2)


def test_where_the_matrix_cannot_be_factored_the_evidence_is_a_wall_and_not_an_error():
    X = np.full((5, 2), 0.4)
    objective = NegativeLogPosterior(
        FitSettings(SE((0.3, 0.3)), (0, 1), lam=1e-300), X, np.arange(5.0), np.full(5, np.nan)
    )
    value, gradient = objective(objective.pack(GP(SE((0.3, 0.3)), 1.0)))
    assert value >= 1e20
    assert np.all(np.isfinite(gradient))
