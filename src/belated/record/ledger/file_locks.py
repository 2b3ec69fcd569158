"""The locks of a store, as bytes of one file beside it: a queue for writes, and one for the asks of each study.

They are POSIX locks of byte ranges: a lock ends with its process, a forked child has none, and whoever waits can find
out for which process. Such a lock belongs to the whole process, so:

- threads of one process first queue on a lock in memory, one per byte;
- a lock file is opened once in a process, and closed when nobody uses it: closing any descriptor of it would drop all
  locks that the process has on it.

Waiting in the kernel has no time limit, and sees deadlocks where there are none, because it does not know threads. So
whoever waits tries again and again, and looks now and then whether the process that holds the lock was stopped.

The first byte of a queue is its lock. Whoever cannot have it at once draws a ticket, a byte after all that others hold,
and waits until nobody holds an earlier one; then it is next, and waits for the lock. So nobody who comes later is
first, and a place in the queue ends with its process too. The nearer to the front, the more often it looks.
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
from operator import itemgetter
from typing import NamedTuple

from belated.errors import Unreachable
from belated.record.ledger.holders import MOST_STOPPED, explain_stopped, is_stopped
from belated.record.locks import ForkLock, hold, run_in_children

WRITES = 0  # the queue of all writers; asks of study 1, 2, ... have queues 1, 2, ...
LENGTH = 2**40  # bytes of a queue
DRAWING, TICKETS = 1, 2  # in a queue, after its lock: the byte held to draw a ticket, and the first ticket
FIRST_PAUSE, MOST_PAUSE = 1e-4, 5e-4  # seconds between two attempts to be first, at the beginning and later
ASK_STEP, WRITE_STEP = 7e-4, 2e-4  # seconds between two looks at who is before, at first, for each of those
MOST_LINE_PAUSE = 2e-2  # seconds between two such looks
LOOK = 1.0  # seconds between two looks at who holds a lock
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)  # answers of a file system without locks


class Layout(NamedTuple):
    """How a system lays out struct flock."""

    struct: struct.Struct
    order: Callable[[tuple[int, ...]], tuple[int, ...]]  # from type, whence, start, length, process
    pick: Callable[[tuple[int, ...]], tuple[int, ...]]  # type, start, process


LAYOUTS = {
    "linux": Layout(struct.Struct("hhqqi"), itemgetter(0, 1, 2, 3, 4), itemgetter(0, 2, 4)),
    "darwin": Layout(struct.Struct("qqihh"), itemgetter(2, 3, 4, 0, 1), itemgetter(3, 0, 2)),
}
LAYOUT = LAYOUTS.get(sys.platform)


class ByteHolder(NamedTuple):
    """Another process that has a byte."""

    byte: int
    process: int  # 0: of another container


@dataclass(eq=False)
class LockFile:
    """The lock file of one store, as this process has it open."""

    path: str
    fd: int  # -1: in a child of the process that opened it
    users: int = 0
    bytes: dict[int, ByteLock] = field(default_factory=dict)
    tickets: set[int] = field(default_factory=set)  # bytes of those in this process who are in a queue

    def lock(self, byte: int) -> bool:
        """Lock a byte, unless another process has it."""
        try:
            fcntl.lockf(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):
            return False
        except OSError as error:
            raise _explain(self.path, error) from None
        return True

    def unlock(self, byte: int) -> None:
        if self.fd >= 0:
            with suppress(OSError):  # a file system without locks has none to release
                fcntl.lockf(self.fd, fcntl.LOCK_UN, 1, byte)


class ByteLock:
    """One byte of a lock file."""

    def __init__(self, file: LockFile, byte: int) -> None:
        self.file, self.byte = file, byte
        self.wanted = False  # whether a thread of this process has it, or tries to
        self.owner: int | None = None  # the thread of this process that has it
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
                    if not self.file.lock(self.byte):
                        if waiting is not None:
                            waiting()
                        self._wait()
                    self.owner = threading.get_ident()
                    yield
                finally:
                    self._release()
            finally:
                self._release()  # if an interrupt came just before

    def _wait(self) -> None:
        watch = Watch(self.file, range(self.byte, self.byte + 1))
        while not self.file.lock(self.byte):
            time.sleep(min(max(watch.waited / 8, FIRST_PAUSE), MOST_PAUSE))
            watch.look()

    def _release(self) -> None:
        self.wanted, self.owner = False, None
        self.file.unlock(self.byte)


class Watch:
    """Looks now and then whether a process that is waited for was stopped, and gives up if it stays so.

    bytes  what those who are waited for may hold"""

    def __init__(self, file: LockFile, bytes: range) -> None:
        self.file, self.bytes = file, bytes
        self._began = time.monotonic()
        self._next_look = self._began + LOOK
        self._stopped_since: float | None = None

    @property
    def waited(self) -> float:
        """Seconds."""
        return time.monotonic() - self._began

    def look(self) -> None:
        if (now := time.monotonic()) < self._next_look:
            return
        self._next_look, stopped = now + LOOK, self._find_stopped()
        if stopped is None:
            self._stopped_since = None
            return
        self._stopped_since = self._stopped_since or now
        if now >= self._stopped_since + MOST_STOPPED:
            raise explain_stopped(stopped, self.file.path)

    def _find_stopped(self) -> int | None:
        """The id of a stopped process, where the system can say so."""
        holders = _list_holders(self.file, self.bytes)
        return next((one.process for one in holders if one.process and is_stopped(one.process)), None)


def _find_holder(file: LockFile, bytes: range) -> ByteHolder | None:
    """Another process that has one of some bytes, as far as the system can say."""
    if LAYOUT is None or not bytes:
        return None
    asked = LAYOUT.struct.pack(*LAYOUT.order((fcntl.F_WRLCK, os.SEEK_SET, bytes.start, len(bytes), 0)))
    kind, byte, process = LAYOUT.pick(LAYOUT.struct.unpack(fcntl.fcntl(file.fd, fcntl.F_GETLK, asked)))
    return None if kind == fcntl.F_UNLCK else ByteHolder(byte, max(process, 0))


def _list_holders(file: LockFile, bytes: range) -> Iterator[ByteHolder]:
    """All other processes that have one of some bytes."""
    found = _find_holder(file, bytes)
    if found is not None:
        yield found
        yield from _list_holders(file, range(bytes.start, found.byte))
        yield from _list_holders(file, range(found.byte + 1, bytes.stop))


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

    A thread that is the first one already stays so, and does not wait for those behind it.

    waiting  called by whoever is next, before it waits for the first one"""
    file = join_lock_file(database)
    bytes = range(LENGTH * queue, LENGTH * (queue + 1))
    first = _find_byte(file, bytes[0])
    try:
        with ExitStack() as held:
            if first.owner != threading.get_ident():
                with _wait_to_be_next(file, bytes):
                    held.enter_context(first.hold(waiting))
            yield
    finally:
        leave_lock_file(file)


