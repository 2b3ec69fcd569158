"""Another name, and a study that is no longer there, on every ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

import belated
from belated import AlreadyExists, Deleted, InvalidInput
from tests.support.refusals import refusal
from tests.support.studies import Place


def test_open_handles_go_on_with_the_renamed_study(place: Place) -> None:
    study = place.create("flsk")
    other = place.another(study)
    trial = study.ask()
    study.rename("flask", reason="a letter was missing", by="Anna")
    assert other.tell(trial, 0.5).status == "heard"
    assert (study.name, other.name) == ("flask", "flask")
    event = study.events()[1]
    assert isinstance(event, belated.events.Renamed)
    assert (event.before, event.name, event.by) == ("flsk", "flask", "Anna")
    study.rename("flask")  # nothing to do
    assert len(study.events()) == 3
    refusal(InvalidInput, lambda: study.rename("a/b"))
    if place.url is not None:
        assert belated.studies(place.url) == ["flask"]
        place.create("taken")
        refusal(AlreadyExists, lambda: study.rename("taken"))
        assert belated.check(place.url).ok


def test_a_deleted_study_is_gone_and_open_handles_say_so(place: Place) -> None:
    study = place.create()
    other = place.another(study)
    trial = study.ask()
    other.trials()
    head = study.head
    refusal(InvalidInput, lambda: study.delete("another", reason="tidy"))
    study.delete("lab", reason="it was to learn the buttons", by="Anna")
    for call in (study.trials, other.trials, other.ask, lambda: other.tell(trial, 0.5), other.events):
        said = refusal(Deleted, call)
        assert "lab was deleted by Anna on " in said
        assert "(it was to learn the buttons)" in said
        assert head in said
    if place.url is not None:
        assert belated.studies(place.url) == []
        assert place.create().trials() == []  # a new study
        report = belated.check(place.url)
        assert report.ok
        assert any("lab was deleted by Anna" in remark for remark in report.remarks)
        refusal(Deleted, other.trials)


def test_tombstones_are_backed_up_and_restored(durable: Place, tmp_path: Path) -> None:
    if durable.store is not None:
        pytest.skip("this server is in the process of the test, whose locks a backup holds")
    place = durable
    assert place.url is not None
    study = place.create()
    study.ask()
    belated.backup(place.url, tmp_path / "before.db")
    study.delete("lab", reason="tidy")
    place.create("other").ask()
    belated.backup(place.url, tmp_path / "after.db")
    new = f"sqlite:///{tmp_path}/new.db"
    belated.restore(tmp_path / "after.db", new)
    assert any("lab was deleted" in remark for remark in belated.check(new).remarks)
    belated.restore(tmp_path / "before.db", place.url)  # it was still there then
    assert belated.studies(place.url) == ["lab", "other"]
    assert study.rounds == 1


@pytest.mark.parametrize("reason", ["", " "])
def test_a_deletion_needs_a_reason(reason: str) -> None:
    study = Place(None).create()
    refusal(InvalidInput, lambda: study.delete("lab", reason=reason))
