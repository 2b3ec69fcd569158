"""What happened to a trial after it was asked: told, refused, failed, amended, undone. As plain values, and done again.

JSON lines have a history where the outcome of a trial does not say everything. A step has the event's own fields
(value, noise, reason, kind, by, at) and known_from: the number of the first trial whose choice could know of it. An
outcome that came together with its query has no known_from: it was not waited for. A step "undone" takes back the step
before it that still counts; a query that was undone itself was withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from belated import Study
from belated.errors import AlreadyEnded, AlreadyTold, InvalidInput
from belated.record.events import NAMES, Amended, Asked, Converted, Event, Failed, Refused, Told, Undone, event_to_dict
from belated.results import FAILURES, Failure, takes_outcome
from belated.validation import format_value, require_number, require_time, require_whole

TrialEvent = Told | Converted | Refused | Failed | Amended | Undone
SIGNED = ("at", "by", "remark", "known_from")
REASONED = ("at", "by", "reason", "known_from")
FIELDS = {
    "told": ("value", "noise", "params", *SIGNED),
    "converted": ("value", *SIGNED),
    "refused": ("value", "noise", *SIGNED),
    "failed": ("kind", *REASONED),
    "amended": ("value", "noise", "told_at", "params", "failure", "taken_back", "again", *REASONED),
    "undone": REASONED,
}
EVENTS: dict[str, type[TrialEvent]] = {
    "told": Told,
    "converted": Converted,
    "refused": Refused,
    "failed": Failed,
    "amended": Amended,
    "undone": Undone,
}


@dataclass(frozen=True)
class HistoryStep:
    """One thing that happened to a trial; the number of the event is 0 here."""

    event: TrialEvent
    known_from: int | None  # None: it came together with its query

    def to_dict(self) -> dict[str, Any]:
        kept = event_to_dict(self.event).items()
        fields = {k: v for k, v in kept if v is not None and k not in ("number", "position")}
        return fields if self.known_from is None else {**fields, "known_from": self.known_from}

    def __str__(self) -> str:
        event = self.event
        if isinstance(event, Amended) and event.value is None:
            what: object = event.failure or ("taken back" if event.taken_back else event.params or event.told_at)
        else:
            what = event.kind if isinstance(event, Failed) else None if isinstance(event, Undone) else event.value
        return NAMES[type(event)] if what is None else f"{NAMES[type(event)]} {what}"


def collect_steps(events: Iterable[Event]) -> dict[int, list[HistoryStep]]:
    """The steps of every trial that has any, by its number."""
    steps: dict[int, list[HistoryStep]] = {}
    asked, undelayed, asks = 0, set[int](), set[int]()
    for position, event in enumerate(events, start=1):
        if isinstance(event, Asked):
            asked += 1
            asks.add(position)
            if event.told_at_once:
                undelayed.add(event.number)
        if isinstance(event, Undone) and event.position in asks and event.number is not None:
            event = Failed(number=event.number, kind="withdrawn", at=event.at, reason=event.reason, by=event.by)
        if isinstance(event, TrialEvent) and event.number is not None:
            keyless: TrialEvent = replace(event, recorded_at=None)  # another record has another time
            if isinstance(keyless, Told | Converted | Amended):
                keyless = replace(keyless, key=None)
            elif isinstance(keyless, Undone):
                keyless = replace(keyless, position=0)
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
    for word in ("by", "reason", "remark", "params", "taken_back", "again"):  # the study itself checks them
        if word in given:
            fields[word] = given[word]
    kind = given.get("kind" if name == "failed" else "failure")
    if kind not in FAILURES and (name == "failed" or kind is not None):
        raise InvalidInput(f"kind must be one of {', '.join(FAILURES)} (got {format_value(kind)})")
    if kind is not None:
        fields["kind" if name == "failed" else "failure"] = kind
    for number in ("value", "noise", "told_at"):
        if number in FIELDS[name] and (given.get(number) is not None or (number == "value" and name != "amended")):
            fields[number] = require_number(given.get(number), number)
        elif number == "noise" and "noise" in FIELDS[name]:
            fields[number] = None
    if name == "amended":
        fields.setdefault("reason", None)
    if name == "undone":
        fields["position"] = 0
    if name == "told" and "known_from" not in given:
        return HistoryStep(EVENTS[name](**fields), None)
    return HistoryStep(EVENTS[name](**fields), require_whole(given.get("known_from"), "known_from"))


TrialEnd = tuple[float | None, float | None, Failure | None]  # outcome, noise, failure


def find_end(steps: Iterable[HistoryStep]) -> TrialEnd:
    """How a trial ended. The first end counts; only an outcome after lost, or a correction, replaces it."""
    ends: list[TrialEnd] = [(None, None, None)]  # after each step that changed something and still counts
    for event in (step.event for step in steps):
        if isinstance(event, Undone):
            ends.pop()
        elif (new := _change_end(ends[-1], event)) is not None:
            ends.append(new)
    return ends[-1]


def _change_end(end: TrialEnd, event: TrialEvent) -> TrialEnd | None:
    """How a trial has ended after a step; None: as before."""
    outcome, noise, failure = end
    takes = takes_outcome(outcome is not None, failure)
    if isinstance(event, Failed) and outcome is None and failure is None:
        return None, None, event.kind
    if isinstance(event, Told) and takes:
        return event.value, event.noise, None
    if isinstance(event, Converted):
        return event.value, noise, failure
    if not isinstance(event, Amended) or (event.again and not takes):
        return None
    if event.taken_back or event.failure is not None:
        return None, None, event.failure
    return end if event.value is None else (event.value, event.noise, None)


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
    before = [_strip(step.event) for step in here]
    return [step for step in there if _strip(step.event) not in before]


def _strip(event: TrialEvent) -> TrialEvent:
    """What happened, without when, by whom, and what they said."""
    match event:
        case Failed():
            return replace(event, at=0.0, by=None, reason="")
        case Told():
            return replace(event, at=0.0, by=None, remark="", params=None)
        case Converted() | Refused():
            return replace(event, at=0.0, by=None, remark="")
        case _:
            return replace(event, at=0.0, by=None)


def repeat_event(study: Study, trial: int, event: TrialEvent) -> bool:
    """Do it to a trial again, at the time at which it happened. Returns whether that changed anything."""
    with _stop_clock(study, event.at):
        if isinstance(event, Failed):
            before = study.trial(trial).failure
            return study.fail(trial, event.kind, reason=event.reason or None, by=event.by).failure != before
        if isinstance(event, Undone):
            return bool(study.undo(trial, by=event.by, reason=event.reason or None))
        if isinstance(event, Amended):
            return _amend_again(study, trial, event)
        if isinstance(event, Told | Converted):
            noise, params = (event.noise, event.params) if isinstance(event, Told) else (None, None)
            words: dict[str, Any] = {"by": event.by, "remark": event.remark or None}
            receipt = study.tell(trial, event.value, noise=noise, params=params, at=event.at, **words)
            return receipt.status != "duplicate"
        if isinstance(event, Refused):
            try:
                study.tell(trial, event.value, noise=event.noise, at=event.at, by=event.by, remark=event.remark or None)
            except (AlreadyTold, AlreadyEnded):
                return True
        raise InvalidInput(f"{HistoryStep(event, 0)} cannot have happened: there is nothing that it contradicts")


def _amend_again(study: Study, trial: int, event: Amended) -> bool:
    """Correct a trial as it was corrected before."""
    if event.again and event.value is not None:
        words: dict[str, Any] = {"params": event.params, "by": event.by}
        study.tell(trial, event.value, noise=event.noise, at=event.told_at, **words)
    elif event.again and event.failure is not None:
        study.fail(trial, event.failure, reason=event.reason, by=event.by)
    else:
        study.amend(
            trial,
            event.value,
            noise=event.noise,
            at=event.told_at,
            params=event.params,
            failure=event.failure,
            take_back=event.taken_back,
            reason=event.reason,
            by=event.by,
        )
    return True


@contextmanager
def _stop_clock(study: Study, when: float) -> Iterator[None]:
    """Inside, the study's clock shows this time."""
    clock, study.clock = study.clock, lambda: when
    try:
        yield
    finally:
        study.clock = clock
