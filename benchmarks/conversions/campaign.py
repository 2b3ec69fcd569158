"""One entrant in one world for one seed, hour by hour.

At the start of an hour an entrant hears what came since the last one: conversions when they come, and at the end of the
window that there was none (belated's own do not listen to that where silence says it). Then it chooses for all visitors
of that hour, before any of them can convert.

share    Σ rate(chosen) / Σ best rate, by true rates: no conversion that was drawn is counted
reached  the day up to which the entrant chose within its CPU time; from there on the expected rate of a random query
         counts. The same holds from the hour in which it raises an error, and the note says which.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from belated.learner.arrays import Array
from benchmarks.conversions.entrants import entrants
from benchmarks.conversions.peers import Campaign, Chooser, News
from benchmarks.conversions.truth import Truth, draw_truth
from benchmarks.conversions.visitors import Visitors, draw_visitors
from benchmarks.conversions.worlds import EVERY, WINDOW, Cube
from benchmarks.regret.entrants import Entrant


@dataclass(frozen=True)
class Job:
    """Who runs where, for how many days, and with how many seconds of CPU."""

    world: str
    entrant: str
    seed: int
    days: int
    limit: float


@dataclass(frozen=True)
class Run:
    """What came of it."""

    job: Job
    share: float
    random: float  # the expected share of random queries
    by_day: tuple[float, ...]  # the share of each day
    reached: float  # days
    cpu: float  # seconds
    note: str


def run(job: Job) -> Run:
    """A whole run."""
    return play(job, entrants()[job.entrant])


def describe(name: str, truth: Truth) -> Campaign:
    """What an entrant is told of a world."""
    world = EVERY[name]
    if isinstance(world.shown, Cube):
        return Campaign(np.empty((0, 0)), world.shown.d, world.segments, WINDOW)
    known = truth.places if world.shown.features else np.empty((world.shown.count, 0))
    return Campaign(known, 0, world.segments, WINDOW)


class Exhausted(Exception):
    """The CPU time is spent."""


def play(job: Job, who: Entrant) -> Run:
    """A whole run of an entrant."""
    truth, visitors = draw_truth(job.world, job.seed), draw_visitors(job.world, job.seed)
    n = int(np.searchsorted(visitors.hours, 24 * job.days))
    days, segments = visitors.hours[:n] // 24, visitors.segments[:n]
    best = np.stack([truth.best(day) for day in range(job.days)])[days, segments]
    random = np.stack([truth.average(day) for day in range(job.days)])[days, segments]
    entrant = who.load()  # imports are not counted
    got, reached, note, began = random.copy(), 0, "", time.process_time()
    try:
        chooser: Chooser = entrant.chooser(who.name, describe(job.world, truth), job.seed)
        for batch, rates in converse(chooser, truth, visitors, job.days, began + job.limit):
            got[batch] = rates
            reached = batch.stop
    except Exhausted:
        pass
    except Exception as error:  # whatever a peer raises: one run must not end them all
        note = f"{type(error).__name__}: {error}".splitlines()[0][:100]
    by_day = [float(np.sum(got[days == day]) / np.sum(best[days == day])) for day in range(job.days)]
    return Run(
        job,
        share=float(np.sum(got) / np.sum(best)),
        random=float(np.sum(random) / np.sum(best)),
        by_day=tuple(by_day),
        reached=job.days * reached / n,
        cpu=time.process_time() - began,
        note=note,
    )


def converse(
    chooser: Chooser, truth: Truth, visitors: Visitors, days: int, until: float
) -> Iterator[tuple[slice, Array]]:
    """For each hour with visitors which they are, and the rates of what they are shown; until the CPU time is spent."""
    news: dict[int, list[News]] = defaultdict(list)  # by the hour at whose start it is heard
    for hour in range(24 * days):
        chooser.hear(sorted(news.pop(hour, ()), key=lambda one: one.at))
        first, last = (int(k) for k in np.searchsorted(visitors.hours, (hour, hour + 1)))
        if first == last:
            continue
        segments = visitors.segments[first:last]
        queries = collect(chooser, hour, segments, until)
        rates = truth.rates(queries, segments, hour // 24)
        for visitor, rate in zip(range(first, last), rates, strict=True):
            converts = visitors.luck[visitor] < rate
            at = hour + (visitors.delays[visitor] if converts else WINDOW)
            news[max(hour + 1, int(np.ceil(at)))].append(News(visitor, int(converts), float(at)))
        yield slice(first, last), rates


def collect(chooser: Chooser, hour: int, segments: NDArray[np.int64], until: float) -> Array:
    """The queries of an hour; Exhausted if the CPU time is spent before they are all there."""
    queries: list[Array] = []
    for query in chooser.choose(hour, segments):
        queries.append(query)
        if time.process_time() > until:
            raise Exhausted
    assert len(queries) == len(segments), f"{len(segments)} visitors and {len(queries)} queries"
    return np.stack(queries)
