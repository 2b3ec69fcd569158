"""The store is not what it was: it went back in time, is another one, was moved, has two names, or has other bits."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from belated import BelatedError, Real, Study, Unreachable, backup
from belated.errors import StoreChanged, Unreadable
from belated.record.check import check
from belated.record.events import Amended, Event, Reopened
from belated.record.ledger import open_store
from belated.record.ledger.headers import RESTS, read_mode
from belated.record.ledger.sqlite import SQLiteStore
from belated.record.repair import repair
from tests.faults.client import NAME, create, fill
from tests.faults.world import ENV, ROOT, Lab, lab, sound
from tests.support.refusals import refusal


@pytest.fixture
def here(tmp_path: Path) -> Lab:
    (tmp_path / "here").mkdir()
    return Lab(tmp_path / "here")


def put_back(url: str, events: int) -> None:
    """The store as it was after its first events, as a restored backup is."""
    if url.startswith("sqlite"):
        connection, table, mark = sqlite3.connect(url.removeprefix("sqlite:///")), "", "?"
    else:
        import psycopg

        connection, table, mark = psycopg.connect(url), "belated_", "%s"  # type: ignore[assignment]
    find = f"SELECT position, hash FROM {table}events WHERE position = {mark}"  # noqa: S608
    kept = connection.execute(find, (events,)).fetchone()
    connection.execute(f"DELETE FROM {table}events WHERE position > {mark}", (events,))  # noqa: S608
    connection.execute(f"UPDATE {table}studies SET position = {mark}, hash = {mark}", kept)  # noqa: S608
    connection.commit()
    connection.close()


def test_a_store_that_went_back_in_time(url: str) -> None:
    """Whoever has read what is gone is told so once, and goes on; whoever has not, notices nothing."""
    study = create(url)
    early = Study.open(url, NAME)
    study.tell(study.ask(), 0.5)
    assert early.rounds == 1
    study.disconnect()
    for _ in range(3):
        study.tell(study.ask(), 0.25)
    study.disconnect()
    put_back(url, 2)
    assert "went back in time" in refusal(StoreChanged, study.ask)
    assert study.ask().number == 2
    assert early.ask().number == 3
    assert [trial.number for trial in study.trials()] == [1, 2, 3]
    assert sound(url).trials == 3


@pytest.mark.parametrize("call", ["ask", "tell", "trials"])
def test_every_call_notices_that_the_store_went_back(url: str, call: str) -> None:
    study = create(url)
    for _ in range(3):
        study.tell(study.ask(), 0.25)
    study.disconnect()
    put_back(url, 2)
    calls = {"ask": study.ask, "tell": lambda: study.tell(1, 0.25), "trials": study.trials}
    sentence = refusal(StoreChanged, calls[call])  # type: ignore[arg-type]
    assert "event 6 of this study, which was read before, is no longer in it" in sentence
    assert len(study.trials()) == 1


def remove_log(here: Lab) -> None:
    for path in here.folder.glob("lab.db-[ws]*"):
        path.unlink()


def replace_store(old: Lab, new: Lab) -> None:
    remove_log(old)
    os.replace(new.path, old.path)


def test_another_store_over_the_path_gets_nothing(here: Lab, tmp_path: Path) -> None:
    alpha = create(here.url)
    alpha.ask()
    (tmp_path / "there").mkdir()
    there = Lab(tmp_path / "there")
    beta = Study.create(there.url, "beta", space={"x": Real(0, 1)}, silence="unknown", seed=0)
    beta.ask()
    beta.disconnect()
    replace_store(here, there)
    for call in (alpha.ask, lambda: alpha.tell(1, 0.5), alpha.trials):
        assert "is another one now, without this study" in refusal(StoreChanged, call)  # type: ignore[arg-type]
    assert len(Study.open(here.url, "beta").events()) == 1
    sound(here.url)


def test_what_is_written_into_a_deleted_file_is_not_acknowledged(here: Lab) -> None:
    study = create(here.url)
    trial = study.ask()
    here.path.unlink()
    with pytest.raises(BelatedError, match=r"lab\.db"):
        study.tell(trial, 0.5)
    assert not here.path.exists()  # and no empty one is made
    with pytest.raises(Unreachable):
        study.ask()


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_file_that_goes_in_the_middle_of_a_write(here: Lab, tmp_path: Path, how: str) -> None:
    """It is committed, and the path does not show it: so it is not acknowledged."""
    study = create(here.url)
    trial = study.ask()
    study.disconnect()
    shutil.copy(here.path, tmp_path / "copy.db")
    store = SQLiteStore.at(here.url, create=False)

    def go() -> None:
        if how == "deleted":
            here.path.unlink()
        elif how == "moved":
            here.path.rename(tmp_path / "moved.db")
        else:
            os.replace(tmp_path / "copy.db", here.path)

    with pytest.raises(StoreChanged, match=" was deleted, moved or replaced while it was open"), store.lock_writes():
        go()
    if how == "replaced":  # by a copy that has the trial, and not the outcome
        assert study.tell(trial, 0.5).status == "heard"
        assert sound(here.url).outcomes == 1
    else:
        with pytest.raises(Unreachable, match=r"lab\.db cannot be opened"):
            study.tell(trial, 0.5)


@pytest.mark.parametrize("how", ["emptied", "without its log", "with another log"])
def test_a_file_that_is_no_longer_whole_acknowledges_nothing(here: Lab, how: str) -> None:
    study = create(here.url)
    trial = study.ask()
    if how == "emptied":
        here.path.write_bytes(b"")
    else:
        here.path.with_name("lab.db-wal").unlink()
        here.path.with_name("lab.db-shm").unlink()
    if how == "with another log":
        assert ask_elsewhere(here.path).startswith(("1", "UnknownStudy"))
    with pytest.raises(BelatedError, match=r"lab\.db"):
        study.tell(trial, 0.5)


@pytest.mark.parametrize("crashed", [False, True])
@pytest.mark.parametrize("how", ["copied", "moved"])
def test_a_backup_put_over_a_store_in_use_is_not_mixed_with_its_log(
    here: Lab, tmp_path: Path, how: str, crashed: bool
) -> None:
    """SQLite would take the log of the old file for the newest part of the new one."""
    study, ledger = create(here.url), open_store(here.url).ledger(NAME)
    study.ask()
    monday = tmp_path / "monday.db"
    backup(here.url, monday)
    later = [Reopened(reason="x" * 900, at=1.0) for _ in range(3000)]
    for start in range(0, len(later), 500):  # more than SQLite keeps in a log before it puts it into the file
        ledger.append(later[start : start + 500])
    assert study.rounds == 1
    if crashed:
        shutil.copytree(here.folder, tmp_path / "then")
        study.disconnect()
        ledger.close()
        for path in (tmp_path / "then").iterdir():
            shutil.copy(path, here.folder)
    if how == "copied":
        shutil.copy(monday, here.path)
    else:
        shutil.copy(monday, here.folder / "new.db")
        os.replace(here.folder / "new.db", here.path)
    words = "was put in the place of another one, whose newest events are in the -wal beside it"
    assert words in ask_elsewhere(here.path)
    for call in (study.ask, lambda: study.tell(1, 0.5), study.ask):
        assert words in refusal(Unreachable, call)  # type: ignore[arg-type]
    assert here.path.read_bytes() == monday.read_bytes()
    if how == "copied" and not crashed:
        return  # whoever closes the file last still writes its log into it
    study.disconnect()
    assert repair(here.url, tmp_path / "sound.db").events == 1
    remove_log(here)
    assert "went back in time" in refusal(StoreChanged, study.ask)
    assert study.ask().number == 2
    assert sound(here.url).trials == 2


def ask_elsewhere(path: Path) -> str:
    """What another process is answered, which then ends without closing anything."""
    script = f"""
