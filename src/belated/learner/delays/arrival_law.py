"""How long those outcomes take that come at all, from those that have come so far.

d   delay of an outcome that came                                  (k,)
a   age of its query now, at most m                                 (k,)
m   patience: what comes later does not count
g   log-normal or Weibull, with a median and a shape; G its distribution function

That an outcome has come says d ≤ a. So its likelihood is g(d)/G(a), whatever the share of queries that ever answer, and
wherever they are: this share may depend on the query, the delays may not. The belief about g is a table of weights.
Times are counted at the points of a fine grid, so that many cost as much as few.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from belated.learner.arrays import Array, Indices, Mask

MEDIANS = np.geomspace(1e-4, 3.0, 100)  # of m
WIDTHS, POWERS = np.linspace(0.3, 2.5, 10), np.linspace(0.4, 3.0, 10)  # shapes of the log-normal, of the Weibull
USUAL, SPREAD = (
    0.1,
    1.0,
)  # prior belief about the median: log-normal around a tenth of m, which users choose long enough
TRUSTED = 500  # arrivals: no law is exactly one of these, and more of them say no more about which
SHAPE_SPREAD = 0.5  # and about the shape: log-normal around 1, where a Weibull law is exponential
SMALLEST = 1e-12  # of m: a delay of 0 counts as this


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


TIMES = np.geomspace(1e-5, 1.0, 250)  # of m: where G is tabulated


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


@cache
def tabulate_likelihoods() -> tuple[Array, Array]:
    """log g and log G of every law at every one of TIMES, each up to what cancels in g/G             (times, laws)."""
    whole = np.log(np.maximum(list_laws().compute_cdf(np.ones(1)), 1e-300))
    return list_laws().compute_log_density(TIMES), np.log(np.maximum(tabulate_shares(), 1e-300)) + whole


def count_times(t: Array) -> Array:
    """How many of some times lie at each of TIMES; one between two of them is split                       (times,)."""
    i, part = locate_times(t)
    counts = np.bincount(i, 1.0 - part, len(TIMES)) + np.bincount(i + 1, part, len(TIMES))
    return counts.astype(np.float64)


def weigh_laws(d: Array, a: Array) -> Array:
    """How likely each law is, given delays and ages as shares of m."""
    laws, (density, cdf) = list_laws(), tabulate_likelihoods()
    log = -0.5 * np.square((np.log(laws.median) - np.log(USUAL)) / SPREAD)
    log -= 0.5 * np.square(np.log(laws.shape) / SHAPE_SPREAD)
    trust = min(1.0, TRUSTED / max(len(d), 1))
    log += trust * (count_times(d) @ density - count_times(np.maximum(a, d)) @ cdf)
    weights = np.exp(log - np.max(log))
    return np.asarray(weights / np.sum(weights))


@dataclass(frozen=True, eq=False)
class ArrivalLaw:
    """The belief about the delays of those that come within m."""

    m: float
    weights: Array

    @classmethod
    def learn(cls, delay: Array, age: Array, m: float) -> ArrivalLaw:
        """From outcomes that came after `delay`, of queries of that age."""
        return cls(m, weigh_laws(delay / m, np.minimum(age / m, 1.0)))

    def share_by(self, age: Array) -> Array:
        """F: of those that come within m, the share that has come at an age, on average over the laws       (n,)."""
        curve = tabulate_shares() @ self.weights
        i, part = locate_times(age / self.m)
        return np.asarray((1.0 - part) * curve[i] + part * curve[i + 1])

    def doubt(self, age: Array) -> float:
        """How uncertain Σ F over these ages is: the standard deviation of its logarithm over the laws."""
        if not len(age):
            return 0.0
        young = age < self.m
        counts = count_times(age[young] / self.m)
        counts[-1] += np.sum(~young)
        log = np.log(np.maximum(counts @ tabulate_shares(), 1e-300))
        return float(np.sqrt(self.weights @ np.square(log - self.weights @ log)))
