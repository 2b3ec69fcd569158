"""The ledger benchmark runs, its table is complete, and its verdicts follow from its numbers; no time is judged."""

from __future__ import annotations

import csv
import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import belated
from belated.record.events import Asked
from benchmarks import ledger
from benchmarks.ledger import Goal, Line, Work

LATENCIES = {"ask p50 ms", "ask p99 ms", "tell p50 ms", "tell p99 ms"}


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Line]:
    """The smallest run, without the peer and on SQLite."""
    plan = replace(ledger.QUICK, postgres=False, optuna=False)
    return ledger.measure(plan, tmp_path_factory.mktemp("ledger"))


def by_section(lines: Sequence[Line], word: str) -> list[Line]:
    return [line for line in lines if line.section.startswith(word)]


def test_every_load_is_measured_without_an_error(quick):
    loads = by_section(quick, "ask + tell")
    systems = ("bare appends", "belated")
    assert [line.subject for line in loads] == [f"{s}, {n}" for n in ("1 client", "2 clients") for s in systems]
    for line in loads:
        cells = line.cells
        assert LATENCIES <= set(cells)
        assert cells["errors"] == 0, line.remark
        assert cells["pairs/s"] > 0
        assert cells["ask p50 ms"] <= cells["ask p99 ms"]
        assert line.remark == "journal_mode=wal, synchronous=FULL"


def test_what_it_promises_is_judged(quick):
    bare, one, _, two = by_section(quick, "ask + tell")
    assert not bare.goals
    assert one.cells["of appends"] == one.cells["pairs/s"] / bare.cells["pairs/s"]
    assert {goal.column for goal in one.goals} == {"ask p99 ms", "tell p99 ms", "errors"}
    assert {goal.column for goal in two.goals} == {*(g.column for g in one.goals), "slowest / fastest", "of appends"}
    (many,) = [line for line in by_section(quick, "a tell") if line.goals]
    assert str(many.goals[0]) == "of an empty study's <= 1.5"
    (aged,) = by_section(quick, "reopened")
    assert {goal.column for goal in aged.goals} == {"open + ask s", "refits"}


def test_a_study_that_is_reopened_fits_nothing_again(quick):
    (aged,) = by_section(quick, "reopened")
    assert aged.cells["refits"] == 0
    assert aged.cells["open + ask s"] == pytest.approx(aged.cells["open s"] + aged.cells["first ask s"])


def test_a_filled_study_is_what_a_real_one_would_be(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    count = ledger.aged(url, 40)
    study = belated.Study.open(url, ledger.STUDY)
    trials = study.trials()
    assert len(trials) == count >= 40
    assert {trial.status for trial in trials} == {"heard"}
    assert [trial.knew_trials for trial in trials] == list(range(count))
    last = None
    for asked in (event for event in study.events() if isinstance(event, Asked)):
        due = ledger.fit_due(study, asked.number, last)
        assert (asked.fitted is not None) == due
        last = asked.number if due else last
    assert not ledger.fit_due(study, count + 1, last)  # so that the next ask has nothing to fit


def test_errors_are_counted_and_named():
    works = [
        Work(asks=[0.1, 0.3], tells=[0.2, 0.2], began=1.0, ended=3.0, cpu=0.5),
        Work(
            asks=[0.2], tells=[0.4], errors=Counter({"OperationalError: database is locked": 2}), began=1.5, ended=2.5
        ),
    ]
    cells, error = ledger.summary(works)
    assert cells["pairs/s"] == pytest.approx(3 / 2)
    assert cells["ask p50 ms"] == pytest.approx(200)
    assert cells["slowest / fastest"] == 0.5
    assert cells["errors"] == 2
    assert error == "2 x OperationalError: database is locked"
    nothing, _ = ledger.summary([Work(ended=1.0)])
    assert nothing["pairs/s"] == 0
    assert math.isnan(nothing["ask p99 ms"])


@pytest.mark.parametrize(
    ("goal", "met"),
    [
        (Goal("v", "<=", 3.0), True),
        (Goal("v", "<=", 2.9), False),
        (Goal("v", ">=", 3.0), True),
        (Goal("v", ">=", 3.1), False),
        (Goal("unknown", "<=", 3.0), False),  # what could not be measured is not met
        (Goal("unknown", ">=", 3.0), False),
    ],
)
def test_a_goal_is_a_bound(goal, met):
    assert goal.met({"v": 3.0, "unknown": math.nan}) is met


def test_the_table_and_the_file_say_the_same(tmp_path):
    goals = (Goal("pairs/s", ">=", 20), Goal("errors", "<=", 0))
    lines = [
        Line("load", "belated", {"pairs/s": 12.5, "errors": 0.0}, goals, "wal"),
        Line("load", "Optuna", {"pairs/s": 2}),
    ]
    text = ledger.table(lines)
    assert "build for pairs/s >= 20: MISSED" in text
    assert "build for errors <= 0: met" in text
    assert "    wal\n" in text
    ledger.write(lines, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = [
            (row["subject"], row["measured"], row["value"], row["build_for"], row["met"])
            for row in csv.DictReader(file)
        ]
    assert rows == [
        ("belated", "pairs/s", "12.5", ">= 20", "no"),
        ("belated", "errors", "0", "<= 0", "yes"),
        ("Optuna", "pairs/s", "2", "", ""),
    ]


def test_the_command_prints_writes_and_removes_what_it_made(monkeypatch, capsys, tmp_path):
    folders = []

    def measure(plan, folder, say):
        folders.append(folder)
        (folder / "left-behind").touch()
        assert (plan.postgres, plan.optuna, plan.seconds) == (False, False, ledger.QUICK.seconds)
        return [Line("load", "belated", {"pairs/s": 3.0}, (Goal("pairs/s", ">=", 5),))]

    monkeypatch.setattr(ledger, "measure", measure)
    words = ["--quick", "--no-postgres", "--no-optuna", "--folder", str(tmp_path), "--csv", str(tmp_path / "out.csv")]
    assert ledger.main(words) == 0
    assert "1 of 1 numbers to build for are missed." in capsys.readouterr().out
    assert "load,belated,pairs/s,3,>= 5,no," in (tmp_path / "out.csv").read_text()
    assert folders[0].parent == tmp_path
    assert not folders[0].exists()


@pytest.fixture
def readable_folder() -> Iterator[Path]:
    """A folder that PostgreSQL's user may pass through; pytest's own folders are closed to others."""
    with tempfile.TemporaryDirectory(prefix="belated-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.faults
def test_beside_its_peer_on_both_stores(readable_folder):
    pytest.importorskip("optuna", reason="Optuna is not installed: pip install belated[bench]")
    folder = readable_folder
    plan = ledger.Plan(clients=(1,), seconds=0.2, events=100, tells=3, trials=())
    lines = ledger.measure(plan, folder)
    assert [line.section for line in lines if line.subject == "Optuna, 1 client"] == [
        "ask + tell, SQLite",
        "ask + tell, PostgreSQL",
    ]
    for line in lines:
        if line.subject == "belated, 1 client":
            assert line.cells["of Optuna"] > 0
            assert Goal("of Optuna", ">=", 5.0) in line.goals
            assert "synchronous=FULL" in line.remark or "fsync=on, synchronous_commit=on" in line.remark
    assert not any((folder / "postgres").glob("data/postmaster.pid"))  # the server is gone
