"""How long those outcomes take that come at all, from those that have come so far.

d   delay of an outcome that came                                  (k,)
a   age of its query now, at most m                                 (k,)
m   patience: what comes later does not count
g   log-normal or Weibull, with a median and a shape; G its distribution function

That an outcome has come says d ≤ a. So its likelihood is g(d)/G(a), whatever the share of queries that ever answer, and
wherever they are: this share may depend on the query, the delays may not. The belief about g is a table of weights
over a lattice of medians and shapes, which is made finer around the likely ones as they become clear.

Where conversions are counted by day, n of them came between two statements of its counts, and the likelihood of each is
(G(until) - G(since)) / G(a) with G averaged over the people of that day.

Times are counted at the points of a fine grid, so that many cost as much as few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from belated.learner.arrays import Array, Indices
from belated.learner.counts import spread_over_day

MEDIANS = np.log(np.geomspace(1e-4, 3.0, 40))  # of m
WIDTHS, POWERS = (np.log(np.geomspace(*ends, 12)) for ends in ((0.3, 2.5), (0.4, 3.0)))  # of log-normal, of Weibull
USUAL, SPREAD = 0.1, 1.0  # prior belief about the median: log-normal around a tenth of m, chosen to be long enough
TRUSTED = 500  # arrivals: no law is exactly one of these, and more of them say no more about which
SHAPE_SPREAD = 0.5  # and about the shape: log-normal around 1, where a Weibull law is exponential
SMALLEST = 1e-12  # of m: a delay of 0 counts as this
FINER, DEEPEST, AROUND = 3, 4, 4  # a lattice is made three times as fine, four times at most; points on each side
TIMES = np.geomspace(1e-5, 1.0, 400)  # of m: where laws are tabulated
NOTHING_COUNTED = np.empty((0, 5))


@dataclass(frozen=True)
class Axis:
    """Points along one coordinate of the lattice: all of the first level, or those around a place of a finer one."""

    level: int = 0
    center: int = 0  # in steps of the level

    def list_points(self, coarse: Array) -> Array:
        """Where its points are, on the log scale."""
        if not self.level:
            return coarse
        return np.asarray(coarse[0] + self.measure_step(coarse) * (self.center + np.arange(-AROUND, AROUND + 1)))

    def measure_step(self, coarse: Array) -> float:
        """From one point to the next."""
        return float(coarse[1] - coarse[0]) / float(FINER**self.level)

    def refine(self, coarse: Array, mean: float, std: float) -> Axis:
        """The same, or a finer one around the mean where the belief is narrower than a step."""
        if std >= self.measure_step(coarse) or self.level == DEEPEST:
            return self
        finer = Axis(self.level + 1)
        return Axis(finer.level, round((mean - coarse[0]) / finer.measure_step(coarse)))


class Laws(NamedTuple):
    """Laws of one family, tabulated at TIMES                                                     (times, laws)."""

    log_median: Array  # as a share of m                                      (laws,)
    log_shape: Array
    prior: Array  # log, with how much of the lattice each stands for
    density: Array  # log g
    cdf: Array  # log G
    shares: Array  # G(t)/G(1)


@lru_cache(maxsize=128)
def tabulate_laws(normal: bool, medians: Axis, shapes: Axis) -> Laws:
    """The log-normal or the Weibull laws at the points of a lattice."""
    from scipy.special import ndtr

    coarse = WIDTHS if normal else POWERS
    median, shape = (
        grid.ravel() for grid in np.meshgrid(medians.list_points(MEDIANS), shapes.list_points(coarse), indexing="ij")
    )
    prior = -0.5 * np.square((median - np.log(USUAL)) / SPREAD) - 0.5 * np.square(shape / SHAPE_SPREAD)
    prior += np.log(medians.measure_step(MEDIANS) * shapes.measure_step(coarse))
    u, width = np.log(TIMES)[:, None] - median, np.exp(shape)
    if normal:
        density, cdf = -0.5 * np.square(u / width) - np.log(width * np.sqrt(2.0 * np.pi)), ndtr(u / width)
    else:
        power = np.log(2.0) * np.exp(width * u)
        density, cdf = np.log(np.log(2.0) * width) + width * u - power, -np.expm1(-power)
    return Laws(median, shape, prior, density, np.log(np.maximum(cdf, 1e-300)), cdf / np.maximum(cdf[-1], 1e-300))


def locate_times(t: Array) -> tuple[Indices, Array]:
    """Where t lies among TIMES: between i and i + 1, and how far."""
    at = np.clip(np.log(np.maximum(t, SMALLEST) / TIMES[0]) / np.log(TIMES[1] / TIMES[0]), 0.0, len(TIMES) - 1.0)
    i = np.minimum(at.astype(np.intp), len(TIMES) - 2)
    return i, at - i


def count_times(t: Array, weights: Array | float = 1.0) -> Array:
    """How many of some times lie at each of TIMES; one between two of them is split                       (times,)."""
    i, part = locate_times(t)
    counts = np.bincount(i, (1.0 - part) * weights, len(TIMES)) + np.bincount(i + 1, part * weights, len(TIMES))
    return counts.astype(np.float64)


class Observed(NamedTuple):
    """What says which laws are likely; times as shares of m."""

    delays: Array  # how many at each of TIMES
    ages: Array  # of the queries of these
    counted: Array  # conversions counted between statements (`Counts.arrivals`)

    def weigh(self, laws: Laws) -> Array:
        """How likely each law is: the logarithm, up to a constant                             (laws,)."""
        log = self.delays @ laws.density - self.ages @ laws.cdf
        if len(self.counted):
            since, until, age, width, n = self.counted.T
            came = average_shares(laws, until, width) - average_shares(laws, since, width)
            per_one = np.log(np.maximum(came, 1e-300)) - np.log(np.maximum(average_shares(laws, age, width), 1e-300))
            log = log + n @ per_one
        trust = min(1.0, TRUSTED / max(np.sum(self.delays) + np.sum(self.counted[:, 4]), 1.0))
        return np.asarray(laws.prior + trust * log)


def average_shares(laws: Laws, age: Array, width: Array) -> Array:
    """G(t)/G(1) of every law, averaged over the people of a day of that age               (days, laws)."""
    ages, total = spread_over_day(age, width), np.zeros((len(age), len(laws.prior)))
    for t in ages.T:
        i, part = locate_times(t)
        shares = laws.shares[i] + part[:, None] * (laws.shares[i + 1] - laws.shares[i])
        total += np.where(t > 0, 1.0, 0.0)[:, None] * shares
    return np.asarray(total / ages.shape[1])


def find_laws(normal: bool, observed: Observed) -> tuple[Laws, Array]:
    """Laws of a family on a lattice that is fine enough for what was observed, and how likely each is."""
    axes, coarse = (Axis(), Axis()), (MEDIANS, WIDTHS if normal else POWERS)
    while True:
        laws = tabulate_laws(normal, *axes)
        log = observed.weigh(laws)
        weights = normalize(log)
        finer = tuple(
            axis.refine(points, *measure_spread(values, weights))
            for axis, points, values in zip(axes, coarse, (laws.log_median, laws.log_shape), strict=True)
        )
        if finer == axes:
            return laws, log
        axes = finer[0], finer[1]


def normalize(log: Array) -> Array:
    """Weights that sum to 1, from their logarithms."""
    weights = np.exp(log - np.max(log))
    return np.asarray(weights / np.sum(weights))


def measure_spread(values: Array, weights: Array) -> tuple[float, float]:
    """Their mean and standard deviation."""
    mean = float(weights @ values)
    return mean, float(np.sqrt(weights @ np.square(values - mean)))


@dataclass(frozen=True, eq=False)
class ArrivalLaw:
    """The belief about the delays of those that come within m."""

    m: float
    shares: Array  # G(t)/G(1) of each law at each of TIMES
    weights: Array  # how likely each law is

    @classmethod
    def learn(cls, delay: Array, age: Array, m: float, counted: Array = NOTHING_COUNTED) -> ArrivalLaw:
        """From outcomes that came after `delay`, of queries of that age, and from those counted between statements
        (`Counts.arrivals`)."""
        d, a = delay / m, np.minimum(age / m, 1.0)
        times = np.hstack([counted[:, :4] / m, counted[:, 4:]])
        observed = Observed(count_times(d), count_times(np.maximum(a, d)), times)
        families: Sequence[tuple[Laws, Array]] = [find_laws(normal, observed) for normal in (True, False)]
        shares = np.hstack([laws.shares for laws, _ in families])
        return cls(m, shares, normalize(np.concatenate([log for _, log in families])))

    @cached_property
    def curve(self) -> Array:
        """F at TIMES."""
        return np.asarray(self.shares @ self.weights)

    def share_by(self, age: Array) -> Array:
        """F: of those that come within m, the share that has come at an age, on average over the laws       (n,)."""
        i, part = locate_times(age / self.m)
        return np.asarray((1.0 - part) * self.curve[i] + part * self.curve[i + 1])

    def quantile(self, q: float) -> float:
        """The age by which the share q of those that come within m has come."""
        return self.m * float(np.interp(q, self.curve, TIMES))

    def doubt(self, age: Array, days: Array, shown: Array) -> float:
        """How uncertain Σ F over these ages is, and over those of the people of some days (`Counts.list_ages`): the
        standard deviation of its logarithm over the laws."""
        if not len(age) + len(days):
            return 0.0
        people = np.repeat(shown[:, None] / days.shape[1], days.shape[1], axis=1)
        counts = np.zeros(len(TIMES))
        for ages, weights in ((age, np.ones(len(age))), (days.ravel(), people.ravel())):
            young = ages < self.m
            counts += count_times(ages[young] / self.m, weights[young])
            counts[-1] += np.sum(weights[~young])
        log = np.log(np.maximum(counts @ self.shares, 1e-300))
        return float(np.sqrt(self.weights @ np.square(log - self.weights @ log)))
