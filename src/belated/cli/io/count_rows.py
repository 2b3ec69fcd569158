"""Rows of a file that count people: query, context, day shown, how many were shown, how many converted so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from belated import Study, Trial
from belated.cli.io.cells import ParameterTexts, parse_day, parse_whole
from belated.cli.io.columns import COUNT_FIELDS
from belated.cli.io.files import FileRow, LineErrors
from belated.cli.io.history import parse_step, repeat_event
from belated.cli.io.rows import parse_failure, read_remark
from belated.errors import InvalidInput
from belated.record.events import Counted, Failed
from belated.space.encoding import Space
from belated.validation import format_value


@dataclass(frozen=True, kw_only=True)
class CountTotals:
    """What became of the rows."""

    days: int = 0  # trials: a query and day that was not here
    restated: int = 0  # counts of a day that was here, at another time or others than before
    fewer: int = 0  # of these: fewer people, or fewer conversions, than were counted before
    nobody: int = 0  # rows without anybody shown, which are left out
    failed: int = 0  # days that ended so, as their rows say


def counts_people(study: Study, row: FileRow) -> bool:
    """Whether a row counts people: it says how many, or of which day."""
    context = study.settings.context
    names = {*study.settings.space.names, *(() if context is None else context.names)}
    return "shown" in row.cells or "converted" in row.cells or ("day" in row.cells and "day" not in names)


def import_counts(
    study: Study,
    rows: Iterable[FileRow],
    errors: LineErrors,
    as_of: datetime | float | None,
    *,
    nested: bool,
    by: str | None = None,
) -> CountTotals:
    """Add what the rows count, signed by whom the shell or a server knows."""
    nobody, failed, before = 0, 0, len(list_statements(study))
    seen: dict[tuple[int, object], tuple[int, tuple[int, int]]] = {}  # by trial and as_of: the line, and its counts
    ends: list[tuple[FileRow, Trial]] = []
    for row in rows:
        with errors.collect(row.line):
            refuse_one_query(row)
            parsed = list(split_statements(row.cells) if nested else [parse_cells(study, row.cells)])
            if as_of is not None:
                parsed = [{"as_of": as_of, **each} for each in parsed]
            if not (parsed[-1].get("shown") or parsed[-1].get("converted")):
                nobody += 1
                continue
            trial = study.add_many(parsed, remark=read_remark(row) or None, by=by)[-1]
            counts = parsed[-1]["shown"], parsed[-1]["converted"]
            line, said = seen.setdefault((trial.number, parsed[-1].get("as_of")), (row.line, counts))
            if said != counts:
                rule = "add up the rows of one query, context and day, or say in as_of which is later"
                raise InvalidInput(f"{counts[1]} of {counts[0]}, but line {line} has {said[1]} of {said[0]}; {rule}")
            ends.append((row, trial))
    for row, trial in ends:
        with errors.collect(row.line):
            failed += end_day(study, trial, row, by)
    return compare_statements(list_statements(study), before, nobody, failed)


def refuse_one_query(row: FileRow) -> None:
    """Refuse what a row that counts people cannot say."""
    for name in ("outcome", "value", "noise", "asked_at", "at", "told_at", "known_from"):
        if row.cells.get(name) is not None:
            raise InvalidInput(f"a row counts the people of a day, or is one query with its {name}, not both")


def end_day(study: Study, trial: Trial, row: FileRow, by: str | None) -> bool:
    """Let a day fail where its row says so. Whether that is new."""
    kind = parse_failure(row.cells.get("failure"))
    if kind is None or trial.failure is not None:
        return False
    steps = [parse_step(step).event for step in row.cells.get("history", ())]
    before = next((event for event in reversed(steps) if isinstance(event, Failed) and event.kind == kind), None)
    if before is not None:
        return repeat_event(study, trial.number, before)
    study.fail(trial, kind, by=by)
    return True


def list_statements(study: Study) -> list[Counted]:
    """All counts that were stated."""
    return [event for event in study.events() if isinstance(event, Counted)]


def compare_statements(statements: Sequence[Counted], before: int, nobody: int, failed: int) -> CountTotals:
    """What is new since so many statements."""
    newest: dict[int, Counted] = {}  # by trial
    days = restated = fewer = 0
    for i, new in enumerate(statements):
        old = newest.get(new.number)
        later = old is None or new.at >= old.at
        if i >= before:
            days += old is None
            restated += old is not None
            fewer += old is not None and later and (new.shown < old.shown or new.converted < old.converted)
        if later:
            newest[new.number] = new
    return CountTotals(days=days, restated=restated, fewer=fewer, nobody=nobody, failed=failed)


def parse_cells(study: Study, cells: Mapping[str, str]) -> dict[str, Any]:
    """A line of a CSV as a row of `add_many`."""
    space, context = study.settings.space, study.settings.context
    row: dict[str, Any] = {"params": _take(space, "params.", cells)}
    if context is not None:
        row["context"] = _take(context, "context.", cells)
    for name in COUNT_FIELDS:
        if name not in cells or (name in space.names and f"params.{name}" not in cells):
            continue
        text = cells[name]
        row[name] = parse_whole(text, name) if name in ("shown", "converted") else parse_day(text, name)
    return row


def _take(space: Space, prefix: str, cells: Mapping[str, str]) -> dict[str, Any]:
    texts = ParameterTexts(space)
    found = {name: cells.get(f"{prefix}{name}", cells.get(name)) for name in space.names}
    return {name: texts.parse(name, text) for name, text in found.items() if text is not None}


def split_statements(cells: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """An object of JSON lines as rows of `add_many`: one for each time that its counts were stated."""
    row = {
        name: value
        for name, value in cells.items()
        if name not in ("number", "statements", "remark", "failure", "history") and value is not None
    }
    stated = cells.get("statements") or [{}]
    if not isinstance(stated, list) or not all(isinstance(each, dict) for each in stated):
        raise InvalidInput(f"statements must be a list of objects (got {format_value(stated)})")
    return [{**row, **each} for each in stated]
