"""A store in a PostgreSQL database, for many machines.

Trust is in UNIQUE and in locks, not in isolation levels. Writing locks the study's row, so positions are in the order
of commit. Asks of one study queue on an advisory lock of the session, which dies with its connection; tells never take
it.

A connection may die, and the answer to COMMIT may be lost though it happened. So every write carries a token; after a
failure it is looked for before writing again.
"""

from __future__ import annotations

import json
import os
import secrets
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, LiteralString, TypeVar
from urllib.parse import urlsplit

from belated.errors import InvalidInput, Taken, Unavailable, Unreachable, Unreadable
from belated.events import Event, event_of, plain_of
from belated.ledger.schema import migrations

try:
    import psycopg
    import psycopg.conninfo
except ModuleNotFoundError:
    raise Unavailable('a postgresql:// url needs psycopg: pip install "belated[postgres]"') from None

Result = TypeVar("Result")

SCHEMA_LOCK = 0x62656C61  # "bela": held while the tables are made
WAITING = "SELECT 1 FROM belated_studies WHERE id = %s FOR UPDATE"
WRITTEN = "SELECT max(position) FROM belated_events WHERE study = %s AND token = %s"
# One round trip, however many events; the study's row stays locked until the transaction ends.
APPEND = """
WITH moved AS (UPDATE belated_studies SET position = position + %s WHERE id = %s RETURNING id, position)
INSERT INTO belated_events (study, position, kind, number, key, part, token, body)
SELECT moved.id, moved.position - %s + new.place, new.kind, new.number, new.key, new.part, %s, new.body
FROM moved, unnest(%s::text[], %s::bigint[], %s::text[], %s::integer[], %s::text[])
    WITH ORDINALITY AS new (kind, number, key, part, body, place)
RETURNING position
"""
ATTEMPTS = 5  # to reach a server that went away, with growing pauses


def _let_go(connection: psycopg.Connection[Any], process: int) -> None:
    """Close a connection, in the process that made it."""
    if process == os.getpid():
        connection.close()


