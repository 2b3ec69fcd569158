"""What all pictures of the report share: pages with axes, their texts, and the style of a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from belated.comparison.statistics import summarize_curves
from belated.learner.arrays import Array
from belated.plotting.style import FAINT, SOFT, THREAD, make_page, push_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAND: dict[str, Any] = {"alpha": 0.18, "linewidth": 0}
WIDTH, LEFT, AXES_WIDTH, AXES_HEIGHT = 7.7, 0.85, 4.9, 2.75  # inches
SMALL_HEIGHT, BETWEEN = 1.75, 0.3  # of small axes, and from one to the next
TITLE, CAPTION, NOTE, BELOW = 0.5, 0.3, 0.18, 0.6  # inches of the title, of the lines above axes, of the words below


@dataclass(frozen=True)
class MeanCurve:
    """Mean and standard error of a curve, by iteration; the error is 0 for a single run."""

    iterations: Array
    mean: Array
    error: Array
    runs: int


def average_runs(iterations: Array, values: Array) -> MeanCurve:
    """Of runs × iterations."""
    summary = summarize_curves(values)
    return MeanCurve(iterations, summary.mean, np.nan_to_num(summary.error), len(values))


@dataclass(frozen=True)
class LineStyle:
    """How a curve is drawn."""

    colour: str
    mark: str
    dashed: bool
    bold: bool

    @property
    def line(self) -> dict[str, Any]:
        style = (0, (4, 2)) if self.dashed else "-"
        return {"color": self.colour, "linewidth": 2.6 if self.bold else 1.4, "linestyle": style}

    @property
    def marks(self) -> dict[str, Any]:
        return {
            "fmt": self.mark,
            "color": self.colour,
            "markersize": 5.4 if self.bold else 4.4,
            "markerfacecolor": "white" if self.dashed else self.colour,
            "elinewidth": 1.5 if self.bold else 1.0,
        }


class LineEnd(NamedTuple):
    """The last value of a line, and the name that stands beside it."""

    label: str
    value: float
    style: LineStyle


def make_stacked_page(title: str, count: int) -> tuple[Figure, list[Axes]]:
    """The page with its title, and its axes from the top down."""
    height = TITLE + count * (CAPTION + AXES_HEIGHT + BELOW)
    page = _make_titled_page(title, height)
    bottoms = [height - TITLE - (i + 1) * (CAPTION + AXES_HEIGHT) - i * BELOW for i in range(count)]
    return page, [_add_axes(page, LEFT, bottom, AXES_WIDTH, AXES_HEIGHT) for bottom in bottoms]


def make_leading_page(title: str, small: int, *, room_for_note: bool = False) -> tuple[Figure, Axes, list[Axes]]:
    """The page with its title, one pair of axes, and a row of small ones under it."""
    above = CAPTION + (NOTE if room_for_note else 0.0)
    height = TITLE + above + AXES_HEIGHT + BELOW + ((CAPTION + SMALL_HEIGHT + BELOW) if small else 0.0)
    page = _make_titled_page(title, height)
    leading = _add_axes(page, LEFT, height - TITLE - above - AXES_HEIGHT, AXES_WIDTH, AXES_HEIGHT)
    width = (WIDTH - LEFT - 0.3 - (small - 1) * BETWEEN) / max(small, 1)
    lefts = [LEFT + i * (width + BETWEEN) for i in range(small)]
    return page, leading, [_add_axes(page, left, BELOW, width, SMALL_HEIGHT) for left in lefts]


def _make_titled_page(title: str, height: float) -> Figure:
    page = make_page(WIDTH, height)
    _add_title(page, title, 1 - 0.5 * TITLE / height)
    return page


def _add_axes(page: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes on a page, in inches."""
    across, up = page.get_size_inches()
    return page.add_axes((left / across, bottom / up, width / across, height / up))


def _add_title(page: Figure, title: str, y: float) -> None:
    """The title, as large as fits on one line."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    words = page.text(LEFT / WIDTH, y, title, fontsize=13, weight="bold", va="center")
    width = words.get_window_extent(FigureCanvasAgg(page).get_renderer()).width / page.dpi  # type: ignore[no-untyped-call]
    words.set_fontsize(13 * min(1.0, (WIDTH - LEFT - 0.15) / width))


def finish_axes(axes: Axes, x: str, y: str, caption: str, ends: Sequence[LineEnd] = (), note: str = "") -> None:
    """The names of the axes, a line or two above them, and names at the ends of the lines; set the limits before."""
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_xlabel(x, labelpad=2)
    axes.set_ylabel(y, labelpad=4)
    _add_caption(axes, caption, note)
    if ends:
        label_line_ends(axes, sorted(ends, key=lambda end: end.value))


def _add_caption(axes: Axes, text: str, note: str) -> None:
    """A soft line or two above the axes, flush with them."""
    lines = f"{text}\n{note}" if note else text
    place: dict[str, Any] = {"xy": (0, 1), "xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
    axes.annotate(lines, xytext=(0, 8), fontsize=9, color=SOFT, linespacing=1.4, **place)


def label_line_ends(axes: Axes, ends: Sequence[LineEnd]) -> None:
    """Each line's name to the right of its end, from the lowest up, pushed apart so that none covers another."""
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [min(1.0, float(to_axes.transform((0, end.value))[1])) for end in ends]
    gap = 0.068
    low = min(0.012, 1 - gap * (len(ends) - 1))
    placed = push_apart(heights, gap, low)
    over = max(0.0, placed[-1] - 1.0)  # more names than there is height below the topmost end
    for end, height, y in zip(ends, heights, placed, strict=True):
        axes.annotate(
            end.label,
            xy=(1.004, height),
            xytext=(1.045, y - over),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=10,
            color=end.style.colour,
            weight="bold" if end.style.bold else "normal",
            arrowprops={**THREAD, "color": end.style.colour},
            annotation_clip=False,
        )
