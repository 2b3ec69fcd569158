"""What the first bytes of a SQLite file say: whether it rests, or is in use (rest.py).

Whoever closes any descriptor of a file ends all locks that its process has on it, those of SQLite too. So the
descriptor that reads them stays open for as long as a store of this process uses the file."""

from __future__ import annotations

import os
from collections.abc import Container
from pathlib import Path

RESTS, IN_USE = b"\1\1", b"\2\2"
MODE = 18  # the first of the two bytes
FileId = tuple[int, int]  # device and inode

_descriptors: dict[FileId, int] = {}


def read_mode(path: Path, file: FileId | None = None) -> bytes:
    """RESTS, IN_USE, or what else is there; nothing where the file is empty.

    file  which one the path names, if that is known"""
    if file is None:
        found = os.stat(path)
        file = found.st_dev, found.st_ino
    if file not in _descriptors:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        opened = os.fstat(fd)
        file = opened.st_dev, opened.st_ino
        _descriptors.setdefault(file, fd)
    return os.pread(_descriptors[file], len(RESTS), MODE)


def forget_others(used: Container[FileId | None]) -> None:
    """Close what belongs to files that no store uses any more."""
    for file in [one for one in _descriptors if one not in used]:
        os.close(_descriptors.pop(file))
