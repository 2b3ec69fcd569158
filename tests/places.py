"""Where a study is kept in a test: in memory, in a SQLite file, in a PostgreSQL database."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import belated
from belated import Study
from belated.record.events import Event
from belated.record.ledger.memory import MemoryLedger
from belated.record.state import State

KINDS = ("memory", "sqlite", "postgres")
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

    def create(self, name: str = "lab", **said: Any) -> Study:
        if "algorithm" not in said:
            said.setdefault("silence", "unknown")
        words = {"space": GRID, "seed": 7, "clock": self.clock, **said}
        return self._kept(Study.create(self.url, name, **words))

    def another(self, study: Study) -> Study:
        """A second handle on the same study."""
        if self.url is None:
            return self._kept(Study(study.original_settings, study._ledger, study.name, self.clock))
        return self._kept(Study.open(self.url, study.name or "", clock=self.clock))

    def restart(self, study: Study) -> Study:
        """The study as another process finds it."""
        if self.url is None:
            return self._kept(Study(study.original_settings, MemoryLedger(events(study)), study.name, self.clock))
        study._ledger.close()
        return self.another(study)

    def close(self) -> None:
        for study in self.opened:
            study._ledger.close()

    def _kept(self, study: Study) -> Study:
        self.opened.append(study)
        return study


def events(study: Study) -> list[Event]:
    return study.events()


def state_of(study: Study) -> State:
    """What follows from a study's events."""
    return State.after(study.original_settings, study.events())
