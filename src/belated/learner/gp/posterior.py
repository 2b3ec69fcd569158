"""The GP posterior of Eq. (1), on a factor that only grows.

X        the different queries among x_1 … x_{t-1}, one per row  (n, D)
y_tilde  censored feedback ỹ_{1,t} … ỹ_{t-1,t}, its mean at each (n,)
L        lower triangular, L Lᵀ = K + diag(λ)                    (n, n)
alpha    (K + diag(λ))⁻¹ (ỹ - mean)                              (n,)
V        L⁻¹ k(X, Q)                                             (n, |Q|)

An outcome's λ is the prior's lam, or the variance of the noise that came with it; that of a query is the noise of the
mean of its outcomes (merging.py). So a belief costs what its different queries cost. Beyond some thousands the oldest
are summarised (summary.py): then the first rows of X are the centres, and their noise is correlated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from belated.errors import NotPositiveDefinite
from belated.learner.arrays import Array, Indices
from belated.learner.gp.aside import RowOutcomes
from belated.learner.gp.factor import BLOCK, Factor
from belated.learner.gp.kernels import Kernel, Slope
from belated.learner.gp.merging import MergedOutcomes, group_rows, merge_outcomes, number_points
from belated.learner.gp.summary import CentreSums, SummaryStore, find_rows
from belated.learner.gp.table import JITTERS, Table, compute_root

ROUNDING = 1e-8  # a standard deviation of a difference below this (relative to the prior's) is rounding
FEATURES = 512  # frequencies of a pathwise draw: its prior covariance is off by at most 1/√(2·512) ≈ 0.03 (one std)
NO_ROWS = Factor()


@dataclass(frozen=True)
class GP:
    """The prior: f ~ GP(mean, kernel), outcomes with noise variance lam."""

    kernel: Kernel
    lam: float
    mean: float = 0.0

    def condition(self, X: Array, y_tilde: Array, lams: Array | None = None, Q: Array | None = None) -> Posterior:
        """The belief given outcomes y_tilde at X; n = 0 gives the prior. With Q, a table makes answers on Q fast."""
        return GrowingPosterior().condition(self, range(1, len(X) + 1), X, y_tilde, lams, Q)


class OldOutcomes(NamedTuple):
    """Outcomes that are summarised, and of which a posterior keeps no more; and those beside them that are old."""

    ids: NDArray[np.intp]  # the numbers of those that are summarised
    rows: NDArray[np.intp]  # of X: the centres that are the nearest to one of them, and the rows of the others
    aside: RowOutcomes  # the others, as far as they have no number beside these


NOTHING = RowOutcomes(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0))
NOTHING_OLD = OldOutcomes(NOTHING.ids, NOTHING.place, NOTHING)


@dataclass(frozen=True, eq=False)
class Posterior:
    """A belief about f: mean, std, cov and draws at any points Q (q, D). It never changes: news makes a new one."""

    gp: GP
    X: Array
    y_tilde: Array
    lams: Array
    factor: Factor
    table: Table | None
    ids: NDArray[np.intp]  # the numbers of the outcomes
    place: NDArray[np.intp]  # the row of X that each outcome belongs to
    weights: Array  # what each outcome counts in ỹ
    summarised: Array = field(default_factory=lambda: np.empty((0, 0)))  # noise covariance of the first rows, if any
    old: OldOutcomes = NOTHING_OLD  # beside those that have a number here, or instead of them

    @cached_property
    def _whitened(self) -> Array:
        """L⁻¹ (ỹ - mean)."""
        return self.factor.solve(self.y_tilde - self.gp.mean)

    @cached_property
    def alpha(self) -> Array:
        return self.factor.solve_transposed(self._whitened)

    def _whitened_kernel(self, Q: Array) -> Array:
        """V = L⁻¹ k(X, Q)."""
        if self.table is not None and Q is self.table.Q:
            return self.table.V
        return self.factor.solve(self.gp.kernel(Q, self.X).T)

    def mean(self, Q: Array) -> Array:
        """μ(q) = k(q)ᵀ (K + λI)⁻¹ ỹ, Eq. (1)."""
        if self.table is not None and Q is self.table.Q:
            return self.gp.mean + self._whitened @ self.table.V
        return self.gp.mean + self.gp.kernel(Q, self.X) @ self.alpha

    def variance(self, Q: Array) -> Array:
        """σ²(q) = k(q, q) - k(q)ᵀ (K + λI)⁻¹ k(q), Eq. (1), kept within 0 and the prior's."""
        prior = self.gp.kernel.diag(Q)
        if self.table is not None and Q is self.table.Q:
            left = self.table.variance
        else:
            left = prior - np.sum(np.square(self._whitened_kernel(Q)), axis=0)
        return np.clip(left, 0.0, prior)

    def std(self, Q: Array) -> Array:
        return np.sqrt(self.variance(Q))

    def mean_and_std(self, Q: Array) -> tuple[Array, Array]:
        """Mean and std from one kernel matrix."""
        if self.table is not None and Q is self.table.Q:
            return self.mean(Q), self.std(Q)
        mean, variance = self._mean_and_variance(Q, self.gp.kernel(Q, self.X))
        return mean, np.sqrt(variance)

    def _mean_and_variance(self, Q: Array, K: Array) -> tuple[Array, Array]:
        """μ and σ², from K = k(Q, X)."""
        prior = self.gp.kernel.diag(Q)
        left = prior - np.sum(np.square(self.factor.solve(K.T)), axis=0)
        return self.gp.mean + K @ self.alpha, np.clip(left, 0.0, prior)

    def level_std(self, Q: Array) -> Array:
        """How uncertain μ is at Q because the constant mean is: |1 - k(q)ᵀC⁻¹1| / √(1ᵀC⁻¹1), C = K + diag(λ)."""
        return np.abs(self.level_shift(Q))

    def level_shift(self, Q: Array) -> Array:
        """What one standard deviation more of the constant mean adds to μ at Q: (1 - k(q)ᵀC⁻¹1) / √(1ᵀC⁻¹1)."""
        return self.whitened_level_shift(self._whitened_kernel(Q))

    def whitened_level_shift(self, V: Array) -> Array:
        """The same from V = L⁻¹ k(X, Q)."""
        if not len(self.X):
            return np.zeros(V.shape[1])
        return np.asarray((1.0 - self._whitened_ones @ V) / np.sqrt(self.level_precision))

    @property
    def level_precision(self) -> float:
        """1ᵀC⁻¹1: 1 / the variance of the constant mean."""
        return float(self._whitened_ones @ self._whitened_ones)

    @cached_property
    def _whitened_ones(self) -> Array:
        return self.factor.solve(np.ones(len(self.X)))

    @cached_property
    def own_means(self) -> Array:
        """μ at its own queries: K alpha = ỹ - λ alpha, so no kernel is needed."""
        means, M = self.y_tilde - self.lams * self.alpha, len(self.summarised)
        means[:M] = self.y_tilde[:M] - self.summarised @ self.alpha[:M]
        return means

    def std_of(self, outcomes: NDArray[np.bool_]) -> Array:
        """σ(x_s) at the queries of some of its outcomes: a look-up where there is a table."""
        rows = self.place[outcomes]
        if self.table is None or np.any(self.table.where[rows] < 0):
            return self.std(self.X[rows])
        return np.sqrt(np.maximum(self.table.variance[self.table.where[rows]], 0.0))

    def cov(self, Q: Array) -> Array:
        """σ²(q, q'), Eq. (1)                                      (q, q)."""
        V = self._whitened_kernel(Q)
        return self.gp.kernel(Q, Q) - V.T @ V

    def draw(self, Q: Array, rng: Generator, scale: float = 1.0) -> Array:
        """f ~ GP(μ, scale² σ²) at Q, exactly: μ + scale · (a draw of the deviation, with covariance σ²(q, q')).

        The deviation is R z with R Rᵀ = cov(Q). When every x is in the table's Q it is f0 - k(·)ᵀ(K + λI)⁻¹(f0(X) + ε)
        with f0 = R0 z drawn from the prior on Q: the same law in O(n|Q| + |Q|²), with no nearly singular root."""
        z = rng.standard_normal(len(Q))
        table = self.table
        if table is None or Q is not table.Q or np.any(table.where < 0):
            return self.mean(Q) + scale * (compute_root(self.cov(Q), self.gp.kernel.variance) @ z)
        f0 = table.prior.root @ z
        residual = f0[table.where] + self._draw_noise(rng)
        return self.mean(Q) + scale * (f0 - self.factor.solve(residual) @ table.V)

    def _draw_noise(self, rng: Generator) -> Array:
        """ε ~ N(0, λ), from a draw for each outcome in the order of the numbers: that of the rows does not matter."""
        old, M = np.sort(self.old.ids, kind="stable"), len(self.summarised)
        new = self.place >= M if len(old) else np.ones(len(self.ids), dtype=bool)
        given = RowOutcomes(self.ids[new], self.place[new], self.weights[new])
        ids, place, weights = (np.concatenate(pair) for pair in zip(self.old.aside, given, strict=True))
        rank = np.searchsorted(old, ids) + np.argsort(np.argsort(ids))
        z = rng.standard_normal(len(old) + len(ids))[rank]
        noise = np.sqrt(self.lams) * np.bincount(place, np.sqrt(weights) * z, len(self.X))
        noise[:M] = compute_root(self.summarised) @ rng.standard_normal(M)
        return np.asarray(noise)

    def path(self, rng: Generator, scale: float = 1.0) -> Path:
        """f ~ GP(μ, scale² σ²) as a function, by pathwise conditioning of a random Fourier draw of the prior.

        f = μ + scale (f0 - k(·)ᵀ(K + λI)⁻¹(f0(X) + ε)), f0 ~ prior, ε ~ N(0, λ)."""
        kernel = self.gp.kernel
        omega = kernel.frequencies(rng, FEATURES, self.X.shape[1])
        real, imaginary = rng.standard_normal((2, FEATURES)) * np.sqrt(kernel.variance / FEATURES)
        # real cos(ωx) + imaginary sin(ωx) is one cosine
        amplitude, phase = np.hypot(real, imaginary), np.arctan2(imaginary, real)
        f0 = np.cos(self.X @ omega.T - phase) @ amplitude
        residual = f0 + self._draw_noise(rng)
        update = self.factor.solve_transposed(self.factor.solve(residual))
        return Path(self.gp, self.X, self.alpha - scale * update, omega, phase, scale * amplitude)

    def mean_gradient(self, Q: Array) -> tuple[Array, Array]:
        """μ(q) and ∂μ/∂q                                          (q,), (q, D)."""
        return _kernel_sum(self.gp, Q, self.X, self.alpha)

    def gradients(self, Q: Array) -> tuple[Array, Array, Array, Array]:
        """μ, σ² and their gradients at Q                           (q,), (q,), (q, D), (q, D)."""
        return self._gradients(Q, *self.gp.kernel.slopes(Q, self.X))

    def _gradients(self, Q: Array, K: Array, slopes: list[Slope]) -> tuple[Array, Array, Array, Array]:
        """The same, from k(Q, X) and its slopes."""
        prior = self.gp.kernel.diag(Q)
        if len(self.summarised):  # here it is most of what a choice costs
            V = self.factor.solve_rows(K)
            known, B = np.sum(np.square(V), axis=1), self.factor.solve_rows_transposed(V)
        else:
            V = self.factor.solve(K.T)
            known, B = np.sum(np.square(V), axis=0), self.factor.solve_transposed(V).T
        variance = np.clip(prior - known, 0.0, prior)
        d_mean, d_variance = np.empty_like(Q), np.empty_like(Q)
        for columns, inverse_squares, slope in slopes:
            d_mean[:, columns] = _pull(slope * self.alpha, Q[:, columns], self.X[:, columns], inverse_squares)
            d_variance[:, columns] = -2.0 * _pull(slope * B, Q[:, columns], self.X[:, columns], inverse_squares)
        return self.gp.mean + K @ self.alpha, variance, d_mean, d_variance

    def difference_from(self, x: Array) -> BeliefDifference:
        """The belief about f(·) - f(x) once f(·) is heard, for one point x     (1, D)."""
        return BeliefDifference(self, x)

    def gain(self) -> float:
        """The realised information gain I(y; f) = ½ log det(I + K/λ)."""
        M = len(self.summarised)
        noise = 2.0 * np.sum(np.log(np.diag(compute_root(self.summarised)))) + np.sum(np.log(self.lams[M:]))
        return 0.5 * (self.factor.logdet() - float(noise))


