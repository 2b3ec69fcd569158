"""A store in a PostgreSQL database, for many machines.

UNIQUE constraints and locks keep the events consistent, not isolation levels. A write locks the study's row, so
positions are in the order of commits. Asks of one study wait for an advisory lock of the session, which ends with its
connection; tells never take it.

A connection may be lost after COMMIT has happened and before its answer has come. So every write carries a token; after
a failure the ledger is searched for that token before the write is tried again.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, LiteralString, NamedTuple, NoReturn, TypeAlias, TypeVar
from urllib.parse import urlsplit

from belated.errors import BelatedError, InvalidInput, Taken, Unavailable, Unreachable, Unreadable
from belated.record.events import Event, Renamed, event_to_columns
from belated.record.ledger.chain import (
    Entry,
    Head,
    Origin,
    Row,
    Tombstone,
    Written,
    begin_chain,
    cut_snapshot,
    explain_seal,
    extend_chain,
    follow_chain,
    hash_content,
    is_another,
    make_identity,
    parse_spec,
    read_apart,
    read_found,
    read_parts,
    went_back,
)
from belated.record.ledger.holders import Holder, name_client
from belated.record.ledger.schema import read_migrations
from belated.record.ledger.shelf import Shelf, ShelfQueries
from belated.record.locks import ForkLock, hold, run_in_children

try:
    import psycopg
    import psycopg.conninfo
except ModuleNotFoundError:
    raise Unavailable('a postgresql:// url needs psycopg: pip install "belated[postgres]"') from None

Result = TypeVar("Result")

Connection: TypeAlias = psycopg.Connection[Any]

SCHEMA_LOCK = 0x62656C61  # "bela": held while the tables are made
ASK_LOCK = SCHEMA_LOCK  # and the study's id: held during an ask
NEXT_LOCK = SCHEMA_LOCK + 1  # and the study's id: held by the next ask in the queue
GONE = (psycopg.OperationalError, psycopg.InterfaceError)
BROKEN = (  # the tables are missing, made by halves, or other people's
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.DuplicateTable,
    psycopg.errors.DuplicateObject,
    psycopg.errors.WrongObjectType,
    psycopg.errors.DatatypeMismatch,
    psycopg.DataError,
    psycopg.IntegrityError,
)
WAITING = "SELECT 1 FROM belated_studies WHERE id = %s FOR UPDATE"
WRITTEN = "SELECT position, hash FROM belated_events WHERE study = %s AND token = %s ORDER BY position DESC LIMIT 1"
# What the schema makes.
TABLES = tuple(f"belated_{name}" for name in ("schema", "studies", "events", "tombstones", "snapshots"))
INDEXES = (*(f"belated_events_{name}" for name in ("pkey", "once", "keys", "tokens")), "belated_studies_identity")
FUNCTIONS = tuple(f"belated_{name}" for name in ("append", "append_about", "read", "queue", "turn"))
MISSING: LiteralString = """
SELECT 'table', name FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NULL
UNION ALL SELECT 'index', name FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NULL
UNION ALL SELECT 'function', name FROM unnest(%s::text[]) AS name
    WHERE NOT EXISTS (SELECT 1 FROM pg_proc WHERE proname = name AND pg_function_is_visible(oid))
