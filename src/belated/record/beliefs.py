"""What a study believes, from what it knows: the mean and std of f at some points, and where the mean is best.

Older hyperparameters are used where the newest fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from belated.learner.arrays import Array
from belated.learner.belief import ModelBelief
from belated.learner.blas import use_one_thread
from belated.learner.choice.candidates import find_best, join_context
from belated.learner.choice.decide import compute_belief, try_hyperparameters
from belated.learner.choice.problem import Cache, Hyperparameters, Situation
from belated.learner.gp.scale import Scale
from belated.learner.policies import Greedy
from belated.record.choices import Knowledge
from belated.results import Belief

Result = TypeVar("Result")


def believe_at(known: Knowledge, z: Array, Q: Array, cache: Cache) -> Belief:
    """Mean and std of f at the queries Q in the context z, in the user's units."""
    rows = join_context(z, Q)

    def evaluate(belief: ModelBelief, scale: Scale) -> Belief:
        mean, std = belief.posterior.mean_and_std(rows)
        if not (np.all(np.isfinite(mean)) and np.all(np.isfinite(std))):
            raise FloatingPointError
        return Belief(scale.to_user(mean), scale.to_user_std(std))

    return _use_belief(known, z, cache, evaluate)


def find_best_mean(known: Knowledge, situation: Situation, seed: int, cache: Cache) -> Array:
    """The query where the mean is best, over the whole space, whatever is pending there."""
    anywhere = replace(situation, taken=situation.taken[:0])

    def maximize(belief: ModelBelief, scale: Scale) -> Array:
        rng = np.random.default_rng([seed, known.t])
        return find_best(known.problem, anywhere, belief, Greedy(), 0.0, rng)

    return _use_belief(known, situation.z, cache, maximize)


def _use_belief(known: Knowledge, z: Array, cache: Cache, use: Callable[[ModelBelief, Scale], Result]) -> Result:
    problem, h, t = known.problem, known.history, known.t

    def attempt(fitted: Hyperparameters | None) -> Result:
        return use(*compute_belief(problem, h, t, fitted, problem.silence, cache, z, exact=True))

    with use_one_thread():
        return try_hyperparameters(known.fits, attempt)
