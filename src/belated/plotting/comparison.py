"""The picture of a comparison: the last regret of every candidate on the left, the curves of some on the right.

The colour says what silence means to a candidate, the mark how it chooses.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from belated.comparison.result import CAVEAT, ComparisonResult, ComparisonRow
from belated.comparison.statistics import summarize_curves
from belated.plotting.style import (
    BARE,
    COLOUR,
    FAINT,
    INK,
    KEY,
    SOFT,
    make_page,
    push_apart,
    save_page,
    use_style,
    write_headline,
)
from belated.wording import format_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OTHER = "#8A8A8A"  # a silence that a user wrote
WIDTH, LEFT = 12.0, 0.62
NAMES, ENDS = 2.85, 3.5  # inches: the left edge and the width of the axes of the ends
CURVES, RIGHT = 8.1, 10.25  # left and right edge of the other axes
ABOVE, ROW, LABEL, LINE = 1.62, 0.235, 0.62, 0.19  # from top to bottom; a line of words
LEAST = 8  # the axes have room for at least this many rows
SHOWN = 6  # curves at most
BARS = 10  # error bars of a curve at most


def draw_comparison(compared: ComparisonResult, name: str, out: Path, dpi: int = 150) -> None:
    """Write the picture; the ending of the file name (FORMATS) says in which format."""
    lines = [line for text in (compared.answer, f"{compared.world} {CAVEAT}") for line in textwrap.wrap(text, 158)]
    high = ROW * max(len(compared.rows), LEAST)
    tall = ABOVE + high + LABEL + 0.35 + LINE * len(lines) + 0.25
    with use_style():
        figure = make_page(WIDTH, tall)
        title = f"{name}: which settings would have served it best" if name else "Which settings would have served best"
        figure.text(LEFT / WIDTH, 1 - 0.42 / tall, title, fontsize=17, weight="bold", va="center")
        draw_legend(figure, compared, tall)
        bottom, share = 1 - (ABOVE + high) / tall, high / tall
        draw_final_regrets(figure.add_axes((NAMES / WIDTH, bottom, ENDS / WIDTH, share)), compared, high)
        draw_curves(figure.add_axes((CURVES / WIDTH, bottom, (RIGHT - CURVES) / WIDTH, share)), compared, high)
        words: dict[str, Any] = {"color": SOFT, "va": "top", "linespacing": 1.45, "fontsize": 9.5}
        figure.text(LEFT / WIDTH, bottom - (LABEL + 0.2) / tall, "\n".join(lines), **words)
        save_page(figure, out, dpi)


def choose_marks(row: ComparisonRow) -> tuple[str, dict[str, Any]]:
    """The colour and the mark of a candidate: UCB a dot, Thompson an open square, the default a diamond."""
    colour, thompson, default = COLOUR.get(row.silence, OTHER), "TS" in row.algorithm, row.algorithm == "default"
    mark = {"marker": "D" if default else "s" if thompson else "o", "markersize": 5.4 if default else 5.0}
    return colour, {**mark, "color": colour, "markerfacecolor": "white" if thompson else colour}


def draw_legend(figure: Figure, compared: ComparisonResult, tall: float) -> None:
    """What colours and marks mean, in a row under the title."""
    from matplotlib.lines import Line2D

    silences = list(dict.fromkeys(row.silence for row in compared.rows))
    lines = [
        Line2D([], [], color=COLOUR.get(name, OTHER), linewidth=5, label=f"silence: {name}" if not i else name)
        for i, name in enumerate(silences)
    ]
    marks: dict[str, Any] = {"linestyle": "none", "color": INK, "markersize": 5}
    kinds = [("UCB", "o", INK), ("Thompson", "s", "white"), ("default", "D", INK)]
    figure.legend(
        handles=[*lines, *(Line2D([], [], marker=m, markerfacecolor=c, label=n, **marks) for n, m, c in kinds)],
        loc="center left",
        bbox_to_anchor=(LEFT / WIDTH, 1 - 0.8 / tall),
        ncols=len(lines) + len(kinds),
        columnspacing=1.4,
        **KEY,
        **BARE,
    )


def draw_final_regrets(axes: Axes, compared: ComparisonResult, high: float) -> None:
    """Regret after the last round: every seed faintly, the mean with its standard error; a line at the study's own."""
    rows, n = compared.rows, compared.seeds
    limit = 1.12 * max(row.ends(compared.measure).mean + _find_error(row, compared) for row in rows) or 1.0
    for i, row in enumerate(rows):
        colour, mark = choose_marks(row)
        values = row.last(compared.measure)
        inside = values[values <= limit]
        axes.plot(inside, np.full(len(inside), i), "|", color=colour, alpha=0.45, markersize=6, zorder=2)
        end = row.ends(compared.measure)
        axes.errorbar(end.mean, i, xerr=_find_error(row, compared) or None, **mark, elinewidth=1.5, zorder=4)
        weight = "bold" if row.own or (row is compared.best and not compared.tied) else "normal"
        name: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 9.5, "weight": weight}
        beside: dict[str, Any] = {"xy": (0, i), "xycoords": ("axes fraction", "data"), "annotation_clip": False}
        inch = 72.0
        axes.annotate(_format_name(row), xytext=((LEFT - NAMES) * inch, 0), color=colour, **name, **beside)
        axes.annotate(_format_patience(row), xytext=(-0.12 * inch, 0), ha="right", color=SOFT, **name, **beside)
        p = "the study's" if row.own else f"{row.p:.2g}"
        axes.annotate(p, xytext=((ENDS + 0.12) * inch, 0), color=INK if row.own else SOFT, **name, **beside)
    own = compared.own.ends(compared.measure).mean
    axes.axvline(own, color=INK, linewidth=0.9, linestyle=(0, (1, 1.6)), zorder=1)
    axes.set_xlim(0, limit)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
    axes.set_xlabel(f"after {format_count(compared.rounds, 'round')}", labelpad=2)
    bars = "" if n == 1 else "mean ± standard error; "
    write_headline(
        axes, f"Where they end: {compared.measure} regret, {format_count(n, 'seed')}", f"{bars}dotted: the study's"
    )
    above = 1 + 9 / 72 / high
    axes.annotate("p", xy=(1, above), xytext=(0.12 * 72, 0), xycoords="axes fraction", textcoords="offset points",
                  fontsize=9.5, color=SOFT)  # fmt: skip


