"""No run is computed twice, and the curves of a folder are collected."""

from dataclasses import replace
from pathlib import Path

import pytest

import belated
from reproduction.panel_run import RunResult
from reproduction.runs_folder import (
    collect_curves,
    find_missing,
    locate_curve,
    read_run_costs,
    run_jobs,
    unpack_runs,
)
from tests.reproduction.made_up_curves import are_same
from tests.reproduction.small_runs import make_job, make_url


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    wanted = [make_job(seed=seed) for seed in (0, 1)]
    heard: list[RunResult] = []
    run_jobs(wanted[:1], tmp_path, make_url(tmp_path), 1, heard.append)
    assert [done.run.seed for done in heard] == [0]
    assert find_missing(tmp_path, wanted) == wanted[1:]
    run_jobs(find_missing(tmp_path, wanted), tmp_path, make_url(tmp_path), 1, heard.append)
    assert [done.run.seed for done in heard] == [0, 1]
    assert find_missing(tmp_path, wanted) == []
    assert find_missing(tmp_path, [replace(wanted[0], iterations=13)])  # further than it went
    assert not find_missing(tmp_path, [replace(wanted[0], iterations=11)])
    assert [cost.rounds for cost in read_run_costs(tmp_path)] == [16, 16]
    assert belated.studies(make_url(tmp_path)) == [job.name for job in wanted]


def test_a_curve_that_was_lost_is_made_again_from_the_ledger(tmp_path: Path) -> None:
    first: list[RunResult] = []
    run_jobs([make_job()], tmp_path, make_url(tmp_path), 1, first.append)
    locate_curve(tmp_path, make_job().key, 3).unlink()
    again: list[RunResult] = []
    run_jobs(find_missing(tmp_path, [make_job()]), tmp_path, make_url(tmp_path), 1, again.append)
    assert again[0].cost.rounds == 0
    assert again[0].run.simple.tolist() == first[0].run.simple.tolist()


def test_curves_of_different_lengths_are_collected_as_far_as_the_shortest(tmp_path: Path) -> None:
    heard: list[RunResult] = []
    run_jobs([make_job(seed=0, iterations=9), make_job(seed=1)], tmp_path, make_url(tmp_path), 1, heard.append)
    (line,) = collect_curves(tmp_path).values()
    assert line.seeds == (0, 1)
    assert line.iterations.tolist() == list(range(1, 10))
    assert line.simple[1] == pytest.approx(heard[1].run.simple[:9], rel=1e-9)


def test_recorded_runs_are_added_to_as_if_they_had_been_made_in_the_folder(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    heard: list[RunResult] = []
    wanted = [make_job(seed=seed) for seed in (0, 1)]
    run_jobs(wanted[:1], first, make_url(first), 1, heard.append)
    recorded, costs = collect_curves(first), read_run_costs(first)
    run_jobs([replace(wanted[0], iterations=3)], second, make_url(second), 1, heard.append)  # shorter
    assert unpack_runs(second, recorded, costs) == 1
    assert unpack_runs(second, recorded, costs) == 0
    assert are_same(collect_curves(second), recorded)
    assert len(read_run_costs(second)) == 2
    assert find_missing(second, wanted) == wanted[1:]
    run_jobs(wanted[1:], second, make_url(second), 1, heard.append)
    (line,) = collect_curves(second).values()
    assert line.seeds == (0, 1)
    assert line.simple[0].tolist() == next(iter(recorded.values())).simple[0].tolist()