@dataclass(frozen=True, eq=False)
class BeliefDifference:
    """The mean of f(q) - f(x) as it will be once the outcome at q is heard.

    It is μ(q) - μ(x) now, and the outcome will change it by a normal with the variance

        s²(q) = (σ²(q) - σ²(q, x))² / (σ²(q) + λ)

    which is small where f(q) and f(x) are uncertain together, and where f(q) is known better than an outcome tells."""

    posterior: Posterior
    x: Array  # (1, D)

    @property
    def gp(self) -> GP:
        return self.posterior.gp

    @cached_property
    def _v(self) -> Array:
        """L⁻¹ k(X, x)."""
        return self.posterior.factor.solve(self.gp.kernel(self.posterior.X, self.x)[:, 0])

    @cached_property
    def _w(self) -> Array:
        """σ²(q, x) = k(q, x) - k(q, X) w."""
        return self.posterior.factor.solve_transposed(self._v)

    @cached_property
    def _mean(self) -> float:
        """μ(x)."""
        return float(self.posterior.mean(self.x)[0])

    @property
    def _least(self) -> float:
        """A variance below this is rounding."""
        return float(ROUNDING**2 * self.gp.kernel.variance)

    def _surprise(self, variance: Array) -> Array:
        """σ²(q) + λ, the variance of an outcome at q."""
        return np.maximum(variance + self.gp.lam, self._least)

    def mean_and_std(self, Q: Array) -> tuple[Array, Array]:
        """μ(q) - μ(x) and s(q)                                    (q,), (q,)."""
        table = self.posterior.table
        if table is not None and Q is table.Q:
            mean, variance = self.posterior.mean(Q), self.posterior.variance(Q)
            cov = self.gp.kernel(Q, self.x)[:, 0] - self._v @ table.V
        else:
            K = self.gp.kernel(Q, self.posterior.X)
            mean, variance = self.posterior._mean_and_variance(Q, K)
            cov = self.gp.kernel(Q, self.x)[:, 0] - K @ self._w
        moved = np.square(variance - cov) / self._surprise(variance)
        return mean - self._mean, np.sqrt(np.maximum(moved, self._least))

    def gradients(self, Q: Array) -> tuple[Array, Array, Array, Array]:
        """μ(q) - μ(x), s²(q), and their gradients."""
        X, kernel = self.posterior.X, self.gp.kernel
        (K, slopes), (k, at_x) = kernel.slopes(Q, X), kernel.slopes(Q, self.x)
        mean, variance, d_mean, d_variance = self.posterior._gradients(Q, K, slopes)
        d_cov = np.empty_like(Q)
        for (columns, inverse_squares, slope), (_, _, own) in zip(slopes, at_x, strict=True):
            x = _pull(own, Q[:, columns], self.x[:, columns], inverse_squares)
            d_cov[:, columns] = x - _pull(slope * self._w, Q[:, columns], X[:, columns], inverse_squares)
        surprise = self._surprise(variance)
        share = (variance - k[:, 0] + K @ self._w) / surprise
        moved = np.square(share) * surprise
        d_moved = 2.0 * share[:, None] * (d_variance - d_cov) - np.square(share)[:, None] * d_variance
        rounded = moved <= self._least
        return mean - self._mean, np.maximum(moved, self._least), d_mean, np.where(rounded[:, None], 0.0, d_moved)


