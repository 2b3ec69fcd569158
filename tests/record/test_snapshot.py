"""Snapshots: opening takes one, nobody depends on one, and nobody trusts one over the events."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import belated.record.kept_events
import belated.record.snapshot
from belated import Choice, Real, Study, Unreadable, backup, check
from belated.cli.io.transaction import apply_at_once
from belated.record.ledger import open_store
from belated.record.ledger.chain import Head
from belated.record.snapshot import find_snapshot, write_snapshot
from belated.record.state import State
from tests.support.refusals import refusal
from tests.support.snapshots import check_snapshot
from tests.support.studies import DURABLE, Clock, Place

SPACE = {"x": Real(0, 1), "kind": Choice("a", "b")}


@pytest.fixture(autouse=True)
def snapshots_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(belated.record.snapshot, "EVERY", 8)


@pytest.fixture(params=DURABLE)
def kept(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A place with snapshots of its own; those of a server are the server's."""
    with Place.at(request.param, request) as place:
        yield place


def make_study(place: Place, count: int = 6) -> Study:
    study = place.create(space=SPACE, initial=100)
    for number in range(1, count + 1):
        study.tell(study.ask(key=f"ask {number}"), number / 10, by="anna", remark="by hand", key=f"tell {number}")
    return study


def list_heads(place: Place) -> list[int]:
    """The positions that sound snapshots of the study stand for."""
    ledger = open_store(place.url or "").ledger("lab")
    found = find_snapshot(ledger, Study.open(place.url or "", "lab").original_settings)
    ledger.close()
    return [] if found is None else [found[1].position]


def find_head(study: Study) -> Head:
    position, hash_ = study.head.split()
    return Head(int(position), bytes.fromhex(hash_))


def damage(place: Place, statement: str, *words: object) -> None:
    """Change the file behind everybody's back."""
    place.disconnect()
    with closing(sqlite3.connect(Path((place.url or "").removeprefix("sqlite:///")))) as connection, connection:
        connection.execute(statement, words)


def test_whatever_happened_it_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(belated.record.kept_events, "PAGE", 2)
    monkeypatch.setattr(belated.record.kept_events, "MOST_PAGES", 2)
    around = {"who": Choice("new", "loyal"), "age": Real(0, 9)}
    here = {"who": "new", "age": 2.5}
    study = Study.create(
        space=SPACE, context=around, silence="unknown", patience=3, floor=0.0, initial=3, seed=4, clock=Clock()
    )
    study.ask(contexts=[here, {"who": "loyal", "age": 1.0}], key="a batch", by="anna", remark="the first two")
    study.tell_many([{"trial": 2, "value": 0.5, "noise": 0.1}, {"trial": 1, "value": 0.25}], by="bob")
    study.tell(2, 0.5, noise=0.1, key="again")
    for number in range(3, 9):
        study.tell(study.ask(context=here), number / 10, key=f"tell {number}")
    study.tell(4, 0.4, key="once more")
    study.add({"x": 0.5, "kind": "a"}, 0.75, context=here, key="added")
    study.amend(3, 0.9, reason="a typing error")
    study.amend(4, params={"x": 0.125}, reason="the knob has steps")
    study.amend(5, take_back=True, reason="of another flask")
    study.tell(5, 0.375, remark="this one is")
    study.undo()
    study.amend(ranges={"x": (0.0, 2.0)}, reason="the best is at the edge", by="anna")
    study.amend(floor=-1.0, reason="it can be worse")
    study.ask(context=here)
    study.fail(study.ask(context=here), "infeasible", reason="it burnt")
    study.amend(patience="2d", reason="by the clock", by="bob")
    study.refit()
    study.undo(by="bob")
    study.rename("another")
    study.close(lock=True)
    study.reopen(reason="a mistake")
    events = study.events()
    for count in range(1, len(events) + 1):
        check_snapshot(study.original_settings, events, count, 2000.0, here)


def test_a_patience_that_the_study_chose_is_put_back() -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", patience="auto", initial=10**6, seed=0)
    run = belated.simulate(study, lambda p: p["x"], delay=belated.delays.Fixed(9), rounds=20, noise=0.1, seed=0)
    assert list(run)
    assert study.settings.patience.m == 9.0
    for count in (20, len(study.events())):
        check_snapshot(study.original_settings, study.events(), count, study.clock())


def test_opening_takes_the_snapshot_and_what_follows(kept: Place) -> None:
    study = make_study(kept)
    assert list_heads(kept) == [12]  # whoever opens a study and reads so much makes one
    asked, told = study.ask(), study.tell(7, 0.7)
    opened = kept.another(study)
    assert opened.trials() == study.trials()
    assert opened.head == study.head
    assert list_heads(kept) == [12]  # nothing to speak of has happened since
    assert opened.tell(7, 0.7, key="tell 7").status == "duplicate"
    assert opened.ask(key="ask 3") == study.trial(3)
    assert opened.tell(3, 0.3, key="tell 3").status == "heard"
    assert refusal(belated.KeyTaken, lambda: opened.tell(3, 0.4, key="tell 3"))
    assert (asked.number, told.number) == (7, 7)
    assert check(kept.url or "", "lab").ok


