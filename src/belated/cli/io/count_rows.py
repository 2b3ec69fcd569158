"""Rows of a file that count people: query, context, day shown, how many were shown, how many converted so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from belated import Study
from belated.cli.io.cells import ParameterTexts, parse_time, parse_whole
from belated.cli.io.columns import COUNT_FIELDS
from belated.cli.io.files import FileRow, LineErrors
from belated.cli.io.rows import read_remark
from belated.errors import InvalidInput
from belated.record.events import Counted
from belated.space.encoding import Space
from belated.validation import format_value


@dataclass(frozen=True, kw_only=True)
class CountTotals:
    """What became of the rows."""

    days: int = 0  # trials: a query and day that was not here
    restated: int = 0  # counts of a day that was here, at another time or others than before
    nobody: int = 0  # rows without anybody shown, which are left out


def counts_people(row: FileRow) -> bool:
    """Whether a row counts people."""
    return "shown" in row.cells or "converted" in row.cells


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
    days = nobody = 0
    last, before = len(study.trials()), count_statements(study)
    for row in rows:
        with errors.collect(row.line):
            parsed = list(split_statements(row.cells) if nested else [parse_cells(study, row.cells)])
            if as_of is not None:
                parsed = [{"as_of": as_of, **each} for each in parsed]
            if not parsed[-1].get("shown"):
                nobody += 1
                continue
            written = study.add_many(parsed, remark=read_remark(row) or None, by=by)
            number = written[-1].number
            if number > last:
                last, days = number, days + 1
    return CountTotals(days=days, restated=count_statements(study) - before - days, nobody=nobody)


def count_statements(study: Study) -> int:
    """How often counts were stated."""
    return sum(isinstance(event, Counted) for event in study.events())


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
        row[name] = parse_whole(text, name) if name in ("shown", "converted") else parse_time(text, name)
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
        if name not in ("number", "statements", "remark") and value is not None
    }
    stated = cells.get("statements") or [{}]
    if not isinstance(stated, list) or not all(isinstance(each, dict) for each in stated):
        raise InvalidInput(f"statements must be a list of objects (got {format_value(stated)})")
    return [{**row, **each} for each in stated]
