"""Rates: outcomes that come only if they are good, some time after their query or never.

A cell is a query in a context, with all the times that it was asked.

k   what was told of a cell: how many conversions, or the sum of their amounts                       (cells,)
F   of the conversions that come within m, the share that has come by the age of their query
E   Σ F over the queries of a cell: how many have had their chance                                    (cells,)
v   the rate of a cell: what a query brings within m, on average
c   E[A²] / E[A] over the amounts A that were told; 1 where every conversion counts 1

k has mean v E and variance v (c - v F̄) E, with F̄ the mean of F. The belief is a GP about u = log v, by Laplace's
method: near the mode, k says as much about u as a normal outcome

    z = u + (k - v E) / (v E)    with the noise variance    (c - v F̄) / (v E)

So a belief costs what its cells cost, however many queries they have. On the log scale the mode of a rate is its mean:
k out of E alone give v = k / E.

`floor` takes silence literally: F = 1, and v is the rate heard so far. `fading` learns F from the delays.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from belated.errors import NotPositiveDefinite
from belated.learner.arrays import Array
from belated.learner.delays.arrival_law import ArrivalLaw
from belated.learner.fitting import FitRows
from belated.learner.gp.factor import Factor
from belated.learner.gp.fit import HyperPrior
from belated.learner.gp.kernels import Kernel
from belated.learner.gp.posterior import GP, Posterior
from belated.learner.gp.scale import Scale
from belated.learner.history import History
from belated.learner.silence import Silence

LEAST_EXPOSURE = 1e-6  # of a query of now
LARGEST_RATE = 0.95  # of c, in the noise: a cell where everything converted is not certain
STEPS, LONGEST_STEP, CLOSE = 50, 2.0, 1e-10  # of Newton's method
LEVELS = (-30.0, 30.0)  # of u around the mean: nothing overflows
# About u: queries are alike when they are near; contexts may be alike or not, which the rates say themselves.
PRIOR = HyperPrior(
    lengthscale=(float(np.log(0.2)), 0.7),
    variance=(float(np.log(2.0)), 0.8),
    context=(float(np.log(0.7)), 1.0),
)


@dataclass(frozen=True, eq=False)
class Cells:
    """What was told, by cell."""

    X: Array
    k: Array
    exposure: Array  # E
    count: Array  # of queries
    c: float
    mean: float  # amount of a conversion
    doubt: float  # about Σ E: the standard deviation of its logarithm

    @cached_property
    def average(self) -> float:
        """The rate over all cells, with half a conversion more: it is never 0."""
        return float((np.sum(self.k) + 0.5 * self.mean) / (np.sum(self.exposure) + 1.0))

    @cached_property
    def lam(self) -> float:
        """The noise variance of one more outcome, on the scale of u."""
        return max(self.c - self.average, (1.0 - LARGEST_RATE) * self.c) / self.average

    def compute_noise(self, v: Array, exposure: Array | float, share: Array | float) -> Array:
        """(c - v F̄) / (v E)."""
        return np.asarray(np.maximum(self.c - v * share, (1.0 - LARGEST_RATE) * self.c) / (v * exposure))

    def linearize(self, u: Array) -> tuple[Array, Array]:
        """z and its noise variance."""
        v = np.exp(u)
        noise = self.compute_noise(v, self.exposure, self.exposure / self.count)
        return u + self.k / (v * self.exposure) - 1.0, noise


def count_conversions(h: History, silence: Silence) -> Cells:
    """The conversions of a history in the user's units, by cell."""
    y = np.where(h.seen & (h.y > 0), h.y, 0.0)
    came = y > 0
    F, doubt = np.where(h.gone, 0.0, 1.0), 0.0
    if silence.fills == "between":
        young = np.flatnonzero((came | h.pending) & (h.age < h.m))
        in_time = np.flatnonzero(came)
        in_time = in_time[h.waited[in_time] <= h.m]
        law = ArrivalLaw.learn(h.waited[in_time], h.age[in_time], h.m)
        F[young] = np.maximum(law.share_by(h.age[young]), LEAST_EXPOSURE)
        doubt = law.doubt(h.age[~h.gone])
    size = int(np.max(h.point, initial=-1)) + 1
    count = np.bincount(h.point, ~h.gone, size)
    there, first = np.flatnonzero(count), np.empty(size, dtype=np.intp)
    first[h.point[::-1]] = np.arange(len(y))[::-1]
    k, exposure = (np.bincount(h.point, each, size)[there].astype(np.float64) for each in (y, F))
    amounts = y[came]
    mean = float(np.mean(amounts)) if len(amounts) else 1.0
    c = float(np.mean(np.square(amounts))) / mean if len(amounts) else 1.0
    return Cells(h.X[first[there]], k, exposure, count[there].astype(np.float64), c, mean, doubt)


