"""The trials, computed from the events: accepted or refused, in time or late, the delay, known to which choice.

Events are appended and never changed. An outcome's delay, a trial's status and everything that a choice may know are
computed from the events and the time now. Order comes from positions, never from the clock.

s        number of a trial, counted from 1
age      rounds: t - s, where t is the next number;   by the clock: now - asked_at, never below 0
delay    rounds: t - s, where t is the next number when it was told;   by the clock: told_at - asked_at, never below 0.
         A trial that was added with its outcome has no delay; nor has a 0 where outcomes are conversions
m        patience: whether an outcome is late is decided by the m at the time of the tell, and stays so; whether silence
         has expired, by the m of now. They differ only where the study chooses m itself

A correction changes the row of its trial. What the row was before is kept, so that it can be undone: the newest change
that counts is at the position `changed`.

A tell that arrives while choice t is being computed counts as told before ask t, by the order of the record. So its
delay is final when the receipt is given. But choice t did not know it: the first choice that did is `known_from`.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast, overload

import numpy as np
from numpy.typing import NDArray

from belated.learner.arrays import Array, Indices, Mask
from belated.learner.counts import Counts
from belated.learner.history import History, in_time
from belated.record.events import (
    Asked,
    Converted,
    Counted,
    Event,
    Failed,
    Told,
    event_from_dict,
    event_to_dict,
)
from belated.record.kept_events import AskedEvents, Fetch, KeyedCalls, fetch_nothing
from belated.record.locks import hold
from belated.record.newest_index import NewestIndex
from belated.record.outcome_index import OutcomeIndex
from belated.record.statements import Statement, insert_statement, list_arrivals
from belated.record.trial_record import TrialRecord
from belated.results import FAILURES, STATUSES, Status, Trial, takes_outcome
from belated.validation import FARTHEST_TIME

MANY = 2000  # trials, from which on outcomes are indexed by query if they repeat
NO_ORDER = np.iinfo(np.intp).max
LONGEST_WAIT = 2 * FARTHEST_TIME  # seconds; stores of version 0.1 may hold times with longer waits between them

COLUMNS: dict[str, tuple[type, float]] = {  # of each trial: what kind of number, and what it is before it is known
    "point": (np.intp, 0),  # a number for each row of X, the same for equal rows
    "place": (np.intp, 0),  # the position of its ask
    "changed": (np.intp, 0),  # the position of the newest change that counts
    "told_once": (bool, 0),  # the ledger has an outcome of it, whether that counts or not
    "failed_once": (bool, 0),
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


# Events after which the index of outcomes is made again.
CORRECTIONS = ("converted", "counted", "amended", "undone")

# What stays as it is when a change is taken back.
LASTING = ("point", "place", "told_once", "failed_once", "knew", "asked_at", "by_hand", "shown_over")


class PastRow(NamedTuple):
    """What was known of a trial before a change."""

    columns: Mapping[str, Any]
    tell_key: str | None
    conversion: tuple[Told, Converted] | None
    statements: Sequence[Statement]
    run: Mapping[str, Any] | None
    who: tuple[str | None, str] | None

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        conversion = None if self.conversion is None else [event_to_dict(event) for event in self.conversion]
        return {**self._asdict(), "conversion": conversion, "statements": list(self.statements)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> PastRow:
        """What `to_dict` wrote, read back."""
        return cls(
            columns=plain["columns"],
            tell_key=plain["tell_key"],
            conversion=None if plain["conversion"] is None else _read_conversion(plain["conversion"]),
            statements=[Statement(*each) for each in plain["statements"]],
            run=plain["run"],
            who=None if plain["who"] is None else tuple(plain["who"]),
        )


def _read_conversion(plain: Sequence[Mapping[str, Any]]) -> tuple[Told, Converted]:
    """A 0, and the conversion told after it."""
    nothing, converted = map(event_from_dict, plain)
    return cast("Told", nothing), cast("Converted", converted)


def _number_values(values: Mapping[int, Any]) -> tuple[Sequence[int], Sequence[int], list[Any]]:
    """A mapping with few different values, as its keys in order, the place of each value, and the values."""
    rows = sorted(values)
    places: dict[Any, int] = {}
    codes = [places.setdefault(values[row], len(places)) for row in rows]
    return rows, codes, list(places)


class RecentHistory(NamedTuple):
    """A history, and what it was asked for."""

    now: float
    m: float
    late: str
    history: History


class LentHistory:
    """A history that is made if somebody needs it: at the latest before an event would change it."""

    def __init__(self, make: Callable[[], History]) -> None:
        self._make, self._lock = make, threading.Lock()
        self._history: History | None = None

    def whole(self) -> History:
        """The history as it was when it was lent."""
        with hold(self._lock):
            self._history = self._make() if self._history is None else self._history
            return self._history


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
        self.keys = KeyedCalls({}, fetch_nothing)
        self._asked = AskedEvents(np.empty(0, dtype=np.intp), fetch_nothing)
        self._tell_keys: dict[int, str] = {}  # by row: the key of its outcome, if that has one
        self._first: dict[int, Told] = {}  # by row: its outcome before it was amended or taken back
        self._run: dict[int, Mapping[str, Any]] = {}  # by row: what was run, where that is not what was asked
        self._who: dict[int, tuple[str | None, str]] = {}  # by row: who ended it, and what they said with it
        self._past: dict[int, tuple[PastRow, ...]] = {}  # by row: what it was before each change but the first
        self._undone: dict[int, int] = {}  # by row: where a change of it was last taken back
        self.taken_back: set[int] = set()  # the positions of all events that were undone
        self._news: list[int] = []  # rows that were told, and perhaps are not yet known to a choice
        self._points: dict[bytes, int] | None = {}  # by the bytes of a row: its number; None: to be found again
        self._conversions: dict[int, tuple[Told, Converted]] = {}  # by row: a 0, and the conversion told after it
        self._days: dict[tuple[int, float], int] = {}  # trials that count people, by point and day
        self._statements: dict[int, Sequence[Statement]] = {}  # by row: their counts, by age
        self._arrivals: Counter[tuple[float, ...]] = Counter()  # of people counted: how many, by Counts.arrivals
        self._recent: RecentHistory | None = None  # known at the last choice, while only queries are asked since
        self._index: OutcomeIndex | NewestIndex | None = None  # made where it is needed; None: also after a correction
        self._lent: weakref.ref[LentHistory] | None = None
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
        if self._index is not None:
            self._index.arrived.columns = self._columns

    def fork(self, room: int = 0) -> TrialTable:
        """An independent copy, with room for some more."""
        other = copy(self)
        other.keys, other._news = self.keys.copy(), []
        other._index = None if self._index is None else self._index.fork()
        other._lent = None
        other._asked, other._points = self._asked.copy(), dict(self._find_points())
        other._tell_keys, other._first = dict(self._tell_keys), dict(self._first)
        other._run, other._who = dict(self._run), dict(self._who)
        other._past, other._undone, other.taken_back = dict(self._past), dict(self._undone), set(self.taken_back)
        other._conversions, other._days = dict(self._conversions), dict(self._days)
        other._statements, other._arrivals = dict(self._statements), self._arrivals.copy()
        other._reserve(self.count + room)
        return other

    # Kept elsewhere, and put back ------------------------------------------------------------------------------------

    def dump(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """All that the events have come to, as plain values and as arrays; the asks themselves stay in the ledger.

        The same events give the same, whatever was dumped and put back on the way."""
        arrays = {name: self.column(name) for name, (_, empty) in COLUMNS.items() if not self._is_empty(name, empty)}
        rows, codes, words = _number_values(self._who)
        arrays |= {"X": self._X[: self.count], "who_row": np.array(rows, int), "who_code": np.array(codes, int)}
        plain = {
            "count": self.count,
            "position": self.position,
            "by_clock": self.by_clock,
            "keys": self.keys.list_positions(),
            "tell_keys": sorted(self._tell_keys.items()),
            "first": [(i, event_to_dict(told)) for i, told in sorted(self._first.items())],
            "run": [(i, dict(run)) for i, run in sorted(self._run.items())],
            "who": words,
            "past": [(i, [each.to_dict() for each in past]) for i, past in sorted(self._past.items())],
            "undone": sorted(self._undone.items()),
            "taken_back": sorted(self.taken_back),
            "news": self._news,
            "conversions": [
                (i, [event_to_dict(event) for event in both]) for i, both in sorted(self._conversions.items())
            ],
            "statements": [(i, list(each)) for i, each in sorted(self._statements.items())],
            "arrivals": sorted(self._arrivals.items()),
        }
        return plain, arrays

    def _is_empty(self, name: str, empty: float) -> bool:
        """Whether nothing is known yet in a column."""
        column = self.column(name)
        return bool(np.all(np.isnan(column) if math.isnan(empty) else column == empty))

    def load(self, plain: Mapping[str, Any], arrays: Mapping[str, Array], fetch: Fetch) -> None:
        """What `dump` gave, into an empty table; fetch gets asks, and calls with keys, from the ledger."""
        count = plain["count"]
        self._reserve(count + count // 8 + 32)
        for name in COLUMNS.keys() & arrays.keys():
            self._columns[name][:count] = arrays[name]
        self._X[:count] = arrays["X"]
        self._asked = AskedEvents(np.array(arrays.get("place", ()), np.intp), fetch)
        self.keys = KeyedCalls(plain["keys"], fetch)
        self.position, self.by_clock, self._points = plain["position"], plain["by_clock"], None
        self._tell_keys = dict(plain["tell_keys"])
        self._first = {i: cast("Told", event_from_dict(told)) for i, told in plain["first"]}
        self._run = dict(plain["run"])
        words = [(by, remark) for by, remark in plain["who"]]
        pairs = zip(arrays["who_row"].tolist(), arrays["who_code"].tolist(), strict=True)
        self._who = {row: words[code] for row, code in pairs}
        self._past = {i: tuple(map(PastRow.from_dict, past)) for i, past in plain["past"]}
        self._undone, self.taken_back = dict(plain["undone"]), set(plain["taken_back"])
        self._news = list(plain["news"])
        self._conversions = {i: _read_conversion(both) for i, both in plain["conversions"]}
        self._statements = {i: [Statement(*each) for each in given] for i, given in plain["statements"]}
        self._arrivals = Counter({tuple(when): n for when, n in plain["arrivals"]})
        self._days = self._find_days()
        if self.count != count:
            raise ValueError(f"there must be {count} trials (got {self.count})")

    # Trials by row ----------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many trials there are."""
        return len(self._asked)

    @property
    def next_number(self) -> int:
        return len(self._asked) + 1

    def count_points(self) -> int:
        """How many different queries there are, in their contexts."""
        return len(self._find_points())

    def _find_points(self) -> dict[bytes, int]:
        """The number of each different row of X, by its bytes, in the order in which they came."""
        if self._points is None:
            _, first = np.unique(self.column("point"), return_index=True)
            rows, width = self._X[first].tobytes(), self._X.itemsize * self.columns
            self._points = {rows[width * i : width * (i + 1)]: i for i in range(len(first))}
        return self._points

    def column(self, name: str) -> Any:
        """One of COLUMNS, of all trials. Later events may change it."""
        return self._columns[name][: len(self._asked)]

    @property
    def told(self) -> Mask:
        """Which trials have an outcome."""
        return np.asarray(np.isfinite(self.column("delay")))

    @property
    def has_heard(self) -> bool:
        """Whether anything was heard: an outcome, or conversions of a day that did not fail."""
        return bool(np.any(self.told) or np.any(self.column("converted")[self.column("failure") < 0]))

    @property
    def rows(self) -> TrialRecords:
        """Everything about each trial, as records that are made when they are looked at."""
        return TrialRecords(self)

    def record(self, i: int) -> TrialRecord:
        """Everything about the trial in a row."""
        columns, record = self._columns, TrialRecord(self.asked(i))
        record.has_delay = not columns["undelayed"][i]
        if math.isfinite(columns["delay"][i]):
            record.told = self._make_told(i)
            record.rounds, record.known_from = columns["rounds"][i].item(), columns["known_from"][i].item()
        record.first_told, record.amended = self._first.get(i, record.told), columns["amended"][i].item()
        if columns["failure"][i] >= 0:
            kind, at = FAILURES[columns["failure"][i]], columns["failed_at"][i].item()
            record.failed = Failed(number=i + 1, kind=kind, at=at)
        if i in self._conversions:
            record.first_told, record.converted = self._conversions[i]
        if i in self._statements:
            record.statements, record.counted_at = self._statements[i], columns["counted_at"][i].item()
        record.run, (record.ended_by, record.remark) = self._run.get(i), self._who.get(i, (None, ""))
        return record

    def _make_told(self, i: int) -> Told:
        """The outcome in a row."""
        value, noise, at = (self._columns[name][i].item() for name in ("y", "noise", "told_at"))
        known = None if math.isnan(noise) else noise
        return Told(number=i + 1, value=value, noise=known, at=at, key=self._tell_keys.get(i))

    def params(self, i: int) -> Mapping[str, Any]:
        """What was run in a row, as far as is known."""
        return self._run[i] if i in self._run else self.asked(i).params

    def list_params(self, i: int) -> list[Mapping[str, Any]]:
        """What was asked in a row, and everything that was said to have been run."""
        runs = [self._run.get(i), *(past.run for past in self._past.get(i, ()))]
        return [self.asked(i).params, *(run for run in runs if run is not None)]

    def params_before(self, i: int) -> Mapping[str, Any]:
        """What was run in a row, as was known before the newest change of it."""
        past = self._past.get(i)
        run = past[-1].run if past else None
        return self.asked(i).params if run is None else run

    def has_changed(self, number: int, since: int) -> bool:
        """Whether anything about a trial has changed since a position."""
        i = number - 1
        return bool(max(self._columns["changed"][i], self._undone.get(i, 0)) > since)

    def asked(self, i: int) -> Asked:
        """The ask in a row."""
        return self._asked[i]

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
        """Apply the next event; m is the patience of now, x the row of a query that was asked or run.

        source  what to make the event itself of: its JSON, or the event"""
        self.position += 1
        kind = plain["event"]
        self._recent = self._recent if kind == "asked" else None
        self._index = None if kind in CORRECTIONS else self._index
        if kind != "asked" and self._lent is not None:
            lent, self._lent = self._lent(), None
            _ = None if lent is None else lent.whole()
        if kind == "asked":
            self._ask(plain, source, x)
        elif kind == "told":
            self._tell(plain, self._find_row(plain), m, x)
        elif kind == "converted":
            self._convert(plain, self._find_row(plain), m)
        elif kind == "counted":
            self._count(plain, self._find_row(plain), m)
        elif kind == "failed":
            self._fail(plain, self._find_row(plain))
        elif kind == "amended" and plain["number"] is not None:
            self._amend(plain, self._find_row(plain), m, x)
        elif kind == "undone" and plain["number"] is not None:
            self._undo(plain, self._find_row(plain), x)
        self._note_key(plain, source)

    def pass_over(self, plain: Mapping[str, Any], source: str | Event) -> None:
        """The next event, if it does not count: it was written into a locked study."""
        self.position += 1
        if plain["event"] in ("told", "failed"):
            self._columns[f"{plain['event']}_once"][self._find_row(plain)] = True
        self._note_key(plain, source)

    def _note_key(self, plain: Mapping[str, Any], source: str | Event) -> None:
        if plain.get("key") is not None:
            self.keys.note(plain["key"], plain, source, self.position)

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
        points = self._find_points()
        columns["point"][i] = points.setdefault(self._X[i].tobytes(), len(points))
        columns["by_hand"][i], columns["undelayed"][i] = by_hand, plain.get("told_at_once", False)
        columns["place"][i] = columns["changed"][i] = self.position
        if "shown_over" in plain:
            columns["shown_over"][i], columns["undelayed"][i] = plain["shown_over"], True
            self._days[columns["point"][i].item(), plain["asked_at"]] = i + 1
        if self._recent is not None and (by_hand or plain["asked_at"] < self._recent.now):
            self._recent = None
        self._asked.append(source)
        if self._index is not None:
            self._index.note_asked(i, self._X[i])
        if self._news and not by_hand:
            order, knew = columns["order"], plain["knew"]
            self._news = [row for row in self._news if order[row] > knew]
            for row in self._news:
                columns["known_from"][row] = self.next_number

    def _tell(self, plain: Mapping[str, Any], i: int, m: float, x: Sequence[float] | None) -> None:
        """An outcome. If two come at once, or a failure came first that is final, the first counts."""
        self._columns["told_once"][i] = True
        if self.takes_outcome(i):
            self._keep(i)
            self._hear(plain, i, m)
            if self._index is not None and i in self._index.arrived.out:
                self._index.note_told(i)
            else:
                self._index = None
            if x is not None:
                self._move(i, plain["params"], x)

    def _convert(self, plain: Mapping[str, Any], i: int, m: float) -> None:
        """A conversion after a 0. If two come at once, the first counts."""
        columns = self._columns
        if not columns["told_none"][i] or columns["amended"][i]:
            return
        self._keep(i)
        nothing = self._make_told(i)
        self._tell_keys.pop(i, None)
        columns["undelayed"][i] = False
        self._hear({**plain, "noise": None}, i, m)
        self._conversions[i] = nothing, cast("Converted", event_from_dict(plain))

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
        columns["delay"][i] = self._measure_delay(i)
        self._news.append(i)
        if "key" in plain:
            self._tell_keys[i] = plain["key"]
        self._note_who(plain, i)

    def _measure_delay(self, i: int) -> float:
        """The delay of an outcome that was told."""
        columns = self._columns
        if columns["undelayed"][i]:
            return 0.0
        if not self.by_clock:
            return float(columns["rounds"][i])
        return measure_wait(columns["asked_at"][i].item(), columns["told_at"][i].item())

    def _note_who(self, plain: Mapping[str, Any], i: int) -> None:
        """Who told how a trial ended."""
        by, remark = plain.get("by"), plain.get("remark") or plain.get("reason") or ""
        if by is not None or remark:
            self._who[i] = by, remark

    # Corrections ------------------------------------------------------------------------------------------------------

    def _keep(self, i: int) -> None:
        """Keep a row as it is before the event of now changes it. Of a mere query there is nothing to keep."""
        columns = self._columns
        if columns["changed"][i] != columns["place"][i]:
            values = {name: column[i].item() for name, column in columns.items() if name not in LASTING}
            past = PastRow(
                columns=values,
                tell_key=self._tell_keys.get(i),
                conversion=self._conversions.get(i),
                statements=self._statements.get(i, ()),
                run=self._run.get(i),
                who=self._who.get(i),
            )
            self._past[i] = (*self._past.get(i, ()), past)
        columns["changed"][i] = self.position

    def _undo(self, plain: Mapping[str, Any], i: int, x: Sequence[float] | None) -> None:
        """The newest change of a trial never was. Where something else changed it meanwhile, nothing happens."""
        columns = self._columns
        if plain["position"] != columns["changed"][i]:
            return
        self.taken_back.add(plain["position"])
        if plain["position"] == columns["place"][i]:
            self._keep(i)
            self._end({"kind": "withdrawn", **plain}, i)
            return
        self._undone[i] = self.position
        self._note_first(i)
        self._empty(i)
        columns["changed"][i] = columns["place"][i]
        if past := self._past.pop(i, ()):
            self._put_back(i, past[-1])
            if past[:-1]:
                self._past[i] = past[:-1]
        if x is not None:
            self._move(i, self._run.get(i), x)

    def _put_back(self, i: int, past: PastRow) -> None:
        """The row as it was."""
        for name, value in past.columns.items():
            self._columns[name][i] = value
        for kept, value in (
            (self._tell_keys, past.tell_key),
            (self._conversions, past.conversion),
            (self._run, past.run),
            (self._who, past.who),
        ):
            if value is not None:
                cast("dict[int, Any]", kept)[i] = value
        self._exchange_statements(i, past.statements)
        if math.isfinite(self._columns["delay"][i]):
            self._news.append(i)

    def _empty(self, i: int) -> None:
        """As if nothing had happened to a query since it was asked; where it was run is told by `_move`."""
        for name, (_, empty) in COLUMNS.items():
            if name not in (*LASTING, "changed"):
                self._columns[name][i] = empty
        said = self.asked(i)
        self._columns["undelayed"][i] = said.told_at_once or said.shown_over is not None
        for kept in (self._tell_keys, self._conversions, self._run, self._who):
            cast("dict[int, Any]", kept).pop(i, None)
        self._exchange_statements(i, ())
        self._news = [row for row in self._news if row != i]

    def _note_first(self, i: int) -> None:
        """Remember how a trial was told first."""
        if i not in self._first and math.isfinite(self._columns["delay"][i]):
            self._first[i] = self._conversions[i][0] if i in self._conversions else self._make_told(i)

    def _move(self, i: int, run: Mapping[str, Any] | None, x: Sequence[float]) -> None:
        """From here on a query is where it was run. What was handed out before stays as it is."""
        self._run.pop(i, None)
        if run is not None and dict(run) != dict(self.asked(i).params):
            self._run[i] = run
        X = self._X.copy()
        X[i] = x
        self._set_rows(X)

    def place_rows(self, rows: Sequence[Sequence[float]]) -> None:
        """The rows of all queries in a space that has other ranges now."""
        X = self._X.copy()
        X[: self.count] = np.array(rows, dtype=float).reshape(-1, self.columns)
        self._set_rows(X)

    def _set_rows(self, X: Array) -> None:
        points: dict[bytes, int] = {}
        self._X, self._recent, self._index, self._points = X, None, None, points
        self._columns["point"] = point = self._columns["point"].copy()
        for i in range(self.count):
            point[i] = points.setdefault(X[i].tobytes(), len(points))
        self._days = self._find_days()

    def _find_days(self) -> dict[tuple[int, float], int]:
        """The trials that count people, by point and day."""
        point, asked_at = self.column("point"), self.column("asked_at")
        days = np.flatnonzero(~np.isnan(self.column("shown_over")))
        return {(point[i].item(), asked_at[i].item()): int(i) + 1 for i in days}

    def change_patience(self, m: float, by_clock: bool) -> None:
        """Another patience, by which every outcome is judged, as if it had been so from the first query on."""
        self.by_clock, self._recent, self._index = by_clock, None, None
        for i in np.flatnonzero(self.told).tolist():
            self._columns["delay"][i], self._columns["m"][i] = self._measure_delay(i), m
        for i in self._statements:
            self._columns["converted_late"][i] = self._count_late(i, m)

    def _amend(self, plain: Mapping[str, Any], i: int, m: float, x: Sequence[float] | None) -> None:
        columns, value, told_at = self._columns, plain.get("value"), plain.get("told_at")
        told, failed = math.isfinite(columns["delay"][i]), columns["failure"][i] >= 0
        if plain.get("again"):
            applies = not (told or failed) if value is None else self.takes_outcome(i)  # of two, the first counts
        elif value is not None or told_at is not None:
            applies = told
        else:
            applies = told or failed or x is not None
        if not applies:
            return
        self._note_first(i)
        self._keep(i)
        if not math.isnan(columns["shown_over"][i]):  # a day that failed counts its people again
            self._put_back(i, self._past[i][-2])
            columns["changed"][i] = self.position
        elif plain.get("taken_back") or plain.get("failure") is not None:
            run = self._run.get(i)
            self._empty(i)
            if run is not None:
                self._run[i] = run
            if plain.get("failure") is not None:
                self._end({**plain, "kind": plain["failure"]}, i)
        elif plain.get("again"):
            self._hear({"noise": None, **plain, "at": told_at}, i, m)
        else:
            self._put_right(plain, i)
        if x is not None:
            self._move(i, plain["params"], x)

    def _put_right(self, plain: Mapping[str, Any], i: int) -> None:
        """Another outcome, or another time of it."""
        columns, value, noise, told_at = self._columns, *map(plain.get, ("value", "noise", "told_at"))
        if value is not None:
            columns["y"][i], columns["noise"][i] = value, math.nan if noise is None else noise
            if self.conversions and value == 0.0:
                columns["told_none"][i], columns["undelayed"][i], columns["delay"][i] = True, True, 0.0
        if told_at is not None:
            columns["told_at"][i] = told_at
            columns["delay"][i] = self._measure_delay(i)
        if value is not None or told_at is not None:
            columns["amended"][i] += 1

    def _count(self, plain: Mapping[str, Any], i: int, m: float) -> None:
        """Another statement of the counts of a day."""
        columns, at = self._columns, plain["at"]
        if math.isnan(columns["shown_over"][i]):
            raise ValueError(f"trial {i + 1} does not count people")
        self._keep(i)
        age = self.measure_age(i, at)
        after = insert_statement(self._statements.get(i, ()), Statement(age, plain["shown"], plain["converted"]))
        self._exchange_statements(i, after)
        last = after[-1]
        columns["shown"][i], columns["converted"][i], columns["stated"][i] = last.shown, last.converted, last.age
        columns["width"][i] = self._measure_width(i, after)
        columns["converted_late"][i] = self._count_late(i, m)
        if last.age == age:
            columns["counted_at"][i] = at

    def _exchange_statements(self, i: int, after: Sequence[Statement]) -> None:
        """From here on these are the counts of a day."""
        before = self._statements.pop(i, ())
        for when, n in self._list_arrivals(i, before).items():
            self._arrivals[when] -= n
            if not self._arrivals[when]:
                del self._arrivals[when]
        if after:
            self._statements[i] = after
            self._arrivals.update(self._list_arrivals(i, after))

    def _count_late(self, i: int, m: float) -> int:
        """How many conversions of a day came after patience."""
        statements = self._statements[i]
        width = self._measure_width(i, statements)
        return sum(n for (since, *_), n in self._list_arrivals(i, statements).items() if since - width > m)

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
        """Whether these counts are on record already. In rounds, the same counts again say nothing new, and older ones
        cannot be placed."""
        i, new = event.number - 1, (event.shown, event.converted)
        statements = self._statements.get(i, ())
        if not self.by_clock:
            older = event.at < self._columns["counted_at"][i]
            return bool(statements) and (bool(older) or statements[-1][1:] == new)
        return Statement(self.measure_age(i, event.at), *new) in statements

    def find_day(self, x: Sequence[float], day: float) -> int | None:
        """The trial that counts the people who were shown a query (with its context) that day."""
        point = self._find_points().get(np.array(x, dtype=float).tobytes())
        return None if point is None else self._days.get((point, day))

    def _fail(self, plain: Mapping[str, Any], i: int) -> None:
        self._columns["failed_once"][i] = True
        if not math.isfinite(self._columns["delay"][i]) and self._columns["failure"][i] < 0:
            self._keep(i)
            self._end(plain, i)
            if self._index is not None and self._columns["gone"][i]:
                self._index.note_gone(i)
            else:
                self._index = None

    def _end(self, plain: Mapping[str, Any], i: int) -> None:
        """From here on this is how a trial ended, without an outcome."""
        columns, kind = self._columns, plain["kind"]
        columns["failure"][i], columns["failed_at"][i] = FAILURES.index(kind), plain["at"]
        columns["infeasible"][i], columns["gone"][i] = kind == "infeasible", kind != "infeasible"
        columns["order"][i] = self.position
        self._note_who(plain, i)

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

    def index_outcomes(self, split: int) -> OutcomeIndex | NewestIndex | None:
        """The outcomes by query where they repeat, and else which are new; None where they are few, or a query is
        infeasible. split is the number of columns of contexts."""
        if self.count <= MANY or self._statements or np.any(self.column("infeasible")):
            return None
        kind = OutcomeIndex if 2 * self.count_points() <= self.count else NewestIndex
        if not isinstance(self._index, kind):
            self._index = kind(self._columns, self._X, self.count, split)
        return self._index

    def lend_history(self, now: float, m: float, late: Literal["use", "ignore"]) -> LentHistory:
        """What `history` gives, made if it is needed."""
        n = self.count
        lent = LentHistory(lambda: self.history(now, m, late, n))
        self._lent = weakref.ref(lent)
        return lent

    def list_X(self, rows: Indices) -> Array:
        """Context and query of some rows."""
        return np.asarray(self._X[rows])

    def list_contexts(self, split: int) -> Array:
        """The context of each trial, which has so many columns."""
        return self._X[: self.count, :split]

    def ages_of(self, rows: Indices, now: float) -> Array:
        """The age of some queries that have no outcome."""
        if not self.by_clock:
            return np.asarray(self.count - rows, dtype=float)
        return measure_waits(self._columns["asked_at"][rows], now)

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

    def find_statuses(self, now: float, m: float) -> NDArray[np.intp]:
        """The status of every trial, as its place in STATUSES."""
        told, delay = self.told, self.column("delay")
        kinds: list[tuple[Mask, Status]] = [
            (told & (delay <= self.column("m")), "heard"),
            (told, "late"),
            (self.column("failure") >= 0, "failed"),
            (~np.isnan(self.column("shown_over")), "counted"),
            (self.ages(now) <= m, "pending"),
        ]
        places = [STATUSES.index(status) for _, status in kinds]
        return np.select([rows for rows, _ in kinds], places, STATUSES.index("expired"))

    def trial(self, number: int, now: float, m: float) -> Trial:
        row = self.rows[number - 1]
        asked, told, failed = row.asked, row.told, row.failed
        counts = row.statements[-1] if row.statements else None
        return Trial(
            number=number,
            params=dict(row.params),
            asked_params=None if row.run is None else dict(asked.params),
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
            asked_by=asked.by,
            ended_by=row.ended_by,
            remark="; ".join(dict.fromkeys(filter(None, [asked.remark, row.remark]))),
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