def _pull(W: Array, Q: Array, X: Array, inverse_squares: Array) -> Array:
    """Σ_i W_qi ∂r²(q, x_i)/∂q = 2/l² (q Σ_i W_qi - Σ_i W_qi x_i)   (q, width)."""
    return np.asarray(2.0 * inverse_squares * (Q * W.sum(axis=1, keepdims=True) - W @ X))


def _kernel_sum(gp: GP, Q: Array, X: Array, a: Array) -> tuple[Array, Array]:
    """mean + k(q, X) a, and its gradient."""
    K, slopes = gp.kernel.slopes(Q, X)
    gradient = np.empty_like(Q)
    for columns, inverse_squares, slope in slopes:
        gradient[:, columns] = _pull(slope * a, Q[:, columns], X[:, columns], inverse_squares)
    return gp.mean + K @ a, gradient


@dataclass(frozen=True, eq=False)
class Path:
    """One drawn function: mean + k(·, X) a + Σ_j amplitude_j cos(ω_j · - phase_j)."""

    gp: GP
    X: Array
    a: Array
    omega: Array
    phase: Array
    amplitude: Array

    def __call__(self, Q: Array) -> Array:
        waves = np.cos(Q @ self.omega.T - self.phase)
        return self.gp.mean + self.gp.kernel(Q, self.X) @ self.a + waves @ self.amplitude

    def gradient(self, Q: Array) -> tuple[Array, Array]:
        value, slope = _kernel_sum(self.gp, Q, self.X, self.a)
        angle = Q @ self.omega.T - self.phase
        return value + np.cos(angle) @ self.amplitude, slope - (np.sin(angle) * self.amplitude) @ self.omega


