"""How hyperparameters are found: when, from which outcomes, and with what prior beliefs about them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from belated.learner.arrays import Mask
from belated.learner.gp.fit import HyperPrior
from belated.learner.gp.scale import Bounds
from belated.learner.history import History
from belated.learner.silence import Silence
from belated.validation import Fieldless


@dataclass(frozen=True)
class Schedule:
    """When hyperparameters are fitted again: every `every` rounds, later whenever the rounds grew by `growth`.

    `eager` also fits as soon as there is enough to fit and again whenever twice as many outcomes were heard.

    >>> from belated import algorithms
    >>> every_ten = algorithms.Schedule(10)
    >>> [t for t in range(2, 32) if every_ten.is_due(t, heard=t - 1, last=None, last_heard=0, previous=t - 1)]
    [11, 21, 31]
    """

    every: int | None
    growth: float = 0.0
    eager: bool = False

    def is_due(self, t: int, heard: int, last: int | None, last_heard: int, previous: int) -> bool:
        """Whether to fit before choosing query t.

        last      the query for which hyperparameters were last fitted
        previous  the last query that we chose, 0 for none: queries added by hand in between do not skip a fit"""
        if self.every is None:
            return False
        if not self.eager:
            return (t - 1) // self.every > (previous - 1) // self.every
        if last is None or heard >= 2 * last_heard:
            return True
        return t - last >= max(self.every, math.ceil(self.growth * last) if last >= 10 * self.every else 0)


class FitData(Protocol):
    """Which outcomes hyperparameters are fitted to."""

    def select(self, h: History, silence: Silence, bounds: Bounds) -> tuple[Mask, History]:
        """The rows to fit to, and the history with an outcome in each of them (user's units)."""


class Heard(Fieldless):
    """What was heard, and nothing else.

    >>> from belated import algorithms
    >>> algorithms.PAPER["GP-BUCB"].fitting.data
    Heard()
    """

    def select(self, h: History, silence: Silence, bounds: Bounds) -> tuple[Mask, History]:
        return h.seen, h


class HeardAndSettled(Fieldless):
    """What was heard, and where silence is an outcome and the floor is stated, also silence longer than patience.

    >>> from belated import algorithms
    >>> algorithms.DEFAULT.fitting.data
    HeardAndSettled()
    """

    def select(self, h: History, silence: Silence, bounds: Bounds) -> tuple[Mask, History]:
        if silence.forgets or bounds.floor is None:
            return h.seen, h
        return h.settled & ~h.infeasible, replace(h, y=np.where(h.seen, h.y, bounds.floor))


# Hyperparameters every ten rounds (App. C), fitted to what was heard.
EVERY_TEN, HEARD, NO_PRIOR = Schedule(10), Heard(), HyperPrior()


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """When, from which outcomes, and with what prior beliefs about the hyperparameters.

    >>> from dataclasses import replace
    >>> from belated import algorithms
    >>> often = algorithms.Fitting(schedule=algorithms.Schedule(2))
    >>> replace(algorithms.PAPER["GP-UCB"], name="GP-UCB, fitted often", fitting=often).fitting.schedule.every
    2
    """

    schedule: Schedule = EVERY_TEN
    data: FitData = HEARD
    prior: HyperPrior = NO_PRIOR
