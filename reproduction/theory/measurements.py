"""What the experiments about the theorems find: rows of numbers, and the file that they are kept in.

experiment, case, quantity  what was measured
seed                        of the run; none where no run is involved
x                           what it depends on: a round t, a patience m, a δ, a point, a batch size

Numbers have DIGITS significant digits; a file that was read and written again is the same, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from belated.errors import Unreadable
from belated.learner.arrays import Array
from reproduction.csv_files import format_digits, read_csv, write_csv

DIGITS = 6
TITLES = ("experiment", "case", "quantity", "seed", "x", "value")


class Measurement(NamedTuple):
    """One number."""

    experiment: str
    case: str
    quantity: str
    seed: int | None
    x: float
    value: float


class Quantity(NamedTuple):
    """What was measured."""

    experiment: str
    case: str
    quantity: str


class SeedValues(NamedTuple):
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


def group_measurements(rows: Iterable[Measurement]) -> dict[Quantity, SeedValues]:
    """Rows by what was measured; every seed must have every x."""
    cells: dict[Quantity, dict[int | None, dict[float, float]]] = {}
    for row in rows:
        cells.setdefault(Quantity(*row[:3]), {}).setdefault(row.seed, {})[row.x] = row.value
    return {key: _align_seeds(key, by_seed) for key, by_seed in sorted(cells.items())}


def _align_seeds(key: Quantity, by_seed: Mapping[int | None, Mapping[float, float]]) -> SeedValues:
    seeds = sorted(by_seed, key=_sort_key)
    x = sorted(by_seed[seeds[0]])
    if any(sorted(by_seed[seed]) != x for seed in seeds):
        raise Unreadable(f"the seeds of {', '.join(key)} have values at different x")
    values = np.array([[by_seed[seed][at] for at in x] for seed in seeds], dtype=float)
    return SeedValues(tuple(seeds), np.array(x, dtype=float), values)


def _sort_key(seed: int | None) -> int:
    return -1 if seed is None else seed


def write_measurements(path: Path, rows: Iterable[Measurement]) -> None:
    """Every number as a line, in a fixed order."""
    ordered = sorted(rows, key=lambda row: (*row[:3], _sort_key(row.seed), row.x))
    write_csv(path, TITLES, ([*row[:3], row.seed, *(format_digits(n, DIGITS) for n in row[4:])] for row in ordered))


def read_measurements(path: Path) -> list[Measurement]:
    """The measurements in a file."""
    return [
        Measurement(
            experiment=row.fields["experiment"],
            case=row.fields["case"],
            quantity=row.fields["quantity"],
            seed=row.parse_optional_integer("seed"),
            x=row.parse_number("x"),
            value=row.parse_number("value"),
        )
        for row in read_csv(path, TITLES)
    ]
