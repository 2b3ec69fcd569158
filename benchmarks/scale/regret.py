"""What the approximation costs in regret: the rounds after 2,000, chosen by it and by the exact model.

    python -m benchmarks.scale.regret [--seeds 10] [--tasks NAME ...] [--out FILE]

Each task and seed has one history of 2,000 rounds, chosen by the exact model. From there two studies go on for 1,000
rounds, one with the exact model and one with the model that a study has. Noise and delay of query s are the same in
both.

exact, approximate   Σ best - f(x_s) over rounds 2,001 to 3,000, divided by 1,000
ratio                exp of the mean log of approximate / exact over pairs; its upper bound is one of a 95 % interval
                     by Student's t

A pair is a row of the CSV, which is the cache: what is in it is not run again. Histories are kept in build/scale.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from belated import Study, Trial, simulate
from belated.execution.named import open_executor
from belated.learner.delays.distributions import Geometric, Poisson
from belated.record.ledger.memory import MemoryLedger
from belated.simulation.task import Task
from benchmarks.progress import add_where_to_run, run_and_say
from benchmarks.regret.tasks import gp2, hartmann3, hartmann6
from benchmarks.regret.world import gap
from benchmarks.rows import append_row, read_rows
from benchmarks.scale.exact import keep_exact
from benchmarks.table import align_numbers, shown

HERE = Path(__file__).parent
OUT, HISTORIES = HERE / "regret.csv", HERE.parents[1] / "build" / "scale"
HISTORY, ROUNDS, SEEDS = 2000, 1000, 10
MOST = 1.1  # the upper bound of the ratio to build for

# name -> its task for a seed; all of them noisy, and every query counts
TASKS: dict[str, Callable[[int], Task]] = {
    "gp2": lambda seed: replace(gp2(seed), noise=0.2, delay=Geometric(0.1)),
    "hartmann3": lambda seed: replace(hartmann3(seed), noise=0.5, delay=Poisson(5)),
    "hartmann6": lambda seed: replace(hartmann6(seed), noise=0.3, delay=Poisson(10)),
}


@dataclass(frozen=True)
class PairJob:
    """A task and a seed, and how long its history and what follows are."""

    task: str
    seed: int
    history: int = HISTORY
    rounds: int = ROUNDS


@dataclass(frozen=True, kw_only=True)
class PairRow:
    """One pair, as it is written."""

    task: str
    seed: int
    history: int
    rounds: int
    exact: float  # mean regret of a round
    approximate: float
    exact_cpu: float  # seconds of CPU per round
    approximate_cpu: float
    summarised: int  # rounds that the approximation chose
    centres: int  # of its newest fit

    @property
    def job(self) -> PairJob:
        return PairJob(self.task, self.seed, self.history, self.rounds)


@dataclass(frozen=True)
class Ratio:
    """approximate / exact over some pairs."""

    pairs: int
    mean: float  # geometric
    low: float  # of a 95 % interval
    high: float


@dataclass(frozen=True)
class Followed:
    """The rounds after a history."""

    regret: float  # mean of a round
    cpu: float  # seconds per round
    summarised: int  # rounds that the approximation chose
    centres: int  # of the newest fit


def run_pair(job: PairJob, folder: Path = HISTORIES) -> PairRow:
    """The history, as far as it is not kept, and both of what follows it."""
    task = TASKS[job.task](job.seed)
    with keep_exact():
        history = open_history(job, task, folder)
        play(history, task, job.seed, job.history - history.rounds)
        exact = follow(history, task, job)
    if exact.summarised:
        raise RuntimeError(f"{exact.summarised} rounds of the exact model were not: {job}")
    approximate = follow(history, task, job)
    return PairRow(
        task=job.task,
        seed=job.seed,
        history=job.history,
        rounds=job.rounds,
        exact=exact.regret,
        approximate=approximate.regret,
        exact_cpu=exact.cpu,
        approximate_cpu=approximate.cpu,
        summarised=approximate.summarised,
        centres=approximate.centres,
    )


def open_history(job: PairJob, task: Task, folder: Path) -> Study:
    """The study of a pair's history, which goes on where it was interrupted."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{job.task}-{job.seed}-{job.history}.db"
    return Study.create(
        f"sqlite:///{path}", job.task, space=task.space, silence="unknown", regret="cumulative", seed=job.seed
    )


