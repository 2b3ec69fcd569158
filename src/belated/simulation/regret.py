"""Simple and cumulative regret of a study, given the noise-free f."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from belated.errors import Infeasible, InvalidInput
from belated.execution.evaluate import ObjectiveFunction
from belated.learner.arrays import Array
from belated.results import Trial
from belated.simulation.simulate import evaluate_exactly
from belated.study import Study
from belated.validation import Params, freeze, require_number


class Regret(NamedTuple):
    """One entry per round each.

    >>> from belated import Points, Study, measure_regret
    >>> study = Study.create(space=Points([0.0, 1.0]), silence="unknown", seed=0)
    >>> _ = study.add({"x": 0.0}, 0.0), study.add({"x": 1.0}, 1.0)
    >>> measure_regret(study, lambda params: params["x"]).cumulative.tolist()
    [1.0, 1.0]
    """

    simple: Array  # counting the outcomes that the study uses
    cumulative: Array
    late: Array  # simple regret, counting late outcomes as well


def measure_regret(study: Study, f: ObjectiveFunction, best: float | Callable[..., float] | None = None) -> Regret:
    """Simple and cumulative regret after each round, of the noise-free f.

    Simple regret after n queries: the best of f minus the best f(x_s) among the outcomes visible when query n + 1 is
    chosen (in `simple` late ones only where the study uses them, in `late` always); minus the floor while there are
    none. With a context both are against the best x for that round's context, and simple regret counts the queries
    made in exactly that context. Where f raises Infeasible, cumulative regret counts the query as the floor.

    best  the optimum: a number, or a function of the context; computed when the space is a finite set.

    >>> from belated import Points, Study, measure_regret
    >>> study = Study.create(space=Points([0.0, 0.5, 1.0]), silence="unknown", seed=0)
    >>> _ = study.add({"x": 0.0}, 0.0), study.add({"x": 0.5}, 0.5)
    >>> measure_regret(study, lambda params: params["x"]).simple  # the best is 1
    array([1. , 0.5])
    """
    trials = study.trials()
    values = np.array([_evaluate_signed(study, f, trial.params, trial.context) for trial in trials], dtype=float)
    optimum, worst = _find_extremes(study, f, best, trials, values)
    nowhere = np.isnan(values)
    heard = np.array([math.inf if trial.known_from is None else trial.known_from for trial in trials], dtype=float)
    heard[nowhere] = math.inf
    ignored = np.array([trial.status == "late" and study.settings.late == "ignore" for trial in trials], dtype=bool)
    kinds: dict[object, int] = {}
    kind = np.array([kinds.setdefault(freeze(trial.context), len(kinds)) for trial in trials], dtype=int)

    def simple(usable: Array) -> Array:
        """By the first number whose choice may use each outcome; inf when none may."""
        gaps = np.empty(len(trials))
        for n in range(1, len(trials) + 1):
            visible = (usable[:n] <= n + 1) & (kind[:n] == kind[n - 1])
            gaps[n - 1] = optimum[n - 1] - (np.max(values[:n][visible]) if np.any(visible) else worst[n - 1])
        return gaps

    gap = optimum - np.where(nowhere, worst, values)
    return Regret(simple(np.where(ignored, math.inf, heard)), np.cumsum(gap), simple(heard))


def _evaluate_signed(study: Study, f: ObjectiveFunction, params: Params, context: Params | None) -> float:
    """sign · f, which is best where it is largest; nan where f has no value."""
    try:
        return study.settings.objective.sign * evaluate_exactly(f, params, context)
    except Infeasible:
        return math.nan


def _find_extremes(
    study: Study, f: ObjectiveFunction, best: Any, trials: list[Trial], values: Array
) -> tuple[Array, Array]:
    """The best and the worst of sign · f in each round's context."""
    sign, floor = study.settings.objective.sign, study.settings.objective.floor
    Q = None if best is not None and floor is not None else study.queries()
    if best is None and Q is None:
        raise InvalidInput("best must be given: the space is not a finite set")
    extremes: dict[object, tuple[float, float]] = {}
    for trial in trials:
        name = freeze(trial.context)
        if name in extremes:
            continue
        known = values if Q is None else np.array([_evaluate_signed(study, f, q, trial.context) for q in Q])
        known = known[~np.isnan(known)]
        if not len(known) and (best is None or floor is None):
            missing = "best" if best is None else "the study's floor"
            raise InvalidInput(f"{missing} must be given: f has no value that it could be taken from")
        top = (
            float(np.max(known)) if best is None else sign * require_number(_evaluate_best(best, trial.context), "best")
        )
        extremes[name] = (top, float(np.min(known)) if floor is None else sign * floor)
    both = np.array([extremes[freeze(trial.context)] for trial in trials], dtype=float).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _evaluate_best(best: Any, context: Params | None) -> object:
    if not callable(best):
        return best
    return best(context) if inspect.signature(best).parameters else best()
