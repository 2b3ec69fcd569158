"""How often the 90 % interval of a rate holds the truth, in worlds with known rates and delays.

x lies in [0, 1], in three segments; the window is 7 days, and what came is told every night. The intervals of 40 pairs
(x, segment) are looked at on some days, and pooled over seeds.

spread   queries lie evenly. The law that tests/laws/test_conversion_coverage.py asserts.
chosen   a study under `fading` asks, hour by hour; looked at are 40 pairs from everywhere, and then 40 that it asked.

python -m benchmarks.coverage --queries spread (or chosen) prints the table, as Markdown; --worlds, --seeds and --days
say how much of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import beta

from belated import Choice, Points, Real, SimulatedClock, Study
from belated.learner.arrays import Array, Mask
from belated.learner.choice.decide import compute_belief, refit
from belated.learner.choice.problem import Cache, Problem
from belated.learner.gp.merging import number_points
from belated.learner.history import History
from belated.settings import settle_settings

DAY, HOURS = 86400.0, 24
WINDOW, SEGMENTS, PAIRS = 7.0, ("a", "b", "c"), 40
DAYS = (2, 4, 7, 14, 28)
MEAN, MEDIAN, SPREAD = 20 / 24, 14 / 24, 0.8  # of exponential and of log-normal delays, in days
MOST = 2000  # queries in a continuous space


@dataclass(frozen=True)
class World:
    """What the rates and the delays are like."""

    low: float
    high: float
    stepped: bool
    delays: str
    per_day: int
    grid: int | None  # of x; None: continuous, and at most 2,000 queries in all

    def __str__(self) -> str:
        shape = "steps" if self.stepped else "smooth"
        where = "continuous" if self.grid is None else f"{self.grid} x"
        return f"{self.low}-{self.high} {shape} {self.delays} {self.per_day} a day {where}"

    def draw_rates(self, rng: Generator) -> Array:
        """On a fine grid of x, by segment                                  (201, segments)."""
        x = np.linspace(0.0, 1.0, 201)[:, None]
        phase, waves = rng.uniform(0, 1, len(SEGMENTS)), rng.uniform(0.5, 1.5, len(SEGMENTS))
        if not self.stepped:
            return self.low + (self.high - self.low) * (0.5 + 0.5 * np.sin(2 * np.pi * (waves * x + phase)))
        levels = np.stack([rng.permutation([0.0, 0.5, 1.0]) for _ in SEGMENTS], axis=1)
        place = (x > 0.2 + 0.2 * phase).astype(int) + (x > 0.6 + 0.2 * phase)
        return self.low + (self.high - self.low) * np.take_along_axis(levels, place, axis=0)

    def draw_delays(self, rng: Generator, n: int) -> Array:
        """In days."""
        if self.delays == "exponential":
            return rng.exponential(MEAN, n)
        return np.asarray(MEDIAN * np.exp(SPREAD * rng.normal(size=n)))

    @property
    def in_time(self) -> float:
        """The share of conversions that come within the window."""
        if self.delays == "exponential":
            return float(-np.expm1(-WINDOW / MEAN))
        return float(ndtr(np.log(WINDOW / MEDIAN) / SPREAD))

    def count_queries(self, days: int) -> int:
        """How many there are in so many days."""
        return self.per_day * days if self.grid else min(self.per_day * days, MOST)


WORLDS = [
    World(low, high, stepped, delays, per_day, grid)
    for (low, high), stepped, delays, (per_day, grid) in product(
        ((0.02, 0.1), (0.1, 0.4)), (False, True), ("exponential", "log-normal"), ((50, 40), (2000, 200), (70, None))
    )
]


@dataclass(frozen=True)
class Look:
    """What was seen on a day: how many of some pairs are covered, and the widths."""

    covered: float
    width: float
    beta_width: float  # of Beta(1, 1) on every outcome of the queries nearest to each
    told: int


# Queries that lie evenly ----------------------------------------------------------------------------------------------


def make_problem(grid: int | None) -> Problem:
    return settle_settings(
        space={"x": Real(0, 1)} if grid is None else Points(list_grid(grid)),
        context={"segment": Choice(*SEGMENTS)},
        goal="maximize",
        floor=None,
        ceiling=None,
        limits=None,
        silence="fading",
        patience=f"{WINDOW:g}d",
        late=None,
        algorithm="default",
        repeats=None,
        regret=None,
        outcomes="conversion",
        initial=None,
        seed=0,
    ).problem


def list_grid(grid: int) -> list[float]:
    """Its x."""
    return list(map(float, np.linspace(0.0, 1.0, grid)))


def look_at_spread(world: World, seed: int, days: Sequence[int]) -> Iterator[tuple[int, Look]]:
    """A seed of a world where queries lie evenly, looked at on some days."""
    rng, problem = np.random.default_rng([seed, 17]), make_problem(world.grid)
    rates, last = world.draw_rates(rng), max(days)
    n = world.count_queries(last)
    shown = np.arange(n) * last / n
    x: Array = np.mod(rng.random() + np.arange(n) * 0.6180339887498949, 1.0).astype(np.float64)
    if world.grid:
        x = np.asarray(np.round(x * (world.grid - 1)) / (world.grid - 1), dtype=np.float64)
    segment = rng.integers(len(SEGMENTS), size=n)
    truth = rates[np.round(x * 200).astype(int), segment]
    converts, delay = rng.random(n) < truth, world.draw_delays(rng, n)
    converts &= delay <= WINDOW
    X = np.column_stack([np.eye(len(SEGMENTS))[segment] / np.sqrt(2.0), x])
    points = number_points(X)
    pairs = rng.choice(n, PAIRS, replace=False)
    fitted = None
    for day in days:
        known = shown < day
        history = make_history(X[known], points[known], day - shown[known], converts[known], delay[known])
        fitted = refit(problem, history, len(history.X) + 1, fitted) or fitted
        silence = problem.silence
        belief, scale = compute_belief(problem, history, n, fitted, silence, Cache(), np.empty(0), ahead=False)
        _, _, low, high = scale.describe(*scale.read(belief.posterior, X[pairs]))
        is_true = world.in_time * truth[pairs]
        heard = x[known], segment[known], converts[known]
        widths = [measure_beta(*heard, x[pair], int(segment[pair])) for pair in pairs]
        covered = np.mean((low <= is_true) & (is_true <= high))
        width = float(np.mean(high - low))
        yield day, Look(float(covered), width, float(np.mean(widths)), int(np.sum(history.seen)))


def make_history(X: Array, points: NDArray[np.intp], age: Array, converts: Mask, delay: Array) -> History:
    """What is known on a day; times in seconds."""
    seen, n, no = converts & (delay <= age), len(X), np.zeros(len(X), dtype=bool)
    return History(
        number=np.arange(1, n + 1),
        X=X,
        point=points,
        y=np.where(seen, 1.0, np.nan),
        seen=seen,
        pending=~seen & (age <= WINDOW),
        infeasible=no,
        gone=no,
        recent=no,
        by_hand=no,
        order=np.arange(n),
        lams=np.full(n, np.nan),
        floor=0.0,
        age=DAY * age,
        m=DAY * WINDOW,
        waited=DAY * np.where(seen, delay, age),
        arrived=seen,
        late=no,
    )


def measure_beta(x: Array, segment: NDArray[np.int64], converts: Mask, at: float, of: int) -> float:
    """The width of a Beta(1, 1) interval on every outcome of the query nearest to a pair, in its segment."""
    distance = np.where(segment == of, np.abs(x - at), np.inf)
    nearest = distance == np.min(distance)
    k, rest = 1.0 + np.sum(converts[nearest]), 1.0 + np.sum(~converts[nearest])
    low, high = beta.ppf([0.05, 0.95], k, rest)
    return float(high - low)


# Queries that a study chooses -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Campaign:
    """What a study asked, and what comes of it."""

    world: World
    study: Study
    clock: SimulatedClock
    rates: Array
    hour: NDArray[np.signedinteger]  # of each query                                        (n,)
    segment: NDArray[np.int64]
    luck: Array  # it converts where this is below its rate
    delay: Array  # days
    x: Array
    converts: Mask
    told: Mask

    @classmethod
    def begin(cls, world: World, rng: Generator, days: int, seed: int) -> Campaign:
        n, clock = world.count_queries(days), SimulatedClock()
        study = Study.create(
            space={"x": Real(0, 1)} if world.grid is None else Points(list_grid(world.grid)),
            context={"segment": Choice(*SEGMENTS)},
            outcomes="conversion",
            silence="fading",
            patience=f"{WINDOW:g}d",
            seed=seed,
            clock=clock,
        )
        hour, segment = np.arange(n) * days * HOURS // n, rng.integers(len(SEGMENTS), size=n)
        none = np.zeros(n, dtype=bool)
        rates, luck, delay = world.draw_rates(rng), rng.random(n), world.draw_delays(rng, n)
        return cls(world, study, clock, rates, hour, segment, luck, delay, np.zeros(n), none, none.copy())

    def find_rate(self, x: Array, segment: NDArray[np.int64]) -> Array:
        """The true rates."""
        return np.asarray(self.rates[np.round(200 * x).astype(int), segment])

    def ask(self, hour: int) -> None:
        """The queries of an hour."""
        some = np.flatnonzero(self.hour == hour)
        if len(some):
            self.clock.seconds = 3600.0 * hour
            trials = self.study.ask(contexts=[{"segment": SEGMENTS[k]} for k in self.segment[some]])
            self.x[some] = [trial.params["x"] for trial in trials]
            rate = self.find_rate(self.x[some], self.segment[some])
            self.converts[some] = (self.luck[some] < rate) & (self.delay[some] <= WINDOW)

    def tell(self, day: int) -> None:
        """What came until a night."""
        at = self.hour / HOURS + self.delay
        self.clock.seconds = DAY * day
        came = np.flatnonzero(self.converts & ~self.told & (at <= day))
        for i in came[np.argsort(at[came])]:
            self.study.tell(int(i) + 1, 1.0, at=DAY * at[i])
        self.told[came] = True

    def look(self, x: Array, segment: NDArray[np.int64]) -> Look:
        """At some pairs."""
        low, high, widths = np.empty(len(x)), np.empty(len(x)), []
        asked = self.hour < self.clock.seconds / 3600.0
        for k, name in enumerate(SEGMENTS):
            own = segment == k
            belief = self.study.posterior([{"x": each} for each in x[own].tolist()], context={"segment": name})
            low[own], high[own] = belief.low, belief.high
        for each, of in zip(x, segment, strict=True):
            widths.append(measure_beta(self.x[asked], self.segment[asked], self.converts[asked], each, int(of)))
        truth = self.world.in_time * self.find_rate(x, segment)
        covered = np.mean((low <= truth) & (truth <= high))
        return Look(float(covered), float(np.mean(high - low)), float(np.mean(widths)), int(np.sum(self.told)))


def look_at_chosen(world: World, seed: int, days: Sequence[int]) -> Iterator[tuple[int, Look, Look]]:
    """A seed of a world where a study asks: pairs from everywhere, and pairs that it asked."""
    rng = np.random.default_rng([seed, 29])
    campaign = Campaign.begin(world, rng, max(days), seed)
    grid = np.linspace(0.0, 1.0, world.grid or 201)
    x, segment = rng.choice(grid, PAIRS), rng.integers(len(SEGMENTS), size=PAIRS)
    for day in range(1, max(days) + 1):
        for hour in range(HOURS * (day - 1), HOURS * day):
            campaign.ask(hour)
        campaign.tell(day)
        if day in days:
            asked = rng.choice(int(np.sum(campaign.hour < HOURS * day)), PAIRS, replace=False)
            yield day, campaign.look(x, segment), campaign.look(campaign.x[asked], campaign.segment[asked])


# The tables -----------------------------------------------------------------------------------------------------------


def pool(looks: Sequence[Look]) -> Look:
    """Of all seeds."""
    covered, width, beta_width, told = np.mean([[k.covered, k.width, k.beta_width, k.told] for k in looks], axis=0)
    return Look(float(covered), float(width), float(beta_width), round(told))


def print_row(name: str, days: Sequence[Sequence[Look]]) -> None:
    """Of each day coverage, and the width as a share of Beta(1, 1)'s; one or two looks a day."""
    cells = [", ".join(f"{k.covered:.2f} ({k.width / k.beta_width:.2f})" for k in looks) for looks in days]
    print("| " + " | ".join([name, *cells]) + " |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--queries", choices=["spread", "chosen"], default="chosen", help="(%(default)s)")
    parser.add_argument("--worlds", nargs="+", type=int, default=range(len(WORLDS)), help="numbers from 0 on (all)")
    parser.add_argument("--seeds", type=int, default=20, metavar="N", help="(%(default)s)")
    parser.add_argument("--days", nargs="+", type=int, default=DAYS, help="(%(default)s)")
    chosen = parser.parse_args(arguments)
    print("| world | " + " | ".join(f"day {day}" for day in chosen.days) + " |\n|---|" + "---|" * len(chosen.days))
    for number in chosen.worlds:
        world = WORLDS[number]
        if chosen.queries == "spread":
            runs = [dict(look_at_spread(world, seed, chosen.days)) for seed in range(chosen.seeds)]
            print_row(str(world), [[pool([run[day] for run in runs])] for day in chosen.days])
            continue
        both = [
            {day: looks for day, *looks in look_at_chosen(world, seed, chosen.days)} for seed in range(chosen.seeds)
        ]
        pooled = [[pool([run[day][which] for run in both]) for which in (0, 1)] for day in chosen.days]
        print_row(str(world), pooled)


if __name__ == "__main__":
    main()
