"""A new file: written under another name, and moved into place when it is whole."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from belated.errors import BelatedError, InvalidInput

ENDINGS = ("", "-wal", "-shm", "-journal", "-lock")  # of what SQLite and our locks leave beside a file


@contextmanager
def make_new_file(path: Path, what: str, mode: int = 0o666) -> Iterator[Path]:
    """A name to write a new database under, which then becomes `path`; or nothing, if something goes wrong.

    Nothing is replaced, and no link is followed.

    what  needs the file, in a message"""
    beside = path.parent / f".{secrets.token_hex(8)}.db"
    try:
        if os.path.lexists(path):
            raise FileExistsError
        os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        try:
            yield beside
            _move(beside, path)
        finally:
            for ending in ENDINGS:
                Path(f"{beside}{ending}").unlink(missing_ok=True)
    except FileExistsError:
        raise InvalidInput(f"{what} needs a new file; {path} exists") from None
    except OSError as error:
        if isinstance(error, BelatedError):
            raise
        raise InvalidInput(f"{what} needs a file that can be written (got {path}: {error.strerror})") from None


def _move(beside: Path, path: Path) -> None:
    """Give a file its name, unless something has that name by now; after a power cut it is there."""
    _sync(beside)
    try:
        os.link(beside, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(path):
            raise FileExistsError from None
        beside.rename(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
