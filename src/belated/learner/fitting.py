"""How hyperparameters are found: when, from which outcomes, and with what prior beliefs about them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from belated.learner.arrays import Array, Mask
from belated.learner.belief import FactorCache, fill_outcomes
from belated.learner.gp.fit import HyperPrior
from belated.learner.gp.posterior import GP
from belated.learner.gp.scale import Bounds, Scale, Scaling
from belated.learner.history import History, scale_history
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


class FitRows(NamedTuple):
    """What a fit looks at, in the order of asking and on the model's scale."""

    X: Array
    y: Array
    lams: Array  # the outcome's own noise variance, NaN where lam is fitted
    scale: Scale
    shares: Array | None = None  # of rows that count in part: their noise is λ / share; None: all count in full


class FitData(Protocol):
    """Which outcomes hyperparameters are fitted to."""

    def select(self, h: History, bounds: Bounds, scaling: Scaling, silence: Silence, gp: GP) -> FitRows:
        """The rows to fit to; `gp` has the hyperparameters so far."""


def _select_rows(h: History, rows: Mask, bounds: Bounds, scaling: Scaling) -> FitRows:
    scale = scaling(bounds, h.y[rows])
    scaled = scale_history(h, bounds, scale)
    return FitRows(scaled.X[rows], scaled.y[rows], scaled.lams[rows], scale)


class Heard(Fieldless):
    """What was heard, and nothing else.

    >>> from belated import algorithms
    >>> algorithms.paper("GP-UCB-SDF", fitted_to="heard").fitting.data
    Heard()
    """

    def select(self, h: History, bounds: Bounds, scaling: Scaling, silence: Silence, gp: GP) -> FitRows:
        """The rows that were heard."""
        return _select_rows(h, h.seen, bounds, scaling)


class OwnData(Fieldless):
    """The data of the method's own GP: what its belief is made of, with unheard outcomes filled as its silence says.

    A fill that needs a belief takes it from the hyperparameters so far. Where silence is ignored, this is what was
    heard.

    >>> from belated import algorithms
    >>> algorithms.PAPER["GP-BUCB"].fitting.data
    OwnData()
    """

    def select(self, h: History, bounds: Bounds, scaling: Scaling, silence: Silence, gp: GP) -> FitRows:
        """Every row of the belief, in the order of asking."""
        scale = scaling(bounds, h.y[h.seen])
        scaled = scale_history(h, bounds, scale)
        filled, _ = fill_outcomes(gp, silence, scaled, FactorCache())
        in_order = np.argsort(filled.rows, kind="stable")
        rows, shares = filled.rows[in_order], filled.shares
        return FitRows(
            scaled.X[rows],
            filled.y_tilde[in_order],
            scaled.lams[rows],
            scale,
            None if shares is None else shares[in_order],
        )


class HeardAndSettled(Fieldless):
    """What was heard, and where silence is an outcome and the floor is stated, also silence longer than patience.

    >>> from belated import algorithms
    >>> algorithms.DEFAULT.fitting.data
    HeardAndSettled()
    """

    def select(self, h: History, bounds: Bounds, scaling: Scaling, silence: Silence, gp: GP) -> FitRows:
        """The rows that were heard and, where silence is an outcome, those whose patience has run out."""
        if silence.forgets or bounds.floor is None:
            return _select_rows(h, h.seen, bounds, scaling)
        filled = replace(h, y=np.where(h.seen, h.y, bounds.floor))
        return _select_rows(filled, h.settled & ~h.infeasible, bounds, scaling)


# Hyperparameters every ten rounds (App. C), fitted to the data of the method's own GP (Eq. (1)).
EVERY_TEN, OWN_DATA, NO_PRIOR = Schedule(10), OwnData(), HyperPrior()


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
    data: FitData = OWN_DATA
    prior: HyperPrior = NO_PRIOR
