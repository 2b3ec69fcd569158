"""What runs cost, in CPU seconds, and the file that says so."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from reproduction.csv_files import format_digits, read_csv, write_csv

DIGITS = 10
TITLES = ("panel", "curve", "reading", "seed", "rounds", "learner_s", "objective_s")


class RunCost(NamedTuple):
    """What a run took, in CPU seconds."""

    panel: str
    curve: str
    reading: str
    seed: int
    rounds: int
    learner_s: float
    objective_s: float


def write_costs(path: Path, costs: Iterable[RunCost]) -> None:
    """One row per run, in a fixed order."""
    rows = ([*cost[:5], *(format_digits(seconds, DIGITS) for seconds in cost[5:])] for cost in sorted(costs))
    write_csv(path, TITLES, rows)


def read_costs(path: Path) -> list[RunCost]:
    """The costs of a file, in a fixed order."""
    costs = [
        RunCost(
            panel=row.parse_text("panel"),
            curve=row.parse_text("curve"),
            reading=row.parse_text("reading"),
            seed=row.parse_integer("seed"),
            rounds=row.parse_integer("rounds"),
            learner_s=row.parse_number("learner_s"),
            objective_s=row.parse_number("objective_s"),
        )
        for row in read_csv(path, TITLES)
    ]
    return sorted(costs)


def format_seconds(seconds: float) -> str:
    """12.3 s, 4.5 min, 6.7 h."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
