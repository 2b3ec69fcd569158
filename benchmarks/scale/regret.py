"""What the approximation costs in regret: the rounds after 2,000, chosen by it and by the exact model.

    python -m benchmarks.scale.regret [--seeds 10] [--tasks NAME ...] [--again MODEL] [--out FILE]

Each task and seed has one history of 2,000 rounds, chosen by the exact model. From there two studies go on for 1,000
rounds, one with the exact model and one with the model that a study has. Noise and delay of query s are the same in
both.

exact, approximate   Σ best - f(x_s) over rounds 2,001 to 3,000, divided by 1,000
ratio                exp of the mean log of approximate / exact over pairs; its upper bound is one of a 95 % interval
                     by Student's t

The rounds of one model are a row of the CSV, which is the cache: what is in it is not run again, but for the model that
`--again` names. Histories are kept in build/scale.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
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
from benchmarks.rows import append_row, read_rows, replace_rows
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


MODELS = ("exact", "approximate")


@dataclass(frozen=True)
class PairJob:
    """A task and a seed, how long its history and what follows are, and with which models it goes on."""

    task: str
    seed: int
    models: tuple[str, ...] = MODELS
    history: int = HISTORY
    rounds: int = ROUNDS


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """The rounds of one model after a history, as they are written."""

    task: str
    seed: int
    history: int
    rounds: int
    model: str
    regret: float  # mean of a round
    cpu: float  # seconds per round
    summarised: int  # rounds whose choice rested on a summary
    centres: int  # of the newest fit

    @property
    def pair(self) -> tuple[str, int]:
        return self.task, self.seed


@dataclass(frozen=True)
class Ratio:
    """approximate / exact over some pairs."""

    pairs: int
    mean: float  # geometric
    low: float  # of a 95 % interval
    high: float


def run_pair(job: PairJob, folder: Path = HISTORIES) -> list[ModelRow]:
    """The history, as far as it is not kept, and what follows it with each model."""
    task = TASKS[job.task](job.seed)
    with keep_exact():
        history = open_history(job, task, folder)
        play(history, task, job.seed, job.history - history.rounds)
    rows = []
    for model in job.models:
        with keep_exact() if model == "exact" else nullcontext():
            row = follow(history, task, job, model)
        if model == "exact" and row.summarised:
            raise RuntimeError(f"{row.summarised} rounds of the exact model were not: {job}")
        rows.append(row)
    return rows


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


def follow(history: Study, task: Task, job: PairJob, model: str) -> ModelRow:
    """Go on from a history, with the model that a study made here and now has."""
    study = Study(history.settings, MemoryLedger(history.events()), history.name, history.clock)
    began = time.process_time()
    trials = play(study, task, job.seed, job.rounds)
    spent, fits = time.process_time() - began, study.hyperparameters()
    return ModelRow(
        task=job.task,
        seed=job.seed,
        history=job.history,
        rounds=job.rounds,
        model=model,
        regret=float(np.mean([gap(task, trial) for trial in trials])),
        cpu=spent / job.rounds,
        summarised=sum("approximate" in trial.note for trial in trials),
        centres=len(fits[-1].centres) if fits else 0,
    )


def pair_rows(rows: Iterable[ModelRow]) -> list[tuple[ModelRow, ModelRow]]:
    """Exact and approximate of each pair that has both."""
    exact, approximate = ({row.pair: row for row in rows if row.model == model} for model in MODELS)
    return [(exact[pair], approximate[pair]) for pair in exact if pair in approximate]


def compute_ratio(pairs: Sequence[tuple[ModelRow, ModelRow]]) -> Ratio:
    """The geometric mean of approximate / exact, and its 95 % interval."""
    from scipy.stats import t

    logs = [math.log(approximate.regret / exact.regret) for exact, approximate in pairs]
    mean = float(np.mean(logs))
    if len(logs) < 2:
        return Ratio(len(logs), math.exp(mean), math.nan, math.nan)
    half = float(t.ppf(0.975, len(logs) - 1)) * float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
    return Ratio(len(logs), math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def report(rows: Sequence[ModelRow]) -> str:
    """Each task and all of them together, in aligned columns, and a verdict; of pairs that have both models."""
    pairs = pair_rows(rows)
    if not pairs:
        return "No pair has both models yet."
    head = ["", "pairs", "exact", "approximate", "ratio", "from", "to", "CPU s exact", "approximate"]
    grid = [head]
    for name in [*dict.fromkeys(exact.task for exact, _ in pairs), "all"]:
        some = [pair for pair in pairs if name in (pair[0].task, "all")]
        ratio = compute_ratio(some)
        means = [
            shown(float(np.mean([getattr(pair[i], key) for pair in some]))) for key in ("regret", "cpu") for i in (0, 1)
        ]
        bounds = [shown(value) for value in (ratio.mean, ratio.low, ratio.high)]
        grid.append([name, str(ratio.pairs), *means[:2], *bounds, *means[2:]])
    high = compute_ratio(pairs).high
    verdict = (
        "too few pairs" if math.isnan(high) else f"{shown(high)}, {'below' if high < MOST else 'NOT below'} {MOST}"
    )
    return "\n".join([*align_numbers(grid), f"Upper 95 % bound of the ratio, all pairs: {verdict}."])


def list_jobs(tasks: Iterable[str], seeds: int, known: Iterable[ModelRow]) -> list[PairJob]:
    """What is missing, seed by seed, so that an interrupted comparison has whole seeds."""
    have = {(*row.pair, row.model) for row in known}
    found = [
        PairJob(task, seed, tuple(model for model in MODELS if (task, seed, model) not in have))
        for seed in range(seeds)
        for task in tasks
    ]
    return [job for job in found if job.models]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale.regret", description="Regret beyond 2,000 rounds, beside the exact model."
    )
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS), metavar="NAME")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help="seeds 0 … N-1 (%(default)s)")
    parser.add_argument("--again", nargs="+", choices=MODELS, default=[], metavar="MODEL", help="what to run anew")
    add_where_to_run(parser, workers=1)
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE", help="the CSV, which is the cache")
    chosen = parser.parse_args(arguments)
    known = [row for row in read_rows(chosen.out, ModelRow) if row.model not in chosen.again]
    if chosen.again:
        replace_rows(known, chosen.out)

    def keep(rows: list[ModelRow]) -> str:
        for row in rows:
            append_row(row, chosen.out)
        return f"{rows[0].task}, seed {rows[0].seed}: " + ", ".join(f"{shown(row.regret)} {row.model}" for row in rows)

    todo = list_jobs(chosen.tasks, chosen.seeds, known)
    with open_executor(chosen.executor) as executor:
        run_and_say(run_pair, todo, chosen.workers, keep, executor)
    rows = [row for row in read_rows(chosen.out, ModelRow) if row.task in chosen.tasks and row.seed < chosen.seeds]
    print(report(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
