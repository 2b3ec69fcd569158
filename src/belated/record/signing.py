"""Who did something, what they said with it, and when it was written: put on every event that a call writes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TypeVar

from belated.errors import InvalidInput
from belated.record.events import NAMES, Asked, Event
from belated.settings import LONGEST_PERSON
from belated.validation import format_value, is_writable, require_words

PERSON = "BELATED_BY"  # the variable of the environment that says who, where a call does not
LONGEST_REMARK = 4000  # characters
AT_ONCE = 60.0  # seconds between what happens and its event, which then has one time
DATED = {kind for kind in NAMES if "recorded_at" in {field.name for field in fields(kind)}}
REMARKED = {kind for kind in NAMES if "remark" in {field.name for field in fields(kind)}}

AnEvent = TypeVar("AnEvent", bound=Event)


@dataclass(frozen=True)
class Signature:
    """Who, and a remark."""

    by: str | None = None
    remark: str = ""

    @classmethod
    def of(cls, by: str | None, remark: str | None = None) -> Signature:
        """What a user gave; where no person was named, BELATED_BY does it."""
        return cls(read_person(by), require_words(remark, "remark", LONGEST_REMARK, lines=True) or "")

    def sign(self, event: AnEvent) -> AnEvent:
        """The event with its signature; what has a reason has no remark."""
        if self == NOBODY:
            return event
        remark = {"remark": self.remark} if type(event) in REMARKED else {}
        return replace(event, by=self.by, **remark)  # type: ignore[arg-type]


NOBODY = Signature()


def read_person(by: str | None) -> str | None:
    """Who does something: as given, or as BELATED_BY says; None: nobody says."""
    return require_words(by if by is not None else os.environ.get(PERSON) or None, "by", LONGEST_PERSON)


def require_reason(reason: object) -> str:
    """A reason that says something."""
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidInput(f"reason must say why (got {format_value(reason)})")
    if not is_writable(reason):
        raise InvalidInput(f"reason must be text that UTF-8 can hold (got {format_value(reason)})")
    return reason


def find_time(event: Event) -> float:
    """When an event happened: when it was asked, when the outcome came."""
    return event.asked_at if isinstance(event, Asked) else event.at


def date(event: AnEvent, read_clock: Callable[[], float]) -> AnEvent:
    """The event with when it was written, where that is not when it happened; a choice was made when it was asked."""
    if type(event) not in DATED or (isinstance(event, Asked) and not event.by_hand):
        return event
    now = read_clock()
    return event if abs(now - find_time(event)) <= AT_ONCE else replace(event, recorded_at=now)  # type: ignore[arg-type]
