"""The measured CSV, a row per run. It is the cache as well: what is in it, from the same world and version, is not run.

A row is written as soon as its run is over, so that an interrupted comparison goes on where it was. The world of a task
is known by a mark: f, noise, delays and contexts at the first points of seed 0; of f its mean and spread to four
figures, as the samples of gp1 differ in the sixth from one machine to another. A peer that is not installed is
represented by the runs that are kept of it, whatever their version.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from belated.learner.arrays import Array
from belated.simulation.simulate import WAIT, evaluate_exactly
from benchmarks.regret.entrants import Entrant
from benchmarks.regret.tasks import BEDS, drawn_task
from benchmarks.regret.world import LONGEST, Job, Run, beginnings, space_filling
from benchmarks.rows import read_rows, replace_rows


@dataclass(frozen=True, kw_only=True)
class Row:
    """One run, as it is written."""

    task: str
    family: str
    counts: str  # which regret does
    entrant: str
    version: str
    seed: int
    rounds: int
    simple: float  # nan where a context changes
    simple_half: float  # after half of the rounds
    cumulative: float
    spread: float  # standard deviation of f over the space
    cpu: float  # seconds per ask; nan where the run was made on another machine than the others
    failures: int
    note: str
    world: str

    @property
    def job(self) -> Job:
        return Job(self.task, self.entrant, self.seed, self.rounds)

    @property
    def regret(self) -> float:
        """The one that counts; a cumulative one per round."""
        return self.simple if self.counts == "simple" else self.cumulative / self.rounds


@cache
def values(task: str, seed: int) -> Array:
    """f at the points of the space-filling sequence, in the contexts of the rounds of the same number."""
    drawn = drawn_task(task, seed)
    at = drawn.context_of
    pairs = [(space_filling(drawn, seed, i), None if at is None else at(i + 1)) for i in range(LONGEST)]
    return np.array([evaluate_exactly(drawn.f, params, context) for params, context in pairs])


@cache
def world(task: str) -> str:
    """The mark of a task's world: it changes when anything does that runs depend on."""
    bed, drawn = BEDS[task], drawn_task(task, 0)
    assert drawn.delay is not None
    at = drawn.context_of
    waits = [
        drawn.delay.draw(
            np.random.default_rng([0, i, WAIT]), space_filling(drawn, 0, i), None if at is None else at(i + 1)
        )
        for i in range(LONGEST)
    ]
    f = values(task, 0)
    numbers = [*waits, drawn.noise, drawn.floor, drawn.ceiling, bed.patience, beginnings(drawn)]
    exact = " ".join(f"{number:.9g}" for number in numbers)
    ranges = re.sub(r", unit=[^,)]*", "", f"{drawn.space} {drawn.context}")  # a unit is a word for people
    text = f"{np.mean(f):.4g} {np.std(f):.4g} {exact} {ranges} {bed.counts}"
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def row_of(run: Run, who: Entrant) -> Row:
    """A run as it is written."""
    job, bed = run.job, BEDS[run.job.task]
    return Row(
        task=job.task,
        family=bed.family,
        counts=bed.counts,
        entrant=job.entrant,
        version=who.version,
        seed=job.seed,
        rounds=job.rounds,
        simple=run.simple,
        simple_half=run.simple_half,
        cumulative=run.cumulative,
        spread=float(np.std(values(job.task, job.seed))),
        cpu=run.cpu,
        failures=run.failures,
        note=run.note,
        world=world(job.task),
    )


def read(path: Path) -> list[Row]:
    """The rows of a file; none where there is none. Of several for the same job the last counts."""
    return list({row.job: row for row in read_rows(path, Row)}.values())


def usable(rows: Iterable[Row], everybody: Mapping[str, Entrant]) -> dict[Job, Row]:
    """The rows that need not be run again: of this world and version, or of somebody who is not installed."""

    def is_usable(row: Row) -> bool:
        who = everybody.get(row.entrant)
        if who is None or row.task not in BEDS or row.world != world(row.task):
            return False
        return bool(who.missing) or row.version == who.version

    return {row.job: row for row in rows if is_usable(row)}


def write(rows: Iterable[Row], path: Path) -> None:
    """All rows of tasks that there are, in order, in place of the file."""
    tasks = list(BEDS)
    order = sorted(
        (row for row in rows if row.task in BEDS),
        key=lambda row: (tasks.index(row.task), row.rounds, row.entrant, row.seed),
    )
    replace_rows(order, path)
