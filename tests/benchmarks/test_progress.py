"""Benchmarks run on any executor, with the results that they have in this process."""

from __future__ import annotations

import os
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from belated.errors import InvalidInput
from benchmarks import silences
from benchmarks.progress import run_and_say
from benchmarks.regret import __main__ as regret
from benchmarks.regret import kept
from benchmarks.scale import regret as scale_regret


def pool() -> Executor:
    return ProcessPoolExecutor(1, get_context("spawn"))


POOL = f"{__name__}:pool"


def find_process(job: int) -> tuple[int, int]:
    return job, os.getpid()


def test_jobs_run_on_the_executor(capsys: pytest.CaptureFixture[str]) -> None:
    found: list[tuple[int, int]] = []

    def keep(result: tuple[int, int]) -> str:
        found.append(result)
        return f"job {result[0]}"

    with pool() as executor:
        run_and_say(find_process, [3, 5], 1, keep, executor)
    assert sorted(job for job, _ in found) == [3, 5]
    assert os.getpid() not in [process for _, process in found]
    assert "2 of 2" in capsys.readouterr().err


def test_the_test_bed_has_the_same_rows(tmp_path: Path) -> None:
    words = ["--tasks", "branin", "--entrants", "random", "--seeds", "2", "--share", "0.1", "--workers", "1"]
    found = {}
    for name, more in (("here", []), ("there", ["--executor", POOL])):
        out = tmp_path / f"{name}.csv"
        assert regret.main([*words, *more, "--out", str(out)]) == 0
        found[name] = [(row.job, row.simple, row.cumulative) for row in kept.read(out)]
    assert len(found["here"]) == 2
    assert found["there"] == found["here"]


def test_the_other_benchmarks_hand_it_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[Executor | None] = []

    def note(*words: object) -> None:
        given.append(words[-1])  # type: ignore[arg-type]

    monkeypatch.setattr(scale_regret, "run_and_say", note)
    monkeypatch.setattr(silences, "rows", lambda *words: [["", "all"], ["nobody", *(note(*words) or ["0"])]])
    assert scale_regret.main(["--executor", POOL, "--out", str(tmp_path / "none.csv")]) == 0
    assert silences.main(["--executor", POOL]) == 0
    assert [type(each) for each in given] == [ProcessPoolExecutor] * 2


def test_what_is_no_executor_is_refused() -> None:
    with pytest.raises(InvalidInput, match="--executor must give"):
        silences.main(["--executor", "os:getcwd"])
