"""What the columns of a table mean for a study.

Titles are read as people write them: a parameter with its unit, the outcome by its own name, in any case. --map says
what another title means. Columns that mean nothing here are read beside the others, unless they look like a typing
error; an import keeps them as remarks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol

from belated import Study
from belated.cli.io.cells import FORMULAS, WITH_COMMA, parse_pairs
from belated.cli.io.files import FileRow, LineErrors
from belated.cli.io.sheets import read_table
from belated.errors import InvalidInput
from belated.space.encoding import Space
from belated.space.parameters import Choice
from belated.space.points import Points
from belated.validation import format_label, format_names, format_value, is_number

FIELDS = ("number", "asked_at", "outcome", "noise", "told_at", "known_from", "failure")
COUNT_FIELDS = ("day", "shown", "converted", "as_of")  # where a row counts people
ALIASES = {"value": "outcome", "at": "asked_at"}
NUMBERS = ("number", "outcome", "value", "noise", "known_from", "shown", "converted")
UTC = " (UTC)"  # ends the title of a column whose times have no zone
WITH_POINT = re.compile(r"[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def name_column(name: str) -> str:
    """The column of a parameter: its own name, unless that is a column with another meaning, or a formula."""
    reserved = name in {*FIELDS, *ALIASES, "key", "remark"} or name.startswith(("params.", "context.", *FORMULAS))
    reserved = reserved or name != name.strip()
    return f"params.{name}" if reserved else name


def map_columns(names: Iterable[str], prefix: str) -> dict[str, str]:
    """The columns that may hold a parameter, and which."""
    return {
        column: name for name in names for column in (f"{prefix}{name}", *([name] if name_column(name) == name else []))
    }


def list_columns(study: Study) -> list[str]:
    """The columns of an export, and others that hold a parameter; first those that a person would type."""
    space, context = study.settings.space, study.settings.context
    around = {} if context is None else map_columns(context.names, "context.")
    typed = [*map(name_column, space.names), *FIELDS[1:], *around]
    return list(dict.fromkeys([*typed, *FIELDS, *map_columns(space.names, "params.")]))


def title_columns(study: Study) -> dict[str, str]:
    """The titles for people of the columns whose names alone do not say enough: with units, and the outcome's name."""
    settings = study.settings
    titles = {name_column(name): format_label(name_column(name), unit) for name, unit in settings.space.units.items()}
    if settings.context is not None:
        titles |= {f"context.{n}": format_label(f"context.{n}", unit) for n, unit in settings.context.units.items()}
    if settings.outcome_label not in list_columns(study):
        titles["outcome"] = settings.outcome_label
    return titles


class TableColumns(Protocol):
    """What the titles of a table mean."""

    @property
    def renamed(self) -> Mapping[str, str]: ...
    @property
    def known(self) -> Sequence[str]: ...
    def find(self, title: str) -> str: ...
    def guess(self, title: str, there: Sequence[str]) -> str: ...
    def holds_numbers(self, column: str) -> bool: ...


@dataclass(frozen=True)
class AnyColumns:
    """Every title is a column of its own."""

    known: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)

    def find(self, title: str) -> str:
        return title

    def guess(self, title: str, there: Sequence[str]) -> str:
        return ""

    def holds_numbers(self, column: str) -> bool:
        return True  # what is no number is read as it is


@dataclass(frozen=True)
class StudyColumns:
    """The columns that a table may have, and the other titles under which they are found."""

    known: tuple[str, ...]
    numbers: frozenset[str]  # of those known, the ones that hold numbers
    titles: Mapping[str, str] = field(default_factory=dict)  # in small letters -> the column
    renamed: Mapping[str, str] = field(default_factory=dict)  # by --map; to "": left out

    @classmethod
    def of(cls, study: Study, more: Iterable[str], mapped: Sequence[str] = ()) -> StudyColumns:
        """The columns of a study and `more`; `mapped` are the words of --map."""
        people = COUNT_FIELDS if study.settings.outcomes == "conversion" else ()
        known = tuple(dict.fromkeys([*list_columns(study), *more, *people]))
        renamed = parse_pairs(mapped, "--map")
        for title, column in renamed.items():
            if column and column not in known:
                raise InvalidInput(
                    f"--map {title}= must name one of {format_names(known)} (got {format_value(column)})"
                )
        titles = {column.casefold(): column for column in reversed(known)}
        titles |= {title.casefold(): column for column, title in title_columns(study).items()}
        if study.settings.outcome_name is not None:
            titles.setdefault(study.settings.outcome_name.casefold(), "outcome")
        for name, unit in study.settings.space.units.items():
            titles.setdefault(f"{name} [{unit}]".casefold(), name_column(name))
        titles |= {f"{column}{UTC}".casefold(): column for column in ("asked_at", "told_at", "at", "day", "as_of")}
        return cls(known, frozenset(NUMBERS) | _find_numbers(study), titles, renamed)

    def find(self, title: str) -> str:
        """The column that a title means; empty where it means none."""
        if title in self.renamed:
            return self.renamed[title]
        return title if title in self.known else self.titles.get(title.casefold(), "")

    def holds_numbers(self, column: str) -> bool:
        return column in self.numbers

    def guess(self, title: str, there: Sequence[str]) -> str:
        """A column that is not there yet and whose name is nearly this title; empty if there is none."""
        missing = {key: column for key, column in self.titles.items() if column not in (*there, "remark")}
        near = get_close_matches(title.casefold(), missing, 1, cutoff=0.8)
        return missing[near[0]] if near else ""


def _find_numbers(study: Study) -> frozenset[str]:
    """The columns of parameters that are numbers."""
    found = set[str]()
    for space, prefix in ((study.settings.space, "params."), (study.settings.context, "context.")):
        if space is not None:
            found |= {
                column for column, name in map_columns(space.names, prefix).items() if _holds_numbers(space, name)
            }
    return frozenset(found)


