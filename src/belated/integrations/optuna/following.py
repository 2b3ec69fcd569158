"""A study of belated's that follows the trials of an Optuna study, over one space of parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from optuna.trial import FrozenTrial, TrialState

from belated import Study
from belated.events import Adjusted, Asked, Event
from belated.integrations.optuna.distributions import make_parameter
from belated.integrations.optuna.trials import (
    FollowedTrial,
    SearchSpace,
    find_fixed,
    find_silent_end,
    make_row,
    order_events,
    read_params,
    to_seconds,
)
from belated.record.ledger.memory import MemoryLedger

SETTING_OUT = 60.0  # seconds in which a trial gets its params, one by one; after that it has those it has
TrialKey: TypeAlias = tuple[int, float]
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
        self._chosen: dict[TrialKey, FollowedTrial] = {}  # what was chosen here
        self._guessed: dict[TrialKey, FollowedTrial] = {}  # what others may be choosing for trials that have just begun
        self._ended: dict[TrialKey, FollowedTrial | None] = {}  # trials that have ended, which change no more
        self._now = 0.0
        self._restart()

    def _restart(self) -> None:
        self._ledger = MemoryLedger()
        self._study = Study(self.settings, self._ledger, None, lambda: self._now)

    def choose(self, trial: FrozenTrial, others: Sequence[FrozenTrial]) -> dict[str, Any]:
        """The params of a trial in belated's values, around those that it has; what was chosen for it before stays."""
        key, given = _identify(trial), self._find_given(trial)
        known = self._chosen.get(key) or self._guessed.get(key)
        if known is None or not _agrees(given, known):
            self._now = to_seconds(trial.datetime_start)
            self._guess(trial, others)
            known = self._ask(given, others)
        self._chosen[key] = known
        return dict(known.asked.params)

    def _guess(self, trial: FrozenTrial, others: Sequence[FrozenTrial]) -> None:
        """Choose for the earlier trials whose params are being chosen elsewhere at this moment.

        A guess is right if the other worker has the same seed and knows the same."""
        for other in others:
            if other.number < trial.number and self._is_setting_out(other) and self._find_row(other) is None:
                given = self._find_given(other)
                if given.keys() >= set(self.context):
                    self._guessed[_identify(other)] = self._ask(given, [each for each in others if each is not other])

    def _ask(self, given: Mapping[str, Any], others: Sequence[FrozenTrial]) -> FollowedTrial:
        self._follow(others)
        known = len(self._ledger.events)
        query, around = self._split(given)
        self._study.ask(params=query or None, context=around)
        written = self._ledger.events[known:]
        (asked,) = (event for event in written if isinstance(event, Asked))
        whole = replace(asked, params={**asked.params, **(asked.context or {})}, context=None)
        return FollowedTrial(asked=whole, adjusted=tuple(event for event in written if isinstance(event, Adjusted)))

    def _find_given(self, trial: FrozenTrial) -> dict[str, Any]:
        """The params of a trial that are not to be chosen: those it has, and those that the user fixed."""
        return read_params(self.space, {**find_fixed(trial), **trial.params})

    def _is_setting_out(self, trial: FrozenTrial) -> bool:
        """Whether a trial has just begun, so that its params over this space may still be on their way."""
        elsewhere = any(name not in self.space and not each.single() for name, each in trial.distributions.items())
        just = self._now - to_seconds(trial.datetime_start) < SETTING_OUT
        return trial.state == TrialState.RUNNING and just and not elsewhere

    def _find_row(self, trial: FrozenTrial) -> FollowedTrial | None:
        """A trial as a row, with what is known here of its choice; None if it does not lie in the space."""
        key = _identify(trial)
        if key in self._ended:
            return self._ended[key]
        chosen = self._chosen.get(key)
        if chosen is None and self._is_setting_out(trial):
            chosen = self._guessed.get(key)
        row = self._read_row(trial, chosen)
        if trial.state.is_finished():
            self._ended[key] = row
        return row

    def _read_row(self, trial: FrozenTrial, chosen: FollowedTrial | None) -> FollowedTrial | None:
        row = make_row(self.space, trial, self._silent)
        if chosen is None or (row is not None and row.asked.params != chosen.asked.params):
            return row
        if row is not None:
            return FollowedTrial(asked=chosen.asked, adjusted=chosen.adjusted, ended=row.ended)
        on_their_way = trial.state == TrialState.RUNNING and _agrees(read_params(self.space, trial.params), chosen)
        return chosen if on_their_way else None

    def _follow(self, others: Sequence[FrozenTrial]) -> None:
        rows = [row for trial in others if (row := self._find_row(trial)) is not None]
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


def _identify(trial: FrozenTrial) -> TrialKey:
    return trial.number, to_seconds(trial.datetime_start)


def _agrees(given: Mapping[str, Any], chosen: FollowedTrial) -> bool:
    """Whether what was chosen has these params."""
    return given.items() <= chosen.asked.params.items()
