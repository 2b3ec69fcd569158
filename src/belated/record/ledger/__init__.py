"""The events of a study, to append and to read. A url says where they are kept.

A ledger assigns positions 1, 2, 3, … to the events of one study, in the order in which they were written; a choice that
knew position p knew every event up to p. The ledger guarantees uniqueness: a number is asked once, told once and failed
once, and a key is used once. The first one counts. Events are chained by hash (chain.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias, TypeVar
from urllib.parse import unquote, urlsplit

from belated.errors import InvalidInput
from belated.record.events import Event, Renamed
from belated.record.ledger.chain import Entry, Head, Origin, Row, Tombstone, Written
from belated.record.ledger.passwords import mask_password
from belated.record.ledger.shelf import Shelf
from belated.validation import format_value

Result = TypeVar("Result")
STORE = "BELATED_STORE"  # the variable of the environment that names a store


class Ledger(Protocol):
    """The events of one study."""

    def append(self, events: Sequence[Event], seen: Head | None = None, about: int | None = None) -> Written:
        """Write all of them, or none, at the next positions; or raise Taken.

        seen   an event that was read before, not always the newest; if it is no longer there: StoreChanged. What others
               wrote after it is returned too
        about  a trial: since `seen`, others may have asked, and told of other trials; after anything else: Taken"""

    def read(self, after: Head | None = None) -> Iterator[Entry]:
        """The events after one that was read before (None: all), in order; each must continue the chain of hashes."""

    def read_at(self, first: int, last: int, kind: str | None = None) -> Iterator[Entry]:
        """The events of a kind (None: of any) from a position to another; each must fit to the hash before it."""

    def load_snapshots(self) -> Iterator[bytes]:
        """The snapshots of the study (record/snapshot.py), the newest first, whether they are whole or not."""

    def save_snapshot(self, position: int, snapshot: bytes) -> None:
        """Keep a snapshot that stands for a position, in the place of all others."""

    def drop_snapshots(self) -> None:
        """Throw all snapshots away."""

    def lock_asks(
        self, meanwhile: Meanwhile | None = None, after: Head | None = None
    ) -> AbstractContextManager[Ledger]:
        """The lock that asks of this study wait for. It ends with its process, and tells never take it.

        It yields the ledger that its holder uses: the first append through it may release the lock at once. While they
        wait, the next one in the queue calls `meanwhile`, so that it has little left to read when its turn comes.

        after  what its holder has read, and will read on from"""

    def close(self) -> None:
        """Let go of files and connections."""


Meanwhile: TypeAlias = Callable[[Ledger], object]


class StudyLedger(Ledger, Protocol):
    """The events of one study, and the study itself: its name, and its end."""

    def rename(self, event: Renamed) -> None:
        """Give the study another name, and write the event, both or none; AlreadyExists where the name is taken."""

    def delete(self, name: str, by: str | None, at: float, reason: str) -> None:
        """Put a tombstone in the place of the study."""

    def find_tombstone(self) -> Tombstone | None:
        """What is left of the study, if it was deleted."""


class Store(Protocol):
    """The studies at one url."""

    def create(self, name: str, spec: Mapping[str, Any]) -> bool:
        """Store a new study; False when there is one of this name."""

    def spec(self, name: str) -> Mapping[str, Any] | None:
        """What a study was created with; None when there is none of this name."""

    def names(self) -> list[str]:
        """Every study, by name."""

    def ledger(self, name: str) -> StudyLedger:
        """The events of a study that exists."""

    def find_origin(self, name: str) -> Origin:
        """What a study that exists began with."""

    def list_rows(self, name: str) -> Iterator[Row]:
        """The events of a study as they are stored, whether they are sound or not, as far as they can be read."""

    def use_studies(self, work: Callable[[Shelf], Result], *, writing: bool = False) -> Result:
        """Do some work with whole studies, in one transaction. If the connection is lost, the work is done again."""

    def faults(self) -> list[str]:
        """What is wrong with the tables themselves, in sentences; empty when they are intact."""

    def remarks(self) -> list[str]:
        """What is worth knowing about the store and breaks nothing, in sentences."""

    def close(self) -> None:
        """Let go of files and connections."""


def find_store(url: str | None) -> str:
    """Where a study is kept: at the url that is given, or that BELATED_STORE names."""
    found = os.environ.get(STORE) if url is None else url
    if found is None:
        raise InvalidInput(f"url must be given, or named by the variable {STORE}, such as sqlite:///lab.db (got None)")
    return found


def is_server(url: object) -> bool:
    """Whether a url is that of a server of belated's."""
    return isinstance(url, str) and url.partition("://")[0].lower() in ("http", "https")


def open_store(url: str, *, create: bool = False, token: str | None = None) -> Store:
    """The store at a url: sqlite:///lab.db (a file; create=True makes it), postgresql://user@host/database, or that of
    a server, https://host; token: for a server."""
    if isinstance(url, str) and not (url.isprintable() and unquote(url).isprintable()):
        raise InvalidInput(f"url must be of printable characters (got {format_value(mask_password(url))})")
    try:
        scheme = urlsplit(url).scheme if isinstance(url, str) else ""
    except ValueError:
        scheme = ""
    if scheme == "sqlite":
        from belated.record.ledger.sqlite import SQLiteStore

        return SQLiteStore.at(url, create=create)
    if scheme in ("postgresql", "postgres"):
        from belated.record.ledger.postgres import PostgresStore

        return PostgresStore.at(url, str(mask_password(url)))
    if is_server(url):
        from belated.record.ledger.remote import RemoteStore

        return RemoteStore.at(url, token)
    kinds = "sqlite:///, postgresql:// or https://"
    raise InvalidInput(f"url must start with {kinds} (got {format_value(mask_password(url))})")
