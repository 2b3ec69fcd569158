"""The picture of the demo: regret by round on the left, two beliefs in the middle of a run on the right.

The colour says what silence means to an algorithm, the line how it chooses.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from belated.comparison.demo import MEANING, BeliefSnapshot, DemoResult, MethodResult, describe_seeds
from belated.learner.arrays import Array
from belated.plotting.style import (
    BAND,
    BARE,
    COLOUR,
    FAINT,
    INK,
    KEY,
    MEAN,
    OPEN,
    SOFT,
    THREAD,
    make_page,
    push_apart,
    save_page,
    use_style,
    write_headline,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 12.0, 7.2  # inches
LEFT, RIGHT, BOTTOM, TOP = 0.055, 0.985, 0.23, 0.79  # of the panels, as shares of width and height
LEGEND, CONCLUSION = 0.165, 0.107  # tops of the rows below them
TRUTH: dict[str, Any] = {"color": INK, "linewidth": 1.1, "linestyle": (0, (1, 1.3))}
HEARD: dict[str, Any] = {"linestyle": "none", "marker": "o", "color": INK, "markersize": 4.6}
PENDING: dict[str, Any] = {**OPEN, "linestyle": "none", "marker": "v", "markersize": 8.5}
EVERY = 10  # rounds from one error bar to the next
LINEAR_BELOW = 1e-3  # regret is on a log scale down to here, and linear from here to 0, which a log scale cannot show


def draw_demo(result: DemoResult, out: Path, dpi: int = 150) -> None:
    """Write the picture; the ending of the file name (FORMATS) says in which format."""
    with use_style():
        page = make_page(WIDTH, HEIGHT)
        draw_regrets(page, result)
        draw_beliefs(page, result)
        write_words(page, result)
        save_page(page, out, dpi)


def write_words(figure: Figure, result: DemoResult) -> None:
    """What it shows above, and what the numbers say below."""
    problem = result.problem
    setting = (
        f"f ~ GP(SE, lengthscale {problem.lengthscale:g}) on {problem.points} points, scaled to [0, 1]. "
        f"Outcomes: noise {problem.noise:g}, Poisson({problem.mean_delay:g}) rounds late; "
        f"patience {problem.patience} (the four baselines have none)."
    )
    figure.text(LEFT, 0.957, "Optimising while outcomes are late", fontsize=17, weight="bold", va="center")
    figure.text(LEFT, 0.908, setting, color=SOFT, va="center", fontsize=10)
    conclusion = textwrap.fill(result.conclusion, 154)
    figure.text(LEFT, CONCLUSION, conclusion, color=SOFT, va="top", linespacing=1.5, fontsize=10)


# Regret -------------------------------------------------------------------------------------------------------------


def draw_regrets(figure: Figure, result: DemoResult) -> None:
    """Simple regret by round: mean over seeds, standard errors every ten rounds, names at the ends of the lines."""
    axes = figure.add_axes((LEFT, BOTTOM, 0.31, TOP - BOTTOM))
    T, n = result.problem.rounds, len(result.seeds)
    ranked = sorted(result.methods, key=lambda s: float(s.simple.mean[-1]))
    rounds = np.arange(1, T + 1)
    for place, drawn in enumerate(ranked):
        front = 3 - 0.01 * place
        line, marks = choose_look(drawn)
        mean, error = drawn.simple.mean, drawn.simple.error
        axes.plot(rounds, mean, **line, zorder=front)
        at = np.arange(EVERY - 1 - place % EVERY, T, EVERY)  # each line its own rounds, so that no bar hides another
        at = at if n == 1 else at[error[at] > 0]
        axes.errorbar(rounds[at], mean[at], None if n == 1 else error[at], **marks, zorder=front + 1)
    axes.set_yscale("symlog", linthresh=LINEAR_BELOW, linscale=0.45)
    axes.set_ylim(0, 1.06)
    axes.set_yticks([0, 0.001, 0.01, 0.1, 1], ["0", "0.001", "0.01", "0.1", "1"])
    axes.set_yticks([], minor=True)
    axes.set_xlim(0, 1.012 * T)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_xlabel("queries asked", labelpad=1)
    bars = "" if n == 1 else f"; bars: ± 1 standard error, every {EVERY} rounds"
    write_headline(axes, "Simple regret", describe_seeds(n) + bars)
    label_ends(axes, ranked)
    draw_legend(figure, axes, list_line_marks(), "left")


def list_line_marks() -> list[Artist]:
    """Colours by silence, marks by policy."""
    from matplotlib.lines import Line2D

    silences = [
        Line2D([], [], color=colour, linewidth=5, label=f"silence: {name}" if name == "floor" else name)
        for name, colour in ((name, COLOUR[name]) for name in MEANING)
    ]
    kinds = [("UCB", "o", INK), ("Thompson", "s", "white"), ("default", "D", INK)]
    marks: dict[str, Any] = {"linestyle": "none", "color": INK, "markersize": 5}
    policies = [Line2D([], [], marker=m, markerfacecolor=c, label=name, **marks) for name, m, c in kinds]
    return [*silences, *policies]


def choose_look(drawn: MethodResult) -> tuple[dict[str, Any], dict[str, Any]]:
    """How its line and its marks are drawn: UCB full with dots, Thompson dashed with open squares, the default bold."""
    name, colour = drawn.method.algorithm, COLOUR[drawn.method.silence]
    thompson, default = "TS" in name, name == "default"
    line = {"color": colour, "linewidth": 2.8 if default else 1.4, "linestyle": (0, (4, 2)) if thompson else "-"}
    marks = {
        "fmt": "D" if default else "s" if thompson else "o",
        "color": colour,
        "markersize": 5.5 if default else 4.2,
        "markerfacecolor": "white" if thompson else colour,
        "elinewidth": 1.6 if default else 0.9,
    }
    return line, marks


def label_ends(axes: Axes, ranked: list[MethodResult]) -> None:
    """Each line's name and last value to the right of its end, pushed apart so that none covers another."""
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = [float(to_axes.transform((0, s.simple.mean[-1]))[1]) for s in ranked]
    for y, end, drawn in zip(push_apart(ends, gap=0.056, low=0.012), ends, ranked, strict=True):
        colour = COLOUR[drawn.method.silence]
        axes.annotate(
            f"{drawn.method.label}  {drawn.simple.mean[-1]:.4f}",
            xy=(1.005, end),
            xytext=(1.055, y),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=9.8,
            color=colour,
            weight="bold" if drawn.method.algorithm == "default" else "normal",
            arrowprops={**THREAD, "color": colour},
            annotation_clip=False,
        )


