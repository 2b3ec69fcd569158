"""The campaigns: what can be shown, to whom, how often, how late a conversion comes, and between which rates.

    world      shown                         segments   a day   delay of a conversion                rates
    banners    8 items, names only           1          50      exponential, mean 24 h               0.02  to 0.2
    offers     20 items, names only          3          300     log-normal, median 14 h              0.01  to 0.15
    drifting   12 items, names only          3          500     exponential, mean 20 h               0.02  to 0.2
    catalogue  100 items with 3 features     4          1,000   exponential, mean 6 to 72 h          0.01  to 0.1
    rare       30 items with 2 features      8          5,000   log-normal, median 20 h              0.005 to 0.03
    discount   x in [0, 1]                   2          100     log-normal, median 14 h              0.05  to 0.4
    price      x in [0, 1], in steps         3          300     exponential, mean 30 h               0.02  to 0.3
    mailing    x in [0, 1]²                  3          50      log-normal, median 4, 16 and 64 h    0.05  to 0.4
    feed       x in [0, 1]²                  5          2,000   exponential, mean 12 h               0.01  to 0.12

Each lasts 28 days; a conversion counts within 7 days. In `drifting` the rates of the first day turn into others, which
have nothing to do with them, until the last. Hours are the unit of time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from belated.learner.arrays import Array

DAYS = 28
WINDOW = 7 * 24.0  # hours in which a conversion counts


@dataclass(frozen=True)
class Items:
    """A list of items; without features an item is a name."""

    count: int
    features: int = 0


@dataclass(frozen=True)
class Cube:
    """Any x in [0, 1]^d."""

    d: int


@dataclass(frozen=True)
class Exponential:
    """Delays of conversions that come within the window: P(d ≤ t) is proportional to 1 - exp(-t / mean)."""

    mean: float

    def quantile(self, p: Array) -> Array:
        return np.asarray(self.mean * -np.log1p(p * np.expm1(-WINDOW / self.mean)))


@dataclass(frozen=True)
class LogNormal:
    """Delays within the window: P(d ≤ t) is proportional to Φ(log(t / median) / spread)."""

    median: float
    spread: float = 1.0

    def quantile(self, p: Array) -> Array:
        within = ndtr(np.log(WINDOW / self.median) / self.spread)
        return np.asarray(self.median * np.exp(self.spread * ndtri(p * within)))


@dataclass(frozen=True, kw_only=True)
class World:
    """A campaign. `alike` is the share of the variance of the rates that all segments have in common."""

    shown: Items | Cube
    segments: int
    per_day: int
    delays: tuple[Exponential | LogNormal, ...]  # one for all segments, or one for each
    low: float  # the least and the largest rate of every segment
    high: float
    alike: float = 0.5
    lengthscale: float = 0.25  # of the rates, in features or x
    stepped: bool = False
    drifts: bool = False
    quick: bool = False  # whether a quick pass has it


WORLDS = {
    "banners": World(shown=Items(8), segments=1, per_day=50, delays=(Exponential(24),), low=0.02, high=0.2, quick=True),
    "offers": World(shown=Items(20), segments=3, per_day=300, delays=(LogNormal(14),), low=0.01, high=0.15),
    "drifting": World(
        shown=Items(12), segments=3, per_day=500, delays=(Exponential(20),), low=0.02, high=0.2, drifts=True
    ),
    "catalogue": World(
        shown=Items(100, features=3),
        segments=4,
        per_day=1000,
        delays=tuple(Exponential(mean) for mean in (6, 12, 36, 72)),
        low=0.01,
        high=0.1,
        lengthscale=0.4,
        quick=True,
    ),
    "rare": World(
        shown=Items(30, features=2), segments=8, per_day=5000, delays=(LogNormal(20),), low=0.005, high=0.03, alike=0.7
    ),
    "discount": World(
        shown=Cube(1), segments=2, per_day=100, delays=(LogNormal(14),), low=0.05, high=0.4, alike=0.3, quick=True
    ),
    "price": World(shown=Cube(1), segments=3, per_day=300, delays=(Exponential(30),), low=0.02, high=0.3, stepped=True),
    "mailing": World(
        shown=Cube(2),
        segments=3,
        per_day=50,
        delays=tuple(LogNormal(median) for median in (4, 16, 64)),
        low=0.05,
        high=0.4,
    ),
    "feed": World(shown=Cube(2), segments=5, per_day=2000, delays=(Exponential(12),), low=0.01, high=0.12),
}

# Worlds that are not in the comparison: constants of the default are looked at in these (benchmarks/bounds.py).
OTHERS = {
    "six": World(shown=Items(6), segments=1, per_day=60, delays=(Exponential(24),), low=0.02, high=0.2),
    "ten": World(shown=Items(10), segments=1, per_day=40, delays=(LogNormal(14),), low=0.05, high=0.3),
    "twelve": World(shown=Items(12), segments=2, per_day=150, delays=(LogNormal(20),), low=0.02, high=0.15),
    "thirty": World(shown=Items(30), segments=1, per_day=200, delays=(Exponential(20),), low=0.01, high=0.1),
    "featured": World(
        shown=Items(40, features=2), segments=1, per_day=100, delays=(Exponential(24),), low=0.01, high=0.1
    ),
    "line": World(shown=Cube(1), segments=1, per_day=60, delays=(LogNormal(14),), low=0.03, high=0.3),
    "square": World(shown=Cube(2), segments=2, per_day=60, delays=(LogNormal(14),), low=0.05, high=0.4),
}
EVERY = WORLDS | OTHERS
