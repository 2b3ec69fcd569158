"""Numbers as text: decimals that make sense, true minus signs, intervals, p-values."""

from __future__ import annotations

import math
from collections.abc import Iterable

from belated.comparison.statistics import Summary
from reproduction.report.intervals import MeanInterval

NONE = "—"
MOST_DECIMALS = 6


def format_number(value: float, places: int) -> str:
    """0.25, −0.25; never −0.00."""
    written = f"{value:.{places}f}"
    return written.replace("-", "−") if float(written) else f"{0.0:.{places}f}"


def count_decimals(values: Iterable[float]) -> int:
    """How many make the largest of the values four digits long; six at most."""
    largest = max((abs(value) for value in values), default=0.0)
    return min(MOST_DECIMALS, max(0, 3 - math.floor(math.log10(largest)))) if largest > 0 else 4


def format_summary(value: Summary[float], places: int) -> str:
    """0.2429 ± 0.0071."""
    mean = format_number(value.mean, places)
    return mean if math.isnan(value.error) else f"{mean} ± {value.error:.{places}f}"


def format_interval(mean: float, interval: MeanInterval) -> str:
    """−0.063 [−0.133, 0.008]: decimals that give half the width two digits, and the larger end four at most.

    More where an interval that excludes 0 would seem to end there."""
    if not interval.is_known:
        return format_number(mean, count_decimals([mean]))
    places = min(_count_two_digits(interval.half_width), count_decimals([interval.low, interval.high]))
    nearer = min(abs(interval.low), abs(interval.high))
    while interval.excludes_zero and places < MOST_DECIMALS and not float(f"{nearer:.{places}f}"):
        places += 1
    low, high = (format_number(end, places) for end in (interval.low, interval.high))
    return f"{format_number(mean, places)} [{low}, {high}]"


def format_percentage(mean: float, interval: MeanInterval) -> str:
    """Shares in per cent, without the sign: −6.3 [−13.3, 0.8]."""
    return format_interval(100 * mean, MeanInterval(100 * interval.low, 100 * interval.high))


def format_size(value: float) -> str:
    """A size in two digits: 0.063, 12."""
    return format_number(value, _count_two_digits(value)) if math.isfinite(value) else NONE


def _count_two_digits(size: float) -> int:
    return min(MOST_DECIMALS, max(0, 1 - math.floor(math.log10(size)))) if size > 0 else MOST_DECIMALS


def format_p_cell(p: float) -> str:
    """A p-value in a cell."""
    return "<0.0001" if p < 1e-4 else f"{p:.4f}"
