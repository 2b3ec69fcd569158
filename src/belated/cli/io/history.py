"""What happened to a trial after it was asked: told, refused, failed, amended. As plain values, and done again.

JSON lines have a history where the outcome of a trial does not say everything. A step has the event's own fields
(value, noise, reason, kind, at) and known_from: the number of the first trial whose choice could know of it. An outcome
that came together with its query has no known_from: it was not waited for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from belated import Study
from belated.errors import AlreadyEnded, AlreadyTold, InvalidInput
from belated.record.events import NAMES, Amended, Asked, Converted, Event, Failed, Refused, Told, event_to_dict
from belated.results import FAILURES, Failure, takes_outcome
from belated.validation import format_value, require_number, require_time, require_whole

TrialEvent = Told | Converted | Refused | Failed | Amended
FIELDS = {
    "told": ("value", "noise", "at", "known_from"),
    "converted": ("value", "at", "known_from"),
    "refused": ("value", "noise", "at", "known_from"),
    "failed": ("kind", "at", "known_from"),
    "amended": ("value", "noise", "reason", "at", "known_from"),
}
EVENTS: dict[str, type[TrialEvent]] = {
    "told": Told,
    "converted": Converted,
    "refused": Refused,
    "failed": Failed,
    "amended": Amended,
}


@dataclass(frozen=True)
class HistoryStep:
    """One thing that happened to a trial; the number of the event is 0 here."""

    event: TrialEvent
    known_from: int | None  # None: it came together with its query

    def to_dict(self) -> dict[str, Any]:
        fields = {k: v for k, v in event_to_dict(self.event).items() if v is not None and k != "number"}
        return fields if self.known_from is None else {**fields, "known_from": self.known_from}

    def __str__(self) -> str:
        what = self.event.kind if isinstance(self.event, Failed) else self.event.value
        return f"{NAMES[type(self.event)]} {what}"


def collect_steps(events: Iterable[Event]) -> dict[int, list[HistoryStep]]:
    """The steps of every trial that has any, by its number."""
    steps: dict[int, list[HistoryStep]] = {}
    asked, undelayed = 0, set[int]()
    for event in events:
        if isinstance(event, Asked):
            asked += 1
            if event.told_at_once:
                undelayed.add(event.number)
        if isinstance(event, TrialEvent) and event.number is not None:
            keyless = replace(event, key=None) if isinstance(event, Told | Converted) else event
            known_from = None if isinstance(event, Told) and event.number in undelayed else asked + 1
            steps.setdefault(event.number, []).append(HistoryStep(replace(keyless, number=0), known_from))
    return steps


def parse_step(given: object) -> HistoryStep:
    """A step from its plain values, checked."""
    if not isinstance(given, Mapping) or given.get("event") not in FIELDS:
        rule = f"must be an object whose event is one of {', '.join(FIELDS)}"
        raise InvalidInput(f"a step of its history {rule} (got {format_value(given)})")
    name = given["event"]
    for field in given:
        if field != "event" and field not in FIELDS[name]:
            raise InvalidInput(f"{name} has no field {format_value(field)} (it has {', '.join(FIELDS[name])})")
    fields: dict[str, Any] = {"number": 0, "at": require_time(given.get("at"), "at")}
    if name == "failed":
        if given.get("kind") not in FAILURES:
            raise InvalidInput(f"kind must be one of {', '.join(FAILURES)} (got {format_value(given.get('kind'))})")
        fields["kind"] = given["kind"]
    else:
        fields["value"] = require_number(given.get("value"))
    if "noise" in FIELDS[name]:
        noise = given.get("noise")
        fields["noise"] = None if noise is None else require_number(noise, "noise")
    if name == "amended":
        fields["reason"] = given.get("reason")  # the study itself checks it
    if name == "told" and "known_from" not in given:
        return HistoryStep(EVENTS[name](**fields), None)
    return HistoryStep(EVENTS[name](**fields), require_whole(given.get("known_from"), "known_from"))


TrialEnd = tuple[float | None, float | None, Failure | None]  # outcome, noise, failure


def find_end(steps: Iterable[HistoryStep]) -> TrialEnd:
    """How a trial ended. The first end counts; only an outcome after lost, or an amendment, replaces it."""
    outcome: float | None = None
    noise: float | None = None
    failure: Failure | None = None
    for event in (step.event for step in steps):
        if isinstance(event, Failed) and outcome is None and failure is None:
            failure = event.kind
        elif isinstance(event, Amended) or (isinstance(event, Told) and takes_outcome(outcome is not None, failure)):
            outcome, noise, failure = event.value, event.noise, None
        elif isinstance(event, Converted):
            outcome = event.value
    return outcome, noise, failure


def find_missing(here: Sequence[HistoryStep], there: Sequence[HistoryStep]) -> Sequence[HistoryStep]:
    """The steps of `there` that have not happened here yet. Refused where the two contradict each other."""
    mine, theirs = [step.event for step in here], [step.event for step in there]
    if mine[: len(theirs)] == theirs or find_end(here) == find_end(there) != (None, None, None):
        return []
    if theirs[: len(mine)] == mine:
        return there[len(mine) :]
    got, known = (", ".join(map(str, steps)) for steps in (there, here))
    raise InvalidInput(f"this trial has another history here: {known} (got {got})")


def find_untold(here: Sequence[HistoryStep], there: Sequence[HistoryStep]) -> Sequence[HistoryStep]:
    """For a row without a history: the steps that never happened here, at whatever time."""
    before = [replace(step.event, at=0.0) for step in here]
    return [step for step in there if replace(step.event, at=0.0) not in before]


def repeat_event(study: Study, trial: int, event: TrialEvent) -> bool:
    """Do it to a trial again, at the time at which it happened. Returns whether that changed anything."""
    with _stop_clock(study, event.at):
        if isinstance(event, Failed):
            before = study.trial(trial).failure
            return study.fail(trial, event.kind).failure != before
        if isinstance(event, Amended) and event.value is not None:
            return study.amend(trial, event.value, noise=event.noise, reason=event.reason) is not None
        if isinstance(event, Told | Converted):
            noise = event.noise if isinstance(event, Told) else None
            return study.tell(trial, event.value, noise=noise, at=event.at).status != "duplicate"
        if isinstance(event, Refused):
            try:
                study.tell(trial, event.value, noise=event.noise, at=event.at)
            except (AlreadyTold, AlreadyEnded):
                return True
        raise InvalidInput(f"{HistoryStep(event, 0)} cannot have happened: there is nothing that it contradicts")


@contextmanager
def _stop_clock(study: Study, when: float) -> Iterator[None]:
    """Inside, the study's clock shows this time."""
    clock, study.clock = study.clock, lambda: when
    try:
        yield
    finally:
        study.clock = clock
