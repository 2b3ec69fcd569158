"""The authors' runs have the means that they published, and four of eight comparisons are significant."""

import math
import os
from pathlib import Path

import numpy as np
import pytest

from belated.comparison.statistics import compare_pairs, holm
from reproduction.curves import (
    PUBLISHED,
    CurveKey,
    read_curves,
    write_curves,
)
from reproduction.panels import FAMILIES
from reproduction.published_runs import PANELS_BY_SETTING, read_published_runs
from tests.reproduction.made_up_curves import are_same
from tests.reproduction.needs_data import needs_data


@needs_data("svm_reference_runs.csv", "svm_reference.csv")
def test_the_published_runs_have_the_published_means(tmp_path: Path) -> None:
    folder = Path(os.environ["BELATED_DATA"])
    curves = read_published_runs(folder / "svm_reference_runs.csv")
    assert len(curves) == 12
    assert {key.panel for key in curves} == {"fig2a", "fig2b", "fig2c", "fig2d"}
    checked = 0
    for row in (folder / "svm_reference.csv").read_text().splitlines()[1:]:
        policy, method, delay, iteration, mean, error, heard, runs = row.split(",")
        panel = {"ucb": "ab", "ts": "cd"}[policy]["poisson" not in delay]
        line = curves[CurveKey(f"fig2{panel}", method, PUBLISHED)]
        values = line.simple[:, int(iteration) - 1]
        assert line.iterations[int(iteration) - 1] == int(iteration)
        assert np.sum(values < 1) == int(heard)
        if heard == runs:
            assert values.mean() == pytest.approx(float(mean), abs=1e-7)
            assert values.std() / math.sqrt(10) == pytest.approx(float(error), abs=1e-7)  # with n, as they have it
            checked += 1
    assert checked > 70
    write_curves(tmp_path / "a.csv.gz", curves)
    assert are_same(read_curves(tmp_path / "a.csv.gz"), curves)


@needs_data("svm_reference_runs.csv")
def test_of_the_published_runs_four_of_eight_comparisons_survive() -> None:
    curves = read_published_runs(Path(os.environ["BELATED_DATA"]) / "svm_reference_runs.csv")
    averages, ends = [], []
    for (policy, _), panel in PANELS_BY_SETTING.items():
        sdf, *baselines = (curves[CurveKey(panel, name, PUBLISHED)] for name in FAMILIES[policy.upper()])
        for other in baselines:
            averages.append(
                compare_pairs(*(line.simple[:, line.iterations >= 10].mean(axis=1) for line in (sdf, other))).p
            )
            ends.append(compare_pairs(sdf.simple[:, -1], other.simple[:, -1]).p)
    assert sum(p < 0.05 for p in holm(averages)) == 4
    assert [p < 0.05 for p in ends] == [True, False, True, False, False, False, False, False]
    assert [p for p in ends if p < 0.05] == pytest.approx([0.0156, 0.0469], abs=1e-4)
