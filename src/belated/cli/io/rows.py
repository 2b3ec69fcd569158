"""Trials as rows of a file, and back: what `belated export` writes and `belated import` reads.

A row is a trial: its number, params, context, asked_at, and how it ended (outcome, noise, told_at, known_from, or
failure). Statuses and ages are not in it: they follow from the rest. known_from is the number of the first trial whose
choice could use the outcome; it gives delays in rounds. An outcome without told_at and known_from came together with
its query: nobody knows of a delay, so it has none. A row of JSON lines has a history where more happened than one tell.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from belated import Study, Trial
from belated.cli.io.cells import (
    ParameterTexts,
    format_text,
    format_time,
    parse_decimal,
    parse_text,
    parse_time,
    parse_whole,
)
from belated.cli.io.columns import (
    ALIASES,
    COUNT_FIELDS,
    FIELDS,
    Sheet,
    StudyColumns,
    map_columns,
    name_column,
    open_sheet,
    title_columns,
)
from belated.cli.io.files import FileRow, LineErrors, read_json_lines
from belated.cli.io.history import HistoryStep, TrialEnd, TrialEvent, collect_steps, find_end, parse_step
from belated.errors import InvalidInput
from belated.learner.arrays import Array
from belated.record.events import Asked, Counted, Event, Failed, Told
from belated.results import FAILURES, Failure
from belated.space.encoding import Space
from belated.validation import format_names, format_value, freeze, require_number, require_time, require_whole

TABLES = (".csv", ".xlsx")
LINES = (".jsonl", ".ndjson")
TIMES = ("asked_at", "told_at", "day", "as_of")
IMPORTED = "import "  # begins the keys of imported trials
MOST_TRIALS = 10**9  # a number beyond it is a mistake


@dataclass(frozen=True, kw_only=True)
class TrialRow:
    """A trial, as a file has it."""

    line: int
    params: Mapping[str, Any]
    context: Mapping[str, Any] | None
    number: int | None = None
    asked_at: float | None = None
    outcome: float | None = None
    noise: float | None = None
    told_at: float | None = None
    known_from: int | None = None
    failure: Failure | None = None
    history: tuple[HistoryStep, ...] = ()  # empty: nothing but its outcome or failure
    key: str = ""  # rows with different keys are different trials
    remark: str = ""  # what its other columns say

    @property
    def undelayed(self) -> Told | None:
        """Its outcome, if that came together with its query, as far as the file knows."""
        if self.history:
            first = self.history[0]
            return first.event if isinstance(first.event, Told) and first.known_from is None else None
        timed = self.known_from is not None or (self.asked_at is not None and self.told_at is not None)
        if self.outcome is None or timed:
            return None
        return Told(number=0, value=self.outcome, noise=self.noise, at=self.told_at or 0.0)

    def steps(self, now: float) -> Sequence[HistoryStep]:
        """All that happened to it: its history, or else its outcome or failure as one step, now if it has no time."""
        if self.history or (self.outcome is None and self.failure is None):
            return self.history
        event: Told | Failed
        at = now if self.told_at is None else self.told_at
        if self.failure is not None:
            event = Failed(number=0, kind=self.failure, at=at)
        else:
            event = Told(number=0, value=self.outcome or 0.0, noise=self.noise, at=at)
        return [HistoryStep(event, self.known_from)]

    def rounds(self, step: HistoryStep, asked_at: Array) -> int:
        """How many rounds after the trial was asked a step could be known; 1 is at once. By known_from, else by time:
        `asked_at` has when this row and those after it were asked."""
        if step.known_from is not None and self.number is not None:
            return max(1, step.known_from - self.number)
        if self.told_at is None:
            return 1
        return max(1, int(np.count_nonzero(asked_at <= self.told_at)))


# Writing --------------------------------------------------------------------------------------------------------------


def list_ends(trial: Trial) -> list[Any]:
    """How a trial ended, as FIELDS[2:] have it; what was not waited for has no times."""
    told = (trial.told_at, trial.known_from) if trial.has_delay else (None, None)
    return [trial.outcome, trial.noise, *told, trial.failure]


def list_counts(trial: Trial) -> list[float | None]:
    """What a trial counts, as COUNT_FIELDS have it."""
    return [None if trial.counted_at is None else trial.asked_at, trial.shown, trial.converted, trial.counted_at]


def build_row(
    trial: Trial, steps: Sequence[HistoryStep] = (), statements: Sequence[Counted] = (), remark: str = ""
) -> dict[str, Any]:
    row: dict[str, Any] = {"number": trial.number, "params": dict(trial.asked_params or trial.params)}
    if trial.context is not None:
        row["context"] = dict(trial.context)
    if remark:
        row["remark"] = remark
    if trial.counted_at is not None:
        row |= dict(zip(COUNT_FIELDS, list_counts(trial), strict=True))
        row["statements"] = [
            {"shown": event.shown, "converted": event.converted, "as_of": event.at} for event in statements
        ]
        if trial.failure is not None:
            row |= {"failure": trial.failure, "history": [step.to_dict() for step in steps]}
        return row
    row["asked_at"] = trial.asked_at
    row |= {name: value for name, value in zip(FIELDS[2:], list_ends(trial), strict=True) if value is not None}
    if steps and not (len(steps) == 1 and is_plain(steps[0].event)):
        row["history"] = [step.to_dict() for step in steps]
    return row


def is_plain(event: TrialEvent) -> bool:
    """Whether an outcome says all of this event."""
    return isinstance(event, Told) and event.params is None and event.by is None and not event.remark


def format_json_lines(trials: Iterable[Trial], events: Iterable[Event]) -> Iterator[str]:
    happened = list(events)
    steps, statements = collect_steps(happened), dict[int, list[Counted]]()
    for event in happened:
        if isinstance(event, Counted):
            statements.setdefault(event.number, []).append(event)
    said = {event.number: event.remark for event in happened if isinstance(event, Asked)}
    rows = (
        build_row(trial, steps.get(trial.number, ()), statements.get(trial.number, ()), said[trial.number])
        for trial in trials
    )
    return (json.dumps(row, allow_nan=False) + "\n" for row in rows)


def list_titles(study: Study, trials: Sequence[Trial]) -> list[str]:
    """The columns of a table of trials."""
    space, context = study.settings.space, study.settings.context
    people = COUNT_FIELDS if any(trial.counted_at is not None for trial in trials) else ()
    around = [] if context is None else [f"context.{name}" for name in context.names]
    said = ("remark",) if any(trial.remark for trial in trials) else ()
    return ["number", *map(name_column, space.names), *around, *FIELDS[1:], *people, *said]


def build_cells(trial: Trial, columns: Sequence[str]) -> dict[str, Any]:
    """The values of a trial by column; params as they are, None where there is nothing."""
    row: dict[str, Any] = {"number": trial.number}
    row |= {name_column(name): value for name, value in trial.params.items()}
    row |= {f"context.{name}": value for name, value in (trial.context or {}).items()}
    row["asked_at"] = trial.asked_at if trial.counted_at is None else None
    row |= dict(zip(FIELDS[2:], list_ends(trial), strict=True))
    row |= dict(zip(COUNT_FIELDS, list_counts(trial), strict=True))
    row["remark"] = format_text(trial.remark) or None
    return {column: row.get(column) for column in columns}


def list_texts(study: Study) -> Mapping[str, Callable[[Any], str]]:
    """How a value of each parameter's column is written, so that it is read back as the same."""
    space, context = study.settings.space, study.settings.context
    query, around = ParameterTexts(space), None if context is None else ParameterTexts(context)
    texts = {name_column(name): partial(query.format, name) for name in space.names}
    if context is not None and around is not None:
        texts |= {f"context.{name}": partial(around.format, name) for name in context.names}
    return texts


