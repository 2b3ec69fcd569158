"""The history of a study in sentences: who did what, when and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from belated.patience import Patience, describe_chosen
from belated.record.events import (
    NAMES,
    Adjusted,
    Amended,
    Asked,
    Converted,
    Counted,
    Ended,
    Event,
    Failed,
    Refitted,
    Refused,
    Renamed,
    Reopened,
    Repeated,
    Told,
    Undone,
)
from belated.record.signing import find_time
from belated.results import describe_params
from belated.settings import Settings
from belated.wording import format_count, join_words


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """One thing that happened to a study; print it.

    >>> from belated import Real, Study
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0, clock=lambda: 0.0)
    >>> _ = study.tell(study.ask(by="Anna"), 0.5, by="Bob", remark="a bit cloudy")
    >>> entry = study.log()[-1]
    >>> entry.position, entry.by, entry.sentence, entry.reason
    (2, 'Bob', 'told 0.5 of trial 1', 'a bit cloudy')
    """

    position: int  # 0: when the study was made
    event: str  # its kind
    at: float  # seconds: when it was written
    by: str | None
    number: int | None  # of the trial; None: the study itself
    sentence: str
    reason: str = ""  # or a remark

    def __str__(self) -> str:
        return self.format(0)

    def format(self, digits: int) -> str:
        """The entry with room for so many digits of its position, so that the lines of a list are aligned."""
        who = "" if self.by is None else f"{self.by}: "
        why = f" ({self.reason})" if self.reason else ""
        return f"{self.position:>{digits}}  {format_moment(self.at)}  {who}{self.sentence}{why}"


def format_moment(at: float) -> str:
    """A time for people, in their own zone; as seconds where no calendar has it."""
    try:
        return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return f"{at:g}s"


def describe_creation(settings: Settings) -> list[LogEntry]:
    """How a study began, where that is known: stores of version 0.1 do not say when."""
    if settings.created_at is None:
        return []
    made = f"made the study, over {join_words(settings.space.names)}"
    by, at = settings.created_by, settings.created_at
    return [LogEntry(position=0, event="created", at=at, by=by, number=None, sentence=made)]


def describe_event(position: int, event: Event) -> LogEntry:
    """An event as a sentence; if it was written later than it happened, the sentence says when that was."""
    happened, written = find_time(event), getattr(event, "recorded_at", None)
    return LogEntry(
        position=position,
        event=NAMES[type(event)],
        at=happened if written is None else written,
        by=event.by,
        number=getattr(event, "number", None),
        sentence=_describe(event) + ("" if written is None else f", dated {format_moment(happened)}"),
        reason=getattr(event, "reason", "") or getattr(event, "remark", ""),
    )


def _describe(event: Event) -> str:
    match event:
        case Asked():
            what = "added" if event.by_hand else "asked"
            context = "" if event.context is None else f" in the context {describe_params(event.context)}"
            return f"{what} trial {event.number}: {describe_params(event.params)}{context}"
        case Told():
            return f"told {_format_outcome(event)} of trial {event.number}{_describe_run(event.params)}"
        case Converted():
            return f"told the conversion {event.value!r} of trial {event.number}, which was told 0 before"
        case Repeated():
            return f"told {event.value!r} of trial {event.number} once more; nothing changed"
        case Refused():
            return f"told {_format_outcome(event)} of trial {event.number}, which was refused"
        case Counted():
            shown = format_count(event.shown, "person", "people")
            return f"counted {event.converted} of {shown} as converted, of trial {event.number}"
        case Failed():
            return f"ended trial {event.number} as {event.kind}"
        case Amended():
            return _describe_amendment(event)
        case Undone():
            of = "" if event.number is None else f", of trial {event.number}"
            return f"took back event {event.position}{of}"
        case Adjusted():
            return f"the study changed its patience to {describe_chosen(event.m, event.by_clock)}"
        case Refitted():
            return "fitted the hyperparameters ahead of time"
        case Ended():
            return "locked the study" if event.locked else "closed the study"
        case Reopened():
            return "opened the study again"
        case Renamed():
            return f"renamed the study from {event.before} to {event.name}"


def _describe_amendment(event: Amended) -> str:
    if event.number is None:
        return f"amended {join_words(_list_settings(event))}"
    run = _describe_run(event.params)
    if event.again:
        what = f"told {_format_outcome(event)} of" if event.failure is None else f"ended as {event.failure}"
        return f"{what} trial {event.number} again{run}"
    if event.taken_back:
        return f"took back how trial {event.number} ended: it is pending again{run}"
    if event.failure is not None:
        return f"amended trial {event.number}: it ended as {event.failure}{run}"
    outcome = [] if event.value is None else [f"its outcome is {_format_outcome(event)}"]
    came = [] if event.told_at is None else [f"it came at {format_moment(event.told_at)}"]
    ran = [] if event.params is None else [f"it was run at {describe_params(event.params)}"]
    return f"amended trial {event.number}: {join_words(outcome + came + ran)}"


def _list_settings(event: Amended) -> list[str]:
    found = [] if event.floor is None else [f"the floor to {event.floor!r}"]
    if event.limits is not None:
        found.append(f"the limits to {event.limits[0]!r} to {event.limits[1]!r}")
    if event.patience is not None:
        m = event.patience
        found.append(f"patience to {m if isinstance(m, str) else Patience(m, event.by_clock)}")
    return found + [f"{name} to the range {low!r} to {high!r}" for name, (low, high) in (event.ranges or {}).items()]


def _describe_run(params: Mapping[str, Any] | None) -> str:
    return "" if params is None else f", run at {describe_params(params)}"


def _format_outcome(event: Told | Refused | Amended) -> str:
    return f"{event.value!r}" if event.noise is None else f"{event.value!r} (noise {event.noise!r})"
