"""A panel as a picture: the mean of every curve with standard errors, as the paper draws it.

Colour says what silence means to an algorithm, the line how it chooses, in every panel alike. Where the panel compares
one algorithm with itself, shades tell its curves apart. Names stand at the ends of the lines. Each reading of the paper
has axes of its own, with one scale for all; the authors' published results, where there are any, are bands behind each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from belated.comparison.statistics import summarize_curves
from belated.learner.algorithms import named
from belated.learner.arrays import Array
from belated.plotting.style import (
    COLOUR,
    FAINT,
    SOFT,
    THREAD,
    make_page,
    push_apart,
    render_png,
    use_style,
)
from reproduction.curves import PUBLISHED, Series
from reproduction.panels import Curve, Panel
from reproduction.verdicts import FROM, Judged, measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHADES = ("#EE9A5F", "#C75300", "#5A2600")  # of the floor's colour, from light to dark
MARKS = "o^DvsP"  # of shades, in turn
BAND: dict[str, Any] = {"alpha": 0.18, "linewidth": 0}
DOTS: dict[str, Any] = {"linewidth": 1.0, "linestyle": (0, (1, 1.6)), "alpha": 0.8}
EVERY = 10  # iterations from one error bar to the next, for each hundred
WIDTH, LEFT, AXES_WIDTH, AXES_HEIGHT = 7.7, 0.85, 4.9, 2.75  # inches
HEAD, ABOVE, NOTE, BELOW = 0.5, 0.3, 0.18, 0.6  # inches of the title, of the words above axes, of those below


@dataclass(frozen=True)
class Look:
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


def looks(panel: Panel) -> dict[str, Look]:
    """The look of every curve of a panel, by its key."""
    if len({(curve.algorithm, curve.silence) for curve in panel.curves}) == 1:
        return {curve.key: _shade(i, len(panel.curves)) for i, curve in enumerate(panel.curves)}
    return {curve.key: _look(curve) for curve in panel.curves}


def _look(curve: Curve) -> Look:
    implied = named(curve.algorithm).silence
    silence = curve.silence or ("unknown" if implied is None else str(implied.spec()["silence"]))
    thompson, default = "TS" in curve.algorithm, curve.algorithm == "default"
    mark = "D" if default else "s" if thompson else "o"
    return Look(COLOUR[silence], mark, thompson, default or curve.algorithm.endswith("SDF"))


def _shade(i: int, n: int) -> Look:
    """The i-th of n shades from light to dark."""
    ends = np.array([[int(shade[c : c + 2], 16) for c in (1, 3, 5)] for shade in SHADES], dtype=float)
    at = i / max(n - 1, 1) * (len(SHADES) - 1)
    rgb = [round(float(np.interp(at, range(len(SHADES)), ends[:, c]))) for c in range(3)]
    return Look("#" + "".join(f"{value:02X}" for value in rgb), MARKS[i % len(MARKS)], False, False)


@dataclass(frozen=True)
class Bundle:
    """Mean and standard error of a curve, by iteration; the error is 0 for a single run."""

    iterations: Array
    mean: Array
    error: Array
    runs: int


def bundle(iterations: Array, values: Array) -> Bundle:
    """Of runs × iterations."""
    summary = summarize_curves(values)
    return Bundle(iterations, summary.mean, np.nan_to_num(summary.error), len(values))


def _bundles(panel: Panel, lines: Mapping[str, Series]) -> dict[str, Bundle]:
    return {key: bundle(line.iterations.astype(float), measured(panel, line)) for key, line in lines.items()}


# The whole ----------------------------------------------------------------------------------------------------------


def draw(judged: Judged, title: str, note: str = "") -> bytes:
    """The panel as a PNG: one above the other, axes for every reading that was run."""
    panel = judged.panel
    readings = {reading: _bundles(panel, judged.lines[reading]) for reading in judged.ran}
    published = _bundles(panel, judged.lines.get(PUBLISHED, {}))
    limits = scale(panel, [line for lines in (*readings.values(), published) for line in lines.values()])
    above = ABOVE + (NOTE if note else 0.0)
    height = HEAD + len(readings) * (above + AXES_HEIGHT + BELOW)
    with use_style():
        page = make_page(WIDTH, height)
        headed(page, title, 1 - 0.5 * HEAD / height)
        for i, (reading, lines) in enumerate(readings.items()):
            bottom = height - HEAD - (i + 1) * (above + AXES_HEIGHT) - i * BELOW
            axes = page.add_axes((LEFT / WIDTH, bottom / height, AXES_WIDTH / WIDTH, AXES_HEIGHT / height))
            axes.set_ylim(*limits)
            show(axes, panel, lines, published)
            says = f"reading: {reading}; " if len(panel.readings) > 1 else ""
            caption(axes, says + _caption(lines) + ("; dotted, with bands: published" if published else ""), note)
        return render_png(page)


def headed(page: Figure, title: str, y: float) -> None:
    """The title, as large as fits on one line."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    words = page.text(LEFT / WIDTH, y, title, fontsize=13, weight="bold", va="center")
    width = words.get_window_extent(FigureCanvasAgg(page).get_renderer()).width / page.dpi  # type: ignore[no-untyped-call]
    words.set_fontsize(13 * min(1.0, (WIDTH - LEFT - 0.15) / width))


