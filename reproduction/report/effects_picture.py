"""All effects in one picture: SDF against its baselines, panel by panel and pooled, with 95 % intervals.

A row for every comparison, its interval in the colour of the baseline; a diamond for what is pooled over a group, from
one end of its interval to the other. Intervals that leave the picture end in an arrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from belated.plotting.style import COLOUR, FAINT, INK, SOFT, make_page, render_png, use_style
from reproduction.report.formatting import format_percentage
from reproduction.report.naming import format_short_name
from reproduction.report.pooling import (
    BASELINES,
    GROUPS,
    POOLS,
    SIMPLE,
    Baseline,
    Effect,
    find_family,
    pool_effects,
    select_pool,
)
from reproduction.report.verdicts import JudgedPanel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: dict[Baseline, str] = {"ignoring": COLOUR["ignored"], "hallucinating": COLOUR["unknown"]}
WIDTH, ROW, LEFT, RIGHT, TOP, BOTTOM = 7.7, 0.185, 1.82, 1.55, 0.95, 0.5  # inches
LIMIT = 110.0  # per cent: the picture goes no further to either side


class EffectRow(NamedTuple):
    """A line of the picture: a heading, a comparison in one panel, or a pooled effect."""

    label: str
    effect: Effect | None = None
    pooled: bool = False


def list_rows(judged: Sequence[JudgedPanel], reading: str) -> list[EffectRow]:
    """From the top down; groups without runs are left out."""
    rows: list[EffectRow] = []
    for name, panels in GROUPS.items():
        group = select_pool(judged, panels)
        found = [row for panel in group for row in _list_effects([panel], reading)]
        if found:
            rows += [EffectRow(name), *found, *_list_effects(group, reading)]
    return [*rows, *_list_overall(judged, reading)]


def _list_overall(judged: Sequence[JudgedPanel], reading: str) -> list[EffectRow]:
    found = _list_effects(select_pool(judged, POOLS[SIMPLE]), reading)
    return [EffectRow(SIMPLE), *found] if found else []


def _list_effects(group: Sequence[JudgedPanel], reading: str) -> list[EffectRow]:
    """The effects of one panel, or of several together."""
    effects = [effect for baseline in BASELINES if (effect := pool_effects(group, reading, baseline))]
    pooled = len(group) > 1
    return [EffectRow(_name_row(group, effect), effect, pooled) for effect in effects]


def _name_row(group: Sequence[JudgedPanel], effect: Effect) -> str:
    if len(group) > 1:
        return f"pooled, {effect.baseline}"
    baseline = find_family(group[0].panel)[1 + BASELINES.index(effect.baseline)]
    return f"{format_short_name(group[0].panel)}, {baseline}"


# Drawing ------------------------------------------------------------------------------------------------------------


def draw_effects(judged: Sequence[JudgedPanel], reading: str) -> bytes:
    """The picture as a PNG."""
    rows = list_rows(judged, reading)
    height = TOP + ROW * (len(rows) + 1) + BOTTOM
    limits = choose_limits([row.effect for row in rows if row.effect is not None])
    with use_style():
        page = make_page(WIDTH, height)
        frame = LEFT / WIDTH, BOTTOM / height, (WIDTH - LEFT - RIGHT) / WIDTH, 1 - (TOP + BOTTOM) / height
        axes = page.add_axes(frame)
        _set_up_axes(axes, limits, len(rows))
        for place, row in enumerate(rows):
            _write_row(axes, row, place)
            if row.effect is not None:
                _draw_effect(axes, row.effect, place, limits, pooled=row.pooled)
        _write_heading(page, height, f"reading: {reading}; diamonds: pooled")
        return render_png(page)


def choose_limits(effects: Sequence[Effect]) -> tuple[float, float]:
    """Per cent, to both sides of 0: all intervals are inside as far as LIMIT allows."""
    shown = [end for effect in effects for end in find_ends(effect)]
    return max(-LIMIT, 1.05 * min([*shown, -10.0])), min(LIMIT, 1.05 * max([*shown, 10.0]))


def find_ends(effect: Effect) -> tuple[float, float]:
    """The interval in per cent; the mean itself where a single seed has none."""
    mean, interval = effect.mean.mean, effect.interval
    return (100 * interval.low, 100 * interval.high) if interval.is_known else (100 * mean, 100 * mean)


def _set_up_axes(axes: Axes, limits: tuple[float, float], rows: int) -> None:
    axes.set_xlim(*limits)
    axes.set_ylim(rows, -1)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
    axes.axvline(0, color=INK, linewidth=1.0, zorder=2)
    axes.set_xlabel("SDF minus baseline, in % of the baseline's regret", labelpad=2)
    for offset, words, side in ((-6, "SDF better", "right"), (6, "baseline better", "left")):
        place: dict[str, Any] = {"xycoords": axes.get_xaxis_transform(), "textcoords": "offset points", "ha": side}
        axes.annotate(words, xy=(0, 1), xytext=(offset, 4), va="bottom", fontsize=9, color=SOFT, **place)


def _write_row(axes: Axes, row: EffectRow, place: int) -> None:
    """The name of a row on the left, its numbers on the right."""
    beside: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points", "va": "center"}
    heading = row.effect is None
    indent = -72 * LEFT + (9 if heading else 20)
    weight = "bold" if heading or row.pooled else "normal"
    colour = INK if row.effect is None else COLOURS[row.effect.baseline]
    axes.annotate(row.label, xy=(0, place), xytext=(indent, 0), fontsize=9, weight=weight, color=colour, **beside)
    if row.effect is not None:
        numbers = format_percentage(row.effect.mean.mean, row.effect.interval)
        edge = 72 * RIGHT - 9
        axes.annotate(
            numbers, xy=(1, place), xytext=(edge, 0), ha="right", fontsize=8.5, weight=weight, color=colour, **beside
        )


def _draw_effect(axes: Axes, effect: Effect, place: int, limits: tuple[float, float], *, pooled: bool) -> None:
    """A mark with its interval, or a diamond as wide as the interval."""
    colour, mean = COLOURS[effect.baseline], 100 * effect.mean.mean
    ends = find_ends(effect)
    low, high = (min(max(end, limits[0]), limits[1]) for end in ends)  # an interval may reach out of the picture
    if pooled:
        axes.fill([low, mean, high, mean], [place, place - 0.36, place, place + 0.36], color=colour, zorder=4)
        return
    axes.plot([low, high], [place, place], color=colour, linewidth=1.6, zorder=3)
    axes.plot([mean], [place], "o", color=colour, markersize=4.6, zorder=4)
    for end, shown, mark in ((ends[0], low, "<"), (ends[1], high, ">")):
        if end != shown:
            axes.plot([shown], [place], mark, color=colour, markersize=4.6, zorder=4, clip_on=False)


def _write_heading(page: Figure, height: float, words: str) -> None:
    """The title, and what the colours stand for."""
    left = 9 / 72 / WIDTH
    page.text(
        left, 1 - 0.27 / height, "SDF against its baselines, 95 % intervals", fontsize=13, weight="bold", va="center"
    )
    page.text(1 - left, 1 - 0.27 / height, words, fontsize=9, color=SOFT, va="center", ha="right")
    lines: dict[Baseline, str] = {
        "ignoring": "against ignoring what is pending",
        "hallucinating": "against hallucinating it",
    }
    for x, (baseline, line) in zip((left, 0.36), lines.items(), strict=True):
        page.text(x, 1 - 0.55 / height, line, fontsize=9.5, weight="bold", color=COLOURS[baseline], va="center")
