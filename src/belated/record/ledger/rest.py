"""A SQLite file that rests is one file; one that is in use has a write-ahead log beside it.

The file's header says which of the two it is (its journal mode). It is changed before there is a log, and changed back
after the log is gone, when the last one closes the file. So a file that says "in use" and has no log is a copy without
its newest events, and one that says "rests" beside a log was put in the place of another file. A file that rests can be
read where nothing may be written.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from belated.record.ledger.headers import RESTS, FileId, read_mode


def wake(connection: sqlite3.Connection) -> None:
    """From here on there is a write-ahead log."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA schema_version")  # which opens it


def is_awake(connection: sqlite3.Connection) -> bool:
    """Whether the file says that it is in use. Looking makes a log."""
    return bool(connection.execute("PRAGMA journal_mode").fetchone() == ("wal",))


def put_to_rest(connection: sqlite3.Connection) -> None:
    """Leave everything in the file itself, unless another connection uses it, or it cannot be written."""
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA journal_mode = DELETE")


def close_and_rest(connection: sqlite3.Connection, path: Path, file: FileId) -> None:
    """Close a file; put it to rest if its name is still its own, and not that of another file with a log.

    file  what is open"""
    with suppress(OSError):
        found = path.stat()
        if (found.st_dev, found.st_ino) == file:
            put_to_rest(connection)
    connection.close()


def put_file_to_rest(path: Path) -> None:
    """Put a file to rest that nobody uses."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        put_to_rest(connection)


def find_log(path: Path, ending: str = "-wal") -> Path:
    """Where SQLite keeps the log: beside the file itself, not beside a link to it."""
    return Path(f"{os.path.realpath(path)}{ending}")


def has_log(path: Path) -> bool:
    return find_log(path).exists()


def has_events_in_log(path: Path) -> bool:
    """Whether there is a log in which something was written; looking at a file that is in use makes an empty one."""
    with suppress(FileNotFoundError):
        return find_log(path).stat().st_size > 0
    return False


def has_log_of_another(path: Path) -> bool:
    """Whether the log beside a file is not its own: SQLite would take it for the newest part of the file."""
    return has_events_in_log(path) and read_mode(path) == RESTS


def share_log(path: Path) -> None:
    """Give the log the group of the database. (SQLite gives it its mode; the group is that of whoever came first.)"""
    group = path.stat().st_gid
    for log in (find_log(path), find_log(path, "-shm")):
        with suppress(FileNotFoundError, PermissionError):
            if log.stat().st_gid != group:
                os.chown(log, -1, group)


def is_frozen(path: Path) -> bool:
    """Whether there is no log, and none can be made, though a file that did not come to rest in order asks for it."""
    return not (has_log(path) or os.access(find_log(path).parent, os.W_OK))