class NewestRows(NamedTuple):
    """Rows that are not summarised: different queries, and what was heard at each."""

    X: Array
    mean: Array
    noise: Array


@dataclass
class GrowingPosterior:
    """The factor (and table) of the last belief, kept so that the next one grows from it.

    The belief is always the one that a fresh start would give: the first rows that agree with the last belief, in query
    and λ, are kept, the rest is cut off and grown again."""

    kernel: Kernel | None = None
    X: Array = field(default_factory=lambda: np.empty((0, 0)))
    lams: Array = field(default_factory=lambda: np.empty(0))
    factor: Factor = field(default_factory=Factor)
    table: Table | None = None
    store: SummaryStore = field(default_factory=SummaryStore)
    base: Factor = NO_ROWS  # of the centres, with which the factor begins
    siblings: list[GrowingPosterior] = field(default_factory=list)  # whose factor may be kept where it agrees with more

    def condition(
        self,
        gp: GP,
        ids: Sequence[int] | NDArray[np.intp],
        X: Array,
        y_tilde: Array,
        lams: Array | None = None,
        Q: Array | None = None,
        points: NDArray[np.intp] | None = None,
        centres: Sequence[int] = (),
        pairs: int = 0,
    ) -> Posterior:
        """gp.condition(X, y_tilde, lams, Q), where row i is the outcome with number ids[i].

        points   a number for each row: rows of one number have one query, and are merged; None: all that are equal
        centres  numbers of outcomes around whose queries many rows are summarised; none: among the first
        pairs    how many different queries there can be, 0: very many"""
        own = np.full(len(X), gp.lam) if lams is None else lams
        grouping = group_rows(number_points(X) if points is None else points)
        merged, X = merge_outcomes(grouping, y_tilde, own), X[grouping.first]
        scale = gp.kernel.variance + (float(np.mean(own)) if len(own) else 0.0)
        numbers, count = np.asarray(ids, dtype=np.intp), self.store.sizes.count_summarised(len(X), pairs)
        rows = find_rows(centres, numbers, grouping.place, count)
        for jitter in JITTERS:
            noise = merged.noise + jitter * scale
            try:
                if count:
                    return self._summarise(gp, X, merged._replace(noise=noise), Q, count, rows, numbers, grouping.place)
                self._grow(gp.kernel, X, noise, Q, NO_ROWS)
            except NotPositiveDefinite:
                continue
            return Posterior(
                gp, X, merged.mean, self.lams, self.factor, self.table, numbers, grouping.place, merged.weights
            )
        raise NotPositiveDefinite

    def _summarise(
        self,
        gp: GP,
        X: Array,
        merged: MergedOutcomes,
        Q: Array | None,
        count: int,
        centres: Indices,
        numbers: Indices,
        place: Indices,
    ) -> Posterior:
        """The belief in which the first rows, `count` of them, are summarised around some of them."""
        outcomes = merged.mean[:count] - gp.mean
        summary = self.store.summarise(gp.kernel, X[:count], merged.noise[:count], outcomes, centres)
        aside, M = summary.aside, len(summary.sums.Z)
        kept = np.concatenate([aside, np.arange(count, len(X))])
        rest = NewestRows(X[kept], merged.mean[kept], merged.noise[kept])
        posterior = self.grow_on(gp, summary.others.sums, summary.average(outcomes), rest, Q)
        rows = np.concatenate([summary.place, np.arange(M + len(aside), len(self.X))])
        rows[aside] = np.arange(M, M + len(aside))
        return replace(posterior, ids=numbers, place=rows[place], weights=merged.weights)

    def grow_on(self, gp: GP, sums: CentreSums, average: Array, newest: NewestRows, Q: Array | None) -> Posterior:
        """The belief of what old rows say about f at their centres, and of the newest rows; without the outcomes."""
        X = np.vstack([sums.Z, newest.X])
        self._grow(gp.kernel, X, np.concatenate([np.diag(sums.noise), newest.noise]), Q, sums.factor)
        y = np.concatenate([gp.mean + average, newest.mean])
        none = np.empty(0, dtype=np.intp)
        return Posterior(gp, self.X, y, self.lams, self.factor, self.table, none, none, np.empty(0), sums.noise)

    def _grow(self, kernel: Kernel, X: Array, lams: Array, Q: Array | None, base: Factor) -> None:
        """Let the factor be that of these rows; `base` is the factor of the first ones."""
        known, factor = self._cut(kernel, X, lams, base)
        others = (each._cut(kernel, X, lams, base)[1] for each in self.siblings)
        factor = max(factor, *others, key=lambda each: each.n) if self.siblings else factor  # of equals, its own
        table = self.table
        if Q is None:
            table = None
        elif table is not None and table.Q is Q and table.prior.kernel == kernel:
            table = table.cut(known)
        else:
            table = Table.empty(kernel, Q)
        self.kernel = None  # until done: a failure in the middle must not leave half a belief
        while factor.n < len(X):
            end = min(factor.start + BLOCK, len(X))
            new = slice(factor.n, end)
            factor = factor.extend(kernel(X[new], X[:end]), kernel.diag(X[new]) + lams[new])
        table = None if table is None else table.extend(X, factor)
        self.kernel, self.X, self.lams, self.factor, self.table, self.base = kernel, X, lams, factor, table, base

    def _cut(self, kernel: Kernel, X: Array, lams: Array, base: Factor) -> tuple[int, Factor]:
        """How many of these rows its factor and its table may keep, and that factor."""
        agreed = _count_agreeing((self.lams, lams), (self.X, X)) if kernel == self.kernel and base is self.base else 0
        known = self.factor.count_kept(agreed)
        return (known, self.factor.cut(known)) if known > base.n else (0, base)


def _count_agreeing(*pairs: tuple[NDArray[Any], NDArray[Any]]) -> int:
    """How many of the first rows are the same in all of these pairs of arrays."""
    n = min(len(array) for pair in pairs for array in pair)
    if n == 0:
        return 0
    same = np.ones(n, dtype=bool)
    for old, new in pairs:
        same &= np.all((old[:n] == new[:n]).reshape(n, -1), axis=1)
    return n if np.all(same) else int(np.argmin(same))
