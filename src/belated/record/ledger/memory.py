"""A ledger in the memory of this process: a list of events, lost when the process ends.

Nobody else can change it, so its events have no hashes."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from belated.errors import Taken
from belated.record.events import (
    Amended,
    Asked,
    Converted,
    Event,
    Failed,
    Renamed,
    Repeated,
    Told,
    Undone,
    event_to_dict,
)
from belated.record.ledger.chain import Entry, Head, Tombstone, Written, is_another, require_beside
from belated.record.locks import hold, renew_in_children


@dataclass(eq=False)
class MemoryLedger:
    """Events at positions 1, 2, 3, … in the order in which they were appended."""

    events: list[Event] = field(default_factory=list)
    deleted: Tombstone | None = None
    _once: set[object] = field(default_factory=set, repr=False)  # the marks of the first events, as many as marked
    _marked: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        self._make_locks()
        renew_in_children(self, MemoryLedger._make_locks)

    def _make_locks(self) -> None:
        self._writing, self._asking = threading.RLock(), threading.RLock()

    def append(self, events: Sequence[Event], seen: Head | None = None, about: int | None = None) -> Written:
        self._require_there()
        new = [mark for event in events for mark in list_marks(event)]
        with hold(self._writing):
            self._mark()
            if len(set(new)) < len(new) or not self._once.isdisjoint(new):
                raise Taken
            between = () if seen is None else tuple(self._list(seen.position, len(self.events)))
            if about is not None:
                require_beside(between, about)
            self.events.extend(events)  # one step: an interrupt comes before or after
            return Written(Head(len(self.events), b""), between, events)

    def _mark(self) -> None:
        """Note the marks of the events that were appended since. An interrupt leaves some to note again."""
        count = len(self.events)
        self._once.update(mark for event in self.events[self._marked :] for mark in list_marks(event))
        self._marked = count

    def rename(self, event: Renamed) -> None:
        self.append([event])

    def delete(self, name: str, by: str | None, at: float, reason: str) -> None:
        self.deleted = Tombstone("", name, len(self.events), b"", by, at, reason)

    def find_tombstone(self) -> Tombstone | None:
        return self.deleted

    def _require_there(self) -> None:
        if self.deleted is not None:
            raise is_another("the memory")

    def read(self, after: Head | None = None) -> Iterator[Entry]:
        self._require_there()
        return self._list(0 if after is None else after.position, len(self.events))

    def read_at(self, first: int, last: int, kind: str | None = None) -> Iterator[Entry]:
        return (entry for entry in self._list(first - 1, last) if kind in (None, entry.plain["event"]))

    def load_snapshots(self) -> Iterator[bytes]:
        return iter(())

    def save_snapshot(self, position: int, snapshot: bytes) -> None:
        """Nobody opens it again."""

    def drop_snapshots(self) -> None:
        """There is none."""

    def _list(self, after: int, last: int) -> Iterator[Entry]:
        """The events from the one after a position to the last one."""
        for place, event in enumerate(self.events[after:last], start=after + 1):
            yield Entry(event_to_dict(event), event, place, b"")

    @contextmanager
    def lock_asks(self, meanwhile: object = None, after: Head | None = None) -> Iterator[MemoryLedger]:
        with hold(self._asking):
            yield self

    def close(self) -> None:
        """There is nothing to close."""


def list_marks(event: Event) -> list[object]:
    """What must be unique: a number asked, told or failed, and a client's key (with its part)."""
    once: list[object] = [(type(event), event.number)] if isinstance(event, Asked | Told | Failed) else []
    if isinstance(event, Asked) and event.key is not None:
        once.append((event.key, event.part))
    if isinstance(event, Told | Converted | Repeated | Amended | Undone) and event.key is not None:
        once.append((event.key, 0))
    return once
