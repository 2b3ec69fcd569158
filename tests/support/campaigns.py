"""Campaigns: what is shown converts with a rate, after a delay; nothing else is ever told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from belated import Real, Study
from tests.support.studies import Clock

HOUR = 3600.0
DAY = 24 * HOUR


def step_rate(x: float) -> float:
    return 0.05 if x < 0.5 else 0.2


def run_campaign(
    *,
    by_clock: bool = True,
    every: float = 0.6,
    shown: int = 560,
    median: float = 14.0,
    window: float = 168.0,
    rate: Callable[[float], float] = step_rate,
    slower: Callable[[float], float] = lambda x: 1.0,
    seed: int = 0,
    **said: Any,
) -> Study:
    """Show x even over [0, 1], one every 0.6 hours. Delays are exponential; they and the window are in hours, or, by
    rounds, in units of as many rounds as an hour has."""
    rng, clock = np.random.default_rng(seed), Clock(0.0)
    patience = f"{window}h" if by_clock else round(window / every)
    settings = {"outcomes": "conversion", "silence": "floor", "patience": patience, "seed": 0} | said
    study = Study.create(space={"x": Real(0, 1)}, clock=clock, **settings)
    due: list[tuple[float, int]] = []

    def tell_due() -> None:
        for at, number in sorted(one for one in due if one[0] <= clock.now):
            study.tell(number, 1, at=at)
        due[:] = [one for one in due if one[0] > clock.now]

    for i, x in enumerate(rng.permutation(np.linspace(0.0, 1.0, shown))):
        clock.now = i * every * HOUR
        tell_due()
        trial = study.add({"x": float(x)})
        if rng.random() < rate(x):
            due.append((clock.now + rng.exponential(slower(x) * median / np.log(2.0)) * HOUR, trial.number))
    clock.now += every * HOUR
    tell_due()
    return study