def _format_name(row: ComparisonRow) -> str:
    return (
        f"{row.algorithm}, {row.silence}" if row.candidate.settings.algorithm.implied.silence is None else row.algorithm
    )


def _format_patience(row: ComparisonRow) -> str:
    return "" if row.patience == "none" else row.patience


def _find_error(row: ComparisonRow, compared: ComparisonResult) -> float:
    return 0.0 if compared.seeds == 1 else row.ends(compared.measure).error


def draw_curves(axes: Axes, compared: ComparisonResult, high: float) -> None:
    """Regret by round: of the best, of the study's own settings, and of the best of every other silence."""
    rows = choose_rows(compared)
    T = compared.rounds
    rounds = np.arange(1.0, T + 1)
    tops = []
    for place, row in enumerate(rows):
        colour, mark = choose_marks(row)
        line = summarize_curves(row.simple if compared.measure == "simple" else row.cumulative)
        bold = row.own or (row is compared.best and not compared.tied)
        style: dict[str, Any] = {
            "color": colour,
            "linewidth": 2.4 if bold else 1.3,
            "linestyle": (0, (4, 2)) if row.own else "-",
        }
        axes.plot(rounds, line.mean, **style, zorder=4 - 0.01 * place + bold)
        at = np.unique(np.linspace(0, T - 1, min(T, BARS), dtype=int))[1:]
        error = None if compared.seeds == 1 else line.error[at]
        axes.errorbar(rounds[at], line.mean[at], error, **mark, linestyle="none", elinewidth=1.0, zorder=5 + bold)
        tops.append(float(np.max(line.mean)))
    axes.set_xlim(0, 1.02 * T)
    axes.set_ylim(0, 1.05 * max(tops) or 1.0)
    least = [float(row.ends(compared.measure).mean) for row in rows if row.ends(compared.measure).mean > 0]
    if compared.measure == "simple" and least and min(least) < 0.05 * max(tops):
        axes.set_yscale("symlog", linthresh=max(min(least), 1e-4 * max(tops)), linscale=0.5)
        axes.set_yticks([], minor=True)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_xlabel("queries asked", labelpad=2)
    write_headline(axes, "How they went", "the best, the study's (dashed), other silences")
    label_ends(axes, compared, rows, high)


def choose_rows(compared: ComparisonResult) -> list[ComparisonRow]:
    """The rows whose curves are drawn, the best first."""
    chosen = [compared.best, compared.own]
    for row in compared.rows:
        if row.silence not in {other.silence for other in chosen}:
            chosen.append(row)
    return [row for row in compared.rows if any(row is other for other in chosen[:SHOWN])]


def label_ends(axes: Axes, compared: ComparisonResult, rows: list[ComparisonRow], high: float) -> None:
    """Each line's name to the right of its end, pushed apart so that none covers another."""
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [float(to_axes.transform((0, row.ends(compared.measure).mean))[1]) for row in rows]
    for row, end, y in zip(rows, heights, push_apart(heights, 0.36 / high, 0.02), strict=True):
        colour = choose_marks(row)[0]
        axes.annotate(
            "\n".join(filter(None, [_format_name(row), _format_patience(row)])),
            xy=(1.005, end),
            xytext=(1.07, y),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=9,
            linespacing=1.15,
            color=colour,
            weight="bold" if row.own or (row is compared.best and not compared.tied) else "normal",
            arrowprops={"arrowstyle": "-", "linewidth": 0.7, "relpos": (0, 0.5), "color": colour},
            annotation_clip=False,
        )