"""
# One function and one round trip for any number of events; it commits by itself. The events are sent as JSON, which is
# cheaper to build than PostgreSQL's arrays.
APPEND = "SELECT a.written, a.last_position, a.last_hash, a.between_them FROM belated_append(%s, %s, %s, %s, %s) AS a"
APPEND_ABOUT = APPEND.replace("belated_append(", "belated_append_about(%s, ")
# The same for an ask, which holds the lock. Its lock becomes that of the transaction, and the commit releases it: not
# earlier, because the next ask must see this one, and without another round trip.
APPEND_AND_LEAVE = APPEND.replace(
    "a.between_them", "a.between_them, pg_advisory_xact_lock(%s, %s), pg_advisory_unlock(%s, %s)"
)
SPEC: LiteralString = """
SELECT identity, spec, s.position, s.hash, kind, number, key, part, body, e.hash
FROM belated_studies AS s LEFT JOIN belated_events AS e ON e.study = s.id AND e.position = 1 WHERE name = %s
"""
# One statement, so that the study's row and its events are of one moment. The event that was read before comes first.
READ = "SELECT * FROM belated_read(%s, %s)"
READ_PART = "SELECT * FROM belated_read(%s, %s) ORDER BY event_position LIMIT %s"
READ_AT: LiteralString = """
SELECT e.position, e.kind, e.number, e.key, e.part, e.body, e.hash, b.hash
FROM belated_studies AS s JOIN belated_events AS e ON e.study = s.id
LEFT JOIN belated_events AS b ON b.study = e.study AND b.position = e.position - 1
WHERE s.identity = %s AND e.position BETWEEN %s AND %s AND (%s::text IS NULL OR e.kind = %s) ORDER BY e.position
"""
SNAPSHOTS: LiteralString = """
SELECT DISTINCT p.position FROM belated_snapshots AS p JOIN belated_studies AS s ON s.id = p.study
WHERE s.identity = %s ORDER BY p.position DESC
"""
SNAPSHOT: LiteralString = """
SELECT body FROM belated_snapshots AS p JOIN belated_studies AS s ON s.id = p.study
WHERE s.identity = %s AND p.position = %s ORDER BY part
"""
SAVE: LiteralString = """
INSERT INTO belated_snapshots (study, position, part, body) SELECT id, %s, %s, %s FROM belated_studies
WHERE identity = %s ON CONFLICT (study, position, part) DO UPDATE SET body = excluded.body
"""
# All but the first parts of one.
DROP: LiteralString = """
DELETE FROM belated_snapshots WHERE study = (SELECT id FROM belated_studies WHERE identity = %s)
    AND (position <> %s OR part >= %s)
"""
COLUMNS = ("kind", "number", "key", "part", "body", "content")
OF_ONE_MOMENT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
ALONE = "LOCK TABLE belated_studies IN EXCLUSIVE MODE"  # others may read
SHELF = ShelfQueries(
    studies='SELECT name, identity, spec, sealed, position, hash FROM belated_studies ORDER BY name COLLATE "C"',
    events="""
    SELECT e.position, kind, number, key, part, body, e.hash
    FROM belated_events AS e JOIN belated_studies AS s ON s.id = e.study
    WHERE s.identity = %(identity)s ORDER BY e.position
    """,
    new_study="""
    INSERT INTO belated_studies (name, identity, spec, sealed, position, hash)
    VALUES (%(name)s, %(identity)s, %(spec)s, %(sealed)s, %(position)s, %(hash)s)
    """,
    new_event="""
    INSERT INTO belated_events (study, position, kind, number, key, part, body, hash, token, place)
    SELECT id, %(position)s, %(kind)s, %(number)s, %(key)s, %(part)s, %(body)s, %(hash)s, 'restored', %(position)s
    FROM belated_studies WHERE identity = %(identity)s
    """,
    move_head="""
    UPDATE belated_studies SET position = %(position)s, hash = %(hash)s WHERE identity = %(identity)s
    """,
    rename="UPDATE belated_studies SET name = %(name)s WHERE identity = %(identity)s",
    delete_events="""
    DELETE FROM belated_events WHERE study = (SELECT id FROM belated_studies WHERE identity = %(identity)s)
    """,
    delete_study="DELETE FROM belated_studies WHERE identity = %(identity)s",
    tombstones="SELECT identity, name, position, hash, person, at, reason FROM belated_tombstones ORDER BY at",
    new_tombstone="""
    INSERT INTO belated_tombstones VALUES (
        %(identity)s, %(name)s, %(position)s, %(hash)s, %(person)s, %(at)s, %(reason)s
    )
    """,
)
# Lock and read in one round trip. The next ask in the queue holds NEXT, and releases it when its turn comes.
QUEUE = "SELECT * FROM belated_queue(%s, %s, %s, %s, %s, %s)"
TURN = "SELECT * FROM belated_turn(%s, %s, %s, %s, %s, %s)"
LEAVE = "SELECT pg_advisory_unlock(%s, %s)"
LOOK = "5s"  # between two looks at who holds a lock
HOLDERS: LiteralString = """
SELECT a.pid, extract(epoch FROM a.query_start)::float8, coalesce(a.application_name, ''),
    coalesce(host(a.client_addr), '')
FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid) JOIN pg_database AS d ON d.oid = l.database
WHERE l.locktype = 'advisory' AND l.granted AND l.classid IN (%s, %s) AND l.objid = %s AND l.objsubid = 2
    AND d.datname = current_database() AND a.pid <> pg_backend_pid()
