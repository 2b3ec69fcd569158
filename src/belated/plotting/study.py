"""The picture of a study: what was heard and when, how long it took, and what is believed of f.

Marks and colours say the same thing twice: a dot was heard, a diamond came late, an open triangle is pending. Lengths
are inches, so that texts have their room however many coordinates there are. Above 300 lines: it is one picture.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from belated.learner.arrays import Array
from belated.patience import SECONDS
from belated.plotting.study_view import BeliefSlice, StudyView
from belated.plotting.style import BAND, FAINT, INK, MEAN, OPEN, SOFT, make_page, save_page, use_style, write_headline
from belated.results import BestQuery

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, LEFT, RIGHT = 12.0, 0.78, 11.82
ABOVE, OVER, LANE, BETWEEN, ROW, BELOW = 1.72, 2.5, 0.24, 1.62, 0.82, 0.9  # from top to bottom
TIMES, DELAYS = 7.3, 9.0  # the width of the outcomes, the left edge of the delays
ACROSS = 4  # panels of the belief in a row
LETTER = 0.085  # of a tick's label
GOLDEN = 0.618034  # multiples of it are spread evenly

# Okabe and Ito's colours again; every status has a mark of its own besides.
BLUE, ORANGE, VERMILLION, GREY = "#0072B2", "#E69F00", "#D55E00", "#8A8A8A"
ALONE: dict[str, Any] = {"linestyle": "none"}
HEARD = {**ALONE, "marker": "o", "color": INK, "markersize": 4.2, "markeredgewidth": 0}
LATE = {**ALONE, "marker": "D", "color": ORANGE, "markersize": 5.2, "markeredgecolor": INK, "markeredgewidth": 0.7}
PENDING = {**ALONE, **OPEN, "marker": "v", "markersize": 6.2, "markeredgecolor": BLUE, "markeredgewidth": 1.3}
EXPIRED = {**ALONE, "marker": "x", "color": GREY, "markersize": 5.5, "markeredgewidth": 1.5}
FAILED = {**ALONE, "marker": "P", "color": VERMILLION, "markersize": 5.8, "markeredgewidth": 0}
HERE = {**ALONE, "marker": "*", "color": VERMILLION, "markersize": 12, "markeredgecolor": "white"}
TICK = {**ALONE, "marker": "|", "color": BLUE, "markersize": 8, "markeredgewidth": 1.1}
BEST: dict[str, Any] = {"color": BLUE, "linewidth": 1.5, "drawstyle": "steps-post", "alpha": 0.9}
TAIL: dict[str, Any] = {"linewidth": 0.8, "alpha": 0.55}
FLOOR: dict[str, Any] = {"color": SOFT, "linewidth": 0.9, "linestyle": (0, (1, 1.6)), "zorder": 1}
PATIENCE: dict[str, Any] = {"color": VERMILLION, "linewidth": 1.1, "linestyle": (0, (4, 2))}
KEY: dict[str, Any] = {"frameon": False, "fontsize": 9.5, "handlelength": 1.4, "handletextpad": 0.5}

LANES = {"pending": PENDING, "expired": EXPIRED, "infeasible": FAILED, "lost": FAILED, "withdrawn": FAILED}
SILENCE_WORDS = {
    "floor": ": drawn to the floor, as are the expired",
    "waiting": ": drawn to the floor",
    "fading": ": drawn to the floor the longer it waits",
    "unknown": ": leaves the mean as it is",
    "nearest": ": counts as its neighbours' means",
    "ignored": ": not counted",
}
UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


def draw_study(view: StudyView, out: Path, dpi: int = 150) -> None:
    """Write the picture; the ending of the file name (FORMATS) says in which format."""
    lanes = find_lanes(view)
    grid = PanelGrid.of(view.slices, ABOVE + OVER + LANE * len(lanes) + BETWEEN)
    tall = grid.bottom + BELOW
    with use_style():
        figure = make_page(WIDTH, tall)
        page = StudyPage(figure, tall)
        write_words(page, view)
        draw_outcomes(page, view, lanes)
        draw_delays(page, view, len(lanes))
        draw_beliefs(page, view, grid)
        save_page(figure, out, dpi)


@dataclass(frozen=True)
class StudyPage:
    """A figure measured in inches from its upper left corner."""

    figure: Figure
    tall: float

    def axes(self, left: float, top: float, wide: float, high: float) -> Axes:
        return self.figure.add_axes((left / WIDTH, 1 - (top + high) / self.tall, wide / WIDTH, high / self.tall))

    def text(self, left: float, top: float, text: str, **more: Any) -> None:
        self.figure.text(left / WIDTH, 1 - top / self.tall, text, va="center", **more)


@dataclass(frozen=True)
class PanelGrid:
    """Where the panels of the belief stand: all of one size, as wide as their number allows."""

    top: float
    rows: int
    wide: float
    high: float
    deep: float  # of the options' names, where they are slanted
    gap = 0.5

    @classmethod
    def of(cls, slices: Sequence[BeliefSlice], top: float) -> PanelGrid:
        across = max(1, min(len(slices), ACROSS))
        wide = (RIGHT - LEFT - cls.gap * (across - 1)) / across
        longest = max([0, *(max(map(len, clip_options(s.options))) for s in slices if needs_slant(s, wide))])
        rows = max(1, math.ceil(len(slices) / ACROSS))
        return cls(
            top,
            rows,
            wide,
            0.8 if not slices else 2.4 if len(slices) <= 2 else 1.75,
            max(0.0, 0.6 * LETTER * longest - 0.25),
        )

    @property
    def bottom(self) -> float:
        """Below the labels of the last row."""
        return self.top + self.rows * (self.high + ROW + self.deep) - ROW

    def place(self, i: int) -> tuple[float, float, float, float]:
        row, column = divmod(i, ACROSS)
        left, top = LEFT + column * (self.wide + self.gap), self.top + row * (self.high + ROW + self.deep)
        return left, top, self.wide, self.high


def write_words(page: StudyPage, view: StudyView) -> None:
    """The study's name, its counts and its settings."""
    settings, n = view.study.settings, len(view.trials)
    counts = {status: view.count(status) for status in ("heard", "late", "pending", "expired", "failed")}
    listed = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    stand = f"{n} {'query' if n == 1 else 'queries'}{': ' if listed else ''}{listed}."
    told = [trial for trial in view.trials if trial.outcome is not None]
    if told:
        best = max(told, key=lambda trial: (settings.objective.sign * (trial.outcome or 0.0), -trial.number))
        stand += f"  Best outcome: {format_value(best.outcome)}, trial {best.number}."
    patience = "no patience" if math.isinf(settings.patience.m) else f"patience {settings.patience}"
    setting = (
        f"{settings.objective.goal.capitalize()}; silence: {settings.silence.name}; {patience}; "
        f"late outcomes are {'used' if settings.late == 'use' else 'not used'}; algorithm: {settings.algorithm.name}."
    )
    page.text(LEFT, 0.36, clip_text(view.name, 60), fontsize=17, weight="bold")
    page.text(LEFT, 0.69, stand, fontsize=10)
    page.text(LEFT, 0.92, setting, color=SOFT, fontsize=10)


