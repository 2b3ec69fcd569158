"""The tables have the numbers of the curves."""

import re

import pytest

from reproduction.archive import Archive
from reproduction.curves import CurveKey, Curves
from reproduction.panels import PANELS
from reproduction.report.document import extract_text
from reproduction.report.markdown import render_markdown
from reproduction.report.report import make_report
from reproduction.report.tables import count_decimals, format_p_cell, tabulate_comparisons, tabulate_means
from reproduction.report.verdicts import judge_panel
from tests.reproduction.made_up_curves import make_beyond_panel, make_curves, make_published

FEW = [PANELS[name] for name in ("fig1b", "fig2a", "fig4c", "fig5a")]


ELSEWHERE = make_beyond_panel()


@pytest.fixture(scope="module")
def curves() -> Curves:
    ran = [shown for shown in FEW if shown.name != "fig5a"]
    return {**make_curves([*ran, ELSEWHERE], seeds=7), **make_published(PANELS["fig2a"], 7)}


def test_numbers_in_the_tables_are_those_of_the_curves(curves: Curves) -> None:
    judged = judge_panel(PANELS["fig4c"], curves)
    table = tabulate_means(judged)
    assert table.titles == ("mean cumulative regret", "runs", "at 200", "at 400", "at 600")
    line = curves[CurveKey("fig4c", "GP-UCB", "text")]
    (row,) = (row for row in table.rows if row[0] == "GP-UCB")
    assert row[4] == f"{line.cumulative[:, -1].mean():.2f} ± {line.cumulative[:, -1].std(ddof=1) / 7**0.5:.2f}"
    compared = tabulate_comparisons(judged)
    assert [extract_text(cell) for cell in compared.titles[:2]] == ["comparison", "pairs"]
    assert extract_text(compared.rows[0][2]).startswith("−")
    assert extract_text(compared.rows[0][3]) == "7, 0, 0"
    assert extract_text(compared.rows[0][6]) == "0.0312"  # 2 · 2 / 2⁷


def test_simple_regret_is_shown_with_late_outcomes_and_cumulative_regret(curves: Curves) -> None:
    table = tabulate_means(judge_panel(PANELS["fig1b"], curves))
    assert table.titles[2:] == (
        "at 20",
        "at 50",
        "at 100",
        "average 10–100",
        "late counted, at 100",
        "cumulative, at 100",
    )


def test_labels_with_commas_are_set_off() -> None:
    archive = Archive(curves=make_curves([PANELS["fig1a"]], seeds=2))
    text = render_markdown(make_report([PANELS["fig1a"]], archive, out="."))
    assert "“μ = 5, m = 10” against “μ = 10, m = 20”" in text
    assert re.search(r"“μ = 5, m = 10” is (not )?below “μ = 10, m = 20”", text)


def test_numbers_are_written_alike() -> None:
    assert [count_decimals([v]) for v in (0.2429, 23.4, 1500.0, 0.0123, 1e-9, 0.0)] == [4, 2, 0, 5, 6, 4]
    assert [format_p_cell(p) for p in (0.00005, 0.0039, 1.0)] == ["<0.0001", "0.0039", "1.0000"]
