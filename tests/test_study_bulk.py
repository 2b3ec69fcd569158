"""Many rows at once are those rows one by one: a list as a whole or not at all, others in parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import belated.record.bulk
from belated import AlreadyTold, InvalidInput, Real, Study, UnknownTrial
from belated.errors import AlreadyEnded, Locked
from tests.support.refusals import refusal
from tests.support.studies import Clock, Place

LINE = {"x": Real(0, 1)}


def make_study(count: int, **more: Any) -> Study:
    study = Study.create(space=LINE, silence="unknown", seed=0, clock=Clock(), **more)
    study.add_many([{"params": {"x": x / count}, "key": f"flask {x}"} for x in range(count)])
    return study


def test_told_at_once_is_told_one_by_one(place: Place) -> None:
    at_once, singly = (place.create(space=LINE, patience=3) for place in (place, Place(None)))
    rows = [
        {"trial": 3, "value": 0.5, "at": 7.0},
        {"trial": 1, "value": 0.25, "noise": 0.1},
        {"trial": 3, "value": 0.5},
        {"trial": 5, "value": 1.0, "at": 2.0},
    ]
    for study in (at_once, singly):
        study.ask(n=5)
        study.fail(5, "lost")
    one_by_one = [singly.tell(row["trial"], row["value"], **dict(list(row.items())[2:])) for row in rows]
    assert at_once.tell_many(rows, by="anna", remark="the night run") == one_by_one
    assert [receipt.status for receipt in one_by_one] == ["heard", "late", "duplicate", "heard"]
    told = [event for event in at_once.events() if hasattr(event, "value")]
    assert [(event.number, event.by, event.remark) for event in told] == [
        (number, "anna", "the night run") for number in (3, 1, 5)
    ]
    assert at_once.ask().params == singly.ask().params
    again = at_once.tell_many(rows)
    assert {receipt.status for receipt in again} == {"duplicate"}


def test_a_list_is_told_as_a_whole_or_not_at_all() -> None:
    study = make_study(4)
    study.tell(2, 0.5)
    study.fail(4, "withdrawn")
    before = study.events()
    good = {"trial": 1, "value": 0.25}
    for bad, kind, sentence in (
        ({"trial": 2, "value": 0.75}, AlreadyTold, "trial 2 was told before, with 0.5"),
        ({"trial": 1, "value": 0.75}, AlreadyTold, "trial 1 was told before, with 0.25"),
        ({"trial": 4, "value": 0.75}, AlreadyEnded, "trial 4 ended as withdrawn"),
        ({"trial": 9, "value": 0.75}, UnknownTrial, "there is no trial 9"),
        ({"key": "flask 9", "value": 0.75}, UnknownTrial, "there is no trial with the key 'flask 9'"),
        ({"trial": 3, "key": "flask 0", "value": 0.75}, InvalidInput, "trial 3 does not have the key 'flask 0'"),
        ({"trial": 3}, InvalidInput, "a row needs its value"),
        ({"value": 3}, InvalidInput, "a row needs its trial, or the key"),
        ({"trial": 3, "value": 0.75, "when": 3}, InvalidInput, "a row has trial, key, value, at, noise, and no 'when'"),
        ({"trial": 3, "value": "0.75"}, InvalidInput, "value must be a number"),
        (7, InvalidInput, "a row must be a dictionary"),
    ):
        said = refusal(kind, lambda bad=bad: study.tell_many([good, bad]))  # type: ignore[misc]
        assert said.startswith(f"row 2: {sentence}")
        assert study.events() == before
    study.close(lock=True)
    refusal(Locked, lambda: study.tell_many([good]))


def test_a_key_names_the_trial_that_was_asked_with_it() -> None:
    study = make_study(2)
    study.ask(n=2, key="a batch")
    assert [receipt.number for receipt in study.tell_many([{"key": "flask 1", "value": 0.5}])] == [2]
    assert "give the trial too" in refusal(InvalidInput, lambda: study.tell_many([{"key": "a batch", "value": 0.5}]))
    assert study.tell_many([{"trial": 4, "key": "a batch", "value": 0.5}])[0].number == 4


def test_of_conversions_the_conversion_stands_in_one_list_too() -> None:
    study = Study.create(space=LINE, outcomes="conversion", silence="fading", patience="7d", seed=0, clock=Clock())
    study.ask(n=2)
    study.tell_many(
        [
            {"trial": 1, "value": 0.0},
            {"trial": 1, "value": 1.0},
            {"trial": 2, "value": 1.0},
            {"trial": 2, "value": 0.0},
        ]
    )
    assert [trial.outcome for trial in study.trials()] == [1.0, 1.0]
    assert len(study.events()) == 5


def test_what_comes_one_by_one_is_written_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(belated.record.bulk, "PART", 3)
    study = make_study(8)
    seen: list[int] = []

    def count() -> Iterator[dict[str, Any]]:
        for number in range(1, 9):
            seen.append(len(study.trials()) - sum(trial.outcome is None for trial in study.trials()))
            yield {"trial": number, "value": number / 8 if number != 8 else "none"}

    said = refusal(InvalidInput, lambda: study.tell_many(count()))
    assert said == "row 8: value must be a number (got 'none') (6 rows before were written)"
    assert seen == [0, 0, 0, 3, 3, 3, 6, 6]
    assert [trial.number for trial in study.trials() if trial.outcome is not None] == [1, 2, 3, 4, 5, 6]
    added = study.add_many({"params": {"x": x / 8}, "value": x / 8} for x in range(7))
    assert [trial.number for trial in added] == list(range(9, 16))
    wrong = ({"params": {"x": x}} for x in (0.0, 1.0, 1.0, 0.0, "two"))
    said = refusal(InvalidInput, lambda: study.add_many(wrong))
    assert said.startswith("row 5: ")
    assert said.endswith("(3 rows before were written)")
    assert study.rounds == 18
