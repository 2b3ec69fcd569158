"""Backups: whole studies, of one moment, verified; and back into any store, where nothing is overwritten."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

import belated
from belated import (
    AlreadyExists,
    BelatedError,
    InvalidInput,
    Real,
    StoreChanged,
    Study,
    UnknownStudy,
    Unreachable,
    Unreadable,
)
from belated.record.ledger import open_store
from belated.record.ledger.chain import Head
from tests.support.refusals import refusal


def create(url: str, name: str = "lab", **said: object) -> Study:
    words = {"space": {"x": Real(0, 1)}, "silence": "unknown", "floor": 0.0, "seed": 0, "initial": 10**6, **said}
    return Study.create(url, name, **words)  # type: ignore[arg-type]


def fill(url: str, name: str = "lab") -> Study:
    """Something of every kind."""
    study = create(url, name)
    study.ask(n=3, key="batch")
    study.tell(1, 0.5, key="first")
    study.amend(1, 0.625, noise=0.125, reason="a digit was missing")
    study.fail(2, "lost")
    study.add({"x": 0.1}, 1 / 3)
    study.amend(floor=-1.0, reason="it can be worse")
    return study


def read_heads(url: str) -> list[Head]:
    store = open_store(url)
    heads = [list(store.ledger(name).read())[-1].head for name in store.names()]
    store.close()
    return heads


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "monday.db"


def test_a_backup_has_everything(url: str, file: Path) -> None:
    study, other = fill(url), fill(url, "other")
    other.close()
    done = belated.backup(url, file)
    assert (done.studies, done.events) == (2, len(study.events()) + len(other.events()))
    there = f"sqlite:///{file}"
    for kept in (study, other):
        copied = Study.open(there, kept.name or "")
        assert copied.events() == kept.events()
        assert copied.settings == kept.settings
    assert read_heads(there) == read_heads(url)
    report = belated.check(there)
    assert report.ok, str(report)
    assert report.heads == done.heads == belated.check(url).heads
    assert sorted(path.name for path in file.parent.iterdir() if path.name.startswith(".")) == []


def test_a_backup_goes_back_into_any_store(url: str, file: Path, tmp_path: Path) -> None:
    study = fill(f"sqlite:///{tmp_path}/old.db")
    belated.backup(f"sqlite:///{tmp_path}/old.db", file)
    done = belated.restore(file, url)
    assert done.sentences == (f"lab: restored with {len(study.events())} events",)
    restored = Study.open(url, "lab")
    assert restored.events() == study.events()
    assert restored.trials() == study.trials()
    assert read_heads(url) == read_heads(f"sqlite:///{tmp_path}/old.db")
    assert [trial.number for trial in restored.ask(n=3, key="batch")] == [1, 2, 3]
    assert restored.tell(1, 0.5, key="first") == study.tell(1, 0.5, key="first")
    assert restored.ask().params == study.ask().params
    assert belated.check(url).ok
    assert belated.backup(url, tmp_path / "tuesday.db").events == len(restored.events())


def test_a_backup_of_a_store_in_use_has_what_was_acknowledged(tmp_path: Path, file: Path) -> None:
    """The newest events are in the log; a bare copy of the file would not have them."""
    study = create(f"sqlite:///{tmp_path}/lab.db")
    for number in range(1, 4):
        study.ask()
        belated.backup(f"sqlite:///{tmp_path}/lab.db", tmp_path / f"{number}.db")
    for number in range(1, 4):
        assert Study.open(f"sqlite:///{tmp_path}/{number}.db", "lab").rounds == number
    assert study.ask().number == 4


def test_a_study_that_is_there_already(url: str, file: Path, tmp_path: Path) -> None:
    study = fill(url)
    before = len(study.events())
    belated.backup(url, tmp_path / "early.db")
    study.tell(3, 0.75)
    belated.backup(url, file)
    study.disconnect()
    assert belated.restore(file, url).sentences == (
        f"lab: is there already, with all {before + 1} events; it stays as it is",
    )
    assert belated.restore(tmp_path / "early.db", url).sentences == (
        f"lab: is there already, with all {before} events, and 1 more since the backup; it stays as it is",
    )
    assert Study.open(url, "lab").events() == study.events()
    elsewhere = f"sqlite:///{tmp_path}/elsewhere.db"
    belated.restore(tmp_path / "early.db", elsewhere)
    done = belated.restore(file, elsewhere)
    assert done.sentences == (
        f"lab: is there already; it had {before} of {before + 1} events, and the others were added",
    )
    assert (done.studies, done.events) == (0, 1)
    assert Study.open(elsewhere, "lab").events() == study.events()
    assert belated.check(elsewhere).ok


def test_a_study_that_went_another_way_is_refused(url: str, file: Path, tmp_path: Path) -> None:
    study = fill(f"sqlite:///{tmp_path}/old.db")
    shared = len(study.events())
    belated.backup(f"sqlite:///{tmp_path}/old.db", tmp_path / "early.db")
    study.tell(3, 0.75)
    belated.backup(f"sqlite:///{tmp_path}/old.db", file)
    belated.restore(tmp_path / "early.db", url)
    Study.open(url, "lab").tell(3, 0.25)
    before = Study.open(url, "lab").events()
    assert refusal(AlreadyExists, lambda: belated.restore(file, url)) == (
        f"lab in the store is not what it is in the backup from event {shared + 1} on, and nothing was restored; "
        "restore it into another store"
    )
    assert Study.open(url, "lab").events() == before


def test_another_study_of_the_same_name_is_refused_unless_renamed(url: str, file: Path, tmp_path: Path) -> None:
    old = f"sqlite:///{tmp_path}/old.db"
    for name in ("a", "lab"):
        fill(old, name)
    belated.backup(old, file)
    mine = create(url)
    mine.ask()
    assert "there is another study lab in the store" in refusal(AlreadyExists, lambda: belated.restore(file, url))
    assert belated.studies(url) == ["lab"]  # neither of them: all or none
    assert belated.restore(file, url, "lab", new_name="lab-2").sentences[0].startswith("lab-2: restored")
    assert belated.studies(url) == ["lab", "lab-2"]
    assert mine.rounds == 1
    assert belated.restore(file, url, "lab").sentences[0].startswith("lab-2: is there already")
    text = refusal(AlreadyExists, lambda: belated.restore(file, url, "lab", new_name="lab-3"))
    assert text == "study lab is in the store already, as lab-2"
    assert Study.open(url, "lab-2").events() == Study.open(old, "lab").events()


@pytest.mark.parametrize(
    ("words", "error", "sentence"),
    [
        (("c",), UnknownStudy, "there is no study 'c' in"),
        ((None, "new"), InvalidInput, "name the study that is to be new; there are a, b"),
        (("a", "../x"), InvalidInput, "name must be 1 to 128"),
    ],
)
def test_bad_input(
    file: Path, tmp_path: Path, words: tuple[str | None, ...], error: type[BelatedError], sentence: str
) -> None:
    for name in ("a", "b"):
        create(f"sqlite:///{tmp_path}/lab.db", name)
    belated.backup(f"sqlite:///{tmp_path}/lab.db", file)
    name, new_name = (*words, None)[:2]
    text = refusal(error, lambda: belated.restore(file, f"sqlite:///{tmp_path}/new.db", name, new_name=new_name))
    assert sentence in text
    assert not (tmp_path / "new.db").exists()


def test_what_lives_on_a_store_that_a_backup_took_back(url: str, file: Path, tmp_path: Path) -> None:
    study = fill(url)
    belated.backup(url, file)
    study.ask()
    study.disconnect()
    for statement in ("DELETE FROM {}events", "DELETE FROM {}studies"):  # a new server has none
        execute(url, statement)
    belated.restore(file, url)
    assert "went back in time" in refusal(StoreChanged, study.ask)
    assert study.ask().number == 5
    assert belated.check(url).ok


def execute(url: str, statement: str) -> None:
    """A statement in the store, whose tables are called {}events and {}studies."""
    if url.startswith("sqlite"):
        connection, prefix = sqlite3.connect(url.removeprefix("sqlite:///")), ""
    else:
        import psycopg

        connection, prefix = psycopg.connect(url), "belated_"  # type: ignore[assignment]
    connection.execute(statement.format(prefix))
    connection.commit()
    connection.close()


# Files ----------------------------------------------------------------------------------------------------------------


DAMAGES = {
    "UPDATE {}events SET body = replace(body, '0.5', '0.7') WHERE position = 4": "event 4: it is not as it was written",
    "DELETE FROM {}events WHERE position = 4": "event 4: it is missing",
    "DELETE FROM {}events WHERE position = 1": "event 1: it is missing",
    "DELETE FROM {}events WHERE position = 9": "event 9: it is missing; there were 9",
    "UPDATE {}studies SET spec = replace(spec, 'maximize', 'minimize')": "event 1: it is not as it was written",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store_is_not_backed_up(url: str, file: Path, damage: str) -> None:
    fill(url).disconnect()
    execute(url, damage)
    text = refusal(Unreadable, lambda: belated.backup(url, file))
    assert text.startswith(f"lab in {url} is damaged ({DAMAGES[damage]}")
    assert not file.exists()
    assert [path.name for path in file.parent.glob(".*")] == []


def test_what_cannot_be_read_is_said_of_the_store_and_not_of_the_copy(tmp_path: Path, file: Path) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    fill(url).disconnect()
    execute(url, "UPDATE {}events SET body = CAST(x'ff' AS TEXT) WHERE position = 4")
    text = refusal(Unreadable, lambda: belated.backup(url, file))
    assert text.startswith(f"the file {tmp_path}/lab.db is damaged (Could not decode")


def test_a_damaged_backup_is_not_restored(tmp_path: Path, file: Path) -> None:
    fill(f"sqlite:///{tmp_path}/lab.db")
    belated.backup(f"sqlite:///{tmp_path}/lab.db", file)
    with sqlite3.connect(file) as connection:
        connection.execute("DELETE FROM events WHERE position = 4")
    connection.close()
    before = file.read_bytes()
    new = f"sqlite:///{tmp_path}/new.db"
    assert "event 4: it is missing" in refusal(Unreadable, lambda: belated.restore(file, new))
    assert file.read_bytes() == before
    file.write_bytes(b"a lab book" * 1000)
    assert refusal(Unreadable, lambda: belated.restore(file, new)).startswith(f"{file} is not a store of belated")


def test_a_backup_is_a_new_file(tmp_path: Path, file: Path) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    create(url)
    file.write_text("something")
    assert refusal(InvalidInput, lambda: belated.backup(url, file)) == f"a backup needs a new file; {file} exists"
    assert file.read_text() == "something"
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere.db")
    assert "needs a new file" in refusal(InvalidInput, lambda: belated.backup(url, file))
    assert not (tmp_path / "elsewhere.db").exists()
    text = refusal(InvalidInput, lambda: belated.backup(url, tmp_path / "no" / "folder.db"))
    assert "No such file or directory" in text


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_backup_has_the_mode_of_the_database(tmp_path: Path, file: Path, mode: int) -> None:
    create(f"sqlite:///{tmp_path}/lab.db")
    (tmp_path / "lab.db").chmod(mode)
    if os.geteuid() == 0:
        os.chown(tmp_path / "lab.db", -1, 12345)
    belated.backup(f"sqlite:///{tmp_path}/lab.db", file)
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert file.stat().st_gid == (tmp_path / "lab.db").stat().st_gid


def test_a_backup_is_only_read(tmp_path: Path, file: Path) -> None:
    create(f"sqlite:///{tmp_path}/lab.db").ask()
    belated.backup(f"sqlite:///{tmp_path}/lab.db", file)
    before, names = file.read_bytes(), sorted(os.listdir(tmp_path))
    belated.restore(file, f"sqlite:///{tmp_path}/lab.db")
    assert file.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == names


def test_a_restore_whose_connection_is_lost_is_done_again(postgres_url: str, file: Path, tmp_path: Path) -> None:
    """In its own transaction, so nothing is there twice, and nothing by halves."""
    import psycopg

    study = fill(f"sqlite:///{tmp_path}/old.db")
    belated.backup(f"sqlite:///{tmp_path}/old.db", file)
    create(postgres_url, "other").disconnect()
    with psycopg.connect(postgres_url, autocommit=True) as watcher:
        watcher.execute(
            """
            CREATE SEQUENCE tries;
            CREATE FUNCTION die_once() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF NEW.position = 5 AND nextval('tries') = 1 THEN
                    PERFORM pg_terminate_backend(pg_backend_pid());
                END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER die BEFORE INSERT ON belated_events FOR EACH ROW EXECUTE FUNCTION die_once();
            """
        )
    done = belated.restore(file, postgres_url)
    assert done.events == len(study.events())
    assert Study.open(postgres_url, "lab").events() == study.events()
    assert belated.check(postgres_url).ok


def test_a_copy_without_its_newest_events_is_not_restored(file: Path, tmp_path: Path) -> None:
    study = create(f"sqlite:///{tmp_path}/lab.db")
    study.ask()
    shutil.copy(tmp_path / "lab.db", file)
    text = refusal(Unreachable, lambda: belated.restore(file, f"sqlite:///{tmp_path}/new.db"))
    assert text.startswith(f"{file} was copied while it was in use, without its newest events")
    assert belated.restore(tmp_path / "lab.db", f"sqlite:///{tmp_path}/new.db").events == 1  # this one has its log
    assert study.ask().number == 2
