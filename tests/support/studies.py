"""Where a study is kept in a test: in memory, in a SQLite file, in a PostgreSQL database, at a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

import belated
from belated import Study
from belated.record.events import Event
from belated.record.ledger import Ledger, open_store
from belated.record.ledger.calls import MADE
from belated.record.ledger.memory import MemoryLedger
from belated.record.state import State

# Parameters of fixtures. PostgreSQL is a server that has to be started: `make test-faults` does.
POSTGRES = pytest.param("postgres", marks=pytest.mark.faults)
DURABLE = ("sqlite", POSTGRES)
SERVER = pytest.param("server", marks=pytest.mark.faults)  # a server of belated's, on a SQLite file
SERVER_OF_POSTGRES = pytest.param("server of postgres", marks=pytest.mark.faults)
NEAR = ("memory", *DURABLE)
KINDS = (*NEAR, SERVER)
GRID = belated.Points([i / 20 for i in range(21)])


@dataclass
class Clock:
    """Seconds that the test sets."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Place:
    """A url (none: memory), a clock, and the handles that a test has on its study."""

    url: str | None
    clock: Clock = field(default_factory=Clock)
    opened: list[Study] = field(default_factory=list)
    ledgers: dict[Study, MemoryLedger] = field(default_factory=dict)  # of those in memory
    store: str | None = None  # the url of what a server keeps its studies in

    @classmethod
    @contextmanager
    def at(cls, kind: str, request: pytest.FixtureRequest) -> Iterator[Place]:
        """A place of one of KINDS, in the test's folder or in a database of its own."""
        url = None
        if kind == "sqlite":
            url = f"sqlite:///{request.getfixturevalue('tmp_path')}/lab.db"
        elif kind == "postgres":
            url = request.getfixturevalue("postgres_url")
        elif kind.startswith("server"):
            folder = request.getfixturevalue("tmp_path")
            store = f"sqlite:///{folder}/lab.db" if kind == "server" else request.getfixturevalue("postgres_url")
            with cls._serve(store) as place:
                yield place
            return
        place = cls(url)
        try:
            yield place
        finally:
            place.disconnect()

    @classmethod
    @contextmanager
    def _serve(cls, store: str) -> Iterator[Place]:
        """A server whose clock is the test's."""
        pytest.importorskip("fastapi")
        from tests.support.servers import run_server

        clock = Clock()
        with run_server(store, clock=clock) as running:
            place = cls(running.url, clock, store=store)
            try:
                yield place
            finally:
                place.disconnect()

    @property
    def clocks(self) -> dict[str, Clock]:
        """What a study is told of the clock: a server has its own."""
        return {} if self.store is not None else {"clock": self.clock}

    def create(self, name: str = "lab", **said: Any) -> Study:
        if "algorithm" not in said:
            said.setdefault("silence", "unknown")
        words = {"space": GRID, "seed": 7, **self.clocks, **said}
        study = Study.create(self.url, name, **words)
        if self.url is None:
            return self.in_memory(study, MemoryLedger())
        self.opened.append(study)
        return study

    def another(self, study: Study) -> Study:
        """A second handle on the same study."""
        if self.url is None:
            return self.in_memory(study, self.ledgers[study])
        second = Study.open(self.url, study.name or "", **self.clocks)
        self.opened.append(second)
        return second

    def restart(self, study: Study) -> Study:
        """The study as another process finds it."""
        if self.url is None:
            return self.in_memory(study, MemoryLedger(study.events()))
        study.disconnect()
        return self.another(study)

    def ledger(self, study: Study) -> Ledger:
        """The study's events as its ledger has them, with the lock that asks queue on."""
        return self.ledgers[study] if self.url is None else open_store(self.store or self.url).ledger(study.name or "")

    def in_memory(self, like: Study, ledger: MemoryLedger) -> Study:
        study = Study(like.original_settings, ledger, like.name, like.clock)
        self.ledgers[study] = ledger
        return study

    def disconnect(self) -> None:
        for study in self.opened:
            study.disconnect()


def list_events(study: Study) -> list[Event]:
    """The events of a study, without the keys that a client of a server makes where its user gave none."""
    made = [(event, str(getattr(event, "key", None)).startswith(MADE)) for event in study.events()]
    return [replace(event, key=None) if by_client else event for event, by_client in made]


def state_of(study: Study) -> State:
    """What the events of a study come to, worked out afresh."""
    return State.after(study.original_settings, study.events())
