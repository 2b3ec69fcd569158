"""A study of belated's that follows the trials of an Optuna study, over one space of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from belated import Settings, Study
from belated.events import Adjusted, Asked
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


class FollowingStudy:
    """What to try next, given the trials that Optuna has. Its choice is that of `Study.ask` after the same events.

    Optuna's storage is the record; here is only what saves time: the study as it was at the last choice, to which new
    events are appended. If they no longer continue it, as when another process wrote a trial in between, the study is
    built again."""

    def __init__(self, settings: Settings, space: SearchSpace) -> None:
        self.settings, self.space = settings, space
        self._silent = find_silent_end(settings.silence)
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
            self._study.ask(params=fixed or None)
            written = self._ledger.events[known:]
            (asked,) = (event for event in written if isinstance(event, Asked))
            adjusted = tuple(event for event in written if isinstance(event, Adjusted))
            self._chosen[key] = FollowedTrial(asked=asked, adjusted=adjusted)
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
        events, before = order_events(rows), self._ledger.events
        if events[: len(before)] != before:
            self._restart()
        self._ledger.append(events[len(self._ledger.events) :])


def _identify(trial: FrozenTrial) -> tuple[int, float]:
    return trial.number, to_seconds(trial.datetime_start)
