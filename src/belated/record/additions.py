"""What `Study.add_many` takes, and the events that it comes to: queries that were tried elsewhere, or counts of people
by day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from belated.errors import AlreadyEnded, InvalidInput, KeyTaken
from belated.record.events import Asked, Counted, Told
from belated.record.state import State
from belated.validation import format_value, freeze, require_time, require_whole

DAY = 86400.0  # seconds
QUERY = ("params", "context", "value", "at", "noise", "key")

COUNTS = ("params", "context", "day", "shown", "converted", "as_of")


@dataclass(frozen=True, kw_only=True)
class AddedQuery:
    """A query that was tried before or elsewhere; without a value it is pending."""

    params: Mapping[str, Any]
    context: Mapping[str, Any] | None = None
    value: float | None = None
    at: float | datetime | None = None
    noise: float | None = None
    key: str | None = None

    @property
    def call(self) -> tuple[object, ...]:
        """What its key stands for."""
        return ("add", freeze(self.params), freeze(self.context), self.value, self.noise)


@dataclass(frozen=True, kw_only=True)
class AddedCounts:
    """How many people were shown a query on a day, and how many of them have converted so far."""

    params: Mapping[str, Any]
    context: Mapping[str, Any] | None = None
    day: float  # seconds: when it began
    shown: int
    converted: int
    as_of: float | datetime | None = None  # None: now


def read_addition(row: object) -> AddedQuery | AddedCounts:
    """A row of `add_many`, checked as far as that needs no study."""
    if not isinstance(row, Mapping):
        raise InvalidInput(f"a row must be a dictionary such as {{'params': {{...}}}} (got {format_value(row)})")
    known = COUNTS if "shown" in row or "converted" in row or "day" in row else QUERY
    for name in row:
        if name not in known:
            raise InvalidInput(f"a row has {', '.join(known)}, and no {format_value(name)}")
    if "params" not in row:
        raise InvalidInput("a row needs its params")
    if known is QUERY:
        return AddedQuery(**row)
    missing = [name for name in ("day", "shown", "converted") if row.get(name) is None]
    if missing:
        raise InvalidInput(f"counts need a day, how many were shown, and how many converted ({missing[0]} is missing)")
    shown, converted = require_whole(row["shown"], "shown"), require_whole(row["converted"], "converted")
    if shown < 1:
        raise InvalidInput(f"shown must be at least 1 (got {shown})")
    if not 0 <= converted <= shown:
        raise InvalidInput(f"converted must lie between 0 and shown, {shown} (got {converted})")
    rest = {"context": row.get("context"), "as_of": row.get("as_of")}
    return AddedCounts(params=row["params"], day=read_day(row["day"]), shown=shown, converted=converted, **rest)


def read_day(given: object) -> float:
    """When a day begins, in seconds: a date in local time, or the time at which its 24 hours begin.

    >>> from datetime import datetime
    >>> from belated.record.additions import read_day
    >>> read_day("2026-03-01") == datetime(2026, 3, 1).timestamp()
    True
    >>> read_day(3600.0)
    3600.0
    """
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given)
        except ValueError:
            raise InvalidInput(f"day must be a date such as 2026-03-01 (got {format_value(given)})") from None
    try:
        if isinstance(given, datetime):
            return given.timestamp()
        if isinstance(given, date):
            return datetime.combine(given, time()).timestamp()
    except (ValueError, OverflowError):
        raise InvalidInput(f"day must be a time that the clock can show (got {format_value(given)})") from None
    return require_time(given, "day")


class AdditionPlan:
    """The events that rows come to after a state, and the number of each row's trial."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.events: list[Asked | Told | Counted] = []
        self.numbers: list[int] = []
        self._next = state.next_number
        self._keys: dict[str, tuple[tuple[object, ...], int]] = {}  # used by a row before
        self._days: dict[tuple[object, ...], int] = {}  # new ones

    def add_query(self, row: AddedQuery, before: int | None) -> None:
        """A query, unless its key was used before, for this trial."""
        if before is None and row.key in self._keys:
            call, before = self._keys[row.key]
            if call != row.call:
                raise KeyTaken(f"key {format_value(row.key)} is there twice, for different rows")
        if before is None:
            if row.value is not None:
                self.state.settings.objective.accept(row.value)
            before = self._ask(row, at=require_time(row.at, "at"), told_at_once=row.value is not None, key=row.key)
            if row.value is not None:
                self.events.append(Told(number=before, value=row.value, noise=row.noise, at=require_time(row.at, "at")))
            if row.key is not None:
                self._keys[row.key] = (row.call, before)
        self.numbers.append(before)

    def add_counts(self, row: AddedCounts) -> None:
        """The counts of a day, unless they were stated before."""
        x, at = self.state.encode_added(row.params, row.context), require_time(row.as_of, "as_of")
        day = (*x, row.day)
        number = self._days.get(day) or self.state.table.find_day(x, row.day)
        if number is None:
            number = self._days[day] = self._ask(row, at=row.day, shown_over=DAY)
        counted = Counted(number=number, shown=row.shown, converted=row.converted, at=at)
        if not (number < self.state.next_number and self.state.table.has_stated(counted)):
            if number < self.state.next_number and self.state.rows[number - 1].failed is not None:
                raise AlreadyEnded(
                    f"trial {number}, which counted this query and day, has failed; it takes no counts. Leave the row "
                    "out, or undo the failure"
                )
            self.events.append(counted)
        self.numbers.append(number)

    def _ask(self, row: AddedQuery | AddedCounts, *, at: float, **said: Any) -> int:
        self.state.require_open()
        number, self._next = self._next, self._next + 1
        self.events.append(
            Asked(
                number=number,
                params=row.params,
                context=row.context,
                knew=self.state.position,
                considered_at=at,
                asked_at=at,
                by_hand=True,
                knew_trials=number - 1,
                **said,
            )
        )
        return number
