"""Marks and colours of a study's pictures, and where things stand on a page.

Marks and colours say the same thing twice: a dot was heard, a diamond came late, an open triangle is pending. Lengths
are inches, so that texts have their room however many coordinates there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from belated.learner.arrays import Array
from belated.patience import SECONDS
from belated.plotting.style import INK, OPEN, SOFT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours again; every status has a mark of its own besides.
BLUE, ORANGE, VERMILLION, GREY = "#0072B2", "#E69F00", "#D55E00", "#8A8A8A"
ALONE: dict[str, Any] = {"linestyle": "none", "clip_on": False}  # a mark at the edge is drawn whole
HEARD = {**ALONE, "marker": "o", "color": INK, "markersize": 4.2, "markeredgewidth": 0}
LATE = {**ALONE, "marker": "D", "color": ORANGE, "markersize": 5.2, "markeredgecolor": INK, "markeredgewidth": 0.7}
AMENDED = {**ALONE, "marker": "o", "markersize": 9.5, "markerfacecolor": "none", "color": VERMILLION}
PENDING = {**ALONE, **OPEN, "marker": "v", "markersize": 6.2, "markeredgecolor": BLUE, "markeredgewidth": 1.3}
EXPIRED = {**ALONE, "marker": "x", "color": GREY, "markersize": 5.5, "markeredgewidth": 1.5}
FAILED = {**ALONE, "marker": "P", "color": VERMILLION, "markersize": 5.8, "markeredgewidth": 0}
HERE = {**ALONE, "marker": "*", "color": VERMILLION, "markersize": 12, "markeredgecolor": "white"}
CROWDED: dict[str, Any] = {"color": BLUE, "alpha": 0.55, "linewidth": 0}
NARROW = 9.0  # a page of less inches has its legends in more rows
CROWD = 60  # more marks than this are drawn as a density
BINS = 80  # of a density
UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


@dataclass(frozen=True)
class StudyPage:
    """A figure measured in inches from its upper left corner."""

    figure: Figure
    wide: float
    tall: float

    def axes(self, left: float, top: float, wide: float, high: float) -> Axes:
        return self.figure.add_axes(
            (left / self.wide, 1 - (top + high) / self.tall, wide / self.wide, high / self.tall)
        )

    def text(self, left: float, top: float, text: str, **more: Any) -> None:
        self.figure.text(left / self.wide, 1 - top / self.tall, text, va="center", **more)


@dataclass(frozen=True)
class Box:
    """Where a drawing stands on its page, in inches."""

    left: float
    top: float
    wide: float
    high: float


def clip_text(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 2]}…"


def format_value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else clip_text(str(value), 30)


def write_note(axes: Axes, text: str) -> None:
    """A sentence where there is nothing to draw."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=SOFT, fontsize=10.5)


def choose_unit(longest: float) -> tuple[float, str]:
    """The unit in which a time reads well: its seconds and its name."""
    for unit, name in UNITS.items():
        if longest >= 2 * SECONDS[unit]:
            return SECONDS[unit], name
    return 0.001, "milliseconds"


def draw_density(axes: Axes, at: Array, low: float, high: float, bottom: float, top: float, transform: Any) -> None:
    """How many marks stand where, from low to high: a step curve between bottom and top."""
    counts, edges = np.histogram(at, bins=BINS, range=(low, high))
    heights = bottom + (top - bottom) * counts / max(1, counts.max())
    axes.fill_between(
        edges, bottom, [*heights, heights[-1]], step="post", transform=transform, zorder=4, clip_on=False, **CROWDED
    )
