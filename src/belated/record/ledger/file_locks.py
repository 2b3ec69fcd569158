"""The locks of a store, as bytes of one file beside it: a queue for writes, and one for the asks of each study.

They are POSIX locks of byte ranges: a lock ends with its process, a forked child has none, and whoever waits can find
out for which process. Such a lock belongs to the whole process, so:

- threads of one process first queue on a lock in memory, one per byte;
- a lock file is opened once in a process, and closed when nobody uses it: closing any descriptor of it would drop all
  locks that the process has on it.

Waiting in the kernel has no time limit, and sees deadlocks where there are none, because it does not know threads. So
whoever waits tries again and again, and looks now and then whether the process that holds the lock was stopped.

A queue has a byte for each of its first places. Whoever comes takes the last one and moves up: it holds its byte until
it has the one before it, so nobody who comes later is first. The nearer to the front, the more often it tries.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

from belated.errors import Unreachable
from belated.record.ledger.holders import MOST_STOPPED, explain_stopped, is_stopped
from belated.record.locks import ForkLock, hold, run_in_children

WRITES = 0  # the queue of all writers; asks of study 1, 2, ... have queues 1, 2, ...
PLACES = 16  # in a queue, from 0, which has the lock; any number may wait for the last one
WRITE_PLACES = 2  # among writers: a write takes no longer than it takes to move up
FIRST_PAUSE, MOST_PAUSE = 1e-4, 5e-4  # seconds between two attempts to be first, at the beginning and later
LAST_PAUSE = 4.5e-3  # seconds between two attempts to have the last place; nearer to the front it is less
LOOK = 1.0  # seconds between two looks at who holds a lock
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)  # answers of a file system without locks
FLOCK = "hhqqi"  # struct flock of Linux: type, whence, start, length, process


@dataclass(eq=False)
class LockFile:
    """The lock file of one store, as this process has it open."""

    path: str
    fd: int  # -1: in a child of the process that opened it
    users: int = 0
    bytes: dict[int, ByteLock] = field(default_factory=dict)


class ByteLock:
    """One byte of a lock file."""

    def __init__(self, file: LockFile, byte: int) -> None:
        self.file, self.byte = file, byte
        self.queue, self.place = divmod(byte, PLACES)
        self.wanted = False  # whether a thread of this process has it, or tries to
        self._threads = threading.RLock()  # which thread of this process may have it

    @contextmanager
    def hold(self, waiting: Callable[[], object] | None = None) -> Iterator[None]:
        """Hold it; `waiting` is called first if another process or thread has it."""
        if waiting is not None and self.wanted:
            waiting()
            waiting = None
        with hold(self._threads):
            try:
                try:
                    self.wanted = True
                    if not self._try():
                        if waiting is not None:
                            waiting()
                        self._wait()
                    yield
                finally:
                    self._release()
            finally:
                self._release()  # if an interrupt came just before

    def _try(self) -> bool:
        """Take it, unless another process has it."""
        try:
            fcntl.lockf(self.file.fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self.byte)
        except (BlockingIOError, PermissionError):
            return False
        except OSError as error:
            raise _explain(self.file.path, error) from None
        return True

    def _wait(self) -> None:
        """Try until it is free; give up if the process that holds it stays stopped."""
        pause = LAST_PAUSE * self.place / (count_places(self.queue) - 1) or FIRST_PAUSE
        look, stopped_since = time.monotonic() + LOOK, None
        while not self._try():
            time.sleep(pause)
            pause = max(pause, min(2 * pause, MOST_PAUSE))
            if (now := time.monotonic()) < look:
                continue
            look, holder = now + LOOK, self._find_stopped()
            if holder is None:
                stopped_since = None
            elif now >= (stopped_since := stopped_since or now) + MOST_STOPPED:
                raise explain_stopped(holder, self.file.path)

    def _release(self) -> None:
        self.wanted = False
        if self.file.fd >= 0:
            with suppress(OSError):  # a file system without locks has none to release
                fcntl.lockf(self.file.fd, fcntl.LOCK_UN, 1, self.byte)

    def _find_stopped(self) -> int | None:
        """The id of a stopped process that has this byte, or one before it; where the system can say so."""
        for byte in range(self.byte - self.place, self.byte + 1):
            if (process := _find_holder(self.file, byte)) and is_stopped(process):
                return process
        return None


def count_places(queue: int) -> int:
    return WRITE_PLACES if queue == WRITES else PLACES


def _find_holder(file: LockFile, byte: int, count: int = 1) -> int | None:
    """The id of another process that has one of some bytes; 0: none has; None: the system cannot say."""
    if sys.platform != "linux":
        return None
    asked = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, byte, count, 0)
    kind, *_, process = struct.unpack_from(FLOCK, fcntl.fcntl(file.fd, fcntl.F_GETLK, asked))
    if kind == fcntl.F_UNLCK:
        return 0
    return int(process) if process > 0 else None  # of another container


_opening = ForkLock()  # for the files that are open
_files: dict[tuple[int, int], LockFile] = {}  # by device and inode


def _start_again_in_child() -> None:
    """A forked child has none of its parent's locks, so it opens the files again."""
    while _files:
        _, file = _files.popitem()
        os.close(file.fd)  # which drops locks of this process only
        file.fd = -1


