"""Trials as rows of a file, and back: exact, whatever the names and options are."""

from dataclasses import replace
from pathlib import Path

import pytest

import belated
from belated.record.events import Amended, Asked, Failed, Refused, Told
from tests.cli.shell import STORE, invoke, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


ODD = ["", " ", "1", "a,b", 'say "x"', "two\nlines", "é", "null", "=1+1"]


def odd_study(name: str) -> belated.Study:
    """Names and options that a careless format would lose."""
    return belated.Study.create(
        STORE,
        name,
        space={
            "x": belated.Real(-1e-9, 1e9),
            "number": belated.Integer(-5, 5),
            "odd": belated.Choice(*ODD, 1, None, False),
            "plain": belated.Choice("a", 2, 2.5, None),
        },
        context={"outcome": belated.Real(0, 1), "x": belated.Choice("u", "v")},
        silence="floor",
        floor=0.0,
        patience=3,
        seed=0,
    )


def lived(study: belated.Study) -> None:
    """Every kind of trial that there is."""
    context = {"outcome": 1 / 3, "x": "v"}
    for odd in [*ODD, 1, None, False]:
        study.ask(context=context, params={"odd": odd})
    study.tell(2, 0.1 + 0.2, noise=1e-17)
    study.tell(1, -1e-300, at=1234567.25)
    study.ask(context=context, n=3)
    study.tell(11, 5e300)
    study.fail(5, "lost")
    study.fail(6, "infeasible")
    study.fail(7, "withdrawn")
    study.fail(8, "lost")
    study.tell(8, 0.5)
    study.amend(2, 0.7, reason="typo")
    for number, value in ((1, 0.5), (6, 2.0)):
        with pytest.raises(belated.BelatedError):
            study.tell(number, value)
    study.ask(context=context)
    study.amend(2, 0.75, noise=0.5, reason="two\nlines, é")
    study.add({"x": 0.1, "number": 2, "odd": "1", "plain": 2.5}, 1.0, context=context, at=7.0)
    study.ask(context=context)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_the_round_trip_is_exact(kind: str) -> None:
    old, new = odd_study("old"), odd_study("new")
    lived(old)
    invoke("export", "old", "--out", f"old.{kind}")
    printed = run_json("import", "new", f"old.{kind}")
    assert (printed["rows"], printed["new"], printed["known"]) == (18, 18, 0)
    invoke("export", "new", "--out", f"new.{kind}")
    assert Path(f"new.{kind}").read_bytes() == Path(f"old.{kind}").read_bytes()
    assert invoke("export", "new", "--format", kind).stdout_bytes == Path(f"old.{kind}").read_bytes()

    def facts(study: belated.Study) -> list[object]:
        return [
            (t.number, t.params, t.context, t.asked_at, t.status, t.outcome, t.delay, t.told_at, t.noise, t.failure)
            for t in study.trials()
        ]

    assert facts(new) == facts(old)
    assert run_json("check", "new")["ok"]
    assert run_json("check", "old")["ok"]


def test_a_csv_and_json_lines_of_one_study_agree() -> None:
    """The one has outcomes in effect, the other how they came about: both may be taken in, in any order."""
    old = odd_study("old")
    lived(old)
    invoke("export", "old", "--out", "old.csv")
    invoke("export", "old", "--out", "old.jsonl")
    for first, second in (("csv", "jsonl"), ("jsonl", "csv")):
        odd_study(first)
        invoke("import", first, f"old.{first}")
        printed = run_json("import", first, f"old.{second}")
        assert (printed["new"], printed["told"], printed["failed"]) == (0, 0, 0)


def test_an_export_imported_where_it_came_from_changes_nothing_and_fills_what_is_missing() -> None:
    old = odd_study("old")
    lived(old)
    invoke("export", "old", "--out", "early.jsonl")
    old.tell(3, 0.25)
    invoke("export", "old", "--out", "later.jsonl")
    before = Path("later.jsonl").read_bytes()
    for file in ("early.jsonl", "later.jsonl"):
        assert run_json("import", "old", file)["new"] == 0
        assert invoke("export", "old", "--format", "jsonl").stdout_bytes == before
    copy = odd_study("copy")
    invoke("import", "copy", "early.jsonl")
    assert (run_json("import", "copy", "later.jsonl")["told"], copy.trial(3).outcome) == (1, 0.25)


def happened(study: belated.Study) -> list[list[object]]:
    """All that happened to each trial, in the order in which it did; and after which ask. When it was written is of
    one record."""
    lives: list[list[object]] = []
    for event in study.events():
        if isinstance(event, Asked):
            lives.append([])
        elif isinstance(event, Told):
            lives[event.number - 1].append((len(lives), replace(event, key=None, recorded_at=None)))
        elif isinstance(event, Refused | Failed | Amended) and event.number is not None:
            lives[event.number - 1].append((len(lives), replace(event, recorded_at=None)))
    return lives


def test_json_lines_carry_what_happened_on_the_way() -> None:
    old, new = odd_study("old"), odd_study("new")
    lived(old)
    invoke("export", "old", "--out", "old.jsonl")
    printed = run_json("import", "new", "old.jsonl")
    assert (printed["told"], printed["failed"], printed["refused"], printed["amended"]) == (5, 4, 2, 2)
    assert happened(new) == happened(old)
    assert any(isinstance(event, Amended) and event.reason == "two\nlines, é" for event in new.events())
    again = run_json("import", "new", "old.jsonl")
    assert (again["new"], again["told"], again["failed"], again["refused"], again["amended"]) == (0, 0, 0, 0, 0)
    assert run_json("import", "old", "old.jsonl")["amended"] == 0  # where it came from
    old.amend(2, 0.8, reason="again")
    old.fail(3, "lost")
    with pytest.raises(belated.BelatedError):
        old.tell(2, 0.1)
    invoke("export", "old", "--out", "later.jsonl")
    grown = run_json("import", "new", "later.jsonl")
    assert (grown["new"], grown["failed"], grown["refused"], grown["amended"]) == (0, 1, 1, 1)
    assert [[event for _, event in life] for life in happened(new)] == [  # type: ignore[misc]
        [event for _, event in life]
        for life in happened(old)  # type: ignore[misc]
    ]
    invoke("export", "new", "--out", "new.jsonl")
    assert run_json("import", "new", "old.jsonl")["amended"] == 0  # an early export changes nothing later


@pytest.mark.parametrize("kind", ["csv", "jsonl", "xlsx"])
def test_remarks_of_other_columns_go_along_with_an_export(kind: str) -> None:
    if kind == "xlsx":
        pytest.importorskip("openpyxl")
    for name in ("old", "new"):
        invoke("new", name, "--real", "x", "0", "1", "--silence", "unknown", "--seed", "0")
    Path("past.csv").write_text(
        'x,Exp,outcome,comment,Date\n0.5,=1+1,1,"warm, then ""cold""",\n0.25,"""A""",,,2.3.2026\n'
    )
    invoke("import", "old", "past.csv", "--remark", "from the book", "--map", "Date=")
    invoke("export", "old", "--out", f"old.{kind}")
    assert "=1+1" not in [line.split(",")[-1] for line in Path(f"old.{kind}").read_text(errors="ignore").splitlines()]
    invoke("import", "new", f"old.{kind}")
    for name in ("old", "new"):
        remarks = [trial.remark for trial in belated.Study.open(STORE, name).trials()]
        assert remarks[0].startswith('Exp: =1+1; comment: warm, then "cold"; from the book')
        assert remarks[1] == 'Exp: "A"; from the book'
