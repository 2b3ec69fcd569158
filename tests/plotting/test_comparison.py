"""The picture of a comparison: which curves it shows, and its formats."""

from pathlib import Path

import pytest

import belated
from belated.comparison.compare import compare
from belated.comparison.result import ComparisonResult
from belated.plotting.comparison import choose_rows, draw_comparison
from belated.plotting.style import FORMATS


@pytest.fixture(scope="module")
def compared() -> ComparisonResult:
    study = belated.Study.create(space={"x": belated.Real(0, 1)}, silence="unknown", floor=0.0, seed=0)
    delay = belated.delays.Sometimes(belated.delays.Poisson(2), 0.9)
    for _ in belated.simulate(study, lambda p: p["x"] * (1 - p["x"]), delay=delay, rounds=12, seed=1, noise=0.02):
        pass
    return compare(study, patience=[4], seeds=1, rounds=5)


def test_the_curves_are_the_best_the_study_s_and_one_of_every_other_silence(compared: ComparisonResult) -> None:
    rows = choose_rows(compared)
    assert rows[0] is compared.best
    assert compared.own in rows
    assert {row.silence for row in rows} == {row.silence for row in compared.rows}
    assert [compared.rows.index(row) for row in rows] == sorted(compared.rows.index(row) for row in rows)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_picture_is_written_in_the_format_of_its_name(
    compared: ComparisonResult, tmp_path: Path, ending: str
) -> None:
    first = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}[ending]
    draw_comparison(compared, "", tmp_path / f"a{ending}", 40)
    assert (tmp_path / f"a{ending}").read_bytes().startswith(first)
    assert (tmp_path / f"a{ending}").stat().st_size > 5_000
