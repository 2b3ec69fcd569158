"""What is sound of a damaged store, in a new file: of every study the longest sound prefix of its events."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from belated.errors import BelatedError, InvalidInput
from belated.record.events import Adjusted, Asked, Event
from belated.record.ledger import Store, open_store
from belated.record.ledger.chain import Row, begin_chain, follow_chain
from belated.record.ledger.sqlite import SQLiteStore, copy_files, find_path
from belated.wording import format_count


@dataclass(frozen=True, kw_only=True)
class Repair:
    """What a repair has kept, and in sentences what it has left out."""

    studies: int
    events: int
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        kept = f"kept {format_count(self.studies, 'study', 'studies')} with {format_count(self.events, 'event')}"
        return "\n".join([*self.left_out, kept])


def repair(url: str, new: Path) -> Repair:
    """Keep what is sound of the store at a url in a new file. The old store is only read."""
    if new.exists():
        raise InvalidInput(f"a repair needs a new file; {new} exists")
    studies, events, left_out = 0, 0, list[str]()
    with _open_untouched(url) as place:
        target = SQLiteStore.at(f"sqlite:///{new}", create=True)
        for name in place.names():
            try:
                origin = place.find_origin(name)
                rows, reason = _list_sound(place, name)
            except BelatedError as error:
                left_out.append(f"{name}: left out ({error})")
                continue
            if reason:
                left_out.append(f"{name}: left out from event {len(rows) + 1} on ({reason})")
            if rows or not reason:
                target.adopt(name, origin, rows)
                studies, events = studies + 1, events + len(rows)
        target.close()
    return Repair(studies=studies, events=events, left_out=tuple(left_out))


@contextmanager
def _open_untouched(url: str) -> Iterator[Store]:
    """A store that may be read; a file is copied first, because opening one may change it."""
    with tempfile.TemporaryDirectory(prefix="belated-repair-") as folder:
        if urlsplit(url).scheme == "sqlite":
            place = open_store(f"sqlite:///{copy_files(find_path(url), Path(folder))}")
        else:
            place = open_store(url)
        yield place
        place.close()


def _list_sound(place: Store, name: str) -> tuple[list[Row], str]:
    """The events up to the first one that is not sound, and what is wrong with that one."""
    origin, rows, events, reason = place.find_origin(name), list[Row](), list[Event](), ""
    head = begin_chain(origin.identity, origin.spec)
    try:
        for row in place.list_rows(name):
            for entry in follow_chain([row], head, "the store"):
                rows.append(row)
                events.append(entry.event)
                head = entry.head
        if head.position < origin.events:
            reason = f"event {head.position + 1} is missing"
    except BelatedError as error:
        reason = str(error)
    while events and reason and _needs_another(events[-1]):
        events.pop()
    return rows[: len(events)], reason


def _needs_another(event: Event) -> bool:
    """Whether it was written together with the event after it: in a batch, with its outcome, or before its ask."""
    if isinstance(event, Asked):
        return event.part < event.parts - 1 or event.told_at_once
    return isinstance(event, Adjusted)
