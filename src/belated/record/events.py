"""What can happen to a study. Events are appended and never changed; everything else is computed from them.

by           who did it, where that was said
remark       what they said with it; an event that needs a reason has that instead
recorded_at  when it was written, where that is not when it happened
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal

from belated.results import Failure


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A query was chosen (or given by hand)."""

    number: int
    params: Mapping[str, Any]
    context: Mapping[str, Any] | None
    knew: int  # position of the last event that the choice knew
    considered_at: float  # τ̄_t, the only clock reading that the choice used
    asked_at: float  # τ_t
    by_hand: bool = False
    told_at_once: bool = False  # by hand, with its outcome
    fixed: Mapping[str, Any] | None = None  # coordinates fixed by the user
    note: str = ""
    fitted: Mapping[str, Any] | None = None  # hyperparameters, when they were found for this choice
    key: str | None = None
    part: int = 0  # of a batch
    parts: int = 1
    knew_trials: int | None = None  # how many earlier trials the choice knew: all of them
    shown_over: float | None = None  # seconds: it was shown to many people in this time, whose outcomes are counted
    versions: Mapping[str, str] | None = None  # of the libraries that computed it; None: those of the choice before it
    recorded_at: float | None = None
    by: str | None = None
    remark: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """An outcome was heard."""

    number: int
    value: float
    noise: float | None
    at: float  # when it came
    key: str | None = None
    params: Mapping[str, Any] | None = None  # what was run, where that is not what was asked
    recorded_at: float | None = None
    by: str | None = None
    remark: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Converted:
    """A conversion was told of a trial that was told 0 before; the conversion stands."""

    number: int
    value: float
    at: float  # when it came
    key: str | None = None
    recorded_at: float | None = None
    by: str | None = None
    remark: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeated:
    """A known outcome was told again with a new key (or 0 after a conversion); kept so that this key gives the same
    receipt for good."""

    number: int
    value: float
    noise: float | None
    at: float
    key: str
    params: Mapping[str, Any] | None = None
    recorded_at: float | None = None
    by: str | None = None
    remark: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Counted:
    """How many people were shown a query, and how many of them had converted, by some time."""

    number: int
    shown: int
    converted: int
    at: float  # what is counted happened before it
    recorded_at: float | None = None
    by: str | None = None
    remark: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """An outcome that contradicts an earlier one was told; kept for the record, never used."""

    number: int
    value: float
    noise: float | None
    at: float
    recorded_at: float | None = None
    by: str | None = None
    remark: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    """A trial ended without an outcome."""

    number: int
    kind: Failure
    at: float
    reason: str = ""
    recorded_at: float | None = None
    by: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Amended:
    """Something that was wrong was corrected, with a reason: what is known of a trial, or the study's settings.

    A ledger holds one outcome and one failure of a trial. Where one was taken back, the next is an amendment."""

    number: int | None  # None: the study itself
    reason: str
    at: float
    value: float | None = None
    noise: float | None = None
    told_at: float | None = None  # when the outcome came
    params: Mapping[str, Any] | None = None  # what was run
    failure: Failure | None = None
    taken_back: bool = False  # its outcome or failure never was: it is pending again
    again: bool = False  # it was told, or failed, after that was taken back: of two such, the first counts
    key: str | None = None  # of a tell, or of a correction that a server was asked for
    floor: float | None = None
    limits: tuple[float, float] | None = None
    patience: float | Literal["auto", "none"] | None = None  # rounds, or seconds by the clock
    by_clock: bool = False  # of patience
    ranges: Mapping[str, tuple[float, float]] | None = None  # low and high, by parameter
    recorded_at: float | None = None
    by: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Undone:
    """The newest change of a trial, or of the study itself, was taken back; a query that was asked is withdrawn."""

    number: int | None  # None: the study itself
    position: int  # of the event that it takes back
    at: float
    reason: str = ""
    key: str | None = None  # of the call, where a server was asked for it
    recorded_at: float | None = None
    by: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Adjusted:
    """Patience was changed by the study, at the ask that follows; from here on it is m."""

    m: float  # rounds, or seconds by the clock
    by_clock: bool
    reason: str
    at: float
    by: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Refitted:
    """Hyperparameters were found ahead of time; the choices that follow use them."""

    fitted: Mapping[str, Any]
    at: float
    by: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """The study was closed."""

    at: float
    locked: bool = False  # from here on nothing may be told, amended or undone either
    by: str | None = None
    remark: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reopened:
    """A closed study was opened again."""

    at: float
    reason: str
    by: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Renamed:
    """The study got another name."""

    before: str
    name: str
    at: float
    reason: str = ""
    by: str | None = None


