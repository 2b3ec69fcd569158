"""The appendix: tests, values at T, late outcomes, costs and provenance, no table wider than seven columns."""

import re

import numpy as np
import pytest

from reproduction.archive import Provenance
from reproduction.curves import CurveKey, CurveRun, Curves, group_runs
from reproduction.panels import PANELS
from reproduction.report.appendix import (
    MARK,
    make_appendix,
    make_cost_section,
    make_provenance_section,
    tabulate_ends,
    tabulate_further,
    tabulate_tests,
)
from reproduction.report.document import TableBlock, extract_text
from reproduction.report.markdown import render_markdown
from reproduction.report.verdicts import JudgedPanel, judge_panel
from reproduction.run_costs import RunCost
from tests.reproduction.made_up_curves import make_curves, make_panel, make_published

SHOWN = [PANELS[name] for name in ("fig2a", "fig4c")]


@pytest.fixture(scope="module")
def judged() -> list[JudgedPanel]:
    curves = {**make_curves(SHOWN, seeds=7), **make_published(PANELS["fig2a"], 7)}
    return [judge_panel(panel, curves) for panel in SHOWN]


def list_texts(table: TableBlock) -> list[list[str]]:
    return [[extract_text(cell) for cell in row] for row in table.rows]


def test_every_comparison_has_its_tests_and_its_end(judged: list[JudgedPanel]) -> None:
    tests, ends = list_texts(tabulate_tests(judged)), list_texts(tabulate_ends(judged))
    pairs = [(j, reading, pair) for j in judged for reading, found in j.pairs.items() for pair in found]
    assert len(tests) == len(ends) == len(pairs) == 2 * sum(len(j.lines) for j in judged)
    assert [row[1] for row in tests] == [reading for _, reading, _ in pairs]
    for test, end, (_, _, pair) in zip(tests, ends, pairs, strict=True):
        assert test[:3] == end[:3]
        assert test[4].removesuffix(f" {MARK}") == f"{pair.decides.p:.4f}"
        assert test[5] == f"{pair.p:.4f}"
        assert end[3:5] == ["7", f"{pair.decides.won}, {pair.decides.tied}, {pair.decides.lost}"]
    contextual = next(row for row in tests if row[0] == "Fig. 4c")
    assert contextual[4:6] == ["0.0156", "0.0312"]  # 2 / 2⁷, and twice that


def make_values(key: str, values: list[float]) -> Curves:
    return group_runs(
        CurveRun(
            key=CurveKey("fig9a", key, "text"),
            seed=seed,
            iterations=np.arange(1, 31),
            **dict.fromkeys(("simple", "late", "cumulative"), np.full(30, value)),
        )
        for seed, value in enumerate(values)
    )


def test_a_test_that_disagrees_with_its_interval_is_marked() -> None:
    curves = {
        **make_values("GP-UCB-SDF", [0.0] * 10),
        **make_values("GP-UCB", [0.02] * 9 + [0.5]),  # all to one side, but the interval is wide
        **make_values("GP-BUCB", [0.1, 0.2] * 5),
    }
    marked, plain = list_texts(tabulate_tests([judge_panel(make_panel(), curves)]))
    assert marked[4] == f"0.0020 {MARK}"
    assert plain[4] == "0.0020"


def test_late_outcomes_and_cumulative_regret_are_of_the_panels_of_simple_regret(judged: list[JudgedPanel]) -> None:
    rows = list_texts(tabulate_further(judged[:1]))
    assert [row[1] for row in rows] == [reading for reading in judged[0].readings for _ in range(3)]  # none published
    line = judged[0].lines["text"]["GP-UCB"]
    (row,) = (row for row in rows if row[1:3] == ["text", "GP-UCB"])
    for cell, values in zip(row[3:], (line.simple, line.late, line.cumulative), strict=True):
        assert float(cell.split(" ±")[0]) == pytest.approx(values[:, -1].mean(), abs=0.006)


def test_costs_are_summed_by_figure_and_reading(judged: list[JudgedPanel]) -> None:
    costs = [
        RunCost("fig2a", "GP-UCB", "text", 0, 100, 3600.0, 1800.0),
        RunCost("fig2a", "GP-UCB", "text", 0, 4, 0.0, 1800.0),  # the same run, interrupted once
        RunCost("fig2a", "GP-UCB", "released", 0, 10, 1.0, 2.0),
        RunCost("fig4c-permuted", "GP-UCB", "text", 0, 10, 1.0, 2.0),
        RunCost("fig4c", "GP-UCB", "text", 0, 10, 1.0, 2.0),
        RunCost("other", "x", "text", 0, 1, 1e9, 1e9),
    ]
    blocks = make_cost_section(judged, costs)
    text = render_markdown(blocks)
    assert "CPU time of the runs: 2.0 h, 50% for choosing queries and 50% for evaluating objectives" in text
    (table,) = (block for block in blocks if isinstance(block, TableBlock))
    rows = list_texts(table)
    assert rows[0] == ["Figure 2", "text", "1", "104", "1.0 h", "1.0 h"]
    assert [row[:2] for row in rows[1:]] == [
        ["Figure 2", "released"],
        ["Figure 4", "text"],
        ["Figure 4", "text, task order permuted by seed"],
    ]
    assert make_cost_section(judged, []) == []


def test_it_says_how_the_runs_were_made() -> None:
    made = Provenance(("python -m reproduction run all",), (("Python", "3.12"), ("numpy", "2.4")), ("A note.",))
    text = render_markdown(make_provenance_section(made))
    assert "```sh\npython -m reproduction run all\n```" in text
    assert "With Python 3.12, numpy 2.4." in text
    assert "A note." in text
    assert "The same versions on the same kind of processor give the same runs." in text
    assert "With" not in render_markdown(make_provenance_section(Provenance()))


def test_no_table_is_wide_and_figures_come_in_turn(judged: list[JudgedPanel]) -> None:
    blocks = make_appendix(judged, [], [], Provenance())
    assert all(len(block.titles) <= 7 for block in blocks if isinstance(block, TableBlock))
    assert re.findall(r"^(Figure \d): tests", render_markdown(blocks), re.M) == ["Figure 2", "Figure 4"]
