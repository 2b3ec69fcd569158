"""The audit's figures beside ours: each is judged by what is recorded, and can be contradicted."""

from dataclasses import replace
from pathlib import Path

import pytest

from belated.comparison.statistics import Summary, summarize
from reproduction.archive import Archive, read_archive
from reproduction.commands import KEPT
from reproduction.report.audit import (
    judge_count,
    judge_number,
    list_multitask_rows,
    list_released_rows,
    list_verdict_rows,
    list_zeros_rows,
    make_audit_section,
    make_beta_row,
    take_first,
)
from reproduction.report.document import TableBlock
from reproduction.theory import pending_zeros, rkhs
from reproduction.theory.measurements import Measurement, group_measurements


@pytest.fixture(scope="module")
def kept() -> Archive:
    return read_archive(Path(__file__).resolve().parents[3] / KEPT)


def test_a_number_is_matched_inside_of_our_interval_alone() -> None:
    mean: Summary[float] = summarize([1.0, 2.0, 3.0, 4.0])  # 2.5 ± 2.05
    assert judge_number(4.5, mean, 4) == "matched"
    assert judge_number(4.6, mean, 4) == "contradicted"


def test_a_count_is_matched_when_it_is_the_same_and_in_kind_on_the_same_side() -> None:
    assert judge_count(10, 10, 10) == "matched"
    assert judge_count(10, 9, 10) == "matched in kind"
    assert judge_count(10, 5, 10) == judge_count(10, 4, 10) == "contradicted"


def make_zeros(heard: int, own: int, plain: float) -> list[Measurement]:
    """Two runs of each case."""
    numbers = {"heard": (heard, 120.0), "own": (own, 90.0), "heard, plain": (heard, plain)}
    return [
        Measurement(pending_zeros.EXPERIMENT, case, quantity, seed, 1.0, value)
        for case, (distinct, regret) in numbers.items()
        for seed in (0, 1)
        for quantity, value in ((pending_zeros.DISTINCT, distinct), (pending_zeros.REGRET, regret + seed))
    ]


def test_ranges_are_matched_when_they_overlap() -> None:
    def judge(*numbers: float) -> list[str]:
        return [row.word for row in list_zeros_rows(group_measurements(make_zeros(*numbers)))]  # type: ignore[arg-type]

    assert judge(25, 6, 125.0) == ["matched"] * 3
    assert judge(12, 9, 119.0) == ["contradicted"] * 3


def test_the_kept_runs_match_the_audit_as_the_report_says(kept: Archive) -> None:
    first = {key: take_first(line, 10) for key, line in kept.curves.items()}
    rows = [
        *list_multitask_rows(first),
        *list_released_rows(kept.curves, kept.replayed),
        *list_verdict_rows(kept.curves, first),
        *list_zeros_rows(group_measurements(r for r in kept.measurements if r.experiment == pending_zeros.EXPERIMENT)),
        make_beta_row(),
    ]
    assert len(rows) == 22
    by_word = {word: [row.audit for row in rows if row.word == word] for word in {row.word for row in rows}}
    assert set(by_word) == {"matched", "matched in kind", "contradicted"}
    assert by_word["matched in kind"] == ["10 of 10"]
    assert by_word["contradicted"] == ["0 of 180"]


def test_the_beta_of_theorem_3_is_the_one_that_the_algorithm_has(monkeypatch: pytest.MonkeyPatch) -> None:
    assert make_beta_row().here == "4.291"
    ucb = rkhs.make_sdf("GP-UCB-SDF", 1.0, 1)
    monkeypatch.setattr(rkhs, "make_sdf", lambda name, beta, T: replace(ucb, width=replace(ucb.width, beta=beta)))
    row = make_beta_row()
    assert (row.here, row.word) == ("4.032", "contradicted")


def test_rows_of_fig_2b_say_of_how_many_runs_they_are(kept: Archive) -> None:
    rows = [row.what for row in list_released_rows(kept.curves, kept.replayed) if row.what.startswith("Fig. 2b")]
    assert rows == [
        "Fig. 2b, released, 30 runs here: GP-UCB-SDF",
        "Fig. 2b, released, 30 runs here: GP-UCB (and p of SDF against it)",
        "Fig. 2b, released, 30 runs here: GP-BUCB (and p of SDF against it)",
    ]


def test_without_runs_there_is_no_section(kept: Archive) -> None:
    assert make_audit_section({}, [], []) == []
    (table,) = (
        block
        for block in make_audit_section(kept.curves, kept.measurements, kept.replayed)
        if isinstance(block, TableBlock)
    )
    assert len(table.titles) == 4