# Beliefs ------------------------------------------------------------------------------------------------------------


def draw_beliefs(figure: Figure, result: DemoResult) -> None:
    """The default in mid-run, once for each meaning of silence that it was given, on one scale."""
    shown = [(m.method.silence, m.snapshot) for m in result.methods if m.snapshot is not None]
    f = result.problem.f(result.seeds[0])
    left, tall = 0.598, 0.225
    low = min(float(np.min(snapshot.mean - 2 * snapshot.std)) for _, snapshot in shown)
    high = max(float(np.max(snapshot.mean + 2 * snapshot.std)) for _, snapshot in shown)
    for (silence, snapshot), bottom in zip(shown, np.linspace(TOP - tall, BOTTOM, len(shown)), strict=True):
        axes = figure.add_axes((left, float(bottom), RIGHT - left, tall))
        draw_belief(
            axes, silence, snapshot, result.problem.x, f, f"default, seed {result.seeds[0]}, round {snapshot.number}"
        )
        axes.set_ylim(min(low, 0.0) - 0.08, max(high, 1.0) + 0.08)
    axes.set_xlabel("x", labelpad=1)
    draw_legend(figure, axes, list_belief_marks(), "right")


def draw_belief(axes: Axes, silence: str, snapshot: BeliefSnapshot, x: Array, f: Array, where: str) -> None:
    """One study in mid-run: f, what it believes, what it has heard, and what silence makes of the rest."""
    colour = COLOUR[silence]
    axes.fill_between(x, snapshot.mean - 2 * snapshot.std, snapshot.mean + 2 * snapshot.std, **BAND, color=colour)
    axes.plot(x, f, **TRUTH)
    axes.plot(x, snapshot.mean, **MEAN, color=colour)
    axes.plot(*snapshot.heard.T, **HEARD, clip_on=False, zorder=4)
    axes.plot(*snapshot.pending.T, **PENDING, markeredgecolor=colour, clip_on=False, zorder=5)
    axes.set_xlim(0, 1)
    axes.set_yticks([0, 0.5, 1])
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    value = "the floor" if silence == "floor" else "the mean"
    rest = f"{where}: {len(snapshot.heard)} heard; {len(snapshot.pending)} pending count as {value}"
    write_headline(axes, f'silence="{silence}": {MEANING[silence]}', rest, colour)


def list_belief_marks() -> list[Artist]:
    """The same marks for both silences, without their colours."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [
        Line2D([], [], **TRUTH, label="f"),
        Line2D([], [], **MEAN, color=SOFT, label="mean"),
        Patch(**BAND, color=SOFT, label="± 2 std"),
        Line2D([], [], **HEARD, label="heard"),
        Line2D([], [], **PENDING, markeredgecolor=SOFT, label="pending"),
    ]


def draw_legend(figure: Figure, axes: Axes, handles: list[Artist], corner: Literal["left", "right"]) -> None:
    """What colours and marks mean, in one row below the axes."""
    box = axes.get_position()
    axes.legend(
        handles=handles,
        loc="upper left" if corner == "left" else "upper right",
        bbox_to_anchor=(box.x0 if corner == "left" else box.x1, LEGEND),
        bbox_transform=figure.transFigure,
        ncols=len(handles),
        columnspacing=1.4,
        **KEY,
        **BARE,
    )
