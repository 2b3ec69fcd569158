"""The state of a study after some events: its settings as they are now, its trials, its hyperparameters.

A pure function of settings and events: the same events give the same state anywhere, so a study, its restart and the
replay of an old choice all use it. Effects of an event on a trial are in trials.py; effects on the study (floor and
limits amended, patience chosen, closed) are here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from belated.errors import InvalidInput, Unreadable
from belated.learner.arrays import Array
from belated.learner.choice.problem import Hyperparameters, Problem
from belated.learner.gp.domain import Finite
from belated.learner.history import History, unroll_counts
from belated.objective import Objective
from belated.patience import Patience
from belated.record.events import Event, event_to_dict
from belated.record.trials import TrialRecord, TrialTable
from belated.results import Status, Trial
from belated.settings import Settings
from belated.validation import Params, format_value


class State:
    """What is known after some events."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings  # with floor and limits as amended, and the patience of now
        self.problem: Problem = settings.problem  # the settings as the learner takes them
        self.table = TrialTable(
            self.problem.split + settings.space.domain.D, settings.patience.by_clock, settings.objective.conversions
        )
        self.fits: list[Hyperparameters] = []
        self._objectives = [(0, settings.objective)]  # each with the position from which it is in force
        self._contexts: dict[tuple[tuple[str, str], ...], tuple[dict[str, Any], Array]] = {}  # encoded before
        self.closed = False
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
        other.table, other.fits, other._objectives = self.table.fork(room), list(self.fits), list(self._objectives)
        return other

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
        kind = plain["event"]
        x = self.encode(plain["params"], plain["context"]) if kind == "asked" else None
        self.table.apply(plain, source, self.settings.patience.m, x)
        if kind == "asked":
            if plain.get("fitted") is not None:
                self.fits.append(Hyperparameters.from_dict(plain["fitted"]))
            self.versions = plain.get("versions") or self.versions
        elif kind == "amended" and plain["number"] is None:
            limits = plain.get("limits")
            objective = self.settings.objective.amend(plain.get("floor"), None if limits is None else tuple(limits))
            self.settings = replace(self.settings, objective=objective)
            self.problem = replace(self.problem, bounds=objective.bounds)
            self._objectives.append((self.position, objective))
        elif kind == "patience":
            self.settings = replace(self.settings, patience=replace(self.settings.patience, m=plain["m"]))
        elif kind == "refitted":
            self.fits.append(Hyperparameters.from_dict(plain["fitted"]))
        elif kind == "closed":
            self.closed = True

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

    def trial(self, number: int, now: float) -> Trial:
        """A trial at the clock reading `now`; its note says if its outcome lies beyond the floor or the ceiling."""
        trial = self.table.trial(number, now, self.settings.patience.m)
        flag = "" if trial.outcome is None else self.settings.objective.flag(trial.outcome)
        return replace(trial, note="; ".join(filter(None, [trial.note, flag]))) if flag else trial

    def objective_at(self, position: int) -> Objective:
        """The floor and limits that were in force when the event at this position was written."""
        return next(objective for since, objective in reversed(self._objectives) if since <= position)

    def patience_of(self, row: TrialRecord) -> Patience:
        """The patience that decides whether its outcome is late; while untold, the patience of now."""
        own = self.settings.patience
        return own if row.told is None else Patience(self.table.m_when_told(row), own.by_clock)

    # Dictionaries to arrays -------------------------------------------------------------------------------------------

    def encode(self, params: Params, context: Params | None) -> list[float]:
        """Context and query as columns."""
        query = self.settings.space.encode_as_list(params)
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
