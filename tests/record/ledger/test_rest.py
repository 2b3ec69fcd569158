"""A file at rest is whole; a copy of one that is in use, without its write-ahead log, says so."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from belated import Real, Study, Unreachable, studies
from belated.record.check import check
from belated.record.ledger import open_store
from belated.record.repair import repair
from tests.support.refusals import refusal


def create(path: Path) -> Study:
    return Study.create(f"sqlite:///{path}", "lab", space={"x": Real(0, 1)}, silence="unknown", seed=0, initial=10**6)


def copy(path: Path, folder: str) -> Path:
    to = path.parent / folder
    to.mkdir()
    shutil.copy(path, to / path.name)
    return to / path.name


def read_mode(path: Path) -> bytes:
    """What the header says: 1 at rest, 2 in use."""
    return path.read_bytes()[18:20]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lab.db"


def test_a_file_at_rest_is_whole(path: Path) -> None:
    study = create(path)
    study.ask()
    study.disconnect()
    assert read_mode(path) == b"\1\1"
    there = copy(path, "there")
    assert Study.open(f"sqlite:///{there}", "lab").ask().number == 2


@pytest.mark.parametrize("asked", [0, 3])
def test_a_copy_without_its_log_says_so(path: Path, asked: int) -> None:
    study = create(path)
    for _ in range(asked):
        study.ask()
    there = copy(path, "there")
    url = f"sqlite:///{there}"
    for _ in range(2):  # it stays what it is
        text = refusal(Unreachable, lambda: studies(url))
        assert text == (
            f"{there} was copied while it was in use, without its newest events: they were in the -wal beside {path}; "
            "copy with belated backup, or keep what is here with belated check --repair NEW"
        )
    refusal(Unreachable, lambda: create(there))
    assert study.ask().number == asked + 1


def test_what_a_copy_without_its_log_has_can_be_kept(path: Path) -> None:
    study = create(path)
    study.ask()
    study.disconnect()
    study.ask()
    there = copy(path, "there")
    done = repair(f"sqlite:///{there}", path.with_name("new.db"))
    assert (done.studies, done.events) == (1, 1)
    assert check(f"sqlite:///{path}").events == 2


def test_a_copy_with_its_log_is_whole(path: Path) -> None:
    study = create(path)
    study.ask()
    there = copy(path, "there")
    shutil.copy(path.with_name("lab.db-wal"), there.with_name("lab.db-wal"))
    assert Study.open(f"sqlite:///{there}", "lab").rounds == 1


def test_one_of_two_that_use_a_file_does_not_put_it_to_rest(path: Path) -> None:
    study, second = create(path), create(path)
    second.ask()
    second.disconnect()
    assert read_mode(path) == b"\2\2"
    assert study.ask().number == 2
    study.disconnect()
    assert read_mode(path) == b"\1\1"


def test_a_study_that_is_dropped_puts_its_file_to_rest(path: Path) -> None:
    create(path).ask()
    assert read_mode(path) == b"\1\1"
    assert not path.with_name("lab.db-wal").exists()


def test_reading_does_not_wake_a_file(path: Path) -> None:
    create(path).ask()
    study = Study.open(f"sqlite:///{path}", "lab")
    assert len(study.trials()) == 1
    assert read_mode(path) == b"\1\1"
    shutil.copy(path, path.with_name("copy.db"))
    assert studies(f"sqlite:///{path.with_name('copy.db')}") == ["lab"]


def test_a_file_that_was_killed_on_its_way_to_rest_opens(path: Path) -> None:
    """Its log is put away, and its header not yet changed."""
    create(path).ask()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    assert read_mode(path) == b"\2\2"
    assert not path.with_name("lab.db-wal").exists()
    assert Study.open(f"sqlite:///{path}", "lab").ask().number == 2
    assert read_mode(path) == b"\1\1"


def test_a_file_that_was_moved_while_it_rested_may_be_killed_as_soon_as_it_is_used(path: Path) -> None:
    """Its new name is in it before its header says that it is in use."""
    create(path).ask()
    moved = path.with_name("moved.db")
    path.rename(moved)
    script = f"""