def play(study: Study, task: Task, seed: int, rounds: int) -> list[Trial]:
    """Go on for some rounds; the trials asked in them."""
    assert task.delay is not None
    return list(simulate(study, task.f, delay=task.delay, noise=task.noise, rounds=rounds, seed=seed))


def follow(history: Study, task: Task, job: PairJob) -> Followed:
    """Go on from a history, with the model that a study made here and now has."""
    study = Study(history.settings, MemoryLedger(history.events()), history.name, history.clock)
    began = time.process_time()
    trials = play(study, task, job.seed, job.rounds)
    spent, fits = time.process_time() - began, study.hyperparameters()
    return Followed(
        regret=float(np.mean([gap(task, trial) for trial in trials])),
        cpu=spent / job.rounds,
        summarised=sum("approximate" in trial.note for trial in trials),
        centres=len(fits[-1].centres) if fits else 0,
    )


def compute_ratio(rows: Sequence[PairRow]) -> Ratio:
    """The geometric mean of approximate / exact, and its 95 % interval."""
    from scipy.stats import t

    logs = [math.log(row.approximate / row.exact) for row in rows]
    mean = float(np.mean(logs))
    if len(logs) < 2:
        return Ratio(len(logs), math.exp(mean), math.nan, math.nan)
    half = float(t.ppf(0.975, len(logs) - 1)) * float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
    return Ratio(len(logs), math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def report(rows: Sequence[PairRow]) -> str:
    """Each task and all of them together, in aligned columns, and a verdict."""
    head = ["", "pairs", "exact", "approximate", "ratio", "from", "to", "CPU s exact", "approximate"]
    grid = [head]
    for name in [*dict.fromkeys(row.task for row in rows), "all"]:
        some = [row for row in rows if name in (row.task, "all")]
        ratio = compute_ratio(some)
        columns = (
            [getattr(row, key) for row in some] for key in ("exact", "approximate", "exact_cpu", "approximate_cpu")
        )
        exact, approximate, exact_cpu, cpu = (shown(float(np.mean(column))) for column in columns)
        bounds = [shown(value) for value in (ratio.mean, ratio.low, ratio.high)]
        grid.append([name, str(ratio.pairs), exact, approximate, *bounds, exact_cpu, cpu])
    high = compute_ratio(rows).high
    verdict = (
        "too few pairs" if math.isnan(high) else f"{shown(high)}, {'below' if high < MOST else 'NOT below'} {MOST}"
    )
    return "\n".join([*align_numbers(grid), f"Upper 95 % bound of the ratio, all pairs: {verdict}."])


def list_jobs(tasks: Iterable[str], seeds: int) -> list[PairJob]:
    """Seed by seed, so that an interrupted comparison has whole seeds."""
    return [PairJob(task, seed) for seed in range(seeds) for task in tasks]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale.regret", description="Regret beyond 2,000 rounds, beside the exact model."
    )
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS), metavar="NAME")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help="seeds 0 … N-1 (%(default)s)")
    add_where_to_run(parser, workers=1)
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE", help="the CSV, which is the cache")
    chosen = parser.parse_args(arguments)
    jobs = list_jobs(chosen.tasks, chosen.seeds)
    known = {row.job for row in read_rows(chosen.out, PairRow)}

    def keep(row: PairRow) -> str:
        append_row(row, chosen.out)
        return f"{row.task}, seed {row.seed}: {shown(row.exact)} exact, {shown(row.approximate)}"

    todo = [job for job in jobs if job not in known]
    with open_executor(chosen.executor) as executor:
        run_and_say(run_pair, todo, chosen.workers, keep, executor)
    rows = [row for row in read_rows(chosen.out, PairRow) if row.job in jobs]
    if rows:
        print(report(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