def clip_text(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 2]}…"


def format_value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else clip_text(str(value), 30)


def write_note(axes: Axes, text: str) -> None:
    """A sentence where there is nothing to draw."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=SOFT, fontsize=10.5)


def set_ticks(axes: Axes, *, whole: bool) -> None:
    """Few enough ticks that their labels do not touch; at whole numbers only where `whole`."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=whole, nbins=6, steps=[1, 2, 5, 10], min_n_ticks=1))


def choose_unit(longest: float) -> tuple[float, str]:
    """The unit in which a time reads well: its seconds and its name."""
    for unit, name in UNITS.items():
        if longest >= 2 * SECONDS[unit]:
            return SECONDS[unit], name
    return 0.001, "milliseconds"


# Over time ------------------------------------------------------------------------------------------------------------


def find_lanes(view: StudyView) -> list[tuple[str, Array]]:
    """Trials without an outcome: a lane for each kind, with the times at which they were asked."""
    kinds = np.array([trial.failure or trial.status for trial in view.trials])
    return [(name, view.asked[kinds == name]) for name in LANES if np.any(kinds == name)]


def draw_outcomes(page: StudyPage, view: StudyView, lanes: Sequence[tuple[str, Array]]) -> None:
    """Each outcome when it was heard, with a tail back to when it was asked; below, trials without one."""
    axes = page.axes(LEFT, ABOVE, TIMES, OVER)
    unit, name = choose_unit(view.now) if view.by_clock else (1.0, "rounds")
    asked, told, now = view.asked / unit, view.told / unit, view.now / unit
    y = np.array([math.nan if trial.outcome is None else trial.outcome for trial in view.trials])
    late = np.array([trial.status == "late" for trial in view.trials], dtype=bool)
    there, outcome = np.isfinite(told), view.study.settings.objective
    timed = np.array([trial.has_delay for trial in view.trials], dtype=bool)
    write_headline(axes, "Outcomes", "when it was heard; tail: since it was asked")
    if np.any(there):
        order = np.argsort(told[there], kind="stable")
        best = outcome.sign * np.maximum.accumulate(outcome.sign * y[there][order])
        axes.plot([*told[there][order], now], [*best, best[-1]], **BEST, label="best so far")
        for mask, colour, marks, word in ((there & ~late, GREY, HEARD, "heard"), (late, ORANGE, LATE, "late")):
            if np.any(mask):
                waited = mask & timed  # an outcome that was added with its query was not waited for
                axes.hlines(y[waited], asked[waited], told[waited], color=colour, **TAIL)
                axes.plot(told[mask], y[mask], **marks, label=word, zorder=4)
        floor = view.floor
        if floor.value is not None and (floor.stated or floor.used):
            label = "floor" if floor.stated else "worst heard, as floor"
            axes.axhline(floor.value, **FLOOR, label=label)
        axes.legend(
            loc="lower right", bbox_to_anchor=(1.005, 1.01), ncols=4, columnspacing=1.2, borderaxespad=0.3, **KEY
        )
        axes.grid(axis="y", color=FAINT, linewidth=0.8)
        axes.margins(y=0.08)
    else:
        axes.set_yticks([])
        write_note(axes, "nothing heard yet")
    first = 0.0 if view.by_clock else 1.0
    last = now if now > first else first + 1.0
    axes.set_xlim(first - 0.015 * (last - first), last + 0.015 * (last - first))
    if lanes:
        axes.tick_params(labelbottom=False, length=0)
        axes.spines["bottom"].set_visible(False)
        axes = draw_lanes(page, axes, lanes, unit)
    when = f"{name} since {format_start(view)}" if view.by_clock else "round"
    axes.set_xlabel(f"{when}  (without an outcome: when it was asked)" if lanes else when, labelpad=3)
    set_ticks(axes, whole=not view.by_clock)
    if not view.trials:
        axes.set_xticks([])