"""
PAUSES = (0.15, 0.45, 1.35, 4.05)  # seconds between attempts to reach a server that was lost
FIRST = 2.0  # seconds, at most, to reach a server for the first time
MOST_CONNECTING = 10.0  # seconds that a fork waits for those who are just connecting
# What libpq does about a network that goes silent, unless the url says otherwise. With the attempts to connect again
# that follow, a call is answered or fails within 30 seconds.
CLIENT_LIMITS: dict[str, Any] = {
    "connect_timeout": 2,  # seconds for each address; the least that libpq allows
    "tcp_user_timeout": 10_000,  # milliseconds for an answer to what was sent
    "keepalives_idle": 5,  # seconds without a word from a server that is computing; then it is asked
    "keepalives_interval": 2,
    "keepalives_count": 3,
}
# The same for the server's side of a connection: what a client holds that is lost is free within a minute. A client
# never computes inside a transaction, so one that is silent there is lost, or stopped.
SERVER_LIMITS = {
    "tcp_keepalives_idle": "15s",
    "tcp_keepalives_interval": "5s",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "20s",
    "idle_in_transaction_session_timeout": "30s",
    "client_connection_check_interval": "5s",
    "default_transaction_isolation": "read committed",  # what is read after a lock is taken is what there is then
}
# Only what this server knows, and what neither the url nor PGOPTIONS sets ("client").
LIMIT_SESSION = """
SELECT set_config(name, value, false) FROM json_each_text(%s) AS wanted (name, value) JOIN pg_settings USING (name)
WHERE source <> 'client'
"""


_open: weakref.WeakSet[Connection] = weakref.WeakSet()  # every connection of this process
_connecting: weakref.WeakSet[Connecting] = weakref.WeakSet()


class Connecting:
    """An attempt to connect, while it lasts."""


def connect(url: str) -> Connection:
    """A new connection that notices when the network is gone, on both sides."""
    stated = psycopg.conninfo.conninfo_to_dict(url)
    limits = {name: limit for name, limit in CLIENT_LIMITS.items() if name not in stated}
    attempt = Connecting()
    with hold(_forking):
        _connecting.add(attempt)
    try:
        connection = psycopg.connect(url, autocommit=True, fallback_application_name=name_client(), **limits)
        _open.add(connection)
    finally:
        _connecting.discard(attempt)
    try:
        limit_session(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def limit_session(connection: Connection) -> None:
    """Set the limits of the server's side."""
    limits = dict(SERVER_LIMITS)
    try:
        connection.execute(LIMIT_SESSION, (json.dumps(limits),))
    except psycopg.errors.InvalidParameterValue:  # a server on macOS or Windows cannot watch its clients
        del limits["client_connection_check_interval"]
        connection.execute(LIMIT_SESSION, (json.dumps(limits),))


def _wait_before_fork() -> None:
    """A socket of which nothing is known yet could not be closed in the child."""
    until = time.monotonic() + MOST_CONNECTING
    while _connecting and time.monotonic() < until:
        time.sleep(1e-3)


def _close_sockets_in_child() -> None:
    """A forked child lets go of its parent's sockets: one of them would keep a session, and its locks, alive."""
    for connection in list(_open):
        if not connection.closed:
            os.close(connection.fileno())  # without a word to the server
    _open.clear()
    _connecting.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_wait_before_fork)
run_in_children(_close_sockets_in_child)
_forking = ForkLock()  # held over a fork, before it waits: nobody begins to connect


def _close_connections(connections: list[Connection], process: int) -> None:
    """Close connections in the process that opened them: after a fork, a child has the same sockets."""
    while connections and process == os.getpid():
        connections.pop().close()


