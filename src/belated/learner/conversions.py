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

So a belief costs what its cells cost (cell_kernel.py), however many queries they have. On the log scale the mode of a
rate is its mean: k out of E alone give v = k / E.

`floor` takes silence literally: F = 1, and v is the rate heard so far. `fading` learns F from the delays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from belated.learner.arrays import Array, Indices
from belated.learner.cell_kernel import WHOLE, CellCovariance, CellKernel, find_centres
from belated.learner.counts import Counts
from belated.learner.delays.arrival_law import ArrivalLaw
from belated.learner.fitting import FitRows
from belated.learner.gp.fit import HyperPrior
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
    lengthscale=(float(np.log(0.15)), 0.7),
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

    first: Indices  # the number of the first query of each
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

    def begin(self, n: int) -> Cells:
        """The first n of them."""
        some = {name: getattr(self, name)[:n] for name in ("first", "X", "k", "exposure", "count")}
        return replace(self, **some)

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
    return Cells(h.number[first[there]], h.X[first[there]], k[there], exposure[there], count[there], c, mean, doubt)


@dataclass(frozen=True, eq=False)
class Mode:
    """Where the belief about u is densest, at the cells themselves."""

    u: Array
    z: Array
    noise: Array
    alpha: Array  # (K + diag(noise))⁻¹ (z - mean), so that u = z - noise · alpha


def find_mode(gp: GP, cells: Cells, covariance: CellCovariance) -> Mode:
    """The mode, by Newton's method.

    It begins at what each cell says by itself, never at an older mode: the same outcomes give the same bits, after a
    restart too."""
    more = cells.mean / cells.average  # exposure that brings one conversion on average
    u = np.log((cells.k + cells.mean) / (cells.exposure + more))
    for _ in range(STEPS if len(u) else 0):  # LAPACK takes no empty matrix
        z, noise = cells.linearize(u)
        new = z - noise * covariance.solve(noise, z - gp.mean)
        step = np.clip(new - u, -LONGEST_STEP, LONGEST_STEP)
        u = np.clip(u + step, gp.mean + LEVELS[0], gp.mean + LEVELS[1])
        if np.max(np.abs(step)) < CLOSE:
            break
    z, noise = cells.linearize(u)
    return Mode(u, z, noise, (z - u) / noise)


def adjust_prior(gp: GP, cells: Cells) -> GP:
    """A GP that was fitted to nothing: around the average rate."""
    return replace(gp, mean=float(np.log(cells.average)), lam=cells.lam)


def choose_cells(cells: Cells, gp: GP) -> Indices:
    """The cells that a belief goes through where there are many; none where it is exact."""
    return find_centres(gp.kernel, cells.X, cells.compute_noise(np.full(len(cells.k), cells.average), cells.count, 1.0))


def select_rates(cells: Cells, gp: GP) -> FitRows:
    """What hyperparameters are fitted to: every cell, as a normal outcome."""
    mode = find_mode(gp, cells, CellKernel().compute(gp.kernel, cells.X, cells.X[choose_cells(cells, gp)]))
    return FitRows(cells.X, mode.z, mode.noise, Scale(1.0, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class CellBelief:
    """What is believed about u."""

    gp: GP
    cells: Cells
    covariance: CellCovariance
    mode: Mode

    @cached_property
    def now(self) -> Posterior:
        """From what was heard."""
        return self.covariance.condition(self.gp, self.cells.X, self.mode.z, self.mode.noise)

    @cached_property
    def ahead(self) -> Posterior:
        """Once every query of now has had its chance, with the mean as it is: what is out will be known, so the next
        choice looks elsewhere. z = u + noise · alpha has the same alpha, and so the same mean everywhere."""
        cells, mode = self.cells, self.mode
        noise = np.minimum(cells.compute_noise(np.exp(mode.u), cells.count, 1.0), mode.noise)
        return self.covariance.condition(self.gp, cells.X, mode.u + noise * mode.alpha, noise)


def believe_rates(gp: GP, cells: Cells, centres: Sequence[int] = (), kept: CellKernel | None = None) -> CellBelief:
    """The belief about u, through the cells whose first queries have these numbers. Where none is given it is exact;
    of very many cells it goes through some of the first."""
    rows = np.flatnonzero(np.isin(cells.first, np.asarray(centres, dtype=np.intp)))
    if not len(rows) and len(cells.k) > WHOLE:
        rows = choose_cells(cells.begin(WHOLE + 1), gp)
    covariance = (CellKernel() if kept is None else kept).compute(gp.kernel, cells.X, cells.X[rows])
    return CellBelief(gp, cells, covariance, find_mode(gp, cells, covariance))
