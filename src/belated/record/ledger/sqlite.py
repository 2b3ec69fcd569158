"""A store in one SQLite file, for one person or sixteen processes on one machine.

WAL with synchronous=FULL: what was acknowledged survives a power cut. Every write and every checkpoint holds a lock
beside the database (file_locks.py), which is fairer and quicker than SQLite's own busy handler, and avoids the
WAL-reset race of SQLite before 3.51.3. Asks of one study wait for a lock of their own, which tells never take; the next
ask in the queue reads new events while the ask before it computes.

SQLite must not be open during a fork, even if the child opens its own connections: the child would assume locks that
only its parent holds, and the parent's last close would remove the WAL that the child uses. So every connection of this
process is closed before it forks, and opened again at its next use.
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import shutil
import sqlite3
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from urllib.parse import quote, unquote, urlsplit

from belated.errors import BelatedError, InvalidInput, StoreChanged, Taken, Unavailable, Unreachable, Unreadable
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
    hash_content,
    is_another,
    make_identity,
    parse_spec,
    read_apart,
    read_found,
    read_parts,
    require_beside,
)
from belated.record.ledger.headers import IN_USE, RESTS, FileId, forget_others, read_mode
from belated.record.ledger.passwords import mask_password
from belated.record.ledger.rest import (
    close_and_rest,
    find_log,
    has_events_in_log,
    has_log,
    has_log_of_another,
    is_awake,
    is_frozen,
    put_to_rest,
    share_log,
    wake,
)
from belated.record.ledger.schema import read_migrations, split_statements
from belated.record.ledger.shelf import Shelf, ShelfQueries
from belated.record.locks import ForkLock, hold
from belated.validation import format_value

try:
    from belated.record.ledger.file_locks import WRITES, hold_first
except ModuleNotFoundError:
    raise Unavailable(
        "a SQLite study needs the file locks of a POSIX system such as Linux or macOS; "
        "here a study can be kept in memory or in PostgreSQL"
    ) from None

Result = TypeVar("Result")

APPLICATION = 0x62656C61  # "bela", in the file's header
PAGES = tuple(2**power for power in range(9, 16))  # bytes of a page
TOKENS = "belated_tokens"  # a server's table, if there is one: belated.service.tokens
LONGEST_ENDING = "-lock"  # of the files beside the database
PATIENCE = 60.0  # seconds that SQLite waits for a writer of another program


def _explain_unreadable(path: Path, error: Exception) -> str:
    """Why a file cannot be used: it is shorter than its header says, or no store at all."""
    return _explain_truncated(path) or f"{path} is not a store of belated ({error})"


def _explain_truncated(path: Path) -> str:
    """What is missing of a file that is shorter than its header says; empty where nothing is."""
    with path.open("rb") as file:
        header = file.read(32)
    page, size = int.from_bytes(header[16:18], "big"), path.stat().st_size
    whole = page * int.from_bytes(header[28:32], "big")
    if not header.startswith(b"SQLite format 3\0") or page not in PAGES or size >= whole:
        return ""
    remedy = "copy it again, restore a backup, or keep what is sound with belated check --repair NEW"
    return f"the file {path} is truncated: it has {size} of {whole} bytes; {remedy}"


_stores: weakref.WeakSet[SQLiteStore] = weakref.WeakSet()


def _close_all() -> None:
    """Close what is open, in order: the last process out leaves everything in the file itself."""
    for one in list(_stores):
        one.close()
    forget_others(())


def _close_before_fork() -> None:
    try:
        _close_all()
    except BaseException:
        _close_all()  # an interrupt comes once
        raise


os.register_at_fork(before=_close_before_fork)
_using = ForkLock()  # held while a connection of this process is in use, and over a fork, before all is closed


@cache
def _close_at_exit(process: int) -> None:
    """Children of multiprocessing end without what atexit runs."""
    if "multiprocessing.util" in sys.modules:
        sys.modules["multiprocessing.util"].Finalize(None, _close_all, exitpriority=1)


atexit.register(_close_all)


def find_path(url: str) -> Path:
    """The file of sqlite:///relative.db or sqlite:////absolute.db."""
    parts = urlsplit(url)
    name = unquote(parts.path)[1:]
    path = Path(name).absolute()
    if not (url.startswith("sqlite:///") and name and path.name) or parts.query or parts.fragment:
        raise InvalidInput(f"a SQLite url must be sqlite:///path/to/file.db (got {format_value(mask_password(url))})")
    return path


