"""To correct: amendments of a trial or of the study's settings, and to undo what a person did last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import numpy as np

from belated.errors import Followed, InvalidInput, NothingHeard
from belated.patience import Patience
from belated.record.events import Amended, Undone
from belated.record.handle import Handle
from belated.record.locks import hold
from belated.record.signing import Signature
from belated.record.tellings import refuse_counted
from belated.record.undoing import PastEvent, find_number, find_undo
from belated.results import FAILURES, Failure, Trial
from belated.settings import amend_settings
from belated.space.encoding import Space
from belated.space.parameters import Choice
from belated.validation import Params, format_value, require_bool, require_whole
from belated.verbs.reading import read_noise, read_number, read_run, read_time

AMENDABLE = (
    "give what to amend: of a trial its value, noise, at, params, failure or take_back; of the study its floor, "
    "limits, patience or ranges"
)


@dataclass(frozen=True, kw_only=True)
class TrialCorrection:
    """What was recorded wrongly about a trial, as the user says it."""

    value: float | None = None
    noise: float | None = None
    at: float | datetime | None = None
    params: Params | None = None
    failure: Failure | None = None
    take_back: bool = False

    def __post_init__(self) -> None:
        require_bool(self.take_back, "take_back")

    @property
    def empty(self) -> bool:
        """Whether nothing is corrected."""
        said = (self.value, self.noise, self.at, self.params, self.failure)
        return not self.take_back and all(each is None for each in said)


@dataclass(frozen=True, kw_only=True)
class StudyCorrection:
    """Which settings of a study are others, as the user says it."""

    floor: float | None = None
    limits: tuple[float, float] | None = None
    patience: int | str | timedelta | None = None
    ranges: Mapping[str, tuple[float, float]] | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing is corrected."""
        return all(each is None for each in vars(self).values())


def amend_trial(
    handle: Handle, trial: Trial | int, correction: TrialCorrection, reason: str, signature: Signature
) -> Trial:
    """Correct what was recorded about a trial."""
    with handle.hold_newest() as state:
        number = read_number(state, trial)
        if correction != TrialCorrection(take_back=True) or state.rows[number - 1].failed is None:
            refuse_counted(state, number)

        def events() -> list[Amended]:
            handle.state.require_unlocked()
            return [make_amendment(handle, number, correction, reason)]

        handle.write(events, signature)
        return handle.read_trial(number)


def make_amendment(handle: Handle, number: int, correction: TrialCorrection, reason: str) -> Amended:
    """The correction of a trial, if it can be one."""
    settings, row, now = handle.state.settings, handle.state.rows[number - 1], handle.read_clock()
    value, noise, at = correction.value, correction.noise, correction.at
    failure, take_back = correction.failure, correction.take_back
    if take_back or failure is not None:
        if (take_back and failure) or any(each is not None for each in (value, noise, at)):
            raise InvalidInput("take_back, or failure, leaves no outcome; leave value, noise and at out")
        if failure is not None and failure not in FAILURES:
            raise InvalidInput(f"failure must be one of {', '.join(FAILURES)} (got {format_value(failure)})")
        if row.told is None and row.failed is None:
            raise NothingHeard(f"trial {number} has no outcome or failure to amend")
    elif (value is not None or at is not None) and row.told is None:
        raise NothingHeard(f"trial {number} has no outcome to amend; tell it")
    if noise is not None and value is None:
        raise InvalidInput("noise belongs to an outcome; give a value with it")
    run = read_run(handle.state, number, correction.params)
    if correction.params is not None and run is None:
        raise InvalidInput(f"trial {number} is known to have been run so (got {format_value(correction.params)})")
    return Amended(
        number=number,
        reason=reason,
        at=now,
        value=None if value is None else settings.objective.accept(value),
        noise=read_noise(settings, noise),
        told_at=None if at is None else read_time(handle, at),
        params=run,
        failure=failure,
        taken_back=take_back,
    )


def amend_study(handle: Handle, correction: StudyCorrection, reason: str, signature: Signature) -> None:
    """Correct the settings, while nobody asks."""
    with handle.lock_asks() as turn, hold(handle.lock):

        def events() -> list[Amended]:
            state, settings = handle.state, handle.state.settings
            state.require_unlocked()
            floor, limits, ranges = correction.floor, correction.limits, correction.ranges
            new = amend_settings(settings, floor=floor, limits=limits, patience=correction.patience, ranges=ranges)
            if floor is not None or limits is not None:
                new.objective.check_floor()
            if new.space != settings.space:
                state.check_ranges(new.space)
            counts = np.any(state.table.column("shown") > 0)
            if new.patience.by_clock != settings.patience.by_clock and counts:
                raise InvalidInput("this study counts people, by the age of their day; patience keeps its unit")
            patient = correction.patience is not None
            return [
                Amended(
                    number=None,
                    reason=reason,
                    at=handle.read_clock(),
                    floor=None if floor is None else new.objective.floor,
                    limits=None if limits is None else new.objective.limits,
                    patience=write_patience(new.patience) if patient else None,
                    by_clock=patient and new.patience.by_clock,
                    ranges=None if ranges is None else {name: list_ends(new.space, name) for name in ranges},
                )
            ]

        handle.write(events, signature, turn)


def write_patience(patience: Patience) -> float | Literal["auto", "none"]:
    """A patience as an amendment has it."""
    if patience.auto:
        return "auto"
    return "none" if np.isinf(patience.m) else patience.m


def list_ends(space: Space, name: str) -> tuple[float, float]:
    """The ends of a parameter's range."""
    kind = space.find_parameter(name)
    if isinstance(kind, Choice):
        raise InvalidInput(f"{name}: a choice has no range")
    return kind.low, kind.high


def list_undoable(handle: Handle, person: str | None) -> list[PastEvent]:
    """The events that `undo` would take back now, the newest first."""
    with handle.hold_newest() as state:
        return find_undo(state, handle.read_events()[: state.position], person)


def undo(
    handle: Handle, trial: Trial | int | None, only: int | None, reason: str, signature: Signature
) -> list[PastEvent]:
    """Take back the newest thing that a person did: of any trial, or of one."""
    only = None if only is None else require_whole(only, "only")
    with handle.lock_asks() as turn, hold(handle.lock):
        found, number = list[PastEvent](), None if trial is None else read_number(handle.state, trial)

        def events() -> list[Undone]:
            nonlocal found
            state = handle.state
            state.require_unlocked()
            found = find_undo(state, handle.read_events()[: state.position], signature.by, number)
            if only not in (None, found[0].position):
                raise Followed(f"event {found[0].position} is newer than event {only}; nothing was undone")
            if isinstance(found[0].event, Amended) and found[0].event.ranges is not None:
                state.check_ranges(state.settings_before.space)
            at = handle.read_clock()
            return [
                Undone(number=find_number(event), position=position, at=at, reason=reason) for position, event in found
            ]

        handle.write(events, signature, turn)
        if not all(handle.state.was_undone(past.position) for past in found):
            raise Followed
        return found
