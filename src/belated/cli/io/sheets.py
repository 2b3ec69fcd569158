"""Tables as people have them: CSV with commas, semicolons or tabs, and Excel's .xlsx. Row by row, as text."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from belated.cli.io.files import check_path, read_text
from belated.errors import InvalidInput, Unavailable

EXCEL = ".xlsx"
SEPARATORS = (",", ";", "\t")
SAMPLE = 65536  # characters in which the first line is looked for


def read_table(path: Path) -> tuple[str, Iterator[tuple[int, list[str]]]]:
    """How the cells of a file are separated ("" in a workbook), and its rows that are not empty, each with its line."""
    check_path(path)
    if path.suffix.lower() == EXCEL:
        return "", _drop_empty(_read_workbook(path))
    separator = _find_separator(path)
    return separator, _drop_empty(_read_csv(path, separator))


def _drop_empty(rows: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    return ((line, cells) for line, cells in rows if any(cell.strip() for cell in cells))


def _find_separator(path: Path) -> str:
    """What the line of the titles has most of, outside of quotes."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = file.read(SAMPLE).splitlines()
    except (UnicodeDecodeError, OSError, ValueError):
        lines = read_text(path).splitlines()  # which says what is wrong
    first = next((line for line in lines if line.strip()), "")
    outside = "".join(first.split('"')[::2])
    return max(SEPARATORS, key=outside.count)


def _read_csv(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader, last = csv.reader(file, strict=True, delimiter=separator), 0
            while True:
                try:
                    cells = next(reader)
                except StopIteration:
                    return
                except csv.Error as error:
                    raise InvalidInput(f"{path}:{last + 1}: this is not CSV ({error})") from None
                yield last + 1, cells
                last = reader.line_num
    except UnicodeDecodeError:
        read_text(path)  # which says where


def _read_workbook(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The first sheet of a workbook; what its formulas have come to."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise Unavailable(f'{path} needs openpyxl: pip install "belated[excel]"') from error
    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except FileNotFoundError:
        raise InvalidInput(f"{path} cannot be read (No such file or directory)") from None
    except (BadZipFile, KeyError, ValueError, OSError) as error:
        raise InvalidInput(f"{path} is not a workbook of Excel's ({error})") from None
    try:
        wide = 0  # the empty cells at the end of a row are not kept
        for line, values in enumerate(book.worksheets[0].iter_rows(values_only=True), start=1):
            wide = max(wide, len(values))
            yield line, [*map(write_cell, values), *[""] * (wide - len(values))]
    finally:
        book.close()


def write_cell(value: Any) -> str:
    """A cell of a workbook as text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return repr(value) if isinstance(value, float) else str(value)
