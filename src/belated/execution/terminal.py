"""Progress bars and Ctrl-C at a terminal."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType, TracebackType

Show = Callable[[int, Callable[[], str]], None]  # (how many are done, the text next to the bar)


class InterruptGate:
    """Ctrl-C acts while waiting, never in the middle of an ask or a tell; a second Ctrl-C acts at once."""

    def __init__(self) -> None:
        self.came = self.open = self.ours = False

    def __enter__(self) -> InterruptGate:
        in_main = threading.current_thread() is threading.main_thread()
        self.ours = in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self.ours:
            signal.signal(signal.SIGINT, self._receive)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.came and kind is None:
            raise KeyboardInterrupt

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.open or self.came:
            raise KeyboardInterrupt
        self.came = True

    @contextmanager
    def allow(self) -> Iterator[None]:
        self.open = True  # before the check: a Ctrl-C in between acts here
        try:
            if self.came:
                raise KeyboardInterrupt
            yield
        finally:
            self.open = False


def show_progress(total: int, *, shown: bool) -> AbstractContextManager[Show]:
    """A bar on stderr, if that is a terminal."""
    return _show_rich_bar(total) if shown and sys.stderr.isatty() else _show_nothing()


@contextmanager
def count_progress(total: int, note: str, *, shown: bool) -> Iterator[Callable[[object], None]]:
    """The same bar; every call of the function it yields counts one more."""
    with show_progress(total, shown=shown) as show:
        done = 0

        def count(result: object) -> None:
            nonlocal done
            done += 1
            show(done, lambda: note)

        yield count


@contextmanager
def _show_nothing() -> Iterator[Show]:
    yield lambda done, note: None


@contextmanager
def _show_rich_bar(total: int) -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("starting", total=total)
        yield lambda done, note: bar.update(task, completed=done, description=note())
