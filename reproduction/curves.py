"""Recorded curves: runs by iterations for every line of every panel, and the files that they are kept in.

simple      simple regret, counting what the study uses
late        the same with late outcomes counted too
cumulative  sum of the gaps of all queries so far

Numbers have DIGITS significant digits; a file that was read and written again is the same, byte for byte. The SVM runs
that the authors released are one more reading, "published": they have simple regret only, and the other two fields are
empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.errors import InvalidInput, Unreadable
from belated.learner.arrays import Array
from reproduction.csv_files import format_digits, read_csv, write_csv

Iterations = NDArray[np.int64]

DIGITS = 10
TITLES = ("panel", "curve", "reading", "seed", "iteration", "simple", "late", "cumulative")
PUBLISHED = "published"


class CurveKey(NamedTuple):
    """Which line: of a panel, by the key of its curve, under a reading of the paper."""

    panel: str
    curve: str
    reading: str


@dataclass(frozen=True, kw_only=True, eq=False)
class CurveRun:
    """One run, one entry per recorded iteration."""

    key: CurveKey
    seed: int
    iterations: Iterations
    simple: Array
    late: Array  # NaN where it is not known
    cumulative: Array  # NaN where it is not known


@dataclass(frozen=True, kw_only=True, eq=False)
class Series:
    """All runs of one line: arrays of runs × iterations."""

    seeds: tuple[int, ...]
    iterations: Iterations
    simple: Array
    late: Array
    cumulative: Array

    def cut_at(self, last: int) -> Series:
        """Without the iterations after `last`."""
        n = int(np.searchsorted(self.iterations, last, side="right"))
        return Series(
            seeds=self.seeds,
            iterations=self.iterations[:n],
            simple=self.simple[:, :n],
            late=self.late[:, :n],
            cumulative=self.cumulative[:, :n],
        )


Curves = Mapping[CurveKey, Series]


def group_runs(runs: Iterable[CurveRun]) -> Curves:
    """Runs by line, in the order of their seeds, in DIGITS digits: as they would be read from a file."""
    lines: dict[CurveKey, dict[int, CurveRun]] = {}
    for run in runs:
        line = lines.setdefault(run.key, {})
        if run.seed in line:
            raise InvalidInput(f"{_describe_key(run.key)} has two runs of seed {run.seed}")
        if not np.all(np.isfinite(run.simple)):
            raise InvalidInput(
                f"the simple regret of {_describe_key(run.key)}, seed {run.seed}, is not finite everywhere"
            )
        line[run.seed] = run
    return {key: _stack_runs(key, [line[seed] for seed in sorted(line)]) for key, line in sorted(lines.items())}


def _stack_runs(key: CurveKey, runs: Sequence[CurveRun]) -> Series:
    first = runs[0]
    for run in runs:
        if not np.array_equal(run.iterations, first.iterations):
            raise InvalidInput(
                f"the runs of {_describe_key(key)} were recorded at different iterations: "
                f"seed {first.seed} at {_describe_span(first.iterations)}, "
                f"seed {run.seed} at {_describe_span(run.iterations)}"
            )
    return Series(
        seeds=tuple(run.seed for run in runs),
        iterations=np.asarray(first.iterations, dtype=np.int64),
        simple=_round_values([run.simple for run in runs]),
        late=_round_values([run.late for run in runs]),
        cumulative=_round_values([run.cumulative for run in runs]),
    )


def _round_values(rows: Sequence[Array]) -> Array:
    """In DIGITS significant digits."""
    values = np.asarray(rows, dtype=float)
    rounded = [float(format_digits(v, DIGITS)) if math.isfinite(v) else math.nan for v in values.flat]
    return np.array(rounded).reshape(values.shape)


def _describe_key(key: CurveKey) -> str:
    return f"{key.curve} in {key.panel} ({key.reading})"


def _describe_span(iterations: Iterations) -> str:
    return f"{len(iterations)} from {iterations[0]} to {iterations[-1]}" if len(iterations) else "none"


# Files --------------------------------------------------------------------------------------------------------------


def write_curves(path: Path, curves: Curves) -> None:
    """Every run as rows, in a fixed order."""
    write_csv(path, TITLES, _list_rows(curves))


def _list_rows(curves: Curves) -> Iterator[Sequence[object]]:
    for key, line in sorted(curves.items(), key=lambda item: item[0]):
        for i, seed in enumerate(line.seeds):
            for j, iteration in enumerate(line.iterations.tolist()):
                values = (line.simple[i, j], line.late[i, j], line.cumulative[i, j])
                yield [*key, seed, iteration, *(format_digits(value, DIGITS) for value in values)]


def read_curves(path: Path) -> Curves:
    """The curves of a file."""
    runs: dict[tuple[CurveKey, int], dict[int, tuple[float, float, float]]] = {}
    for row in read_csv(path, TITLES):
        key = CurveKey(row.parse_text("panel"), row.parse_text("curve"), row.parse_text("reading"))
        run = runs.setdefault((key, row.parse_integer("seed")), {})
        iteration = row.parse_integer("iteration")
        if iteration < 1:
            raise row.make_error(f"iterations count from 1 (got {iteration})")
        if iteration in run:
            raise row.make_error(
                f"a second row of iteration {iteration} of {_describe_key(key)}, seed {row.parse_integer('seed')}"
            )
        late, cumulative = (row.parse_optional_number(name) for name in ("late", "cumulative"))
        run[iteration] = row.parse_number("simple"), late, cumulative
    try:
        return group_runs(make_run(key, seed, entries) for (key, seed), entries in runs.items())
    except InvalidInput as error:
        raise Unreadable(f"{path}: {error}") from None


def make_run(key: CurveKey, seed: int, entries: Mapping[int, tuple[float, float, float]]) -> CurveRun:
    """A run of these entries: simple, late and cumulative regret by iteration."""
    iterations = sorted(entries)
    simple, late, cumulative = np.array([entries[i] for i in iterations], dtype=float).T
    return CurveRun(
        key=key,
        seed=seed,
        iterations=np.array(iterations, dtype=np.int64),
        simple=simple,
        late=late,
        cumulative=cumulative,
    )
