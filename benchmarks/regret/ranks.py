"""What the runs say: mean ranks, mean regrets, and how the default stands against the best peer in each family.

r        regret that counts: simple, or cumulative per round; without noise
spread   standard deviation of f over the space
clipped  max(r, CLIP · spread): below that a problem is solved, and how far below says nothing

Ranks are taken in each cell (a task and a seed) among all entrants, by clipped regret, 1 the best; equal ones share the
mean of their places (scipy.stats.rankdata, "average"), so that two who have solved a problem are equal. Only cells in
which every entrant has a run count. A mean rank is the mean over tasks of the mean over seeds; tasks are fixed and
seeds are drawn, so its standard error is that of the seeds.

Families: d_s = mean over the family's tasks of log(clipped regret of the default) - log(that of the peer), one for each
seed s. exp(mean d) is the ratio of the geometric means, and mean d ± t_{0.95, n-1} · sd / √n its one-sided 95 % bounds.
With places instead of log-regrets, over all tasks: the difference in mean rank between the default and others of ours.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from belated.learner.arrays import Array
from benchmarks.regret.kept import Row
from benchmarks.regret.tasks import BEDS, FAMILIES

CLIP = 1e-4
MARGIN = math.log(1.1)  # worse by no more than 10 %
Cells = dict[tuple[str, int], dict[str, Row]]


@dataclass(frozen=True)
class Mean:
    """A mean with its standard error; nan where there is one value or none."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Mean:
        x = np.array([value for value in values if not math.isnan(value)])
        if not len(x):
            return cls(math.nan, math.nan)
        return cls(float(np.mean(x)), float(np.std(x, ddof=1) / math.sqrt(len(x))) if len(x) > 1 else math.nan)


def clipped(row: Row) -> float:
    return max(row.regret, CLIP * row.spread)


def cells(rows: Iterable[Row]) -> Cells:
    """Runs by task and seed, of the cells in which everyone who has a run at all has one."""
    found: Cells = defaultdict(dict)
    for row in rows:
        found[row.task, row.seed][row.entrant] = row
    everyone = set().union(*found.values()) if found else set()
    return {cell: runs for cell, runs in found.items() if set(runs) == everyone}


def places(values: Mapping[str, float]) -> dict[str, float]:
    """The place of each, 1 for the least; equal ones share the mean of their places."""
    return {
        name: sum(other < value for other in values.values())
        + (1 + sum(other == value for other in values.values())) / 2
        for name, value in values.items()
    }


def ranks(found: Cells) -> dict[tuple[str, int], dict[str, float]]:
    """The places in each cell."""
    return {cell: places({name: clipped(row) for name, row in runs.items()}) for cell, runs in found.items()}


def mean_rank(found: Cells, entrant: str, tasks: Sequence[str] | None = None) -> Mean:
    """The mean rank of an entrant over some tasks, or all."""
    by_task: dict[str, list[float]] = defaultdict(list)
    for (task, _), placed in ranks(found).items():
        if tasks is None or task in tasks:
            by_task[task].append(placed[entrant])
    means = [Mean.of(values) for values in by_task.values()]
    if not means:
        return Mean(math.nan, math.nan)
    error = math.sqrt(sum(one.error**2 for one in means)) / len(means)
    return Mean(float(np.mean([one.mean for one in means])), error)


@dataclass(frozen=True)
class Standing:
    """The default against the best peer of a family, in log-regret."""

    family: str
    candidate: str
    peer: str
    seeds: int
    difference: float  # mean d
    low: float  # its one-sided 95 % bounds
    high: float

    @property
    def verdict(self) -> Literal["met", "MISSED", "open"]:
        """Whether the default is shown to be no worse by more than the margin, shown to be worse, or neither."""
        return "met" if self.high <= MARGIN else "MISSED" if self.low > MARGIN else "open"


def bounds(d: Array) -> tuple[float, float, float]:
    """mean d, and its one-sided 95 % bounds."""
    from scipy.stats import t

    n, mean = len(d), float(np.mean(d))
    if n < 2:
        return mean, -math.inf, math.inf
    half = float(t.ppf(0.95, n - 1) * np.std(d, ddof=1) / math.sqrt(n))
    return mean, mean - half, mean + half


@dataclass(frozen=True)
class RankDifference:
    """The mean rank of the default minus that of another of ours, with its one-sided 95 % bounds."""

    other: str
    seeds: int
    difference: float
    low: float
    high: float


def rank_differences(found: Cells, candidate: str, others: Sequence[str]) -> list[RankDifference]:
    """One for each of the others who has runs, in the seeds that every task has."""
    placed = ranks(found)
    tasks = sorted({task for task, _ in placed})
    seeds = sorted(set.intersection(*({s for t, s in placed if t == task} for task in tasks))) if tasks else []
    result = []
    for other in others:
        if seeds and {candidate, other} <= set(placed[tasks[0], seeds[0]]):
            cells = [[placed[task, seed] for task in tasks] for seed in seeds]
            d = np.array([np.mean([cell[candidate] - cell[other] for cell in of_seed]) for of_seed in cells])
            result.append(RankDifference(other, len(seeds), *bounds(d)))
    return result


def standings(found: Cells, candidate: str, peers: Sequence[str]) -> list[Standing]:
    """The candidate against the best peer of each family: the one with the least mean log-regret."""
    result = []
    for family in FAMILIES:
        tasks = sorted({task for task, _ in found if BEDS[task].family == family})
        seeds = sorted(set.intersection(*({s for t, s in found if t == task} for task in tasks))) if tasks else []
        runs = [[found[task, seed] for task in tasks] for seed in seeds]
        if not runs or not peers or candidate not in runs[0][0]:
            continue

        def logs(name: str, runs: list[list[dict[str, Row]]] = runs) -> Array:
            """One for each seed: the mean over the tasks."""
            return np.array([np.mean([math.log(clipped(cell[name])) for cell in of_seed]) for of_seed in runs])

        best = min((peer for peer in peers if peer in runs[0][0]), key=lambda peer: float(np.mean(logs(peer))))
        result.append(Standing(family, candidate, best, len(seeds), *bounds(logs(candidate) - logs(best))))
    return result