def draw_lanes(page: StudyPage, above: Axes, lanes: Sequence[tuple[str, Array]], unit: float) -> Axes:
    """A lane for each kind of trial without an outcome, under the outcomes and on the same axis of time."""
    axes = page.axes(LEFT, ABOVE + OVER + 0.06, TIMES, LANE * len(lanes))  # a tick's label may stand at the very edge
    for row, (name, times) in enumerate(lanes):
        axes.plot(times / unit, np.full(len(times), -row), **LANES[name], clip_on=False, zorder=4)
    axes.set_ylim(-len(lanes) + 0.5, 0.5)
    axes.set_yticks([-row for row in range(len(lanes))], [name for name, _ in lanes], fontsize=9.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(above.get_xlim())
    axes.set_facecolor("#F6F6F6")
    axes.spines["left"].set_visible(False)
    return axes


def format_start(view: StudyView) -> str:
    """When the first query was asked, as text."""
    start = min((trial.asked_at for trial in view.trials), default=0.0)
    if not 1e9 <= start < 1e11:  # not a calendar time: a test's or a simulation's clock
        return "the first query"
    at = datetime.fromtimestamp(start)
    return f"{at.day} {at:%b %Y, %H:%M}"


# Delays ---------------------------------------------------------------------------------------------------------------


def draw_delays(page: StudyPage, view: StudyView, lanes: int) -> None:
    """The share heard by how long they waited (Kaplan-Meier): those still pending are censored."""
    axes = page.axes(DELAYS, ABOVE, RIGHT - DELAYS, OVER + (0.06 + LANE * lanes if lanes else 0.0))
    survival, waiting, m = view.survival, view.waiting, view.study.settings.patience.m
    longest = max([0.0, *survival.times, *waiting])
    reach = 1.04 * max(longest, m if m <= 4 * longest else 0.0) or 1.0
    unit, name = choose_unit(reach) if view.by_clock else (1.0, "rounds")
    ticks = "; ticks: unheard" if len(waiting) else ""
    write_headline(axes, "Delays seen so far", f"share heard (± 2 s.e.){ticks}")
    axes.set_ylim(0, 1.03)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlim(0, reach / unit)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_xlabel(f"{name} waited", labelpad=3)
    set_ticks(axes, whole=not view.by_clock)
    if not survival.n:
        axes.set_xticks([])
        axes.grid(False)
        write_note(axes, "no delays seen yet")
        return
    t = np.array([0.0, *survival.times, longest])
    share, error = 1.0 - survival.over(t), 2.0 * np.array([survival.error(float(at)) for at in t])
    low, high = np.clip(share - error, 0, 1), np.clip(share + error, 0, 1)
    axes.fill_between(t / unit, low, high, step="post", color=BLUE, **BAND)
    axes.plot(t / unit, share, color=BLUE, linewidth=1.7, drawstyle="steps-post")
    axes.plot(waiting / unit, 1.0 - survival.over(waiting), **TICK)
    if math.isfinite(m):
        mark_patience(axes, view, m, longest, reach, unit)


def mark_patience(axes: Axes, view: StudyView, m: float, longest: float, reach: float, unit: float) -> None:
    """Where patience ends, and which share is heard by then, if that is known."""
    known = m <= longest or view.survival.at(longest) == 0
    within = f"{100 * view.survival.rho(m):.0f} % in time, by estimate" if known else "nothing has waited so long"
    text = f"patience {view.study.settings.patience}\n{within}"
    if m <= reach:
        axes.axvline(m / unit, **PATIENCE)
    right = m > 0.5 * reach
    axes.annotate(
        text if m <= reach else f"{text}\n(beyond this axis)",
        xy=(min(m, reach) / unit, 0.04),
        xytext=(-5 if right else 5, 0),
        textcoords="offset points",
        ha="right" if right else "left",
        va="bottom",
        fontsize=9,
        color=VERMILLION,
        linespacing=1.35,
        bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1.5},
    )