@dataclass
class PostgresStore:
    """The studies in one database."""

    url: str = field(repr=False)
    shown: str
    _idle: list[Connection] = field(default_factory=list, repr=False)  # connections of this process that are not in use
    _process: int = 0
    _reached: bool = False

    @classmethod
    def at(cls, url: str, shown: str) -> PostgresStore:
        """The store of postgresql://user@host/database; its tables are created if needed."""
        parts = urlsplit(url)
        try:
            psycopg.conninfo.conninfo_to_dict(url)
            host = parts.netloc.rpartition("@")[2]
            understood = parts.netloc.count("@") <= 1 and ("," in host or parts.port != 0)
            understood = understood and "%3a" not in host.lower()  # an error would show it, and it may be a password
        except (psycopg.ProgrammingError, ValueError):  # their reasons may show a piece of the password
            understood = False
        if not understood:
            raise InvalidInput(f"the url {shown} is not one of PostgreSQL's; special characters in it are written %XX")
        made = cls(url, shown)
        made._migrate()
        return made

    def create(self, name: str, spec: Mapping[str, Any]) -> bool:
        text, identity = json.dumps(spec, allow_nan=False), make_identity()
        words = (name, text, identity, begin_chain(identity, text).hash)
        insert: LiteralString = (
            "INSERT INTO belated_studies (name, spec, identity, hash) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"
        )
        return self.run(lambda connection: connection.execute(insert, words).rowcount == 1)

    def spec(self, name: str) -> Mapping[str, Any] | None:
        row = self._fetch_one(SPEC, (name,))
        return None if row is None else parse_spec(row, self.shown)

    def names(self) -> list[str]:
        rows = self.run(lambda c: c.execute("SELECT name FROM belated_studies").fetchall())
        return sorted(name for (name,) in rows)  # sorted here: the order must not depend on the database's collation

    def ledger(self, name: str) -> PostgresLedger:
        row = self._fetch_one("SELECT id, identity, spec FROM belated_studies WHERE name = %s", (name,))
        if row is None:
            raise LookupError(name)
        study, identity, spec = row
        return PostgresLedger(self, study, identity, begin_chain(identity, spec))

    def find_origin(self, name: str) -> Origin:
        query: LiteralString = "SELECT identity, spec, sealed, position FROM belated_studies WHERE name = %s"
        return Origin(*(self._fetch_one(query, (name,)) or ("", "", 0, 0)))

    def list_rows(self, name: str) -> Iterator[Row]:
        query: LiteralString = (
            "SELECT e.position, kind, number, key, part, body, e.hash "
            "FROM belated_events AS e JOIN belated_studies AS s ON s.id = e.study WHERE s.name = %s ORDER BY e.position"
        )
        for position, *words, hash_ in self.run(lambda c: c.execute(query, (name,)).fetchall()):
            yield Row(position, tuple(words), hash_)

    def use_studies(self, work: Callable[[Shelf], Result], *, writing: bool = False) -> Result:
        def once(connection: Connection) -> Result:
            with connection.transaction():
                connection.execute(ALONE if writing else OF_ONE_MOMENT)
                return work(Shelf(connection, SHELF))

        return self.run(once)

    def remarks(self) -> list[str]:
        sealed: LiteralString = "SELECT name, sealed FROM belated_studies WHERE sealed > 0 ORDER BY name"
        began = [explain_seal(name, count) for name, count in self.run(lambda c: c.execute(sealed).fetchall())]
        return began + [str(each) for each in self.use_studies(Shelf.list_tombstones)]

    def faults(self) -> list[str]:
        """Positions that do not match the number of events, and what the schema has made and is missing."""
        counted: LiteralString = (
            "SELECT name FROM belated_studies AS s WHERE position <> "
            "(SELECT count(*) FROM belated_events AS e WHERE e.study = s.id) ORDER BY name"
        )
        wrong = self.run(lambda c: c.execute(counted).fetchall())
        missing = self.run(lambda c: c.execute(MISSING, (list(TABLES), list(INDEXES), list(FUNCTIONS))).fetchall())
        return [f"positions of {name} do not count its events" for (name,) in wrong] + [
            f"the {kind} {name} is missing" for kind, name in missing
        ]

    def close(self) -> None:
        if self._process == os.getpid():
            _close_connections(self._idle, self._process)

    def take(self) -> Connection:
        """A connection for this caller alone until it is given back; never one from before a fork."""
        if self._process != os.getpid():
            self._idle, self._process = [], os.getpid()
            weakref.finalize(self, _close_connections, self._idle, self._process)
        while self._idle:
            with suppress(IndexError):  # another thread was first
                connection = self._idle.pop()
                if not connection.closed:
                    return connection
        connection = connect(self.url)
        self._reached = True
        return connection

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next caller, unless something is wrong with it."""
        if connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            self._idle.append(connection)
        else:
            connection.close()

    def run(self, work: Callable[[Connection], Result]) -> Result:
        """Run work on a connection; on a new one if it is lost."""

        def once() -> Result:
            connection = self.take()
            try:
                return work(connection)
            finally:
                self.give_back(connection)

        return self.retry(once)

    def retry(self, work: Callable[[], Result]) -> Result:
        """Run work, and again if its connection is lost."""
        began = time.monotonic()
        for pause in (*PAUSES, math.inf):
            try:
                with self.explain_errors():
                    return work()
            except GONE as error:
                reason = " ".join(str(error).split()) or type(error).__name__
            self.close()  # the other connections are lost too
            if math.isinf(pause) or not (self._reached or time.monotonic() + pause < began + FIRST):
                break
            time.sleep(pause)
        raise Unreachable(f"the server of {self.shown} cannot be reached ({reason})")

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Turn what the server refuses into an error of ours; a lost connection, or something taken, is not that."""
        try:
            yield
        except (psycopg.errors.UniqueViolation, *GONE):
            raise
        except psycopg.Error as error:
            raise explain_refusal(error, self.shown) from None

    def _fetch_one(self, query: LiteralString, words: tuple[object, ...] = ()) -> tuple[Any, ...] | None:
        return self.run(lambda connection: connection.execute(query, words).fetchone())

    def _migrate(self) -> None:
        """Create the tables, or bring them to this version, in one transaction."""
        newest = max(steps := read_migrations("postgres.sql"))

        def work(connection: psycopg.Connection[Any]) -> int:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
                known = connection.execute("SELECT to_regclass('belated_schema') IS NOT NULL").fetchone()
                row = (
                    connection.execute("SELECT version FROM belated_schema").fetchone() if known and known[0] else None
                )
                version = 0 if row is None else int(row[0])
                if version < 0:
                    return version
                for step in range(version + 1, newest + 1):
                    connection.execute(steps[step].encode())
                if version == 1:
                    _seal(connection)
                if version < newest:
                    connection.execute("DELETE FROM belated_schema")
                    connection.execute("INSERT INTO belated_schema VALUES (%s)", (newest,))
                return version

        version = self.run(work)
        if version < 0:
            raise Unreadable(f"the database {self.shown} is damaged (its schema is {version})")
        if version > newest:
            raise Unreadable(f"{self.shown} was written by a newer belated (schema {version}, this one knows {newest})")