import os, sqlite3
from belated import Study
from belated.record.ledger import sqlite
awake = sqlite.wake
def wake(connection):
    awake(connection)
    os._exit(9)
sqlite.wake = wake
Study.open("sqlite:///{moved}", "lab").ask()
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9
    assert read_mode(moved) == b"\2\2"
    moved.with_name("moved.db-wal").unlink(missing_ok=True)
    assert Study.open(f"sqlite:///{moved}", "lab").ask().number == 2


def test_a_new_file_without_studies_rests(path: Path) -> None:
    store = open_store(f"sqlite:///{path}", create=True)
    assert read_mode(path) == b"\1\1"
    store.close()
    assert studies(f"sqlite:///{copy(path, 'there')}") == []


def test_a_file_that_was_replaced_keeps_its_log(path: Path) -> None:
    """Whoever had the old file open closes it, and the log of this name is another file's by now."""
    old = create(path)
    old.ask()
    new = create(path.with_name("new.db"))
    new.ask()
    new.disconnect()
    for ending in ("-wal", "-shm"):
        path.with_name(f"lab.db{ending}").unlink()
    os.replace(path.with_name("new.db"), path)
    second = Study.open(f"sqlite:///{path}", "lab")
    second.ask()
    log = path.with_name("lab.db-wal").stat()
    old.disconnect()
    assert path.with_name("lab.db-wal").stat().st_ino == log.st_ino
    del old
    script = f"from belated import Study; print(Study.open('sqlite:///{path}', 'lab').rounds)"
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert ran.stdout == "2\n"
    assert second.ask().number == 3


def test_a_copy_that_is_made_by_belated_lets_go_of_no_lock(path: Path) -> None:
    """A process that closes any descriptor of a file loses all of its locks on it: others would take it for unused."""
    study = create(path)
    study.ask()
    repair(f"sqlite:///{path}", path.with_name("new.db"))
    study.ask()
    script = f"from belated import Study; print(Study.open('sqlite:///{path}', 'lab').ask().number)"
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert ran.stdout == "3\n"
    assert path.with_name("lab.db-wal").exists()  # it is in use here
    assert study.ask().number == 4
    assert check(f"sqlite:///{path}").trials == 4


def test_whoever_looks_at_the_header_lets_go_of_no_lock(path: Path) -> None:
    """The same: every write looks, and to others the file must not seem to be unused."""
    study, second = create(path), create(path)
    second.ask()
    second.disconnect()
    study.ask()
    script = f"import fcntl; fcntl.lockf(open({str(path)!r}, 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    ran = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert "BlockingIOError" in ran.stderr
    study.disconnect()
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_second_name_of_a_file_in_use_is_not_put_to_rest(path: Path) -> None:
    script = f"""
import os
from tests.record.ledger.test_rest import create
from pathlib import Path
study = create(Path({str(path)!r}))
study.ask()
os._exit(0)
"""
    subprocess.run(
        [sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    link = path.with_name("link.db")
    os.link(path, link)
    assert "are two names of one file" in refusal(Unreachable, lambda: studies(f"sqlite:///{link}"))
    assert read_mode(path) == b"\2\2"
    assert Study.open(f"sqlite:///{path}", "lab").rounds == 1


def test_a_link_to_a_file_has_the_log_of_the_file(path: Path) -> None:
    study = create(path)
    study.ask()
    there = copy(path, "there")
    shutil.copy(path.with_name("lab.db-wal"), there.with_name("lab.db-wal"))
    link = path.with_name("link.db")
    link.symlink_to(there)
    assert Study.open(f"sqlite:///{link}", "lab").rounds == 1
    link.unlink()
    link.symlink_to(path)
    assert repair(f"sqlite:///{link}", path.with_name("new.db")).events == 1
