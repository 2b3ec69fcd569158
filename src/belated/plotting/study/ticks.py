"""Numbers along an axis: as many as fit beside each other, and written as people write them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from belated.learner.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LETTER = 0.088  # the width of a tick's digit, in inches
APART = 0.12  # between two labels
OVER = 0.22  # how far a label may stand over the end of its axis
ENOUGH = 3  # ticks
LONGEST = 8  # letters beside an axis; longer labels are written smaller


def fit_ticks(axes: Axes, wide: float, *, log: bool = False, whole: bool = False) -> None:
    """Ticks along the x axis, which is `wide` inches; where `log` the axis has logarithms to base 10."""
    low, high = sorted(axes.get_xlim())
    place: Callable[[float], float] = math.log10 if log else float

    def measure(values: Sequence[float]) -> list[tuple[float, float]]:
        """The ends of the labels, in inches from the left end of the axis."""
        middles = [(place(value) - low) / (high - low) * wide for value in values]
        halves = [LETTER * len(text) / 2 for text in write_numbers(values, log=log)]
        return [(middle - half, middle + half) for middle, half in zip(middles, halves, strict=True)]

    fitting: list[list[float]] = []
    for values in list_log_ticks(low, high) if log else list_even_ticks(low, high, whole=whole):
        kept = [v for v, (a, b) in zip(values, measure(values), strict=True) if a >= -OVER and b <= wide + OVER]
        ends = measure(kept)
        if all(ends[i + 1][0] - ends[i][1] >= APART for i in range(len(ends) - 1)):
            fitting.append(kept)
    best = next((kept for kept in fitting if len(kept) >= ENOUGH), max(fitting, key=len, default=[]))
    axes.set_xticks([place(value) for value in best], write_numbers(best, log=log))
    axes.minorticks_off()


def list_even_ticks(low: float, high: float, *, whole: bool = False) -> Iterator[list[float]]:
    """Round numbers from low to high, at even distances; ever fewer."""
    from matplotlib.ticker import MaxNLocator

    for most in range(6, 0, -1):
        locator = MaxNLocator(integer=whole, nbins=most, steps=[1, 2, 5, 10], min_n_ticks=1)
        values = [float(v) for v in locator.tick_values(low, high) if low <= v <= high]
        yield values
        yield values[1::2]


def list_log_ticks(low: float, high: float) -> Iterator[list[float]]:
    """1, 3, 10, 30, ...; 1, 2, 5, 10, ...; powers of ten, ever fewer; for a short range evenly spaced numbers.

    Low and high are logarithms to base 10."""
    decades = range(math.floor(low), math.ceil(high) + 1)

    def inside(values: Sequence[float]) -> list[float]:
        return [v for v in values if v > 0 and low - 1e-9 <= math.log10(v) <= high + 1e-9]

    for steps in ((1, 3), (1, 2, 5)):
        yield inside([step * 10.0**k for k in decades if -308 <= k < 308 for step in steps])
    for every in (1, 2, 3, 5, 10, 20, 50, 100, 200):
        yield inside([10.0**k for k in decades if k % every == 0 and -308 <= k <= 308])
    if high - low < 2:
        yield from map(inside, list_even_ticks(10.0**low, 10.0**high))


def write_numbers(values: Sequence[float], *, log: bool = False) -> list[str]:
    """Labels: on a log axis each as short as it can be, else all with the same decimals."""
    if log or len(values) < 2:
        return [shorten_exponent(f"{value:.10g}") for value in values]
    step, largest = float(min(np.diff(sorted(values)))), max(map(abs, values))
    if 1e-3 <= largest < 1e6:
        for decimals in range(7):
            if all(abs(round(value, decimals) - value) <= 1e-6 * step for value in values):
                return [f"{round(value, decimals) + 0.0:.{decimals}f}" for value in values]
    digits = min(15, math.ceil(math.log10(largest / step)) + 2) if step > 0 else 6
    return [shorten_exponent(f"{0.0 if abs(value) < step / 1e6 else value:.{digits}g}") for value in values]


def shorten_exponent(text: str) -> str:
    """1e-5 instead of 1e-05, 1e6 instead of 1e+06."""
    digits, mark, exponent = text.partition("e")
    return f"{digits}e{int(exponent)}" if mark else text


def label_values(axes: Axes, *, shown: bool = True) -> None:
    """Few ticks along the y axis; labels that would be too wide are written smaller."""
    low, high = sorted(axes.get_ylim())
    ticks = next(values for values in list_even_ticks(low, high) if len(values) <= 6)
    labels = write_numbers(ticks)
    size = min(10.5, 10.5 * LONGEST / max([1, *map(len, labels)]))
    axes.set_yticks(ticks, labels, fontsize=size)
    axes.tick_params(labelleft=shown)


def pad_range(values: Sequence[float], share: float) -> tuple[float, float]:
    """From the least value to the greatest, and this share of it more on both sides; wide also where all are one."""
    low, high = min(values), max(values)
    room = share * (high - low) or abs(low) / 10 or 1.0
    return low - room, high + room


def to_axis(values: Array | Sequence[float], log: bool) -> Array:
    """Where values stand on an axis."""
    at = np.asarray(values, dtype=float)
    return np.log10(at) if log else at
