"""What the experiments about the theorems find: rows of numbers, and the file that they are kept in.

experiment, case, quantity  what was measured
seed                        of the run; none where no run is involved
x                           what it depends on: a round t, a patience m, a δ, a point, a batch size

Numbers have DIGITS significant digits; a file that was read and written again is the same, byte for byte.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from belated.errors import Unreadable
from belated.learner.arrays import Array

DIGITS = 6
TITLES = ("experiment", "case", "quantity", "seed", "x", "value")


class Row(NamedTuple):
    """One number."""

    experiment: str
    case: str
    quantity: str
    seed: int | None
    x: float
    value: float


class Key(NamedTuple):
    """What was measured."""

    experiment: str
    case: str
    quantity: str


class Found(NamedTuple):
    """One quantity: a value for every seed and every x."""

    seeds: tuple[int | None, ...]
    x: Array  # (k,)
    values: Array  # (seeds, k)

    def at(self, x: float) -> Array:
        """The values at one x, one per seed."""
        return np.asarray(self.values[:, int(np.flatnonzero(self.x == x)[0])])

    @property
    def mean(self) -> Array:
        """Over seeds."""
        return np.asarray(np.mean(self.values, axis=0))


def gathered(rows: Iterable[Row]) -> dict[Key, Found]:
    """Rows by what was measured; every seed must have every x."""
    cells: dict[Key, dict[int | None, dict[float, float]]] = {}
    for row in rows:
        cells.setdefault(Key(*row[:3]), {}).setdefault(row.seed, {})[row.x] = row.value
    return {key: _found(key, by_seed) for key, by_seed in sorted(cells.items())}


def _found(key: Key, by_seed: Mapping[int | None, Mapping[float, float]]) -> Found:
    seeds = sorted(by_seed, key=_order)
    x = sorted(by_seed[seeds[0]])
    if any(sorted(by_seed[seed]) != x for seed in seeds):
        raise Unreadable(f"the seeds of {', '.join(key)} have values at different x")
    values = np.array([[by_seed[seed][at] for at in x] for seed in seeds], dtype=float)
    return Found(tuple(seeds), np.array(x, dtype=float), values)


def _order(seed: int | None) -> int:
    return -1 if seed is None else seed


def write(path: Path, rows: Iterable[Row]) -> None:
    """Every number as a line, in a fixed order."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(TITLES)
    for row in sorted(rows, key=lambda row: (*row[:3], _order(row.seed), row.x)):
        seed = "" if row.seed is None else row.seed
        writer.writerow([*row[:3], seed, _number(row.x), _number(row.value)])
    written = text.getvalue().encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(written, mtime=0) if path.suffix == ".gz" else written)


def read(path: Path) -> list[Row]:
    """The rows of a file."""
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode()
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (OSError, EOFError, UnicodeDecodeError, zlib.error, csv.Error) as error:
        raise Unreadable(f"{path} cannot be read: {error}") from error
    if not lines or lines[0] != list(TITLES):
        raise Unreadable(f"{path} must begin with the line {','.join(TITLES)}")
    return [_row(path, number, fields) for number, fields in enumerate(lines[1:], start=2)]


def _row(path: Path, line: int, fields: list[str]) -> Row:
    try:
        experiment, case, quantity, seed, x, value = fields
        row = Row(experiment, case, quantity, int(seed) if seed else None, float(x), float(value))
    except ValueError as error:
        raise Unreadable(f"{path}, line {line}: {error}") from None
    if not (math.isfinite(row.x) and math.isfinite(row.value)):
        raise Unreadable(f"{path}, line {line}: numbers must be finite")
    return row


def _number(value: float) -> str:
    return format(value, f".{DIGITS}g")
