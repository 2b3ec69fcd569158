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
from belated.learner.counts import Counts
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
STEPS, LONGEST_STEP, CLOSE = 50, 2.0, 1e-7  # of Newton's method
LEVELS = (-30.0, 30.0)  # of u around the mean: nothing overflows
# About u: queries are alike when they are near; contexts may be alike or not, which the rates say themselves.
PRIOR = HyperPrior(
    lengthscale=(float(np.log(0.2)), 0.7),
    variance=(float(np.log(2.0)), 0.8),
    context=(float(np.log(0.7)), 1.0),
)


NO_COUNTS = Counts(
    number=np.empty(0, dtype=np.intp),
    X=np.empty((0, 0)),
    point=np.empty(0, dtype=np.intp),
    shown=np.empty(0),
    converted=np.empty(0),
    age=np.empty(0),
    width=np.empty(0),
    arrivals=np.empty((0, 5)),
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
    counts = NO_COUNTS if h.counts is None else h.counts
    shown, by_day = counts.shown, np.ones(len(counts.shown))
    if silence.fills == "between":
        young = np.flatnonzero((came | h.pending) & (h.age < h.m))
        in_time = np.flatnonzero(came)
        in_time = in_time[h.waited[in_time] <= h.m]
        law = ArrivalLaw.learn(h.waited[in_time], h.age[in_time], h.m, counts.arrivals)
        F[young] = np.maximum(law.share_by(h.age[young]), LEAST_EXPOSURE)
        ages = counts.list_ages()
        still = ages[:, -1] < h.m
        by_day[still] = np.maximum(np.mean(law.share_by(ages[still]), axis=1), LEAST_EXPOSURE)
        doubt = law.doubt(h.age[~h.gone], ages, shown)
    size = int(max(np.max(h.point, initial=-1), np.max(counts.point, initial=-1))) + 1
    k, exposure, count = (
        np.asarray(np.bincount(h.point, own, size) + np.bincount(counts.point, days, size), dtype=np.float64)
        for own, days in ((y, counts.converted), (F, shown * by_day), (~h.gone, shown))
    )
    there, first = np.flatnonzero(count), np.empty(size, dtype=np.intp)
    first[h.point[::-1]] = np.arange(len(y))[::-1]
    amounts, ones = y[came], float(np.sum(counts.converted))
    n, total, squares = len(amounts) + ones, float(np.sum(amounts)) + ones, float(np.sum(np.square(amounts))) + ones
    mean, c = (total / n, squares / total) if n else (1.0, 1.0)
    exposure = np.maximum(exposure, k / mean)  # a query converts once at most
    return Cells(h.X[first[there]], k[there], exposure[there], count[there], c, mean, doubt)


@dataclass
class CellKernel:
    """The kernel between the cells, kept from belief to belief: cells stay, and new ones come last."""

    kernel: Kernel | None = None
    X: Array = field(default_factory=lambda: np.empty((0, 0)))
    K: Array = field(default_factory=lambda: np.empty((0, 0)))

    def compute(self, kernel: Kernel, X: Array) -> Array:
        """k(X, X): what is new is computed, if the cells of before come first."""
        n = len(self.X)
        if kernel != self.kernel or n > len(X) or not np.array_equal(self.X, X[:n]):
            self.kernel, self.K, n = kernel, np.empty((0, 0)), 0
        if n < len(X):
            new = kernel(X[n:], X)
            self.K = np.block([[self.K, new[:, :n].T], [new]])
        self.X = X
        return self.K


def find_mode(gp: GP, cells: Cells, K: Array) -> Array:
    """u at the cells where the belief about it is densest; K is the kernel between them                (cells,).

    It begins at the mean, never at an older mode: the same outcomes give the same bits, after a restart too."""
    u: Array = np.full(len(cells.k), gp.mean)
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


def believe_rates(gp: GP, cells: Cells, kept: CellKernel | None = None) -> Posterior:
    """The belief about u."""
    K = (CellKernel() if kept is None else kept).compute(gp.kernel, cells.X)
    z, noise = cells.linearize(find_mode(gp, cells, K))
    return _condition(gp, cells, K, z, noise)


def look_ahead(belief: Posterior, cells: Cells, kept: CellKernel | None = None) -> Posterior:
    """The belief once every query of now has had its chance, with the mean as it is: what is out will be known, so the
    next choice looks elsewhere. z = u + noise · alpha has the same alpha, and so the same mean everywhere."""
    u, K = belief.own_means, (CellKernel() if kept is None else kept).compute(belief.gp.kernel, cells.X)
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