# Belief ---------------------------------------------------------------------------------------------------------------


def draw_beliefs(page: StudyPage, view: StudyView, grid: PanelGrid) -> None:
    """One panel for each coordinate, all on the same scale."""
    page.text(LEFT, grid.top - 0.72, "Belief about f", fontsize=11.5, weight="bold")
    if view.recommended is None:
        axes = page.axes(*grid.place(0))
        axes.set_xticks([])
        axes.set_yticks([])
        write_note(axes, "nothing heard yet, so nothing is believed yet")
        return
    page.text(LEFT, grid.top - 0.5, format_caption(view, view.recommended), fontsize=9.5, color=SOFT)
    if view.left_out:
        left = f"{view.left_out} more coordinate{'s are' if view.left_out > 1 else ' is'} not shown"
        page.text(RIGHT, grid.top - 0.72, left, fontsize=9.5, color=SOFT, ha="right")
    low, high = find_range(view.slices)
    for i, piece in enumerate(view.slices):
        axes = page.axes(*grid.place(i))
        draw_slice(axes, piece, grid.wide)
        axes.set_ylim(low, high)
        axes.tick_params(labelleft=i % ACROSS == 0)
    draw_legend(page, view, grid.bottom + 0.48)


def find_range(slices: Sequence[BeliefSlice]) -> tuple[float, float]:
    """A scale on which every belief and every outcome can be seen."""
    edges = [v for s in slices for v in (*s.low, *s.high, *s.heard[:, 1])]
    room = 0.06 * (max(edges) - min(edges)) or 1.0
    return min(edges) - 2 * room, max(edges) + room  # more below: pending queries are drawn there