Event = (
    Asked
    | Told
    | Converted
    | Counted
    | Repeated
    | Refused
    | Failed
    | Amended
    | Undone
    | Adjusted
    | Refitted
    | Ended
    | Reopened
    | Renamed
)

KINDS: dict[str, type[Event]] = {
    "asked": Asked,
    "told": Told,
    "converted": Converted,
    "counted": Counted,
    "repeated": Repeated,
    "refused": Refused,
    "failed": Failed,
    "amended": Amended,
    "undone": Undone,
    "patience": Adjusted,
    "refitted": Refitted,
    "closed": Ended,
    "reopened": Reopened,
    "renamed": Renamed,
}
NAMES = {kind: name for name, kind in KINDS.items()}
DEFAULTS = {kind: [(f.name, f.default) for f in fields(kind)] for kind in NAMES}
JSON = json.JSONEncoder(allow_nan=False)
_whole = set[tuple[str, ...]]()  # kinds, each with the names of all of its fields, that were found to be an event


def event_to_dict(event: Event) -> dict[str, Any]:
    """An event as plain values: its kind ("event") and its fields; what has its default is left out."""
    plain: dict[str, Any] = {"event": NAMES[type(event)]}
    for name, default in DEFAULTS[type(event)]:
        value = getattr(event, name)
        if default is MISSING or value != default:
            plain[name] = value
    return plain


def event_from_dict(plain: Mapping[str, Any]) -> Event:
    """The event that `event_to_dict` wrote."""
    fields = dict(plain)
    kind = KINDS[fields.pop("event")]
    if kind is Amended and fields.get("limits") is not None:
        fields["limits"] = tuple(fields["limits"])
    if kind is Amended and fields.get("ranges") is not None:
        fields["ranges"] = {name: tuple(ends) for name, ends in fields["ranges"].items()}
    return kind(**fields)


def event_to_columns(event: Event) -> tuple[str, int | None, str | None, int, str]:
    """An event as a ledger keeps it: kind, number, key, part, and the whole of it as JSON."""
    plain = event_to_dict(event)
    return *list_index_columns(plain), JSON.encode(plain)


def list_index_columns(plain: Mapping[str, Any]) -> tuple[str, int | None, str | None, int]:
    """Kind, number, key and part of an event that `event_to_dict` wrote."""
    return plain["event"], plain.get("number"), plain.get("key"), plain.get("part", 0)


def parse_event(body: str) -> Event:
    """The event whose JSON this is."""
    return event_from_dict(parse_plain(body))


def parse_plain(body: str) -> dict[str, Any]:
    """The event whose JSON this is, as plain values. It is not made an event, which takes longer."""
    return require_event(json.loads(body))


def parse_together(bodies: Sequence[str]) -> list[Any]:
    """What some JSON texts hold, read as one, which takes half as long; for each None if they cannot be read so."""
    try:
        found: list[Any] = json.loads(f"[{','.join(bodies)}]")
    except (ValueError, TypeError, RecursionError):
        found = []
    return found if len(found) == len(bodies) else [None] * len(bodies)


def require_event(plain: Any) -> dict[str, Any]:
    """Plain values, if they are those of an event."""
    names = (plain["event"], *plain)
    if names not in _whole:
        event_from_dict(plain)  # refuses what is no event
        _whole.add(names)
    return plain  # type: ignore[no-any-return]
