"""Trials as a workbook of Excel's: numbers as numbers, dates as dates, four digits where people read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from belated import Study, Trial
from belated.cli.io import columns as meaning
from belated.cli.io.files import replace_file
from belated.cli.io.rows import TIMES, build_cells, list_texts, list_titles
from belated.errors import Unavailable
from belated.validation import is_number

DIGITS = 4  # that are shown; a cell keeps them all
DATE = "yyyy-mm-dd hh:mm:ss"
WIDTH = 10  # letters of a narrow column
EARLIEST = -2208988800.0  # 1900: no workbook has a date before


def write_workbook(path: Path, study: Study, trials: Sequence[Trial]) -> None:
    """Write a row for each trial, completely or not at all."""
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.styles import Font
        from openpyxl.utils import get_column_letter
    except ImportError as error:
        raise Unavailable(f'{path} needs openpyxl: pip install "belated[excel]"') from error
    columns, titles, texts = list_titles(study, trials), meaning.title_columns(study), list_texts(study)
    rows = [build_cells(trial, columns) for trial in trials]
    formats = {column: choose_number_format(row[column] for row in rows) for column in columns if column not in TIMES}
    book = Workbook(write_only=True)
    sheet = book.create_sheet("trials")
    sheet.freeze_panes = "B2"

    def make_cell(value: Any, number_format: str = "General") -> Any:
        cell = WriteOnlyCell(sheet, value)
        cell.number_format = number_format
        return cell

    head = [titles.get(column, column) + (meaning.UTC if column in TIMES else "") for column in columns]
    for i, title in enumerate(head):
        sheet.column_dimensions[get_column_letter(i + 1)].width = max(WIDTH, len(title) + 2)
    cells = [make_cell(title) for title in head]
    for cell in cells:
        cell.font = Font(bold=True)
    sheet.append(cells)
    for row in rows:
        cells = []
        for column, value in row.items():
            if column in TIMES and value is not None and EARLIEST < value < 2.5e11:
                cells.append(make_cell(datetime.fromtimestamp(value, UTC).replace(tzinfo=None), DATE))
            elif column in texts and not is_number(value):
                cells.append(make_cell(texts[column](value)))
            else:
                cells.append(make_cell(value, formats.get(column, "General")))
        sheet.append(cells)
    with replace_file(path) as beside:
        book.save(beside)


def choose_number_format(values: Iterable[Any]) -> str:
    """As many decimals as show four digits of the largest number; none for whole numbers."""
    numbers = [abs(value) for value in values if is_number(value)]
    if not numbers or all(isinstance(value, int) for value in numbers):
        return "General"
    largest = max(numbers)
    if not 1e-4 <= largest < 1e9:
        return "General" if largest == 0 else "0.000E+00"
    return f"0.{'0' * decimals}" if (decimals := DIGITS - 1 - math.floor(math.log10(largest))) > 0 else "0"
