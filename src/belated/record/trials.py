"""What happened to a study, and what follows from it: events -> trials.

Events are appended and never changed; an outcome's delay, a trial's status and all that a choice may know are computed
from them and from now. Order comes from positions, never from the clock.

s        number of a trial, counted from 1
age      rounds: t - s, where t is the next number;   by the clock: now - asked_at, never below 0
delay    rounds: t - s, where t is the next number when it was told;   by the clock: told_at - asked_at, never below 0
m        patience: an outcome is in time or late by the m in force when it was told, for good; silence by the m in force
         now. They differ only where the study chooses m itself

A tell that lands while choice t is being computed counts as told before t is asked, by the order of the record, and so
its delay is final with its receipt; but choice t did not know it: the first that did is `known_from`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from belated.learner.arrays import Array
from belated.learner.history import History, in_time
from belated.patience import Patience
from belated.record.events import Adjusted, Amended, Asked, Event, Failed, Told
from belated.results import Status, Trial


@dataclass(slots=True)
class Row:
    """Everything recorded about one trial."""

    asked: Asked
    told: Told | None = None
    failed: Failed | None = None
    rounds: int = 0  # once told: its delay in rounds
    known_from: int = 0  # once told: the first number whose choice knew it, min {t : position of the tell <= knew_t}
    amended: int = 0  # how often its outcome was put right


NO_ORDER = np.iinfo(np.intp).max


@dataclass
class State:
    """The fold of events: rows by number, and the same as growing arrays, so that a choice need not visit every row."""

    patience: Patience
    late: Literal["use", "ignore"]
    columns: int
    rows: list[Row] = field(default_factory=list)
    position: int = 0
    keys: dict[str, Asked | Told] = field(default_factory=dict)  # what each client key was first used for
    _news: list[Row] = field(default_factory=list)  # told, and maybe not yet known to a choice

    def __post_init__(self) -> None:
        self._room(32)

    def _room(self, size: int) -> None:
        n = len(self.rows)

        def grown(old: str, fill: float, shape: tuple[int, ...], kind: type) -> Any:
            new: Any = np.full(shape, fill, dtype=kind)
            if n:
                new[:n] = getattr(self, old)[:n]
            return new

        self._X: Array = grown("_X", math.nan, (size, self.columns), float)
        self._y: Array = grown("_y", math.nan, (size,), float)
        self._noise: Array = grown("_noise", math.nan, (size,), float)
        self._asked_at: Array = grown("_asked_at", math.nan, (size,), float)
        self._delay: Array = grown("_delay", math.inf, (size,), float)
        self._m: Array = grown("_m", math.inf, (size,), float)  # patience when it was told
        self._order: NDArray[np.intp] = grown("_order", NO_ORDER, (size,), np.intp)
        self._infeasible: NDArray[np.bool_] = grown("_infeasible", 0, (size,), bool)
        self._gone: NDArray[np.bool_] = grown("_gone", 0, (size,), bool)
        self._by_hand: NDArray[np.bool_] = grown("_by_hand", 0, (size,), bool)
        self._added: NDArray[np.bool_] = grown("_added", 0, (size,), bool)

    def fork(self) -> State:
        """A copy that may go on by itself."""
        other = copy(self)
        other.rows, other.keys, other._news = list(self.rows), dict(self.keys), []
        other._room(len(self._y))
        return other

    @property
    def next_number(self) -> int:
        return len(self.rows) + 1

    def delay_of(self, row: Row) -> float:
        """d_s, in rounds or by the clock as patience is; inf while untold."""
        if row.told is None:
            return math.inf
        if self.patience.by_clock:
            return max(0.0, row.told.at - row.asked.asked_at)
        return float(row.rounds)

    def patience_of(self, row: Row) -> Patience:
        """By which its outcome is late or in time; while untold, the one in force."""
        i = row.asked.number - 1
        return self.patience if row.told is None else Patience(float(self._m[i]), self.patience.by_clock)

    def heard_by(self, number: int) -> int:
        """How many outcomes, of queries that have a delay, the choice of this number knew."""
        known = (row.told is not None and row.known_from <= number for row in self.rows if not row.asked.told_at_once)
        return sum(known)

    def apply(self, event: Event, x: Sequence[float] | None = None) -> None:
        """The next event; x is the row of an asked query."""
        self.position += 1
        if isinstance(event, Asked):
            self._ask(event, x)
        elif isinstance(event, Told | Failed | Amended) and event.number is not None:
            self._end(event, self.rows[event.number - 1])
        elif isinstance(event, Adjusted):
            self.patience = replace(self.patience, m=event.m)
        if isinstance(event, Asked | Told) and event.key is not None:
            self.keys.setdefault(event.key, event)

    def _ask(self, event: Asked, x: Sequence[float] | None) -> None:
        """A new row. What was told after its choice had looked, it did not know."""
        i = len(self.rows)
        if i == len(self._y):
            self._room(2 * i)
        self.rows.append(Row(event))
        self._X[i], self._asked_at[i] = x, event.asked_at
        self._by_hand[i], self._added[i] = event.by_hand, event.told_at_once
        if self._news and not event.by_hand:
            self._news = [row for row in self._news if self._order[row.asked.number - 1] > event.knew]
            for row in self._news:
                row.known_from = self.next_number

    def _end(self, event: Told | Failed | Amended, row: Row) -> None:
        """What ends a trial, or puts right how it ended. When two come at once, the first counts."""
        i = row.asked.number - 1
        if isinstance(event, Told) and row.told is None and (row.failed is None or row.failed.kind == "lost"):
            row.told, row.known_from, row.rounds = event, self.next_number, self.next_number - event.number
            self._news.append(row)
            self._y[i], self._delay[i], self._order[i] = event.value, self.delay_of(row), self.position
            self._m[i] = self.patience.m
            self._noise[i] = math.nan if event.noise is None else event.noise
            self._gone[i] = False  # an outcome after "lost" is taken
        elif isinstance(event, Failed) and row.told is None and row.failed is None:
            row.failed = event
            self._infeasible[i], self._gone[i] = event.kind == "infeasible", event.kind != "infeasible"
            self._order[i] = self.position
        elif isinstance(event, Amended) and row.told is not None and event.value is not None:
            row.told, row.amended = replace(row.told, value=event.value, noise=event.noise), row.amended + 1
            self._y[i], self._noise[i] = event.value, math.nan if event.noise is None else event.noise

    def ages(self, now: float) -> Array:
        """How long each query has been out when the next one is chosen."""
        n = len(self.rows)
        if not self.patience.by_clock:
            return n + 1.0 - np.arange(1.0, n + 1.0)
        waited = np.maximum(now - self._asked_at[:n], 0.0)
        told = np.isfinite(self._delay[:n])
        # what was told was heard: positions say so, whatever the clock does
        return np.where(told, np.maximum(waited, self._delay[:n]), waited)

    def history(self, now: float) -> History:
        """What the choice of the next query knows, outcomes in the user's units. Later events do not change it: what
        they may write to is copied (a query and how it was asked never change)."""
        n, m = len(self.rows), self.patience.m
        age, delay = self.ages(now), self._delay[:n]
        told = np.isfinite(delay)
        seen = told if self.late == "use" else in_time(delay, age, self._m[:n])
        within = age <= m
        gone, infeasible = self._gone[:n].copy(), self._infeasible[:n].copy()
        return History(
            number=np.arange(1, n + 1),
            X=self._X[:n],
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
            waited=np.where(self._added[:n] | ((gone | infeasible) & ~told), np.nan, np.where(told, delay, age)),
            arrived=told,
            late=told & (delay > self._m[:n]),
        )

    def status(self, number: int, now: float) -> Status:
        """As of now: nothing of it is stored."""
        row = self.rows[number - 1]
        if row.told is not None:
            return "heard" if self.delay_of(row) <= self._m[number - 1] else "late"
        if row.failed is not None:
            return "failed"
        age = max(now - row.asked.asked_at, 0.0) if self.patience.by_clock else self.next_number - number
        return "pending" if age <= self.patience.m else "expired"

    def trial(self, number: int, now: float) -> Trial:
        row = self.rows[number - 1]
        asked, told, failed = row.asked, row.told, row.failed
        return Trial(
            number=number,
            params=dict(asked.params),
            context=None if asked.context is None else dict(asked.context),
            asked_at=asked.asked_at,
            status=self.status(number, now),
            outcome=None if told is None else told.value,
            delay=None if told is None else self.delay_of(row),
            told_at=None if told is None else told.at,
            known_from=None if told is None else row.known_from,
            noise=None if told is None else told.noise,
            failure=failed.kind if failed is not None and told is None else None,
            by_hand=asked.by_hand,
            knew_trials=number - 1 if asked.knew_trials is None else asked.knew_trials,
            note=asked.note,
        )
