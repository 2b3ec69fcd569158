"""What is believed of f: along each coordinate, through the recommended point."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from belated.plotting.study.marks import (
    ALONE,
    BLUE,
    CROWD,
    CROWDED,
    FAILED,
    HEARD,
    HERE,
    NARROW,
    PENDING,
    StudyPage,
    clip_text,
    draw_density,
    write_note,
)
from belated.plotting.study.thinning import choose_near
from belated.plotting.study.ticks import LETTER, fit_ticks, label_values, to_axis
from belated.plotting.study.view import BeliefSlice, StudyView
from belated.plotting.style import BAND, BARE, FAINT, INK, KEY, MEAN, SOFT
from belated.results import BestQuery

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW = 0.82  # between two rows of panels
LEGEND = 0.48  # from the last row to the legend
GOLDEN = 0.618034  # multiples of it are spread evenly
SILENCE_WORDS = {
    "floor": ": drawn to the floor, as are the expired",
    "waiting": ": drawn to the floor",
    "fading": ": drawn to the floor the longer it waits",
    "unknown": ": leaves the mean as it is",
    "nearest": ": counts as its neighbours' means",
    "ignored": ": not counted",
}


@dataclass(frozen=True)
class PanelGrid:
    """Where the panels of the belief stand: all of one size, as wide as their number allows."""

    left: float
    top: float
    across: int  # panels in a row, at most
    rows: int
    wide: float
    high: float
    deep: float  # of the options' names, where they are slanted
    gap = 0.5

    @classmethod
    def of(cls, slices: Sequence[BeliefSlice], left: float, right: float, top: float, across: int = 4) -> PanelGrid:
        """From left to right, at most `across` in a row."""
        columns = max(1, min(len(slices), across))
        wide = (right - left - cls.gap * (columns - 1)) / columns
        longest = max([0, *(max(map(len, clip_options(s.options))) for s in slices if needs_slant(s, wide))])
        return cls(
            left,
            top,
            across,
            max(1, math.ceil(len(slices) / across)),
            wide,
            0.8 if not slices else 2.4 if len(slices) <= 2 else 1.75,
            max(0.0, 0.6 * LETTER * longest - 0.25),
        )

    @property
    def bottom(self) -> float:
        """Below the labels of the last row."""
        return self.top + self.rows * (self.high + ROW + self.deep) - ROW

    def place(self, i: int) -> tuple[float, float, float, float]:
        row, column = divmod(i, self.across)
        left, top = self.left + column * (self.wide + self.gap), self.top + row * (self.high + ROW + self.deep)
        return left, top, self.wide, self.high


def draw_beliefs(page: StudyPage, grid: PanelGrid, view: StudyView) -> None:
    """One panel for each coordinate, all on the same scale."""
    page.text(grid.left, grid.top - 0.72, f"Belief about {view.named}", fontsize=11.5, weight="bold")
    if view.recommended is None:
        axes = page.axes(*grid.place(0))
        axes.set_xticks([])
        axes.set_yticks([])
        write_note(axes, "nothing heard yet, so nothing is believed yet")
        return
    page.text(grid.left, grid.top - 0.5, format_caption(view, view.recommended, page.wide), fontsize=9.5, color=SOFT)
    missing = []
    if view.left_out:
        missing.append(f"{view.left_out} more coordinate{'s are' if view.left_out > 1 else ' is'} not shown")
    if view.outside:
        missing.append(f"{view.outside} outside the ranges {'are' if view.outside > 1 else 'is'} not shown here")
    if missing:
        left = "; ".join(missing)
        right = min(len(view.slices), grid.across) * (grid.wide + grid.gap) - grid.gap + grid.left
        page.text(right, grid.top - 0.72, left, fontsize=9.5, color=SOFT, ha="right")
    low, high = find_range(view.slices)
    for i, piece in enumerate(view.slices):
        axes = page.axes(*grid.place(i))
        axes.set_ylim(low, high)
        draw_slice(axes, piece, grid.wide)
        label_values(axes, shown=i % grid.across == 0)
    draw_legend(page, grid, view)


def find_range(slices: Sequence[BeliefSlice]) -> tuple[float, float]:
    """A scale on which every belief and every outcome can be seen."""
    edges = [v for s in slices for v in (*s.low, *s.high, *s.heard[:, 1])]
    room = 0.06 * (max(edges) - min(edges)) or 1.0
    return min(edges) - 2 * room, max(edges) + room  # more below: pending queries are drawn there


def format_caption(view: StudyView, best: BestQuery, wide: float) -> str:
    """Which point the panels go through."""
    goal = "greatest" if view.study.settings.objective.goal == "maximize" else "least"
    how = (
        "every point of the list; the star is recommended" if view.slices[0].whole else "through the recommended point"
    )
    return textwrap.shorten(f"{how}, where the {best.quantity} is {goal}", int(12 * wide), placeholder=" …")


def draw_slice(axes: Axes, piece: BeliefSlice, wide: float) -> None:
    """The belief along one coordinate; its scale of values is set before."""
    low, high, x = piece.low, piece.high, to_axis(piece.x, piece.log)
    if piece.dots:
        crowded = len(x) > 30
        axes.vlines(x, low, high, linewidth=1.3 if crowded else 4.0, alpha=0.25, color=BLUE)
        marks = {**ALONE, "marker": "_", "color": BLUE, "markeredgewidth": 1.8}
        axes.plot(x, piece.mean, **marks, markersize=4 if crowded else 9)
    else:
        axes.fill_between(x, low, high, color=BLUE, **BAND)
        axes.plot(x, piece.mean, color=BLUE, **MEAN)
    if len(piece.heard):
        draw_heard(axes, piece)
    here = to_axis([piece.here[0]], piece.log)
    axes.plot(here, [piece.here[1]], **HERE, zorder=6)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
    letters = int(wide / LETTER) - (10 if piece.context else 0)
    axes.annotate(clip_text(piece.label, letters) + (" (context)" if piece.context else ""), (0, 1), (0, 5), **place)
    if piece.options is not None:
        label_options(axes, piece, wide)
    else:
        room = 0.5 if piece.beside and not piece.log else 0.02 * float(np.ptp(x)) or 0.5
        axes.set_xlim(x[0] - room, x[-1] + room)
        fit_ticks(axes, wide, log=piece.log, whole=piece.beside)
    draw_pending(axes, piece)
    bad = np.unique(to_axis(piece.infeasible, piece.log))
    axes.plot(
        bad, np.full(len(bad), 0.955), **{**FAILED, "markersize": 4.5}, transform=axes.get_xaxis_transform(), zorder=5
    )


def draw_heard(axes: Axes, piece: BeliefSlice) -> None:
    """The outcomes, the fainter the farther away; of very many the nearest, the newest and some others."""
    at, y, near = piece.heard[choose_near(piece.heard[:, 2])].T
    if piece.beside:  # not on the bar
        at = at + (0.13 + 0.22 * (np.arange(len(at)) * GOLDEN % 1)) * piece.spacing
    dots: dict[str, Any] = {"s": 3.6**2, "color": INK, "linewidths": 0, "clip_on": False, "zorder": 3}
    axes.scatter(to_axis(at, piece.log), y, alpha=0.1 + 0.8 * near**2, **dots)


def draw_pending(axes: Axes, piece: BeliefSlice) -> None:
    """Pending queries at the bottom: a mark for each; a density of many; the count where several have one place."""
    at, across = to_axis(piece.pending, piece.log), axes.get_xaxis_transform()
    if len(at) > CROWD and not piece.dots:
        draw_density(axes, at, *axes.get_xlim(), 0.0, 0.09, across)
        return
    counts = Counter(at.tolist())
    axes.plot(list(counts), np.full(len(counts), 0.045), **{**PENDING, "markersize": 5}, transform=across, zorder=5)
    if piece.dots and len(piece.x) <= 30:
        for x, count in counts.items():
            if count > 1:
                beside: dict[str, Any] = {"xycoords": across, "textcoords": "offset points", "va": "center"}
                axes.annotate(str(count), (x, 0.045), (5, 0), fontsize=8.5, color=BLUE, **beside)


def clip_options(names: Sequence[str] | None) -> list[str]:
    return [clip_text(name, 16) for name in names or ()]


def needs_slant(piece: BeliefSlice, wide: float) -> bool:
    """Whether the names of its options would touch each other."""
    names = clip_options(piece.options)
    return bool(names) and max(map(len, names)) * LETTER > wide / len(names)


def label_options(axes: Axes, piece: BeliefSlice, wide: float) -> None:
    """The names of the options under their places; slanted, and not all of them, where they would touch."""
    names = clip_options(piece.options)
    places = range(0, len(names), max(1, math.ceil(0.2 * len(names) / wide)))
    turned: dict[str, Any] = {"rotation": 38, "ha": "right", "va": "top", "rotation_mode": "anchor"}
    axes.set_xticks(
        list(places), [names[k] for k in places], fontsize=9, **(turned if needs_slant(piece, wide) else {})
    )
    axes.set_xlim(-0.6, len(names) - 0.4)


def draw_legend(page: StudyPage, grid: PanelGrid, view: StudyView) -> None:
    """What the marks of the belief mean, and what pending queries count as."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    faint = " (fainter: farther away)" if len(view.slices) > 1 and not view.slices[0].whole else ""
    handles: list[Any] = [
        Line2D([], [], **MEAN, color=BLUE, label="mean"),
        Patch(**BAND, color=BLUE, label="90 % interval" + ("" if view.conversions else " of f")),
        Line2D([], [], **HERE, label="recommended"),
    ]
    if any(len(piece.heard) for piece in view.slices):
        word = "share so far" if view.conversions else "outcome"
        handles.append(Line2D([], [], **HEARD, label=f"{word}{faint}"))
    pending = view.count("pending")
    if pending:
        words = f"pending{SILENCE_WORDS.get(view.study.settings.silence.name, '')}"
        crowd = pending > CROWD and any(not piece.dots for piece in view.slices)
        handles.append(Patch(**CROWDED, label=words) if crowd else Line2D([], [], **PENDING, label=words))
    if any(len(piece.infeasible) for piece in view.slices):
        handles.append(Line2D([], [], **FAILED, label="infeasible"))
    narrow = page.wide < NARROW
    where = ((0.2 if narrow else grid.left) / page.wide, 1 - (grid.bottom + LEGEND) / page.tall)
    columns = 2 if narrow else len(handles)
    more: dict[str, Any] = {"columnspacing": 1.6, "ncols": columns}
    page.figure.legend(handles=handles, loc="upper left", bbox_to_anchor=where, **KEY, **BARE, **more)
