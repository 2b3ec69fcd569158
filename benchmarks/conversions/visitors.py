"""Who comes in which hour, and the luck and the delay of each: the same whatever is shown, and whoever shows it.

A visitor converts if its luck is below the rate of what it is shown; its delay is then a quantile of its segment's law.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from belated.learner.arrays import Array
from benchmarks.conversions.worlds import DAYS, EVERY


@dataclass(frozen=True, eq=False)
class Visitors:
    """All visitors of a campaign, in order; each array has one entry per visitor."""

    hours: NDArray[np.int64]  # in which each is shown something, from 0
    segments: NDArray[np.int64]
    luck: Array
    delays: Array  # in hours, within the window


def draw_visitors(name: str, seed: int) -> Visitors:
    """The visitors of a seed."""
    world = EVERY[name]
    n = world.per_day * DAYS
    rng = np.random.default_rng([seed, crc32(name.encode()), 1])
    segments = rng.integers(world.segments, size=n)
    luck, order = rng.random(n), rng.random(n)
    delays = np.empty(n)
    for segment in range(world.segments):
        here = segments == segment
        delays[here] = world.delays[segment % len(world.delays)].quantile(order[here])
    return Visitors(np.arange(n) * 24 // world.per_day, segments, luck, delays)