def format_caption(view: StudyView, best: BestQuery) -> str:
    """Which point the panels go through, and what it is worth."""

    def listed(params: Any) -> str:
        return ", ".join(f"{name} = {format_value(value)}" for name, value in params.items())

    goal = "greatest" if view.study.settings.objective.goal == "maximize" else "least"
    where = "" if view.context is None else f" in the context {listed(view.context)}"
    how = (
        "every point of the list; the star is recommended" if view.slices[0].whole else "through the recommended point"
    )
    worth = f"{best.value:.4g}, 90 %: {best.interval}"
    text = f"{how}, where the {best.quantity} is {goal}{where}:  {listed(best.params)}  ({worth})"
    return textwrap.shorten(text, 140, placeholder=" …")


def draw_slice(axes: Axes, piece: BeliefSlice, wide: float) -> None:
    """The belief along one coordinate."""
    low, high = piece.low, piece.high
    if piece.dots:
        crowded = len(piece.x) > 30
        axes.vlines(piece.x, low, high, linewidth=1.3 if crowded else 4.0, alpha=0.25, color=BLUE)
        marks = {**ALONE, "marker": "_", "color": BLUE, "markeredgewidth": 1.8}
        axes.plot(piece.x, piece.mean, **marks, markersize=4 if crowded else 9)
    else:
        axes.fill_between(piece.x, low, high, color=BLUE, **BAND)
        axes.plot(piece.x, piece.mean, color=BLUE, **MEAN)
    for i, (x, y, near) in enumerate(piece.heard):
        aside = (0.13 + 0.22 * (i * GOLDEN % 1)) * piece.spacing if piece.beside else 0.0  # not on the bar
        axes.plot([x + aside], [y], **{**HEARD, "markersize": 3.6}, alpha=0.1 + 0.8 * near**2, zorder=3)
    axes.plot([piece.here[0]], [piece.here[1]], **HERE, zorder=6)
    below = np.full(len(piece.pending), 0.045)
    axes.plot(piece.pending, below, **{**PENDING, "markersize": 5}, transform=axes.get_xaxis_transform(), zorder=5)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
    axes.annotate(clip_text(piece.name, 28) + (" (context)" if piece.context else ""), (0, 1), (0, 5), **place)
    if piece.options is not None:
        label_options(axes, piece, wide)
    elif piece.log:
        axes.set_xscale("log")
        room = (piece.x[-1] / piece.x[0]) ** 0.02
        axes.set_xlim(piece.x[0] / room, piece.x[-1] * room)
    else:
        room = 0.5 if piece.beside else 0.02 * float(np.ptp(piece.x)) or 0.5
        axes.set_xlim(piece.x[0] - room, piece.x[-1] + room)
        set_ticks(axes, whole=piece.beside)


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


def draw_legend(page: StudyPage, view: StudyView, top: float) -> None:
    """What the marks of the belief mean, and what pending queries count as."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    faint = " (fainter: farther from what is shown)" if len(view.slices) > 1 and not view.slices[0].whole else ""
    handles: list[Any] = [
        Line2D([], [], **MEAN, color=BLUE, label="mean"),
        Patch(**BAND, color=BLUE, label="90 % interval of f"),
        Line2D([], [], **HERE, label="recommended"),
        Line2D([], [], **HEARD, label=f"outcome{faint}"),
    ]
    if any(len(piece.pending) for piece in view.slices):
        silence = view.study.settings.silence.name
        handles.append(Line2D([], [], **PENDING, label=f"pending{SILENCE_WORDS.get(silence, '')}"))
    where = (LEFT / WIDTH, 1 - top / page.tall)
    more: dict[str, Any] = {"columnspacing": 1.6, "borderaxespad": 0, "borderpad": 0, "ncols": len(handles)}
    page.figure.legend(handles=handles, loc="upper left", bbox_to_anchor=where, **KEY, **more)
