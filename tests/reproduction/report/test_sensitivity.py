"""How findings change with the reading: by panel, pooled, and in Figure 4 with the order of the tasks."""

from dataclasses import replace

import pytest

from reproduction.curves import Curves
from reproduction.panels import PANELS, Panel
from reproduction.report.document import TableBlock, extract_text
from reproduction.report.markdown import render_markdown
from reproduction.report.sensitivity import (
    make_choices_section,
    make_open_section,
    make_permuted,
    tabulate_contextual,
    tabulate_pooled_by_reading,
    tabulate_verdicts,
)
from reproduction.report.verdicts import JudgedPanel, judge_panel, list_readings
from tests.reproduction.made_up_curves import make_curves, make_published

THREE = ("text", "heard", "released")


def read_in(panel: str, readings: tuple[str, ...]) -> Panel:
    """A panel with these readings."""
    return replace(PANELS[panel], runs=dict.fromkeys(readings, 6))  # type: ignore[arg-type]


SHOWN = [read_in(name, THREE) for name in ("fig2a", "fig2b", "fig2c", "fig2d", "fig4a", "fig4c")]


@pytest.fixture(scope="module")
def curves() -> Curves:
    ran = [*SHOWN[:4], read_in("fig4a", THREE), read_in("fig4c", ("text",))]
    permuted = make_permuted(read_in("fig4a", ("text",)))
    found = {**make_curves(ran, seeds=6), **make_curves([permuted], seeds=5)}
    return {**found, **{key: line for panel in SHOWN[:4] for key, line in make_published(panel, 6).items()}}


@pytest.fixture(scope="module")
def judged(curves: Curves) -> list[JudgedPanel]:
    return [judge_panel(panel, curves) for panel in SHOWN]


def list_texts(table: TableBlock) -> list[list[str]]:
    return [[extract_text(cell) for cell in row] for row in table.rows]


def test_verdicts_stand_side_by_side(judged: list[JudgedPanel]) -> None:
    readings = list_readings(judged)
    assert readings == [*THREE, "published"]
    rows = list_texts(tabulate_verdicts(judged, readings))
    assert rows[0] == ["Fig. 2a", *(judged[0].verdicts[reading].word for reading in readings)]
    assert rows[-1] == ["Fig. 4c", judged[-1].verdict.word, "—", "—", "—"]


def test_effects_are_pooled_where_a_reading_has_the_whole_group(judged: list[JudgedPanel]) -> None:
    table = tabulate_pooled_by_reading(judged, list_readings(judged))
    rows = {tuple(row[:2]): row[2:] for row in list_texts(table)}
    assert all("[" in cell for cell in rows["SVM", "ignoring"])
    assert rows["all simple regret", "ignoring"] == rows["multi-task", "ignoring"] == ["—"] * 4
    assert len(table.titles) <= 7


def test_figure_four_has_a_row_for_every_reading_and_order_that_was_run(curves: Curves) -> None:
    table = tabulate_contextual(SHOWN[-2:], curves)
    assert len(table.titles) == 7
    rows = list_texts(table)
    assert [row[:2] for row in rows] == [
        ["text (6 runs)", "Fig. 4a"],
        ["text (6 runs)", "Fig. 4c"],
        ["text, task order permuted by seed (5 runs)", "Fig. 4a"],
        ["heard (6 runs)", "Fig. 4a"],
        ["released (6 runs)", "Fig. 4a"],
    ]


def test_it_is_said_why_figures_4c_and_4d_have_no_other_order(judged: list[JudgedPanel], curves: Curves) -> None:
    text = render_markdown(make_choices_section(judged, curves))
    assert "Figs. 4c and 4d have no other order: their data sets grow." in text


def test_the_numbers_of_figure_four_are_those_of_the_curves(curves: Curves) -> None:
    *_, permuted, _, _ = list_texts(tabulate_contextual(SHOWN[-2:], curves))
    family = ("GP-UCB-SDF", "GP-UCB", "GP-BUCB")
    means = {key.curve: line.cumulative[:, -1].mean() for key, line in curves.items() if key.panel == "fig4a-permuted"}
    assert permuted[2:5] == [f"{means[key]:.1f}" for key in family]
    for cell, baseline in zip(permuted[5:], family[1:], strict=True):
        written = float(cell.split(" ")[0].replace("−", "-"))
        assert written == pytest.approx(means["GP-UCB-SDF"] - means[baseline], rel=0.05)


def test_without_runs_the_choices_stand_alone() -> None:
    assert make_choices_section([judge_panel(panel, {}) for panel in SHOWN], {}) == []
    text = render_markdown(make_open_section())
    assert text.index("What the paper says of its experiments") < text.index("What it leaves open, and what was chosen")
