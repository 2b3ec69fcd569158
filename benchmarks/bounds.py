"""How wide the bound by which conversions are chosen should be: some beside each other, in worlds that are not those of
`benchmarks.conversions` (OTHERS in its worlds.py), seeds from 100 on, under `floor` and `fading`.

    python -m benchmarks.bounds [--seeds N] [--worlds NAME ...] [--workers N] [--executor MODULE:NAME]

A bound is μ + width σ of the log rate; r = σ²/σ²_min, σ_min that of the query that is known best.

0.9 √log(1 + r)   the default's; and narrower and wider ones
0.7, mean known   0.7 √log(1 + r) with the σ of a belief whose constant mean counts as known, which was the default
0.45 log(1 + r)   narrower where r is small, wider where it is large
Gittins           the index of an arm that will be asked r times as often as now, by Chick and Gans's formula (2009)
Thompson          a draw of the belief, whose constant mean counts as known
Beta per cell     Thompson sampling on Beta posteriors, told zeros after the window

share   Σ rate(shown) / Σ best rate, by true rates: the mean over all runs, the lowest tenth, and by world
more    the mean difference to the default in the same world, seed and silence, ± one standard error
stuck   runs whose last week has less than 0.75 of the best rate
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from belated.execution.named import open_executor
from belated.learner.algorithms import DEFAULT, Move
from belated.learner.arrays import Array
from belated.learner.belief import ChoiceBelief
from belated.learner.confidence import Constant
from belated.learner.moment import RateBelief
from belated.learner.policies import RelativeUCB, ThompsonSampling
from benchmarks.conversions.campaign import converse, describe
from benchmarks.conversions.peers import Chooser, beta_thompson
from benchmarks.conversions.peers.asking import HOUR, Asking
from benchmarks.conversions.truth import draw_truth
from benchmarks.conversions.visitors import draw_visitors
from benchmarks.conversions.worlds import DAYS, OTHERS, WINDOW
from benchmarks.progress import add_where_to_run, run_and_say
from benchmarks.regret.ranks import Mean

FIRST_SEED, SEEDS = 100, 4
SILENCES = ("floor", "fading")
OURS, PEER = "0.9 √log(1 + r)", "Beta per cell"
WEEK, STUCK = 7, 0.75


class OtherBound(RelativeUCB):
    """A bound whose width is another function of r."""

    def __init__(self, width: Callable[[Array], Array]) -> None:
        self.width = width

    def scores(self, belief: ChoiceBelief, Q: Array, nu: float, rng: Generator) -> Array:
        mean, std = belief.mean_and_std(Q)
        return np.asarray(mean + nu * std * self.width(np.square(std / np.min(std))))


class MeanKnown(RelativeUCB):
    """The bound of a belief whose constant mean counts as known."""

    def scores(self, belief: ChoiceBelief, Q: Array, nu: float, rng: Generator) -> Array:
        return super().scores(belief.whole if isinstance(belief, RateBelief) else belief, Q, nu, rng)


def approximate_gittins(r: Array) -> Array:
    """For r of at least 1, and at most some 10,000."""
    log = np.log(r)
    return np.asarray(np.exp(-0.02645 * log**2 + 0.39106 * log - 0.4873))


def relative(width: float) -> Move:
    return Move(RelativeUCB(), beta=Constant(width))


VARIANTS: dict[str, tuple[Move, ...]] = {
    **{f"{width} √log(1 + r)": (relative(width),) for width in (0.7, 0.9, 1.2)},
    "0.7, mean known": (Move(MeanKnown(), beta=Constant(0.7)),),
    "0.45 log(1 + r)": (Move(OtherBound(np.log1p), beta=Constant(0.45)),),
    "Gittins": (Move(OtherBound(approximate_gittins), beta=Constant(1.0)),),
    "Thompson": (Move(ThompsonSampling(), beta=Constant(1.0)),),
}


class Job(NamedTuple):
    """A variant in a world, for one seed."""

    variant: str
    world: str
    silence: str
    seed: int


class Run(NamedTuple):
    """What came of it."""

    job: Job
    share: float
    last: float  # of the last week


def run(job: Job) -> Run:
    """A whole campaign."""
    truth, visitors = draw_truth(job.world, job.seed), draw_visitors(job.world, job.seed)
    days, segments = visitors.hours // 24, visitors.segments
    shown = converse(begin(job), truth, visitors, DAYS, float("inf"))
    got, best = np.concatenate([rates for _, rates in shown]), truth.best(0)[segments]
    last = days >= DAYS - WEEK
    return Run(job, float(np.sum(got) / np.sum(best)), float(np.sum(got[last]) / np.sum(best[last])))


def begin(job: Job) -> Chooser:
    """Who chooses."""
    campaign = describe(job.world, draw_truth(job.world, job.seed))
    if job.variant == PEER:
        return beta_thompson.chooser(job.variant, campaign, job.seed)
    algorithm = replace(DEFAULT, conversion_moves=VARIANTS[job.variant])
    says = {"outcomes": "conversion", "silence": job.silence, "patience": f"{WINDOW * HOUR:g}s", "algorithm": algorithm}
    return Asking(campaign, job.seed, says, silent=True)


def report(runs: Sequence[Run]) -> str:
    """The table, as Markdown."""
    found: dict[str, dict[tuple[str, str, int], Run]] = defaultdict(dict)
    for each in runs:
        found[each.job.variant][each.job[1:]] = each
    worlds = list(dict.fromkeys(each.job.world for each in runs))
    grid = [["bound", "share", "more", "lowest tenth", "stuck", *worlds]]
    for variant, here in found.items():
        shares = {place: each.share for place, each in here.items()}
        more = Mean.of(share - found[OURS][place].share for place, share in shares.items())
        by_world = [np.mean([share for (name, *_), share in shares.items() if name == world]) for world in worlds]
        grid.append(
            [
                variant,
                f"{np.mean(list(shares.values())):.3f}",
                "" if variant == OURS else f"{more.mean:+.3f} ± {more.error:.3f}",
                f"{np.quantile(list(shares.values()), 0.1):.3f}",
                f"{sum(each.last < STUCK for each in here.values())} of {len(here)}",
                *(f"{share:.3f}" for share in by_world),
            ]
        )
    rule = "|---|" + "---:|" * (len(grid[0]) - 1)
    lines = ["| " + " | ".join(row) + " |" for row in grid]
    return "\n".join([lines[0], rule, *lines[1:]])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bounds", description="Bounds for conversions.")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help="(%(default)s)")
    parser.add_argument("--worlds", nargs="+", choices=list(OTHERS), default=list(OTHERS), metavar="NAME", help="(all)")
    add_where_to_run(parser)
    chosen = parser.parse_args(arguments)
    seeds = range(FIRST_SEED, FIRST_SEED + chosen.seeds)
    jobs = [Job(*each) for each in product([*VARIANTS, PEER], chosen.worlds, SILENCES, seeds)]
    runs: list[Run] = []

    def keep(result: Run) -> str:
        runs.append(result)
        return f"{', '.join(map(str, result.job))}: {result.share:.3f}"

    with open_executor(chosen.executor) as executor:
        run_and_say(run, jobs, chosen.workers, keep, executor)
    print(report(sorted(runs, key=lambda each: jobs.index(each.job))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
