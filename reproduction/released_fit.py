"""How the released program fits the hyperparameters of its GP: by plain marginal likelihood, as GPy does.

l, v, λ   lengthscale and variance of an isotropic SE kernel; noise variance
s         λ + JITTER: GPy adds the jitter wherever it factors k(X, X) + λI
x         θ = log(1 + eˣ) for each of the three, in which a fit searches without bounds

Rows that are equal are merged: n outcomes at one query say what their mean says with the noise s / n, and how far they
lie apart, which speaks of s alone. Nothing is lost by it, and a list is queried at the same place many times.

-log p(y) = -log N(ȳ; 0, k(X, X) + diag(s / n)) + ½ (N - d) log 2πs + ½ Σ log n + scatter / 2s     N outcomes, d queries
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.linalg import lapack
from scipy.spatial.distance import cdist
from scipy.special import expit

from belated.errors import NotPositiveDefinite
from belated.learner.arrays import Array
from belated.learner.gp.fit import choose_rows
from belated.learner.gp.kernels import SE
from belated.learner.gp.posterior import GP

JITTER = 1e-8
JITTERS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)  # relative to the diagonal, where rounding makes a factor fail
RESTARTS, EVALUATIONS = 10, 1000
LEAST = -200.0  # of x: far below it l³ would no longer be a number


@dataclass(frozen=True, eq=False)
class MergedRows:
    """Distinct queries in the order of their first row."""

    X: Array  # (d, D)
    y: Array  # mean outcome                                      (d,)
    counts: Array  # (d,)
    scatter: float  # Σ (y - ȳ)², over all rows


def merge_rows(X: Array, y: Array) -> MergedRows:
    """Outcomes y at X, equal queries together."""
    place: dict[bytes, int] = {}
    at = np.array([place.setdefault(x.tobytes(), len(place)) for x in np.ascontiguousarray(X) + 0.0], dtype=np.intp)
    first = np.unique(at, return_index=True)[1]
    count = np.bincount(at).astype(float)
    mean = np.bincount(at, y) / count
    return MergedRows(X[first], mean, count, float(np.sum(np.square(y - mean[at]))))


def softplus(x: Array) -> Array:
    """θ = log(1 + eˣ)."""
    return np.logaddexp(0.0, x)


def softplus_inverse(theta: Array) -> Array:
    """x = log(e^θ - 1)."""
    return np.asarray(theta + np.log(-np.expm1(-theta)))


class NegativeLogLikelihood:
    """-log p(y | X, θ), θ = (l, v, λ), and its gradient."""

    def __init__(self, rows: MergedRows) -> None:
        self.rows, self.distances = rows, cdist(rows.X, rows.X, "sqeuclidean")
        self.repeats = float(np.sum(rows.counts)) - len(rows.counts)  # N - d
        self.constant = 0.5 * float(np.sum(np.log(rows.counts)) + np.sum(rows.counts) * np.log(2.0 * np.pi))

    def __call__(self, theta: Array) -> tuple[float, Array]:
        l, v, lam = theta
        y, count, s = self.rows.y, self.rows.counts, lam + JITTER
        E = np.exp(self.distances * (-0.5 / l**2))
        chol = factor(v * E, s / count)
        alpha = lapack.dpotrs(chol, y, lower=1)[0]
        inverse = lapack.dpotri(chol, lower=1)[0]  # its lower half; the rest is 0
        diagonal = np.diag(inverse)
        M = E * self.distances
        value = 0.5 * float(y @ alpha) + float(np.sum(np.log(np.diag(chol)))) + self.constant
        value += 0.5 * self.repeats * np.log(s) + 0.5 * self.rows.scatter / s
        # ½ Σ G_ij M_ij with G = inverse - ααᵀ, M symmetric
        by_l = v / l**3 * (float(np.vdot(inverse, M)) - 0.5 * float(alpha @ M @ alpha))
        by_v = float(np.vdot(inverse, E)) - 0.5 * float(np.sum(diagonal)) - 0.5 * float(alpha @ E @ alpha)
        by_lam = 0.5 * float(np.sum((diagonal - np.square(alpha)) / count))
        by_lam += 0.5 * self.repeats / s - 0.5 * self.rows.scatter / s**2
        return value, np.array([by_l, by_v, by_lam])


def factor(K: Array, noise: Array) -> Array:
    """Lower triangular L with L Lᵀ = K + diag(noise), or, as GPy does, with the least of JITTERS that makes it work."""
    A = K + np.diag(noise)
    for jitter in JITTERS:
        added = jitter * np.mean(np.diag(A)) * np.eye(len(A)) if jitter else 0.0
        chol, failed = lapack.dpotrf(A + added, lower=1, clean=1)
        if not failed:
            return np.asarray(chol)
    raise NotPositiveDefinite


def find_optima(gp: GP, X: Array, y: Array, starts: Array) -> list[tuple[float, GP]]:
    """Where the likelihood of y at X has a maximum: from the hyperparameters of a GP, and from each start x.

    Each with its -log p(y), in the order of the starts."""
    from scipy.optimize import fmin_l_bfgs_b

    chosen = choose_rows(len(X))
    objective = NegativeLogLikelihood(merge_rows(X[chosen], y[chosen]))

    def at(x: Array) -> tuple[float, Array]:
        value, by_theta = objective(softplus(np.maximum(x, LEAST)))
        return value, by_theta * expit(x)

    here = softplus_inverse(np.array([gp.kernel.lengthscales(X.shape[1])[0], gp.kernel.variance, gp.lam]))
    found = [fmin_l_bfgs_b(at, x, maxfun=EVALUATIONS, maxiter=EVALUATIONS)[:2] for x in (here, *starts)]
    return [(float(value), unpack(x)) for x, value in found if np.isfinite(value) and np.all(np.isfinite(x))]


def unpack(x: Array) -> GP:
    """The GP of a point of the search."""
    l, v, lam = softplus(np.maximum(x, LEAST)).tolist()
    return GP(SE(l, v), lam)


def fit_gp(gp: GP, X: Array, y: Array, rng: Generator) -> GP:
    """The most likely l, v and λ given y at X: sought once from where they are and nine times from x ~ N(0, 1)."""
    optima = find_optima(gp, X, y, rng.standard_normal((RESTARTS - 1, 3)))
    return min(optima, key=lambda found: found[0], default=(np.inf, gp))[1]
