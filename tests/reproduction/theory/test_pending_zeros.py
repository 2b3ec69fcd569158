"""Zeros for the pending in Fig. 4a: the cases differ in what they say, and what is counted is what was asked."""

import pytest

import belated
from belated.learner.width import BetaWidth
from reproduction.report.document import Paragraph, TableBlock, extract_text
from reproduction.theory import pending_zeros
from reproduction.theory.measurements import Measurement, group_measurements
from reproduction.theory.pending_zeros import CASES, ZerosJob, count_distinct, run_zeros_job
from tests.reproduction.needs_data import needs_data


def test_the_cases_differ_in_fit_and_interval_alone() -> None:
    own, heard, plain = (CASES[case].algorithm for case in ("own", "heard", "heard, plain"))
    assert own.fitting.data != heard.fitting.data == plain.fitting.data
    assert own.width == heard.width != plain.width == BetaWidth()
    assert own.model == heard.model == plain.model


def test_distinct_queries_are_counted_task_by_task() -> None:
    study = belated.Study.create(space=belated.Points([0.0, 0.5, 1.0]), algorithm="GP-UCB", seed=0)
    for x in [0.0] * 29 + [0.5, 1.0, 1.0]:
        study.add({"x": x}, 0.0)
    assert count_distinct(study) == [2, 1]


@needs_data("tst_svm.npz")
def test_a_run_is_measured() -> None:
    rows = run_zeros_job(ZerosJob(case="own", seed=0, T=60))
    found = group_measurements(rows)
    distinct = pending_zeros.read_values(found, "own", pending_zeros.DISTINCT)
    assert distinct.x.tolist() == [1, 2]
    assert ((distinct.values >= 1) & (distinct.values <= 30)).all()
    assert pending_zeros.read_values(found, "own", pending_zeros.LAM).values[0, 0] > 0
    assert run_zeros_job(ZerosJob(case="own", seed=0, T=60)) == rows
    assert run_zeros_job(ZerosJob(case="heard", seed=0, T=60)) != rows


def make_rows() -> list[Measurement]:
    numbers = {"own": (5, 1e-3, 80.0), "heard": (25, 1e-6, 120.0), "heard, plain": (20, 1e-6, 125.0)}
    return [
        Measurement(pending_zeros.EXPERIMENT, case, quantity, seed, x, value)
        for case, values in numbers.items()
        for seed in (0, 1, 2)
        for quantity, x, value in (
            (pending_zeros.DISTINCT, 1.0, values[0] + seed),
            (pending_zeros.LAM, 900.0, values[1]),
            (pending_zeros.REGRET, 900.0, values[2] + seed),
        )
    ]


def test_the_section_says_what_was_measured() -> None:
    blocks = pending_zeros.make_section(group_measurements(make_rows()))
    (table,) = (block for block in blocks if isinstance(block, TableBlock))
    rows = [[extract_text(cell) for cell in row] for row in table.rows]
    assert rows[0] == ["own data, zeros included", "ν, widened", "3", "6 (6 to 6)", "1.0e-03", "81.0 ± 0.6"]
    text = extract_text([block for block in blocks if isinstance(block, Paragraph)][-1].text)
    assert "the lower one in 3 of 3 pairs" in text
    assert "changes the regret by 5.000 [5.000, 5.000]." in text
    assert "the first 900 rounds" in extract_text(blocks[1].text)  # type: ignore[union-attr]


@pytest.mark.parametrize("case", CASES)
def test_without_a_case_there_is_no_section(case: str) -> None:
    rows = [row for row in make_rows() if row.case != case]
    assert pending_zeros.make_section(group_measurements(rows)) == []
