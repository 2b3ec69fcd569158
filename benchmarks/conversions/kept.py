"""The measured CSV, a row per run. It is the cache as well: what is in it, from the same world and version, is not run.

A row is written as soon as its run is over, so that an interrupted comparison goes on where it was. A world is known by
a mark: its values, and rates and first visitors of seed 0. A peer that is not installed is represented by the runs that
are kept of it, whatever their version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.conversions.campaign import Job, Run
from benchmarks.conversions.truth import draw_truth
from benchmarks.conversions.visitors import draw_visitors
from benchmarks.conversions.worlds import DAYS, WINDOW, WORLDS
from benchmarks.regret.entrants import Entrant
from benchmarks.rows import read_rows, replace_rows


@dataclass(frozen=True, kw_only=True)
class Row:
    """One run, as it is written."""

    world: str
    entrant: str
    version: str
    seed: int
    days: int
    limit: float  # of CPU seconds
    share: float
    random: float  # the expected share of random queries
    reached: float  # the day until which it chose
    cpu: float
    note: str
    mark: str  # of the world
    by_day: str

    @property
    def job(self) -> Job:
        return Job(self.world, self.entrant, self.seed, self.days, self.limit)

    @property
    def above_random(self) -> float:
        """0 for what random queries are expected to reach, 1 for the best possible."""
        return (self.share - self.random) / (1 - self.random)

    @property
    def daily(self) -> list[float]:
        """The share of each day."""
        return [float(word) for word in self.by_day.split()]


@cache
def mark_world(name: str) -> str:
    """Eight hex digits that change when anything does that runs depend on."""
    truth, visitors = draw_truth(name, 0), draw_visitors(name, 0)
    first = slice(0, 200)
    numbers = [truth.best(0), truth.average(0), truth.best(DAYS - 1), truth.average(DAYS - 1), visitors.hours[first]]
    numbers += [visitors.segments[first], visitors.luck[first], visitors.delays[first]]
    exact = " ".join(f"{number:.5g}" for number in np.concatenate(numbers).tolist())
    text = f"{WORLDS[name]} {WINDOW} {DAYS} {exact}"
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def row_of(run: Run, who: Entrant) -> Row:
    """A run as it is written."""
    job = run.job
    return Row(
        world=job.world,
        entrant=job.entrant,
        version=who.version,
        seed=job.seed,
        days=job.days,
        limit=job.limit,
        share=run.share,
        random=run.random,
        reached=run.reached,
        cpu=run.cpu,
        note=run.note,
        mark=mark_world(job.world),
        by_day=" ".join(f"{share:.4g}" for share in run.by_day),
    )


def read(path: Path) -> list[Row]:
    """The rows of a file. Of several for the same job the last counts."""
    return list({row.job: row for row in read_rows(path, Row)}.values())


def usable(rows: Iterable[Row], everybody: Mapping[str, Entrant]) -> dict[Job, Row]:
    """The rows that need not be run again: of this world and version, or of somebody who is not installed."""

    def is_usable(row: Row) -> bool:
        who = everybody.get(row.entrant)
        if who is None or row.world not in WORLDS or row.mark != mark_world(row.world):
            return False
        return bool(who.missing) or row.version == who.version

    return {row.job: row for row in rows if is_usable(row)}


def write(rows: Iterable[Row], path: Path) -> None:
    """All rows of worlds that there are, in order, in place of the file."""
    worlds = list(WORLDS)
    kept = (row for row in rows if row.world in WORLDS)
    order = sorted(kept, key=lambda row: (worlds.index(row.world), row.days, row.limit, row.entrant, row.seed))
    replace_rows(order, path)
