"""The tables have the numbers of the curves."""

import pytest

from reproduction.curves import CurveKey, Curves
from reproduction.panels import PANELS
from reproduction.report.tables import rank_curves, tabulate_means, tabulate_ranks
from reproduction.report.verdicts import judge_panel
from tests.reproduction.made_up_curves import make_beyond_panel, make_curves, make_published

SHOWN = [PANELS[name] for name in ("fig1b", "fig2a", "fig4c")]
ELSEWHERE = make_beyond_panel()


@pytest.fixture(scope="module")
def curves() -> Curves:
    return {**make_curves([*SHOWN, ELSEWHERE], seeds=7), **make_published(PANELS["fig2a"], 7)}


def test_numbers_in_the_tables_are_those_of_the_curves(curves: Curves) -> None:
    table = tabulate_means(judge_panel(PANELS["fig4c"], curves))
    assert table.titles[-4:] == ("runs", "at 200", "at 400", "at 600")
    line = curves[CurveKey("fig4c", "GP-UCB", "text")]
    row = next(row for row in table.rows if "GP-UCB" in row)
    assert row[-1] == f"{line.cumulative[:, -1].mean():.2f} ± {line.cumulative[:, -1].std(ddof=1) / 7**0.5:.2f}"
    assert row[-4] == "7"


def test_simple_regret_has_the_average_that_decides(curves: Curves) -> None:
    table = tabulate_means(judge_panel(PANELS["fig1b"], curves))
    assert table.titles[-4:] == ("at 20", "at 50", "at 100", "average 10–100")
    line = curves[CurveKey("fig1b", "m5", "text")]
    row = next(row for row in table.rows if "m = 5" in row)
    assert str(row[-1]).startswith(f"{line.simple[:, 9:].mean():.3f}"[:4])


def test_readings_and_the_authors_runs_have_rows_of_their_own(curves: Curves) -> None:
    judged = judge_panel(PANELS["fig2a"], curves)
    table = tabulate_means(judged)
    assert table.titles[:3] == ("reading", "mean validation error", "runs")
    assert [row[0] for row in table.rows] == [reading for reading in (*judged.readings, "published") for _ in range(3)]
    assert len(table.titles) == 7


def test_ranks_are_averaged_over_panels(curves: Curves) -> None:
    judged = judge_panel(ELSEWHERE, curves)
    table = tabulate_ranks([judged])
    assert table.titles == ("mean rank", ELSEWHERE.name, "mean")
    assert sum(rank.mean for rank in rank_curves(judged, "text").values()) == pytest.approx(8 * 9 / 2)
    means = [float(str(row[-1])) for row in table.rows]
    assert means == sorted(means)
