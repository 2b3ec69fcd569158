"""A store in one SQLite file, for one person or sixteen processes on one machine.

WAL with synchronous=FULL: what was acknowledged survives a power cut. Every write happens under a lock beside the file
(a queue that the kernel keeps, where SQLite's own busy handler polls), and so do checkpoints, which shuts out the
WAL-reset race of SQLite before 3.51.3. Asks of one study queue on a second lock, which tells never take. Both are
flock(2) locks: they die with their process.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from belated.errors import InvalidInput, Taken, Unreachable, Unreadable
from belated.events import Event, event_of, plain_of
from belated.ledger.schema import migrations
from belated.plain import shown

APPLICATION = 0x62656C61  # "bela", in the file's header
PATIENCE = 60.0  # seconds that SQLite waits for a writer that is not ours


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which is made if need be; waiting ones are woken by the kernel."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)  # closing lets go


@dataclass
class SQLiteStore:
    """The studies in one file."""

    path: Path
    _connection: sqlite3.Connection | None = field(default=None, repr=False)
    _process: int = 0

    @classmethod
    def at(cls, url: str, *, create: bool) -> SQLiteStore:
        """The store of sqlite:///relative.db or sqlite:////absolute.db."""
        parts = urlsplit(url)
        name = unquote(parts.path)[1:]
        if parts.netloc or not name or parts.query or parts.fragment:
            raise InvalidInput(f"a SQLite url must be sqlite:///path/to/file.db (got {shown(url)})")
        path = Path(name).absolute()
        if not create and not path.exists():
            raise Unreachable(f"there is no file {path}; create a study in it first")
        if not path.parent.is_dir():
            raise Unreachable(f"there is no folder {path.parent}; make it first")
        made = cls(path)
        made._migrate(create)
        return made

    def create(self, name: str, spec: Mapping[str, Any]) -> bool:
        with self.writing() as connection:
            words = (name, json.dumps(spec, allow_nan=False))
            return connection.execute("INSERT OR IGNORE INTO studies (name, spec) VALUES (?, ?)", words).rowcount == 1

    def spec(self, name: str) -> Mapping[str, Any] | None:
        row = self.connection.execute("SELECT spec FROM studies WHERE name = ?", (name,)).fetchone()
        if row is None:
            return None
        spec: Mapping[str, Any] = json.loads(row[0])
        return spec

    def names(self) -> list[str]:
        return [name for (name,) in self.connection.execute("SELECT name FROM studies ORDER BY name")]

    def ledger(self, name: str) -> SQLiteLedger:
        (study,) = self.connection.execute("SELECT id FROM studies WHERE name = ?", (name,)).fetchone()
        return SQLiteLedger(self, study)

    def close(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = None

    @property
    def connection(self) -> sqlite3.Connection:
        """This process's own: a connection must not be carried over a fork."""
        if self._connection is None or self._process != os.getpid():
            self._connection, self._process = self._connect(), os.getpid()
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        except sqlite3.OperationalError as error:
            raise Unreachable(f"the file {self.path} cannot be opened ({error})") from None
        except sqlite3.DatabaseError as error:
            raise Unreadable(f"{self.path} is not a store of belated's ({error})") from None
        return connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, under the lock that all writers queue on."""
        connection = self.connection
        with locked(self._beside("write")):
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _beside(self, what: str) -> Path:
        return self.path.with_name(f"{self.path.name}-{what}.lock")

    def asking(self, study: int) -> AbstractContextManager[None]:
        return locked(self._beside(f"ask-{study}"))

    def _migrate(self, create: bool) -> None:
        """Make the tables, or bring them to this version, in the transaction that records it."""
        newest = max(steps := migrations("sqlite.sql"))
        try:
            connection = self.connection
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.DatabaseError as error:
            raise Unreadable(f"{self.path} is not a store of belated's ({error})") from None
        if tables and application != APPLICATION:
            raise Unreadable(f"{self.path} belongs to another program; name another file")
        if version > newest:
            raise Unreadable(f"{self.path} was written by a newer belated (schema {version}, this one knows {newest})")
        if not tables and not create:
            raise Unreadable(f"{self.path} is empty; create a study in it first")
        if version == newest:
            return
        connection.execute("PRAGMA journal_mode = WAL")
        with self.writing():
            (version,) = connection.execute("PRAGMA user_version").fetchone()  # another process may have been first
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
        with self.store.writing() as connection:
            last = "SELECT coalesce(max(position), 0) FROM events WHERE study = ?"
            (position,) = connection.execute(last, (self.study,)).fetchone()
            rows = []
            for event in events:
                position += 1
                body = plain_of(event)
                where = (body["kind"], body.get("number"), body.get("key"), body.get("part", 0))
                rows.append((self.study, position, *where, json.dumps(body, allow_nan=False)))
            try:
                connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            except sqlite3.IntegrityError:
                raise Taken from None
        return int(position)

    def read(self, after: int = 0) -> Iterator[Event]:
        rows = self.store.connection.execute(
            "SELECT body FROM events WHERE study = ? AND position > ? ORDER BY position", (self.study, after)
        )
        return (event_of(json.loads(body)) for (body,) in rows.fetchall())

    def asking(self) -> AbstractContextManager[None]:
        return self.store.asking(self.study)

    def close(self) -> None:
        self.store.close()
