"""The studies that a server keeps open: one handle each, found by name or by id."""

from __future__ import annotations

import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice, takewhile
from typing import Any

import numpy as np

from belated.errors import BelatedError, Deleted, Exhausted, InvalidInput, KeyTaken, Taken, UnknownStudy
from belated.learner.arrays import Array
from belated.learner.blas import use_one_thread
from belated.learner.choice.problem import Hyperparameters
from belated.record.best import count_people
from belated.record.bulk import explain_rows
from belated.record.check import find_faults
from belated.record.events import Adjusted, Amended, Asked, Event, Undone
from belated.record.handle import AnEvent, Handle
from belated.record.keyed_calls import find_call
from belated.record.ledger import Ledger, Store, open_store
from belated.record.ledger.calls import BY_IDENTITY
from belated.record.ledger.chain import Entry, Head, Origin, Tombstone
from belated.record.ledger.shelf import Shelf
from belated.record.locks import hold
from belated.record.signing import NOBODY, Signature
from belated.record.tellings import read_outcome
from belated.record.undoing import PastEvent
from belated.results import Receipt, Trial, list_awaited
from belated.settings import Settings
from belated.study import Study
from belated.verbs.asking import choose
from belated.verbs.telling import TellCall, read_outcome_row, tell_news, tell_rows

NEAR = 50  # events that are read together


class NotTogether(Exception):
    """These calls have to be done one after the other."""


class KeyedHandle(Handle):
    """A handle whose amendments and undos can have a key, so that a client may repeat them."""

    def __init__(self, created: Settings, ledger: Any, name: str, clock: Callable[[], float]) -> None:
        self._once = threading.local()
        super().__init__(created, ledger, name, clock)

    @contextmanager
    def use_key(self, key: str) -> Iterator[None]:
        """What this thread writes meanwhile has this key."""
        self._once.key = key
        try:
            yield
        finally:
            self._once.key = None

    def write(
        self,
        events: Callable[[], Sequence[AnEvent]],
        signature: Signature = NOBODY,
        ledger: Ledger | None = None,
        *,
        about: int | None = None,
    ) -> Sequence[AnEvent]:
        key = getattr(self._once, "key", None)
        if key is None:
            return super().write(events, signature, ledger, about=about)

        def keyed() -> Sequence[AnEvent]:
            made = list(events())
            if made and isinstance(made[0], Amended | Undone):
                made[0] = replace(made[0], key=key)
            return made

        return super().write(keyed, signature, ledger)


