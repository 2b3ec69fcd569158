"""Hyperparameters are drawn as likely as they are."""

import numpy as np

from belated.learner.gp.doubt import describe_fit, draw_hyperparameters, find_spread
from belated.learner.gp.fit import FitSettings, HyperPrior, NegativeLogPosterior
from belated.learner.gp.kernels import SE, Matern52
from belated.learner.gp.posterior import GP

PRIOR = HyperPrior(lengthscale=(-1.0, 1.0), variance=(0.0, 1.0), lam=(-5.0, 1.0))


def test_of_one_unknown_they_have_its_mean_and_spread() -> None:
    """Only λ is fitted: its posterior is summed on a grid."""
    rng = np.random.default_rng(0)
    X = rng.random((30, 1))
    y = np.sin(6 * X[:, 0]) + 0.2 * rng.standard_normal(30)
    settings = FitSettings(SE(0.3), (0,), given_kernel=True, prior=PRIOR)
    objective = NegativeLogPosterior(settings, X, y, np.full(30, np.nan))
    grid = np.linspace(np.log(1e-6), 0.0, 800)
    density = np.array([-objective(np.array([theta]))[0] for theta in grid])
    weights = np.exp(density - density.max())
    weights /= weights.sum()
    mean = float(weights @ grid)
    std = float(np.sqrt(weights @ np.square(grid - mean)))
    posterior = GP(SE(0.3), float(np.exp(grid[np.argmax(density)]))).condition(X, y)
    drawn = np.log([gp.lam for gp in draw_hyperparameters(settings, posterior, 400, rng)])
    assert abs(np.mean(drawn) - mean) < 0.3 * std
    assert 0.7 * std < np.std(drawn) < 1.4 * std
    spread = find_spread(describe_fit(settings, posterior), np.log([posterior.gp.lam]))
    assert 0.6 * std < spread[0, 0] < 1.5 * std


def test_smooth_outcomes_speak_for_the_smooth_kernel_and_what_is_given_stays() -> None:
    X = np.linspace(0.0, 1.0, 25)[:, None]
    y = np.sin(9 * X[:, 0])
    settings = FitSettings(Matern52(0.3), (0,), mean="constant", prior=PRIOR)
    posterior = GP(Matern52(0.6), 1e-4).condition(X, y)
    drawn = draw_hyperparameters(settings, posterior, 40, np.random.default_rng(0))
    assert sum(isinstance(gp.kernel, SE) for gp in drawn) > 20
    by_hand = FitSettings(Matern52(0.6), (0,), given_kernel=True, lam=1e-4)
    assert draw_hyperparameters(by_hand, posterior, 3, np.random.default_rng(0)) == [posterior.gp] * 3