def test_many_changes_at_once_begin_with_the_snapshot_too(kept: Place) -> None:
    study, url = make_study(kept), kept.url or ""
    assert list_heads(kept) == [12]  # the newest event
    assert apply_at_once(url, "lab", lambda copy: copy.add({"x": 0.5, "kind": "a"}, 0.1), asks=True).number == 7
    study.ask()
    assert apply_at_once(url, "lab", lambda copy: copy.tell_many([{"trial": 8, "value": 0.7}]))[0].number == 8
    assert [trial.outcome for trial in kept.another(study).trials(last=2)] == [0.1, 0.7]
    assert check(url, "lab").ok


def test_an_old_event_is_read_when_somebody_looks_at_it_and_is_verified_then(tmp_path: Path) -> None:
    place = Place(f"sqlite:///{tmp_path}/lab.db")
    study = make_study(place)
    assert list_heads(place) == [12]
    damage(place, "UPDATE events SET body = body || ' ' WHERE position = 5")  # the third ask
    opened = place.another(study)
    assert opened.counts()["heard"] == 6
    assert "its hash does not fit" in refusal(Unreadable, opened.trials)
    assert not check(place.url or "", "lab").ok
    place.disconnect()


def test_one_that_is_not_sound_is_as_if_there_were_none_and_is_replaced(tmp_path: Path) -> None:
    place = Place(f"sqlite:///{tmp_path}/lab.db")
    study = make_study(place)
    trials = study.trials()
    for change in (
        "UPDATE snapshots SET body = substr(body, 1, length(body) - 1)",
        "UPDATE snapshots SET body = CAST(substr(body, 1, 100) || x'00' || substr(body, 102) AS BLOB)",
        "UPDATE snapshots SET body = x''",
        "UPDATE snapshots SET part = part + 1, body = zeroblob(50)",
        "UPDATE snapshots SET position = 999",
        "DELETE FROM snapshots",
        "INSERT INTO snapshots SELECT study, position + 1, 0, x'00' FROM snapshots",  # whoever made it was killed
    ):
        assert list_heads(place) == [12]
        damage(place, change)
        assert place.another(study).trials() == trials
        assert check(place.url or "", "lab").ok
    place.disconnect()


def test_one_of_another_format_or_of_another_past_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(f"sqlite:///{tmp_path}/lab.db")
    study = make_study(place)
    ledger = open_store(place.url or "").ledger("lab")
    state = State.after(study.original_settings, study.events())
    with monkeypatch.context() as other:
        other.setattr(belated.record.snapshot, "FORMAT", 0)
        ledger.save_snapshot(12, write_snapshot(state, find_head(study)))
    assert find_snapshot(ledger, study.original_settings) is None
    ledger.save_snapshot(12, write_snapshot(state, Head(12, bytes(32))))
    assert find_snapshot(ledger, study.original_settings) is None
    ledger.save_snapshot(12, write_snapshot(state, find_head(study)))
    assert find_snapshot(ledger, study.original_settings) is not None
    ledger.close()
    place.disconnect()


def test_a_check_finds_one_that_is_not_what_the_events_come_to(kept: Place) -> None:
    study = make_study(kept)
    wrong = State.after(study.original_settings, study.events())
    wrong.table.column("y")[2] = 7.0
    ledger = open_store(kept.url or "").ledger("lab")
    ledger.save_snapshot(12, write_snapshot(wrong, find_head(study)))
    report = check(kept.url or "", "lab")
    assert [finding.invariant for finding in report.findings] == ["I14"]
    assert "its snapshot was not what its events come to" in str(report)
    assert list(ledger.load_snapshots()) == []
    ledger.close()
    assert check(kept.url or "", "lab").ok


def test_backups_have_none_and_a_deleted_study_leaves_none(tmp_path: Path) -> None:
    place = Place(f"sqlite:///{tmp_path}/lab.db")
    make_study(place)
    assert list_heads(place) == [12]
    place.disconnect()
    backup(place.url or "", tmp_path / "copy.db")
    for name, count in (("lab.db", 1), ("copy.db", 0)):
        with closing(sqlite3.connect(tmp_path / name)) as connection:
            assert connection.execute("SELECT count(*) FROM snapshots").fetchone() == (count,)
    study = Study.open(place.url or "", "lab")
    study.delete("lab", reason="a test")
    study.disconnect()
    with closing(sqlite3.connect(tmp_path / "lab.db")) as connection:
        assert connection.execute("SELECT count(*) FROM snapshots").fetchone() == (0,)


def test_where_nothing_may_be_written_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(f"sqlite:///{tmp_path}/lab.db")
    monkeypatch.setattr(belated.record.snapshot, "EVERY", 10**6)
    trials = make_study(place).trials()
    place.disconnect()
    monkeypatch.setattr(belated.record.snapshot, "EVERY", 1)
    (tmp_path / "lab.db").chmod(0o444)
    monkeypatch.setattr("os.access", lambda path, mode: False)  # also where the tests run as root
    assert Study.open(place.url or "", "lab").trials() == trials
