"""The trials of an Optuna study as the events of one of belated's.

Trials are asked in the order of their numbers, when they started, and end when they ended. So ages and delays are the
true ones, by the clock as well as in rounds, whichever process ran a trial.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from belated.integrations.optuna.distributions import to_ours
from belated.record.events import Adjusted, Asked, Event, Failed, Told
from belated.results import Failure
from belated.silence import Silence

SearchSpace: TypeAlias = Mapping[str, BaseDistribution]


def find_space(trials: Sequence[FrozenTrial], having: str | None = None) -> dict[str, BaseDistribution]:
    """The parameters that all trials with the parameter `having` share (None: all trials), by name, each with the
    newest range it was given.

    Completed trials decide. While there are none, those that run do, so that a first batch is spread over the space."""

    def share(state: TrialState) -> list[FrozenTrial]:
        return [t for t in trials if t.state == state and (t.distributions if having is None else having in t.params)]

    those = share(TrialState.COMPLETE) or share(TrialState.RUNNING)
    if not those:
        return {}
    shared = set.intersection(*(set(trial.distributions) for trial in those))
    newest = those[-1].distributions
    return {name: newest[name] for name in sorted(shared) if not newest[name].single()}


def read_params(space: SearchSpace, params: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a trial's params that the space has, as belated's values."""
    found = {name: to_ours(space[name], params[name]) for name in space if name in params}
    return {name: value for name, value in found.items() if value is not None}


def find_fixed(trial: FrozenTrial) -> Mapping[str, Any]:
    """The params that the user gave a trial with `enqueue_trial`."""
    fixed: Mapping[str, Any] = trial.system_attrs.get("fixed_params", {})
    return fixed


def to_seconds(moment: datetime | None) -> float:
    """When it was by the clock; the start of time where Optuna did not note it."""
    return 0.0 if moment is None else moment.timestamp()


@dataclass(frozen=True, kw_only=True)
class FollowedTrial:
    """A trial that lies in the space: its query, and how it ended."""

    asked: Asked
    adjusted: tuple[Adjusted, ...] = ()  # before it was asked: patience that belated chose
    ended: Told | Failed | None = None


def make_row(space: SearchSpace, trial: FrozenTrial, silent: Failure) -> FollowedTrial | None:
    """A trial as a row, if all of its params are known and lie in the space."""
    params = read_params(space, trial.params)
    if len(params) < len(space):
        return None
    start, added = to_seconds(trial.datetime_start), was_added(trial)
    asked = Asked(
        number=0,
        params=params,
        context=None,
        knew=0,
        considered_at=start,
        asked_at=start,
        by_hand=added or all(name in find_fixed(trial) for name in space),
        told_at_once=added,
    )
    return FollowedTrial(asked=asked, ended=read_end(trial, silent))


def was_added(trial: FrozenTrial) -> bool:
    """Whether it came with its value, by add_trial, so that nobody waited for it."""
    return trial.state == TrialState.COMPLETE and trial.datetime_start == trial.datetime_complete


def read_end(trial: FrozenTrial, silent: Failure) -> Told | Failed | None:
    """How a trial ended; None while it runs. Without a finite value it ended as the silence says."""
    if not trial.state.is_finished():
        return None
    at, value = to_seconds(trial.datetime_complete), trial.value if trial.state == TrialState.COMPLETE else None
    if value is None or not math.isfinite(value):
        return Failed(number=0, kind=silent, at=at)
    return Told(number=0, value=value, noise=None, at=at)


def find_silent_end(silence: Silence) -> Failure:
    """How a trial ends that failed or was pruned: as the silence says of an outcome that never comes."""
    return "lost" if silence.forgets else "infeasible"


def order_events(rows: Sequence[FollowedTrial]) -> list[Event]:
    """All that happened, in order: a trial knew what had ended when it was asked."""
    events: list[Event] = []
    ends: list[tuple[float, int, Told | Failed]] = []

    def end_until(now: float) -> Iterator[Event]:
        while ends and ends[0][0] <= now:
            _, number, ended = heapq.heappop(ends)
            yield replace(ended, number=number)

    for number, row in enumerate(rows, start=1):
        events += end_until(row.asked.asked_at)
        events += row.adjusted
        events.append(replace(row.asked, number=number, knew=len(events), knew_trials=number - 1))
        if row.asked.told_at_once and row.ended is not None:
            events.append(replace(row.ended, number=number))
        elif row.ended is not None:
            heapq.heappush(ends, (row.ended.at, number, row.ended))
    events += end_until(math.inf)
    return events