import os
from belated import BelatedError, Study
try:
    study = Study.open("sqlite:///{path}", {NAME!r})
    print(study.ask().number, flush=True)
except BelatedError as error:
    print(type(error).__name__, error, flush=True)
os._exit(0)
"""
    ran = subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT, env=ENV, capture_output=True, text=True)
    return ran.stdout.strip()


def test_two_names_of_one_file_never_both_acknowledge(here: Lab) -> None:
    study = create(here.url)
    study.ask()
    link = here.folder / "link.db"
    os.link(here.path, link)
    assert ask_elsewhere(link) == (
        f"Unreachable {link} and {here.path} are two names of one file, whose changes would be lost to each other; "
        f"use {here.path}, or remove one of the two names"
    )
    assert ask_elsewhere(here.path) == "2"
    assert study.ask().number == 3
    assert any("has 2 names (hard links)" in remark for remark in check(here.url).remarks)
    study.disconnect()
    here.path.unlink()  # from now on the other one is its name
    assert Study.open(f"sqlite:///{link}", NAME).ask().number == 4
    sound(f"sqlite:///{link}")


def test_a_file_may_be_moved_while_nobody_uses_it(here: Lab) -> None:
    create(here.url).disconnect()
    moved = here.folder / "moved.db"
    here.path.rename(moved)
    study = Study.open(f"sqlite:///{moved}", NAME)
    assert study.ask().number == 1
    assert Study.open(f"sqlite:///{moved}", NAME).ask().number == 2


def test_a_file_that_is_moved_without_its_log_says_so(here: Lab) -> None:
    create(here.url).disconnect()
    assert ask_elsewhere(here.path) == "1"
    moved = here.folder / "moved.db"
    here.path.rename(moved)
    assert ask_elsewhere(moved) == (
        f"Unreachable {moved} was moved away from its newest events, which are in {here.path}-wal; "
        "move that file along too"
    )
    here.path.with_name("lab.db-wal").rename(moved.with_name("moved.db-wal"))
    assert ask_elsewhere(moved) == "2"


def test_a_file_that_is_moved_without_its_log_says_so_though_somebody_still_has_it_open(here: Lab) -> None:
    study = create(here.url)
    study.ask()
    moved = here.folder / "moved.db"
    here.path.rename(moved)
    for _ in range(2):
        assert "was moved away from its newest events, which are in" in ask_elsewhere(moved)
    moved.rename(here.path)
    assert study.ask().number == 2
    sound(here.url)


@pytest.mark.parametrize("flips", [60, pytest.param(1500, marks=pytest.mark.long)])
def test_a_flipped_bit_is_found_or_changes_nothing(rested: Lab, tmp_path: Path, flips: int) -> None:
    here = rested.copy(tmp_path / "here")
    whole, rng = here.path.read_bytes(), np.random.default_rng(0)
    expected, settings = here.open().events(), here.open().original_settings
    found = 0
    for _ in range(flips):
        for path in here.folder.glob("lab.db-*"):
            path.unlink()
        bit = int(rng.integers(8 * len(whole)))
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        here.path.write_bytes(damaged)
        try:
            study = here.open()
            assert (study.events(), study.original_settings) == (expected, settings), f"bit {bit}"
        except BelatedError:
            found += 1
            with suppress(BelatedError):
                assert not check(here.url).ok, f"bit {bit}"
    assert found > 0


def test_a_cut_tail_is_found(url: str) -> None:
    fill(url).disconnect()
    last = sound(url).events
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        connection.execute("DELETE FROM events WHERE position = ?", (last,))
    else:
        import psycopg

        connection = psycopg.connect(url)  # type: ignore[assignment]
        connection.execute("DELETE FROM belated_events WHERE position = %s", (last,))  # type: ignore[arg-type]
    connection.commit()
    connection.close()
    report = check(url)
    assert f"event {last}: it is missing" in str(report)
    with pytest.raises(Unreadable, match=f"event {last}: it is missing"):
        Study.open(url, NAME)


def test_a_late_packet_is_not_written_a_second_time(postgres_url: str) -> None:
    """The write of an amendment was delayed, tried again, and arrives at last: over a newer one."""
    import psycopg

    from belated.record.ledger.postgres import APPEND, Writing

    study = create(postgres_url)
    study.tell(study.ask(), 0.5)

    def amend(value: float) -> Event:
        return Amended(number=1, reason="a typing error", at=1.0, value=value)

    store = open_store(postgres_url)
    ledger = store.ledger(NAME)
    writing = Writing.of([amend(0.6), amend(0.7)], None)
    head = ledger.write(writing, tried=True).head  # type: ignore[attr-defined]
    assert head.position == 4
    study.amend(1, 0.8, reason="another typing error")
    with psycopg.connect(postgres_url) as late, pytest.raises(psycopg.errors.UniqueViolation, match="tokens"):
        late.execute(APPEND, (ledger.identity, *writing.words))  # type: ignore[attr-defined]
    assert ledger.write(writing, tried=True).head == head  # type: ignore[attr-defined]
    assert study.trial(1).outcome == 0.8
    assert sound(postgres_url).amended == 3
    store.close()


def test_the_last_process_out_leaves_everything_in_the_file(here: Lab, tmp_path: Path) -> None:
    """Workers of a pool, which end without what Python runs at the end of a program."""
    script = f"""
