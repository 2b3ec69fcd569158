"""Recorded curves: runs by iterations for every line of every panel, and the files that they are kept in.

simple      simple regret, counting what the study uses
late        the same with late outcomes counted too
cumulative  sum of the gaps of all queries so far

A file has one row per run. Its last four fields are lists of numbers, where 0.25*7 is seven times 0.25:

steps       from one recorded iteration to the next, the first from 0: 1*100 is every iteration from 1 to 100
simple      in DIGITS significant digits
late        likewise; "same" where it is simple regret, empty where it is not known
gaps        what cumulative regret grew by at each step, in DECIMALS decimals; empty where it is not known

A file that was read and written again is the same, byte for byte. The SVM runs that the authors released are one more
reading, "published": they have simple regret only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.errors import InvalidInput, Unreadable
from belated.learner.arrays import Array
from reproduction.csv_files import CsvRow, format_digits, read_csv, write_csv

Iterations = NDArray[np.int64]

DIGITS, DECIMALS = 10, 6
TITLES = ("panel", "curve", "reading", "seed", "steps", "simple", "late", "gaps")
SAME = "same"
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
    """Runs by line, in the order of their seeds, rounded: as they would be read from a file."""
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
        cumulative=np.array([_sum_gaps(_find_gaps(run.cumulative)) for run in runs]),
    )


def _round_values(rows: Sequence[Array]) -> Array:
    """In DIGITS significant digits."""
    values = np.asarray(rows, dtype=float)
    rounded = [float(format_digits(v, DIGITS)) if math.isfinite(v) else math.nan for v in values.flat]
    return np.array(rounded).reshape(values.shape)


def _find_gaps(cumulative: Array) -> Array:
    """What it grew by, in DECIMALS decimals."""
    return np.asarray(np.round(np.diff(cumulative, prepend=0.0), DECIMALS), dtype=float)


def _sum_gaps(gaps: Array) -> Array:
    """Cumulative regret again, rounded as the gaps are: no error of a sum is left in it."""
    return np.asarray(np.round(np.cumsum(gaps), DECIMALS), dtype=float)


def _describe_key(key: CurveKey) -> str:
    return f"{key.curve} in {key.panel} ({key.reading})"


def _describe_span(iterations: Iterations) -> str:
    return f"{len(iterations)} from {iterations[0]} to {iterations[-1]}" if len(iterations) else "none"


# Files --------------------------------------------------------------------------------------------------------------


def write_curves(path: Path, curves: Curves) -> None:
    """Every run as a row, in a fixed order."""
    write_csv(path, TITLES, _list_rows(curves))


def _list_rows(curves: Curves) -> Iterator[Sequence[object]]:
    for key, line in sorted(curves.items(), key=lambda item: item[0]):
        steps = _format_list(np.diff(line.iterations, prepend=0).tolist())
        for i, seed in enumerate(line.seeds):
            simple, late = (_format_list(map(_format_value, values[i])) for values in (line.simple, line.late))
            gaps = _format_list(map(_format_gap, _find_gaps(line.cumulative[i])))
            yield [*key, seed, steps, simple, SAME if late == simple else late, gaps]


def _format_list(items: Iterable[object]) -> str:
    """Items with spaces between them, equal neighbours counted; nothing where an item is empty."""
    counted = [(str(item), len(list(group))) for item, group in groupby(items)]
    if not all(item for item, _ in counted):
        return ""
    return " ".join(item if count == 1 else f"{item}*{count}" for item, count in counted)


def _format_value(value: float) -> str:
    return format_digits(value, DIGITS)


def _format_gap(gap: float) -> str:
    """Without zeros at the end; an empty field for NaN."""
    return "" if math.isnan(gap) else f"{gap + 0.0:.{DECIMALS}f}".rstrip("0").rstrip(".")


def read_curves(path: Path) -> Curves:
    """The curves of a file."""
    runs: dict[tuple[CurveKey, int], CurveRun] = {}
    for row in read_csv(path, TITLES):
        run = _read_run(row)
        if (run.key, run.seed) in runs:
            raise row.make_error(f"a second row of {_describe_key(run.key)}, seed {run.seed}")
        runs[run.key, run.seed] = run
    try:
        return group_runs(runs.values())
    except InvalidInput as error:
        raise Unreadable(f"{path}: {error}") from None


def _read_run(row: CsvRow) -> CurveRun:
    steps, simple = (_read_list(row, name) for name in ("steps", "simple"))
    if not np.all((steps >= 1) & (steps == np.floor(steps))):
        raise row.make_error(f"steps must be whole numbers of at least 1 (got {row.fields['steps'][:50]!r})")
    unknown = np.full(len(steps), math.nan)
    late = simple if row.fields["late"] == SAME else _read_list(row, "late") if row.fields["late"] else unknown
    gaps = _read_list(row, "gaps") if row.fields["gaps"] else unknown
    for name, values in (("simple", simple), ("late", late), ("gaps", gaps)):
        if len(values) != len(steps):
            raise row.make_error(f"{name} must have {len(steps)} values, one for each of the steps (got {len(values)})")
    return CurveRun(
        key=CurveKey(row.parse_text("panel"), row.parse_text("curve"), row.parse_text("reading")),
        seed=row.parse_integer("seed"),
        iterations=np.cumsum(steps).astype(np.int64),
        simple=simple,
        late=late,
        cumulative=_sum_gaps(gaps),
    )


def _read_list(row: CsvRow, name: str) -> Array:
    """The numbers of a list."""
    values: list[float] = []
    for item in row.parse_text(name).split(" "):
        number, _, count = item.partition("*")
        try:
            values += [float(number)] * (int(count) if count else 1)
        except ValueError:
            raise row.make_error(f"{name} must be numbers, or number*count (got {item!r})") from None
    if not np.all(np.isfinite(values)):
        raise row.make_error(f"{name} must be finite numbers")
    return np.array(values)
