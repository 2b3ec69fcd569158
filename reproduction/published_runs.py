"""The SVM runs that the authors released, as one more reading of Fig. 2a-d: "published"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from reproduction.csv_files import read_csv
from reproduction.curves import PUBLISHED, CurveKey, CurveRun, Curves, group_runs

TITLES = ("policy", "method", "delay", "run", "iteration", "val_error")
PANELS_BY_SETTING = {  # by policy and delay
    ("ucb", "poisson_mu10_m20"): "fig2a",
    ("ucb", "fixed_10"): "fig2b",
    ("ts", "poisson_mu10_m20"): "fig2c",
    ("ts", "fixed_10"): "fig2d",
}
REGRET_BEFORE_OUTCOMES = 1.0  # the best accuracy, 1, minus the floor, 0
LAST_ITERATION = 100  # in the paper's figures; the file has one more


def read_published_runs(path: Path) -> Curves:
    """The runs in `svm_reference_runs.csv`."""
    runs: dict[tuple[CurveKey, int], dict[int, float]] = {}
    for row in read_csv(path, TITLES):
        iteration = row.parse_integer("iteration")
        if iteration > LAST_ITERATION:
            continue
        panel = PANELS_BY_SETTING.get((row.parse_text("policy"), row.parse_text("delay")))
        if panel is None:
            raise row.make_error(f"no panel shows {row.parse_text('policy')} under {row.parse_text('delay')}")
        run = runs.setdefault((CurveKey(panel, row.parse_text("method"), PUBLISHED), row.parse_integer("run")), {})
        error = row.parse_number("val_error")  # above 1: nothing had arrived yet
        run[iteration] = REGRET_BEFORE_OUTCOMES if error > 1 else error
    return group_runs(_make_run(key, number, simple) for (key, number), simple in runs.items())


def _make_run(key: CurveKey, number: int, simple: Mapping[int, float]) -> CurveRun:
    """A run with this simple regret by iteration."""
    iterations = sorted(simple)
    unknown = np.full(len(iterations), math.nan)
    return CurveRun(
        key=key,
        seed=number,
        iterations=np.array(iterations, dtype=np.int64),
        simple=np.array([simple[i] for i in iterations]),
        late=unknown,
        cumulative=unknown,
    )
