"""Rows of a data frame as rows that a study adds. Any frame of pandas or polars will do: neither is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from belated.errors import InvalidInput
from belated.validation import format_names, format_value


def read_frame(
    frame: Any, names: Sequence[str], around: Sequence[str], columns: Mapping[str, str | None]
) -> list[dict[str, Any]]:
    """A row for each of the frame's, as `Study.add_many` takes it.

    names    the columns of the query
    around   the columns of the context, if there is one
    columns  {"value": "yield", "at": None, ...}: what else a row has, and in which column
    """
    records = _list_records(frame)
    wanted = {what: column for what, column in columns.items() if column is not None}
    missing = [name for name in (*names, *around, *wanted.values()) if records and name not in records[0]]
    if missing:
        raise InvalidInput(
            f"the frame must have a column for each of {format_names((*names, *around, *wanted.values()))} "
            f"(got {format_names(records[0])})"
        )
    return [
        {"params": {name: record[name] for name in names}}
        | ({"context": {name: record[name] for name in around}} if around else {})
        | {what: record[column] for what, column in wanted.items() if not _is_missing(record[column])}
        for record in records
    ]


def _list_records(frame: Any) -> list[dict[str, Any]]:
    for method, given in (("to_dicts", ()), ("to_dict", ("records",))):  # polars, pandas
        if callable(getattr(frame, method, None)):
            return list(getattr(frame, method)(*given))
    raise InvalidInput(f"frame must be a data frame of pandas or polars (got {format_value(frame)})")


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT and NA: those that are no value at all, or do not equal themselves."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # NA
        return True