class ServedStudy(Study):
    """A study with what a server needs besides: its id, its events as stored, and calls that may be repeated."""

    def __init__(self, url: str, settings: Settings, ledger: Any, name: str, clock: Callable[[], float]) -> None:
        self.url = url
        self.identity: str = ledger.identity
        self._start: Head = ledger.start
        self._hashes: list[bytes] = []  # of the events, in order, as far as somebody paged through them
        self._about: list[tuple[int | None, str | None, str]] = []  # likewise: the trial, who did it, and the kind
        self._paging = threading.Lock()
        self.last_refit: tuple[str | None, Hyperparameters | None] | None = None  # the key of that call, what it found
        self._handle = self._keyed = KeyedHandle(settings, ledger, name, clock)
        self._handle.read_first()

    def read_head(self) -> Head:
        """The position and hash of the last event."""
        with self._handle.hold_newest():
            return self._handle.head or self._start

    def read_entries(self, after: Head | None = None) -> Iterator[Entry]:
        """The events after one that was read before, as stored."""
        return self._handle.ledger.read(after)

    def find_head(self, position: int) -> Head:
        """The event at a position (the newest, where there are fewer), with its hash."""
        with self._paging:
            if len(self._hashes) < position:
                last = Head(len(self._hashes), self._hashes[-1]) if self._hashes else None
                self._note_entries(self._handle.ledger.read(last))
            place = min(position, len(self._hashes))
            return Head(place, self._hashes[place - 1]) if place else self._start

    def find_events(self, number: int | None = None, by: str | None = None, kind: str | None = None) -> list[int]:
        """The positions of the events about a trial, by a person, of a kind; None: of any."""
        position = self.read_head().position
        self.find_head(position)
        wanted, about = (number, by, kind), enumerate(self._about[:position], start=1)
        return [at for at, had in about if all(a is None or a == b for a, b in zip(wanted, had, strict=True))]

    def read_entries_at(self, positions: Iterable[int]) -> list[Entry]:
        """The events at some positions, as stored, in this order; neighbours are read together."""
        wanted = list(positions)
        found: dict[int, Entry] = {}
        for position in sorted(wanted):
            if position not in found:
                near = islice(self.read_entries(self.find_head(position - 1)), NEAR)
                found |= {entry.position: entry for entry in near}
        return [found[position] for position in wanted]

    def read_events(self, positions: Iterable[int]) -> list[PastEvent]:
        """The events at some positions, in this order."""
        return [PastEvent(entry.position, entry.event) for entry in self.read_entries_at(positions)]

    def _note_entries(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._hashes.append(entry.hash)
            by = entry.plain.get("by")
            self._about.append((entry.plain.get("number"), by and sys.intern(by), sys.intern(entry.plain["event"])))

    def find_trials(self, statuses: Collection[str] | None = None, order: str = "number") -> list[int]:
        """The numbers of the trials of some statuses (None: all), by number or outcome; - before it: backwards."""
        with self._handle.hold_newest() as state:
            table, now, m = state.table, self._handle.read_clock(), state.settings.patience.m
            found = list(range(1, table.count + 1))
            if statuses is not None:
                found = [number for number in found if table.status(number, now, m) in statuses]
            if order.lstrip("-") == "outcome":
                y = table.column("y")
                told = table.told
                found = sorted((n for n in found if told[n - 1]), key=lambda n: float(y[n - 1])) + [
                    n for n in found if not told[n - 1]
                ]
            return found[::-1] if order.startswith("-") else found

    def read_trials(self, numbers: Iterable[int]) -> list[Trial]:
        """Some trials, as they are now."""
        with self._handle.hold_newest():
            return [self._handle.read_trial(number) for number in numbers]

    def read_outcomes(self) -> tuple[list[int], Array]:
        """The numbers of the trials that were told an outcome, and the outcomes."""
        with self._handle.hold_newest() as state:
            table = state.table
            rows = np.flatnonzero(table.told)
            return [int(row) + 1 for row in rows], np.array(table.column("y")[rows], dtype=float)

    def read_people(self) -> tuple[Array, Array]:
        """Of conversions: how many people each trial stands for, and how many of them have converted."""
        with self._handle.hold_newest() as state:
            return count_people(state.history(self._handle.read_clock()))

    def list_pending_ages(self, now: float) -> list[float]:
        """For how many seconds each trial without an outcome has been out."""
        pending = self.read_trials(self.find_trials(list_awaited(self.settings.objective.conversions)))
        return [max(0.0, now - trial.asked_at) for trial in pending]

    def choose_key(self, number: object, key: str) -> str | None:
        """The key that a tell is recorded with, where its caller gave none and the client made one.

        A duplicate of something else than its own first attempt leaves no event, with or without a server."""
        with hold(self._handle.lock):
            table = self._handle.state.table
            known = key in table.keys
            new = not isinstance(number, int) or not 1 <= number <= table.count or table.takes_outcome(number - 1)
            return key if known or new else None

    def find_repeat(self, key: str) -> list[PastEvent]:
        """The events of an amendment or an undo that was made with this key before."""
        with self._handle.hold_newest() as state:
            found = state.table.keys.get(key)
        if found is None or not isinstance(found.event, Amended | Undone):
            return []
        first, *rest = self.events()[found.position - 1 :]
        at = found.event.at
        same = takewhile(lambda event: isinstance(event, Undone) and (event.at, event.key) == (at, None), rest)
        return [PastEvent(found.position + i, event) for i, event in enumerate([first, *same])]

    def ask_together(self, calls: Sequence[Mapping[str, Any]]) -> list[Trial]:
        """A query for each of some calls, which wait at the same time, written at once: one commit for all of them.

        Each knows those before it; none knows what is told meanwhile. NotTogether: nothing was done, and one of them
        has an answer of its own.

        calls  of `ask`, with context, key, by and remark alone"""
        handle = self._handle
        try:
            batch = [handle.state.encode_context(call.get("context"))[0] for call in calls]
            signatures = [Signature.of(call.get("by"), call.get("remark")) for call in calls]
        except InvalidInput:
            raise NotTogether from None
        keys = [call.get("key") for call in calls]
        if len({key for key in keys if key is not None}) + keys.count(None) < len(keys):
            raise NotTogether

        def events() -> list[Asked | Adjusted]:
            try:
                with handle.hold_state() as state:
                    for key in keys:
                        find_call(state, key, ())  # nothing is known of it, or it is refused
                    state.require_open()
                with use_one_thread():
                    made = choose(handle, batch, None, None)
            except (InvalidInput, KeyTaken, Exhausted):
                raise NotTogether from None
            change = [event for event in made if isinstance(event, Adjusted)]
            asked = [event for event in made if isinstance(event, Asked)]
            alone = (replace(event, key=key, part=0, parts=1) for event, key in zip(asked, keys, strict=True))
            signed = (each.sign(event) for event, each in zip(alone, signatures, strict=True))
            return [*map(signatures[0].sign, change), *signed]

        with handle.lock_asks() as turn:
            asked = [event.number for event in handle.write(events, NOBODY, turn) if isinstance(event, Asked)]
        return self.read_trials(asked)

    def tell_news(self, calls: Sequence[TellCall]) -> list[Receipt | BelatedError]:
        """Tell the first of some calls, as far as they are news, with one commit; none where that is one at most."""
        return tell_news(self._handle, calls)

    def tell_rows(
        self, rows: Sequence[Mapping[str, Any]], key: str, by: str | None = None, remark: str | None = None
    ) -> list[Receipt]:
        """Tell many outcomes with a key of them all; if that was done before, the receipts are those of then."""
        read = explain_rows(read_outcome, rows, 1)
        keys = [f"{key}/{i}" for i in range(len(read))]
        with self._handle.hold_newest() as state:
            known = [each if each in state.table.keys else None for each in keys]
            numbers = [read_outcome_row(self._handle, row, 0.0).number for row in read] if any(known) else []
        if not numbers:
            return tell_rows(self._handle, read, Signature.of(by, remark), 1, key)
        again = zip(numbers, read, known, strict=True)
        return [self.tell(n, row.value, at=row.at, noise=row.noise, key=each) for n, row, each in again]

    def append_made(self, seen: Head, made: Sequence[Event]) -> Head:
        """Write events that a client worked out from those up to `seen`, all or none; Taken if there are newer ones.

        They are checked as `belated check` would: nothing that breaks a promise gets into the record."""
        with self._handle.lock_asks() as turn, hold(self._handle.lock):
            if (self._handle.head or self._start) != seen:
                raise Taken
            self._handle.state.require_unlocked()
            before = self.events()
            try:
                faults = find_faults(self._handle.created, [*before, *made])
            except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
                raise InvalidInput(f"these cannot be events of this study ({error})") from None
            if faults:
                raise InvalidInput(f"these cannot be events of this study ({faults[0]})")
            self._handle.write(lambda: list(made), NOBODY, turn)
            return self._handle.head or self._start

    def do_once(self, key: str, verb: Callable[[], Any]) -> Any:
        """Do something whose events are to have this key, so that the record shows that it was done."""
        with self._keyed.use_key(key):
            return verb()


class ServedStudies:
    """The studies of one store. Every method may be called from any thread."""

    def __init__(self, url: str, clock: Callable[[], float] = time.time) -> None:
        self.url, self.clock = url, clock
        self.store: Store = open_store(url, create=True)
        self._open: dict[str, ServedStudy] = {}
        self._opening = threading.Lock()

    def find_identity(self, study: str) -> str | None:
        """The id of a study, given by its name or as id:...; None where there is none."""
        if study.startswith(BY_IDENTITY):
            identity = study.removeprefix(BY_IDENTITY)
            known = identity in self._open or self.find_name(identity) is not None
            return identity if known or self.find_tombstone(identity) is not None else None
        try:
            return str(self.store.ledger(unicodedata.normalize("NFC", study)).identity)  # type: ignore[attr-defined]
        except LookupError:
            return None

    def find_name(self, identity: str) -> str | None:
        return next((name for name, origin, _ in self.list_heads() if origin.identity == identity), None)

    def find_tombstone(self, identity: str) -> Tombstone | None:
        """What is left of a study that was deleted."""
        return self.store.use_studies(lambda shelf: shelf.find_tombstone(identity))

    def list_heads(self) -> list[tuple[str, Origin, Head]]:
        """Name, origin and head of every study, of one moment."""
        return self.store.use_studies(Shelf.list_heads)

    def open(self, identity: str) -> ServedStudy:
        """The handle on a study; the same one every time."""
        study = self._open.get(identity)
        if study is not None:
            return study
        with self._opening:
            if identity not in self._open:
                self._open[identity] = self._open_again(identity)
            return self._open[identity]

    def _open_again(self, identity: str) -> ServedStudy:
        name = self.find_name(identity)
        if name is None:
            gone = self.find_tombstone(identity)
            raise UnknownStudy if gone is None else Deleted(str(gone))
        spec = self.store.spec(name)
        ledger = self.store.ledger(name)
        if spec is None or ledger.identity != identity:  # type: ignore[attr-defined]
            raise UnknownStudy
        return ServedStudy(self.url, Settings.of(spec), ledger, name, self.clock)

    def find_open_name(self, identity: str) -> str | None:
        """What a study is called, as far as its handle has read."""
        study = self._open.get(identity)
        return None if study is None else study.name

    def forget(self, identity: str) -> None:
        """Let go of a study that was deleted."""
        with self._opening:
            self._open.pop(identity, None)

    def close(self) -> None:
        self.store.close()