@dataclass
class ModeCache:
    """The kernel between the cells and their mode as they were last: cells stay, and their rates change little."""

    kernel: Kernel | None = None
    X: Array = field(default_factory=lambda: np.empty((0, 0)))
    K: Array = field(default_factory=lambda: np.empty((0, 0)))
    u: Array = field(default_factory=lambda: np.empty(0))

    def compute_kernel(self, kernel: Kernel, X: Array) -> Array:
        """k(X, X): what is new is computed, if the cells of before come first."""
        n = len(self.X)
        if kernel != self.kernel or n > len(X) or not np.array_equal(self.X, X[:n]):
            self.kernel, self.K, self.u, n = kernel, np.empty((0, 0)), np.empty(0), 0
        if n < len(X):
            new = kernel(X[n:], X)
            self.K = np.block([[self.K, new[:, :n].T], [new]])
        self.X = X
        return self.K


def find_mode(gp: GP, cells: Cells, K: Array, start: Array | None = None) -> Array:
    """u at the cells where the belief about it is densest; K is the kernel between them                (cells,)."""
    u: Array = np.full(len(cells.k), gp.mean)
    if start is not None:
        u[: len(start)] = np.clip(start, gp.mean + LEVELS[0], gp.mean + LEVELS[1])
    for _ in range(STEPS if len(u) else 0):  # LAPACK takes no empty matrix
        z, noise = cells.linearize(u)
        chol, failed = lapack.dpotrf(add_to_diagonal(K, noise), lower=1, overwrite_a=1)
        if failed:
            raise NotPositiveDefinite
        new = gp.mean + K @ lapack.dpotrs(chol, z - gp.mean, lower=1)[0]
        step = np.clip(new - u, -LONGEST_STEP, LONGEST_STEP)
        u = np.clip(u + step, gp.mean + LEVELS[0], gp.mean + LEVELS[1])
        if np.max(np.abs(step)) < CLOSE:
            break
    return u


def add_to_diagonal(K: Array, noise: Array) -> Array:
    """K + diag(noise)."""
    C: Array = K.copy()
    C.flat[:: len(C) + 1] += noise
    return C


def adjust_prior(gp: GP, cells: Cells) -> GP:
    """A GP that was fitted to nothing: around the average rate."""
    return replace(gp, mean=float(np.log(cells.average)), lam=cells.lam)


def select_rates(cells: Cells, gp: GP) -> FitRows:
    """What hyperparameters are fitted to: every cell, as a normal outcome."""
    z, noise = cells.linearize(find_mode(gp, cells, gp.kernel(cells.X, cells.X)))
    return FitRows(cells.X, z, noise, Scale(1.0, 0.0, 1.0))


def believe_rates(gp: GP, cells: Cells, kept: ModeCache | None = None) -> Posterior:
    """The belief about u."""
    kept = ModeCache() if kept is None else kept
    K = kept.compute_kernel(gp.kernel, cells.X)
    kept.u = find_mode(gp, cells, K, kept.u)
    z, noise = cells.linearize(kept.u)
    return _condition(gp, cells, K, z, noise)


def look_ahead(belief: Posterior, cells: Cells, kept: ModeCache | None = None) -> Posterior:
    """The belief once every query of now has had its chance, with the mean as it is: what is out will be known, so the
    next choice looks elsewhere. z = u + noise · alpha has the same alpha, and so the same mean everywhere."""
    kept = ModeCache() if kept is None else kept
    u, K = belief.own_means, kept.compute_kernel(belief.gp.kernel, cells.X)
    noise = np.minimum(cells.compute_noise(np.exp(u), cells.count, 1.0), belief.lams)
    return _condition(belief.gp, cells, K, u + noise * belief.alpha, noise)


def _condition(gp: GP, cells: Cells, K: Array, z: Array, noise: Array) -> Posterior:
    rows = np.arange(len(cells.k))
    return Posterior(
        gp=gp,
        X=cells.X,
        y_tilde=z,
        lams=noise,
        factor=Factor.compute(add_to_diagonal(K, noise)),
        table=None,
        ids=rows,
        place=rows,
        weights=np.ones(len(rows)),
    )
