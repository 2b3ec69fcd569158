"""Functions drawn from a Gaussian process on a line of points, scaled to [0, 1]: the paper's synthetic objective."""

from __future__ import annotations

from functools import cache

import numpy as np

from belated.learner.arrays import Array
from belated.learner.gp.kernels import SE

JITTER = 1e-9  # of the variance: without it rounding makes K indefinite


def sample_function(seed: int, points: int = 1000, lengthscale: float = 0.02) -> tuple[Array, Array]:
    """The points and the function of a seed."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
    f = _compute_root(points, lengthscale) @ rng.standard_normal(points)
    return np.linspace(0.0, 1.0, points), np.asarray((f - f.min()) / (f.max() - f.min()))


@cache
def _compute_root(points: int, lengthscale: float) -> Array:
    """L with L Lᵀ = K on equally spaced points of [0, 1]."""
    X = np.linspace(0.0, 1.0, points)[:, None]
    return np.asarray(np.linalg.cholesky(SE(lengthscale)(X, X) + JITTER * np.eye(points)), dtype=float)