@contextmanager
def _wait_to_be_next(file: LockFile, queue: range) -> Iterator[None]:
    """Have a place in a queue: first wait until nobody who came earlier has one."""
    if not _find_byte(file, queue[0]).wanted and not _has_tickets(file, queue) and _find_holder(file, queue) is None:
        yield  # nobody is there
        return
    ticket = queue[0]
    try:
        try:
            with _find_byte(file, queue[DRAWING]).hold():
                ticket = _find_last(file, queue[TICKETS:]) + 1
                file.tickets.add(ticket)
                file.lock(ticket)
            _wait_for_earlier(file, queue, ticket)
            yield
        finally:
            _leave_queue(file, ticket)
    finally:
        _leave_queue(file, ticket)  # if an interrupt came just before


def _wait_for_earlier(file: LockFile, queue: range, ticket: int) -> None:
    """Wait until nobody holds an earlier ticket.

    Pauses do not follow the pace of the queue: whoever is late slows it down, then all would sleep longer, and be late
    again. They grow only while nobody leaves it."""
    watch, before = Watch(file, range(queue[0], ticket)), range(queue[TICKETS], ticket)
    step, moved = ASK_STEP if queue[0] else WRITE_STEP, 0.0
    ahead = _count_ahead(file, before)
    while ahead:
        time.sleep(min(ahead * max(step, (watch.waited - moved) / 8), MOST_LINE_PAUSE))
        watch.look()
        last, ahead = ahead, _count_ahead(file, before)
        moved = watch.waited if ahead < last else moved


def _leave_queue(file: LockFile, ticket: int) -> None:
    if ticket in file.tickets:
        file.unlock(ticket)
        file.tickets.discard(ticket)


def _has_tickets(file: LockFile, bytes: range) -> bool:
    """Whether threads of this process hold tickets among some bytes."""
    return any(ticket in bytes for ticket in list(file.tickets))


def _find_last(file: LockFile, tickets: range) -> int:
    """The last ticket that is held; the byte before all of them if none is."""
    last = max((own for own in list(file.tickets) if own in tickets), default=tickets[0] - 1)
    while found := _find_holder(file, range(last + 1, tickets.stop)):
        last = found.byte
    return last


def _count_ahead(file: LockFile, before: range) -> int:
    """How many hold earlier tickets, roughly; 0 if nobody does."""
    first = min((own for own in list(file.tickets) if own in before), default=before.stop)
    found = _find_holder(file, before)
    return before.stop - min(first, before.stop if found is None else found.byte)


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
