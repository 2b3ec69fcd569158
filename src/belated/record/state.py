"""The state of a study after some events: its settings as they are now, its trials, its hyperparameters.

A pure function of settings and events: the same events give the same state anywhere, so a study, its restart and the
replay of an old choice all use it. Effects of an event on a trial are in trials.py; effects on the study (settings
amended, patience chosen, closed, locked, opened again) are here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.errors import Closed, InvalidInput, Locked, Unreadable
from belated.learner.arrays import Array
from belated.learner.choice.problem import Hyperparameters, Problem
from belated.learner.gp.domain import Finite
from belated.learner.history import History, unroll_counts
from belated.patience import Patience
from belated.record.events import Event, event_to_dict
from belated.record.kept_events import Fetch
from belated.record.trial_record import TrialRecord
from belated.record.trials import TrialTable
from belated.results import Status, Trial
from belated.settings import Settings, read_amendment
from belated.space.encoding import Space
from belated.space.parameters import Choice
from belated.validation import Params, format_value, prefix_errors

# What a locked study takes no more. Whoever wrote it could not know yet that it is locked; it does not count.
LOCKED_OUT = ("told", "converted", "counted", "failed", "amended", "undone")
OUTSIDE = "outside the ranges: kept and used, never proposed"


class StudyChange(NamedTuple):
    """What the study itself was before a change at a position."""

    position: int
    settings: Settings
    closed: bool
    locked: bool


def _write_settings(settings: Settings) -> dict[str, Any]:
    """Settings as plain values, with the patience of now, which may be one that the study chose."""
    return {"spec": settings.spec(), "m": settings.patience.m}


def _read_settings(plain: Mapping[str, Any], created: Settings) -> Settings:
    """What `_write_settings` wrote, read back; where it is what the study was created with, that space is used."""
    settings = Settings.of(plain["spec"])
    space = created.space if settings.space == created.space else settings.space
    return replace(settings, space=space, patience=replace(settings.patience, m=plain["m"]))


class State:
    """What is known after some events."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings  # as amended, with the patience of now
        self.problem: Problem = settings.problem  # the settings as the learner takes them
        self.table = TrialTable(
            self.problem.split + settings.space.domain.D, settings.patience.by_clock, settings.objective.conversions
        )
        self.fits: list[Hyperparameters] = []
        self._changes: tuple[StudyChange, ...] = ()  # of the study itself, those that count
        self.changed_at = 0  # where the study itself was changed last, or a change of it taken back
        self._contexts: dict[tuple[tuple[str, str], ...], tuple[dict[str, Any], Array]] = {}  # encoded before
        self.closed = self.locked = False
        self.name: str | None = None  # if it was renamed
        self.writers = {by: None for by in [settings.created_by] if by is not None}  # in the order in which they began
        self.versions: Mapping[str, str] | None = None  # of the libraries that computed the newest choice
        self.shift = np.random.default_rng([settings.seed, 0]).random(len(settings.space.widths))

    @classmethod
    def after(cls, settings: Settings, events: Iterable[Event]) -> State:
        """The state after these events."""
        state = cls(settings)
        for event in events:
            state.apply(event)
        return state

    def fork(self, room: int = 0) -> State:
        """An independent copy, with room for some more trials."""
        other = State.__new__(State)
        other.__dict__.update(self.__dict__)
        other.table, other.fits, other.writers = self.table.fork(room), list(self.fits), dict(self.writers)
        return other

    def dump(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """All that the events have come to, as plain values and as arrays; see `TrialTable.dump`."""
        table, arrays = self.table.dump()
        plain = {
            "settings": _write_settings(self.settings),
            "fits": [fit.to_dict() for fit in self.fits],
            "changes": [
                (change.position, _write_settings(change.settings), change.closed, change.locked)
                for change in self._changes
            ],
            "changed_at": self.changed_at,
            "closed": self.closed,
            "locked": self.locked,
            "name": self.name,
            "writers": list(self.writers),
            "versions": None if self.versions is None else dict(self.versions),
            "table": table,
        }
        return plain, arrays

    @classmethod
    def load(cls, created: Settings, plain: Mapping[str, Any], arrays: Mapping[str, Array], fetch: Fetch) -> State:
        """The state that was dumped, of a study that was created with some settings."""
        state = cls(created)
        state.settings = _read_settings(plain["settings"], created)
        if state.settings.space is created.space:
            state.problem = replace(state.problem, bounds=state.settings.objective.bounds)
        else:
            state.problem = state.settings.problem
        state.table.load(plain["table"], arrays, fetch)
        state.fits = [Hyperparameters.from_dict(fit) for fit in plain["fits"]]
        state._changes = tuple(
            StudyChange(position, _read_settings(settings, created), closed, locked)
            for position, settings, closed, locked in plain["changes"]
        )
        state.changed_at, state.closed, state.locked = (plain[name] for name in ("changed_at", "closed", "locked"))
        state.name, state.versions = plain["name"], plain["versions"]
        state.writers = dict.fromkeys(plain["writers"])
        return state

    def apply(self, event: Event) -> None:
        """The next event; Unreadable if it cannot have happened after those before it."""
        self.apply_plain(event_to_dict(event), event)

    def apply_plain(self, plain: Mapping[str, Any], source: str | Event) -> None:
        """The next event as plain values, and what to make the event itself of: its JSON, or the event."""
        place = self.position + 1
        try:
            self._apply(plain, source)
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            reason = f"event {place} does not fit those before it ({type(error).__name__}: {error})"
            raise Unreadable(f"the record is damaged ({reason})") from None

    def _apply(self, plain: Mapping[str, Any], source: str | Event) -> None:
        kind, by = plain["event"], plain.get("by")
        if by is not None:
            self.writers[by] = None
        if self.locked and kind in LOCKED_OUT:
            self.table.pass_over(plain, source)
            return
        self.table.apply(plain, source, self.settings.patience.m, self._find_row(plain))
        if kind == "asked":
            if plain.get("fitted") is not None:
                self.fits.append(Hyperparameters.from_dict(plain["fitted"]))
            self.versions = plain.get("versions") or self.versions
        elif kind == "patience":
            self.settings = replace(self.settings, patience=replace(self.settings.patience, m=plain["m"]))
        elif kind == "refitted":
            self.fits.append(Hyperparameters.from_dict(plain["fitted"]))
        elif kind == "amended" and plain["number"] is None:
            self._keep()
            self._use_settings(read_amendment(self.settings, plain))
        elif kind == "renamed":
            self.name = plain["name"]
        elif kind == "closed":
            self._keep()
            self.closed, self.locked = True, self.locked or plain.get("locked", False)
        elif kind == "reopened":
            self._keep()
            self.closed = self.locked = False
        elif kind == "undone" and plain["number"] is None:
            self._undo(plain["position"])

    def _find_row(self, plain: Mapping[str, Any]) -> list[float] | None:
        """The row of a query that an event asks, or says to have been run elsewhere; None: there is none."""
        kind = plain["event"]
        if kind == "asked":
            encode = self.encode_added if plain.get("by_hand") else self.encode
            return encode(plain["params"], plain["context"])
        if kind in ("told", "amended") and plain.get("params") is not None:
            return self._encode_run(plain["number"] - 1, plain["params"])
        if kind == "undone" and plain["number"] is not None:
            i = plain["number"] - 1
            before = self.table.params_before(i)
            return None if before == self.table.params(i) else self._encode_run(i, before)
        return None

    def _encode_run(self, i: int, params: Params) -> list[float]:
        """The row of a query as it was run, which may be outside the ranges."""
        return self.encode_added(params, self.table.asked(i).context)

    # Changes of the study itself --------------------------------------------------------------------------------------

    def find_newest(self, number: int | None) -> int:
        """The position of the newest change of a trial (None: of the study itself) that counts; 0: there is none."""
        if number is not None:
            return int(self.table.column("changed")[number - 1])
        return self._changes[-1].position if self._changes else 0

    def require_open(self) -> None:
        """Refuse to add queries to a closed study."""
        self.require_unlocked()
        if self.closed:
            raise Closed

    def require_unlocked(self) -> None:
        if self.locked:
            raise Locked

    def was_undone(self, position: int) -> bool:
        return position in self.table.taken_back

    @property
    def settings_before(self) -> Settings:
        """The settings before the newest change of the study itself."""
        return self._changes[-1].settings

    def is_unchanged(self, number: int, since: int) -> bool:
        """Whether a trial, and the study itself, are what they were after the event at a position."""
        return self.changed_at <= since and not self.table.has_changed(number, since)

    def check_ranges(self, new: Space) -> None:
        """Refuse ranges that are narrower, unless everything that lies inside still does."""
        for name in new.names:
            old, kind = self.settings.space.find_parameter(name), new.find_parameter(name)
            if isinstance(kind, Choice) or isinstance(old, Choice) or (kind.low <= old.low and old.high <= kind.high):
                continue
            for i in range(self.table.count):
                for value in (self.table.asked(i).params[name], self.table.params(i)[name]):
                    if old.low <= value <= old.high and not kind.low <= value <= kind.high:
                        raise InvalidInput(
                            f"{name}: a range can be narrowed only if everything lies inside "
                            f"(trial {i + 1} has {value!r}, got {kind.low!r} to {kind.high!r})"
                        )
        for i in range(self.table.count):
            with prefix_errors(f"trial {i + 1}: "):
                for params in self.table.list_params(i):
                    new.encode_run(params)  # refuses what is too far away from the new ranges

    def _keep(self) -> None:
        before = StudyChange(self.position, self.settings, self.closed, self.locked)
        self._changes, self.changed_at = (*self._changes, before), self.position

    def _undo(self, position: int) -> None:
        """The newest change of the study never was. Where something else changed it meanwhile, nothing happens."""
        if position != self.find_newest(None):
            return
        self.table.taken_back.add(position)
        before, self._changes, self.changed_at = self._changes[-1], self._changes[:-1], self.position
        self.closed, self.locked = before.closed, before.locked
        was, now = before.settings.patience, self.settings.patience
        kept = now if was.auto and now.auto and was.by_clock == now.by_clock else was  # the study itself goes on
        self._use_settings(replace(before.settings, patience=kept))

    def _use_settings(self, new: Settings) -> None:
        """Settings that are in force from here on, for all that was recorded before too."""
        old, self.settings = self.settings, new
        if new.space != old.space:  # hyperparameters are about the unit cube, which is another one now
            self.fits, self.problem = [], new.problem
            self.table.place_rows([self._encode_run(i, self.table.params(i)) for i in range(self.table.count)])
        elif new.objective != old.objective:
            self.problem = replace(self.problem, bounds=new.objective.bounds)
        if new.patience != old.patience:
            self.table.change_patience(new.patience.m, new.patience.by_clock)

    # Trials -----------------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> Sequence[TrialRecord]:
        return self.table.rows

    @property
    def position(self) -> int:
        """The position of the last event."""
        return self.table.position

    @property
    def next_number(self) -> int:
        return self.table.next_number

    def history(self, now: float) -> History:
        """What the choice of the next query knows at the clock reading `now`; later events do not change it."""
        history = self.table.history(now, self.settings.patience.m, self.settings.late)
        return history if self.problem.conversions else unroll_counts(history)

    def history_for_choice(self, now: float) -> tuple[History, Array]:
        """The same for a choice: where conversions are chosen by the clock, without the queries that were asked at this
        very moment; and those queries, in their contexts."""
        if not (self.problem.conversions and self.settings.patience.by_clock):
            return self.history(now), np.empty((0, self.table.columns))
        return self.table.history_before(now, self.settings.patience.m, self.settings.late)

    def status(self, number: int, now: float) -> Status:
        return self.table.status(number, now, self.settings.patience.m)

    def find_statuses(self, now: float) -> NDArray[np.intp]:
        """The status of every trial, as its place in STATUSES."""
        return self.table.find_statuses(now, self.settings.patience.m)

    def trial(self, number: int, now: float) -> Trial:
        """A trial at the clock reading `now`; its note says if its outcome lies beyond the floor or the ceiling, or its
        query outside the ranges."""
        trial = self.table.trial(number, now, self.settings.patience.m)
        flags = [] if trial.outcome is None else [self.settings.objective.flag(trial.outcome)]
        flags += [] if self.settings.space.holds(trial.params) else [OUTSIDE]
        return replace(trial, note="; ".join(filter(None, [trial.note, *flags]))) if any(flags) else trial

    def patience_of(self, row: TrialRecord) -> Patience:
        """The patience that decides whether its outcome is late; while untold, the patience of now."""
        own = self.settings.patience
        return own if row.told is None else Patience(self.table.m_when_told(row), own.by_clock)

    # Dictionaries to arrays -------------------------------------------------------------------------------------------

    def encode(self, params: Params, context: Params | None) -> list[float]:
        """Context and query as columns, inside the ranges."""
        return self._join(context, self.settings.space.encode_as_list(params))

    def encode_added(self, params: Params, context: Params | None) -> list[float]:
        """The same of a query that somebody ran: it may lie outside the ranges, which bind what is proposed."""
        return self._join(context, self.settings.space.encode_run(params))

    def _join(self, context: Params | None, query: list[float]) -> list[float]:
        if self.settings.context is None and context is None:
            return query
        z: list[float] = self.encode_context(context)[1].tolist()
        return z + query

    def encode_context(self, context: Params | None) -> tuple[dict[str, Any] | None, Array]:
        """A context as plain values and as columns, if it lies in its space."""
        space = self.settings.context
        if space is None:
            if context is not None:
                raise InvalidInput(f"this study has no context; leave it out (got {format_value(context)})")
            return None, np.empty(0)
        if context is None:
            raise InvalidInput(f"context must be given: {', '.join(space.names)}")
        if not isinstance(context, dict) or not all(isinstance(value, str) for value in context.values()):
            z = space.encode(context)
            return space.as_given(context), z
        key = tuple(context.items())  # of text there are few, and they come again and again
        if key not in self._contexts:
            z = space.encode(context)
            self._contexts[key] = space.as_given(context), z
        return self._contexts[key]

    def check_fixed(self, params: Params) -> dict[str, Any]:
        """Coordinates fixed by hand as plain values, if they lie in the space."""
        space = self.settings.space
        _ = space.matching(params) if isinstance(space.domain, Finite) else space.fix(params)
        return space.as_given(params)