def _seal(connection: Connection) -> None:
    """Begin the chain of every study of schema 1, with its events as they are."""
    read: LiteralString = "SELECT kind, number, key, part, body FROM belated_events WHERE study = %s ORDER BY position"
    connection.execute("LOCK TABLE belated_studies, belated_events IN ACCESS EXCLUSIVE MODE")
    for study, spec in connection.execute("SELECT id, spec FROM belated_studies").fetchall():
        identity = make_identity()
        head = begin_chain(identity, spec)
        heads = list(extend_chain(head, map(hash_content, connection.execute(read, (study,)).fetchall())))
        with connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE belated_events SET hash = %s WHERE study = %s AND position = %s",
                [(one.hash, study, one.position) for one in heads],
            )
        last = heads[-1] if heads else head
        connection.execute(
            "UPDATE belated_studies SET identity = %s, hash = %s, sealed = %s WHERE id = %s",
            (identity, last.hash, last.position, study),
        )


class Writing(NamedTuple):
    """Something to append."""

    events: Sequence[Event]
    seen: Head | None
    token: str
    text: str  # the events as JSON, with their hashes
    about: int | None = None

    @classmethod
    def of(cls, events: Sequence[Event], seen: Head | None, about: int | None = None) -> Writing:
        rows = [event_to_columns(event) for event in events]
        new = [dict(zip(COLUMNS, (*row, hash_content(row).hex()), strict=True)) for row in rows]
        return cls(events, seen, secrets.token_hex(16), json.dumps(new), about)

    @property
    def words(self) -> tuple[Any, ...]:
        """The arguments of APPEND, after the study."""
        return *(self.seen or (None, None)), self.token, self.text


