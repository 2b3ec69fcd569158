"""A store in one SQLite file, for one person or sixteen processes on one machine.

WAL with synchronous=FULL: what was acknowledged survives a power cut. Every write and every checkpoint holds a lock
beside the database (file_locks.py): the kernel keeps the queue, while SQLite's own busy handler polls. This also avoids
the WAL-reset race of SQLite before 3.51.3. Asks of one study wait for a second lock, which tells never take. A third
lock is for the next ask in the queue: it reads new events while the ask before it computes.

SQLite must not be open during a fork, even if the child opens its own connections: the child would assume locks that
only its parent holds, and the parent's last close would remove the WAL that the child uses. So every connection of this
process is closed before it forks, and opened again at its next use.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from belated.errors import BelatedError, InvalidInput, Taken, Unavailable, Unreachable, Unreadable
from belated.record.events import Event, event_to_columns, parse_event
from belated.record.ledger.passwords import mask_password
from belated.record.ledger.schema import read_migrations
from belated.record.locks import hold
from belated.validation import format_value

try:
    from belated.record.ledger.file_locks import hold_byte
except ModuleNotFoundError:
    raise Unavailable(
        "a SQLite study needs the file locks of a POSIX system such as Linux or macOS; "
        "here a study can be kept in memory or in PostgreSQL"
    ) from None

APPLICATION = 0x62656C61  # "bela", in the file's header
PATIENCE = 60.0  # seconds that SQLite waits for a writer of another program
WRITE = 0  # the byte of the lock that all writers wait for; those of study i are 2i (an ask) and 2i + 1 (the next ask)


_using = threading.RLock()  # held while a connection of this process is in use, and over a fork
_stores: weakref.WeakSet[SQLiteStore] = weakref.WeakSet()


def _close_before_fork() -> None:
    _using.acquire()
    for one in list(_stores):
        one.close()


def _start_again_in_child() -> None:
    global _using
    _using = threading.RLock()


os.register_at_fork(
    before=_close_before_fork, after_in_parent=lambda: _using.release(), after_in_child=_start_again_in_child
)


@dataclass(eq=False)
class SQLiteStore:
    """The studies in one file."""

    path: Path
    _connection: sqlite3.Connection | None = field(default=None, repr=False)

    @classmethod
    def at(cls, url: str, *, create: bool) -> SQLiteStore:
        """The store of sqlite:///relative.db or sqlite:////absolute.db."""
        parts = urlsplit(url)
        name = unquote(parts.path)[1:]
        if not url.startswith("sqlite:///") or not name or parts.query or parts.fragment:
            raise InvalidInput(
                f"a SQLite url must be sqlite:///path/to/file.db (got {format_value(mask_password(url))})"
            )
        path = Path(name).absolute()
        if not create and not path.exists():
            raise Unreachable(f"there is no file {path}; create a study in it first")
        if not path.parent.is_dir():
            raise Unreachable(f"there is no folder {path.parent}; make it first")
        made = cls(path)
        made._migrate(create)
        return made

    def create(self, name: str, spec: Mapping[str, Any]) -> bool:
        with self.lock_writes() as connection:
            words = (name, json.dumps(spec, allow_nan=False))
            return connection.execute("INSERT OR IGNORE INTO studies (name, spec) VALUES (?, ?)", words).rowcount == 1

    def spec(self, name: str) -> Mapping[str, Any] | None:
        rows = self.fetch("SELECT spec FROM studies WHERE name = ?", name)
        spec: Mapping[str, Any] | None = json.loads(rows[0][0]) if rows else None
        return spec

    def names(self) -> list[str]:
        return [name for (name,) in self.fetch("SELECT name FROM studies ORDER BY name")]

    def ledger(self, name: str) -> SQLiteLedger:
        rows = self.fetch("SELECT id FROM studies WHERE name = ?", name)
        if not rows:
            raise LookupError(name)
        return SQLiteLedger(self, rows[0][0])

    def fetch(self, query: str, *words: object) -> list[Any]:
        """The rows that a query returns."""
        try:
            with hold(_using):
                return self.connection.execute(query, words).fetchall()
        except sqlite3.Error as error:
            raise self._explain_errors(error, "read") from None

    def faults(self) -> list[str]:
        """What SQLite's own check finds, and declared tables and indexes that are missing."""
        try:
            wrong = [fault for (fault,) in self.fetch("PRAGMA integrity_check") if fault != "ok"]
            wrong += [f"{row[0]} has a row without a study" for row in self.fetch("PRAGMA foreign_key_check")]
            there = {sql for (sql,) in self.fetch("SELECT sql FROM sqlite_master")}
        except BelatedError as error:
            return [str(error)]
        declared = sqlite3.connect(":memory:")
        for _, statements in sorted(read_migrations("sqlite.sql").items()):
            for statement in statements:
                declared.execute(statement)
        names = declared.execute("SELECT type || ' ' || name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        declared.close()
        return wrong + [f"the {name} is missing or not as declared" for name, sql in names if sql not in there]

    def _explain_errors(self, error: Exception, verb: str) -> BelatedError:
        """One sentence for the user: the file is damaged, or the disk failed."""
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
            return Unreadable(f"the file {self.path} is damaged ({error})")
        return Unreachable(f"the file {self.path} could not be {verb} ({error}); try again when that is fixed")

    def close(self) -> None:
        with hold(_using):
            if self._connection is not None:
                self._finalizer()
            self._connection = None

    @property
    def connection(self) -> sqlite3.Connection:
        """Opened at its first use, and again after a fork."""
        if self._connection is None:
            connection = self._connect()
            self._finalizer = weakref.finalize(self, connection.close)
            _stores.add(self)
            self._connection = connection  # last: whatever an interrupt leaves out before it is done again
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        except sqlite3.OperationalError as error:
            raise Unreachable(f"the file {self.path} cannot be opened ({error})") from None
        except sqlite3.DatabaseError as error:
            raise Unreadable(f"{self.path} is not a store of belated ({error})") from None
        return connection

    @contextmanager
    def lock_writes(self) -> Iterator[sqlite3.Connection]:
        """One transaction, under the lock that all writers wait for."""
        try:
            with hold(_using), self.hold_byte(WRITE):
                connection = self.connection
                if connection.in_transaction:
                    connection.rollback()  # an interrupt came just before it was
                try:
                    connection.execute("BEGIN IMMEDIATE")
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    connection.rollback()
                    raise
        except sqlite3.Error as error:
            self.close()  # its state is unknown
            raise self._explain_errors(error, "written") from None

    def _has_wal(self) -> bool:
        wal = self.path.with_name(f"{self.path.name}-wal")
        return wal.exists() and wal.stat().st_size > 0

    def hold_byte(self, byte: int, waiting: Callable[[], object] | None = None) -> AbstractContextManager[None]:
        """Hold one of the locks beside the file; `waiting` is called first if another process has it."""
        return hold_byte(self.path.resolve(), byte, waiting)

    def _migrate(self, create: bool) -> None:
        """Create the tables, or bring them to this version, in one transaction."""
        newest = max(steps := read_migrations("sqlite.sql"))
        try:
            with hold(_using):
                connection = self.connection
                connection.execute("BEGIN")  # in one transaction: another process may be creating the tables
                (application,) = connection.execute("PRAGMA application_id").fetchone()
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                (page,) = connection.execute("PRAGMA page_size").fetchone()
                connection.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            raise Unreadable(f"{self.path} is not a store of belated ({error})") from None
        if tables and application != APPLICATION:
            raise Unreadable(f"{self.path} belongs to another program; name another file")
        if self.path.stat().st_size % page and not self._has_wal():  # SQLite would take the rest of the page for zeros
            raise Unreadable(f"the file {self.path} is damaged (it ends in the middle of a page); copy it again")
        if version > newest:
            raise Unreadable(f"{self.path} was written by a newer belated (schema {version}, this one knows {newest})")
        if not tables and not create:
            raise Unreadable(f"{self.path} is empty; create a study in it first")
        if version == newest:
            return
        try:
            with hold(_using), self.hold_byte(WRITE):
                self.connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.Error as error:
            raise self._explain_errors(error, "written") from None
        with self.lock_writes() as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()  # another process may have done it
            for step in range(version + 1, newest + 1):
                for statement in steps[step]:
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {newest}")


@dataclass(frozen=True)
class SQLiteLedger:
    """The events of one study in the file."""

    store: SQLiteStore
    study: int

    def append(self, events: Sequence[Event]) -> int:
        rows = [event_to_columns(event) for event in events]
        with self.store.lock_writes() as connection:
            last = "SELECT coalesce(max(position), 0) FROM events WHERE study = ?"
            (position,) = connection.execute(last, (self.study,)).fetchone()
            placed = ((self.study, place, *words) for place, words in enumerate(rows, start=position + 1))
            try:
                connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", placed)
            except sqlite3.IntegrityError:
                raise Taken from None
        return int(position) + len(rows)

    def read(self, after: int = 0) -> Iterator[Event]:
        query = "SELECT position, body FROM events WHERE study = ? AND position > ? ORDER BY position"
        for expected, (position, body) in enumerate(self.store.fetch(query, self.study, after), start=after + 1):
            try:
                if position != expected:
                    raise ValueError("it is missing")
                event = parse_event(body)
            except (ValueError, KeyError, TypeError) as error:
                raise Unreadable(f"the file {self.store.path} is damaged (event {expected}: {error})") from None
            yield event

    @contextmanager
    def lock_asks(self, meanwhile: Callable[[SQLiteLedger], object] | None = None) -> Iterator[SQLiteLedger]:
        ready = None if meanwhile is None else partial(meanwhile, self)
        with ExitStack() as held:
            with self.store.hold_byte(2 * self.study + 1):
                held.enter_context(self.store.hold_byte(2 * self.study, ready))
            yield self

    def close(self) -> None:
        self.store.close()
