"""How well a mean over runs is known: its interval, and the smallest difference that so many runs can detect."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import stdtrit

from belated.comparison.statistics import Summary

LEVEL, POWER = 0.05, 0.8


@dataclass(frozen=True)
class MeanInterval:
    """Where the mean may be; everywhere when a single run says nothing about it."""

    low: float
    high: float

    @property
    def is_known(self) -> bool:
        return math.isfinite(self.low)

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


def find_interval(mean: Summary[float], runs: int, level: float = LEVEL) -> MeanInterval:
    """mean ± t · s/√n, which misses the true mean with probability `level` (Student's t, n − 1 degrees of freedom)."""
    if runs < 2:
        return MeanInterval(-math.inf, math.inf)
    reach = float(stdtrit(runs - 1, 1 - level / 2)) * mean.error
    return MeanInterval(mean.mean - reach, mean.mean + reach)


def find_detectable(mean: Summary[float], runs: int) -> float:
    """The smallest true difference that an interval over so many runs excludes 0 for, in 80 % of cases."""
    if runs < 2:
        return math.nan
    return float(stdtrit(runs - 1, 1 - LEVEL / 2) + stdtrit(runs - 1, POWER)) * mean.error
