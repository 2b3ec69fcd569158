"""What the runs say: everyone's share of the best possible, mean ranks, and ours against the best of the others.

All take part in the first seeds. There the best of the others is picked in each world, by its mean share; ours meets it
on the seeds after them, which had no say in the picking: exp(mean d) for d_s = log(share of ours) - log(share of the
other), one for each seed s, with its one-sided lower 95 % bound.

Ranks are taken in each world and seed, 1 the largest share; a mean rank is the mean over worlds of the mean over seeds.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.conversions.kept import Row
from benchmarks.regret.ranks import Mean, bounds, places

MARGIN = 0.95  # of the other's share: what ours is to reach in every world
ByWorld = dict[str, dict[str, dict[int, Row]]]  # by world, entrant and seed


def sort_rows(rows: Iterable[Row]) -> ByWorld:
    """By world, entrant and seed, in the order given."""
    found: ByWorld = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        found[row.world][row.entrant][row.seed] = row
    return found


def mean_share(runs: dict[int, Row], seeds: Collection[int]) -> Mean:
    return Mean.of(row.share for seed, row in runs.items() if seed in seeds)


def mean_ranks(found: ByWorld, seeds: Collection[int]) -> dict[str, Mean]:
    """Of those who have a run of every one of these seeds in every world, best first."""
    shared = [
        {name for name, runs in everyone.items() if all(seed in runs for seed in seeds)} for everyone in found.values()
    ]
    names = set.intersection(*shared) if shared else set()
    by_world: dict[str, list[Mean]] = defaultdict(list)
    for everyone in found.values():
        placed = [places({name: -everyone[name][seed].share for name in names}) for seed in seeds]
        for name in names:
            by_world[name].append(Mean.of(place[name] for place in placed))
    means = {
        name: Mean(float(np.mean([m.mean for m in of])), math.sqrt(sum(m.error**2 for m in of)) / len(of))
        for name, of in by_world.items()
    }
    return dict(sorted(means.items(), key=lambda pair: (pair[1].mean, pair[0])))


def pick_peer(everyone: dict[str, dict[int, Row]], own: Collection[str], seeds: Collection[int]) -> str | None:
    """The best of the others in a world, by mean share on these seeds; None while nobody has run them all."""
    whole = [name for name, runs in everyone.items() if name not in own and all(seed in runs for seed in seeds)]
    return max(whole, key=lambda name: mean_share(everyone[name], seeds).mean, default=None)


@dataclass(frozen=True)
class Standing:
    """One of ours against the best of the others in a world, on seeds that had no say in the picking."""

    world: str
    entrant: str
    peer: str
    seeds: int
    ratio: float
    low: float  # one-sided 95 % bounds
    high: float

    @property
    def verdict(self) -> Literal["met", "MISSED", "open"]:
        """Whether ours is shown to reach the margin, shown to miss it, or neither."""
        return "met" if self.low > MARGIN else "MISSED" if self.high < MARGIN else "open"


def compare(found: ByWorld, own: Collection[str], first: Collection[int], after: Collection[int]) -> list[Standing]:
    """Each of ours in each world."""
    result = []
    for world, everyone in found.items():
        peer = pick_peer(everyone, own, first)
        if peer is None:
            continue
        for name in (name for name in everyone if name in own):
            seeds = [seed for seed in after if seed in everyone[name] and seed in everyone[peer]]
            if seeds:
                d = [math.log(everyone[name][s].share) - math.log(everyone[peer][s].share) for s in seeds]
                ratio, low, high = (math.exp(min(x, 700.0)) for x in bounds(np.array(d)))
                result.append(Standing(world, name, peer, len(seeds), ratio, low, high))
    return result
