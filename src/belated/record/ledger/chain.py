"""Events chained by hash: a changed, missing or moved event is found, and so is a store that went back in time.

content  SHA-256 over kind, number, key, part and body, each with its length
hash     of event i: SHA-256 over the hash of event i - 1, the position i and the content. It begins with the study's id
         and its settings as created

The study's name, row ids and tokens of writes are no part of it: studies are renamed and move between stores. Who
computes the whole chain anew is found only by a head that was kept elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from belated.errors import StoreChanged, Taken, Unreadable
from belated.record.events import Event, event_from_dict, parse_plain, parse_together, require_event

DAMAGE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)  # what decoding a damaged row raises
NONE = (-1).to_bytes(8, "big", signed=True)  # the length of what is not there
# What may happen to other trials without a meaning for this one.
BESIDE = frozenset(("asked", "told", "converted", "repeated", "refused", "failed"))
PART = 1000  # events that are read at once
SNAPSHOT_PART = 1 << 23  # bytes of a snapshot that are written at once
Columns = tuple[str, int | None, str | None, int, str]  # kind, number, key, part, body


class Head(NamedTuple):
    """An event by its position, with its hash; position 0 is the study as created."""

    position: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.position} {self.hash.hex()}"


class Entry(NamedTuple):
    """An event as it was read."""

    plain: Mapping[str, Any]
    source: str | Event  # its JSON, or the event itself where it is kept in memory
    position: int
    hash: bytes

    @property
    def event(self) -> Event:
        return event_from_dict(self.plain) if isinstance(self.source, str) else self.source

    @property
    def head(self) -> Head:
        return Head(self.position, self.hash)


class Written(NamedTuple):
    """What an append has done."""

    head: Head  # of the last event
    between: Sequence[Entry] = ()  # what others wrote after the event that was seen
    events: Sequence[Event] = ()  # what was written; empty if it is not known what others wrote

    @property
    def position(self) -> int:
        return self.head.position

    @property
    def since(self) -> list[Event]:
        """All events after the one that was seen, with those that were written; empty if not known."""
        return [*(entry.event for entry in self.between), *self.events]


class Row(NamedTuple):
    """An event as a store keeps it."""

    position: int
    columns: Columns
    hash: bytes

    @property
    def head(self) -> Head:
        return Head(self.position, self.hash)


class Origin(NamedTuple):
    """What a study began with, and how many events its row counts."""

    identity: str
    spec: str
    sealed: int  # events that were there before the chain began
    events: int


class Tombstone(NamedTuple):
    """What is left of a study that was deleted."""

    identity: str
    name: str
    position: int
    hash: bytes
    person: str | None
    at: float
    reason: str

    def __str__(self) -> str:
        who = "" if self.person is None else f" by {self.person}"
        day = datetime.fromtimestamp(self.at, UTC).date().isoformat()
        return f"{self.name} was deleted{who} on {day} ({self.reason}); its head was {Head(self.position, self.hash)}"


def make_identity() -> str:
    """The id of a new study."""
    return secrets.token_hex(16)


def begin_chain(identity: str, spec: str) -> Head:
    """The head of a study to which nothing has happened; spec is the text of its settings, as stored."""
    return Head(0, hashlib.sha256(_measure(identity) + _measure(spec)).digest())


def hash_content(columns: Columns) -> bytes:
    kind, number, key, part, body = columns
    text = body.encode("utf-8", "surrogatepass")
    index = _measure_word(kind) + _measure_word(number) + _measure_word(key) + _measure_word(part)
    return hashlib.sha256(index + len(text).to_bytes(8, "big") + text).digest()


def extend_chain(head: Head, contents: Iterable[bytes]) -> Iterator[Head]:
    """The heads after more events."""
    for content in contents:
        position = head.position + 1
        head = Head(position, _chain(head.hash, position, content))
        yield head


def _chain(before: bytes, position: int, content: bytes) -> bytes:
    return hashlib.sha256(before + position.to_bytes(8, "big") + content).digest()


def _measure(part: str | int | None) -> bytes:
    """A part with its length before it."""
    if part is None:
        return NONE
    text = str(part).encode("utf-8", "surrogatepass")
    return len(text).to_bytes(8, "big") + text


_measure_word = lru_cache(1000, typed=True)(_measure)  # kinds, parts and the numbers of today come again and again


def follow_chain(rows: Sequence[Row], after: Head, where: str) -> Iterator[Entry]:
    """The events of these rows, which come right after a head. The first one that does not fit is named.

    where  what the store is called in a message"""
    position, hash_ = after
    plains = parse_together([row.columns[-1] for row in rows])
    for (place, columns, kept), plain in zip(rows, plains, strict=True):
        position, body = position + 1, columns[-1]
        try:
            if place != position:
                raise ValueError("it is missing")
            hash_ = _chain(hash_, position, hash_content(columns))
            if hash_ != kept:
                raise ValueError("it is not as it was written: its hash does not fit")
            entry = Entry(parse_plain(body) if plain is None else require_event(plain), body, position, hash_)
        except DAMAGE as error:
            raise Unreadable(f"{where} is damaged (event {position}: {error})") from None
        yield entry


def parse_spec(found: Sequence[Any], where: str) -> Mapping[str, Any]:
    """The settings of a study, if they are as they were written.

    found  identity, spec, position and hash of its head, and the columns and hash of its first event"""
    identity, spec, position, end, *columns, first = found
    start = begin_chain(identity, spec)
    if first is not None:
        for _ in follow_chain([Row(1, tuple(columns), first)], start, where):
            pass
    elif position == 0 and end != start.hash:
        raise _settings_damaged(where)
    try:
        return dict(json.loads(spec))
    except DAMAGE:
        raise _settings_damaged(where) from None


def _settings_damaged(where: str) -> Unreadable:
    return Unreadable(f"{where} is damaged (the study's settings are not as they were written)")


def read_on(rows: Sequence[Row], after: Head, end: Head, where: str) -> Iterator[Entry]:
    """The events after one that was read before.

    rows  from that event on (it is left out if it is the study as created)
    end   the study's head, as stored"""
    if after.position:
        if not rows or rows[0].head != after:
            raise went_back(after, where)
        rows = rows[1:]
    elif end.position == 0 and end != after:
        raise _settings_damaged(where)
    last: Head | Entry = after
    for last in follow_chain(rows, after, where):
        yield last
    if (last.position, last.hash) != end:
        raise Unreadable(f"{where} is damaged (event {last.position + 1}: it is missing; there were {end.position})")


