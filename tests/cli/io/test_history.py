"""The history of a trial in JSON lines."""

import json
from pathlib import Path
from typing import Any

import pytest

import belated
from tests.cli.shell import SPACE, STORE, invoke, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


STEP = {"event": "told", "value": 0.5, "at": 7.0, "known_from": 2}


LOST = {"event": "failed", "kind": "lost", "at": 7.0, "known_from": 2}


AMENDED = {"event": "amended", "value": 0.7, "reason": "typo", "at": 8.0, "known_from": 2}


@pytest.mark.parametrize(
    ("ends", "sentence"),
    [
        ({"history": 3}, "history must be a list of steps (got 3)"),
        (
            {"history": [3]},
            "whose event is one of told, converted, refused, failed, amended, undone (got 3)",
        ),
        ({"history": [{**STEP, "event": "asked"}]}, "must be an object whose event is one of"),
        (
            {"history": [{**STEP, "why": "?"}]},
            "told has no field 'why' (it has value, noise, params, at, by",
        ),
        ({"history": [{**STEP, "value": True}]}, "value must be a number (got True)"),
        ({"history": [{**STEP, "noise": "a"}]}, "noise must be a number (got 'a')"),
        ({"history": [{**STEP, "at": None}]}, "at must be a number (got None)"),
        ({"history": [{**STEP, "known_from": 1.5}]}, "known_from must be an integer (got 1.5)"),
        ({"history": [{**LOST, "kind": "gone"}]}, "kind must be one of lost, infeasible, withdrawn (got 'gone')"),
        ({"history": [STEP]}, "its history ends with 0.5, the row says nothing; change both, or leave history out"),
        ({"outcome": 0.7, "history": [STEP]}, "its history ends with 0.5, the row says 0.7"),
        ({"failure": "lost", "history": [STEP, LOST]}, "its history ends with 0.5, the row says lost"),
        ({"outcome": 0.7, "history": [AMENDED]}, "trial 1 has no outcome to amend; tell it"),
        ({"outcome": 0.7, "history": [STEP, {**AMENDED, "reason": " "}]}, "reason must say why (got ' ')"),
        ({"outcome": 0.5, "history": [{**STEP, "event": "refused"}, STEP]}, "cannot have happened: there is nothing"),
        ({"outcome": 0.5, "history": [STEP, LOST]}, "trial 1 was told 0.5 before; it cannot fail any more"),
    ],
)
def test_a_history_that_cannot_have_happened(ends: dict[str, Any], sentence: str) -> None:
    invoke("new", "lab", *SPACE)
    Path("past.jsonl").write_text(json.dumps({"number": 1, "params": {"x": 0.5, "act": "relu"}, **ends}))
    refused = invoke("import", "past.jsonl", code=2).stderr
    assert f"past.jsonl:1: {sentence}" in refused or sentence in refused
    assert run_json("show")["trials"] == []


def test_a_history_that_went_another_way_here() -> None:
    invoke("new", "lab", *SPACE)
    row = {"number": 1, "params": {"x": 0.5, "act": "relu"}, "asked_at": 1.0, "outcome": 0.7}
    Path("one.jsonl").write_text(json.dumps({**row, "history": [STEP, AMENDED]}))
    Path("two.jsonl").write_text(json.dumps({**row, "outcome": 0.9, "history": [STEP, {**AMENDED, "value": 0.9}]}))
    invoke("import", "one.jsonl")
    assert "two.jsonl:1: this trial has another history here: told 0.5, amended 0.7 (got told 0.5, amended 0.9)" in (
        invoke("import", "two.jsonl", code=2).stderr
    )


def test_corrections_undos_and_who_come_back(lab: belated.Study) -> None:
    """A study, and another one made of its JSON lines: the same trials, told by the same people."""
    lab.amend(1, take_back=True, reason="wrong flask", by="Anna")
    lab.tell(1, 0.9, by="Bob", remark="cloudy", params={"x": 0.75})
    lab.fail(2, "infeasible", by="Bob", reason="it boils")
    lab.amend(2, failure="lost", by="Anna", reason="the tube broke")
    for trial in lab.ask(n=3, by="Cleo"):
        lab.tell(trial, 0.1 * trial.number, by="Cleo")
    lab.undo(by="Cleo", reason="not done yet")
    lab.amend(4, 0.7, at=5.0, reason="typo", by="Anna")
    lab.undo(by="Anna")
    lab.ask(by="Dora")
    lab.undo(by="Dora")
    invoke("export", "--out", "old.jsonl")
    invoke("new", "other", *SPACE)
    invoke("import", "other", "old.jsonl")
    other = belated.Study.open(STORE, "other")
    before, after = lab.trials(), other.trials()
    for old, new in zip(before, after, strict=True):
        assert (old.params, old.outcome, old.failure, old.status) == (new.params, new.outcome, new.failure, new.status)
        assert (old.ended_by, old.asked_params, old.delay) == (new.ended_by, new.asked_params, new.delay)
    assert belated.check(STORE, "other").ok
    assert run_json("import", "other", "old.jsonl")["new"] == 0
    assert run_json("import", "lab", "old.jsonl")["new"] == 0
    assert other.trials() == after
    invoke("export", "other", "--out", "new.jsonl")
    assert Path("new.jsonl").read_bytes() == Path("old.jsonl").read_bytes()
