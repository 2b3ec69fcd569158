"""Rates: an outcome that comes only if it is good, some time after its query or never.

y   what was told: 1 or an amount, 0 while nothing was             (n,)
F   exposure: of those that come within m, the share that has come by the age of the query           (n,)
v   the rate of a query: what it brings within m, on average (the amount, where there are amounts)
c   E[A²] / E[A] over the amounts A that were told; 1 where every conversion counts 1

y/F estimates v, with variance v (c - v F) / F: an outcome with its own noise. So conversions are an ordinary history in
which every query has an outcome, and everything else stays as it is. A query of long ago counts in full, one of a minute
ago hardly; repeats are merged, so that a row is a rate k / Σ F and its noise that of k out of Σ F.

`floor` takes silence literally: F = 1, and the estimate is the rate heard so far. `fading` learns F from the delays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from belated.learner.arrays import Array
from belated.learner.delays.arrival_law import ArrivalLaw
from belated.learner.fitting import FitRows
from belated.learner.gp.merging import group_rows, merge_outcomes
from belated.learner.gp.posterior import GP, GrowingPosterior, Posterior
from belated.learner.gp.scale import Scale
from belated.learner.history import History
from belated.learner.silence import Silence

LEAST_EXPOSURE = 1e-6
PASSES = 2  # of rate and noise, which depend on each other
RATE_RANGE = (0.1, 0.95)  # the rate that noise is computed from: at least a tenth of the average, below c


@dataclass(frozen=True, eq=False)
class Conversions:
    """What was told, by query, and what it says on average."""

    y: Array
    exposure: Array  # F
    average: float  # of v over the queries
    c: float
    doubt: float  # about Σ F, as a share of it

    def compute_noise(self, rate: Array | float, exposure: Array | float) -> Array:
        """v (c - v F) / F."""
        v = np.clip(rate, RATE_RANGE[0] * self.average, RATE_RANGE[1] * self.c)
        return np.asarray(v * (self.c - v * exposure) / exposure)


def count_conversions(h: History, silence: Silence) -> Conversions:
    """The conversions of a history in the user's units."""
    y = np.where(h.seen, np.nan_to_num(h.y), 0.0)
    came = h.seen & (y > 0)
    exposure, doubt = np.ones(len(y)), 0.0
    if silence.fills == "between":
        young = (came | h.pending) & (h.age < h.m)
        in_time = came & (h.waited <= h.m) & ~np.isnan(h.waited)
        law = ArrivalLaw.learn(h.waited[in_time], h.age[in_time], h.m)
        exposure[young] = np.maximum(law.share_by(h.age[young]), LEAST_EXPOSURE)
        doubt = law.doubt(h.age[~h.gone])
    here = ~h.gone
    amounts = y[came]
    mean = float(np.mean(amounts)) if len(amounts) else 1.0
    c = float(np.mean(np.square(amounts))) / mean if len(amounts) else 1.0
    average = (float(np.sum(y[here])) + 0.5 * mean) / (float(np.sum(exposure[here])) + 1.0)
    return Conversions(y, exposure, average, c, doubt)


def make_rate_scale(conversions: Conversions) -> Scale:
    """Rates in units of their average."""
    return Scale(1.0, 0.0, conversions.average)


def estimate_rates(h: History, conversions: Conversions, rate: Array | float) -> History:
    """The history in which every query has an outcome: its estimate of v, with its own noise (std, user's units)."""
    there = ~h.gone
    noise = np.sqrt(conversions.compute_noise(rate, conversions.exposure))
    return replace(
        h,
        y=np.where(there, conversions.y / conversions.exposure, np.nan),
        lams=np.where(there, noise, np.nan),
        seen=there,
        pending=np.zeros_like(h.pending),
        infeasible=np.zeros_like(h.infeasible),
    )


def complete_rates(h: History, conversions: Conversions, rate: Array) -> History:
    """The same as if every query had been out for long, with what is missing as the belief expects it.

    The next choice is made from this: what was asked a minute ago will be known, so it need not be asked again."""
    rates = estimate_rates(h, conversions, rate)
    full = conversions.compute_noise(rate, 1.0)
    share = np.minimum(full / np.square(rates.lams), 1.0)  # of the information that is there already
    return replace(rates, y=share * rates.y + (1.0 - share) * rate, lams=np.sqrt(full))


def select_rates(h: History, silence: Silence, gp: GP) -> tuple[FitRows, float]:
    """What hyperparameters are fitted to: the rate of every query with its noise; and λ, the noise of one outcome."""
    counted = count_conversions(h, silence)
    scale = make_rate_scale(counted)
    rates = estimate_rates(h, counted, find_rates(gp, h, counted, scale, GrowingPosterior()))
    rows = np.flatnonzero(rates.seen)
    grouping = group_rows(rates.point[rows])
    merged = merge_outcomes(grouping, rates.y[rows] / scale.width, np.square(rates.lams[rows] / scale.width))
    lam = float(counted.compute_noise(counted.average, 1.0)) / scale.width**2
    return FitRows(rates.X[rows][grouping.first], merged.mean, merged.noise, scale), lam


def _condition(gp: GP, rates: History, scale: Scale, memory: GrowingPosterior) -> Posterior:
    rows = np.flatnonzero(rates.seen)
    y, lams = scale.to_model_unbounded(rates.y[rows]), np.square(rates.lams[rows] / scale.width)
    return memory.condition(gp, rates.number[rows], rates.X[rows], y, lams, points=rates.point[rows])


def find_rates(gp: GP, h: History, conversions: Conversions, scale: Scale, memory: GrowingPosterior) -> Array:
    """v at every query, as the noise of its outcomes and the belief from them agree on it     (n,)."""
    rate: Array = np.full(len(h.X), conversions.average)
    for _ in range(PASSES):
        posterior = _condition(gp, estimate_rates(h, conversions, rate), scale, memory)
        rate = rate.copy()
        rate[~h.gone] = scale.to_user(posterior.own_means)[posterior.place]
    return np.clip(rate, RATE_RANGE[0] * conversions.average, RATE_RANGE[1] * conversions.c)
