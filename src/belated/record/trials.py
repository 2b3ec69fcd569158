"""The trials, computed from the events: accepted or refused, in time or late, the delay, known to which choice.

Events are appended and never changed. An outcome's delay, a trial's status and everything that a choice may know are
computed from the events and the time now. Order comes from positions, never from the clock.

s        number of a trial, counted from 1
age      rounds: t - s, where t is the next number;   by the clock: now - asked_at, never below 0
delay    rounds: t - s, where t is the next number when it was told;   by the clock: told_at - asked_at, never below 0.
         A trial that was added with its outcome has no delay; nor has a 0 where outcomes are conversions
m        patience: whether an outcome is late is decided by the m at the time of the tell, and stays so; whether silence
         has expired, by the m of now. They differ only where the study chooses m itself

A tell that arrives while choice t is being computed counts as told before ask t, by the order of the record. So its
delay is final when the receipt is given. But choice t did not know it: the first choice that did is `known_from`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast, overload

import numpy as np

from belated.learner.arrays import Array, Mask
from belated.learner.counts import Counts
from belated.learner.history import History, in_time
from belated.record.events import Asked, Converted, Counted, Event, Failed, Repeated, Told, event_from_dict, parse_event
from belated.record.statements import Statement, insert_statement, list_arrivals
from belated.results import FAILURES, Status, Trial, takes_outcome
from belated.validation import FARTHEST_TIME

# What an outcome told now is. In a study of conversions: a conversion after a 0, and a 0 after a conversion.
Judgement = Literal["new", "duplicate", "conflict", "conversion", "nothing new"]


@dataclass(slots=True)
class TrialRecord:
    """Everything recorded about one trial."""

    asked: Asked
    told: Told | None = None
    failed: Failed | None = None
    rounds: int = 0  # once told: its delay in rounds
    known_from: int = 0  # once told: the first number whose choice knew it, min {t : position of the tell <= knew_t}
    amended: int = 0  # how often its outcome was amended
    first_told: Told | None = None  # as it was told, before any amendment
    has_delay: bool = True  # or will have one. Counts have none, nor has a 0 in place of a conversion, nor an outcome
    # that was added together with its query
    converted: Converted | None = None  # after it was told 0
    statements: Sequence[Statement] = ()  # where it stands for many people: their counts, by age
    counted_at: float | None = None  # the time of the last of them

    @property
    def takes_outcome(self) -> bool:
        """Whether an outcome told now counts."""
        failure = None if self.failed is None else self.failed.kind
        return self.asked.shown_over is None and takes_outcome(self.told is not None, failure)

    def judge_outcome(self, value: float, noise: float | None, *, conversions: bool = False) -> Judgement:
        """What an outcome told now is. An amended outcome is a decision, which no tell changes."""
        if self.takes_outcome:
            return "new"
        if self.told is not None and (self.told.value, self.told.noise) == (value, noise):
            return "duplicate"
        if self.told is not None and conversions and not self.amended:
            if self.told.value == 0.0:
                return "conversion"
            if value == 0.0:
                return "nothing new"
        return "conflict"


class KeyedCall(NamedTuple):
    """The event that a call with a key recorded, and its position."""

    event: Asked | Told | Converted | Repeated
    position: int


NO_ORDER = np.iinfo(np.intp).max
LONGEST_WAIT = 2 * FARTHEST_TIME  # seconds; stores of version 0.1 may hold times with longer waits between them

COLUMNS: dict[str, tuple[type, float]] = {  # of each trial: what kind of number, and what it is before it is known
    "point": (np.intp, 0),  # a number for each row of X, the same for equal rows
    "knew": (np.intp, 0),
    "asked_at": (float, math.nan),
    "by_hand": (bool, 0),
    "undelayed": (bool, 0),  # without a delay: see TrialRecord.has_delay
    "y": (float, math.nan),
    "noise": (float, math.nan),  # nan: not known
    "told_at": (float, math.nan),
    "delay": (float, math.inf),  # inf: not told
    "m": (float, math.inf),  # patience when it was told
    "rounds": (np.intp, 0),  # once told: its delay in rounds
    "known_from": (np.intp, 0),  # once told: the first number whose choice knew it
    "order": (np.intp, NO_ORDER),  # the position of its outcome or failure
    "amended": (np.intp, 0),
    "failure": (np.intp, -1),  # its place in FAILURES
    "failed_at": (float, math.nan),
    "infeasible": (bool, 0),
    "gone": (bool, 0),
    "told_none": (bool, 0),  # told 0 where outcomes are conversions: when that was known says nothing about delays
    "shown_over": (float, math.nan),  # where it counts people: the length of its day, in seconds
    "shown": (float, 0),  # how many people by its last statement
    "converted": (float, 0),
    "converted_late": (float, 0),  # of these, after patience
    "stated": (float, 0),  # the age of the last statement
    "width": (float, 0),  # the part of the day that was over by then
    "counted_at": (float, math.nan),
}


class RecentHistory(NamedTuple):
    """A history, and what it was asked for."""

    now: float
    m: float
    late: str
    history: History


def measure_wait(since: float, until: float) -> float:
    """Seconds from one clock reading to another."""
    return min(max(until - since, 0.0), LONGEST_WAIT)


def measure_waits(since: Array, until: float | Array) -> Array:
    """Seconds from some clock readings to others."""
    with np.errstate(over="ignore"):  # readings of version 0.1 may be so far apart that it is infinite
        return np.clip(until - since, 0.0, LONGEST_WAIT)


class TrialTable:
    """Trials by number, as columns that grow, so that neither a choice nor an event visits or makes objects of trials.

    columns      of the context and the query
    by_clock     whether delays and ages are in seconds; else in rounds
    conversions  whether outcomes are conversions: a 0 is none, and a conversion told later stands"""

    def __init__(self, columns: int, by_clock: bool, conversions: bool = False) -> None:
        self.columns, self.by_clock, self.conversions = columns, by_clock, conversions
        self.position = 0  # of the last event
        self.keys: dict[str, KeyedCall] = {}  # by each client key: the call that used it first
        self._asked: list[str | Asked] = []  # each ask, as JSON until somebody wants to see it
        self._tell_keys: dict[int, str] = {}  # by row: the key of its outcome, if that has one
        self._first: dict[int, tuple[float, float]] = {}  # by row: outcome and noise before they were amended
        self._news: list[int] = []  # rows that were told, and perhaps are not yet known to a choice
        self._points: dict[bytes, int] = {}
        self._conversions: dict[int, tuple[Told, Converted]] = {}  # by row: a 0, and the conversion told after it
        self._days: dict[tuple[int, float], int] = {}  # trials that count people, by point and day
        self._statements: dict[int, list[Statement]] = {}  # by row: their counts, by age
        self._arrivals: Counter[tuple[float, ...]] = Counter()  # of people counted: how many, by Counts.arrivals
        self._recent: RecentHistory | None = None  # known at the last choice, while only queries are asked since
        self._reserve(32)

    def _reserve(self, size: int) -> None:
        n = self.count

        def grow(old: Any, shape: tuple[int, ...], kind: type, fill: float) -> Any:
            new: Any = np.empty(shape, dtype=kind)
            if n:
                new[:n] = old[:n]
            new[n:] = fill
            return new

        old, self._size = self.__dict__.get("_columns", {}), size
        self._columns: dict[str, Any] = {
            name: grow(old.get(name), (size,), kind, fill) for name, (kind, fill) in COLUMNS.items()
        }
        self._X: Array = grow(self.__dict__.get("_X"), (size, self.columns), float, math.nan)

    def fork(self, room: int = 0) -> TrialTable:
        """An independent copy, with room for some more."""
        other = copy(self)
        other.keys, other._news = dict(self.keys), []
        other._asked, other._points = list(self._asked), dict(self._points)
        other._tell_keys, other._first = dict(self._tell_keys), dict(self._first)
        other._conversions, other._days = dict(self._conversions), dict(self._days)
        other._statements, other._arrivals = dict(self._statements), self._arrivals.copy()
        other._reserve(self.count + room)
        return other

    @property
    def count(self) -> int:
        """How many trials there are."""
        return len(self._asked)

    @property
    def next_number(self) -> int:
        return len(self._asked) + 1

    def column(self, name: str) -> Any:
        """One of COLUMNS, of all trials. Later events may change it."""
        return self._columns[name][: len(self._asked)]

    @property
    def told(self) -> Mask:
        """Which trials have an outcome."""
        return np.asarray(np.isfinite(self.column("delay")))

    @property
    def rows(self) -> TrialRecords:
        """Everything about each trial, as records that are made when they are looked at."""
        return TrialRecords(self)

    def record(self, i: int) -> TrialRecord:
        """Everything about the trial in a row."""
        columns, record = self._columns, TrialRecord(self.asked(i))
        record.has_delay = not columns["undelayed"][i]
        if math.isfinite(columns["delay"][i]):
            record.told = record.first_told = self._make_told(i, columns["y"][i].item(), columns["noise"][i].item())
            record.rounds, record.known_from = columns["rounds"][i].item(), columns["known_from"][i].item()
        if i in self._first:
            record.first_told, record.amended = self._make_told(i, *self._first[i]), columns["amended"][i].item()
        if columns["failure"][i] >= 0:
            kind, at = FAILURES[columns["failure"][i]], columns["failed_at"][i].item()
            record.failed = Failed(number=i + 1, kind=kind, at=at)
        if i in self._conversions:
            record.first_told, record.converted = self._conversions[i]
        if i in self._statements:
            record.statements, record.counted_at = self._statements[i], columns["counted_at"][i].item()
        return record

    def _make_told(self, i: int, value: float, noise: float) -> Told:
        """The outcome in a row, with a value and its noise; nan: not known."""
        at, key = self._columns["told_at"][i].item(), self._tell_keys.get(i)
        return Told(number=i + 1, value=value, noise=None if math.isnan(noise) else noise, at=at, key=key)

    def asked(self, i: int) -> Asked:
        """The ask in a row."""
        found = self._asked[i]
        if isinstance(found, str):
            self._asked[i] = found = cast("Asked", parse_event(found))
        return found

    def delay(self, row: TrialRecord) -> float:
        """d_s, in rounds or by the clock; 0 where there is no delay, inf while untold."""
        return float(self._columns["delay"][row.asked.number - 1])

    def m_when_told(self, row: TrialRecord) -> float:
        """The patience that decides whether its outcome is late."""
        return float(self._columns["m"][row.asked.number - 1])

    def count_known(self, number: int) -> int:
        """How many outcomes, of queries that have a delay, the choice of this number knew."""
        return int(np.sum(self.told & ~self.column("undelayed") & (self.column("known_from") <= number)))

    def apply(self, plain: Mapping[str, Any], source: str | Event, m: float, x: Sequence[float] | None = None) -> None:
        """Apply the next event; m is the patience of now, x the row of an asked query.

        source  what to make the event itself of: its JSON, or the event"""
        self.position += 1
        kind = plain["event"]
        self._recent = self._recent if kind == "asked" else None
        if kind == "asked":
            self._ask(plain, source, x)
        elif kind == "told":
            self._tell(plain, self._find_row(plain), m)
        elif kind == "converted":
            self._convert(plain, self._find_row(plain), m)
        elif kind == "counted":
            self._count(plain, self._find_row(plain), m)
        elif kind == "failed":
            self._fail(plain, self._find_row(plain))
        elif kind == "amended" and plain["number"] is not None:
            self._amend(plain, self._find_row(plain))
        if plain.get("key") is not None:
            event = event_from_dict(plain) if isinstance(source, str) else source
            self.keys.setdefault(
                plain["key"], KeyedCall(cast("Asked | Told | Converted | Repeated", event), self.position)
            )

    def _find_row(self, plain: Mapping[str, Any]) -> int:
        """The row of the trial that an event is about."""
        i: int = plain["number"] - 1
        if not 0 <= i < len(self._asked):
            raise IndexError(f"there is no trial {i + 1}")
        return i

    def _ask(self, plain: Mapping[str, Any], source: Any, x: Sequence[float] | None) -> None:
        """Add a row. The choice did not know what was told after it had read the ledger."""
        i = len(self._asked)
        if i == self._size:
            self._reserve(max(32, 2 * i))
        columns, by_hand = self._columns, plain.get("by_hand", False)
        self._X[i], columns["asked_at"][i], columns["knew"][i] = x, plain["asked_at"], plain["knew"]
        columns["point"][i] = self._points.setdefault(self._X[i].tobytes(), len(self._points))
        columns["by_hand"][i], columns["undelayed"][i] = by_hand, plain.get("told_at_once", False)
        if "shown_over" in plain:
            columns["shown_over"][i], columns["undelayed"][i] = plain["shown_over"], True
            self._days[columns["point"][i].item(), plain["asked_at"]] = i + 1
        if self._recent is not None and (by_hand or plain["asked_at"] < self._recent.now):
            self._recent = None
        self._asked.append(source)
        if self._news and not by_hand:
            order, knew = columns["order"], plain["knew"]
            self._news = [row for row in self._news if order[row] > knew]
            for row in self._news:
                columns["known_from"][row] = self.next_number

    def _tell(self, plain: Mapping[str, Any], i: int, m: float) -> None:
        """An outcome. If two come at once, or a failure came first that is final, the first counts."""
        if self.takes_outcome(i):
            self._hear(plain, i, m)
            if "key" in plain:
                self._tell_keys[i] = plain["key"]

    def _convert(self, plain: Mapping[str, Any], i: int, m: float) -> None:
        """A conversion after a 0. If two come at once, the first counts."""
        columns = self._columns
        if not columns["told_none"][i] or columns["amended"][i]:
            return
        nothing = self._make_told(i, columns["y"][i].item(), columns["noise"][i].item())
        self._conversions[i] = nothing, cast("Converted", event_from_dict(plain))
        columns["undelayed"][i] = False
        self._hear({**plain, "noise": None}, i, m)

    def _hear(self, plain: Mapping[str, Any], i: int, m: float) -> None:
        """From here on this is the outcome of a trial."""
        columns = self._columns
        at, noise, rounds = plain["at"], plain["noise"], len(self._asked) - i
        columns["told_none"][i] = self.conversions and plain["value"] == 0.0
        columns["undelayed"][i] |= columns["told_none"][i]
        columns["y"][i], columns["noise"][i] = plain["value"], math.nan if noise is None else noise
        columns["told_at"][i], columns["m"][i], columns["order"][i] = at, m, self.position
        columns["rounds"][i], columns["known_from"][i] = rounds, self.next_number
        columns["gone"][i] = False  # an outcome after "lost" is accepted
        if columns["undelayed"][i]:
            columns["delay"][i] = 0.0
        else:
            columns["delay"][i] = measure_wait(columns["asked_at"][i].item(), at) if self.by_clock else rounds
        self._news.append(i)

    def _count(self, plain: Mapping[str, Any], i: int, m: float) -> None:
        """Another statement of the counts of a day."""
        columns, at = self._columns, plain["at"]
        if math.isnan(columns["shown_over"][i]):
            raise ValueError(f"trial {i + 1} does not count people")
        age = self.measure_age(i, at)
        before = self._statements.get(i, [])
        after = self._statements[i] = insert_statement(before, Statement(age, plain["shown"], plain["converted"]))
        for when, n in self._list_arrivals(i, before).items():
            self._arrivals[when] -= n
            if not self._arrivals[when]:
                del self._arrivals[when]
        arrivals, last, width = self._list_arrivals(i, after), after[-1], self._measure_width(i, after)
        self._arrivals.update(arrivals)
        columns["shown"][i], columns["converted"][i], columns["stated"][i] = last.shown, last.converted, last.age
        columns["width"][i] = width
        columns["converted_late"][i] = sum(n for (since, *_), n in arrivals.items() if since - width > m)
        if last.age == age:
            columns["counted_at"][i] = at

    def measure_age(self, i: int, at: float) -> float:
        """The age of the trial in a row when something of it is recorded now that happened at a time."""
        return measure_wait(self._columns["asked_at"][i].item(), at) if self.by_clock else float(len(self._asked) - i)

    def _measure_width(self, i: int, statements: Sequence[Statement]) -> float:
        """The part of a day that was over by its last statement."""
        return min(self._columns["shown_over"][i].item(), statements[-1].age) if self.by_clock else 0.0

    def _list_arrivals(self, i: int, statements: Sequence[Statement]) -> Counter[tuple[float, ...]]:
        """How many conversions of a day came between two ages of it, by these and by its age and width."""
        found: Counter[tuple[float, ...]] = Counter()
        for since, until, count in list_arrivals(statements):
            found[since, until, statements[-1].age, self._measure_width(i, statements)] += count
        return found

    def has_stated(self, event: Counted) -> bool:
        """Whether these counts are on record already. In rounds, the same counts again say nothing new."""
        i, new = event.number - 1, (event.shown, event.converted)
        statements = self._statements.get(i, [])
        if not self.by_clock:
            return bool(statements) and statements[-1][1:] == new
        return Statement(self.measure_age(i, event.at), *new) in statements

    def find_day(self, x: Sequence[float], day: float) -> int | None:
        """The trial that counts the people who were shown a query (with its context) that day."""
        point = self._points.get(np.array(x, dtype=float).tobytes())
        return None if point is None else self._days.get((point, day))

    def _fail(self, plain: Mapping[str, Any], i: int) -> None:
        columns, kind = self._columns, plain["kind"]
        if math.isfinite(columns["delay"][i]) or columns["failure"][i] >= 0:
            return
        columns["failure"][i], columns["failed_at"][i] = FAILURES.index(kind), plain["at"]
        columns["infeasible"][i], columns["gone"][i] = kind == "infeasible", kind != "infeasible"
        columns["order"][i] = self.position

    def _amend(self, plain: Mapping[str, Any], i: int) -> None:
        columns, value, noise = self._columns, plain.get("value"), plain.get("noise")
        if value is None or not math.isfinite(columns["delay"][i]):
            return
        self._first.setdefault(i, (columns["y"][i].item(), columns["noise"][i].item()))
        columns["y"][i], columns["noise"][i] = value, math.nan if noise is None else noise
        columns["amended"][i] += 1
        if self.conversions and value == 0.0:
            columns["told_none"][i], columns["undelayed"][i], columns["delay"][i] = True, True, 0.0

    def takes_outcome(self, i: int) -> bool:
        """Whether an outcome of the trial in a row, told now, counts."""
        failure = self._columns["failure"][i]
        return math.isnan(self._columns["shown_over"][i]) and takes_outcome(
            math.isfinite(self._columns["delay"][i]), None if failure < 0 else FAILURES[failure]
        )

    def ages(self, now: float) -> Array:
        """The age of each query when the next one is chosen."""
        n = self.count
        if not self.by_clock:
            return n + 1.0 - np.arange(1.0, n + 1.0)
        waited = measure_waits(self.column("asked_at"), now)
        # what was told counts as heard, by its position, whatever the clock says
        return np.where(self.told, np.maximum(waited, self.column("delay")), waited)

    def history_before(self, now: float, m: float, late: Literal["use", "ignore"]) -> tuple[History, Array]:
        """What is known without the newest queries that we asked at this very moment, and those queries.

        The first is the same value for all choices of a moment, as long as nothing else happens."""
        if self._recent is None or self._recent[:3] != (now, m, late):
            old = (self.column("asked_at") < now) | self.column("by_hand") | (self.column("order") != NO_ORDER)
            first = int(np.max(np.flatnonzero(old), initial=-1)) + 1
            self._recent = RecentHistory(now, m, late, self.history(now, m, late, first))
        older = self._recent.history
        return older, self._X[len(older.number) : self.count]

    def history(self, now: float, m: float, late: Literal["use", "ignore"], n: int | None = None) -> History:
        """What the choice of the next query knows, outcomes in the user's units; n: of the first n queries alone.

        Later events do not change it: arrays that they may write to are copied."""
        n = self.count if n is None else n
        age, told = self.ages(now)[:n], self.told[:n]
        columns = {name: column[:n] for name, column in self._columns.items()}
        delay, m_then = columns["delay"], columns["m"]
        seen = told if late == "use" else in_time(delay, age, m_then)
        within = age <= m
        gone, infeasible = columns["gone"].copy(), columns["infeasible"].copy()
        counts = self._collect_counts(~(gone | infeasible), m, late)
        gone |= ~np.isnan(columns["shown_over"])
        ended = (gone | infeasible) & ~told
        silent = np.where(columns["undelayed"] | ended, np.nan, np.where(told, delay, age))
        return History(
            number=np.arange(1, n + 1),
            X=self._X[:n],
            point=columns["point"],
            y=columns["y"].copy(),
            seen=seen,
            pending=within & ~told & ~gone & ~infeasible,
            infeasible=infeasible,
            gone=gone,
            recent=within & ~gone,
            by_hand=columns["by_hand"],
            order=columns["order"].copy(),
            lams=columns["noise"].copy(),
            floor=None,
            age=age,
            m=m,
            waited=silent,
            arrived=told,
            late=told & (delay > m_then),
            counts=counts,
        )

    def _collect_counts(self, valid: Mask, m: float, late: Literal["use", "ignore"]) -> Counts | None:
        """The people counted by day, unless there are none."""
        if not self._statements:
            return None
        rows = np.flatnonzero((self._columns["shown"][: len(valid)] > 0) & valid)
        shown, converted, late_ones, age, width = (
            self._columns[name][rows] for name in ("shown", "converted", "converted_late", "stated", "width")
        )
        arrivals = np.array([(*when, n) for when, n in sorted(self._arrivals.items())]).reshape(-1, 5)
        return Counts(
            number=rows + 1,
            X=self._X[rows],
            point=self._columns["point"][rows],
            shown=shown,
            converted=converted if late == "use" else converted - late_ones,
            age=age,
            width=width,
            arrivals=arrivals[arrivals[:, 0] - arrivals[:, 3] < m],
        )

    def status(self, number: int, now: float, m: float) -> Status:
        """The status now; it is computed, not stored."""
        i, columns = number - 1, self._columns
        delay = columns["delay"][i]
        if math.isfinite(delay):
            return "heard" if delay <= columns["m"][i] else "late"
        if columns["failure"][i] >= 0:
            return "failed"
        if not math.isnan(columns["shown_over"][i]):
            return "counted"
        age = measure_wait(columns["asked_at"][i].item(), now) if self.by_clock else self.next_number - number
        return "pending" if age <= m else "expired"

    def trial(self, number: int, now: float, m: float) -> Trial:
        row = self.rows[number - 1]
        asked, told, failed = row.asked, row.told, row.failed
        counts = row.statements[-1] if row.statements else None
        return Trial(
            number=number,
            params=dict(asked.params),
            context=None if asked.context is None else dict(asked.context),
            asked_at=asked.asked_at,
            status=self.status(number, now, m),
            outcome=None if told is None else told.value,
            delay=self.delay(row) if told is not None and row.has_delay else None,
            told_at=None if told is None else told.at,
            known_from=None if told is None else row.known_from,
            noise=None if told is None else told.noise,
            failure=failed.kind if failed is not None and told is None else None,
            shown=None if counts is None else counts.shown,
            converted=None if counts is None else counts.converted,
            counted_at=row.counted_at,
            by_hand=asked.by_hand,
            knew_trials=number - 1 if asked.knew_trials is None else asked.knew_trials,
            note=asked.note,
        )


@dataclass(frozen=True)
class TrialRecords(Sequence[TrialRecord]):
    """The trials of a table, each made when it is looked at."""

    table: TrialTable

    def __len__(self) -> int:
        return self.table.count

    @overload
    def __getitem__(self, i: int) -> TrialRecord: ...

    @overload
    def __getitem__(self, i: slice) -> list[TrialRecord]: ...

    def __getitem__(self, i: int | slice) -> TrialRecord | list[TrialRecord]:
        places = range(len(self))[i]
        return self.table.record(places) if isinstance(places, int) else list(map(self.table.record, places))
