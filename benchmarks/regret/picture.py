"""One picture: everyone's mean rank as bars, and every task's regrets as dots."""

from __future__ import annotations

import math
from collections.abc import Container
from pathlib import Path

import numpy as np

from benchmarks.regret.ranks import Cells, clipped, mean_rank
from benchmarks.regret.report import names
from benchmarks.regret.tasks import BEDS

DEFAULT, OURS, PEERS = "#08306b", "#6baed6", "#f16913"


def draw(found: Cells, own: Container[str], candidate: str, path: Path) -> None:
    """Ours are blue, the candidate dark; the peers orange."""
    from matplotlib.figure import Figure

    order = names(found)
    tasks = [task for task in BEDS if any(task == t for t, _ in found)]
    figure = Figure(figsize=(12, 0.8 + 0.36 * max(len(order), len(tasks))), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(2, 3))

    def colour(name: str) -> str:
        return DEFAULT if name == candidate else OURS if name in own else PEERS

    means = [mean_rank(found, name) for name in order]
    y = np.arange(len(order))
    errors = [0.0 if math.isnan(one.error) else one.error for one in means]
    left.barh(y, [one.mean for one in means], xerr=errors, color=[colour(name) for name in order], height=0.7)
    left.set_yticks(y, order)
    left.invert_yaxis()
    left.set_xlabel("mean rank over tasks and seeds (1 is best)")

    for i, task in enumerate(tasks):
        for name in order:
            logs = [math.log(clipped(runs[name]) / runs[name].spread) for (t, _), runs in found.items() if t == task]
            front = name == candidate
            right.plot(
                math.exp(float(np.mean(logs))),
                i,
                "o",
                color=colour(name),
                markersize=9 if front else 6,
                alpha=1.0 if front else 0.6,
                zorder=3 if front else 2,
            )
    right.set_xscale("log")
    right.set_yticks(range(len(tasks)), [f"{task} ({BEDS[task].family})" for task in tasks])
    right.invert_yaxis()
    right.grid(axis="x", alpha=0.3)
    right.set_xlabel("regret in standard deviations of f, geometric mean over seeds")
    for word, shade in ((candidate, DEFAULT), ("others of belated", OURS), ("peers", PEERS)):
        right.plot([], [], "o", color=shade, label=word)
    right.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False, fontsize=9)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
