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
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from belated.learner.arrays import Array, Indices, Mask
from belated.learner.counts import Counts
from belated.learner.history import History, in_time
from belated.record.events import Amended, Asked, Converted, Counted, Event, Failed, Repeated, Told
from belated.record.statements import Statement, insert_statement, list_arrivals
from belated.results import Status, Trial, takes_outcome
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
    told_none: bool = False  # told 0 where outcomes are conversions: when that was known says nothing about delays
    converted: Converted | None = None  # after it was told 0
    statements: list[Statement] | None = None  # where it stands for many people: their counts, by age
    counted_at: float | None = None  # of the last of them

    @property
    def has_delay(self) -> bool:
        """Whether its outcome has, or will have, a delay. One that was added together with its query has none."""
        if self.told_none or self.asked.shown_over is not None:
            return False
        return self.converted is not None or not self.asked.told_at_once

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


def measure_wait(since: float, until: float) -> float:
    """Seconds from one clock reading to another."""
    return min(max(until - since, 0.0), LONGEST_WAIT)


class RecentHistory(NamedTuple):
    """A history, and what it was asked for."""

    now: float
    m: float
    late: str
    history: History


class TrialTable:
    """Trials by number, and the same as arrays that grow, so that a choice need not visit every trial.

    columns      of the context and the query
    by_clock     whether delays and ages are in seconds; else in rounds
    conversions  whether outcomes are conversions: a 0 is none, and a conversion told later stands"""

    def __init__(self, columns: int, by_clock: bool, conversions: bool = False) -> None:
        self.columns, self.by_clock, self.conversions = columns, by_clock, conversions
        self.rows: list[TrialRecord] = []
        self.position = 0  # of the last event
        self.keys: dict[str, KeyedCall] = {}  # by each client key: the call that used it first
        self._news: list[TrialRecord] = []  # told, and perhaps not yet known to a choice
        self._points: dict[bytes, int] = {}  # a number for each row of X, the same for equal rows
        self._days: dict[tuple[int, float], int] = {}  # trials that count people, by point and day
        self._arrivals: Counter[tuple[float, ...]] = Counter()  # of people counted: how many, by Counts.arrivals
        self._recent: RecentHistory | None = None  # known at the last choice, while only queries are asked since
        self._reserve(32)

    def _reserve(self, size: int) -> None:
        n = len(self.rows)

        def grow(old: str, fill: float, shape: tuple[int, ...], kind: type) -> Any:
            new: Any = np.full(shape, fill, dtype=kind)
            if n:
                new[:n] = getattr(self, old)[:n]
            return new

        self._X: Array = grow("_X", math.nan, (size, self.columns), float)
        self._point: Indices = grow("_point", 0, (size,), np.intp)
        self._y: Array = grow("_y", math.nan, (size,), float)
        self._noise: Array = grow("_noise", math.nan, (size,), float)
        self._asked_at: Array = grow("_asked_at", math.nan, (size,), float)
        self._delay: Array = grow("_delay", math.inf, (size,), float)
        self._m: Array = grow("_m", math.inf, (size,), float)  # patience when it was told
        self._order: Indices = grow("_order", NO_ORDER, (size,), np.intp)
        self._infeasible: Mask = grow("_infeasible", 0, (size,), bool)
        self._gone: Mask = grow("_gone", 0, (size,), bool)
        self._by_hand: Mask = grow("_by_hand", 0, (size,), bool)
        self._undelayed: Mask = grow("_undelayed", 0, (size,), bool)
        self._shown: Array = grow("_shown", 0, (size,), float)  # people; 0: a query of its own
        self._converted: Array = grow("_converted", 0, (size,), float)
        self._late_converted: Array = grow("_late_converted", 0, (size,), float)
        self._stated: Array = grow("_stated", 0, (size,), float)  # the age of the last statement
        self._width: Array = grow("_width", 0, (size,), float)  # the part of the day that was over by then

    def fork(self) -> TrialTable:
        """An independent copy."""
        other = copy(self)
        other.rows, other.keys, other._news = list(self.rows), dict(self.keys), []
        other._points, other._days, other._arrivals = dict(self._points), dict(self._days), self._arrivals.copy()
        other._reserve(len(self._y))
        return other

    @property
    def next_number(self) -> int:
        return len(self.rows) + 1

    def delay(self, row: TrialRecord) -> float:
        """d_s, in rounds or by the clock; 0 where there is no delay, inf while untold."""
        if row.told is None:
            return math.inf
        if not row.has_delay:
            return 0.0
        return measure_wait(row.asked.asked_at, row.told.at) if self.by_clock else float(row.rounds)

    def m_when_told(self, row: TrialRecord) -> float:
        """The patience that decides whether its outcome is late."""
        return float(self._m[row.asked.number - 1])

    def count_known(self, number: int) -> int:
        """How many outcomes, of queries that have a delay, the choice of this number knew."""
        return sum(row.told is not None and row.known_from <= number for row in self.rows if row.has_delay)

    def apply(self, event: Event, m: float, x: Sequence[float] | None = None) -> None:
        """Apply the next event; m is the patience of now, x the row of an asked query."""
        self.position += 1
        if isinstance(event, Asked):
            self._ask(event, x)
        elif isinstance(event, Told | Converted | Failed | Amended) and event.number is not None:
            self._recent = None
            self._end(event, self.rows[event.number - 1], m)
        elif isinstance(event, Counted):
            self._recent = None
            self._count(event, self.rows[event.number - 1], m)
        if isinstance(event, Asked | Told | Converted | Repeated) and event.key is not None:
            self.keys.setdefault(event.key, KeyedCall(event, self.position))

    def _ask(self, event: Asked, x: Sequence[float] | None) -> None:
        """Add a row. The choice did not know what was told after it had read the ledger."""
        i = len(self.rows)
        if i == len(self._y):
            self._reserve(2 * i)
        row = TrialRecord(event)
        self.rows.append(row)
        self._X[i], self._asked_at[i] = x, event.asked_at
        self._point[i] = self._points.setdefault(self._X[i].tobytes(), len(self._points))
        self._by_hand[i], self._undelayed[i] = event.by_hand, not row.has_delay
        if event.shown_over is not None:
            self._days[int(self._point[i]), event.asked_at] = event.number
        if self._recent is not None and (event.by_hand or event.asked_at < self._recent.now):
            self._recent = None
        if self._news and not event.by_hand:
            self._news = [row for row in self._news if self._order[row.asked.number - 1] > event.knew]
            for news in self._news:
                news.known_from = self.next_number

    def _end(self, event: Told | Converted | Failed | Amended, row: TrialRecord, m: float) -> None:
        """Apply an event that ends a trial or amends its end. If two come at once, the first counts."""
        i = row.asked.number - 1
        if isinstance(event, Told) and row.takes_outcome:
            row.first_told = event
            self._hear(event, row, m)
        elif isinstance(event, Converted) and row.judge_outcome(event.value, None, conversions=True) == "conversion":
            row.converted = event
            self._hear(Told(number=event.number, value=event.value, noise=None, at=event.at), row, m)
        elif isinstance(event, Failed) and row.told is None and row.failed is None:
            row.failed = event
            self._infeasible[i], self._gone[i] = event.kind == "infeasible", event.kind != "infeasible"
            self._order[i] = self.position
        elif isinstance(event, Amended) and row.told is not None and event.value is not None:
            row.told, row.amended = replace(row.told, value=event.value, noise=event.noise), row.amended + 1
            row.told_none |= self.conversions and event.value == 0.0
            self._y[i], self._noise[i] = event.value, math.nan if event.noise is None else event.noise
            self._delay[i], self._undelayed[i] = self.delay(row), not row.has_delay

    def _hear(self, told: Told, row: TrialRecord, m: float) -> None:
        """From here on this is the outcome of a trial."""
        i = row.asked.number - 1
        row.told, row.told_none = told, self.conversions and told.value == 0.0
        row.known_from, row.rounds = self.next_number, self.next_number - told.number
        self._news.append(row)
        self._y[i], self._delay[i], self._order[i] = told.value, self.delay(row), self.position
        self._m[i], self._undelayed[i] = m, not row.has_delay
        self._noise[i] = math.nan if told.noise is None else told.noise
        self._gone[i] = False  # an outcome after "lost" is accepted

    def _count(self, event: Counted, row: TrialRecord, m: float) -> None:
        """Take another statement of its counts."""
        if row.asked.shown_over is None:
            raise ValueError(f"trial {event.number} does not count people")
        i, before = event.number - 1, row.statements or []
        age = measure_wait(row.asked.asked_at, event.at) if self.by_clock else float(self.next_number - event.number)
        row.statements = insert_statement(before, Statement(age, event.shown, event.converted))
        row.counted_at = event.at if row.statements[-1].age == age else row.counted_at
        for when, n in self._list_arrivals(row, before).items():
            self._arrivals[when] -= n
            if not self._arrivals[when]:
                del self._arrivals[when]
        late, last = 0.0, row.statements[-1]
        self._shown[i], self._converted[i], self._stated[i] = last.shown, last.converted, last.age
        self._width[i] = min(row.asked.shown_over, last.age) if self.by_clock else 0.0
        arrivals = self._list_arrivals(row, row.statements)
        for (since, *_), count in arrivals.items():
            late += count if since - self._width[i] > m else 0
        self._late_converted[i] = late
        self._arrivals.update(arrivals)

    def _list_arrivals(self, row: TrialRecord, statements: Sequence[Statement]) -> Counter[tuple[float, ...]]:
        """How many conversions of a day came between two ages of it, by these and by its age and width."""
        found: Counter[tuple[float, ...]] = Counter()
        for since, until, count in list_arrivals(statements):
            age = statements[-1].age
            width = min(row.asked.shown_over or 0.0, age) if self.by_clock else 0.0
            found[since, until, age, width] += count
        return found

    def has_stated(self, event: Counted) -> bool:
        """Whether these counts are on record already. In rounds, the same counts again say nothing new."""
        row = self.rows[event.number - 1]
        new = (event.shown, event.converted)
        if not self.by_clock:
            return row.statements is not None and row.statements[-1][1:] == new
        return Statement(measure_wait(row.asked.asked_at, event.at), *new) in (row.statements or [])

    def find_day(self, x: Sequence[float], day: float) -> int | None:
        """The trial that counts the people who were shown a query (with its context) that day."""
        point = self._points.get(np.array(x, dtype=float).tobytes())
        return None if point is None else self._days.get((point, day))

    def ages(self, now: float) -> Array:
        """The age of each query when the next one is chosen."""
        n = len(self.rows)
        if not self.by_clock:
            return n + 1.0 - np.arange(1.0, n + 1.0)
        waited = np.clip(now - self._asked_at[:n], 0.0, LONGEST_WAIT)
        told = np.isfinite(self._delay[:n])
        # what was told counts as heard, by its position, whatever the clock says
        return np.where(told, np.maximum(waited, self._delay[:n]), waited)

    def history_before(self, now: float, m: float, late: Literal["use", "ignore"]) -> tuple[History, Array]:
        """What is known without the newest queries that we asked at this very moment, and those queries.

        The first is the same value for all choices of a moment, as long as nothing else happens."""
        if self._recent is None or self._recent[:3] != (now, m, late):
            n = len(self.rows)
            old = (self._asked_at[:n] < now) | self._by_hand[:n] | (self._order[:n] != NO_ORDER)
            first = int(np.max(np.flatnonzero(old), initial=-1)) + 1
            self._recent = RecentHistory(now, m, late, self.history(now, m, late, first))
        older = self._recent.history
        return older, self._X[len(older.number) : len(self.rows)]

    def history(self, now: float, m: float, late: Literal["use", "ignore"], n: int | None = None) -> History:
        """What the choice of the next query knows, outcomes in the user's units; n: of the first n queries alone.

        Later events do not change it: arrays that they may write to are copied."""
        n = len(self.rows) if n is None else n
        age, delay = self.ages(now)[:n], self._delay[:n]
        told = np.isfinite(delay)
        seen = told if late == "use" else in_time(delay, age, self._m[:n])
        within = age <= m
        gone, infeasible = self._gone[:n].copy(), self._infeasible[:n].copy()
        counts = self._collect_counts(~(gone | infeasible), m, late)
        gone |= self._shown[:n] > 0
        silent = np.where(self._undelayed[:n] | ((gone | infeasible) & ~told), np.nan, np.where(told, delay, age))
        return History(
            number=np.arange(1, n + 1),
            X=self._X[:n],
            point=self._point[:n],
            y=self._y[:n].copy(),
            seen=seen,
            pending=within & ~told & ~gone & ~infeasible,
            infeasible=infeasible,
            gone=gone,
            recent=within & ~gone,
            by_hand=self._by_hand[:n],
            order=self._order[:n].copy(),
            lams=self._noise[:n].copy(),
            floor=None,
            age=age,
            m=m,
            waited=silent,
            arrived=told,
            late=told & (delay > self._m[:n]),
            counts=counts,
        )

    def _collect_counts(self, valid: Mask, m: float, late: Literal["use", "ignore"]) -> Counts | None:
        """The people counted by day, unless there are none."""
        rows = np.flatnonzero((self._shown[: len(valid)] > 0) & valid)
        if not len(rows):
            return None
        unused = 0.0 if late == "use" else self._late_converted[rows]
        arrivals = np.array([(*when, n) for when, n in sorted(self._arrivals.items())]).reshape(-1, 5)
        return Counts(
            number=rows + 1,
            X=self._X[rows],
            point=self._point[rows],
            shown=self._shown[rows],
            converted=self._converted[rows] - unused,
            age=self._stated[rows],
            width=self._width[rows],
            arrivals=arrivals[arrivals[:, 0] - arrivals[:, 3] < m],
        )

    def status(self, number: int, now: float, m: float) -> Status:
        """The status now; it is computed, not stored."""
        row = self.rows[number - 1]
        if row.asked.shown_over is not None and row.failed is None:
            return "counted"
        if row.told is not None:
            return "heard" if self.delay(row) <= self.m_when_told(row) else "late"
        if row.failed is not None:
            return "failed"
        age = measure_wait(row.asked.asked_at, now) if self.by_clock else self.next_number - number
        return "pending" if age <= m else "expired"

    def trial(self, number: int, now: float, m: float) -> Trial:
        row = self.rows[number - 1]
        asked, told, failed = row.asked, row.told, row.failed
        last = row.statements[-1] if row.statements else None
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
            shown=None if last is None else last.shown,
            converted=None if last is None else last.converted,
            counted_at=row.counted_at,
            by_hand=asked.by_hand,
            knew_trials=number - 1 if asked.knew_trials is None else asked.knew_trials,
            note=asked.note,
        )
