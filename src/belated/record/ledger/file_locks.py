"""The locks of a store, as bytes of one file beside it: one for writes, two for each study.

They are POSIX locks of byte ranges: the kernel keeps the queue, a lock ends with its process, a forked child has none,
and whoever waits can find out for which process. Such a lock belongs to the whole process, so:

- threads of one process first queue on a lock in memory, one per byte;
- a lock file is opened once in a process, and closed when nobody uses it: closing any descriptor of it would drop all
  locks that the process has on it;
- the kernel may see a deadlock where there is none, because it does not know threads. Then the lock is tried again.

Waiting in the kernel has no time limit. So a second thread waits there, while the caller looks now and then whether the
process that holds the lock was stopped.
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
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from belated.errors import Unreachable
from belated.record.locks import hold, run_in_children

LOOK = 1.0  # seconds between two looks at who holds a lock
MOST_STOPPED = 10.0  # seconds to wait for a process that is stopped
FLOCK = "hhqqi"  # struct flock of Linux: type, whence, start, length, process


@dataclass(eq=False)
class LockFile:
    """The lock file of one store, as this process has it open."""

    path: Path
    fd: int  # -1: in a child of the process that opened it
    users: int = 0
    bytes: dict[int, ByteLock] = field(default_factory=dict)


class ByteLock:
    """One byte of a lock file."""

    def __init__(self, file: LockFile, byte: int) -> None:
        self.file, self.byte = file, byte
        self._threads = threading.RLock()  # which thread of this process may have it
        self._deciding = threading.Lock()  # for the two below
        self._wanted = False  # whether somebody in this process wants it, or has it
        self._waiter: threading.Event | None = None  # set when the thread that waits in the kernel has it

    @contextmanager
    def hold(self, waiting: Callable[[], object] | None = None) -> Iterator[None]:
        """Hold it; `waiting` is called first if another process or thread has it."""
        if waiting is not None and self._wanted:
            waiting()
            waiting = None
        with hold(self._threads):
            try:
                try:
                    self._take(waiting)
                    yield
                finally:
                    self._release()
            finally:
                self._release()  # if an interrupt came just before

    def _try_once(self) -> bool:
        """Take it, unless another process has it."""
        self._wanted = True
        try:
            fcntl.lockf(self.file.fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self.byte)
        except (BlockingIOError, PermissionError):
            return False
        except OSError as error:
            raise _explain(self.file.path, error) from None
        return True

    def _take(self, waiting: Callable[[], object] | None) -> None:
        if self._try_once():
            return
        if waiting is not None:
            waiting()
        with hold(self._deciding):
            waiter = self._waiter  # one may be left from a wait that was given up
            if waiter is None:
                waiter = threading.Event()
                _join(self.file)
                threading.Thread(target=self._wait, args=(waiter,), daemon=True).start()
                self._waiter = waiter
        self._look_after(waiter)

    def _wait(self, waiter: threading.Event) -> None:
        """Wait in the kernel, and let go at once if nobody wants it any more."""
        while True:
            try:
                fcntl.lockf(self.file.fd, fcntl.LOCK_EX, 1, self.byte)
                break
            except OSError as error:
                if error.errno != errno.EDEADLK:
                    raise
                time.sleep(0.01)
        with self._deciding:
            self._waiter = None
            if not self._wanted:
                self._unlock()
            waiter.set()
        _leave(self.file)

    def _look_after(self, waiter: threading.Event) -> None:
        """Wait until the other thread has it; give up if the process that holds it stays stopped."""
        stopped_for = 0.0
        while not waiter.wait(LOOK):
            holder = self._find_holder()
            stopped_for = stopped_for + LOOK if holder is not None and is_stopped(holder) else 0.0
            if stopped_for >= MOST_STOPPED:
                raise Unreachable(
                    f"process {holder} holds the lock {self.file.path} and is stopped; "
                    f"let it go on (kill -CONT {holder}) or end it"
                )

    def _release(self) -> None:
        with hold(self._deciding):
            self._wanted = False
            self._unlock()

    def _unlock(self) -> None:
        if self.file.fd >= 0:
            fcntl.lockf(self.file.fd, fcntl.LOCK_UN, 1, self.byte)

    def _find_holder(self) -> int | None:
        """The id of the process that has it, where the system can say so."""
        if sys.platform != "linux":
            return None
        asked = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, self.byte, 1, 0)
        kind, *_, process = struct.unpack(
            FLOCK, fcntl.fcntl(self.file.fd, fcntl.F_GETLK, asked)[: struct.calcsize(FLOCK)]
        )
        return process if kind != fcntl.F_UNLCK and process > 0 else None


def is_stopped(process: int) -> bool:
    """Whether a process was stopped, by a signal or by a debugger."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] in ("T", "t")


_opening = threading.RLock()  # for the files that are open
_files: dict[tuple[int, int], LockFile] = {}  # by device and inode


def _start_again_in_child() -> None:
    """A forked child has none of its parent's locks, so it opens the files again."""
    global _opening
    _opening = threading.RLock()
    while _files:
        _, file = _files.popitem()
        os.close(file.fd)  # which drops locks of this process only
        file.fd = -1


run_in_children(_start_again_in_child)


@contextmanager
def hold_byte(database: Path, byte: int, waiting: Callable[[], object] | None = None) -> Iterator[None]:
    """Hold one byte of the lock file beside a database, which is made if needed, with the database's mode.

    waiting  called first if another process or thread holds it"""
    path = database.with_name(f"{database.name}-lock")
    try:
        file = _enter(path, database)
    except OSError as error:
        raise _explain(path, error) from None
    try:
        with file.bytes.setdefault(byte, ByteLock(file, byte)).hold(waiting):
            yield
    finally:
        _leave(file)


def _explain(path: Path, error: OSError) -> Unreachable:
    return Unreachable(f"the lock {path} could not be taken ({error.strerror})")


def _enter(path: Path, database: Path) -> LockFile:
    """The file, opened if this process does not have it open."""
    with hold(_opening):
        file = _files.get(_identify(path.stat())) if path.exists() else None
        if file is None:
            fd = _open(path, database)
            file = _files.setdefault(_identify(os.fstat(fd)), LockFile(path, fd))
        _join(file)
        return file


def _join(file: LockFile) -> None:
    with hold(_opening):
        file.users += 1


def _leave(file: LockFile) -> None:
    """The last user closes the file."""
    with hold(_opening):
        file.users -= 1
        if not file.users and file.fd >= 0:
            del _files[_identify(os.fstat(file.fd))]
            os.close(file.fd)
            file.fd = -1


def _open(path: Path, database: Path) -> int:
    like = database.stat()
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, like.st_mode & 0o666)
    except FileExistsError:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    with suppress(PermissionError):
        os.fchown(fd, -1, like.st_gid)
    os.fchmod(fd, like.st_mode & 0o666)
    return fd


def _identify(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
