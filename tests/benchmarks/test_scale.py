"""The scale benchmark's worlds, stages, cache and table, at small sizes. No time is judged here."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from belated import Real, Study
from belated.learner.gp.summary import Sizes
from benchmarks.regret.entrants import ROOT
from benchmarks.scale import __main__ as command
from benchmarks.scale import cell, exact, kept, report
from benchmarks.scale.kept import CellJob, ScaleRow
from benchmarks.scale.worlds import WORLDS
from tests.support.summaries import use_sizes

NUMBERS = {"ask ms": 40.0, "first ask s": 1.0, "refit s": 1.0, "open s": 0.1}
STAGES = ("fill", "open", "reopen", "ask")


def row(measure: str, value: float, n: int = 1000, entrant: str = "belated", note: str = "") -> ScaleRow:
    return ScaleRow(world="d = 6", n=n, entrant=entrant, measure=measure, value=value, note=note, version="v")


# Worlds and stages ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", WORLDS.values(), ids=list(WORLDS))
def test_the_trials_of_a_world_fit_its_study(world):
    trials = world.draw(40)
    again = world.draw(40)
    assert np.array_equal(trials.X, again.X)
    assert np.array_equal(trials.y, again.y)
    study = Study.create(space=world.space, context=world.context, silence="unknown", seed=0)
    study.add_many([cell.list_row(world, trials, i) | {"value": trials.y[i]} for i in range(40)])
    assert study.rounds == 40
    noise = trials.y - world.evaluate(trials.Z, trials.X)
    assert 0.1 < np.std(noise) < 0.6


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(cell, "ASKS", 2)
    monkeypatch.setattr(cell, "BULK", 2)


@pytest.mark.parametrize("name", ["60 cells", "d = 4 + context"])
def test_all_stages_of_ours_are_measured(name, few, tmp_path):
    found = {}
    for stage in cell.find_stages("belated"):
        found |= dict(cell.measure_stage(WORLDS[name], 20, "belated", stage, tmp_path))
    assert {*NUMBERS, "reopen s", "tell ms", "ask in bulk ms", "tell in bulk ms", "add in bulk ms"} <= set(found)
    assert {f"{stage} MiB" for stage in STAGES} <= set(found)
    assert all(value > 0 for measure, value in found.items() if measure != "centres")
    assert 10 < found["open MiB"] < 10_000  # MiB, not KiB or bytes


def test_a_peer_is_measured_in_one_stage(few, tmp_path):
    pytest.importorskip("optuna")
    assert cell.find_stages("Optuna TPE") == ("ask",)
    found = dict(cell.measure_stage(WORLDS["3 x 1,000 items"], 20, "Optuna TPE", "ask", tmp_path))
    assert {"ask ms", "tell ms", "first ask s", "refit s", "ask MiB"} == set(found)


def test_the_exact_model_can_be_kept(monkeypatch):
    """With few rows summarised, as a study has it, and exactly: the notes say which it was."""
    use_sizes(monkeypatch, Sizes(exact=20, centres=8, newest=8, block=8, aside=3))

    def note() -> str:
        study = Study.create(space={"x": Real(0, 1)}, silence="unknown", regret="cumulative", seed=0)
        study.add_many([{"params": {"x": i / 40}, "value": math.sin(i)} for i in range(40)])
        return study.ask().note

    assert "approximate" in note()
    with exact.keep_exact():
        assert "approximate" not in note()
    assert "approximate" in note()


# The cache ------------------------------------------------------------------------------------------------------------


def test_what_is_kept_is_not_measured_again(tmp_path, monkeypatch):
    ran: list[CellJob] = []

    def run_stage(job, stage, seconds, place):
        ran.append(job)
        return list(NUMBERS.items()), ""

    monkeypatch.setattr(command, "run_stage", run_stage)
    jobs, out = command.list_jobs(["d = 6"], [1000, 10_000], ["belated"]), tmp_path / "scale.csv"

    def measure(again=()):
        ran.clear()
        return command.measure_all(jobs, out, lambda entrant: 1.0, tmp_path, again)

    assert {(each.n, each.measure) for each in measure()} == {(n, m) for n in (1000, 10_000) for m in NUMBERS}
    assert [job.n for job in ran] == [1000] * 4 + [10_000] * 4
    assert len(measure()) == 8
    assert not ran
    assert len(measure(["belated"])) == 8
    assert len(ran) == 8


def test_who_does_not_get_there_is_said_and_not_tried_with_more(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "run_stage", lambda *_: ([("refit s", 100.0)], "ask: over 120 CPU s"))
    jobs = command.list_jobs(["d = 6"], [1000, 10_000, 100_000], ["exact"])
    rows = command.measure_all(jobs, tmp_path / "scale.csv", lambda entrant: 120.0, tmp_path, [])
    assert [(each.n, each.measure, each.note) for each in rows] == [
        (1000, "refit s", ""),
        (1000, "fill all", "ask: over 120 CPU s"),
        (10_000, "all", "not tried: n = 1,000 was too many"),
        (100_000, "all", "not tried: n = 1,000 was too many"),
    ]
    assert "over 120 CPU s" in report.format_markdown(rows)
    assert all(line.words for line in report.list_lines(rows))


@pytest.mark.parametrize(
    ("code", "errors", "words"),
    [
        (0, "", ""),
        (cell.OVER, "", "ask: over 5 CPU s"),
        (-9, "", "ask: exit -9"),
        (1, "Traceback\nMemoryError", "ask: over 8 GiB"),
        (1, "RuntimeError: DefaultCPUAllocator: can't allocate memory", "ask: over 8 GiB"),
        (1, "Traceback\nValueError: no", "ask: ValueError: no"),
        (3, "", "ask: exit 3"),
    ],
)
def test_why_a_process_ended_is_said(code, errors, words):
    assert command.explain_end("ask", code, errors, 5.0) == words


def test_a_process_of_its_own_ends_at_its_limit(tmp_path):
    measured, note = command.run_stage(CellJob("60 cells", 2_000_000, "belated"), "fill", 0.01, tmp_path)
    assert (measured, note) == ([], "fill: over 0.01 CPU s")


def test_the_clock_of_a_process_is_not_made_coarse(monkeypatch):
    """Under a limit of the system's own, calls shorter than some milliseconds would take no time at all."""
    limited = []
    monkeypatch.setattr(cell.resource, "setrlimit", lambda kind, limits: limited.append(kind))
    cell.limit_process(1e9, 1.0)
    assert limited == [cell.resource.RLIMIT_DATA]
    monkeypatch.setattr(cell.resource, "getrlimit", lambda kind: (60, 60))
    with pytest.raises(SystemExit, match="too coarse"):
        cell.limit_process(1e9, 1.0)


