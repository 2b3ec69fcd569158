"""Hyperparameters by marginal likelihood, with analytic gradients.

θ    log lengthscale per coordinate, log variance, log lam — those that are not given by hand
r    λ, or an outcome's own noise variance; divided by its share where a row counts in part       (n,)
-log p(y | X, θ) = ½ (y - m)ᵀC⁻¹(y - m) + ½ log det C + n/2 log 2π,   m = 0, or the constant that maximises it

C = k(X, X) + diag(r). Outcomes of one query count as one (merging.py): with their mean ȳ and its noise N, and
C = k + diag(N) over the points, each once, the same value is
  ½ (ȳ - m)ᵀC⁻¹(ȳ - m) + ½ log det C + n/2 log 2π + ½ Σ (y - ȳ)²/r + ½ (Σ log r - Σ log N)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from belated.learner.arrays import Array
from belated.learner.gp.kernels import Kernel
from belated.learner.gp.merging import MergedOutcomes, group_rows, merge_outcomes, number_points
from belated.learner.gp.posterior import GP

MOST = 300  # outcomes a fit looks at: above, as many spread evenly over the order of asking
COMPARED = 1000  # and outcomes by which fits with several kernels are compared
FEWEST = 3  # outcomes below which there is nothing to fit
LOG_2 = float(np.log(2.0))
IMPOSSIBLE = 1e25  # the value at a θ where nothing can be computed
LENGTHSCALE = (0.005, 10.0)
VARIANCE = (1e-3, 1e2)
LAM = (1e-6, 1.0)


@dataclass(frozen=True)
class HyperPrior:
    """Log-normal prior beliefs about θ (mean and std of the log; None: none), for fits to few outcomes.

    >>> from belated import algorithms
    >>> algorithms.HyperPrior(lam=(-7.0, 2.0)).lengthscale is None  # no prior belief about lengthscales
    True
    """

    lengthscale: tuple[float, float] | None = None
    variance: tuple[float, float] | None = None
    lam: tuple[float, float] | None = None
    context: tuple[float, float] | None = None  # lengthscales of the context; None: as those of the query


@dataclass(frozen=True)
class FitSettings:
    """What a fit may change: the kernel's hyperparameters, λ, the mean; and the prior beliefs about them."""

    kernel: Kernel  # on arrays; its lengthscales and variance are the start
    groups: tuple[int, ...]  # the coordinate of each column
    given_kernel: bool = False
    lam: float | None = None  # given by hand
    mean: Literal["zero", "constant"] = "zero"
    prior: HyperPrior = HyperPrior()
    contexts: int = 0  # coordinates of the context, which come first