run_in_children(_start_again_in_child)


@contextmanager
def hold_first(database: str, queue: int, waiting: Callable[[], object] | None = None) -> Iterator[None]:
    """Be the first one of a queue, in the lock file beside a database; it is made if needed, with the database's mode.

    waiting  called by whoever is next, before it waits for the first one"""
    file = join_lock_file(database)
    try:
        with ExitStack() as held:
            for place in (0,) if _is_empty(file, queue) else reversed(range(count_places(queue))):
                with held.pop_all():  # the place behind it
                    byte = _find_byte(file, PLACES * queue + place)
                    held.enter_context(byte.hold(None if place else waiting))
            yield
    finally:
        leave_lock_file(file)


def _is_empty(file: LockFile, queue: int) -> bool:
    """Whether nobody has a place in a queue, as far as the system can say."""
    first = PLACES * queue
    if any(byte.wanted for byte in list(file.bytes.values()) if first <= byte.byte < first + PLACES):
        return False
    return _find_holder(file, first, PLACES) == 0


def _find_byte(file: LockFile, byte: int) -> ByteLock:
    return file.bytes.setdefault(byte, ByteLock(file, byte))


def join_lock_file(database: str) -> LockFile:
    """The lock file beside a database, opened if this process does not have it open. Leave it when done."""
    path = f"{database}-lock"
    try:
        with hold(_opening):
            file = _find(path)
            if file is None:
                fd = _open(path, database)
                file = _files.setdefault(_identify(os.fstat(fd)), LockFile(path, fd))
            file.users += 1
            return file
    except OSError as error:
        raise _explain(path, error) from None


def leave_lock_file(file: LockFile) -> None:
    """The last user closes the file."""
    with hold(_opening):
        file.users -= 1
        if not file.users and file.fd >= 0:
            del _files[_identify(os.fstat(file.fd))]
            os.close(file.fd)
            file.fd = -1


def _find(path: str) -> LockFile | None:
    try:
        return _files.get(_identify(os.stat(path)))
    except FileNotFoundError:
        return None


def _open(path: str, database: str) -> int:
    like = os.stat(database)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, like.st_mode & 0o666)
    except FileExistsError:
        fd = _open_existing(path, like)
    take_mode(fd, like)
    return fd


def _open_existing(path: str, like: os.stat_result) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except PermissionError:  # it may have the mode that the database had once
        os.chmod(path, like.st_mode & 0o666)
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)


def take_mode(fd: int, like: os.stat_result) -> None:
    """Give a file the group and the mode of another, as far as its owner may."""
    own, mode = os.fstat(fd), like.st_mode & 0o666
    with suppress(PermissionError):  # another user's file
        if own.st_gid != like.st_gid:
            try:
                os.fchown(fd, -1, like.st_gid)
            except PermissionError:
                mode &= ~0o060  # what one group may is not for another
        if own.st_mode & 0o666 != mode:
            os.fchmod(fd, mode)


def _identify(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _explain(path: str, error: OSError) -> Unreachable:
    if error.errno in NO_LOCKS:
        return Unreachable(
            f"the file system of {path} does not support locks ({error.strerror}); keep the file on another"
        )
    return Unreachable(f"the lock {path} could not be taken ({error.strerror})")
