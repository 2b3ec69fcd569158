"""A panel as a picture: the mean of every curve with standard errors, as the paper draws it.

Colour says what silence means to an algorithm, the line how it chooses, in every panel alike. Where the panel compares
one algorithm with itself, shades tell its curves apart. Names stand at the ends of the lines. The first reading of the
paper has the large axes, and each other reading small ones, with one scale for all; the authors' published results,
where there are any, are bands behind each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from belated.learner.algorithms import find_algorithm
from belated.learner.arrays import Array
from belated.plotting.style import COLOUR, render_png, use_style
from belated.wording import format_count
from reproduction.curves import PUBLISHED, Series
from reproduction.panels import Panel, PanelCurve
from reproduction.report.layout import BAND, LineEnd, LineStyle, MeanCurve, average_runs, finish_axes, make_leading_page
from reproduction.report.verdicts import FIRST_COUNTED, JudgedPanel, select_measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHADES = ("#EE9A5F", "#C75300", "#5A2600")  # of the floor's colour, from light to dark
MARKS = "o^DvsP"  # of shades, in turn
DOTS: dict[str, Any] = {"linewidth": 1.0, "linestyle": (0, (1, 1.6)), "alpha": 0.8}
EVERY = 10  # iterations from one error bar to the next, for each hundred


def choose_styles(panel: Panel) -> dict[str, LineStyle]:
    """The styles of every curve of a panel, by its key."""
    if len({(curve.algorithm, curve.silence) for curve in panel.curves}) == 1:
        return {curve.key: _style_by_shade(i, len(panel.curves)) for i, curve in enumerate(panel.curves)}
    return {curve.key: _style_by_silence(curve) for curve in panel.curves}


def _style_by_silence(curve: PanelCurve) -> LineStyle:
    implied = find_algorithm(curve.algorithm).implied.silence
    silence = curve.silence or ("unknown" if implied is None else implied.name)
    thompson, default = "TS" in curve.algorithm, curve.algorithm == "default"
    mark = "D" if default else "s" if thompson else "o"
    return LineStyle(COLOUR[silence], mark, thompson, default or curve.algorithm.endswith("SDF"))


def _style_by_shade(i: int, n: int) -> LineStyle:
    """The i-th of n shades from light to dark."""
    ends = np.array([[int(shade[c : c + 2], 16) for c in (1, 3, 5)] for shade in SHADES], dtype=float)
    at = i / max(n - 1, 1) * (len(SHADES) - 1)
    rgb = [round(float(np.interp(at, range(len(SHADES)), ends[:, c]))) for c in range(3)]
    return LineStyle("#" + "".join(f"{value:02X}" for value in rgb), MARKS[i % len(MARKS)], False, False)


def _average_lines(panel: Panel, lines: Mapping[str, Series]) -> dict[str, MeanCurve]:
    return {
        key: average_runs(line.iterations.astype(float), select_measure(panel, line)) for key, line in lines.items()
    }


# The whole ----------------------------------------------------------------------------------------------------------


def draw_panel(judged: JudgedPanel, title: str, note: str = "") -> bytes:
    """The panel as a PNG: large axes for the first reading that was run, small ones for the others."""
    panel = judged.panel
    readings = {reading: _average_lines(panel, judged.lines[reading]) for reading in judged.readings}
    published = _average_lines(panel, judged.lines.get(PUBLISHED, {}))
    limits = choose_limits(panel, [line for lines in (*readings.values(), published) for line in lines.values()])
    several = len(panel.readings) > 1
    with use_style():
        page, leading, small = make_leading_page(title, len(readings) - 1, room_for_note=bool(note))
        for axes, (reading, lines) in zip((leading, *small), readings.items(), strict=True):
            axes.set_ylim(*limits)
            ends = draw_lines(axes, panel, lines, published)
            words = f"reading: {reading}; " if several else ""
            if axes is leading:
                words += _describe_runs(lines) + ("; dotted, with bands: published" if published else "")
                finish_axes(axes, "iteration", panel.ylabel, words, ends, note)
            else:
                axes.tick_params(labelleft=axes is small[0])
                finish_axes(axes, "iteration", panel.ylabel if axes is small[0] else "", words + _count_runs(lines))
        return render_png(page)


def draw_lines(
    axes: Axes, panel: Panel, lines: Mapping[str, MeanCurve], published: Mapping[str, MeanCurve]
) -> list[LineEnd]:
    """The curves of one reading, over the published bands; their ends, from the lowest up."""
    styles = choose_styles(panel)
    for key, band in published.items():
        settled = band.iterations >= FIRST_COUNTED  # earlier not every published run has heard anything
        x, low, high = (v[settled] for v in (band.iterations, band.mean - band.error, band.mean + band.error))
        axes.fill_between(x, low, high, color=styles[key].colour, **BAND, zorder=1)
        axes.plot(x, band.mean[settled], color=styles[key].colour, **DOTS, zorder=2)
    last = max(float(line.iterations[-1]) for line in lines.values())
    ranked = sorted(lines, key=lambda key: float(lines[key].mean[-1]))
    for place, key in enumerate(ranked):
        line, front = lines[key], 4 - 0.01 * place + styles[key].bold
        axes.plot(line.iterations, line.mean, **styles[key].line, zorder=front)
        at = place_error_bars(line.iterations, place)
        error = None if line.runs == 1 else line.error[at]
        axes.errorbar(line.iterations[at], line.mean[at], error, **styles[key].marks, zorder=front + 0.005)
    axes.set_xlim(0, 1.015 * last)
    return [LineEnd(panel.find_curve(key).label, float(lines[key].mean[-1]), styles[key]) for key in ranked]


def compute_bar_step(last: float) -> int:
    """Iterations from one error bar to the next."""
    return EVERY * max(1, round(last / 100))


def place_error_bars(iterations: Array, place: int) -> list[int]:
    """Where a curve has its error bars: each line at its own iterations, so that no bar hides another."""
    step = compute_bar_step(float(iterations[-1]))
    wanted = np.arange(step, iterations[-1] + 1, step) - place * step / 10
    return sorted({int(np.argmin(np.abs(iterations - at))) for at in wanted if at >= iterations[0]})


def choose_limits(panel: Panel, lines: Sequence[MeanCurve]) -> tuple[float, float]:
    """The limits of the y-axis: from iteration 10 on everything is inside. Until something is heard regret is that of
    the floor, far above the rest; there a curve comes in from the top."""
    counted = [line.iterations >= min(FIRST_COUNTED, line.iterations[-1]) for line in lines]
    high = max(float(np.max((line.mean + line.error)[at])) for line, at in zip(lines, counted, strict=True))
    low = min(float(np.min((line.mean - line.error)[at])) for line, at in zip(lines, counted, strict=True))
    if panel.measure == "cumulative" or low <= 0.4 * high:
        return 0.0, 1.06 * high or 1.0
    room = 0.08 * (high - low) or 0.05 * high
    return low - room, high + room


def _describe_runs(lines: Mapping[str, MeanCurve]) -> str:
    counted = _count_runs(lines)
    if counted == "1 run":
        return counted
    step = compute_bar_step(max(float(line.iterations[-1]) for line in lines.values()))
    return f"mean of {counted} ± standard error every {step}"


def _count_runs(lines: Mapping[str, MeanCurve]) -> str:
    runs = sorted({line.runs for line in lines.values()})
    return format_count(runs[0], "run") if len(runs) == 1 else f"{runs[0]} to {runs[-1]} runs"