@dataclass(frozen=True)
class PostgresLedger:
    """The events of one study in the database."""

    store: PostgresStore
    study: int
    identity: str
    start: Head

    def append(self, events: Sequence[Event], seen: Head | None = None, about: int | None = None) -> Written:
        return self.write(Writing.of(events, seen, about))

    def write(self, writing: Writing, *, tried: bool = False) -> Written:
        """Append. With `tried`, an earlier attempt may have succeeded without an answer, or may still be running."""

        def work(connection: Connection) -> Written:
            nonlocal tried
            if not tried:
                tried = True
                return self.append_now(connection, writing)
            with connection.transaction():
                connection.execute(WAITING, (self.study,))
                row = connection.execute(WRITTEN, (self.study, writing.token)).fetchone()
                if row is not None:
                    return Written(Head(*row))
                return self.append_now(connection, writing)

        try:
            return self.store.run(work)
        except psycopg.errors.UniqueViolation:
            raise Taken from None

    def rename(self, event: Renamed) -> None:
        self.store.use_studies(lambda shelf: shelf.rename_study(self.identity, event), writing=True)

    def delete(self, name: str, by: str | None, at: float, reason: str) -> None:
        tombstone = Tombstone(self.identity, name, 0, b"", by, at, reason)
        self.store.use_studies(lambda shelf: shelf.delete_study(tombstone), writing=True)

    def find_tombstone(self) -> Tombstone | None:
        return self.store.use_studies(lambda shelf: shelf.find_tombstone(self.identity))

    def append_now(self, connection: Connection, writing: Writing) -> Written:
        words = (self.identity, *writing.words)
        if writing.about is None:
            return self.read_answer(connection.execute(APPEND, words), writing)
        return self.read_answer(connection.execute(APPEND_ABOUT, (writing.about, *words)), writing)

    def read_answer(self, answer: psycopg.Cursor[Any], writing: Writing) -> Written:
        """What APPEND has done."""
        row = answer.fetchone()
        if row is None or row[1] is None:
            raise is_another(self.store.shown)
        found, position, hash_, between, *_ = row
        seen = writing.seen or self.start
        if not found:
            raise went_back(seen, self.store.shown)
        rows = [Row(place, tuple(words), bytes.fromhex(hex_)) for place, *words, hex_ in between or ()]
        return Written(Head(position, hash_), list(follow_chain(rows, seen, self.store.shown)), writing.events)

    def read(self, after: Head | None = None) -> Iterator[Entry]:
        def fetch(since: int, most: int) -> list[Any]:
            return self.store.run(lambda c: c.execute(READ_PART, (self.identity, since, most)).fetchall())

        return read_parts(fetch, after or self.start, self.store.shown)

    def read_at(self, first: int, last: int, kind: str | None = None) -> Iterator[Entry]:
        words = (self.identity, first, last, kind, kind)
        found = self.store.run(lambda c: c.execute(READ_AT, words).fetchall())
        return read_apart(found, self.start, self.store.shown)

    def load_snapshots(self) -> Iterator[bytes]:
        for (position,) in self.store.run(lambda c: c.execute(SNAPSHOTS, (self.identity,)).fetchall()):
            yield b"".join(self._load_parts(position))

    def _load_parts(self, position: int) -> list[bytes]:
        words = (self.identity, position)
        return [body for (body,) in self.store.run(lambda c: c.execute(SNAPSHOT, words, binary=True).fetchall())]

    def save_snapshot(self, position: int, snapshot: bytes) -> None:
        parts = cut_snapshot(snapshot)
        for part, body in enumerate(parts):
            self._change_snapshots(SAVE, (position, part, bytes(body), self.identity))
        self._change_snapshots(DROP, (self.identity, position, len(parts)))

    def drop_snapshots(self) -> None:
        self._change_snapshots(DROP, (self.identity, 0, 0))

    def _change_snapshots(self, statement: LiteralString, words: tuple[Any, ...]) -> None:
        self.store.run(lambda connection: connection.execute(statement, words))

    @contextmanager
    def lock_asks(
        self, meanwhile: Callable[[PostgresTurn], object] | None = None, after: Head | None = None
    ) -> Iterator[PostgresTurn]:
        turn = PostgresTurn(self, (after or self.start).position)
        try:
            try:
                self.store.retry(lambda: turn.begin(meanwhile))
                yield turn
            finally:
                turn.end()
        finally:
            turn.drop_connection()  # if an interrupt came just before the end

    def close(self) -> None:
        self.store.close()


