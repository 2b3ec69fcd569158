"""The outcomes over time: each when it was heard; below, the trials without one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from belated.learner.arrays import Array, Mask
from belated.plotting.study.marks import (
    AMENDED,
    BLUE,
    CROWD,
    EXPIRED,
    FAILED,
    GREY,
    HEARD,
    LATE,
    NARROW,
    ORANGE,
    PENDING,
    Box,
    StudyPage,
    choose_unit,
    clip_text,
    draw_density,
    write_note,
)
from belated.plotting.study.thinning import MOST_OUTCOMES, find_drawn
from belated.plotting.study.ticks import fit_ticks, label_values, pad_range
from belated.plotting.study.view import HistoryView, StudyView, find_value
from belated.plotting.style import BARE, FAINT, KEY, SOFT, write_headline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LANE, AIR = 0.24, 0.06  # the height of a lane, and what is between the outcomes and the lanes
BEST: dict[str, Any] = {"color": BLUE, "linewidth": 1.5, "drawstyle": "steps-post", "alpha": 0.9}
TAIL: dict[str, Any] = {"linewidth": 0.8, "alpha": 0.55}
FLOOR: dict[str, Any] = {"color": SOFT, "linewidth": 0.9, "linestyle": (0, (1, 1.6)), "zorder": 1}
CAME = ("heard", "late")
LANES = {
    "heard": HEARD,
    "late": LATE,
    "pending": PENDING,
    "expired": EXPIRED,
    "infeasible": FAILED,
    "lost": FAILED,
    "withdrawn": FAILED,
}


def find_lanes(view: HistoryView) -> list[tuple[str, Array]]:
    """Trials without an outcome: a lane for each kind, with the times at which they were asked."""
    kinds = np.array([trial.failure or trial.status for trial in view.trials])
    silent = [name for name in LANES if name not in CAME]
    return [(name, view.asked[kinds == name]) for name in silent if np.any(kinds == name)]


def find_all_lanes(view: HistoryView) -> list[tuple[str, Array]]:
    """The same, and lanes of single conversions, with the times at which they were heard: one beside silence is no
    rate."""
    if not view.conversions:
        return find_lanes(view)
    kinds = np.array([trial.status for trial in view.trials])
    return [(name, view.told[kinds == name]) for name in CAME if np.any(kinds == name)] + find_lanes(view)


def gather_days(view: HistoryView) -> tuple[Array, Array]:
    """The days whose people were counted, and the share of all of them who converted."""
    days = [(at, t.shown, t.converted) for at, t in zip(view.told, view.trials, strict=True) if t.status == "counted"]
    at, shown, converted = np.array(days, dtype=float).reshape(-1, 3).T
    each, place = np.unique(at, return_inverse=True)
    return each, np.bincount(place, converted, len(each)) / np.bincount(place, shown, len(each))


def measure_lanes(view: StudyView) -> float:
    """How much height the lanes take."""
    lanes = len(find_all_lanes(view))
    return AIR + LANE * lanes if lanes else 0.0


def draw_outcomes(page: StudyPage, box: Box, view: StudyView) -> None:
    """Each outcome when it was heard, with a tail back to when it was asked; below, trials without one. Of conversions
    the rate and the share of each day; below, single ones."""
    axes, lanes = page.axes(box.left, box.top, box.wide, box.high), find_all_lanes(view)
    unit, name = choose_unit(view.now) if view.dated else (1.0, "rounds")
    asked, told, now = view.asked / unit, view.told / unit, view.now / unit
    y = list_outcomes(view)
    late = np.array([trial.status == "late" for trial in view.trials], dtype=bool)
    there, drawn = np.isfinite(told), find_drawn_outcomes(view, y)
    timed = np.array([trial.has_delay for trial in view.trials], dtype=bool)
    days = gather_days(view)
    says = "when it was heard; tail: since it was asked"
    if view.conversions:
        drawn, says = np.zeros(len(y), dtype=bool), "the rate so far; below, when each conversion was heard"
    if len(days[0]):
        says = "the rate so far, and that of each day"
    write_headline(axes, clip_text(view.title, 28), says)
    if np.any(there):
        at, line = compute_progress(view, y, view.asked, view.told)
        axes.plot([*at / unit, now], [*line, line[-1]], **BEST, label=name_progress(view))
        for mask, colour, marks, word in ((drawn & ~late, GREY, HEARD, "heard"), (drawn & late, ORANGE, LATE, "late")):
            if np.any(mask):
                waited = mask & timed  # an outcome that was added with its query was not waited for
                axes.hlines(y[waited], asked[waited], told[waited], color=colour, **TAIL)
                axes.plot(told[mask], y[mask], **marks, label=word, zorder=4)
        if len(days[0]):
            axes.plot(days[0] / unit, days[1], **HEARD, label="share of a day", zorder=4)
        if not view.conversions:
            mark_amended(axes, view, told, y)
        values, floor = [*line, *days[1]] if view.conversions else [*y[there]], view.floor
        if floor.value is not None and (floor.stated or floor.used):
            values.append(floor.value)
            label = "floor" if floor.stated else "worst heard, as floor"
            axes.axhline(floor.value, **FLOOR, label=label)
        place_legend(page, box, axes, measure_lanes(view))
        axes.grid(axis="y", color=FAINT, linewidth=0.8)
        axes.set_ylim(*pad_range(values, 0.08))
        label_values(axes)
    else:
        axes.set_yticks([])
        write_note(axes, "nothing heard yet")
    first = 0.0 if view.dated else 1.0
    last = now if now > first else first + 1.0
    axes.set_xlim(first - 0.015 * (last - first), last + 0.015 * (last - first))
    if lanes:
        axes.tick_params(labelbottom=False, length=0)
        axes.spines["bottom"].set_visible(False)
        axes = draw_lanes(page, box, axes, lanes, unit)
    when = f"{name} since {format_start(view)}" if view.dated else name_rounds(view)
    asked_then = "  (without an outcome: when it was asked)" if find_lanes(view) and page.wide > NARROW else ""
    axes.set_xlabel(f"{when}{asked_then}", labelpad=3)
    fit_ticks(axes, box.wide, whole=not view.dated)
    if not view.trials:
        axes.set_xticks([])


def list_outcomes(view: HistoryView) -> Array:
    """The outcome of each trial; NaN where there is none."""
    found = [find_value(trial) for trial in view.trials]
    return np.array([math.nan if value is None else value for value in found])


def find_drawn_outcomes(view: HistoryView, y: Array) -> Mask:
    """Which outcomes are drawn: all, or so many that each can be seen."""
    return find_drawn(np.isfinite(view.told), view.study.settings.objective.sign * y, MOST_OUTCOMES)


def name_progress(view: HistoryView) -> str:
    return "rate so far" if view.conversions else "best so far"


def compute_progress(view: HistoryView, y: Array, asked: Array, told: Array) -> tuple[Array, Array]:
    """The times at which outcomes were heard, and the best outcome by then; of conversions, the rate.

    asked, told  where each trial stands along the axis; NaN while unheard     (n,)"""
    there, sign = np.isfinite(told), view.study.settings.objective.sign
    order = np.argsort(told[there], kind="stable")
    at = told[there][order]
    if view.conversions:
        return at, compute_rate_so_far(view, at, asked, told)
    return at, sign * np.maximum.accumulate(sign * y[there][order])


def compute_rate_so_far(view: HistoryView, at: Array, asked: Array, told: Array) -> Array:
    """What had come by each of these times, per query asked by then; people who were counted are queries."""
    came = np.array([(t.outcome or 0.0) if t.converted is None else t.converted for t in view.trials])
    people = np.array([1.0 if t.shown is None else t.shown for t in view.trials])
    return np.asarray(_sum_until(at, told, came) / np.maximum(_sum_until(at, asked, people), 1.0))


def _sum_until(at: Array, times: Array, amounts: Array) -> Array:
    """What happened by each of some times in all; what has no time did not."""
    order = np.argsort(times, kind="stable")  # NaN comes last
    total = np.concatenate([[0.0], np.cumsum(amounts[order])])
    return np.asarray(total[np.searchsorted(times[order], at, side="right")])


def place_legend(page: StudyPage, box: Box, axes: Axes, below: float) -> None:
    """Above the outcomes, on the right; on a narrow page under the axis of time, which stands `below` the outcomes."""
    more: dict[str, Any] = {"ncols": 3, "columnspacing": 1.2, **KEY}
    if page.wide > NARROW:
        axes.legend(loc="lower right", bbox_to_anchor=(1.005, 1.01), borderaxespad=0.3, **more)
        return
    where = (0.2 / page.wide, 1 - (box.top + box.high + below + 0.5) / page.tall)
    handles, labels = axes.get_legend_handles_labels()
    page.figure.legend(handles, labels, loc="upper left", bbox_to_anchor=where, **BARE, **more)


def mark_amended(axes: Axes, view: StudyView, told: Array, y: Array) -> None:
    """A ring around each outcome that was put right, and the trial's number."""
    rows = [number - 1 for number in view.amended if math.isfinite(told[number - 1])]
    if not rows:
        return
    axes.plot(told[rows], y[rows], **AMENDED, label="amended", zorder=5)
    for row in rows[:CROWD]:
        axes.annotate(
            str(row + 1), (told[row], y[row]), (6, 5), textcoords="offset points", fontsize=8.5, color=AMENDED["color"]
        )


