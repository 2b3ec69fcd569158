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


@pytest.mark.parametrize("name", ["größe", "Обжиг-3", "触媒_2", "उत्प्रेरक", "تجربة.1", "n" * 128, "-x"])
def test_letters_and_digits_of_any_script_are_a_name(durable: Place, name: str) -> None:
    study = durable.create(name)
    study.tell(study.ask(), 0.5)
    assert durable.url is not None
    assert belated.studies(durable.url) == [name]
    assert belated.check(durable.url, name).ok
    study.rename(f"{name[:100]}-neu")
    assert belated.Study.open(durable.url, f"{name[:100]}-neu").trials() == study.trials()


def test_the_same_letters_are_the_same_name(durable: Place) -> None:
    study = durable.create("gro\u0308\u00dfe")  # as a Mac writes it
    assert study.name == "gr\u00f6\u00dfe"
    assert durable.url is not None
    assert belated.Study.open(durable.url, "gro\u0308\u00dfe").name == study.name
    study.delete("gro\u0308\u00dfe", reason="enough")


@pytest.mark.parametrize(
    "name", ["", "...", "a b", "a/b", "x²", "½", "😀", "n" * 129, "触" * 86, "a\u200bb", "\ud800", 3]
)
def test_everything_else_is_refused_with_the_rule(name: object) -> None:
    said = refusal(InvalidInput, lambda: Place(None).create(name))  # type: ignore[arg-type]
    assert said.startswith('name must be 1 to 128 letters, digits, ".", "_" and "-" (at most 255 bytes)')


def test_a_study_that_has_a_name_and_no_url_says_that_it_is_in_memory() -> None:
    space = {"x": belated.Real(0, 1)}
    made = belated.Study.create(name="flask", space=space, silence="unknown", seed=0)
    assert repr(made) == "Study(flask, in memory: default, maximize, silence=unknown, 0 trials, 0 heard)"


def test_a_study_is_found_where_the_variable_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BELATED_STORE", raising=False)
    assert "BELATED_STORE" in refusal(InvalidInput, lambda: belated.Study.open(name="flask"))
    monkeypatch.setenv("BELATED_STORE", f"sqlite:///{tmp_path}/lab.db")
    space = {"x": belated.Real(0, 1)}
    belated.Study.create(f"sqlite:///{tmp_path}/lab.db", "flask", space=space, silence="unknown", seed=0).ask()
    assert belated.Study.open(name="flask").rounds == 1
    refusal(InvalidInput, lambda: belated.Study.open())
    refusal(belated.Unreachable, lambda: belated.Study.open(f"sqlite:///{tmp_path}/other.db", "flask"))


def test_a_url_in_memory_is_refused_with_the_remedy() -> None:
    said = refusal(InvalidInput, lambda: belated.studies("sqlite:///:memory:"))
    assert "for a study in memory leave url out" in said