def read_found(found: Sequence[Sequence[Any]], after: Head, where: str) -> Iterator[Entry]:
    """The events after one that was read before.

    found  from that event on, each with the study's head before it; one without an event if there is none"""
    if not found:
        raise is_another(where)
    return read_on(_list_rows(found), after, Head(*found[0][:2]), where)


def read_apart(found: Iterable[Sequence[Any]], start: Head, where: str) -> Iterator[Entry]:
    """Events that do not follow each other; each must fit to the hash before it.

    found  position, columns, hash, and the hash of the event before (None: there is none)
    start  the study as created"""
    for position, *columns, hash_, before in found:
        after = start if before is None else Head(position - 1, before)
        yield from follow_chain([Row(position, tuple(columns), hash_)], after, where)


def read_parts(fetch: Callable[[int, int], Sequence[Sequence[Any]]], after: Head, where: str) -> Iterator[Entry]:
    """The events after one that was read before, PART at a time, so that few are in memory at once.

    fetch  what there is from a position on, so many rows at most"""
    while len(found := fetch(after.position, PART)) == PART:
        rows = _list_rows(found)
        yield from read_on(rows, after, rows[-1].head, where)
        after = rows[-1].head
    yield from read_found(found, after, where)


def _list_rows(found: Sequence[Sequence[Any]]) -> list[Row]:
    return [Row(one[2], tuple(one[3:8]), one[8]) for one in found if one[2] is not None]


def cut_snapshot(snapshot: bytes) -> list[memoryview]:
    """A snapshot in parts, each of which is written at once."""
    whole = memoryview(snapshot)
    return [whole[start : start + SNAPSHOT_PART] for start in range(0, len(whole), SNAPSHOT_PART)]


def require_beside(between: Iterable[Entry], about: int) -> None:
    """Raise Taken where something happened that may mean something for a trial."""
    if any(entry.plain["event"] not in BESIDE or entry.plain.get("number") == about for entry in between):
        raise Taken


def went_back(after: Head, where: str) -> StoreChanged:
    return StoreChanged(
        f"{where} went back in time, perhaps to a backup: event {after.position} of this study, which was read before, "
        "is no longer in it; the next call goes on from what is there"
    )


def is_another(where: str) -> StoreChanged:
    return StoreChanged(f"{where} is another one now, without this study; nothing was written; open a study in it")


def explain_seal(name: str, count: int) -> str:
    return f"{name}: its chain of hashes began after event {count}; earlier events are chained as they were found then"
