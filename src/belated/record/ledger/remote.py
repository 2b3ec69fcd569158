"""The studies of a server, as a store: to read, and to make a new one. Its ledgers are read with their hashes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from belated.errors import InvalidInput, Unavailable, UnknownStudy
from belated.record.events import Event, Renamed, event_to_dict
from belated.record.ledger.calls import BY_IDENTITY, PAGE, ServerConnection, make_path
from belated.record.ledger.chain import (
    Entry,
    Head,
    Origin,
    Row,
    Tombstone,
    Written,
    begin_chain,
    follow_chain,
    parse_spec,
)
from belated.record.ledger.shelf import Shelf, WholeStudy

Result = TypeVar("Result")


@dataclass(frozen=True)
class RemoteStore:
    """The studies at one server."""

    connection: ServerConnection

    @classmethod
    def at(cls, url: str, token: str | None = None) -> RemoteStore:
        return cls(ServerConnection(url, token))

    @property
    def shown(self) -> str:
        return f"the server {self.connection.shown}"

    def create(self, name: str, spec: Mapping[str, Any]) -> bool:
        raise Unavailable("a study at a server is made with Study.create or belated new")

    def find(self, name: str) -> dict[str, Any] | None:
        """What the server says of a study; None where there is none of this name."""
        try:
            found: dict[str, Any] = self.connection.get(make_path(name))
        except UnknownStudy:
            return None
        return found

    def require(self, name: str) -> dict[str, Any]:
        """What the server says of a study that is there."""
        found: dict[str, Any] = self.connection.get(make_path(name))
        return found

    def spec(self, name: str) -> Mapping[str, Any] | None:
        found = self.find(name)
        return None if found is None else self.read_spec(found)

    def read_spec(self, found: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a study was created with, of what the server says of it."""
        head = Head(found["position"], bytes.fromhex(found["hash"]))
        return parse_spec((found["id"], found["origin"]["spec"], *head, *(None,) * 6), self.shown)

    def names(self) -> list[str]:
        return [each["name"] for each in self.connection.get("/api/studies")["studies"]]

    def ledger(self, name: str) -> RemoteLedger:
        found = self.find(name)
        if found is None:
            raise LookupError(name)
        return self.make_ledger(found)

    def make_ledger(self, found: Mapping[str, Any]) -> RemoteLedger:
        return RemoteLedger(self, found["id"], begin_chain(found["id"], found["origin"]["spec"]))

    def find_origin(self, name: str) -> Origin:
        found = self.find(name)
        if found is None:
            return Origin("", "", 0, 0)
        origin = found["origin"]
        return Origin(found["id"], origin["spec"], origin["sealed"], origin["events"])

    def list_rows(self, name: str) -> Iterator[Row]:
        ledger, after = self.ledger(name), 0
        while rows := ledger.fetch(after, None)[0]:
            yield from rows
            after = rows[-1].position

    def use_studies(self, work: Callable[[Shelf], Result], *, writing: bool = False) -> Result:
        if writing:
            raise Unavailable("a server's studies are restored where its store is: belated restore there")
        return work(RemoteShelf(self))

    def faults(self) -> list[str]:
        """The tables are the server's own business: belated check there looks at them."""
        return []

    def remarks(self) -> list[str]:
        return [str(each) for each in RemoteShelf(self).list_tombstones()]

    def close(self) -> None:
        self.connection.close()


class RemoteShelf(Shelf):
    """The studies of a server, each up to the head that it had when they were listed."""

    def __init__(self, store: RemoteStore) -> None:
        super().__init__(store, None)  # type: ignore[arg-type]

    def list_heads(self) -> list[tuple[str, Origin, Head]]:
        return [
            (
                each["name"],
                Origin(each["id"], each["spec"], each["sealed"], each["position"]),
                Head(each["position"], bytes.fromhex(each["hash"])),
            )
            for each in self.connection.connection.get("/api/studies")["studies"]
        ]

    def read_study(self, name: str, origin: Origin, head: Head) -> WholeStudy:
        ledger = RemoteLedger(self.connection, origin.identity, begin_chain(origin.identity, origin.spec))
        rows, after = list[Row](), 0
        while after < head.position and (part := ledger.fetch(after, None)[0]):
            rows += part
            after = rows[-1].position
        return WholeStudy(name, origin, head, rows[: head.position])

    def list_tombstones(self) -> list[Tombstone]:
        found = self.connection.connection.get("/api/studies", tombstones=True).get("tombstones", [])
        return [Tombstone(**{**each, "hash": bytes.fromhex(each["hash"])}) for each in found]


@dataclass(frozen=True)
class RemoteLedger:
    """The events of one study at a server."""

    store: RemoteStore
    identity: str
    start: Head

    @property
    def path(self) -> str:
        return make_path(f"{BY_IDENTITY}{self.identity}")

    def fetch(self, after: int, hash_: bytes | None) -> tuple[list[Row], Head]:
        """The next rows after a position, and the study's head."""
        found = self.store.connection.get(
            f"{self.path}/events", after=after, hash=None if hash_ is None else hash_.hex(), rows=True, limit=PAGE
        )
        rows = [Row(place, tuple(words), bytes.fromhex(hex_)) for place, *words, hex_ in found["events"]]
        return rows, Head(found["position"], bytes.fromhex(found["hash"]))

    def read(self, after: Head | None = None) -> Iterator[Entry]:
        last: Head = after or self.start
        while True:
            rows, _ = self.fetch(last.position, last.hash if last.position else None)
            for entry in follow_chain(rows, last, self.store.shown):
                last = entry.head
                yield entry
            if len(rows) < PAGE:
                return

    def read_at(self, first: int, last: int, kind: str | None = None) -> Iterator[Entry]:
        before = self.start if first == 1 else self.fetch(first - 2, None)[0][0].head
        for entry in self.read(before):
            if entry.position > last:
                return
            if kind is None or entry.plain["event"] == kind:
                yield entry

    def load_snapshots(self) -> Iterator[bytes]:
        """Snapshots are the server's own."""
        return iter(())

    def save_snapshot(self, position: int, snapshot: bytes) -> None:
        """The server makes its own."""

    def drop_snapshots(self) -> None:
        """There are none here."""

    def append(self, events: Sequence[Event], seen: Head | None = None, about: int | None = None) -> Written:
        """Write what was worked out here, if nothing happened since; the server checks it, and signs it."""
        last = seen or self.start
        plain = {
            "position": last.position,
            "hash": last.hash.hex(),
            "events": [event_to_dict(event) for event in events],
        }
        found = self.store.connection.post(f"{self.path}/append", plain)
        return Written(Head(found["position"], bytes.fromhex(found["hash"])))

    @contextmanager
    def lock_asks(self, meanwhile: object = None, after: Head | None = None) -> Iterator[RemoteLedger]:
        """There is no lock from afar: an append is refused if something happened since, and tried again."""
        yield self

    def rename(self, event: Renamed) -> None:
        raise InvalidInput("a study at a server is renamed by its own method")

    def delete(self, name: str, by: str | None, at: float, reason: str) -> None:
        raise InvalidInput("a study at a server is deleted by its own method")

    def find_tombstone(self) -> Tombstone | None:
        return RemoteShelf(self.store).find_tombstone(self.identity)

    def close(self) -> None:
        self.store.close()