import multiprocessing
from tests.faults.client import NAME, create
from belated import Study
def work(i):
    study = Study.open({here.url!r}, NAME)
    return [study.tell(study.ask(), 0.5).status for _ in range(3)]
if __name__ == "__main__":
    study = create({here.url!r})
    study.ask()
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT, env=ENV)
    assert not here.path.with_name("lab.db-wal").exists()
    copy = tmp_path / "copy.db"
    shutil.copy(here.path, copy)
    assert sound(f"sqlite:///{copy}").trials == 13


@pytest.mark.parametrize("end", ["", "raise SystemExit(0)", "del study"])
def test_a_program_that_ends_leaves_everything_in_the_file(here: Lab, tmp_path: Path, end: str) -> None:
    """It says nothing of the end, as a notebook's or a script's study."""
    script = f"""
from tests.faults.client import create
study, second = create({here.url!r}), create({here.url!r})
second.tell(study.ask(), 0.5)
{end}
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT, env=ENV)
    assert read_mode(here.path) == RESTS
    copy = tmp_path / "copy.db"
    shutil.copy(here.path, copy)
    assert sound(f"sqlite:///{copy}").trials == 1


def test_a_lab_that_rests_is_one_file(tmp_path: Path) -> None:
    rested = lab(tmp_path / "lab", closed=True)
    assert not rested.path.with_name("lab.db-wal").exists()
