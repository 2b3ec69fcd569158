"""Recorded curves: runs by iterations for every line of every panel, and the files that they are kept in.

simple      simple regret, counting what the study uses
late        the same with late outcomes counted too
cumulative  sum of the gaps of all queries so far

Files are CSV, compressed when their names end in .gz. Numbers have DIGITS significant digits; a file that was read and
written again is the same, byte for byte. The authors' released SVM runs stand among the rest as a reading of their own,
"published": they have simple regret only, and the other two fields are empty.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.errors import InvalidInput, Unreadable
from belated.learner.arrays import Array

Iterations = NDArray[np.int64]

DIGITS = 10
CURVES = ("panel", "curve", "reading", "seed", "iteration", "simple", "late", "cumulative")
COSTS = ("panel", "curve", "reading", "seed", "rounds", "learner_s", "objective_s")
PUBLISHED = "published"
RELEASED_RUNS = ("policy", "method", "delay", "run", "iteration", "val_error")
PANEL_OF = {  # of the released runs, by policy and delay
    ("ucb", "poisson_mu10_m20"): "fig2a",
    ("ucb", "fixed_10"): "fig2b",
    ("ts", "poisson_mu10_m20"): "fig2c",
    ("ts", "fixed_10"): "fig2d",
}
NOTHING_HEARD = 1.0  # regret then: the best accuracy, 1, minus the floor, 0
SHOWN = 100  # iterations of the released runs in the paper's figures; the files have one more


class Key(NamedTuple):
    """Which line: of a panel, by the key of its curve, under a reading of the paper."""

    panel: str
    curve: str
    reading: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """One run, one entry per recorded iteration."""

    key: Key
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

    def upto(self, last: int) -> Series:
        """Without the iterations after `last`."""
        n = int(np.searchsorted(self.iterations, last, side="right"))
        return Series(
            seeds=self.seeds,
            iterations=self.iterations[:n],
            simple=self.simple[:, :n],
            late=self.late[:, :n],
            cumulative=self.cumulative[:, :n],
        )


Curves = Mapping[Key, Series]


class Cost(NamedTuple):
    """What a run took, in CPU seconds."""

    panel: str
    curve: str
    reading: str
    seed: int
    rounds: int
    learner_s: float
    objective_s: float


def gathered(runs: Iterable[Run]) -> Curves:
    """Runs by line, in the order of their seeds, in DIGITS digits: as they would be read from a file."""
    lines: dict[Key, dict[int, Run]] = {}
    for run in runs:
        line = lines.setdefault(run.key, {})
        if run.seed in line:
            raise InvalidInput(f"{_named(run.key)} has two runs of seed {run.seed}")
        if not np.all(np.isfinite(run.simple)):
            raise InvalidInput(f"the simple regret of {_named(run.key)}, seed {run.seed}, is not finite everywhere")
        line[run.seed] = run
    return {key: _series(key, [line[seed] for seed in sorted(line)]) for key, line in sorted(lines.items())}


def _series(key: Key, runs: Sequence[Run]) -> Series:
    first = runs[0]
    for run in runs:
        if not np.array_equal(run.iterations, first.iterations):
            raise InvalidInput(
                f"the runs of {_named(key)} were recorded at different iterations: "
                f"seed {first.seed} at {_span(first.iterations)}, seed {run.seed} at {_span(run.iterations)}"
            )
    return Series(
        seeds=tuple(run.seed for run in runs),
        iterations=np.asarray(first.iterations, dtype=np.int64),
        simple=_rounded([run.simple for run in runs]),
        late=_rounded([run.late for run in runs]),
        cumulative=_rounded([run.cumulative for run in runs]),
    )


def _rounded(rows: Sequence[Array]) -> Array:
    """In DIGITS significant digits."""
    values = np.asarray(rows, dtype=float)
    return np.array([float(_number(v)) if math.isfinite(v) else math.nan for v in values.flat]).reshape(values.shape)


def _named(key: Key) -> str:
    return f"{key.curve} in {key.panel} ({key.reading})"


def _span(iterations: Iterations) -> str:
    return f"{len(iterations)} from {iterations[0]} to {iterations[-1]}" if len(iterations) else "none"


# Files --------------------------------------------------------------------------------------------------------------


def write(path: Path, curves: Curves) -> None:
    """Every run as rows, in a fixed order."""
    _write(path, CURVES, _rows(curves))


def _rows(curves: Curves) -> Iterator[Sequence[object]]:
    for key, line in sorted(curves.items(), key=lambda item: item[0]):
        for i, seed in enumerate(line.seeds):
            for j, iteration in enumerate(line.iterations.tolist()):
                values = (line.simple[i, j], line.late[i, j], line.cumulative[i, j])
                yield [*key, seed, iteration, *map(_number, values)]


def read(path: Path) -> Curves:
    """The curves of a file."""
    runs: dict[tuple[Key, int], dict[int, tuple[float, float, float]]] = {}
    for row in _read(path, CURVES):
        key = Key(row.text("panel"), row.text("curve"), row.text("reading"))
        run = runs.setdefault((key, row.whole("seed")), {})
        iteration = row.whole("iteration")
        if iteration < 1:
            raise row.broken(f"iterations count from 1 (got {iteration})")
        if iteration in run:
            raise row.broken(f"a second row of iteration {iteration} of {_named(key)}, seed {row.whole('seed')}")
        run[iteration] = row.number("simple"), row.perhaps("late"), row.perhaps("cumulative")
    try:
        return gathered(_run(key, seed, entries) for (key, seed), entries in runs.items())
    except InvalidInput as error:
        raise Unreadable(f"{path}: {error}") from None


def _run(key: Key, seed: int, entries: Mapping[int, tuple[float, float, float]]) -> Run:
    iterations = sorted(entries)
    simple, late, cumulative = np.array([entries[i] for i in iterations], dtype=float).T
    return Run(
        key=key,
        seed=seed,
        iterations=np.array(iterations, dtype=np.int64),
        simple=simple,
        late=late,
        cumulative=cumulative,
    )


def write_costs(path: Path, costs: Iterable[Cost]) -> None:
    """One row per run, in a fixed order."""
    _write(path, COSTS, ([*cost[:5], _number(cost.learner_s), _number(cost.objective_s)] for cost in sorted(costs)))


def read_costs(path: Path) -> list[Cost]:
    """The costs of a file, in a fixed order."""
    costs = [
        Cost(
            panel=row.text("panel"),
            curve=row.text("curve"),
            reading=row.text("reading"),
            seed=row.whole("seed"),
            rounds=row.whole("rounds"),
            learner_s=row.number("learner_s"),
            objective_s=row.number("objective_s"),
        )
        for row in _read(path, COSTS)
    ]
    return sorted(costs)


def published(path: Path) -> Curves:
    """The authors' released SVM runs, from `svm_reference_runs.csv`, as the reading "published" of Fig. 2a-d."""
    runs: dict[tuple[Key, int], dict[int, tuple[float, float, float]]] = {}
    for row in _read(path, RELEASED_RUNS):
        if row.whole("iteration") <= SHOWN:
            panel = PANEL_OF.get((row.text("policy"), row.text("delay")))
            if panel is None:
                raise row.broken(f"no panel shows {row.text('policy')} under {row.text('delay')}")
            run = runs.setdefault((Key(panel, row.text("method"), PUBLISHED), row.whole("run")), {})
            error = row.number("val_error")  # above 1: nothing had arrived yet
            run[row.whole("iteration")] = (NOTHING_HEARD if error > 1 else error), math.nan, math.nan
    return gathered(_run(key, seed, entries) for (key, seed), entries in runs.items())