def test_numbers_of_other_code_are_named():
    now = replace(row("ask ms", 1.0), version=kept.find_version("belated"))
    assert kept.find_stale([now]) == []
    assert kept.find_stale([now, row("ask ms", 1.0)]) == ["belated"]


# The table and the picture --------------------------------------------------------------------------------------------


def rows_of_a_power(entrant: str, power: float, sizes=(1000, 10_000, 100_000)) -> list[ScaleRow]:
    return [row(measure, value * (n / 1000) ** power, n, entrant) for n in sizes for measure, value in NUMBERS.items()]


def test_an_amortised_ask_has_its_share_of_the_fits():
    assert report.add_amortised(NUMBERS, 1000)["amortised ms"] == pytest.approx(40.0 + 2000.0 / 100)
    assert report.add_amortised({"ask ms": 3.0}, 1000) == {"ask ms": 3.0}


def test_the_table_has_every_number_and_the_exponents():
    rows = [*rows_of_a_power("belated", 0.5), *rows_of_a_power("Optuna GP", 2.0, (1000,))]
    lines = report.list_lines(rows)
    assert [line.subject for line in lines] == [
        "belated, 1,000",
        "belated, 10,000",
        "belated, 100,000",
        "belated: exponent of n",
        "Optuna GP, 1,000",
    ]
    assert lines[3].cells["ask ms"] == pytest.approx(0.5)
    text = report.format_table(lines)
    assert len(text.splitlines()) == 6
    assert "0.500" in text
    belated, optuna = report.format_markdown(rows).splitlines()[-2:]
    assert belated.endswith("| n^0.41 |")
    assert optuna.endswith(" | – | – |  |")


def test_a_line_ends_where_an_entrant_does():
    pytest.importorskip("matplotlib")
    from benchmarks.scale.picture import find_curve

    rows = [*rows_of_a_power("belated", 0.0), row("ask all", math.nan, 1000, "exact", "ask: over 8 GiB")]
    assert find_curve(rows, "d = 6", "exact") == []
    assert find_curve(rows, "d = 6", "belated")[0] == (1000.0, 60.0)


def test_the_stage_prints_a_line_for_each_number(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cell, "limit_process", lambda seconds, gib: None)
    assert cell.main(["60 cells", "20", "belated", "fill", str(tmp_path), "--seconds", "9", "--gib", "1"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [measure for measure, _ in lines] == ["tell in bulk ms", "add in bulk ms", "fill MiB"]


def test_the_command_says_what_it_wrote(tmp_path: Path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(command, "run_stage", lambda *_: (list(NUMBERS.items()), ""))
    out = tmp_path / "out.csv"
    chosen = ["--quick", "--worlds", "d = 6", "--entrants", "belated", "--out", str(out)]
    assert command.main(chosen) == 0
    assert f"Written: {out}" in capsys.readouterr().out
    assert out.with_suffix(".png").read_bytes()[1:4] == b"PNG"
    assert command.main([*chosen, "--markdown"]) == 0
    assert "| six coordinates: belated | 60.0 | 42.0 | n^−0.15 |" in capsys.readouterr().out


@pytest.mark.parametrize("page", ["README.md", "docs/scale.md"])
def test_the_pages_have_the_numbers_that_are_kept(page):
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    shown = [line for line in lines if line.startswith(tuple(f"| {title}: " for title in report.TITLES.values()))]
    assert len(shown) >= 8
    assert set(shown) <= set(report.format_markdown(kept.read(command.OUT)).splitlines())