def choose_rows(n: int, most: int = MOST) -> NDArray[np.intp]:
    """The rows a fit looks at."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).round().astype(np.intp)


def fit(settings: FitSettings, start: GP, X: Array, y: Array, lams: Array, shares: Array | None = None) -> GP:
    """The GP whose hyperparameters make the outcomes y at X most likely; `lams` is NaN where lam is to be fitted."""
    return find_fit(settings, start, X, y, lams, shares)[1]


def fit_likeliest(settings: FitSettings, kernels: Sequence[Kernel], start: GP, X: Array, y: Array, lams: Array) -> GP:
    """The fit with the kernel that is most likely; before any outcome each is half as likely as the one before it.

    Which kernel it is takes more outcomes to say than its lengthscales, and one evaluation of each."""
    found = [find_fit(replace(settings, kernel=each), start, X, y, lams) for each in kernels]
    if len(X) > MOST and len(kernels) > 1:
        rows = choose_rows(len(X), COMPARED)
        wider = [NegativeLogPosterior(replace(settings, kernel=k), X[rows], y[rows], lams[rows]) for k in kernels]
        found = [(each.evaluate(each.pack(gp)), gp) for each, (_, gp) in zip(wider, found, strict=True)]
    return min((value + place * LOG_2, place, gp) for place, (value, gp) in enumerate(found))[2]


def find_fit(
    settings: FitSettings, start: GP, X: Array, y: Array, lams: Array, shares: Array | None = None
) -> tuple[float, GP]:
    """The least -log p(y | X, θ) - log p(θ) that was found, and the GP that has it."""
    from scipy.optimize import minimize

    rows = choose_rows(len(X))
    objective = NegativeLogPosterior(settings, X[rows], y[rows], lams[rows], None if shares is None else shares[rows])
    if not objective.bounds:
        return objective(np.empty(0))[0], objective.unpack(np.empty(0))
    starts = [objective.pack(start), *(objective.isotropic(l) for l in (0.05, 0.2, 0.7))]
    starts.sort(key=lambda theta: objective(theta)[0])
    best_value, best = np.inf, starts[0]
    for theta in starts[: 2 if len(X) <= 100 else 1]:  # the best starts; with many outcomes all lead to one fit
        found = minimize(
            objective, theta, jac=True, method="L-BFGS-B", bounds=objective.bounds, options={"maxiter": 60}
        )
        if np.isfinite(found.fun) and found.fun < best_value - 1e-9:
            best_value, best = found.fun, found.x
    return best_value, objective.unpack(best)


class Factorized(NamedTuple):
    """-log p(y | X, θ) - log p(θ), and what it was computed from."""

    value: float
    chol: Array  # of C between the points
    alpha: Array  # C⁻¹ (ȳ - m)
    merged: MergedOutcomes
    noise: Array  # r


class NegativeLogPosterior:
    """-log p(y | X, θ) - log p(θ), and its gradient."""

    def __init__(self, settings: FitSettings, X: Array, y: Array, lams: Array, shares: Array | None = None) -> None:
        self.settings, self.y, self.lams = settings, y, lams
        self.shares = np.ones(len(X)) if shares is None else shares
        self.grouping = group_rows(number_points(X))
        self.X = X[self.grouping.first]
        self.groups = np.asarray(settings.groups, dtype=int)
        self.d = int(self.groups.max()) + 1 if len(self.groups) else 0
        prior = settings.prior
        parts: list[tuple[int, tuple[float, float], tuple[float, float] | None]] = []
        if not settings.given_kernel:
            parts += [
                (settings.contexts, LENGTHSCALE, prior.context or prior.lengthscale),
                (self.d - settings.contexts, LENGTHSCALE, prior.lengthscale),
                (1, VARIANCE, prior.variance),
            ]
        if settings.lam is None:
            parts.append((1, LAM, prior.lam))
        self.bounds = [(np.log(low), np.log(high)) for count, (low, high), _ in parts for _ in range(count)]
        self.beliefs = [belief for count, _, belief in parts for _ in range(count)]

    def pack(self, gp: GP) -> Array:
        """θ of a GP, moved inside the bounds."""
        theta: list[float] = []
        if not self.settings.given_kernel:
            l = gp.kernel.lengthscales(len(self.groups))
            theta += [float(np.log(l[self.groups == g][0])) for g in range(self.d)] + [
                float(np.log(gp.kernel.variance))
            ]
        if self.settings.lam is None:
            theta.append(float(np.log(gp.lam)))
        low_high: Array = np.array(self.bounds).reshape(-1, 2)
        return np.asarray(np.clip(np.array(theta), low_high[:, 0], low_high[:, 1]))

    def isotropic(self, lengthscale: float) -> Array:
        """A start with one lengthscale for all coordinates."""
        settings = self.settings
        kernel = settings.kernel
        if not settings.given_kernel:
            kernel = kernel.at(np.full(len(self.groups), lengthscale), float(np.clip(np.var(self.y), *VARIANCE)))
        return self.pack(GP(kernel, 1e-3))

    def unpack(self, theta: Array) -> GP:
        """The GP at θ, with the constant mean that suits it best, if it has one."""
        kernel, lam = self._unpack(theta)
        if self.settings.mean == "zero":
            return GP(kernel, lam)
        merged = merge_outcomes(self.grouping, self.y, self._noise(lam))
        chol, failed = lapack.dpotrf(kernel(self.X, self.X) + np.diag(merged.noise), lower=1)
        return GP(kernel, lam) if failed else GP(kernel, lam, _fit_mean(chol, merged.mean))

    def evaluate(self, theta: Array) -> float:
        """The value alone."""
        kernel, lam = self._unpack(theta)
        there = self._factorize(theta, kernel(self.X, self.X), lam)
        return IMPOSSIBLE if there is None or not np.isfinite(there.value) else there.value

    def __call__(self, theta: Array) -> tuple[float, Array]:
        kernel, lam = self._unpack(theta)
        X, D = self.X, len(self.groups)
        K, slopes = kernel.slopes(X, X)
        there = self._factorize(theta, K, lam)
        if there is None:
            return IMPOSSIBLE, np.zeros(len(theta))
        value, chol, alpha, merged, noise = there
        inverse = lapack.dpotri(chol, lower=1)[0]
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        G = inverse - np.outer(alpha, alpha)  # ∂value/∂K = G / 2
        gradient: list[float] = []
        if not self.settings.given_kernel:
            by_column = np.empty(D)
            for columns, inverse_squares, slope in slopes:
                # Σ_ij A_ij (x_ic - x_jc)² = 2 (Σ_i x_ic² Σ_j A_ij - x_cᵀ A x_c), A = G ∘ ∂K/∂r² symmetric
                A, Xc = G * slope, X[:, columns]
                spread = 2.0 * (np.square(Xc).T @ A.sum(axis=1) - np.einsum("ic,ic->c", Xc, A @ Xc))
                by_column[columns] = -inverse_squares * spread  # ∂r²/∂log l = -2 (x - x')²/l²
            gradient += np.bincount(self.groups, by_column, minlength=self.d).tolist()
            gradient.append(0.5 * float(np.sum(G * K)))
        if self.settings.lam is None:
            # ∂/∂log r of each outcome, ½ (1 - s²/r - (y - f̂)²/r) with f̂ and s² the belief at its point
            f_hat = merged.mean - merged.noise * alpha
            variance = merged.noise - np.square(merged.noise) * np.diag(inverse)
            place = self.grouping.place
            by_noise = 1.0 - (variance[place] + np.square(self.y - f_hat[place])) / noise
            gradient.append(0.5 * float(np.sum(by_noise[np.isnan(self.lams)])))
        out = np.array(gradient)
        for i, belief in enumerate(self.beliefs):
            if belief is not None:
                out[i] += (theta[i] - belief[0]) / belief[1] / belief[1]
        if not (np.isfinite(value) and np.all(np.isfinite(out))):
            return IMPOSSIBLE, np.zeros(len(theta))
        return value, out

    def _factorize(self, theta: Array, K: Array, lam: float) -> Factorized | None:
        """The value, and what its gradient needs; None where K cannot be factored."""
        noise = self._noise(lam)
        merged = merge_outcomes(self.grouping, self.y, noise)
        chol, failed = lapack.dpotrf(K + np.diag(merged.noise), lower=1, clean=1)
        if failed or not np.all(np.isfinite(chol)):
            return None
        m = _fit_mean(chol, merged.mean) if self.settings.mean == "constant" else 0.0
        residual = merged.mean - m
        alpha = lapack.dpotrs(chol, residual, lower=1)[0]
        value = 0.5 * float(residual @ alpha) + float(np.sum(np.log(np.diag(chol))))
        value += 0.5 * len(self.y) * np.log(2.0 * np.pi)
        value += self._compare_with_merged(noise, merged)
        for each, belief in zip(theta, self.beliefs, strict=True):
            if belief is not None:
                value += 0.5 * ((each - belief[0]) / belief[1]) ** 2
        return Factorized(value, chol, alpha, merged, noise)

    def _unpack(self, theta: Array) -> tuple[Kernel, float]:
        kernel, lam = self.settings.kernel, self.settings.lam
        if not self.settings.given_kernel:
            kernel = kernel.at(np.exp(theta[: self.d])[self.groups], float(np.exp(theta[self.d])))
        return kernel, float(np.exp(theta[-1])) if lam is None else lam

    def _noise(self, lam: float) -> Array:
        return np.asarray(np.where(np.isnan(self.lams), lam, self.lams) / self.shares)

    def _compare_with_merged(self, noise: Array, merged: MergedOutcomes) -> float:
        """½ Σ (y - ȳ)²/r + ½ (Σ log r - Σ log N), which is 0 without repeats."""
        place = self.grouping.place
        points = np.bincount(place) > 1
        rows = points[place]
        scatter = np.square(self.y - merged.mean[place])[rows] / noise[rows]
        return 0.5 * float(np.sum(scatter + np.log(noise[rows])) - np.sum(np.log(merged.noise[points])))


def _fit_mean(chol: Array, y: Array) -> float:
    """m = 1ᵀC⁻¹y / 1ᵀC⁻¹1."""
    ones = lapack.dpotrs(chol, np.ones(len(y)), lower=1)[0]
    return float(ones @ y / np.sum(ones))


def group_columns(widths: Sequence[int]) -> tuple[int, ...]:
    """The coordinate of each column."""
    return tuple(np.repeat(np.arange(len(widths)), widths).tolist())