def _holds_numbers(space: Space, name: str) -> bool:
    if isinstance(space.parameters, Points):
        return all(is_number(row[space.names.index(name)]) for row in space.parameters.rows)
    kind = space.find_parameter(name)
    return not isinstance(kind, Choice) or all(map(is_number, kind.options))


@dataclass(frozen=True)
class Sheet:
    """A table with its columns understood; its rows are read as they are asked for."""

    rows: Iterator[FileRow]
    extra: tuple[str, ...] = ()  # titles of columns that mean nothing here
    left_out: tuple[str, ...] = ()  # titles of columns that --map leaves out
    titles: tuple[str, ...] = ()
    found: tuple[str, ...] = ()  # the column of each title; empty where it means none
    where: str = ""  # the place of the titles, for messages


def open_sheet(path: Path, errors: LineErrors, columns: TableColumns, required: Iterable[str] = ()) -> Sheet:
    """Read a table. Its first line names the columns: all of `required`; what a title means, `columns` say."""
    separator, lines = read_table(path)
    line, cells = next(lines, (0, []))
    titles = [cell.strip() for cell in cells]
    while titles and not titles[-1]:
        titles.pop()
    if not titles:
        raise InvalidInput(f"{path} must begin with a line that names its columns (it is empty)")
    found = _find_columns(f"{path}:{line}", titles, columns, required)
    pairs = list(zip(titles, found, strict=True))
    zoned = {column for title, column in pairs if title.endswith(UTC)}
    numbers = {column for column in found if columns.holds_numbers(column)} if separator in (";", "\t") else set()
    unknown = {i: title for i, (title, column) in enumerate(pairs) if not column}
    extra = {i: title for i, title in unknown.items() if title not in columns.renamed}
    rows = _read_rows(lines, errors, found, extra, zoned, numbers)
    left_out = tuple(title for i, title in unknown.items() if i not in extra)
    return Sheet(rows, tuple(extra.values()), left_out, tuple(titles), tuple(found), f"{path}:{line}")


def _find_columns(where: str, titles: Sequence[str], columns: TableColumns, required: Iterable[str]) -> list[str]:
    """The column of each title, empty where it means none."""
    for i, title in enumerate(titles):
        if not title:
            raise InvalidInput(f"{where}: column {i + 1} must have a name")
        if title in titles[:i]:
            raise InvalidInput(f"{where}: columns must differ (got {format_value(title)} twice)")
    for title in columns.renamed:
        if title not in titles:
            raise InvalidInput(
                f"{where}: --map names {format_value(title)}, which is no column (got {format_names(titles)})"
            )
    found = [columns.find(title) for title in titles]
    for i, column in enumerate(found):
        if column and column in found[:i]:
            both = f"{format_value(titles[found.index(column)])} and {format_value(titles[i])}"
            raise InvalidInput(f"{where}: {both} both mean {column}; leave one out with --map {titles[i]}=")
    missing = [name for name in required if not any(one in found for one in name.split("|"))]
    if missing:
        wanted = " and ".join(name.replace("|", " or ") for name in missing)
        raise InvalidInput(f"{where}: there must be a column {wanted} (got {format_names(titles)})")
    for title, column in zip(titles, found, strict=True):
        near = "" if column or title in columns.renamed else columns.guess(title, found)
        if near:
            maps = f"--map {title}={near} reads it so, --map {title}= leaves it out"
            raise InvalidInput(f"{where}: there is no column {format_value(title)}; did you mean {near}? {maps}")
        if not column and title in COUNT_FIELDS:
            raise InvalidInput(f"{where}: there is no column {format_value(title)}: this study has no conversions")
    if not any(found):
        raise InvalidInput(
            f"{where}: there must be columns of this study: {format_names(columns.known)} (got {format_names(titles)})"
        )
    return found


def _read_rows(
    lines: Iterator[tuple[int, list[str]]],
    errors: LineErrors,
    found: Sequence[str],
    extra: Mapping[int, str],
    zoned: set[str],
    numbers: set[str],
) -> Iterator[FileRow]:
    """The cells of each line by column, without the empty ones; `extra` has the titles of those without a column.
    `zoned` columns are in UTC, `numbers` may have decimal commas."""
    decimals = DecimalMarks()
    for line, cells in lines:
        with errors.collect(line):
            if len(cells) < len(found) or any(cell.strip() for cell in cells[len(found) :]):
                raise InvalidInput(f"there must be {len(found)} cells (got {len(cells)})")
            row = {column: cell for column, cell in zip(found, cells, strict=False) if column and cell.strip()}
            for column in row:
                if column in numbers:
                    row[column] = decimals.read(row[column])
                if column in zoned:
                    row[column] = f"{row[column].strip()}+00:00"
            yield FileRow(line, row, {title: text for i, title in extra.items() if (text := cells[i].strip())})


def describe_left_out(titles: Sequence[str]) -> str:
    """A warning that names the columns that mean nothing here; empty where there are none."""
    return f"left out, as no column of this study: {format_names(titles)}" if titles else ""


class DecimalMarks:
    """Reads numbers whose decimals begin with a comma or with a point, one of the two in the whole table."""

    def __init__(self) -> None:
        self._seen = ""

    def read(self, text: str) -> str:
        """The number with a point; other texts as they are."""
        written = text.strip()
        mark = "," if WITH_COMMA.fullmatch(written) else "." if WITH_POINT.fullmatch(written) else ""
        if mark and self._seen and mark != self._seen:
            raise InvalidInput(f"decimals must begin with a comma or with a point in the whole file (got {written})")
        self._seen = self._seen or mark
        return written.replace(",", ".") if mark == "," else text
