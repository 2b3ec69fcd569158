"""A process that was stopped in the middle of an ask: those who wait for it are told so, with its id."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from belated import Study, Unreachable
from belated.record.ledger import file_locks, holders, open_store
from tests.faults.client import NAME, create
from tests.support.processes import fork, wait
from tests.support.refusals import refusal

SOON = 30.0


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_locks, "LOOK", 0.1)
    monkeypatch.setattr(file_locks, "MOST_STOPPED", 0.5)
    monkeypatch.setattr(holders, "MOST_STOPPED", 0.5)
    monkeypatch.setattr("belated.record.ledger.postgres.LOOK", "100ms")


@contextmanager
def asking_elsewhere(url: str) -> Iterator[int]:
    """The id of another process that is in the middle of an ask; it is killed at the end."""
    out, into = os.pipe()

    def work() -> None:
        with open_store(url).ledger(NAME).lock_asks():
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


def test_a_stopped_process_is_named_to_those_who_wait(url: str) -> None:
    study = create(url)
    trial = study.ask()
    with asking_elsewhere(url) as pid:
        os.kill(pid, signal.SIGSTOP)
        for call in (study.ask, lambda: study.add(trial.params)):
            sentence = refusal(Unreachable, call)  # type: ignore[arg-type]
            assert sentence.startswith(f"process {pid} holds the lock ")
            assert sentence.endswith(f" and is stopped; let it go on (kill -CONT {pid}) or end it")
        assert study.tell(trial, 0.5).status == "heard"  # tells do not wait for it
    assert study.ask().number == 2


def test_a_process_that_is_at_work_is_waited_for(url: str) -> None:
    study = create(url)
    asked: list[int] = []
    with asking_elsewhere(url):
        threads = [threading.Thread(target=lambda: asked.append(Study.open(url, NAME).ask().number)) for _ in range(3)]
        for thread in threads:
            thread.start()
        threads[0].join(2.0)
        assert asked == []
    for thread in threads:
        thread.join(SOON)
    assert sorted(asked) == [1, 2, 3]
    assert study.ask().number == 4


def test_a_client_elsewhere_that_holds_on_is_named(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is stopped cannot be seen from here."""
    monkeypatch.setattr(holders, "MOST_HELD", 0.5)
    study = create(postgres_url)
    sign = "&" if "?" in postgres_url else "?"
    with asking_elsewhere(f"{postgres_url}{sign}application_name=robot-7"):
        sentence = refusal(Unreachable, study.ask)
        assert sentence.startswith("robot-7, ")
        assert "has held the lock for asks in postgresql://" in sentence
        assert sentence.endswith("and may be stopped; let it go on, or end it")
    assert study.ask().number == 1
