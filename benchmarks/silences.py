"""What silence means decides: three worlds, and how well each meaning serves in each.

    python -m benchmarks.silences [--seeds N] [--workers N] [--executor MODULE:NAME]

late         every outcome comes, after Poisson(10) rounds; f has a hill of 0.7 and a hill of 1
uneven       the same hills; around the better one every other query is never answered, elsewhere all after 2 rounds
conversions  all that is ever told is 1, 3 rounds later, with a probability of at most 0.8; the others are silent

late, uneven   f at the recommended query, the best is 1                       after 80 queries
conversions    the mean probability of the second half of the queries, the best is 0.8    of 120 queries
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np

import belated
from belated import Study
from belated.execution.named import open_executor
from belated.execution.parallel import run_in_parallel
from belated.learner.algorithms import PAPER
from belated.learner.delays.distributions import ByInput, Delay, Distribution, Empirical, Fixed, Poisson
from benchmarks.progress import add_where_to_run
from benchmarks.regret.ranks import Mean
from benchmarks.regret.report import with_error
from benchmarks.table import align_numbers

POINTS = np.linspace(0.0, 1.0, 41)
SILENCES = ("unknown", "waiting", "fading", "floor")  # of the default
SEEDS = 24


def bump(x: float, at: float) -> float:
    return math.exp(-(((x - at) / 0.12) ** 2))


def hills(params: Mapping[str, float]) -> float:
    return 0.7 * bump(params["x"], 0.25) + bump(params["x"], 0.75)


def every_other(params: Mapping[str, float]) -> Distribution:
    """The right half answers every other time, the left always."""
    return Empirical([2.0, math.inf]) if params["x"] > 0.5 else Fixed(2)


def converts(x: float) -> float:
    """The probability of a conversion."""
    return 0.1 + 0.7 * bump(x, 0.7)


def only_conversions(params: Mapping[str, float]) -> Distribution:
    came = round(20 * converts(params["x"]))
    return Empirical([3.0] * came + [math.inf] * (20 - came))


def studied(name: str, patience: int, seed: int, **says: Any) -> Study:
    """A study by the default under a meaning of silence, or by one of the paper's six."""
    if name in PAPER:
        says |= {"algorithm": name} | ({"patience": patience} if PAPER[name].implied.patience == "needed" else {})
    else:
        says |= {"silence": name, "patience": patience}
    return Study.create(space=belated.Points(POINTS), floor=0.0, ceiling=1.0, initial=12, seed=seed, **says)


def recommended(name: str, seed: int, delay: Delay, patience: int) -> float:
    """Where a study on the two hills believes the best to be."""
    study = studied(name, patience, seed)
    for _ in belated.simulate(study, hills, delay=delay, rounds=80, seed=seed, noise=0.02):
        pass
    return float(study.recommend().params["x"])


def late(name: str, seed: int) -> float:
    return hills({"x": recommended(name, seed, Poisson(10), 40)})


def uneven(name: str, seed: int) -> float:
    return hills({"x": recommended(name, seed, ByInput(every_other), 8)})


def conversions(name: str, seed: int) -> float:
    study = studied(name, 10, seed, **({} if name in PAPER else {"repeats": "always"}))
    asked = list(belated.simulate(study, lambda params: 1.0, delay=ByInput(only_conversions), rounds=120, seed=seed))
    return float(np.mean([converts(trial.params["x"]) for trial in asked[60:]]))


WORLDS = {"late": late, "uneven": uneven, "conversions": conversions}


class Job(NamedTuple):
    world: str
    name: str
    seed: int


def score(job: Job) -> float:
    return WORLDS[job.world](job.name, job.seed)


def rows(seeds: int, workers: int, executor: Executor | None = None) -> list[list[str]]:
    """A row for everyone, a column for every world."""
    names = (*SILENCES, *PAPER)
    jobs = [Job(world, name, seed) for world in WORLDS for name in names for seed in range(seeds)]
    scores = dict(zip(jobs, run_in_parallel(score, jobs, workers, executor=executor), strict=True))
    table = [["", *WORLDS]]
    for name in names:
        means = [Mean.of(scores[Job(world, name, seed)] for seed in range(seeds)) for world in WORLDS]
        said = name if name in PAPER else f'default, silence="{name}"'
        table.append([said, *(with_error(mean, 2) for mean in means)])
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.silences", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help="seeds 0 … N-1 (%(default)s)")
    add_where_to_run(parser)
    chosen = parser.parse_args(arguments)
    with open_executor(chosen.executor) as executor:
        print("\n".join(align_numbers(rows(chosen.seeds, chosen.workers, executor))))
    print("\n".join(["", *(__doc__ or "").splitlines()[4:]]).rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
