"""Simulated studies that an outlook is compared with: what it says early, in the middle and late, and what came.

Two families of worlds were used while the outlook was made (`TUNING`), three others are kept for tests (`TESTING`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from belated import Choice, Integer, Outlook, Points, Real, SimulatedClock, Study, simulate
from belated.delays import Delay, Exponential, Fixed, Geometric
from belated.settings import Declared
from belated.simulation.samples import sample_function
from belated.validation import Params

STAGES = (8, 20, 40)  # early, middle and late: after so many queries
QUERIES = 10  # of an outlook


@dataclass(frozen=True, kw_only=True)
class Prospective:
    """A world: an objective, its space, its noise and its delays."""

    space: Declared
    f: Callable[[Params], float]
    everywhere: Sequence[Params]  # fine enough to find the best of f
    noise: float
    delay: Delay
    every: str | None = None  # by the clock

    def make_study(self, seed: int) -> Study:
        patience = None if self.every is None else "30d"
        clock = None if self.every is None else SimulatedClock()
        return Study.create(space=self.space, silence="unknown", patience=patience, clock=clock, seed=seed)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What an outlook said, and what came."""

    stage: int
    outlook: Outlook
    gain: float  # of f at the recommended query
    better: bool  # whether something better by more than the margin exists


def follow(world: Prospective, seed: int) -> list[Comparison]:
    """Simulate a study, look ahead at each stage, and compare when the queries have been asked."""
    study, best = world.make_study(seed), max(map(world.f, world.everywhere))
    said: dict[int, tuple[Outlook, float]] = {}
    found = []
    for n in sorted({*STAGES, *(stage + QUERIES for stage in STAGES)}):
        advance(study, world, n, seed)
        here = world.f(study.recommend().params)
        if n - QUERIES in said:
            outlook, before = said[n - QUERIES]
            better = best - before > outlook.margin
            found.append(Comparison(stage=n - QUERIES, outlook=outlook, gain=here - before, better=better))
        if n in STAGES:
            said[n] = study.outlook(QUERIES), here
    return found


def advance(study: Study, world: Prospective, rounds: int, seed: int) -> None:
    """Until so many queries were asked, and what comes before the next one was heard."""
    more = rounds - study.rounds
    for _ in simulate(study, world.f, delay=world.delay, rounds=more, seed=seed, noise=world.noise, every=world.every):
        pass


def list_grid(names: str, points: int) -> list[Params]:
    """Points of the unit cube."""
    axes = np.meshgrid(*[np.linspace(0.0, 1.0, points)] * len(names), indexing="ij")
    return [dict(zip(names, map(float, row), strict=True)) for row in np.stack(axes, axis=-1).reshape(-1, len(names))]


def draw_manners(rng: Generator) -> dict[str, Any]:
    """How outcomes come: in rounds or by the clock, soon or late, with little or much noise."""
    delay, every = [(Fixed(2), None), (Geometric(0.3), None), (Exponential(3 * 3600.0), "1h")][rng.integers(3)]
    return {"delay": delay, "every": every, "noise": float(rng.choice([0.02, 0.1, 0.3]))}


# For tuning -----------------------------------------------------------------------------------------------------------


def make_waves(seed: int) -> Prospective:
    """A sum of random waves over the unit square."""
    rng = np.random.default_rng([seed, 1])
    omega, phase = rng.normal(0.0, 5.0, (8, 2)), rng.uniform(0.0, 6.3, 8)

    def f(params: Params) -> float:
        return float(np.sum(np.cos(omega @ [params["x"], params["y"]] + phase)) / 2.0)

    return Prospective(
        space={"x": Real(0, 1), "y": Real(0, 1)}, f=f, everywhere=list_grid("xy", 60), **draw_manners(rng)
    )


def make_line(seed: int) -> Prospective:
    """A smooth random function on a list of fifty points."""
    rng = np.random.default_rng([seed, 2])
    x, y = sample_function(seed, 50, float(rng.choice([0.06, 0.12, 0.25])))
    values = dict(zip(x.tolist(), (4.0 * y).tolist(), strict=True))
    points = [{"x": each} for each in x.tolist()]
    return Prospective(
        space=Points(x.tolist()), f=lambda params: values[params["x"]], everywhere=points, **draw_manners(rng)
    )


# For tests ------------------------------------------------------------------------------------------------------------


def make_bumps(seed: int) -> Prospective:
    """Hills of different width and height over the unit square."""
    rng = np.random.default_rng([seed, 3])
    centers, widths, heights = rng.random((7, 2)), rng.uniform(0.08, 0.35, 7), rng.uniform(0.5, 3.0, 7)

    def f(params: Params) -> float:
        away = np.sum(np.square(centers - [params["x"], params["y"]]), axis=1)
        return float(np.sum(heights * np.exp(-0.5 * away / widths**2)))

    return Prospective(
        space={"x": Real(0, 1), "y": Real(0, 1)}, f=f, everywhere=list_grid("xy", 60), **draw_manners(rng)
    )


def make_recipes(seed: int) -> Prospective:
    """A yield by temperature, stages and solvent: one best temperature for each solvent, fewer gains by each stage."""
    rng = np.random.default_rng([seed, 4])
    best, height, width = rng.random(3), rng.uniform(0.0, 2.0, 3), rng.uniform(0.1, 0.6, 3)
    rise, tire = rng.uniform(0.3, 2.0), rng.uniform(0.0, 0.3)

    def f(params: Params) -> float:
        i, n = "abc".index(params["solvent"]), params["stages"]
        at = (params["temperature"] / 100.0 - best[i]) / width[i]
        return float(height[i] + 2.0 / (1.0 + at**2) + rise * np.log(n) - tire * n)

    space = {"temperature": Real(0, 100), "stages": Integer(1, 8), "solvent": Choice("a", "b", "c")}
    everywhere = [
        {"temperature": float(t), "stages": n, "solvent": s}
        for t in np.linspace(0, 100, 201)
        for n in range(1, 9)
        for s in "abc"
    ]
    return Prospective(space=space, f=f, everywhere=everywhere, **draw_manners(rng))


def make_steps(seed: int) -> Prospective:
    """A list of forty points: a random walk, smoothed."""
    rng = np.random.default_rng([seed, 5])
    walk = np.convolve(np.cumsum(rng.standard_normal(48)), np.ones(5) / 5, mode="valid")[:40]
    x = np.linspace(0.0, 1.0, 40).tolist()
    values = dict(zip(x, (2.0 * (walk - np.mean(walk)) / np.std(walk)).tolist(), strict=True))
    points = [{"x": each} for each in x]
    return Prospective(space=Points(x), f=lambda params: values[params["x"]], everywhere=points, **draw_manners(rng))


TUNING = (make_waves, make_line)
TESTING = (make_bumps, make_recipes, make_steps)
