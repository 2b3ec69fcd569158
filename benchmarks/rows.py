"""Measured rows in a CSV file: values of a dataclass whose fields are text, whole numbers and numbers."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")
READERS: dict[str, Callable[[str], Any]] = {"str": str, "int": int, "float": float}


def read_rows(path: Path, kind: type[R]) -> list[R]:
    """The rows of a file; none where there is none."""
    if not path.exists():
        return []
    readers = {field.name: READERS[str(field.type)] for field in fields(kind)}
    with path.open(newline="", encoding="utf-8") as file:
        return [kind(**{k: readers[k](v) for k, v in cells.items()}) for cells in csv.DictReader(file)]


def append_row(row: DataclassInstance, path: Path) -> None:
    """Write one row, and the header where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        if new:
            rows.writerow([field.name for field in fields(row)])
        rows.writerow([_shown(value) for value in asdict(row).values()])


def replace_rows(rows: Iterable[DataclassInstance], path: Path) -> None:
    """These rows in place of the file; without any, the file stays as it is."""
    beside = path.with_name(path.name + ".new")
    beside.unlink(missing_ok=True)
    for row in rows:
        append_row(row, beside)
    if beside.exists():
        beside.replace(path)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return "nan" if math.isnan(value) else f"{value:.6g}"
    return str(value)
