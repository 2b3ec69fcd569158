"""What a user says of a trial, a time or an outcome, as plain values; refused where it cannot be meant."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np

from belated.errors import Contradiction, InvalidInput, UnknownTrial
from belated.record.events import Asked
from belated.record.handle import Handle
from belated.record.state import State
from belated.results import Trial
from belated.settings import Settings
from belated.validation import Params, format_value, require_number, require_time


def read_time(handle: Handle, at: float | datetime | None, what: str = "at") -> float:
    """A time in seconds of the study's clock; None: now."""
    if at is None:
        return handle.read_clock()
    if not isinstance(at, datetime):
        return require_time(at, what)
    try:
        return at.timestamp()
    except (ValueError, OverflowError):
        raise InvalidInput(f"{what} must be a time that the clock can show (got {format_value(at)})") from None


def read_number(state: State, trial: Trial | int) -> int:
    """The number of a trial that exists."""
    s = trial.number if isinstance(trial, Trial) else trial
    last = state.table.count
    if isinstance(s, np.integer):
        s = int(s)
    if isinstance(s, bool) or not isinstance(s, int) or not 1 <= s <= last:
        exist = {0: "none has been asked yet", 1: "only trial 1 exists"}.get(last, f"trials 1 to {last} exist")
        raise UnknownTrial(f"there is no trial {format_value(s)}; {exist}")
    given = None if not isinstance(trial, Trial) else trial.asked_params or trial.params
    if isinstance(trial, Trial) and given != dict(state.table.asked(s - 1).params):
        raise UnknownTrial(
            f"trial {s} of this study has other params; this is a trial of another one "
            f"(got {format_value(trial.params)})"
        )
    return s


def read_noise(settings: Settings, noise: float | None) -> float | None:
    """The standard deviation of an outcome's noise, where the study can use one."""
    if noise is None:
        return None
    if settings.outcomes == "conversion":
        raise Contradiction(f"the noise of conversions follows from their rates; leave noise out (got {noise!r})")
    if settings.algorithm.model.noise == "one":
        raise Contradiction(
            f"{settings.algorithm.name} has one lambda for all outcomes; leave noise out (got {noise!r})"
        )
    sigma = require_number(noise, "noise")
    if sigma <= 0:
        raise InvalidInput(f"noise must be more than 0 (got {sigma!r})")
    return sigma


def read_run(state: State, number: int, params: Params | None, key: str | None = None) -> dict[str, Any] | None:
    """What was run, if that was said and is not what is known; params may be those that differ alone."""
    if params is None:
        return None
    row, before = state.rows[number - 1], state.table.keys.get(key or "")
    known: Mapping[str, Any] = row.params
    if before is not None and not isinstance(before.event, Asked):  # a retry says what it said before
        known = getattr(before.event, "params", None) or row.asked.params
    if not isinstance(params, Mapping):
        raise InvalidInput(f"params must be a dictionary (got {format_value(params)})")
    whole, space = {**known, **params}, state.settings.space
    space.encode_run(whole)  # refuses what cannot have been run
    run = space.as_given(whole)
    return None if run == dict(row.asked.params if before is not None else known) else run
