"""What pages show of a study: numbers, rows and sentences, read from it; the templates write them down."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from belated.errors import BelatedError, Locked
from belated.learner.arrays import Array
from belated.learner.delays.survival import spread_evenly
from belated.record.log import LogEntry, describe_event
from belated.record.undoing import PastEvent
from belated.report.content import describe_goal
from belated.results import Trial, list_awaited
from belated.service.pages.standing import Standing, read_standing
from belated.service.served import ServedStudy
from belated.settings import Settings
from belated.space.encoding import Space
from belated.space.parameters import Choice, Integer, Real
from belated.space.points import Points
from belated.wording import format_count, format_duration, format_value

ROWS = 25  # of a page of a table
OUT_ROWS = 50  # trials that are out, on the page where they are told
OUT_BESIDE = 12  # of them, beside the charts; more have the width of the page
FEW = 60  # values of a column of a list, to choose from
SPARKS = 48  # points of a small curve
OUT = ("pending", "expired")
SHOWN_FIRST = ("pending", "expired", "heard", "late", "failed", "counted")
CALENDAR = (1e8, 1e11)  # seconds that are dates


@dataclass(frozen=True)
class PageTime:
    """A time: how long ago, and exactly."""

    seconds: float
    ago: str
    exact: str
    iso: str  # empty where the clock has no calendar


def read_moment(at: float, now: float) -> PageTime:
    ago = f"{format_duration(now - at)} ago"
    if not CALENDAR[0] <= at < CALENDAR[1]:
        return PageTime(at, ago, f"{at:g} s", "")
    when = datetime.fromtimestamp(at, UTC)
    return PageTime(at, ago, f"{when:%Y-%m-%d %H:%M:%S} UTC", when.isoformat(timespec="seconds"))


@dataclass(frozen=True)
class Field:
    """A field of a form for one parameter."""

    key: int  # which one it is, for ids in the page: a name may have any letters
    name: str
    label: str
    options: Sequence[tuple[str, str]]  # as JSON, and as text; empty: it is typed
    hint: str
    value: str = ""  # as typed, or as JSON


def list_fields(space: Space | None, values: Mapping[str, Any] | None = None) -> list[Field]:
    """A field for each parameter of a space, filled with the values of a query or context."""
    if space is None:
        return []
    return [make_field(space, i, values) for i in range(len(space.names))]


def make_field(space: Space, i: int, values: Mapping[str, Any] | None) -> Field:
    name = space.names[i]
    if isinstance(space.parameters, Points):
        seen = list(dict.fromkeys(row[i] for row in space.parameters.rows))
        options, hint = (seen, "") if len(seen) <= FEW else ([], "a value of the list")
    else:
        kind = space.parameters[i]
        options = list(kind.options) if isinstance(kind, Choice) else []
        hint = describe_range(kind) if isinstance(kind, Real | Integer) else ""
    written = [(json.dumps(option), format_value(option)) for option in options]
    shown = "" if values is None else json.dumps(values[name]) if written else format_value(values[name])
    return Field(i, name, space.format_label(name), written, hint, shown)


def describe_range(kind: Real | Integer) -> str:
    whole = "whole, " if isinstance(kind, Integer) else ""
    return f"{whole}{format_value(kind.low)} to {format_value(kind.high)}"


@dataclass(frozen=True)
class ListedTrial:
    """A trial as a row of a table."""

    number: int
    status: str
    word: str  # the status, or how it failed
    cells: Sequence[str]
    outcome: str
    flag: str  # what is odd about the outcome
    asked: PageTime
    age: str  # while it is out
    overdue: bool
    waited: str  # once it has ended
    by: str
    trial: Trial


def read_row(study: ServedStudy, trial: Trial, now: float, last: int) -> ListedTrial:
    settings = study.settings
    around = () if settings.context is None else settings.context.names
    cells = [format_value(trial.params[name]) for name in settings.space.names]
    cells += [format_value((trial.context or {}).get(name)) for name in around]
    out = trial.status in OUT
    rounds = "" if settings.patience.by_clock else f", {format_count(last + 1 - trial.number, 'round')}"
    waited = "" if trial.told_at is None or not trial.has_delay else format_duration(trial.told_at - trial.asked_at)
    return ListedTrial(
        number=trial.number,
        status=trial.status,
        word=trial.failure or trial.status,
        cells=cells,
        outcome=trial.describe_outcome(),
        flag="" if trial.outcome is None else settings.objective.flag(trial.outcome),
        asked=read_moment(trial.asked_at, now),
        age=f"{format_duration(now - trial.asked_at)}{rounds}" if out else "",
        overdue=trial.status == "expired",
        waited=waited,
        by=trial.ended_by or trial.asked_by or "",
        trial=trial,
    )


@dataclass(frozen=True)
class Column:
    """A column of params or context."""

    title: str
    numeric: bool


def list_columns(settings: Settings) -> list[Column]:
    """The columns of the params and the context."""
    spaces = [settings.space, *([] if settings.context is None else [settings.context])]
    places = [(space, i, name) for space in spaces for i, name in enumerate(space.names)]
    return [Column(space.format_label(name), is_numeric(space, i)) for space, i, name in places]


def is_numeric(space: Space, i: int) -> bool:
    kinds = space.parameters
    values = [row[i] for row in kinds.rows] if isinstance(kinds, Points) else getattr(kinds[i], "options", [])
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


@dataclass(frozen=True)
class StudySummary:
    """A study at a glance."""

    name: str
    about: str
    goal: str
    label: str  # of the outcome
    counts: Mapping[str, int]
    trials: int
    out: int
    oldest: str  # for how long the oldest has been out
    standing: Standing
    spark: str  # how it went, as points of a small curve
    silent: int  # of conversions: who counts as not converted by now
    attention: Sequence[str]
    closed: bool
    locked: bool
    patience: str
    newest: PageTime | None  # when something happened last
    position: int


def summarize(study: ServedStudy) -> StudySummary:
    """A study in a few numbers; nothing is fitted for it."""
    settings, now = study.settings, study.clock()
    counts = {str(status): count for status, count in study.counts().items()}
    out = study.read_trials(study.find_trials(list_awaited(settings.objective.conversions)))
    ages = [now - trial.asked_at for trial in out]
    standing = read_standing(study)
    closed, locked = study.closed, study.locked
    listed = {status: counts[status] for status in SHOWN_FIRST if counts.get(status)}
    return StudySummary(
        name=study.name or "",
        about=settings.about or "",
        goal=settings.objective.goal,
        label=settings.outcome_label,
        counts=listed,
        trials=sum(counts.values()),
        out=len(out),
        oldest=format_duration(max(ages)) if ages else "",
        standing=standing,
        spark=draw_spark(standing.line),
        silent=counts.get("expired", 0) if settings.objective.conversions else 0,
        attention=list_attention(study, counts, closed, locked),
        closed=closed,
        locked=locked,
        patience=str(settings.patience),
        newest=find_newest(study),
        position=study.read_head().position,
    )


def find_newest(study: ServedStudy) -> PageTime | None:
    """When something happened last."""
    lines, _ = list_history(study, None, None, 0, 1)
    return lines[0].when if lines else None


def draw_spark(line: Array) -> str:
    """A curve in a box of 120 by 32, as the points of a polyline; empty where there is none."""
    if len(line) < 2:
        return ""
    kept = line[spread_evenly(len(line), SPARKS)]
    low, high = float(np.min(kept)), float(np.max(kept))
    x, y = np.linspace(2, 118, len(kept)), 16 + 0 * kept if high == low else 29 - 26 * (kept - low) / (high - low)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def list_attention(study: ServedStudy, counts: Mapping[str, int], closed: bool, locked: bool) -> list[str]:
    """What somebody should know or do, in words."""
    heard = counts.get("heard", 0) + counts.get("late", 0)
    found = []
    if counts.get("expired") and not study.settings.objective.conversions:
        found.append(f"{counts['expired']} out longer than patience")
    if locked or closed:
        found.append("locked" if locked else "closed")
    if not any(counts.values()):
        found.append("nothing asked yet")
    elif not heard and not counts.get("counted"):
        found.append("nothing heard yet")
    elif heard >= 3 and not closed and not study.hyperparameters():
        found.append("never fitted")
    return found


# Pages of tables ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Paging:
    """Which part of a list is shown."""

    total: int
    skip: int
    size: int

    @property
    def words(self) -> str:
        if not self.total:
            return "None"
        return f"{self.skip + 1:,} to {min(self.skip + self.size, self.total):,} of {self.total:,}"

    @property
    def before(self) -> int | None:
        return max(0, self.skip - self.size) if self.skip else None

    @property
    def after(self) -> int | None:
        return self.skip + self.size if self.skip + self.size < self.total else None


def list_out(study: ServedStudy) -> tuple[list[ListedTrial], int]:
    """The trials that are out, the oldest first, and how many there are."""
    numbers = study.find_trials(list_awaited(study.settings.objective.conversions))
    now, last = study.clock(), study.rounds
    rows = [read_row(study, trial, now, last) for trial in study.read_trials(numbers[:OUT_ROWS])]
    return rows, len(numbers)


def list_trials(
    study: ServedStudy, statuses: Sequence[str] | None, order: str, skip: int
) -> tuple[list[ListedTrial], Paging]:
    """A page of trials."""
    found, now, last = study.find_trials(statuses or None, order), study.clock(), study.rounds
    page = study.read_trials(found[skip : skip + ROWS])
    return [read_row(study, trial, now, last) for trial in page], Paging(len(found), skip, ROWS)


@dataclass(frozen=True)
class HistoryLine:
    """An event as a sentence, with its time."""

    entry: LogEntry
    when: PageTime


def list_history(
    study: ServedStudy, trial: int | None, by: str | None, skip: int, size: int = ROWS
) -> tuple[list[HistoryLine], Paging]:
    """A page of what happened, the newest first: of one trial, of one person."""
    places = study.find_events(trial, by)[::-1]
    page = study.read_events(places[skip : skip + size])
    return write_lines(page, study.clock()), Paging(len(places), skip, size)


def write_lines(events: Sequence[PastEvent], now: float) -> list[HistoryLine]:
    entries = [describe_event(past.position, past.event) for past in events]
    return [HistoryLine(entry, read_moment(entry.at, now)) for entry in entries]


@dataclass(frozen=True)
class UndoPreview:
    """What an undo would take back; or why there is nothing."""

    lines: Sequence[HistoryLine]
    refusal: str = ""

    @property
    def only(self) -> int | None:
        return self.lines[0].entry.position if self.lines else None


def preview_undo(study: ServedStudy, by: str | None) -> UndoPreview:
    if study.locked:
        return UndoPreview((), str(Locked()))
    try:
        return UndoPreview(write_lines(study.find_undo(by=by), study.clock()))
    except BelatedError as error:
        return UndoPreview((), str(error))


def describe_question(settings: Settings) -> str:
    """What is looked for, and for how long an outcome is waited for."""
    patience = "" if math.isinf(settings.patience.m) else f" Patience is {settings.patience}."
    return f"{describe_goal(settings)}{patience}"
