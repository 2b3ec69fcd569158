"""One picture: what each day lacks to the best possible, a panel for each world."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from benchmarks.conversions.kept import Row
from benchmarks.conversions.standings import ByWorld, pick_peer
from benchmarks.regret.picture import DEFAULT, OURS, PEERS

COLUMNS = 3
REST = "#bbbbbb"


def regret_by_day(rows: Sequence[Row]) -> list[float]:
    """1 - share of each day, the mean over runs."""
    return [float(x) for x in 1 - np.mean([row.daily for row in rows], axis=0)]


def draw(found: ByWorld, own: Sequence[str], seeds: Collection[int], path: Path) -> None:
    """Ours are blue, the best of the others orange, everyone else grey, random dotted."""
    from matplotlib.figure import Figure

    lines = math.ceil(len(found) / COLUMNS)
    figure = Figure(figsize=(4 * COLUMNS, 0.6 + 2.6 * lines), layout="constrained")
    panels = figure.subplots(lines, COLUMNS, squeeze=False).flat
    shades = dict(zip(own, (DEFAULT, OURS), strict=False))
    for (world, everyone), panel in zip(found.items(), panels, strict=False):
        best = pick_peer(everyone, own, seeds)
        for name, runs in everyone.items():
            rows = [runs[seed] for seed in seeds if seed in runs]
            if not rows:
                continue
            front = name in own or name == best
            panel.plot(
                range(1, rows[0].days + 1),
                regret_by_day(rows),
                color=shades.get(name, DEFAULT) if name in own else PEERS if name == best else REST,
                linestyle=":" if name == "random" else "-",
                linewidth=1.8 if front else 0.9,
                zorder=3 if front else 2,
            )
        panel.set_title(f"{world}: {best}" if best else world, fontsize=9)
        panel.set_ylim(0, 1)
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.spines[["top", "right"]].set_visible(False)
    for panel in list(panels):  # those that no world needs
        panel.set_visible(False)
    figure.supxlabel("day", fontsize=10)
    figure.supylabel("regret of the day / the best", fontsize=10)
    keys = [*((name, shades.get(name, DEFAULT), "-") for name in own), ("the best of the others", PEERS, "-")]
    keys += [("the rest", REST, "-"), ("random", REST, ":")]
    axes = figure.axes[0]
    handles = [axes.plot([], [], color=shade, linestyle=style, label=label)[0] for label, shade, style in keys]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(keys), frameon=False, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