@dataclass
class PostgresStore:
    """The studies in one database."""

    url: str = field(repr=False)
    shown: str
    _connection: psycopg.Connection[Any] | None = field(default=None, repr=False)
    _process: int = 0

    @classmethod
    def at(cls, url: str, shown: str) -> PostgresStore:
        """The store of postgresql://user@host/database; its tables are made if need be."""
        parts = urlsplit(url)
        try:
            psycopg.conninfo.conninfo_to_dict(url)
            understood = parts.netloc.count("@") <= 1 and ("," in parts.netloc or parts.port != 0)
        except (psycopg.ProgrammingError, ValueError):  # their reasons may show a piece of the password
            understood = False
        if not understood:
            raise InvalidInput(f"the url {shown} is not one of PostgreSQL's; special characters in it are written %XX")
        made = cls(url, shown)
        made._migrate()
        return made

    def create(self, name: str, spec: Mapping[str, Any]) -> bool:
        words = (name, json.dumps(spec, allow_nan=False))
        insert = "INSERT INTO belated_studies (name, spec) VALUES (%s, %s) ON CONFLICT DO NOTHING"
        return self.retrying(lambda connection: connection.execute(insert, words).rowcount == 1)

    def spec(self, name: str) -> Mapping[str, Any] | None:
        row = self._one("SELECT spec FROM belated_studies WHERE name = %s", (name,))
        return None if row is None else json.loads(row[0])

    def names(self) -> list[str]:
        rows = self.retrying(lambda c: c.execute("SELECT name FROM belated_studies").fetchall())
        return sorted(name for (name,) in rows)  # whatever the database's collation

    def ledger(self, name: str) -> PostgresLedger:
        row = self._one("SELECT id FROM belated_studies WHERE name = %s", (name,))
        if row is None:
            raise LookupError(name)
        return PostgresLedger(self, row[0])

    def faults(self) -> list[str]:
        """Positions that do not count the events, and declared indexes that are not there."""
        counted: LiteralString = (
            "SELECT name FROM belated_studies AS s WHERE position <> "
            "(SELECT count(*) FROM belated_events AS e WHERE e.study = s.id) ORDER BY name"
        )
        there: LiteralString = "SELECT indexname FROM pg_indexes WHERE tablename = 'belated_events'"
        wrong = self.retrying(lambda c: c.execute(counted).fetchall())
        indexes = {name for (name,) in self.retrying(lambda c: c.execute(there).fetchall())}
        declared = ("belated_events_pkey", "belated_events_once", "belated_events_keys")
        return [f"positions of {name} do not count its events" for (name,) in wrong] + [
            f"the index {name} is missing" for name in declared if name not in indexes
        ]

    def close(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            self._finalizer()
        self._connection = None

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """This process's own: a connection must not be carried over a fork."""
        if self._connection is None or self._process != os.getpid():
            self._connection = psycopg.connect(self.url, autocommit=True, connect_timeout=10)
            self._process = os.getpid()
            self._finalizer = weakref.finalize(self, _let_go, self._connection, self._process)
        return self._connection

    def retrying(self, work: Callable[[psycopg.Connection[Any]], Result]) -> Result:
        """Work on the connection; on a new one when it turns out to be dead."""
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(0.05 * 3**attempt)
            try:
                return work(self.connection)
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                reason = " ".join(str(error).split()) or type(error).__name__
                self.close()
        raise Unreachable(f"the server of {self.shown} cannot be reached ({reason})")

    def _one(self, query: LiteralString, words: tuple[object, ...] = ()) -> tuple[Any, ...] | None:
        return self.retrying(lambda connection: connection.execute(query, words).fetchone())

    def _migrate(self) -> None:
        """Make the tables, or bring them to this version, in the transaction that records it."""
        newest = max(steps := migrations("postgres.sql"))

        def work(connection: psycopg.Connection[Any]) -> int:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
                known = connection.execute("SELECT to_regclass('belated_schema') IS NOT NULL").fetchone()
                row = (
                    connection.execute("SELECT version FROM belated_schema").fetchone() if known and known[0] else None
                )
                version = 0 if row is None else int(row[0])
                for step in range(version + 1, newest + 1):
                    for statement in steps[step]:
                        connection.execute(statement.encode())
                if version < newest:
                    connection.execute("DELETE FROM belated_schema")
                    connection.execute("INSERT INTO belated_schema VALUES (%s)", (newest,))
                return version

        version = self.retrying(work)
        if version > newest:
            raise Unreadable(f"{self.shown} was written by a newer belated (schema {version}, this one knows {newest})")


@dataclass(frozen=True)
class PostgresLedger:
    """The events of one study in the database."""

    store: PostgresStore
    study: int

    def append(self, events: Sequence[Event]) -> int:
        token, bodies = secrets.token_hex(16), [plain_of(event) for event in events]
        columns = (
            [body["event"] for body in bodies],
            [body.get("number") for body in bodies],
            [body.get("key") for body in bodies],
            [body.get("part", 0) for body in bodies],
            [json.dumps(body, allow_nan=False) for body in bodies],
        )
        words = (len(events), self.study, len(events), token, *columns)
        tries = 0

        def work(connection: psycopg.Connection[Any]) -> int:
            nonlocal tries
            tries += 1
            with connection.transaction():
                if tries > 1:  # the last try may have happened though its answer was lost, or be happening: wait for it
                    connection.execute(WAITING, (self.study,))
                    row = connection.execute(WRITTEN, (self.study, token)).fetchone()
                    if row is not None and row[0] is not None:
                        return int(row[0])
                return max(int(position) for (position,) in connection.execute(APPEND, words).fetchall())

        try:
            return self.store.retrying(work)
        except psycopg.errors.UniqueViolation:
            raise Taken from None

    def read(self, after: int = 0) -> Iterator[Event]:
        query: LiteralString = "SELECT body FROM belated_events WHERE study = %s AND position > %s ORDER BY position"
        rows = self.store.retrying(lambda connection: connection.execute(query, (self.study, after)).fetchall())
        return (event_of(json.loads(body)) for (body,) in rows)

    @contextmanager
    def asking(self) -> Iterator[None]:
        lock: LiteralString = "SELECT pg_advisory_lock(%s, %s)"
        self.store.retrying(lambda connection: connection.execute(lock, (SCHEMA_LOCK, self.study)))
        try:
            yield
        finally:
            try:
                self.store.connection.execute("SELECT pg_advisory_unlock(%s, %s)", (SCHEMA_LOCK, self.study))
            except (psycopg.OperationalError, psycopg.InterfaceError):
                self.store.close()  # a lock dies with its connection

    def close(self) -> None:
        self.store.close()