def show(axes: Axes, panel: Panel, lines: Mapping[str, Bundle], published: Mapping[str, Bundle]) -> None:
    """The curves of one reading, over the published bands."""
    look = looks(panel)
    for key, band in published.items():
        settled = band.iterations >= FROM  # earlier not every published run has heard anything
        x, low, high = (v[settled] for v in (band.iterations, band.mean - band.error, band.mean + band.error))
        axes.fill_between(x, low, high, color=look[key].colour, **BAND, zorder=1)
        axes.plot(x, band.mean[settled], color=look[key].colour, **DOTS, zorder=2)
    last = max(float(line.iterations[-1]) for line in lines.values())
    ranked = sorted(lines, key=lambda key: float(lines[key].mean[-1]))
    for place, key in enumerate(ranked):
        line, front = lines[key], 4 - 0.01 * place + look[key].bold
        axes.plot(line.iterations, line.mean, **look[key].line, zorder=front)
        at = barred(line.iterations, place)
        error = None if line.runs == 1 else line.error[at]
        axes.errorbar(line.iterations[at], line.mean[at], error, **look[key].marks, zorder=front + 0.005)
    axes.set_xlim(0, 1.015 * last)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_xlabel("iteration", labelpad=2)
    axes.set_ylabel(panel.ylabel, labelpad=4)
    name_the_ends(axes, [(panel.curve(key).label, float(lines[key].mean[-1]), look[key]) for key in ranked])


def spacing(last: float) -> int:
    """Iterations from one error bar to the next."""
    return EVERY * max(1, round(last / 100))


def barred(iterations: Array, place: int) -> list[int]:
    """Where a curve has its error bars: each line at its own iterations, so that no bar hides another."""
    step = spacing(float(iterations[-1]))
    wanted = np.arange(step, iterations[-1] + 1, step) - place * step / 10
    return sorted({int(np.argmin(np.abs(iterations - at))) for at in wanted if at >= iterations[0]})


def scale(panel: Panel, lines: Sequence[Bundle]) -> tuple[float, float]:
    """The limits of the y-axis: from iteration 10 on everything is inside. Until something is heard regret is that of
    the floor, far above the rest; there a curve comes in from the top."""
    counted = [line.iterations >= min(FROM, line.iterations[-1]) for line in lines]
    high = max(float(np.max((line.mean + line.error)[at])) for line, at in zip(lines, counted, strict=True))
    low = min(float(np.min((line.mean - line.error)[at])) for line, at in zip(lines, counted, strict=True))
    if panel.measure == "cumulative" or low <= 0.4 * high:
        return 0.0, 1.06 * high or 1.0
    room = 0.08 * (high - low) or 0.05 * high
    return low - room, high + room


def _caption(lines: Mapping[str, Bundle]) -> str:
    runs = sorted({line.runs for line in lines.values()})
    if runs == [1]:
        return "one run"
    step = spacing(max(float(line.iterations[-1]) for line in lines.values()))
    n = str(runs[0]) if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    return f"mean of {n} runs ± standard error every {step}"


def caption(axes: Axes, text: str, note: str) -> None:
    """A soft line or two above the axes, flush with them."""
    lines = f"{text}\n{note}" if note else text
    place: dict[str, Any] = {"xy": (0, 1), "xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
    axes.annotate(lines, xytext=(0, 8), fontsize=9, color=SOFT, linespacing=1.4, **place)


def name_the_ends(axes: Axes, ends: Sequence[tuple[str, float, Look]]) -> None:
    """Each line's name to the right of its end, from the lowest up, pushed apart so that none covers another."""
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [min(1.0, float(to_axes.transform((0, value))[1])) for _, value, _ in ends]
    gap = 0.068
    low = min(0.012, 1 - gap * (len(ends) - 1))
    placed = push_apart(heights, gap, low)
    over = max(0.0, placed[-1] - 1.0)  # more names than there is height below the topmost end
    for (label, _, look), end, y in zip(ends, heights, placed, strict=True):
        axes.annotate(
            label,
            xy=(1.004, end),
            xytext=(1.045, y - over),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=10,
            color=look.colour,
            weight="bold" if look.bold else "normal",
            arrowprops={**THREAD, "color": look.colour},
            annotation_clip=False,
        )


# Matplotlib ---------------------------------------------------------------------------------------------------------
