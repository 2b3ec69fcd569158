"""The paper's synthetic objective (App. C.1): a sample of a rugged GP on a line of points, normalised to [0, 1].

f ~ GP(0, SE with lengthscale 0.02) on 1000 equally spaced points of [0, 1], a new one for every seed
y_s = f(x_s) + 0.01 · N(0, 1): the paper is silent on the noise
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from belated.learner.kernels import SE, Array
from belated.paper.task import Task
from belated.points import Points

POINTS, LENGTHSCALE, NOISE = 1000, 0.02, 0.01
JITTER = 1e-9  # of the variance: without it rounding makes K indefinite


def sample(seed: int, points: int = POINTS, lengthscale: float = LENGTHSCALE) -> tuple[Array, Array]:
    """The points and the function of a seed."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
    f = _root(points, lengthscale) @ rng.standard_normal(points)
    return np.linspace(0.0, 1.0, points), np.asarray((f - f.min()) / (f.max() - f.min()))


@cache
def _root(points: int, lengthscale: float) -> Array:
    """L with L Lᵀ = K on equally spaced points of [0, 1]."""
    X = np.linspace(0.0, 1.0, points)[:, None]
    return np.asarray(np.linalg.cholesky(SE(lengthscale)(X, X) + JITTER * np.eye(points)), dtype=float)


def task(seed: int) -> Task:
    """The function of a seed."""
    x, f = sample(seed)
    values: dict[float, float] = dict(zip(x.tolist(), f.tolist(), strict=True))

    def value(params: Mapping[str, float]) -> float:
        return values[params["x"]]

    return Task(space=Points(x), f=value, best=1.0, noise=NOISE)
