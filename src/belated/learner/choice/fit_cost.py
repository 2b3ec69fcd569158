"""How long a fit is expected to take, from sizes alone: the next query must not depend on how busy a machine is."""

from __future__ import annotations

from collections.abc import Sequence

from belated.learner.cell_kernel import MOST
from belated.learner.choice.problem import Hyperparameters, Problem, count_pairs
from belated.learner.gp.summary import SIZES
from belated.learner.history import History, Tally

LONGEST = 2.0  # CPU seconds of a fit that an ask or a look may start
RATE = 2e10  # floating-point operations in a CPU second of an ordinary core, in matrix products
SEARCH = 0.5  # CPU seconds of the search for hyperparameters, which looks at some hundreds of outcomes at most
NEWTON = 20  # factorisations in a fit to rates: two modes, of some ten steps


def is_affordable(problem: Problem, h: History | Tally, fits: Sequence[Hyperparameters]) -> bool:
    """Whether an ask or a look may fit; else `study.refit` does, ahead of time."""
    return estimate_cost(problem, h, fits) <= LONGEST


def estimate_cost(problem: Problem, h: History | Tally, fits: Sequence[Hyperparameters]) -> float:
    """CPU seconds that a fit costs: its own, and those of computing the belief again, if there was one before."""
    n, M = h.queries, len(fits[-1].centres) if fits else 0
    if problem.conversions:
        return SEARCH + NEWTON * min(n**3 / 3.0, n * (M or MOST) ** 2) / RATE
    return SEARCH + (count_operations(n, M, count_pairs(problem, h)) / RATE if fits else 0.0)


def count_operations(n: int, centres: int, pairs: int = 0) -> float:
    """Of computing a belief about n queries, of so many pairs; `centres` as many as the last fit chose, 0: none."""
    if n <= SIZES.exact:
        return n**3 / 3.0
    if not SIZES.count_summarised(n, pairs):
        return float(pairs**3)
    M = centres or SIZES.centres
    return 2.0 * n * M**2 + 4.0 * M**3
