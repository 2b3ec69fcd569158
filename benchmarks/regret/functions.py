"""The functions behind the public tasks: larger is better, and where the best lies is known or computed.

x   (..., d), in each function's own units
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from belated.learner.arrays import Array

BRANIN_BEST = -0.39788735772973816  # at (π, 2.275) and two others; the worst is at (-5, 0)
BRANIN_WORST = -308.12909601160663
HARTMANN3_AT, HARTMANN3_BEST = np.array([0.114589, 0.555649, 0.852547]), 3.862779787332662
HARTMANN6_BEST = 3.3223680114155147


def branin(x1: float, x2: float) -> float:
    """-(x2 - b x1² + c x1 - 6)² - 10 (1 - 1/8π) cos x1 - 10 on [-5, 10] × [0, 15]."""
    ridge = x2 - branin_ridge(x1)
    return float(-(ridge**2) - 10 * (1 - 1 / (8 * np.pi)) * np.cos(x1) - 10)


def branin_ridge(x1: float) -> float:
    """The x2 at which Branin is best for this x1, were there no bounds: b x1² - c x1 + 6."""
    return float(5.1 / (4 * np.pi**2) * x1**2 - 5 / np.pi * x1 + 6)


ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
A3 = np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]])
P3 = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
A6 = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
P6 = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann3(x: Array) -> float:
    """Σ α_i exp(-Σ A_ij (x_j - P_ij)²), a sum of four bumps inside the cube, so that the best is the best anywhere."""
    return float(ALPHA @ np.exp(-np.sum(A3 * (x - P3) ** 2, axis=1)))


def hartmann6(x: Array) -> float:
    """The same in six dimensions."""
    return float(ALPHA @ np.exp(-np.sum(A6 * (x - P6) ** 2, axis=1)))


def ackley(x: Array) -> float:
    """20 exp(-0.2 √(mean x²)) + exp(mean cos 2πx) - 20 - e: a funnel full of dents, best 0 at 0, above -22.4."""
    funnel = 20 * np.exp(-0.2 * np.sqrt(np.mean(x**2)))
    return float(funnel + np.exp(np.mean(np.cos(2 * np.pi * x))) - 20 - np.e)


def rosenbrock(x: Array) -> float:
    """-Σ 100 (x_{i+1} - x_i²)² + (1 - x_i)²: a bent valley, best 0 at (1, …, 1)."""
    return float(-np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


@dataclass(frozen=True, eq=False)
class Sample:
    """f ~ GP(0, SE with lengthscale l) on the unit cube by random Fourier frequencies, normalised to [0, 1]."""

    omega: Array  # (F, d)
    phase: Array  # (F,)
    weight: Array  # (F,)
    low: float
    high: float

    def raw(self, X: Array) -> Array:
        """Σ_k w_k cos(ω_k · x + φ_k), one for each row of X."""
        return np.asarray(np.cos(X @ self.omega.T + self.phase) @ self.weight)

    def __call__(self, x: Array) -> float:
        return float((self.raw(x[None])[0] - self.low) / (self.high - self.low))


def sample(seed: int, d: int, lengthscale: float, frequencies: int = 512, cells: int = 200) -> Sample:
    """The function of a seed; its extremes from a grid, and uphill from the best points of the grid."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(d,)))
    omega = rng.standard_normal((frequencies, d)) / lengthscale
    phase, weight = rng.uniform(0, 2 * np.pi, frequencies), rng.standard_normal(frequencies) * np.sqrt(2 / frequencies)
    bare = Sample(omega, phase, weight, 0.0, 1.0)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, cells + 1)] * d, indexing="ij"), axis=-1).reshape(-1, d)
    values = np.concatenate([bare.raw(part) for part in np.array_split(grid, max(1, len(grid) // 4000))])
    high = _uphill(bare.raw, grid[np.argsort(-values)[:32]])
    return Sample(omega, phase, weight, float(values.min()), high)


def _uphill(f: Callable[[Array], Array], starts: Array) -> float:
    """The best of f that is reached from any of the starts, inside the unit cube."""
    from scipy.optimize import minimize

    box = [(0.0, 1.0)] * starts.shape[1]
    return max(float(-minimize(lambda x: -f(x[None])[0], start, bounds=box, tol=1e-12).fun) for start in starts)
