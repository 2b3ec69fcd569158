"""Locks as bytes of one file: each excludes processes and threads, and ends with its process."""

from __future__ import annotations

import os
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from belated import Unreachable
from belated.record.ledger import file_locks
from tests.support.processes import fork, wait

SOON = 30.0


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "lab.db"
    path.touch()
    return path


def hold_first(database: Path, byte: int, waiting: Callable[[], object] | None = None) -> AbstractContextManager[None]:
    return file_locks.hold_first(str(database), byte, waiting)


@contextmanager
def held_elsewhere(database: Path, byte: int) -> Iterator[int]:
    """The id of another process that holds a byte; it is killed at the end."""
    out, into = os.pipe()

    def work() -> None:
        with hold_first(database, byte):
            os.write(into, b".")
            time.sleep(120)

    pid = fork(work)
    try:
        os.read(out, 1)
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        wait(pid)
        os.close(out)
        os.close(into)


def in_thread(work: Callable[[], object]) -> threading.Event:
    """Set when the work is done."""
    done = threading.Event()

    def run() -> None:
        work()
        done.set()

    threading.Thread(target=run, daemon=True).start()
    return done


def take(database: Path, byte: int) -> None:
    with hold_first(database, byte):
        pass


def test_threads_exclude_each_other_byte_by_byte(database: Path) -> None:
    with hold_first(database, 2):
        same, another = in_thread(lambda: take(database, 2)), in_thread(lambda: take(database, 3))
        assert another.wait(SOON)
        assert not same.wait(0.2)
    assert same.wait(SOON)


def test_who_waits_is_asked_to_do_something_first(database: Path) -> None:
    calls: list[str] = []
    with hold_first(database, 2, lambda: calls.append("free")):
        pass
    with held_elsewhere(database, 2) as pid:
        waiting = threading.Event()

        def wait_for_it() -> None:
            with hold_first(database, 2, waiting.set):
                calls.append("mine")

        done = in_thread(wait_for_it)
        assert waiting.wait(SOON)
        assert not done.wait(0.2)
        os.kill(pid, signal.SIGKILL)
        assert done.wait(SOON)
    assert calls == ["mine"]


def test_another_thread_lets_go_of_its_byte_and_not_of_mine(database: Path) -> None:
    """The locks are those of the process, and closing a descriptor would drop them all."""
    with hold_first(database, 2):
        take(database, 3)
        pid = fork(lambda: take(database, 2))
        time.sleep(0.2)
        assert os.waitpid(pid, os.WNOHANG) == (0, 0)
    assert wait(pid) == 0


def test_a_wait_that_was_given_up_takes_nothing(database: Path) -> None:
    with held_elsewhere(database, 2):
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            take(database, 2)
    pid = fork(lambda: take(database, 2))
    assert wait(pid) == 0
    take(database, 2)


def test_a_stopped_process_is_named_to_those_who_wait(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_locks, "LOOK", 0.1)
    monkeypatch.setattr(file_locks, "MOST_STOPPED", 0.3)
    with held_elsewhere(database, 0) as pid:
        told: list[str] = []

        def wait_for_it() -> None:
            try:
                take(database, 0)
            except Unreachable as error:
                told.append(str(error))

        waiting = in_thread(wait_for_it)
        assert not waiting.wait(0.6)  # a process that is at work is waited for
        os.kill(pid, signal.SIGSTOP)
        assert waiting.wait(SOON)
        with pytest.raises(Unreachable, match=rf"process {pid} holds the lock .*lab.db-lock and is stopped") as raised:
            take(database, 0)
        assert told == [str(raised.value)]
        os.kill(pid, signal.SIGKILL)
        take(database, 0)


def wait_for_bytes(database: Path, count: int) -> None:
    """Until so many bytes of the lock file are taken."""
    inode, until = database.with_name("lab.db-lock").stat().st_ino, time.monotonic() + SOON
    while time.monotonic() < until:
        locks = [line.split()[5:8] for line in Path("/proc/locks").read_text().splitlines() if "->" not in line]
        if count == sum(int(last) - int(first) + 1 for file, first, last in locks if file.endswith(f":{inode}")):
            return
        time.sleep(0.01)
    raise AssertionError(f"there are not {count} bytes taken")


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_whoever_comes_first_is_first(database: Path, tmp_path: Path) -> None:
    """Of processes and threads alike."""
    order = tmp_path / "order"

    def come(name: str) -> None:
        with hold_first(database, 1), order.open("a") as file:
            file.write(name)

    pids, done = list[int](), list[threading.Event]()
    with hold_first(database, 1):
        for count, name in enumerate("abcdefgh", start=2):
            if name in "ch":
                done.append(in_thread(lambda name=name: come(name)))  # type: ignore[misc]
            else:
                pids.append(fork(lambda name=name: come(name)))  # type: ignore[misc]
            wait_for_bytes(database, count)
    assert [wait(pid) for pid in pids] == [0] * 6
    assert all(each.wait(SOON) for each in done)
    assert order.read_text() == "abcdefgh"


def test_a_stopped_process_in_the_middle_of_a_queue_is_named_too(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_locks, "LOOK", 0.1)
    monkeypatch.setattr(file_locks, "MOST_STOPPED", 0.3)
    with held_elsewhere(database, 1):
        second = fork(lambda: take(database, 1))
        wait_for_bytes(database, 2)
        third = fork(lambda: take(database, 1))
        wait_for_bytes(database, 3)
        os.kill(second, signal.SIGSTOP)
        with pytest.raises(Unreachable, match=f"process {second} holds the lock"):
            take(database, 1)
        for pid in (second, third):
            os.kill(pid, signal.SIGKILL)
            wait(pid)


def test_who_is_first_may_ask_for_it_again(database: Path) -> None:
    """Though others wait, and stays first."""
    with hold_first(database, 1):
        second = fork(lambda: take(database, 1))
        wait_for_bytes(database, 2)
        take(database, 1)
        time.sleep(0.2)
        assert os.waitpid(second, os.WNOHANG) == (0, 0)
    assert wait(second) == 0


def test_a_place_in_a_queue_ends_with_its_process(database: Path) -> None:
    with hold_first(database, 1):
        second = fork(lambda: take(database, 1))
        wait_for_bytes(database, 2)
        third = fork(lambda: take(database, 1))
        wait_for_bytes(database, 3)
        os.kill(second, signal.SIGKILL)
        wait(second)
        wait_for_bytes(database, 2)
    assert wait(third) == 0


@pytest.mark.parametrize("system", sorted(file_locks.LAYOUTS))
def test_what_a_system_says_of_a_lock_is_read_as_it_is_asked(system: str) -> None:
    layout = file_locks.LAYOUTS[system]
    asked = layout.struct.pack(*layout.order((1, 2, 3, 4, 5)))
    assert layout.pick(layout.struct.unpack(asked)) == (1, 3, 5)  # type, start, process


@pytest.mark.parametrize("mode", [0o600, 0o660, 0o666])
def test_the_lock_file_has_the_mode_of_the_database(database: Path, mode: int) -> None:
    database.chmod(mode)
    take(database, 0)
    assert stat.S_IMODE(database.with_name("lab.db-lock").stat().st_mode) == mode


def test_the_lock_file_is_closed_when_nobody_uses_it(database: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with hold_first(database, 0), hold_first(database, 2):
        assert len(os.listdir("/proc/self/fd")) == before + 1
    assert len(os.listdir("/proc/self/fd")) == before