def format_csv(study: Study, trials: Sequence[Trial]) -> Iterator[str]:
    columns, titles, texts = list_titles(study, trials), title_columns(study), list_texts(study)
    yield _format_line([titles.get(column, column) for column in columns])

    def write(column: str, value: Any) -> str:
        if column in texts:
            return texts[column](value)
        if value is None or isinstance(value, str):
            return value or ""
        return format_time(value) if column in TIMES else repr(value)

    for trial in trials:
        yield _format_line([write(column, value) for column, value in build_cells(trial, columns).items()])


def _format_line(cells: list[str]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


# Reading --------------------------------------------------------------------------------------------------------------


def open_rows(study: Study, path: Path, errors: LineErrors, mapped: Sequence[str] = ()) -> Sheet:
    """The rows of a table or of JSON lines; the ending of its name says which. `mapped` are the words of --map."""
    if check_ending(path) not in TABLES:
        if mapped:
            raise InvalidInput("--map belongs to a table; JSON lines have the names of belated export")
        return Sheet(read_json_lines(path, errors))
    sheet = open_sheet(path, errors, StudyColumns.of(study, [*ALIASES, "key", "remark"], mapped))
    refuse_missing_columns(study, sheet)
    return sheet


def refuse_missing_columns(study: Study, sheet: Sheet) -> None:
    """Refuse rows that count people where a column that all of them need is not there: said once, not of every row."""
    named = [map_columns(study.settings.space.names, "params.")]
    if study.settings.context is not None:
        named.append(map_columns(study.settings.context.names, "context."))
    coordinates = dict.fromkeys(name for columns in named for name in columns.values())
    counted = [name for name in COUNT_FIELDS[:3] if name not in coordinates]
    if study.settings.outcomes != "conversion" or not set(counted) & set(sheet.found):
        return
    there = {name for columns in named for column, name in columns.items() if column in sheet.found}
    missing = [name for name in coordinates if name not in there] + [n for n in counted if n not in sheet.found]
    if missing:
        rule = f"there must be a column {' and '.join(missing)}, as rows that count people have"
        raise InvalidInput(f"{sheet.where}: {rule} (got {format_names(sheet.titles)})")


def check_ending(path: Path) -> str:
    """How the name of a file ends, which says how it is read; refused where that is unknown."""
    ending = path.suffix.lower()
    if ending not in (*TABLES, *LINES):
        raise InvalidInput(f"FILE must end in {', '.join(TABLES)} or {LINES[0]} (got {path})")
    return ending


def parse_row(study: Study, row: FileRow, nested: bool) -> TrialRow:
    """A row of a file as a trial of the study's space; `nested` where it comes from JSON lines."""
    space, context = study.settings.space, study.settings.context
    params, around, ends = _split_object(row.cells) if nested else _split_columns(space, context, row.cells)
    for alias, name in ALIASES.items():
        if alias in ends and name in ends:
            raise InvalidInput(f"give {alias} or {name}, not both")
        if alias in ends:
            ends[name] = ends.pop(alias)
    space.encode_run(params)  # refuses what cannot have been run
    if context is not None and around is not None:
        context.encode(around)
        around = context.as_given(around)
    failure = parse_failure(ends.get("failure"))
    if failure is not None and "outcome" in ends:
        raise InvalidInput("a row has an outcome or a failure, not both")
    key = ends.get("key", "")
    if not isinstance(key, str):
        raise InvalidInput(f"key must be a string (got {format_value(key)})")
    history = _parse_history(ends)
    return TrialRow(
        line=row.line,
        params=space.as_given(params),
        context=around,
        number=_parse_trial_number(ends, "number"),
        asked_at=_parse_time(ends, "asked_at"),
        outcome=_parse_number(ends, "outcome"),
        noise=_parse_number(ends, "noise"),
        told_at=_parse_time(ends, "told_at"),
        known_from=_parse_trial_number(ends, "known_from"),
        failure=failure,
        history=history,
        key=key,
        remark=read_remark(row),
    )


def read_remark(row: FileRow) -> str:
    """What a row says beside the trial: its remark, and its other columns with their titles."""
    said = row.cells.get("remark", "")
    if not isinstance(said, str):
        raise InvalidInput(f"remark must be a string (got {format_value(said)})")
    return "; ".join(filter(None, [parse_text(said), *(f"{title}: {text}" for title, text in row.extra.items())]))


def parse_failure(given: object) -> Failure | None:
    """How a trial failed; None where the row does not say."""
    kind = next((kind for kind in FAILURES if kind == given), None)
    if kind is None and given is not None:
        raise InvalidInput(f"failure must be one of {', '.join(FAILURES)} (got {format_value(given)})")
    return kind


def _parse_history(ends: Mapping[str, Any]) -> tuple[HistoryStep, ...]:
    """The steps of a row, if it has any. They must end as the row itself says."""
    given = ends.get("history", [])
    if not isinstance(given, list):
        raise InvalidInput(f"history must be a list of steps (got {format_value(given)})")
    steps = tuple(map(parse_step, given))
    end = _parse_number(ends, "outcome"), _parse_number(ends, "noise"), ends.get("failure")
    if steps and find_end(steps) != end:
        there, here = format_end(find_end(steps)), format_end(end)
        raise InvalidInput(f"its history ends with {there}, the row says {here}; change both, or leave history out")
    return steps


def format_end(end: TrialEnd) -> str:
    outcome, noise, failure = end
    told = "nothing" if outcome is None else f"{outcome!r}" if noise is None else f"{outcome!r} (noise {noise!r})"
    return failure or told


Parts = tuple[dict[str, Any], dict[str, Any] | None, dict[str, Any]]  # params, context, and all other fields


def _split_columns(space: Space, context: Space | None, cells: Mapping[str, str]) -> Parts:
    """The cells of a CSV; those of params and context are parsed."""
    query, outer = map_columns(space.names, "params."), {}
    if context is not None:
        outer = {c: n for c, n in map_columns(context.names, "context.").items() if c not in query}
    texts, z = ParameterTexts(space), None if context is None else ParameterTexts(context)
    params = {query[c]: texts.parse(query[c], text) for c, text in cells.items() if c in query}
    around = {outer[c]: z.parse(outer[c], text) for c, text in cells.items() if z and c in outer}
    return params, around or None, {c: text for c, text in cells.items() if c not in query and c not in outer}


def _split_object(cells: Mapping[str, Any]) -> Parts:
    """An object of JSON lines."""
    known = {*FIELDS, *ALIASES, "key", "remark", "params", "context", "history"}
    for name in cells:
        if name not in known:
            raise InvalidInput(f"there is no field {format_value(name)}; parameters belong under params")
    params, context = cells.get("params"), cells.get("context")
    if not isinstance(params, dict):
        raise InvalidInput(f"params must be an object (got {format_value(params)})")
    if context is not None and not isinstance(context, dict):
        raise InvalidInput(f"context must be an object (got {format_value(context)})")
    rest = {name: value for name, value in cells.items() if name not in ("params", "context") and value is not None}
    return params, context, rest


def _parse_number(ends: Mapping[str, Any], name: str) -> float | None:
    given = ends.get(name)
    return (
        None if given is None else parse_decimal(given, name) if isinstance(given, str) else require_number(given, name)
    )


def _parse_trial_number(ends: Mapping[str, Any], name: str) -> int | None:
    given = ends.get(name)
    if given is None:
        return None
    number = parse_whole(given, name) if isinstance(given, str) else require_whole(given, name)
    if not 1 <= number <= MOST_TRIALS:
        raise InvalidInput(f"{name} must be between 1 and {MOST_TRIALS} (got {format_value(number)})")
    return number


def _parse_time(ends: Mapping[str, Any], name: str) -> float | None:
    given = ends.get(name)
    if not isinstance(given, str):
        return None if given is None else require_time(given, name)
    when = parse_time(given, name)
    if not isinstance(when, datetime):
        return require_time(when, name)
    try:
        return when.timestamp()
    except (ValueError, OverflowError):
        raise InvalidInput(f"{name} must be a time that the clock can show (got {format_value(given)})") from None


# Identity -------------------------------------------------------------------------------------------------------------

TrialIdentity = tuple[object, object, float | None]


def identify(thing: TrialRow | Trial, params: Mapping[str, Any] | None = None) -> TrialIdentity:
    """Two trials are the same if their params, their context and the time at which they were asked are.

    By the millisecond, which is what a workbook keeps of a time.

    params  instead of its own"""
    return (
        freeze(params or thing.params),
        freeze(thing.context),
        None if thing.asked_at is None else round(thing.asked_at, 3),
    )


def make_key(row: TrialRow, before: Counter[str]) -> str:
    """The key of a row: its own, or one made of its content and of how often that content came before in the file."""
    if row.key:
        return f"{IMPORTED}{row.key}"
    content: list[Any] = [dict(row.params), row.context and dict(row.context), row.asked_at]
    if row.asked_at is None:
        content += [row.outcome, row.noise, row.told_at, row.failure]
    text = json.dumps(content, sort_keys=True)
    before[text] += 1
    return IMPORTED + hashlib.sha256(f"{text} {before[text]}".encode()).hexdigest()[:32]
