"""A process that forks while one of its threads is at work: the child has locks, connections and a state of its own."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from belated import Study
from belated.record.ledger import open_store
from tests.faults.client import NAME, create
from tests.faults.world import sound
from tests.support.processes import fork, wait
from tests.support.studies import Place

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
SOON = 30.0


@contextmanager
def asking(study: Study) -> Iterator[None]:
    """A thread that asks and tells all the while."""
    stop, wrong = threading.Event(), list[BaseException]()

    def work() -> None:
        try:
            while not stop.is_set():
                study.tell(study.ask(), 0.5)
        except BaseException as error:
            wrong.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert wrong == []


def wait_soon(pid: int) -> int:
    """The exit status of a child that must end soon; it is killed if it does not."""
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    wait(pid)
    raise AssertionError("the child hangs")


def test_a_child_asks_while_a_thread_of_its_parent_does(place: Place) -> None:
    study = place.create(initial=10**6)
    with asking(study):
        for _ in range(12):
            time.sleep(0.01)

            def work() -> None:
                trial = study.ask()
                assert study.tell(trial, 0.25).status == "heard"
                assert study.trial(trial.number).outcome == 0.25

            assert wait_soon(fork(work)) == 0
    assert study.ask().number == study.rounds
    if place.url is not None:
        sound(place.url)


def list_sockets_and_files(pid: int, folder: Path) -> list[str]:
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # it was closed meanwhile
            to = os.readlink(link)
            if to.startswith(("socket:", str(folder))):
                found.append(to)
    return found


def test_a_child_inherits_nothing_that_its_parent_is_just_opening(url: str, tmp_path: Path) -> None:
    """A thread of the parent opens and closes the store all the while."""
    create(url)
    before, stop = list_sockets_and_files(os.getpid(), tmp_path), threading.Event()

    def work() -> None:
        while not stop.is_set():
            with Study.open(url, NAME) as study:
                study.ask()

    def look() -> None:
        assert set(list_sockets_and_files(os.getpid(), tmp_path)) <= set(before)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for i in range(40):
            time.sleep(0.003 * (i % 7))
            assert wait_soon(fork(look)) == 0
    finally:
        stop.set()
        thread.join()


def test_a_lock_ends_with_its_process_though_a_child_of_it_lives(url: str, tmp_path: Path) -> None:
    """The process is killed in mid-ask; the child that it forked a moment before has nothing of its lock."""
    create(url)
    out, into = os.pipe()

    def sleep() -> None:
        os.write(into, f"{os.getpid()}\n".encode())
        time.sleep(120)

    def hold() -> None:
        with open_store(url).ledger(NAME).lock_asks():
            fork(sleep)
            time.sleep(120)

    holder = fork(hold)
    child = int(os.read(out, 100))
    try:
        assert list_sockets_and_files(child, tmp_path) == []
        os.kill(holder, signal.SIGKILL)
        asked: list[int] = []
        thread = threading.Thread(target=lambda: asked.append(Study.open(url, NAME).ask().number), daemon=True)
        thread.start()
        thread.join(SOON)
        assert asked == [1]
    finally:
        for pid in (holder, child):
            os.kill(pid, signal.SIGKILL)
        assert wait(holder) == -signal.SIGKILL
        os.close(out)
        os.close(into)
