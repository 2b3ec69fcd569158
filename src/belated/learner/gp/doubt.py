"""How uncertain hyperparameters are after a fit: others that explain the outcomes about as well.

θ   as in fit.py: log lengthscales, log variance, log lam, those that are not given by hand
H   the curvature of -log p(θ | y) at a fit, by differences of its gradient

θ is drawn from a Student distribution with the scale H⁻¹ around the fit, and weighed by p(θ | y) over its density.
Functions may also be smoother than a Matérn kernel says: then θ of the SE kernel is drawn and weighed too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from belated.learner.arrays import Array
from belated.learner.gp.fit import FitSettings, NegativeLogPosterior, choose_rows
from belated.learner.gp.kernels import SE, Matern12, Matern32, Matern52
from belated.learner.gp.posterior import GP, Posterior

PROPOSALS = 80  # of each kernel
TAIL = 4.0  # degrees of freedom
STEP = 0.05  # of a difference
WIDEST = 1.0  # the largest standard deviation of a direction of θ


class Proposals(NamedTuple):
    """Some θ, and the logarithm of how much each counts."""

    objective: NegativeLogPosterior
    thetas: Array
    weights: Array


def draw_hyperparameters(settings: FitSettings, posterior: Posterior, count: int, rng: Generator) -> list[GP]:
    """GPs with other hyperparameters, as likely as they are; the noise of all outcomes grows and shrinks together."""
    own = describe_fit(settings, posterior)
    if not own.bounds:
        return [posterior.gp] * count
    parts = [propose(own, posterior.gp, rng)]
    if isinstance(settings.kernel, (Matern12, Matern32, Matern52)) and not settings.given_kernel:
        smooth = replace(settings, kernel=SE(settings.kernel.lengthscale, settings.kernel.variance))
        objective = describe_fit(smooth, posterior)
        start = replace(posterior.gp, kernel=smooth.kernel)
        parts.append(propose(objective, improve_fit(objective, start), rng))
    return choose_some(parts, count, rng)


def fit_anew(settings: FitSettings, posterior: Posterior) -> GP:
    """The most likely hyperparameters of a belief, where another prior is assumed of them."""
    return improve_fit(describe_fit(settings, posterior), posterior.gp)


def describe_fit(settings: FitSettings, posterior: Posterior) -> NegativeLogPosterior:
    """-log p(θ | y) for the outcomes of a belief."""
    rows = choose_rows(len(posterior.X))
    shares = posterior.gp.lam / posterior.lams[rows]
    unknown = np.full(len(rows), np.nan)
    return NegativeLogPosterior(settings, posterior.X[rows], posterior.y_tilde[rows], unknown, shares)


def improve_fit(objective: NegativeLogPosterior, start: GP) -> GP:
    """The best θ near a start."""
    from scipy.optimize import minimize

    found = minimize(objective, objective.pack(start), jac=True, method="L-BFGS-B", bounds=objective.bounds)
    return objective.unpack(found.x)


def choose_some(parts: Sequence[Proposals], count: int, rng: Generator) -> list[GP]:
    """Some of all proposals, each as often as it counts."""
    logs = np.concatenate([part.weights for part in parts])
    weights = np.cumsum(np.exp(logs - np.max(logs)))
    places = np.searchsorted(weights / weights[-1], (rng.random() + np.arange(count)) / count)
    every = [(part.objective, theta) for part in parts for theta in part.thetas]
    chosen = rng.permutation(np.minimum(places, len(every) - 1))
    return [every[i][0].unpack(every[i][1]) for i in chosen]


def propose(objective: NegativeLogPosterior, fitted: GP, rng: Generator) -> Proposals:
    """θ around a fit; the first is the fit itself, which always counts."""
    center = objective.pack(fitted)
    root = find_spread(objective, center)
    z = rng.standard_normal((PROPOSALS, len(center))) * np.sqrt(TAIL / rng.chisquare(TAIL, (PROPOSALS, 1)))
    z[0] = 0.0
    thetas = center + z @ root.T
    low, high = np.array(objective.bounds).T
    inside = np.all((thetas >= low) & (thetas <= high), axis=1)
    inside[0] = True
    merit = np.array([-objective(theta)[0] if near else -np.inf for theta, near in zip(thetas, inside, strict=True)])
    density = -0.5 * (TAIL + len(center)) * np.log1p(np.sum(np.square(z), axis=1) / TAIL)
    return Proposals(objective, thetas, merit - density + np.linalg.slogdet(root)[1])


def find_spread(objective: NegativeLogPosterior, center: Array) -> Array:
    """R with R Rᵀ = H⁻¹, and no direction wider than WIDEST                                    (p, p)."""
    steps = STEP * np.eye(len(center))
    H = np.array([(objective(center + e)[1] - objective(center - e)[1]) / (2.0 * STEP) for e in steps])
    values, vectors = np.linalg.eigh((H + H.T) / 2.0)
    return np.asarray(vectors / np.sqrt(np.maximum(values, WIDEST**-2)))
