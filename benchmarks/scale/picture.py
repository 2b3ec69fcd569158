"""One picture: what an ask costs as trials grow, both on logarithmic scales, a panel for each world."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from belated.plotting.style import (
    DPI,
    SOFT,
    THREAD,
    label_powers,
    make_page,
    push_apart,
    save_page,
    use_style,
    write_headline,
)
from benchmarks.scale.kept import ENTRANTS, ScaleRow
from benchmarks.scale.report import TITLES, add_amortised
from benchmarks.scale.worlds import WORLDS

COLOURS = dict(zip(ENTRANTS, ("#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#CC79A7", "#6F6F6F"), strict=True))
GAP = 0.36  # of a power of ten, between two labels


def draw(rows: Sequence[ScaleRow], path: Path) -> None:
    """Each entrant's line, as far as it went, with its name at its end."""
    with use_style():
        page = make_page(12.5, 7.6)
        panels = page.subplots(2, 2, sharex=True, sharey=True)
        for axes, world in zip(panels.flat, WORLDS, strict=True):
            lines = {entrant: find_curve(rows, world, entrant) for entrant in ENTRANTS}
            lines = {entrant: curve for entrant, curve in lines.items() if curve}
            for entrant, curve in lines.items():
                own = entrant == "belated"
                axes.plot(*zip(*curve, strict=True), "o-", color=COLOURS[entrant], linewidth=2.6 if own else 1.5)
            ends = sorted(lines, key=lambda entrant: lines[entrant][-1][1])
            heights = push_apart([math.log10(lines[entrant][-1][1]) for entrant in ends], GAP, -9.0)
            right = max((curve[-1][0] for curve in lines.values()), default=1.0)
            for entrant, height in zip(ends, heights, strict=True):
                at = {"xy": lines[entrant][-1], "xytext": (right * 1.6, 10**height), "textcoords": "data"}
                thread = THREAD | {"color": COLOURS[entrant], "linestyle": ":"}  # nothing was measured along it
                axes.annotate(entrant, **at, color=COLOURS[entrant], fontsize=9, va="center", arrowprops=thread)
            axes.set(xscale="log", yscale="log")
            axes.set_xlim(600, 20 * max((row.n for row in rows), default=1000))
            for axis in (axes.xaxis, axes.yaxis):
                label_powers(axis)
            axes.grid(alpha=0.25)
            colour = "#1F1F1F" if lines else SOFT
            write_headline(axes, TITLES[world], "CPU ms of an ask, with its share of fits", colour)
        for axes in panels[1]:
            axes.set_xlabel("trials")
        page.subplots_adjust(left=0.06, right=0.98, bottom=0.08, top=0.9, hspace=0.32, wspace=0.08)
        path.parent.mkdir(parents=True, exist_ok=True)
        save_page(page, path, DPI)


def find_curve(rows: Sequence[ScaleRow], world: str, entrant: str) -> list[tuple[float, float]]:
    """(n, amortised ms), as far as it was reached."""
    curve = []
    for n in sorted({row.n for row in rows}):
        own = [row for row in rows if (row.world, row.n, row.entrant) == (world, n, entrant) and row.reached]
        cells = add_amortised({row.measure: row.value for row in own}, n)
        if "amortised ms" in cells:
            curve.append((float(n), cells["amortised ms"]))
    return curve