def make_url(path: Path) -> str:
    """The url of a file."""
    return f"sqlite:///{quote(str(path.absolute()))}"


def copy_files(path: Path, folder: Path) -> Path:
    """Copy a file with its logs into a folder, while nobody writes."""
    try:
        locked = find_log(path, "-lock").exists()
        with hold(_using):
            _close_all()  # whoever closes any descriptor of a file loses all of its locks on it
            with hold_first(os.path.realpath(path), WRITES) if locked else nullcontext():
                shutil.copy(path, folder / path.name)
                for ending in ("-journal",) if has_log_of_another(path) else ("-wal", "-journal"):
                    if (log := find_log(path, ending)).exists():
                        shutil.copy(log, folder / f"{path.name}{ending}")
    except OSError as error:
        raise Unreachable(f"the file {path} cannot be opened ({error.strerror or error})") from None
    return folder / path.name


@dataclass(eq=False)
class SQLiteStore:
    """The studies in one file."""

    path: Path
    _connection: sqlite3.Connection | None = field(default=None, repr=False)
    _file: FileId | None = field(default=None, repr=False)  # what is open
    _log: FileId | None = field(default=None, repr=False)  # its write-ahead log, once written
    _name: str = field(default="", repr=False)  # its path without links
    _folder: str = field(default="", repr=False)  # device and inode of its folder
    _awake: bool = field(default=False, repr=False)  # whether this connection knows that there is a write-ahead log

    @classmethod
    def at(cls, url: str, *, create: bool) -> SQLiteStore:
        """The store of sqlite:///relative.db or sqlite:////absolute.db."""
        path = find_path(url)
        if path.name == ":memory:":
            raise InvalidInput(
                "url must name a file such as sqlite:///lab.db; for a study in memory leave url out "
                f"(got {format_value(url)})"
            )
        try:
            path.with_name(f"{path.name}{LONGEST_ENDING}").exists()  # raises where a name is too long
        except OSError as error:
            raise Unreachable(f"the file {format_value(str(path))} cannot be used ({error.strerror})") from None
        if not create and not path.exists():
            raise Unreachable(f"there is no file {path}; create a study in it first")
        if not path.parent.is_dir():
            raise Unreachable(f"there is no folder {path.parent}; make it first")
        if create:
            with suppress(OSError):  # it is explained when the file is opened
                path.touch()
        made = cls(path)
        made._migrate(create)
        return made

    def create(self, name: str, spec: Mapping[str, Any]) -> bool:
        text, identity = json.dumps(spec, allow_nan=False), make_identity()
        insert = "INSERT OR IGNORE INTO studies (name, spec, identity, hash) VALUES (?, ?, ?, ?)"
        with self.lock_writes() as connection:
            words = (name, text, identity, begin_chain(identity, text).hash)
            return connection.execute(insert, words).rowcount == 1

    def spec(self, name: str) -> Mapping[str, Any] | None:
        rows = self.fetch(SPEC, name)
        return parse_spec(rows[0], self.shown) if rows else None

    def names(self) -> list[str]:
        return [name for (name,) in self.fetch("SELECT name FROM studies ORDER BY name")]

    def ledger(self, name: str) -> SQLiteLedger:
        rows = self.fetch("SELECT id, identity, spec FROM studies WHERE name = ?", name)
        if not rows:
            raise LookupError(name)
        study, identity, spec = rows[0]
        return SQLiteLedger(self, study, identity, begin_chain(identity, spec))

    def find_origin(self, name: str) -> Origin:
        ((*words,),) = self.fetch("SELECT identity, spec, sealed, position FROM studies WHERE name = ?", name)
        return Origin(*words)

    def list_rows(self, name: str) -> Iterator[Row]:
        # one by one: a damaged page hides no event before it
        query = """
        SELECT e.position, kind, number, key, part, body, e.hash FROM events AS e JOIN studies AS s ON s.id = e.study
        WHERE s.name = ? AND e.position = ?
        """
        for place in itertools.count(1):
            found = self.fetch(query, name, place)
            if not found:
                return
            position, *words, hash_ = found[0]
            yield Row(position, tuple(words), hash_)

    def use_studies(self, work: Callable[[Shelf], Result], *, writing: bool = False) -> Result:
        if writing:
            with self.lock_writes() as connection:
                return work(Shelf(connection, SHELF))
        try:
            with hold(_using):
                self.connection.execute("BEGIN")
                try:
                    return work(Shelf(self.connection, SHELF))
                finally:
                    self.connection.rollback()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._explain_errors(error, "read") from None

    def copy_to(self, path: Path) -> None:
        """Copy everything, as it is at one moment, into another file. Others may write meanwhile."""
        try:
            with hold(_using), closing(sqlite3.connect(path, isolation_level=None)) as target:
                self.connection.backup(target)
                target.execute("DELETE FROM place")  # it is another file
                target.execute("PRAGMA secure_delete = ON")
                target.execute(f"DROP TABLE IF EXISTS {TOKENS}")  # who may do what is no part of a backup
                if target.execute("DELETE FROM snapshots").rowcount:
                    target.execute("VACUUM")
                put_to_rest(target)
        except sqlite3.Error as error:
            raise self._explain_errors(error, "copied") from None

    @property
    def shown(self) -> str:
        """What it is called in a message."""
        return f"the file {self.path}"

    def remarks(self) -> list[str]:
        sealed = self.fetch("SELECT name, sealed FROM studies WHERE sealed > 0 ORDER BY name")
        names = self.path.stat().st_nlink
        links = [f"{self.shown} has {names} names (hard links); use one of them only"] if names > 1 else []
        gone = map(str, self.use_studies(Shelf.list_tombstones))
        return [*links, *(explain_seal(name, count) for name, count in sealed), *gone]

    def fetch(self, query: str, *words: object) -> list[Any]:
        """The rows that a query returns."""
        try:
            with hold(_using):
                return self.connection.execute(query, words).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
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
        for _, sql in sorted(read_migrations("sqlite.sql").items()):
            declared.executescript(sql)
        names = declared.execute("SELECT type || ' ' || name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        declared.close()
        return wrong + [f"the {name} is missing or not as declared" for name, sql in names if sql not in there]

    def _explain_errors(self, error: Exception, verb: str) -> BelatedError:
        """One sentence for the user: the file is damaged, or the disk failed."""
        reason = str(error)
        broken = (
            reason.startswith(("no such table", "no such column", "Could not decode")) or "already exists" in reason
        )
        if broken or not isinstance(error, sqlite3.OperationalError):
            return Unreadable(f"the file {self.path} is damaged ({error})")
        return Unreachable(f"the file {self.path} could not be {verb} ({error}); try again when that is fixed")

    def close(self) -> None:
        with hold(_using):
            if self._connection is None:
                return
            try:
                # Under the lock: of two that close at once, each would leave the checkpoint to the other.
                with self.hold_first(WRITES):
                    self._close_connection()
            except BelatedError:
                self._close_connection()
            self._connection = None
            forget_others([one._file for one in list(_stores) if one._connection is not None])

    def _close_connection(self) -> None:
        kept = self._finalizer.detach()
        if kept is not None:
            _, close, words, _ = kept
            close(*words)  # a call of the finalizer itself does nothing while the interpreter ends

    @property
    def connection(self) -> sqlite3.Connection:
        """Opened at its first use, again after a fork, and again when the path has become another file."""
        found = self._identify()
        if self._connection is not None and found != self._file:
            self.close()
        if self._connection is None:
            self._refuse_log_of_another()
            connection = self._connect()
            self._file, self._log, self._name, self._awake = found, None, os.path.realpath(self.path), False
            self._folder = "{0.st_dev}:{0.st_ino}".format(os.stat(os.path.dirname(self._name)))
            self._finalizer = weakref.finalize(self, close_and_rest, connection, self.path, found)
            self._finalizer.atexit = False
            _close_at_exit(os.getpid())
            _stores.add(self)
            self._connection = connection  # last: whatever an interrupt leaves out before it is done again
        return self._connection

    def _identify(self) -> FileId:
        """The device and inode of what the path names now."""
        try:
            found = os.stat(self.path)
        except OSError as error:
            raise Unreachable(f"{self.shown} cannot be opened ({error.strerror})") from None
        return found.st_dev, found.st_ino

    def _identify_log(self) -> FileId | None:
        try:
            found = os.stat(f"{self._name}-wal")
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def _connect(self) -> sqlite3.Connection:
        try:
            return _open_connection(self.path)
        except sqlite3.OperationalError as error:
            raise Unreachable(f"{self.shown} cannot be opened ({error})") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise Unreadable(_explain_unreadable(self.path, error)) from None

    @contextmanager
    def lock_writes(self) -> Iterator[sqlite3.Connection]:
        """One transaction, under the lock that all writers wait for; it ends in the file that the path names."""
        with self._hold_writes() as connection:
            if not self._awake:
                with self._transact(connection):
                    moved = self._claim_name(connection)  # before there is a log: whoever copies the file has it
                wake(connection)
                share_log(self.path)
                _publish(connection, moved)
                self._awake = True
            elif self._log is not None and not self._is_whole():  # SQLite would put the log into another file
                self._refuse_changed()
            with self._transact(connection):
                moved = self._claim_name(connection)
                yield connection
            _publish(connection, moved)

    @contextmanager
    def _hold_writes(self) -> Iterator[sqlite3.Connection]:
        try:
            with hold(_using), self.hold_first(WRITES):
                connection = self.connection
                if connection.in_transaction:
                    connection.rollback()  # an interrupt came just before it was
                yield connection
        except sqlite3.Error as error:
            self.close()  # its state is unknown
            raise self._explain_errors(error, "written") from None

    @contextmanager
    def _transact(self, connection: sqlite3.Connection) -> Iterator[None]:
        try:
            connection.execute("BEGIN IMMEDIATE")
            self._log = self._log or self._identify_log()
            yield
            connection.execute("COMMIT")
        except BaseException:
            connection.rollback()
            raise
        self._check_path()

    def _check_path(self) -> None:
        """Nothing is acknowledged that the path does not show."""
        with suppress(Unreachable, OSError):
            if self._identify() == self._file and self._is_whole():
                return
        self._refuse_changed()

    def _is_whole(self) -> bool:
        """Whether the log is its own, and the header says that there is one."""
        modes = (IN_USE,) if self._awake else (RESTS, IN_USE)
        return self._identify_log() == self._log and read_mode(self.path, self._file) in modes

    def _refuse_changed(self) -> NoReturn:
        self.close()
        raise StoreChanged(
            f"{self.shown}, or its write-ahead log, was deleted, moved or replaced while it was open; "
            "what was written last is not in it"
        )

    def _claim_name(self, connection: sqlite3.Connection) -> bool:
        """Two names of one file have two write-ahead logs: whoever uses the second would not see the first one's.

        So the name in use is kept in the file. After a move the new name takes its place; True if it did just now."""
        kept = connection.execute("SELECT path, folder FROM place").fetchone()
        if kept == (self._name, self._folder):
            return False
        if kept is not None and os.path.realpath(kept[0]) != self._name:
            if self._is_here(*kept):
                return False  # the same folder, mounted at two places
            self._refuse_second_name(Path(kept[0]))
        connection.execute("DELETE FROM place")
        connection.execute("INSERT INTO place VALUES (?, ?)", (self._name, self._folder))
        return True

    def hold_first(self, queue: int, waiting: Callable[[], object] | None = None) -> AbstractContextManager[None]:
        """Be the first one of a queue beside the file; `waiting` is called by whoever is next."""
        self._identify()  # if it is gone, that is what to say
        if not os.access(self.path, os.W_OK):
            raise Unreachable(f"{self.shown} can be read here, and not written; copy it to where it can be")
        return hold_first(self._name or os.path.realpath(self.path), queue, waiting)

    def _migrate(self, create: bool) -> None:
        """Create the tables, or bring them to this version, in one transaction."""
        newest = max(steps := read_migrations("sqlite.sql"))
        try:
            with hold(_using):
                had_log, connection = has_log(self.path), self.connection
                connection.execute("BEGIN")  # in one transaction: another process may be creating the tables
                (application,) = connection.execute("PRAGMA application_id").fetchone()
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                (page,) = connection.execute("PRAGMA page_size").fetchone()
                connection.execute("COMMIT")
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise Unreadable(_explain_unreadable(self.path, error)) from None
        if tables and application != APPLICATION:
            raise Unreadable(f"{self.path} belongs to another program; name another file")
        if self.path.stat().st_size % page and not had_log:  # SQLite would take the rest of the page for zeros
            damaged = f"the file {self.path} is damaged (it ends in the middle of a page); copy it again"
            raise Unreadable(_explain_truncated(self.path) or damaged)
        if version < 0:
            raise Unreadable(f"the file {self.path} is damaged (its schema is {version})")
        if version > newest:
            raise Unreadable(f"{self.path} was written by a newer belated (schema {version}, this one knows {newest})")
        if not tables and not create:
            raise Unreadable(f"{self.path} is empty; create a study in it first")
        if version > 1:  # the header of schema 1 says "in use" for ever
            self._refuse_bare_copy(had_log)
        if version == newest:
            return
        with self._hold_writes() as connection:
            with self._transact(connection):
                (version,) = connection.execute("PRAGMA user_version").fetchone()  # another process may have done it
                for step in range(version + 1, newest + 1):
                    for statement in split_statements(steps[step]):
                        connection.execute(statement)
                if version == 1:
                    _seal(connection)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {newest}")
                moved = self._claim_name(connection)
            _publish(connection, moved)  # a file of schema 1 has a log

    def _refuse_bare_copy(self, had_log: bool) -> None:
        """Refuse a copy that was made while the file was in use, without the log that has its newest events."""
        with hold(_using):
            connection = self.connection
            kept = self.fetch("SELECT path, folder FROM place") if is_awake(connection) else []
        if not kept or self._is_here(*kept[0]):  # it is in use, or was killed just before it came to rest
            return
        self._finalizer.detach()
        connection.close()  # as it is: what it says stays true
        self._connection = None
        other = Path(kept[0][0])
        self._refuse_second_name(other)
        moved_away = not other.exists() and has_events_in_log(other)
        if had_log and (has_events_in_log(self.path) or not moved_away):  # to look at the file makes an empty log
            return
        with suppress(Unreachable), self.hold_first(WRITES):
            if has_events_in_log(self.path):  # somebody began to use it at this moment
                return
        if moved_away:
            raise Unreachable(
                f"{self._name} was moved away from its newest events, which are in {other}-wal; "
                "move that file along too"
            )
        raise Unreachable(
            f"{self._name} was copied while it was in use, without its newest events: they were in the -wal beside "
            f"{other}; copy with belated backup, or keep what is here with belated check --repair NEW"
        )

    def _refuse_log_of_another(self) -> None:
        """Refuse a file that was put in the place of another one, whose log is still there: SQLite would mix them."""
        if not has_log_of_another(self.path):
            return
        with suppress(Unreachable), self.hold_first(WRITES):
            if not has_log_of_another(self.path):  # somebody just came, or went
                return
        raise Unreachable(
            f"{self.shown} was put in the place of another one, whose newest events are in the -wal beside it; move "
            "the -wal and the -shm away to use what is there now, or put the other file back"
        )

    def _refuse_second_name(self, other: Path) -> None:
        if other.exists() and os.path.samefile(other, self._name):
            raise Unreachable(
                f"{self._name} and {other} are two names of one file, whose changes would be lost to each other; "
                f"use {other}, or remove one of the two names"
            )

    def _is_here(self, path: str, folder: str) -> bool:
        """Whether a name that the file has kept is the one by which it is open now, perhaps through another mount."""
        return (os.path.basename(path), folder) == (os.path.basename(self._name), self._folder)


def _publish(connection: sqlite3.Connection, moved: bool) -> None:
    """Make a new name of the file known under every name that it has."""
    if moved:
        connection.execute("PRAGMA wal_checkpoint(FULL)")


def _open_connection(path: Path) -> sqlite3.Connection:
    url = f"file:{quote(os.fsencode(path))}?mode=rw"  # a file that is gone is not made again
    connection = sqlite3.connect(url, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA schema_version")
    except sqlite3.DatabaseError as error:
        connection.close()
        if not (isinstance(error, sqlite3.OperationalError) and is_frozen(path)):
            raise
        connection = sqlite3.connect(f"{url}&immutable=1", uri=True, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _seal(connection: sqlite3.Connection) -> None:
    """Begin the chain of every study of schema 1, with its events as they are."""
    for study, spec in connection.execute("SELECT id, spec FROM studies").fetchall():
        identity = make_identity()
        head = begin_chain(identity, spec)
        rows = connection.execute(
            "SELECT kind, number, key, part, body FROM events WHERE study = ? ORDER BY position", (study,)
        )
        heads = list(extend_chain(head, map(hash_content, rows.fetchall())))
        connection.executemany(
            "UPDATE events SET hash = ? WHERE study = ? AND position = ?",
            [(one.hash, study, one.position) for one in heads],
        )
        last = heads[-1] if heads else head
        connection.execute(
            "UPDATE studies SET identity = ?, position = ?, hash = ?, sealed = ? WHERE id = ?",
            (identity, *last, last.position, study),
        )


SPEC = """
SELECT identity, spec, s.position, s.hash, kind, number, key, part, body, e.hash
FROM studies AS s LEFT JOIN events AS e ON e.study = s.id AND e.position = 1 WHERE name = ?
"""
# One statement, so that the study's row and its events are of one moment. The event that was read before comes first.
READ = """
SELECT s.position, s.hash, e.position, e.kind, e.number, e.key, e.part, e.body, e.hash
FROM studies AS s LEFT JOIN events AS e ON e.study = s.id AND e.position >= ?2
WHERE s.identity = ?1 ORDER BY e.position
"""
READ_AT = """
SELECT e.position, e.kind, e.number, e.key, e.part, e.body, e.hash, b.hash
FROM studies AS s JOIN events AS e ON e.study = s.id
LEFT JOIN events AS b ON b.study = e.study AND b.position = e.position - 1
WHERE s.identity = ?1 AND e.position BETWEEN ?2 AND ?3 AND (?4 IS NULL OR e.kind = ?4) ORDER BY e.position
"""
SNAPSHOTS = """
SELECT DISTINCT p.position FROM snapshots AS p JOIN studies AS s ON s.id = p.study
WHERE s.identity = ? ORDER BY p.position DESC
"""
SNAPSHOT = """
SELECT body FROM snapshots AS p JOIN studies AS s ON s.id = p.study
WHERE s.identity = ? AND p.position = ? ORDER BY part
"""
SAVE = "INSERT OR REPLACE INTO snapshots SELECT id, ?2, ?3, ?4 FROM studies WHERE identity = ?1"
# All but the first parts of one.
DROP = """
DELETE FROM snapshots WHERE study = (SELECT id FROM studies WHERE identity = ?1) AND (position <> ?2 OR part >= ?3)
"""
SHELF = ShelfQueries(
    studies="SELECT name, identity, spec, sealed, position, hash FROM studies ORDER BY name",
    events="""
    SELECT e.position, kind, number, key, part, body, e.hash FROM events AS e JOIN studies AS s ON s.id = e.study
    WHERE s.identity = :identity ORDER BY e.position
    """,
    new_study="""
    INSERT INTO studies (name, identity, spec, sealed, position, hash)
    VALUES (:name, :identity, :spec, :sealed, :position, :hash)
    """,
    new_event="""
    INSERT INTO events SELECT id, :position, :kind, :number, :key, :part, :body, :hash FROM studies
    WHERE identity = :identity
    """,
    move_head="UPDATE studies SET position = :position, hash = :hash WHERE identity = :identity",
    rename="UPDATE studies SET name = :name WHERE identity = :identity",
    delete_events="DELETE FROM events WHERE study = (SELECT id FROM studies WHERE identity = :identity)",
    delete_study="DELETE FROM studies WHERE identity = :identity",
    tombstones="SELECT identity, name, position, hash, person, at, reason FROM tombstones ORDER BY at",
    new_tombstone="INSERT INTO tombstones VALUES (:identity, :name, :position, :hash, :person, :at, :reason)",
)


@dataclass(frozen=True)
class SQLiteLedger:
    """The events of one study in the file."""

    store: SQLiteStore
    study: int
    identity: str
    start: Head

    def append(self, events: Sequence[Event], seen: Head | None = None, about: int | None = None) -> Written:
        rows = [event_to_columns(event) for event in events]
        with self.store.lock_writes() as connection:
            study, head = self._find_head(connection)
            between = list[Entry]()
            if seen is not None and seen != head:
                found = connection.execute(READ, (self.identity, seen.position)).fetchall()
                between += read_found(found, seen, self.store.shown)
                if about is not None:
                    require_beside(between, about)
            heads = list(extend_chain(head, map(hash_content, rows)))
            placed = [(study, one.position, *words, one.hash) for one, words in zip(heads, rows, strict=True)]
            try:
                connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", placed)
            except sqlite3.IntegrityError:
                raise Taken from None
            connection.execute("UPDATE studies SET position = ?, hash = ? WHERE id = ?", (*heads[-1], study))
        return Written(heads[-1], between, events)

    def rename(self, event: Renamed) -> None:
        self.store.use_studies(lambda shelf: shelf.rename_study(self.identity, event), writing=True)

    def delete(self, name: str, by: str | None, at: float, reason: str) -> None:
        tombstone = Tombstone(self.identity, name, 0, b"", by, at, reason)
        self.store.use_studies(lambda shelf: shelf.delete_study(tombstone), writing=True)

    def find_tombstone(self) -> Tombstone | None:
        return self.store.use_studies(lambda shelf: shelf.find_tombstone(self.identity))

    def _find_head(self, connection: sqlite3.Connection) -> tuple[int, Head]:
        """The study's row, and its head."""
        query = "SELECT id, position, hash FROM studies WHERE identity = ?"
        found = connection.execute(query, (self.identity,)).fetchone()
        if found is None:
            raise is_another(self.store.shown)
        return found[0], Head(*found[1:])

    def read(self, after: Head | None = None) -> Iterator[Entry]:
        fetch = partial(self.store.fetch, f"{READ} LIMIT ?3", self.identity)
        return read_parts(fetch, after or self.start, self.store.shown)

    def read_at(self, first: int, last: int, kind: str | None = None) -> Iterator[Entry]:
        found = self.store.fetch(READ_AT, self.identity, first, last, kind)
        return read_apart(found, self.start, self.store.shown)

    def load_snapshots(self) -> Iterator[bytes]:
        for (position,) in self.store.fetch(SNAPSHOTS, self.identity):
            yield b"".join(body for (body,) in self.store.fetch(SNAPSHOT, self.identity, position))

    def save_snapshot(self, position: int, snapshot: bytes) -> None:
        parts = cut_snapshot(snapshot)
        for part, body in enumerate(parts):
            with self.store.lock_writes() as connection:  # for each part anew: others are let in between
                connection.execute(SAVE, (self.identity, position, part, body))
        with self.store.lock_writes() as connection:
            connection.execute(DROP, (self.identity, position, len(parts)))

    def drop_snapshots(self) -> None:
        with self.store.lock_writes() as connection:
            connection.execute(DROP, (self.identity, 0, 0))

    @contextmanager
    def lock_asks(
        self, meanwhile: Callable[[SQLiteLedger], object] | None = None, after: Head | None = None
    ) -> Iterator[SQLiteLedger]:
        ready = None if meanwhile is None else partial(meanwhile, self)
        with self.store.hold_first(self.study, ready):
            yield self

    def close(self) -> None:
        self.store.close()