def _number(value: float) -> str:
    """In DIGITS digits; nothing for NaN."""
    return "" if math.isnan(value) else format(value, f".{DIGITS}g")


def _write(path: Path, titles: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows(rows)
    written = text.getvalue().encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    # Neither the time nor the name goes into the file: the same curves are the same bytes.
    path.write_bytes(gzip.compress(written, mtime=0) if path.suffix == ".gz" else written)


@dataclass(frozen=True)
class _Row:
    """One line of a file, read field by field."""

    path: Path
    line: int
    fields: Mapping[str, str]

    def broken(self, why: str) -> Unreadable:
        return Unreadable(f"{self.path}, line {self.line}: {why}")

    def text(self, name: str) -> str:
        if not self.fields[name]:
            raise self.broken(f"{name} is empty")
        return self.fields[name]

    def whole(self, name: str) -> int:
        try:
            return int(self.fields[name])
        except ValueError:
            raise self.broken(f"{name} must be a whole number (got {self.fields[name]!r})") from None

    def number(self, name: str) -> float:
        try:
            value = float(self.fields[name])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.broken(f"{name} must be a finite number (got {self.fields[name]!r})")
        return value

    def perhaps(self, name: str) -> float:
        """NaN when the field is empty."""
        return self.number(name) if self.fields[name] else math.nan


def _read(path: Path, titles: Sequence[str]) -> Iterator[_Row]:
    """The rows of a file, compressed or not, whose first line must be `titles`."""
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode()
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise Unreadable(f"{path} cannot be read: {error}") from error
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        first = next(lines, [])
        if first != list(titles):
            raise Unreadable(f"{path} must begin with the line {','.join(titles)} (got {','.join(first)[:100]!r})")
        for fields in lines:
            if len(fields) != len(titles):
                raise Unreadable(f"{path}, line {lines.line_num}: {len(titles)} fields expected, {len(fields)} found")
            yield _Row(path, lines.line_num, dict(zip(titles, fields, strict=True)))
    except csv.Error as error:
        raise Unreadable(f"{path}, line {lines.line_num}: {error}") from None