def draw_lanes(page: StudyPage, box: Box, above: Axes, lanes: Sequence[tuple[str, Array]], unit: float) -> Axes:
    """A lane for each kind of trial without an outcome, under the outcomes and on the same axis of time."""
    axes = page.axes(box.left, box.top + box.high + AIR, box.wide, LANE * len(lanes))
    low, high = above.get_xlim()
    for row, (name, times) in enumerate(lanes):
        if len(times) > CROWD:
            draw_density(axes, times / unit, low, high, -row - 0.42, -row + 0.42, axes.transData)
        else:
            axes.plot(times / unit, np.full(len(times), -row), **LANES[name], zorder=4)
    axes.set_ylim(-len(lanes) + 0.5, 0.5)
    names = [name_lane(*lane) for lane in lanes]
    size = 9.5 * min(1.0, 11 / max(map(len, names)))
    axes.set_yticks([-row for row in range(len(lanes))], names, fontsize=size)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(low, high)
    axes.set_facecolor("#F6F6F6")
    axes.spines["left"].set_visible(False)
    return axes


def name_lane(name: str, times: Array) -> str:
    """A crowd says how many it has."""
    return f"{len(times)} {name}" if len(times) > CROWD else name


def name_rounds(view: StudyView) -> str:
    """What the axis counts, where it does not show the time."""
    if not view.by_clock:
        return "round"
    if not view.has_calendar:
        return "trial (times, too far apart)"
    first, last = (format_date(at) for at in (view.start, view.start + view.seconds))
    return f"trial (on {first})" if first == last else f"trial (dates, too far apart: {first} to {last})"


def format_date(at: float) -> str:
    when = datetime.fromtimestamp(at)
    return f"{when.day} {when:%b %Y}"


def format_start(view: StudyView) -> str:
    """When the first query was asked, as text."""
    if not view.has_calendar:
        return "the first query"
    return f"{format_date(view.start)}, {datetime.fromtimestamp(view.start):%H:%M}"
