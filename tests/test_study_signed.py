"""Who did it, and what they said with it, on every event and every ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import belated
from belated import InvalidInput, Study
from tests.support.refusals import refusal
from tests.support.studies import Place


def do_everything(study: Study, **said: Any) -> None:
    """Every verb that writes an event of its own."""
    first, second, third = study.ask(n=3, **said)
    study.tell(first, 0.5, key="k", **said)
    study.tell(first, 0.5, key="again", **said)
    with pytest.raises(belated.AlreadyTold):
        study.tell(first, 0.6, **said)
    study.add({"x": 0.25}, 0.7, **said)
    by = said["by"]
    study.fail(second, "lost", by=by, reason="broken")
    study.fail([third], "withdrawn", by=by, reason="broken")
    study.amend(first, 0.4, by=by, reason="typo")
    study.amend(floor=-1.0, by=by, reason="colder")
    study.undo(by=by)
    study.close(**said)
    study.reopen(by=by, reason="more")


def test_every_event_says_who_and_why(place: Place) -> None:
    study = place.create()
    do_everything(study, by="Anna", remark="on the bench")
    for handle in (study, place.restart(study)):
        events = handle.events()
        assert {event.by for event in events} == {"Anna"}
        for event in events:
            said = getattr(event, "remark", "") or getattr(event, "reason", "")
            assert said or isinstance(event, belated.events.Undone)
        trial = handle.trial(1)
        assert (trial.asked_by, trial.ended_by, trial.remark) == ("Anna", "Anna", "on the bench")
        assert handle.trial(2).remark == "on the bench; broken"


def test_nobody_is_named_unless_somebody_is(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BELATED_BY", raising=False)
    study = place.create()
    study.tell(study.ask(), 0.5)
    monkeypatch.setenv("BELATED_BY", "Bob")
    study.tell(study.ask(), 0.5)
    study.tell(study.ask(by="Anna"), 0.5, by="Anna")
    assert [event.by for event in study.events()] == [None, None, "Bob", "Bob", "Anna", "Anna"]


def test_who_made_the_study_is_kept_and_is_no_difference(place: Place) -> None:
    study = place.create(by="Anna")
    assert study.settings.created_by == "Anna"
    if place.url is not None:
        assert place.create(by="Bob").settings.created_by == "Anna"
        assert place.create().settings.created_by == "Anna"


def test_a_retry_by_another_person_is_the_same_call(place: Place) -> None:
    study = place.create()
    trial = study.ask(key="a", by="Anna")
    assert study.ask(key="a", by="Bob", remark="once more").number == trial.number
    receipt = study.tell(trial, 0.5, key="t", by="Anna", remark="fine")
    assert study.tell(trial, 0.5, key="t", by="Bob") == receipt
    added = study.add({"x": 0.5}, 0.1, key="add", by="Anna")
    assert study.add({"x": 0.5}, 0.1, key="add", by="Bob") == added
    assert [event.by for event in study.events()] == ["Anna"] * 4


@pytest.mark.parametrize("by", ["", " ", "x" * 256, "a\nb", 7, "\ud800"])
def test_a_bad_name_is_refused_and_nothing_is_written(by: Any) -> None:
    study = Place(None).create()
    assert "by must be" in refusal(InvalidInput, lambda: study.ask(by=by))
    assert study.events() == []


def test_when_it_was_made_stays(tmp_path: Path) -> None:
    words: dict[str, Any] = {"space": {"x": belated.Real(0, 1)}, "silence": "unknown", "seed": 0}
    made = belated.Study.create(f"sqlite:///{tmp_path}/lab.db", "lab", **words).settings.created_at
    assert made is not None
    again = belated.Study.create(f"sqlite:///{tmp_path}/lab.db", "lab", **words)
    assert again.settings.created_at == made
    assert (again.log()[0].position, again.log()[0].at) == (0, made)


DAY = 86400.0


def test_an_outcome_of_last_week_says_when_it_was_written(place: Place) -> None:
    study = place.create()
    study.ask(n=3)
    now = study.clock()
    study.tell(1, 0.5, at=now - 7 * DAY)
    study.tell(2, 0.5)
    study.tell_many([{"trial": 3, "value": 0.1, "at": now - DAY}])
    study.add({"x": 0.5}, 0.4, at=now - 30 * DAY)
    for handle in (study, place.restart(study)):
        told = [event for event in handle.events() if not isinstance(event, belated.events.Asked) or event.by_hand]
        assert [event.recorded_at is None for event in told] == [False, True, False, False, False]
        assert all(abs(event.recorded_at - now) < 60 for event in told if event.recorded_at is not None)
        log = handle.log(since=now - 60)  # when it was written, not when it came
        assert len(log) >= len(handle.events())
        written = [entry.at for entry in log if entry.number is not None]  # a study is made at a time of the real clock
        assert written == sorted(written)
        assert [", dated " in entry.sentence for entry in log[-5:]] == [True, False, True, True, True]
        assert handle.trial(1).told_at == now - 7 * DAY
