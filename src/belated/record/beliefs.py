"""What a study believes, from what it knows: the mean and std of f at some points, and where the mean is best.

A look uses the hyperparameters that an ask at that moment would use, and older ones where those fail. It rests on what
was heard, and on silence where the study counts it as an outcome; what is pending says nothing yet, unless one looks at
the belief that the next choice is made from. What a look fits is remembered, and written nowhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from belated.learner.arrays import Array
from belated.learner.belief import ModelBelief
from belated.learner.blas import use_one_thread
from belated.learner.choice.candidates import find_best
from belated.learner.choice.decide import (
    FailureLog,
    compute_belief,
    is_look_fit_due,
    needs_fit,
    try_hyperparameters,
    try_refit,
)
from belated.learner.choice.fit_cost import is_affordable
from belated.learner.choice.problem import Cache, Hyperparameters, Problem, Situation
from belated.learner.gp.scale import RateScale, Scale
from belated.learner.history import History, coarsen_ages
from belated.learner.policies import Greedy
from belated.record.choices import Knowledge, narrow_to_epoch
from belated.results import Belief

Result = TypeVar("Result")


def believe_at(known: Knowledge, rows: Array, cache: Cache, *, pending: bool) -> Belief:
    """Mean and std of f at rows of context and query, in the user's units; `pending`: as for the next choice."""

    def evaluate(belief: ModelBelief, scale: Scale | RateScale) -> Belief:
        mean, std = scale.read(belief.posterior, rows)
        if not (np.all(np.isfinite(mean)) and np.all(np.isfinite(std))):
            raise FloatingPointError
        return Belief(*scale.describe(mean, std))

    return _use_belief(known, np.empty(0), cache, evaluate, pending)


def find_model(known: Knowledge) -> tuple[ModelBelief, Scale | RateScale]:
    """The belief about f as a posterior on the model's scale, and that scale: to draw functions from."""
    return _use_belief(known, np.empty(0), Cache(), lambda belief, scale: (belief, scale), pending=False)


def describe_fit(known: Knowledge) -> str:
    """A note on the hyperparameters that a look uses: empty, or that newer ones are due and take long to find."""
    problem, h, t, fits = narrow_to_epoch(known)
    if not (needs_fit(problem, h, t) and is_look_fit_due(problem, h, t, fits)) or is_affordable(problem, h, fits):
        return ""
    fitted = f"fitted at trial {fits[-1].number}" if fits else "not fitted yet"
    return f"{fitted}; `belated refit` brings it up to date"


def limit_rates(belief: Belief, h: History) -> Belief:
    """What is believed about rates: none is below 0, and none above 1 while no conversion counted more than 1."""
    most = 1.0 if np.max(h.y[h.seen], initial=1.0) <= 1.0 else np.inf
    mean, low, high = (np.clip(each, 0.0, most) for each in (belief.mean, belief.low, belief.high))
    return Belief(mean, belief.std, low, high)


def find_best_mean(known: Knowledge, situation: Situation, seed: int, cache: Cache) -> Array:
    """The query where the mean is best, over the whole space, whatever is pending there."""
    anywhere = replace(situation, taken=situation.taken[:0])

    def maximize(belief: ModelBelief, scale: Scale | RateScale) -> Array:
        rng = np.random.default_rng([seed, known.t])
        return find_best(known.problem, anywhere, belief, Greedy(), 0.0, rng)

    return _use_belief(known, situation.z, cache, maximize, pending=False)


def _use_belief(
    known: Knowledge, z: Array, cache: Cache, use: Callable[[ModelBelief, Scale | RateScale], Result], pending: bool
) -> Result:
    problem, h, t, fits = narrow_to_epoch(known)
    shown = h if pending or not problem.silence.forgets else h.without_pending()

    def attempt(fitted: Hyperparameters | None) -> Result:
        return use(*compute_belief(problem, shown, t, fitted, problem.silence, cache, z, exact=True, ahead=pending))

    with use_one_thread():
        fresh = _fit_for_look(problem, h, t, fits, cache)
        return try_hyperparameters(fits if fresh is None else [*fits, fresh], attempt)


def _fit_for_look(
    problem: Problem, h: History, t: int, fits: list[Hyperparameters], cache: Cache
) -> Hyperparameters | None:
    """New hyperparameters where a fit is due; the same question again has the same answer, at no cost."""
    if not (is_look_fit_due(problem, h, t, fits) and is_affordable(problem, h, fits)):
        return None
    parts = [h.X, h.y, h.lams, h.seen, h.settled, h.pending]
    if problem.conversions:
        parts.append(coarsen_ages(h).age)
    if h.counts is not None:
        parts += [h.counts.shown, h.counts.converted, h.counts.age, h.counts.arrivals]
    key = hash((t, len(fits), problem.bounds, *(part.tobytes() for part in parts)))
    if key not in cache.looks:
        cache.looks = {key: try_refit(problem, h, t, fits[-1] if fits else None, FailureLog())}
    return cache.looks[key]
