"""What the paired tests of the package say of the runs that the paper's authors published."""

import os
from pathlib import Path

import pytest

from belated.comparison.statistics import compare, holm
from reproduction.curves import PANEL_OF, PUBLISHED, Key, published
from reproduction.panels import FAMILIES
from tests.reproduction.sets import needs


@needs("svm_reference_runs.csv")
def test_of_the_published_runs_four_of_eight_comparisons_survive() -> None:
    curves = published(Path(os.environ["BELATED_DATA"]) / "svm_reference_runs.csv")
    averages, ends = [], []
    for (policy, _), panel in PANEL_OF.items():
        sdf, *baselines = (curves[Key(panel, name, PUBLISHED)] for name in FAMILIES[policy.upper()])
        for other in baselines:
            averages.append(compare(*(line.simple[:, line.iterations >= 10].mean(axis=1) for line in (sdf, other))).p)
            ends.append(compare(sdf.simple[:, -1], other.simple[:, -1]).p)
    assert sum(p < 0.05 for p in holm(averages)) == 4
    assert [p < 0.05 for p in ends] == [True, False, True, False, False, False, False, False]
    assert [p for p in ends if p < 0.05] == pytest.approx([0.0156, 0.0469], abs=1e-4)
