"""Ctrl-C while other processes work for us."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def block_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back in this thread, and in the processes that it starts: Ctrl-C goes to every process of a terminal.

    A process that is started inside inherits the block for life, unless it lifts it, and so shows no traceback of its
    own. To us the interrupt comes when the block ends."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
