"""When a run stops before its rounds are done: after a time, at a goal, or when a callback says so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np

from belated.errors import InvalidInput
from belated.patience import parse_duration
from belated.results import Trial
from belated.settings import Settings
from belated.validation import format_value, require_number

Callback = Callable[[Any, Trial], object]


@dataclass(frozen=True, kw_only=True)
class StopRule:
    """What the user said about stopping early."""

    seconds: float | None = None
    goal: float | None = None
    callbacks: tuple[Callback, ...] = ()

    @classmethod
    def of(
        cls, timeout: float | str | timedelta | None, until: float | None, callbacks: Iterable[Callback]
    ) -> StopRule:
        called = () if callable(callbacks) else tuple(callbacks)
        if callable(callbacks) or not all(map(callable, called)):
            raise InvalidInput(
                f"callbacks must be a list of functions of (study, trial) (got {format_value(callbacks)})"
            )
        return cls(
            seconds=None if timeout is None else parse_duration(timeout, "timeout"),
            goal=None if until is None else require_number(until, "until"),
            callbacks=called,
        )

    def start(self) -> Callable[[], bool]:
        """Begin to measure the time; returns whether it is over."""
        if self.seconds is None:
            return lambda: False
        end = time.monotonic() + self.seconds
        return lambda: time.monotonic() >= end


def find_reached(goal: float, settings: Settings, trials: Iterable[Trial]) -> Trial | None:
    """The first trial whose outcome is as good as the goal."""
    sign = settings.objective.sign
    good = (trial for trial in trials if trial.outcome is not None and sign * trial.outcome >= sign * goal)
    return next(good, None)


def asks_to_stop(answer: object) -> bool:
    """Whether a callback returned True; what else it returns means nothing."""
    return isinstance(answer, bool | np.bool_) and bool(answer)
