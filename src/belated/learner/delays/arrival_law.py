"""How long those outcomes take that come at all, from those that have come so far.

d   delay of an outcome that came                                  (k,)
a   age of its query now, at most m                                 (k,)
m   patience: what comes later does not count
g   log-normal or Weibull, with a median and a shape; G its distribution function

That an outcome has come says d ≤ a. So its likelihood is g(d)/G(a), whatever the share of queries that ever answer, and
wherever they are: this share may depend on the query, the delays may not. The belief about g is a table of weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from belated.learner.arrays import Array, Mask
from belated.learner.delays.survival import spread_evenly

LOOKED_AT = 500  # arrivals that the belief is made of, spread evenly over their order
MEDIANS = np.geomspace(1e-4, 3.0, 40)  # of m
WIDTHS, POWERS = np.linspace(0.3, 2.5, 12), np.linspace(0.4, 3.0, 12)  # shapes of the log-normal, of the Weibull
USUAL, SPREAD = 0.1, 2.0  # prior belief about the median: log-normal around a tenth of m
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
        return np.where(self.normal, ndtr(u / self.shape), -np.expm1(-np.log(2.0) * np.exp(self.shape * u)))

    def compute_log_density(self, t: Array) -> Array:
        """log g(t), up to what is the same for all laws."""
        u = np.log(np.maximum(t, SMALLEST))[:, None] - np.log(self.median)
        normal = -0.5 * np.square(u / self.shape) - np.log(self.shape * np.sqrt(2.0 * np.pi))
        weibull = np.log(np.log(2.0) * self.shape) + self.shape * u - np.log(2.0) * np.exp(self.shape * u)
        return np.where(self.normal, normal, weibull)


@cache
def list_laws() -> Laws:
    """Every median with every shape, log-normal and Weibull."""
    shapes = np.concatenate([WIDTHS, POWERS])
    normal = np.repeat([True, False], [len(WIDTHS), len(POWERS)])
    return Laws(np.tile(MEDIANS, len(shapes)), np.repeat(shapes, len(MEDIANS)), np.repeat(normal, len(MEDIANS)))


@dataclass(frozen=True, eq=False)
class ArrivalLaw:
    """The belief about the delays of those that come within m."""

    m: float
    weights: Array

    @classmethod
    def learn(cls, delay: Array, age: Array, m: float) -> ArrivalLaw:
        """From outcomes that came after `delay`, of queries of that age."""
        laws = list_laws()
        some = spread_evenly(len(delay), LOOKED_AT)
        d, a = delay[some] / m, np.minimum(age[some] / m, 1.0)
        log = -0.5 * np.square((np.log(laws.median) - np.log(USUAL)) / SPREAD)
        if len(d):
            seen = np.log(np.maximum(laws.compute_cdf(np.maximum(a, d)), 1e-300))
            log = log + np.sum(laws.compute_log_density(d) - seen, axis=0)
        weights = np.exp(log - np.max(log))
        return cls(m, weights / np.sum(weights))

    def _compute_shares(self, age: Array) -> Array:
        laws = list_laws()
        whole = np.maximum(laws.compute_cdf(np.ones(1)), 1e-300)
        return np.minimum(laws.compute_cdf(np.minimum(age / self.m, 1.0)) / whole, 1.0)

    def share_by(self, age: Array) -> Array:
        """F: of those that come within m, the share that has come at an age, on average over the laws       (n,)."""
        return np.asarray(self._compute_shares(age) @ self.weights)

    def doubt(self, age: Array) -> float:
        """How uncertain Σ F over these ages is: its standard deviation over the laws, as a share of it."""
        if not len(age):
            return 0.0
        edges, counts = np.unique(np.round(np.minimum(age / self.m, 1.0), 3), return_counts=True)
        total = counts @ self._compute_shares(edges * self.m)
        mean = float(total @ self.weights)
        return float(np.sqrt(np.maximum(np.square(total) @ self.weights - mean**2, 0.0))) / max(mean, 1e-300)
