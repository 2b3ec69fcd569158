"""The 90 % interval of a rate holds the truth about as often as it says, in worlds with different rates and delays.

x is asked evenly, in three segments; the window is 7 days, and what came is told every night. The intervals of 40 pairs
(query, segment) are looked at on some days, and pooled over seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import beta

from belated import Choice, Points, Real
from belated.learner.arrays import Array
from belated.learner.choice.decide import compute_belief, refit
from belated.learner.choice.problem import Cache, Problem
from belated.learner.gp.merging import number_points
from belated.learner.history import History
from belated.settings import settle_settings

WINDOW, SEGMENTS, PAIRS = 7.0, 3, 40
DAYS = (2, 4, 7, 14, 28)
MEAN, MEDIAN, SPREAD = 20 / 24, 14 / 24, 0.8  # of exponential and of log-normal delays, in days
LEAST, MOST, MOST_FROM = 0.80, 0.97, 50  # coverage: at least, and at most once so many conversions are told
WIDEST = 2.0  # times the interval of Beta(1, 1) on every outcome of the nearest queries, from day 7 on


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

    def draw_rates(self, rng: np.random.Generator) -> Array:
        """On a fine grid of x, by segment                                  (201, SEGMENTS)."""
        x = np.linspace(0.0, 1.0, 201)[:, None]
        phase, waves = rng.uniform(0, 1, SEGMENTS), rng.uniform(0.5, 1.5, SEGMENTS)
        if not self.stepped:
            return self.low + (self.high - self.low) * (0.5 + 0.5 * np.sin(2 * np.pi * (waves * x + phase)))
        levels = np.stack([rng.permutation([0.0, 0.5, 1.0]) for _ in range(SEGMENTS)], axis=1)
        place = (x > 0.2 + 0.2 * phase).astype(int) + (x > 0.6 + 0.2 * phase)
        return self.low + (self.high - self.low) * np.take_along_axis(levels, place, axis=0)

    def draw_delays(self, rng: np.random.Generator, n: int) -> Array:
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


def make_problem(grid: int | None) -> Problem:
    space = {"x": Real(0, 1)} if grid is None else Points(np.linspace(0.0, 1.0, grid).tolist())
    return settle_settings(
        space=space,
        context={"segment": Choice("a", "b", "c")},
        goal="maximize",
        floor=None,
        ceiling=None,
        limits=None,
        silence="fading",
        patience=WINDOW * 86400.0,
        late=None,
        algorithm="default",
        repeats=None,
        regret=None,
        outcomes="conversion",
        initial=None,
        seed=0,
    ).problem


@dataclass(frozen=True)
class Look:
    """What was seen on a day: how many of the pairs are covered, and the widths."""

    covered: float
    width: float
    beta_width: float
    told: int


def play(world: World, seed: int, days: tuple[int, ...]) -> Iterator[tuple[int, Look]]:
    """A seed of a world, looked at on some days."""
    rng, problem = np.random.default_rng([seed, 17]), make_problem(world.grid)
    rates, last = world.draw_rates(rng), max(days)
    n = world.per_day * last if world.grid else min(world.per_day * last, 2000)
    shown = np.arange(n) * last / n
    x = (rng.random() + np.arange(n) * 0.6180339887498949) % 1.0
    if world.grid:
        x = np.round(x * (world.grid - 1)) / (world.grid - 1)
    segment = rng.integers(SEGMENTS, size=n)
    truth = rates[np.round(x * 200).astype(int), segment]
    converts, delay = rng.random(n) < truth, world.draw_delays(rng, n)
    converts &= delay <= WINDOW
    X = np.column_stack([np.eye(SEGMENTS)[segment] / np.sqrt(2.0), x])
    points = number_points(X)
    pairs = rng.choice(n, PAIRS, replace=False)
    fitted = None
    for day in days:
        known = shown < day
        history = make_history(X[known], points[known], day - shown[known], converts[known], delay[known])
        fitted = refit(problem, history, len(history.X) + 1, fitted) or fitted
        silence = problem.silence
        belief, scale = compute_belief(problem, history, n, fitted, silence, Cache(), np.empty(0), ahead=False)
        at = X[pairs]
        _, _, low, high = scale.describe(*scale.read(belief.posterior, at))
        is_true = world.in_time * truth[pairs]
        widths = [measure_beta(X[known], converts[known], row) for row in at]
        covered = np.mean((low <= is_true) & (is_true <= high))
        yield day, Look(float(covered), np.mean(high - low), np.mean(widths), int(np.sum(history.seen)))


def make_history(X: Array, points: Array, age: Array, converts: Array, delay: Array) -> History:
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
        age=86400.0 * age,
        m=86400.0 * WINDOW,
        waited=86400.0 * np.where(seen, delay, age),
        arrived=seen,
        late=no,
    )


def measure_beta(X: Array, converts: Array, row: Array) -> float:
    """The width of a Beta(1, 1) interval on every outcome of the query nearest to a pair, in its segment."""
    distance = np.where(np.all(X[:, :SEGMENTS] == row[:SEGMENTS], axis=1), np.abs(X[:, -1] - row[-1]), np.inf)
    nearest = distance == np.min(distance)
    k, rest = 1.0 + np.sum(converts[nearest]), 1.0 + np.sum(~converts[nearest])
    low, high = beta.ppf([0.05, 0.95], k, rest)
    return float(high - low)


def check_coverage(world: World, seeds: range, days: tuple[int, ...]) -> None:
    looks: dict[int, list[Look]] = {day: [] for day in days}
    for seed in seeds:
        for day, look in play(world, seed, days):
            looks[day].append(look)
    for day, some in looks.items():
        covered, told = np.mean([look.covered for look in some]), np.mean([look.told for look in some])
        shown = f"day {day}: {covered:.3f} of {len(some) * PAIRS} covered, {told:.0f} conversions told"
        assert covered >= LEAST, shown
        assert told < MOST_FROM or covered <= MOST, shown
        ratio = np.mean([look.width for look in some]) / np.mean([look.beta_width for look in some])
        assert day < 7 or ratio <= WIDEST, f"day {day}: {ratio:.2f} times as wide as Beta(1, 1)"


WORLDS = [
    World(low, high, stepped, delays, per_day, grid)
    for (low, high), stepped, delays, (per_day, grid) in product(
        ((0.02, 0.1), (0.1, 0.4)), (False, True), ("exponential", "log-normal"), ((50, 40), (2000, 200), (70, None))
    )
]


@pytest.mark.parametrize("world", [WORLDS[0], WORLDS[18]], ids=str)
def test_intervals_hold_the_rates_in_a_few_seeds(world: World) -> None:
    check_coverage(world, range(100, 106), (4, 14))


@pytest.mark.long
@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_intervals_hold_the_rates(world: World) -> None:
    check_coverage(world, range(20), DAYS)
