"""The authors' runs have the means that they published."""

import math
import os
from pathlib import Path

import numpy as np
import pytest

from reproduction.curves import (
    PUBLISHED,
    CurveKey,
    read_curves,
    write_curves,
)
from reproduction.published_runs import read_published_runs
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
