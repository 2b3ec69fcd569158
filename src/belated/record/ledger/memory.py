"""A ledger in the memory of this process: a list of events, lost when the process ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from belated.errors import Taken
from belated.record.events import Asked, Event, Failed, Repeated, Told


@dataclass
class MemoryLedger:
    """Events at positions 1, 2, 3, … in the order in which they were appended."""

    events: list[Event] = field(default_factory=list)
    _once: set[object] = field(default_factory=set, repr=False)
    _writing: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _asking: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self._once.update(mark for event in self.events for mark in list_marks(event))

    def append(self, events: Sequence[Event]) -> int:
        new = [mark for event in events for mark in list_marks(event)]
        with self._writing:
            if len(set(new)) < len(new) or not self._once.isdisjoint(new):
                raise Taken
            self._once.update(new)
            self.events.extend(events)
            return len(self.events)

    def read(self, after: int = 0) -> Iterator[Event]:
        return iter(self.events[after:])

    @contextmanager
    def lock_asks(self, meanwhile: object = None) -> Iterator[MemoryLedger]:
        with self._asking:
            yield self

    def close(self) -> None:
        """There is nothing to close."""


def list_marks(event: Event) -> list[object]:
    """What must be unique: a number asked, told or failed, and a client's key (with its part)."""
    once: list[object] = [(type(event), event.number)] if isinstance(event, Asked | Told | Failed) else []
    if isinstance(event, Asked) and event.key is not None:
        once.append((event.key, event.part))
    if isinstance(event, Told | Repeated) and event.key is not None:
        once.append((event.key, 0))
    return once
