"""What is sound of a damaged store, in a new file: of every study the longest sound prefix of its events."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from belated.errors import BelatedError, Unavailable
from belated.record.events import Adjusted, Asked, Event
from belated.record.ledger import Store, is_server, open_store
from belated.record.ledger.chain import Origin, Row, Tombstone, begin_chain, follow_chain
from belated.record.ledger.rest import put_file_to_rest
from belated.record.ledger.sqlite import SQLiteStore, copy_files, find_path, make_url
from belated.record.new_file import make_new_file
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
    if is_server(url):
        raise Unavailable("a store is repaired where it is, not through its server")
    kept, left_out = list[tuple[str, Origin, list[Row]]](), list[str]()
    with make_new_file(new, "a repair") as beside:
        with _open_untouched(url) as place:
            gone = list[Tombstone]()
            with suppress(BelatedError):  # what is left of them may be damaged too
                gone = place.use_studies(lambda shelf: shelf.list_tombstones())
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
                    kept.append((name, origin, rows))
        target = SQLiteStore.at(make_url(beside), create=True)
        target.use_studies(lambda shelf: shelf.add_studies(kept), writing=True)
        target.use_studies(lambda shelf: shelf.add_tombstones(gone), writing=True)
        target.close()
    return Repair(studies=len(kept), events=sum(len(rows) for *_, rows in kept), left_out=tuple(left_out))


@contextmanager
def _open_untouched(url: str) -> Iterator[Store]:
    """A store that may be read; a file is copied first, because opening one may change it."""
    with tempfile.TemporaryDirectory(prefix="belated-repair-") as folder:
        if urlsplit(url).scheme == "sqlite":
            copy = copy_files(find_path(url), Path(folder))
            put_file_to_rest(copy)  # a copy without its newest events has sound ones too
            place = open_store(make_url(copy))
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
        return event.part < event.parts - 1 or event.told_at_once or event.shown_over is not None
    return isinstance(event, Adjusted)
