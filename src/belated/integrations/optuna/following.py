"""A study of belated's that follows the trials of an Optuna study, over one space of parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from optuna.trial import FrozenTrial, TrialState

from belated import Study
from belated.events import Adjusted, Asked, Event
from belated.integrations.optuna.distributions import make_parameter
from belated.integrations.optuna.trials import (
    FollowedTrial,
    SearchSpace,
    find_silent_end,
    make_row,
    order_events,
    read_params,
    to_seconds,
)
from belated.record.ledger.memory import MemoryLedger

Value = TypeVar("Value")


class FollowingStudy:
    """What to try next, given the trials that Optuna has. Its choice is that of `Study.ask` after the same events.

    space    the parameters with their ranges
    context  the names of those that are the context of a choice, not a part of it

    Optuna's storage is the record; here is only what saves time: the study as it was at the last choice, to which new
    events are appended. If they no longer continue it, as when another process wrote a trial in between, the study is
    built again."""

    def __init__(self, space: SearchSpace, context: Collection[str], says: Mapping[str, Any]) -> None:
        self.space, self.context = space, context
        every = {name: make_parameter(distribution) for name, distribution in space.items()}
        query, around = self._split(every)
        self.settings = Study.create(space=query, context=around, **says).settings
        self._silent = find_silent_end(self.settings.silence)
        # By number and start:
        self._chosen: dict[tuple[int, float], FollowedTrial] = {}  # what was chosen here
        self._ended: dict[tuple[int, float], FollowedTrial | None] = {}  # trials that have ended, which change no more
        self._now = 0.0
        self._restart()

    def _restart(self) -> None:
        self._ledger = MemoryLedger()
        self._study = Study(self.settings, self._ledger, None, lambda: self._now)

    def choose(self, trial: FrozenTrial, others: Sequence[FrozenTrial], fixed: Mapping[str, Any]) -> dict[str, Any]:
        """The params of a trial in belated's values, with some of them fixed; what was chosen for it before stays."""
        key = _identify(trial)
        before = self._chosen.get(key)
        if before is None or fixed.items() - before.asked.params.items():
            self._follow(others)
            self._now = to_seconds(trial.datetime_start)
            known = len(self._ledger.events)
            query, around = self._split(fixed)
            self._study.ask(params=query or None, context=around)
            written = self._ledger.events[known:]
            (asked,) = (event for event in written if isinstance(event, Asked))
            whole = replace(asked, params={**asked.params, **(asked.context or {})}, context=None)
            adjusted = tuple(event for event in written if isinstance(event, Adjusted))
            self._chosen[key] = FollowedTrial(asked=whole, adjusted=adjusted)
        return dict(self._chosen[key].asked.params)

    def find_row(self, trial: FrozenTrial) -> FollowedTrial | None:
        """A trial as a row, with what is known here of its choice; None if it does not lie in the space."""
        key = _identify(trial)
        if key in self._ended:
            return self._ended[key]
        row = self._read_row(trial, self._chosen.get(key))
        if trial.state.is_finished():
            self._ended[key] = row
        return row

    def _read_row(self, trial: FrozenTrial, chosen: FollowedTrial | None) -> FollowedTrial | None:
        row = make_row(self.space, trial, self._silent)
        if chosen is None:
            return row
        if row is None:  # its params are on their way to the storage, one by one
            agrees = not (read_params(self.space, trial.params).items() - chosen.asked.params.items())
            return chosen if agrees and trial.state == TrialState.RUNNING else None
        same = row.asked.params == chosen.asked.params
        return FollowedTrial(asked=chosen.asked, adjusted=chosen.adjusted, ended=row.ended) if same else row

    def _follow(self, others: Sequence[FrozenTrial]) -> None:
        rows = [row for trial in others if (row := self.find_row(trial)) is not None]
        events, before = [self._set_apart(event) for event in order_events(rows)], self._ledger.events
        if events[: len(before)] != before:
            self._restart()
        self._ledger.append(events[len(self._ledger.events) :])

    def _split(self, whole: Mapping[str, Value]) -> tuple[dict[str, Value], dict[str, Value] | None]:
        """What belongs to the query, and what to the context, if there is one."""
        query = {name: value for name, value in whole.items() if name not in self.context}
        return query, {name: whole[name] for name in self.context} if self.context else None

    def _set_apart(self, event: Event) -> Event:
        """An event with the context apart from the query."""
        if not self.context or not isinstance(event, Asked):
            return event
        query, around = self._split(event.params)
        return replace(event, params=query, context=around)


def _identify(trial: FrozenTrial) -> tuple[int, float]:
    return trial.number, to_seconds(trial.datetime_start)
