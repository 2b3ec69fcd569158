"""A ledger on top of another one: what is appended is kept in memory, until somebody writes it there all at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NoReturn

from belated.errors import Taken
from belated.record.events import Event, event_to_dict
from belated.record.ledger import Ledger
from belated.record.ledger.chain import Entry, Head, Written
from belated.record.ledger.memory import list_marks


@dataclass(eq=False)
class StagedLedger:
    """The events of another ledger as they were at the first reading, and new ones, which have no hashes yet."""

    below: Ledger
    new: list[Event] = field(default_factory=list)
    seen: Head | None = None  # the last event below; None: there is none, or nothing was read
    _read: bool = False  # everything below
    _once: set[object] = field(default_factory=set)  # the marks of the new events

    def append(self, events: Sequence[Event], seen: Head | None = None, about: int | None = None) -> Written:
        marks = [mark for event in events for mark in list_marks(event)]
        if len(set(marks)) < len(marks) or not self._once.isdisjoint(marks):
            raise Taken
        self._once.update(marks)
        self.new.extend(events)
        return Written(Head(self._below + len(self.new), b""), (), events)

    @property
    def _below(self) -> int:
        return 0 if self.seen is None else self.seen.position

    def read(self, after: Head | None = None) -> Iterator[Entry]:
        first = 0 if after is None else after.position
        if not self._read:
            self.seen = after  # there may be nothing after it
            for entry in self.below.read(after):
                yield entry
                self.seen = entry.head
            self._read = True
        elif first < self._below:
            yield from takewhile(lambda entry: entry.position <= self._below, self.below.read(after))
        yield from self._list_new(max(first, self._below))

    def _list_new(self, place: int, last: int | None = None) -> Iterator[Entry]:
        """The new events after a position, up to another one."""
        stop = None if last is None else max(last - self._below, 0)
        for position, event in enumerate(self.new[place - self._below : stop], start=place + 1):
            yield Entry(event_to_dict(event), event, position, b"")

    def read_at(self, first: int, last: int, kind: str | None = None) -> Iterator[Entry]:
        if not self._read:
            yield from self.below.read_at(first, last, kind)
        elif first <= self._below:
            yield from self.below.read_at(first, min(last, self._below), kind)
        for entry in self._list_new(max(first - 1, self._below), last):
            if kind in (None, entry.plain["event"]):
                yield entry

    def load_snapshots(self) -> Iterator[bytes]:
        return self.below.load_snapshots()

    def save_snapshot(self, position: int, snapshot: bytes) -> None:
        """What is staged is of no study yet."""

    def drop_snapshots(self) -> None:
        """They are those of the ledger below."""

    @contextmanager
    def lock_asks(self, meanwhile: object = None, after: Head | None = None) -> Iterator[StagedLedger]:
        yield self

    def rename(self, event: object) -> NoReturn:
        raise NotImplementedError("a name is no part of what is staged")

    def delete(self, name: str, by: str | None, at: float, reason: str) -> NoReturn:
        raise NotImplementedError("a study that is staged cannot be deleted")

    def find_tombstone(self) -> None:
        return None

    def close(self) -> None:
        """The ledger below is closed by whoever opened it."""