@dataclass
class PostgresTurn:
    """The ledger that an ask uses, on the connection that holds the lock.

    If the connection is lost, so is the lock, and another ask may come first: the ask then goes on without the lock."""

    ledger: PostgresLedger
    position: int  # up to which its holder has read
    connection: Connection | None = None  # while it is this turn's
    holding: bool = False
    _found: list[tuple[Any, ...]] = field(default_factory=list)  # read together with the lock, from `position` on

    def begin(self, meanwhile: Callable[[PostgresTurn], object] | None) -> None:
        """Wait for the lock."""
        self.connection = connection = self.ledger.store.take()
        try:
            if not self._wait(connection, QUEUE):
                if meanwhile is not None:
                    meanwhile(self)
                self._wait(connection, TURN)
            self.holding = True
        except BaseException:
            self.drop_connection()  # which releases the locks too
            raise

    def _wait(self, connection: Connection, statement: LiteralString) -> bool:
        """Wait for a lock, and read; whether it is this one's turn. A stopped holder is not waited for long."""
        locks, since = (ASK_LOCK, NEXT_LOCK, self.ledger.study), dict[Holder, float]()
        while True:
            try:
                words = (*locks, LOOK, self.ledger.identity, self.position)
                found = connection.execute(statement, words).fetchall()
            except psycopg.errors.LockNotAvailable:
                now = time.monotonic()
                holders = [Holder(*row) for row in connection.execute(HOLDERS, locks).fetchall()]
                since = {holder: since.get(holder, now) for holder in holders}
                for holder, first in since.items():
                    if now - first >= holder.longest:
                        raise holder.explain(f"for asks in {self.ledger.store.shown}") from None
                continue
            self._found = [row[1:] for row in found]
            return not found or bool(found[0][0])

    def end(self) -> None:
        """Release the lock, if that has not happened, and give the connection back."""
        if self.connection is None:
            return
        try:
            if self.holding:
                self.connection.execute(LEAVE, (ASK_LOCK, self.ledger.study))
        except GONE:
            self.drop_connection()
            return
        self.ledger.store.give_back(self.connection)
        self.connection, self.holding = None, False

    def drop_connection(self) -> None:
        """Go on without this connection, and so without the lock."""
        if self.connection is not None:
            self.connection.close()
        self.connection, self.holding = None, False

    def append(self, events: Sequence[Event], seen: Head | None = None, about: int | None = None) -> Written:
        writing, lock, self._found = Writing.of(events, seen, about), (ASK_LOCK, self.ledger.study), []
        if self.connection is None or not self.holding or about is not None:
            return self.ledger.write(writing)
        try:
            with self.ledger.store.explain_errors():
                words = (*lock, *lock, self.ledger.identity, *writing.words)
                answer = self.connection.execute(APPEND_AND_LEAVE, words)
        except psycopg.errors.UniqueViolation:
            raise Taken from None
        except GONE:
            self.drop_connection()
            return self.ledger.write(writing, tried=True)
        self.holding = False
        return self.ledger.read_answer(answer, writing)

    def read(self, after: Head | None = None) -> Iterator[Entry]:
        after = after or self.ledger.start
        found, self._found = self._found, []
        if found and self.position <= after.position <= found[0][0]:
            self.position, last = found[0][0], after.position
            new = [row for row in found if row[2] is None or row[2] >= last]
            return read_found(new, after, self.ledger.store.shown)
        if self.connection is None:
            return self.ledger.read(after)
        try:
            with self.ledger.store.explain_errors():
                found = self.connection.execute(READ, (self.ledger.identity, after.position)).fetchall()
                return read_found(found, after, self.ledger.store.shown)
        except GONE:
            self.drop_connection()
            return self.ledger.read(after)

    def read_at(self, first: int, last: int, kind: str | None = None) -> Iterator[Entry]:
        return self.ledger.read_at(first, last, kind)

    def load_snapshots(self) -> Iterator[bytes]:
        return self.ledger.load_snapshots()

    def save_snapshot(self, position: int, snapshot: bytes) -> None:
        self.ledger.save_snapshot(position, snapshot)

    def drop_snapshots(self) -> None:
        self.ledger.drop_snapshots()

    def lock_asks(self, meanwhile: object = None, after: Head | None = None) -> NoReturn:
        raise RuntimeError("an ask already holds the lock; it cannot take it again")

    def close(self) -> None:
        self.ledger.close()


def explain_refusal(error: psycopg.Error, shown: str) -> BelatedError:
    """One sentence for the user: the tables are not as they should be, or this user may not do that now."""
    reason = " ".join((error.diag.message_primary or str(error)).split())
    if isinstance(error, BROKEN):
        return Unreadable(f"the tables of {shown} are not as belated made them ({reason})")
    return Unreachable(f"the database {shown} could not be used ({reason}); try again when that is fixed")
