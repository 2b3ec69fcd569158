"""An export that was edited and is imported again: exactly what was changed is offered, as an amendment."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import belated
from belated.cli import main
from belated.cli.io.edits import is_rounded
from tests.cli.shell import STORE, check_refused, invoke, run_json

openpyxl = pytest.importorskip("openpyxl")

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")
NEW = ("new", "lab", "--real", "heat", "20", "90", "--integer", "n", "1", "4", "--silence", "unknown", "--seed", "0")


def make_lab() -> belated.Study:
    """Told, pending, failed, added with its outcome, and with noise."""
    invoke(*NEW)
    study = belated.Study.open(STORE, "lab")
    study.ask(n=4)
    study.tell(1, 7.1)
    study.tell(2, 0.512345678, noise=0.1)
    study.fail(3, "infeasible")
    study.add({"heat": 33.3333333333, "n": 2}, 0.25)
    return study


def edit_csv(number: int, column: str, new: Callable[[str], str]) -> None:
    with Path("lab.csv").open(newline="") as file:
        titles, *rows = list(csv.reader(file))
    rows[number - 1][titles.index(column)] = new(rows[number - 1][titles.index(column)])
    with Path("lab.csv").open("w", newline="") as file:
        csv.writer(file).writerows([titles, *rows])


def edit_workbook(number: int, column: str, new: Callable[[str], str]) -> None:
    book = pytest.importorskip("openpyxl").load_workbook("lab.xlsx")
    titles = [cell.value for cell in book.active[1]]
    cell = book.active.cell(number + 1, titles.index(column) + 1)
    text = new(str(cell.value))
    cell.value = text if column == "failure" else float(text)
    book.save("lab.xlsx")


EDITS: dict[str, tuple[int, str, str, dict[str, Any]]] = {
    "outcome": (1, "0.71", "trial 1: the outcome is 0.71, not 7.1", {"outcome": 0.71}),
    "noise": (2, "0.2", "trial 2: the noise is 0.2, not 0.1", {"noise": 0.2, "outcome": 0.512345678}),
    "heat": (1, "75", "trial 1: heat is 75.0, not ", {"heat": 75.0, "outcome": 7.1}),
    "n": (4, "9", "trial 4: n is 9, not ", {"n": 9, "outcome": None}),
    "failure": (3, "lost", "trial 3: it ended as lost, not infeasible", {"failure": "lost"}),
}


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("column", EDITS)
def test_one_cell_is_edited_and_exactly_that_is_amended(column: str, kind: str) -> None:
    study = make_lab()
    before, events = study.trials(), len(study.events())
    invoke("export", "lab", "--out", f"lab.{kind}")
    number, text, sentence, after = EDITS[column]
    (edit_csv if kind == "csv" else edit_workbook)(number, column, lambda _: text)
    refused = invoke("import", f"lab.{kind}", code=2).stderr
    assert refused.startswith(
        "Error: nothing was recorded: a row differs from the record; --amend REASON records it as an amendment\n"
        f"  lab.{kind}:{number + 1}: {sentence}"
    )
    would = invoke("import", f"lab.{kind}", "--dry-run").stdout.splitlines()
    assert would[0].startswith(f"Would amend {sentence}")
    assert would[1].startswith("Would import 5 rows: 0 new trials, 5 here before, 0 outcomes, 1 amended")
    assert study.trials() == before
    counts = run_json("import", f"lab.{kind}", "--amend", "a typing error", "--by", "Anna")
    assert (counts["known"], counts["amended"], counts["new"], counts["told"], counts["failed"]) == (5, 1, 0, 0, 0)
    (event,) = study.events()[events:]
    assert isinstance(event, belated.events.Amended)
    assert (event.number, event.reason, event.by) == (number, "a typing error", "Anna")
    trial = study.trial(number)
    found = {"outcome": trial.outcome, "noise": trial.noise, "failure": trial.failure, **trial.params}
    assert {name: found[name] for name in after} == after
    assert [t for t in study.trials() if t.number != number] == [t for t in before if t.number != number]
    head = study.head
    assert run_json("import", f"lab.{kind}")["amended"] == 0  # and once more, nothing
    assert study.head == head
    invoke("check")


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_an_export_as_it_is_changes_nothing_and_neither_does_an_old_one(kind: str) -> None:
    study = make_lab()
    invoke("export", "lab", "--out", f"lab.{kind}")
    study.tell(4, 0.9)  # empty in the file
    study.amend(1, 0.5, reason="read anew")
    study.amend(1, 0.71, reason="and again")
    study.amend(2, params={"heat": 75.0}, reason="the knob has steps")
    study.amend(3, take_back=True, reason="it was another flask")
    study.tell(3, 0.4)
    head = study.head
    counts = run_json("import", f"lab.{kind}")
    assert (counts["known"], counts["amended"], counts["told"], counts["failed"]) == (5, 0, 0, 0)
    assert study.head == head


def test_when_it_came_is_amended_too() -> None:
    study = make_lab()
    invoke("export", "lab", "--out", "lab.csv")
    edit_csv(1, "told_at", lambda _: "2026-03-01T14:30:00+00:00")
    assert "trial 1: it came at 2026-03-01T14:30:00+00:00, not at " in invoke("import", "lab.csv", code=2).stderr
    invoke("import", "lab.csv", "--amend", "the day before")
    assert study.trial(1).told_at == 1772375400.0


def test_digits_that_a_spreadsheet_took_away_are_no_change() -> None:
    study = make_lab()
    invoke("export", "lab", "--out", "lab.csv")
    for number in range(1, 6):
        edit_csv(number, "heat", lambda text: f"{float(text):.9g}")
    edit_csv(2, "outcome", lambda text: f"{float(text):.6g}")
    head = study.head
    assert run_json("import", "lab.csv")["amended"] == 0
    assert study.head == head
    edit_csv(2, "outcome", lambda _: "0.512")
    assert "trial 2: the outcome is 0.512, not 0.512345678" in invoke("import", "lab.csv", code=2).stderr


@pytest.mark.parametrize(
    ("written", "exact", "same"),
    [
        (0.123457, 0.12345678, True),
        (0.123456, 0.12345678, False),
        (75.0, 75.2, False),
        (1234568.0, 1234567.0, False),
        (1.23457e-8, 1.23456789e-8, True),
        (-2.34568, -2.345678, True),
        (3, 3, True),
        (3, 4, False),
        ("water", "water", True),
        (0.5, None, False),
    ],
)
def test_a_rounded_number_has_at_least_six_digits(written: object, exact: object, same: bool) -> None:
    assert is_rounded(written, exact) == same


def test_a_context_cannot_be_amended() -> None:
    invoke(*NEW, "--context-choice", "who", "new,loyal")
    invoke("ask", "--context", "who=new")
    invoke("export", "lab", "--out", "lab.csv")
    edit_csv(1, "context.who", lambda _: "loyal")
    said = "lab.csv:2: trial 1 was asked in the context {'who': 'new'}, which cannot be amended"
    assert said in invoke("import", "lab.csv", code=2).stderr


def test_on_a_terminal_it_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("belated.cli.import_.is_terminal", lambda: True)
    study = make_lab()
    invoke("export", "lab", "--out", "lab.csv")
    edit_csv(1, "outcome", lambda _: "0.71")
    head = study.head
    declined = CliRunner().invoke(main, ["import", "lab.csv"], input="n\n")
    assert "lab.csv:2: trial 1: the outcome is 0.71, not 7.1\nRecord this as an amendment? [y/N]: n" in declined.output
    assert declined.exit_code != 0
    assert study.head == head
    done = CliRunner().invoke(main, ["import", "lab.csv"], input="y\nthe decimal point\n")
    assert "Amended trial 1: the outcome is 0.71, not 7.1\nImported 5 rows: " in done.output
    assert study.log(1)[-1].reason == "the decimal point"


def test_amend_belongs_to_a_table() -> None:
    words = ["import", "--optuna", "sqlite:///old.db", "tuning", "--amend", "why"]
    make_lab()
    check_refused(words, "--amend belongs to an export that was edited")
