"""A study as one process has it open: a state that follows the ledger, and the cache of what was computed from it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from belated.errors import Deleted, StoreChanged
from belated.learner.choice.problem import Cache
from belated.record.events import Event
from belated.record.ledger import Ledger, StudyLedger
from belated.record.ledger.chain import Entry, Head
from belated.record.locks import hold, renew_in_children
from belated.record.signing import NOBODY, Signature, date
from belated.record.snapshot import find_snapshot, keep_snapshot
from belated.record.state import State
from belated.record.writes import write_in_turn
from belated.results import Trial
from belated.settings import Settings
from belated.validation import require_time

AnEvent = TypeVar("AnEvent", bound=Event)


class Handle:
    """A study as one process has it open.

    created  the settings that it was created with
    ledger   where its events are
    name     what it is called there; None: it has no name, in memory
    clock    a function returning seconds
    state    what its events come to, as far as they were read
    head     of the last event that the state has; None: it has none
    """

    def __init__(self, created: Settings, ledger: StudyLedger, name: str | None, clock: Callable[[], float]) -> None:
        self.created, self.ledger, self.name, self.clock = created, ledger, name, clock
        self._begin()
        renew_in_children(self, Handle._begin)

    def _begin(self) -> None:
        """Begin with nothing read; in a forked child too, where another thread may have been at work before."""
        self.state, self._cache = State(self.created), Cache()
        self._cached_in = self.created.space
        self.head: Head | None = None
        self._restored: int | None = None  # the position of the snapshot that it began with; None: it has not begun
        self.sound = True  # False while an event is applied: after an exception there, the state is built again
        self.lock = threading.RLock()  # for the state; never held while a choice or a belief is computed
        self._cache_lock = threading.RLock()  # for the cache, held while one is computed

    # Reading ----------------------------------------------------------------------------------------------------------

    def read_first(self) -> None:
        """Read what there is, and keep a snapshot of it for those who open the study next, if there is much."""
        self.sync()
        if self.head is not None:
            keep_snapshot(self.ledger, self.state, self.head, self._restored or 0)

    def sync(self, ledger: Ledger | None = None) -> None:
        """Read and apply the events that others have written."""
        with hold(self.lock):
            if not self.sound:
                self.state, self.head, self._restored = State(self.created), None, None
            if self._restored is None:
                self._restore()
            try:
                last = None
                for last in (ledger or self.ledger).read(self.head):
                    self.sound = False  # until all is applied, and the head is known
                    self.state.apply_plain(last.plain, last.source)
                if last is not None:
                    self.head = last.head
                self.sound = True
            except StoreChanged:
                self.sound = False  # the next call begins with the first event
                self.refuse_deleted()
                raise
            self.name = self.state.name or self.name

    def _restore(self) -> None:
        """Begin with a snapshot, if there is one."""
        found = find_snapshot(self.ledger, self.created)
        self.state, self.head = found or (State(self.created), None)
        self._restored = self.state.position

    def refuse_deleted(self) -> None:
        """Say that the study was deleted, if it was."""
        tombstone = self.ledger.find_tombstone()
        if tombstone is not None:
            raise Deleted(str(tombstone)) from None

    @contextmanager
    def hold_newest(self) -> Iterator[State]:
        """The state as the ledger has it now, while nobody changes it."""
        with hold(self.lock):
            self.sync()
            yield self.state

    @contextmanager
    def hold_state(self) -> Iterator[State]:
        """The state as it was read last, while nobody changes it."""
        with hold(self.lock):
            if not self.sound:
                self.sync()
            yield self.state

    @contextmanager
    def use_cache(self) -> Iterator[Cache]:
        """The cache for one computation; an exception on the way leaves an empty one behind."""
        with hold(self._cache_lock):
            space = self.state.settings.space
            cache = self._cache if self._cached_in is space else Cache()  # what is kept is about the ranges of then
            self._cache, self._cached_in = Cache(), space
            yield cache
            self._cache = cache

    def read_events(self) -> list[Event]:
        """Everything that happened to the study, in order."""
        try:
            return [entry.event for entry in self.ledger.read()]
        except StoreChanged:
            self.refuse_deleted()
            raise

    def read_clock(self) -> float:
        """The time, in seconds."""
        return require_time(self.clock(), "the clock's reading")

    def read_trial(self, number: int) -> Trial:
        """A trial as it is now."""
        return self.state.trial(number, self.read_clock())

    # Writing ----------------------------------------------------------------------------------------------------------

    @contextmanager
    def lock_asks(self) -> Iterator[Ledger]:
        """While nobody else asks: the ledger to read from and write to; what others wrote before is read."""
        with self.ledger.lock_asks(self.sync, self.head) as turn:
            self.sync(turn)
            yield turn

    def write(
        self,
        events: Callable[[], Sequence[AnEvent]],
        signature: Signature = NOBODY,
        ledger: Ledger | None = None,
        *,
        about: int | None = None,
    ) -> Sequence[AnEvent]:
        """Append the events that `events` makes from the state, signed; if another process was first, read again and
        retry. With `about`, a trial, the state may be old: what others wrote since must not be about that trial."""
        position = 0

        def attempt() -> Sequence[AnEvent]:
            nonlocal position
            position = self.state.position
            made = [date(signature.sign(event), self.read_clock) for event in events()]
            if not made:
                return made
            with hold(self.lock):
                try:
                    written = (ledger or self.ledger).append(made, self.head, about)
                except StoreChanged:
                    self.sound = False
                    self.refuse_deleted()
                    raise
                known = self.state.position + len(written.between) + len(written.events)
                if self.sound and written.position == known:
                    self._apply(written.between, written.events, written.head)
                else:
                    self.sync(ledger)
                return made

        def find_news() -> bool:
            self.sync(ledger)
            return self.state.position != position

        return write_in_turn(attempt, find_news)

    def _apply(self, others: Sequence[Entry], own: Sequence[Event], head: Head) -> None:
        """Apply the next events, up to a head. An exception on the way leaves the state unsound."""
        self.sound = False
        for entry in others:
            self.state.apply_plain(entry.plain, entry.source)
        for event in own:
            self.state.apply(event)
        self.head = head
        self.sound = True
