"""What happened to a trial after it was asked: told, refused, failed, amended; as plain values, and done again.

JSON lines carry it where a trial's outcome alone does not say it all. A step has the event's own fields (value, noise,
reason, kind, at) and known_from, the first number whose choice could know of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from belated import Study
from belated.errors import AlreadyEnded, AlreadyTold, InvalidInput
from belated.patience import Patience
from belated.record.events import NAMES, Adjusted, Amended, Asked, Event, Failed, Refused, Told, plain_of
from belated.results import FAILURES
from belated.validation import number, shown, whole

TrialEvent = Told | Refused | Failed | Amended
FIELDS = {
    "told": ("value", "noise", "at", "known_from"),
    "refused": ("value", "noise", "at", "known_from"),
    "failed": ("kind", "at", "known_from"),
    "amended": ("value", "noise", "reason", "at", "known_from"),
}
EVENTS: dict[str, type[TrialEvent]] = {"told": Told, "refused": Refused, "failed": Failed, "amended": Amended}


@dataclass(frozen=True)
class HistoryStep:
    """One thing that happened, whatever the trial's number."""

    event: TrialEvent
    known_from: int

    def plain(self) -> dict[str, Any]:
        said = {k: v for k, v in plain_of(self.event).items() if v is not None and k != "number"}
        return {**said, "known_from": self.known_from}

    def __str__(self) -> str:
        what = self.event.kind if isinstance(self.event, Failed) else self.event.value
        return f"{NAMES[type(self.event)]} {what}"


def collect_steps(events: Iterable[Event]) -> dict[int, list[HistoryStep]]:
    """The steps of every trial to which anything happened, by number."""
    steps: dict[int, list[HistoryStep]] = {}
    asked = 0
    for event in events:
        asked += isinstance(event, Asked)
        if isinstance(event, TrialEvent) and event.number is not None:
            keyless = replace(event, key=None) if isinstance(event, Told) else event
            steps.setdefault(event.number, []).append(HistoryStep(replace(keyless, number=0), asked + 1))
    return steps


@dataclass(frozen=True)
class PatienceChange:
    """A patience that the study chose for itself, in force after the choice of this trial."""

    trial: int
    patience: Patience
    reason: str

    def plain(self) -> dict[str, Any]:
        return {"trial": self.trial, "m": self.patience.m, "patience": str(self.patience), "reason": self.reason}


def list_patience_changes(events: Iterable[Event]) -> list[PatienceChange]:
    """Every patience that the study chose for itself, in order."""
    made: list[PatienceChange] = []
    asked = 0
    for event in events:
        asked += isinstance(event, Asked)
        if isinstance(event, Adjusted):
            made.append(PatienceChange(asked + 1, Patience(event.m, event.by_clock), event.reason))
    return made


def parse_step(given: object) -> HistoryStep:
    """A step as `plain` wrote it, checked."""
    if not isinstance(given, Mapping) or given.get("event") not in FIELDS:
        rule = f"must be an object whose event is one of {', '.join(FIELDS)}"
        raise InvalidInput(f"a step of its history {rule} (got {shown(given)})")
    name = given["event"]
    for field in given:
        if field != "event" and field not in FIELDS[name]:
            raise InvalidInput(f"{name} has no field {shown(field)} (it has {', '.join(FIELDS[name])})")
    words: dict[str, Any] = {"number": 0, "at": number(given.get("at"), "at")}
    if name == "failed":
        if given.get("kind") not in FAILURES:
            raise InvalidInput(f"kind must be one of {', '.join(FAILURES)} (got {shown(given.get('kind'))})")
        words["kind"] = given["kind"]
    else:
        noise = given.get("noise")
        words |= {"value": number(given.get("value")), "noise": None if noise is None else number(noise, "noise")}
    if name == "amended":
        words["reason"] = given.get("reason")  # the study itself says what a reason is
    return HistoryStep(EVENTS[name](**words), whole(given.get("known_from"), "known_from"))


TrialEnd = tuple[float | None, float | None, str | None]  # outcome, noise, failure


def find_end(steps: Iterable[HistoryStep]) -> TrialEnd:
    """What a trial has come to: the first end counts, an outcome is taken after lost, an amendment puts it right."""
    outcome: float | None = None
    noise: float | None = None
    failure: str | None = None
    for event in (step.event for step in steps):
        if isinstance(event, Failed) and outcome is None and failure is None:
            failure = event.kind
        elif isinstance(event, Amended) or (isinstance(event, Told) and outcome is None and failure in (None, "lost")):
            outcome, noise, failure = event.value, event.noise, None
    return outcome, noise, failure


def find_missing(here: Sequence[HistoryStep], there: Sequence[HistoryStep]) -> Sequence[HistoryStep]:
    """What is to be done here so that all of `there` has happened; refuses what would contradict."""
    mine, theirs = [step.event for step in here], [step.event for step in there]
    if mine[: len(theirs)] == theirs or find_end(here) == find_end(there) != (None, None, None):
        return []
    if theirs[: len(mine)] == mine:
        return there[len(mine) :]
    said, known = (", ".join(map(str, steps)) for steps in (there, here))
    raise InvalidInput(f"it went another way here: {known} (got {said})")


def find_untold(here: Sequence[HistoryStep], said: Sequence[HistoryStep]) -> Sequence[HistoryStep]:
    """What of a row without a history never happened here, whatever happened since and at whatever time."""
    before = [replace(step.event, at=0.0) for step in here]
    return [step for step in said if replace(step.event, at=0.0) not in before]


def repeat_event(study: Study, trial: int, event: TrialEvent) -> bool:
    """Let it happen to a trial, at the time at which it did; whether that is news."""
    with _stop_clock(study, event.at):
        if isinstance(event, Failed):
            before = study.trial(trial).failure
            return study.fail(trial, event.kind).failure != before
        if isinstance(event, Amended) and event.value is not None:
            return study.amend(trial, event.value, noise=event.noise, reason=event.reason) is not None
        if isinstance(event, Told):
            return study.tell(trial, event.value, noise=event.noise, at=event.at).status != "duplicate"
        if isinstance(event, Refused):
            try:
                study.tell(trial, event.value, noise=event.noise, at=event.at)
            except (AlreadyTold, AlreadyEnded):
                return True
        raise InvalidInput(f"{HistoryStep(event, 0)} cannot have happened: there is nothing that it contradicts")


@contextmanager
def _stop_clock(study: Study, when: float) -> Iterator[None]:
    """The study's clock stands still."""
    clock, study.clock = study.clock, lambda: when
    try:
        yield
    finally:
        study.clock = clock
