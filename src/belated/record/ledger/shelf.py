"""Whole studies, with id, settings and every event as it is stored: to copy them from one store to another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from belated.errors import AlreadyExists
from belated.record.events import Renamed, event_to_columns
from belated.record.ledger.chain import (
    Head,
    Origin,
    Row,
    Tombstone,
    begin_chain,
    extend_chain,
    hash_content,
    parse_spec,
    read_on,
)

COLUMNS = ("position", "kind", "number", "key", "part", "body", "hash")


class WholeStudy(NamedTuple):
    """A study with all of its events."""

    name: str
    origin: Origin
    head: Head  # as its store has it
    rows: Sequence[Row]

    @property
    def heads(self) -> list[Head]:
        """As created, and after each event, as they are stored."""
        return [begin_chain(self.origin.identity, self.origin.spec), *(row.head for row in self.rows)]

    def verify(self, where: str) -> None:
        """Go through its events, from the first to the head; the first one that does not fit is named."""
        begins = bool(self.rows) and self.rows[0].position == 1
        first = (*self.rows[0].columns, self.rows[0].hash) if begins else (None,) * 6
        parse_spec((self.origin.identity, self.origin.spec, *self.head, *first), where)
        for _ in read_on(self.rows, self.heads[0], self.head, where):
            pass


@dataclass(frozen=True)
class ShelfQueries:
    """What a shelf says to its database, with parameters by name."""

    studies: str  # -> name, identity, spec, sealed, position, hash
    events: str  # identity -> COLUMNS
    new_study: str  # name, identity, spec, sealed, position, hash
    new_event: str  # identity, COLUMNS
    move_head: str  # identity, position, hash
    rename: str  # identity, name
    delete_events: str  # identity
    delete_study: str  # identity
    tombstones: str  # -> the fields of Tombstone
    new_tombstone: str  # the fields of Tombstone


@dataclass(frozen=True)
class Shelf:
    """The studies of a store in one transaction."""

    connection: Any
    queries: ShelfQueries

    def list_heads(self) -> list[tuple[str, Origin, Head]]:
        """Name, origin and head of every study, by name."""
        found = self.connection.execute(self.queries.studies).fetchall()
        return [
            (name, Origin(identity, spec, sealed, position), Head(position, hash_))
            for name, identity, spec, sealed, position, hash_ in found
        ]

    def read_study(self, name: str, origin: Origin, head: Head) -> WholeStudy:
        found = self.connection.execute(self.queries.events, {"identity": origin.identity}).fetchall()
        return WholeStudy(name, origin, head, [Row(at, tuple(words), hash_) for at, *words, hash_ in found])

    def list_studies(self) -> Iterator[WholeStudy]:
        """Every study, by name."""
        return (self.read_study(*each) for each in self.list_heads())

    def add_studies(self, studies: Iterable[tuple[str, Origin, Sequence[Row]]]) -> None:
        for study in studies:
            self.add_study(*study)

    def add_study(self, name: str, origin: Origin, rows: Sequence[Row]) -> None:
        """A study that comes from elsewhere, with its id and its events."""
        words = {"name": name, "identity": origin.identity, "spec": origin.spec}
        start, sealed = begin_chain(origin.identity, origin.spec), min(origin.sealed, len(rows))
        self.connection.execute(self.queries.new_study, {**words, "sealed": sealed, **start._asdict()})
        self.add_events(origin.identity, rows)

    def find_head(self, identity: str) -> Head:
        """The head of a study; LookupError where it is gone."""
        found = {origin.identity: head for _, origin, head in self.list_heads()}
        return found[identity]

    def rename_study(self, identity: str, event: Renamed) -> None:
        """Another name, if it is free, and the event that says so."""
        if event.name in {name for name, *_ in self.list_heads()}:
            raise AlreadyExists(f"there is a study {event.name} already; choose another name")
        columns = event_to_columns(event)
        (head,) = extend_chain(self.find_head(identity), [hash_content(columns)])
        self.connection.execute(self.queries.rename, {"identity": identity, "name": event.name})
        self.add_events(identity, [Row(head.position, columns, head.hash)])

    def delete_study(self, tombstone: Tombstone) -> None:
        """Put a tombstone in the place of a study; its head is that of now."""
        now = tombstone._replace(**self.find_head(tombstone.identity)._asdict())
        words = {"identity": tombstone.identity}
        self.connection.execute(self.queries.delete_events, words)
        self.connection.execute(self.queries.delete_study, words)
        self.add_tombstones([now])

    def list_tombstones(self) -> list[Tombstone]:
        """Of every study that was deleted, by time."""
        return [Tombstone(*row) for row in self.connection.execute(self.queries.tombstones).fetchall()]

    def find_tombstone(self, identity: str) -> Tombstone | None:
        """What is left of this study, if it was deleted."""
        return next((each for each in self.list_tombstones() if each.identity == identity), None)

    def add_tombstones(self, tombstones: Iterable[Tombstone]) -> None:
        """Those that are not here yet, of studies that are not here."""
        here = {each.identity for each in self.list_tombstones()}
        here |= {origin.identity for _, origin, _ in self.list_heads()}
        for each in tombstones:
            if each.identity not in here:
                self.connection.execute(self.queries.new_tombstone, each._asdict())

    def add_events(self, identity: str, rows: Sequence[Row]) -> None:
        """The events that come next in a study."""
        if not rows:
            return
        placed = [dict(zip(COLUMNS, (row.position, *row.columns, row.hash), strict=True)) for row in rows]
        self.connection.cursor().executemany(self.queries.new_event, [{"identity": identity, **one} for one in placed])
        self.connection.execute(self.queries.move_head, {"identity": identity, **rows[-1].head._asdict()})
