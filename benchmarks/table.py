"""Measured numbers in aligned columns, section by section."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from belated.wording import align_columns


class Measured(Protocol):
    """A line of a table: measured numbers by column."""

    @property
    def section(self) -> str: ...
    @property
    def cells(self) -> Mapping[str, float]: ...


L = TypeVar("L", bound=Measured)


def sections(lines: Sequence[L]) -> Iterator[tuple[str, list[L], list[str]]]:
    """Each section's name, its lines, and the columns that any of them has."""
    for section in dict.fromkeys(line.section for line in lines):
        rows = [line for line in lines if line.section == section]
        yield section, rows, list(dict.fromkeys(column for line in rows for column in line.cells))


def shown(value: float) -> str:
    """Three figures that count."""
    if not math.isfinite(value):
        return "-" if math.isnan(value) else "inf"
    digits = 0 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 3)}f}"


def numbers(line: Measured, columns: Sequence[str]) -> list[str]:
    """A line's numbers as text, empty where a column has none."""
    return [shown(line.cells[column]) if column in line.cells else "" for column in columns]


def align_numbers(grid: Sequence[Sequence[str]], words: int = 0) -> list[str]:
    """Each row as text: the first column and the last `words` of them to the left, the numbers between to the right."""
    return align_columns(grid, numbers=range(1, len(grid[0]) - words))
