"""How long those outcomes take that come at all, from those that have come so far.

d   delay of an outcome that came                                  (k,)
a   age of its query now, at most m                                 (k,)
m   patience: what comes later does not count
g   log-normal or Weibull, with a median and a shape; G its distribution function

That an outcome has come says d ≤ a. So its likelihood is g(d)/G(a), whatever the share of queries that ever answer, and
wherever they are: this share may depend on the query, the delays may not. The belief about g is a table of weights.

Where conversions are counted by day, n of them came between two statements of its counts, and the likelihood of each is
(G(until) - G(since)) / G(a) with G averaged over the people of that day.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from belated.learner.arrays import Array, Indices, Mask
from belated.learner.counts import spread_over_day
from belated.learner.delays.survival import spread_evenly

LOOKED_AT = 500  # arrivals that the belief is made of, spread evenly over their order
MEDIANS = np.geomspace(1e-4, 3.0, 40)  # of m
WIDTHS, POWERS = np.linspace(0.3, 2.5, 12), np.linspace(0.4, 3.0, 12)  # shapes of the log-normal, of the Weibull
USUAL, SPREAD = 0.1, 2.0  # prior belief about the median: log-normal around a tenth of m
SHAPE_SPREAD = 0.5  # and about the shape: log-normal around 1, where a Weibull law is exponential
SMALLEST = 1e-12  # of m: a delay of 0 counts as this


NOTHING_COUNTED = np.empty((0, 5))


class Laws(NamedTuple):
    """The laws in the table; medians as shares of m."""

    median: Array
    shape: Array
    normal: Mask  # log-normal; else Weibull

    def compute_cdf(self, t: Array) -> Array:
        """G(t) of every law, t as a share of m                     (len(t), laws)."""
        from scipy.special import ndtr

        u = np.log(np.maximum(t, SMALLEST))[:, None] - np.log(self.median)
        return np.asarray(np.where(self.normal, ndtr(u / self.shape), -np.expm1(-np.log(2.0) * np.exp(self.shape * u))))

    def compute_log_density(self, t: Array) -> Array:
        """log g(t), up to what is the same for all laws."""
        u = np.log(np.maximum(t, SMALLEST))[:, None] - np.log(self.median)
        normal = -0.5 * np.square(u / self.shape) - np.log(self.shape * np.sqrt(2.0 * np.pi))
        weibull = np.log(np.log(2.0) * self.shape) + self.shape * u - np.log(2.0) * np.exp(self.shape * u)
        return np.asarray(np.where(self.normal, normal, weibull))


@cache
def list_laws() -> Laws:
    """Every median with every shape, log-normal and Weibull."""
    shapes = np.concatenate([WIDTHS, POWERS])
    normal = np.repeat([True, False], [len(WIDTHS), len(POWERS)])
    return Laws(np.tile(MEDIANS, len(shapes)), np.repeat(shapes, len(MEDIANS)), np.repeat(normal, len(MEDIANS)))


TIMES = np.geomspace(1e-5, 1.0, 400)  # of m: where G is tabulated


@cache
def tabulate_shares() -> Array:
    """G(t)/G(1) of every law at every one of TIMES                     (times, laws)."""
    cdf = list_laws().compute_cdf(TIMES)
    return np.asarray(cdf / np.maximum(cdf[-1], 1e-300))


def locate_times(t: Array) -> tuple[Indices, Array]:
    """Where t lies among TIMES: between i and i + 1, and how far."""
    at = np.clip(np.log(np.maximum(t, SMALLEST) / TIMES[0]) / np.log(TIMES[1] / TIMES[0]), 0.0, len(TIMES) - 1.0)
    i = np.minimum(at.astype(np.intp), len(TIMES) - 2)
    return i, at - i


def average_shares(age: Array, width: Array) -> Array:
    """G(t)/G(1) of every law, averaged over the people of a day of that age               (days, laws)."""
    ages, total = spread_over_day(age, width), np.zeros((len(age), len(list_laws().median)))
    shares = tabulate_shares()
    for t in ages.T:
        i, part = locate_times(t)
        total += np.where(t > 0, 1.0, 0.0)[:, None] * (shares[i] + part[:, None] * (shares[i + 1] - shares[i]))
    return np.asarray(total / ages.shape[1])


@lru_cache(maxsize=4)  # the asks of one moment know the same
def weigh_laws(delays: bytes, ages: bytes, counted: bytes) -> Array:
    """How likely each law is, given delays and ages as shares of m, and conversions counted between statements."""
    laws, shares, d, a = list_laws(), tabulate_shares(), np.frombuffer(delays), np.frombuffer(ages)
    log = -0.5 * np.square((np.log(laws.median) - np.log(USUAL)) / SPREAD)
    log -= 0.5 * np.square(np.log(laws.shape) / SHAPE_SPREAD)
    if len(d):
        i, part = locate_times(np.maximum(a, d))
        seen = shares[i] + part[:, None] * (shares[i + 1] - shares[i])
        whole = np.log(np.maximum(laws.compute_cdf(np.ones(1)), 1e-300))
        log = log + np.sum(laws.compute_log_density(d) - np.log(np.maximum(seen, 1e-300)) - whole, axis=0)
    if counted:
        since, until, age, width, n = np.frombuffer(counted).reshape(-1, 5).T
        came = np.maximum(average_shares(until, width) - average_shares(since, width), 1e-300)
        per_one = np.log(came) - np.log(np.maximum(average_shares(age, width), 1e-300))
        log = log + n * min(1.0, LOOKED_AT / np.sum(n)) @ per_one
    weights = np.exp(log - np.max(log))
    return np.asarray(weights / np.sum(weights))


@dataclass(frozen=True, eq=False)
class ArrivalLaw:
    """The belief about the delays of those that come within m."""

    m: float
    weights: Array

    @classmethod
    def learn(cls, delay: Array, age: Array, m: float, counted: Array = NOTHING_COUNTED) -> ArrivalLaw:
        """From outcomes that came after `delay`, of queries of that age, and from those counted between statements
        (`Counts.arrivals`)."""
        some = spread_evenly(len(delay), LOOKED_AT)
        times = np.hstack([counted[:, :4] / m, counted[:, 4:]])
        return cls(
            m, weigh_laws((delay[some] / m).tobytes(), np.minimum(age[some] / m, 1.0).tobytes(), times.tobytes())
        )

    def share_by(self, age: Array) -> Array:
        """F: of those that come within m, the share that has come at an age, on average over the laws       (n,)."""
        curve = tabulate_shares() @ self.weights
        i, part = locate_times(age / self.m)
        return np.asarray((1.0 - part) * curve[i] + part * curve[i + 1])

    def quantile(self, q: float) -> float:
        """The age by which the share q of those that come within m has come."""
        return self.m * float(np.interp(q, tabulate_shares() @ self.weights, TIMES))

    def doubt(self, age: Array, weights: Array) -> float:
        """How uncertain Σ F over these ages is, each with its weight: the standard deviation of its logarithm over the
        laws."""
        if not len(age):
            return 0.0
        i, part = locate_times(age / self.m)
        counts = np.bincount(i, (1.0 - part) * weights, len(TIMES)) + np.bincount(i + 1, part * weights, len(TIMES))
        log = np.log(np.maximum(counts @ tabulate_shares(), 1e-300))
        return float(np.sqrt(self.weights @ np.square(log - self.weights @ log)))
