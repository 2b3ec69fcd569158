"""Simulated campaigns that an outlook is compared with. Worlds of `TUNING` were used while the outlook was made, those
of `TESTING` are kept for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from belated import Choice, Outlook, Points, Real, SimulatedClock, Study
from belated.settings import Declared
from belated.validation import Params

HOUR = 3600.0
STAGES = (400, 1000, 2000)  # people
PEOPLE = 400  # of an outlook
TOGETHER = 40  # are asked for at one moment
MEAN_DELAY = 20 * HOUR


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """A world: the rate of conversions at each query, and how often people come."""

    space: Declared
    rate: Callable[[Params], float]
    everywhere: Sequence[Params]
    every: float  # seconds from one batch to the next


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What an outlook said, and what came."""

    stage: int
    outlook: Outlook
    gain: float  # of the rate at the recommended query
    better: bool  # whether something better by more than the margin exists


def follow_campaign(world: Campaign, seed: int) -> list[Comparison]:
    """Simulate a campaign, look ahead at each stage, and compare when so many more people came."""
    rng, clock, due, n = np.random.default_rng([seed, 7]), SimulatedClock(), list[tuple[float, int]](), 0
    study = Study.create(
        space=world.space, silence="fading", outcomes="conversion", patience="7d", clock=clock, seed=seed
    )
    best, found = max(map(world.rate, world.everywhere)), list[Comparison]()
    said: dict[int, tuple[Outlook, float]] = {}
    for stop in sorted({*STAGES, *(stage + PEOPLE for stage in STAGES)}):
        while n < stop:
            clock.seconds += world.every
            for at, number in sorted(one for one in due if one[0] <= clock.seconds):
                study.tell(number, 1, at=at)
            due = [one for one in due if one[0] > clock.seconds]
            for trial in study.ask(n=TOGETHER):
                n += 1
                if rng.random() < world.rate(trial.params):
                    due.append((clock.seconds + rng.exponential(MEAN_DELAY), trial.number))
        if not any(trial.outcome is not None for trial in study.trials()):
            continue  # nobody converted yet: there is no outlook
        here = world.rate(study.recommend().params)
        if stop - PEOPLE in said:
            outlook, before = said[stop - PEOPLE]
            better = best - before > outlook.margin
            found.append(Comparison(stage=stop - PEOPLE, outlook=outlook, gain=here - before, better=better))
        if stop in STAGES:
            said[stop] = study.outlook(PEOPLE), here
    return found


def draw_pace(seed: int) -> float:
    """Seconds from one batch to the next: slower or sooner than conversions come."""
    return (0.5, 3.0, 12.0)[seed % 3] * HOUR


# For tuning -----------------------------------------------------------------------------------------------------------


def make_sine(seed: int) -> Campaign:
    """Twelve points; the rates go up and down by a factor of 1.5 to 4."""
    rng = np.random.default_rng([seed, 99])
    low = rng.uniform(0.01, 0.06)
    high, phase, waves = low * rng.uniform(1.5, 4.0), rng.uniform(0.0, 1.0), rng.uniform(0.5, 1.5)
    x = np.linspace(0.0, 1.0, 12).tolist()

    def rate(params: Params) -> float:
        return float(low + (high - low) * (0.5 + 0.5 * np.sin(2.0 * np.pi * (waves * params["x"] + phase))))

    return Campaign(space=Points(x, names=["x"]), rate=rate, everywhere=[{"x": v} for v in x], every=draw_pace(seed))


def make_hill(seed: int) -> Campaign:
    """One hill over a line."""
    rng = np.random.default_rng([seed, 98])
    low, at = rng.uniform(0.01, 0.04), rng.random()
    height, width = low * rng.uniform(0.5, 3.0), rng.uniform(0.1, 0.3)

    def rate(params: Params) -> float:
        return float(low + height * np.exp(-0.5 * ((params["x"] - at) / width) ** 2))

    everywhere = [{"x": float(v)} for v in np.linspace(0.0, 1.0, 401)]
    return Campaign(space={"x": Real(0, 1)}, rate=rate, everywhere=everywhere, every=draw_pace(seed))


# For tests ------------------------------------------------------------------------------------------------------------


def make_arms(seed: int) -> Campaign:
    """Eight banners that have nothing in common."""
    rng = np.random.default_rng([seed, 97])
    names = [f"banner {i}" for i in range(8)]
    rates = dict(zip(names, rng.uniform(0.02, 0.08) * np.exp(rng.normal(0.0, 0.4, 8)), strict=True))
    return Campaign(
        space={"banner": Choice(*names)},
        rate=lambda params: float(rates[params["banner"]]),
        everywhere=[{"banner": name} for name in names],
        every=draw_pace(seed),
    )


def make_offers(seed: int) -> Campaign:
    """A discount that pays up to a point, and two texts, of which one is better."""
    rng = np.random.default_rng([seed, 96])
    low, enough, gain = rng.uniform(0.01, 0.05), rng.uniform(0.1, 0.3), rng.uniform(1.2, 3.0)
    text = rng.uniform(1.0, 1.6)

    def rate(params: Params) -> float:
        factor = 1.0 + (gain - 1.0) * min(params["discount"] / enough, 1.0)
        return float(low * factor * (text if params["text"] == "b" else 1.0))

    everywhere = [{"discount": float(d), "text": t} for d in np.linspace(0.0, 0.3, 61) for t in "ab"]
    space = {"discount": Real(0, 0.3), "text": Choice("a", "b")}
    return Campaign(space=space, rate=rate, everywhere=everywhere, every=draw_pace(seed))


TUNING = (make_sine, make_hill)
TESTING = (make_arms, make_offers)
