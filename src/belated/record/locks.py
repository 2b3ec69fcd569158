"""Locks of this process: free after any exception, and fresh in a forked child."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import compress
from operator import call, methodcaller
from typing import Any, Protocol


class Lock(Protocol):
    """What `threading.Lock` and `threading.RLock` make."""

    def acquire(self) -> bool: ...
    def release(self) -> None: ...


@contextmanager
def hold(lock: Lock) -> Iterator[None]:
    """Hold a lock. It is free afterwards, whichever instruction an interrupt strikes.

    (`with lock:` keeps it if an interrupt strikes after its body, before it is released.) To take the lock and to note
    that it must be released is one step here, and so is to release it and to forget that."""
    to_release: list[Callable[[], object]] = []
    release = map(call, to_release)
    try:
        try:
            to_release.extend(compress([lock.release], map(call, [lock.acquire])))
            yield
        finally:
            next(release, None)
    finally:
        next(release, None)  # if an interrupt came just before it was released


def run_in_children(work: Callable[[], object]) -> None:
    """Run some work in every forked child, before anything else in it."""
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(after_in_child=work)


class ForkLock:
    """A lock that a fork waits for: what it guards is never half done in the child, and there it is free.

    It is a value of a module: it lives as long as its process."""

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):  # not on Windows
            # One step each, which an interrupt comes before or after.
            acquire, release = (partial(methodcaller(verb), self) for verb in ("acquire", "release"))
            os.register_at_fork(before=acquire, after_in_parent=release, after_in_child=self._renew)

    def _renew(self) -> None:
        lock = threading.RLock()
        self.acquire, self.release = lock.acquire, lock.release


_renewals: dict[int, tuple[weakref.ref[Any], Callable[[Any], None]]] = {}


def renew_in_children(owner: Any, renew: Callable[[Any], None]) -> None:
    """Call renew(owner) in every forked child: a lock that another thread held during the fork would stay locked."""
    key = id(owner)
    _renewals[key] = weakref.ref(owner, lambda _: _renewals.pop(key, None)), renew


def _renew_all() -> None:
    for owner, renew in list(_renewals.values()):
        if (alive := owner()) is not None:
            renew(alive)


run_in_children(_renew_all)
