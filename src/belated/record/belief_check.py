"""One belief computed three ways: rebuilt from a study's events, grown along them, and from tells in another order.

A live study grows its belief event by event; a restart rebuilds it from the ledger. The two must agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from belated.errors import NotPositiveDefinite
from belated.learner.arrays import Array
from belated.learner.blas import use_one_thread
from belated.learner.choice.decide import compute_belief, try_hyperparameters
from belated.learner.choice.problem import Cache, Hyperparameters
from belated.learner.gp.domain import Compact
from belated.learner.gp.posterior import Posterior
from belated.record.choices import Knowledge, gather_knowledge, narrow_to_epoch
from belated.record.events import Asked, Event
from belated.record.state import State
from belated.settings import Settings

SAME = 1e-9  # on the model's scale: how far a belief may be from the same belief computed another way
EPSILON = float(np.finfo(np.float64).eps)
SHOWN = 200  # trials at which beliefs are compared


def find_disagreements(settings: Settings, events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    """(invariant, sentence) for every one of I10, I11, I13 that does not hold."""
    state, cache, stops = State(settings), Cache(), {len(events) * k // 4 for k in (1, 2, 3)}
    now = max((e.considered_at for e in events if isinstance(e, Asked)), default=0.0)
    with use_one_thread():
        for position, event in enumerate(events, start=1):
            state.apply(event)
            if position in stops:
                _compute_belief(narrow_to_epoch(gather_knowledge(state, now)), cache)  # to fill the cache
        known = narrow_to_epoch(gather_knowledge(state, now))
        h = known.history
        turned = np.where(h.known, h.order.max(initial=0) - h.order, h.order)
        fresh, grown = _compute_belief(known, Cache()), _compute_belief(known, cache)
        shuffled = _compute_belief(known._replace(history=replace(h, order=turned)), Cache())
    if fresh is None:
        yield "I13", "mean and std must be finite, and var between 0 and the prior's"
        return
    rebuilt, rounding = fresh
    for invariant, words, other in (
        ("I11", "grown along the events", grown),
        ("I10", "of the same outcomes in another order", shuffled),
    ):
        gap = math.inf if other is None else float(np.max(np.abs(other[0] - rebuilt), initial=0.0))
        if not gap <= max(SAME, rounding) * max(1.0, float(np.max(np.abs(rebuilt), initial=0.0))):
            yield invariant, f"the belief {words} must be the one rebuilt (they are {gap:.1e} apart)"


def _compute_belief(known: Knowledge, cache: Cache) -> tuple[Array, float] | None:
    """Mean and variance on the model's scale at some queries, and how far rounding may take them: machine epsilon times
    the condition number of K + λI. None if they are not finite, or larger than the prior's."""
    problem, h, t, fits = known
    rows = np.vstack([h.X[: SHOWN // 2], h.X[-SHOWN // 2 :]])
    if isinstance(problem.query, Compact):
        spread = problem.query.place(np.random.default_rng(0).random((32, len(problem.query.widths))))
        z = h.X[-1, : problem.split] if len(h.X) else np.full(problem.split, 0.5)
        rows = np.vstack([rows, np.hstack([np.broadcast_to(z, (32, problem.split)), spread])])

    def attempt(fitted: Hyperparameters | None) -> tuple[Posterior, Array, Array]:
        posterior = compute_belief(problem, h, t, fitted, problem.silence, cache, np.empty(0))[0].posterior
        return posterior, *posterior.mean_and_std(rows)

    try:
        posterior, mean, std = try_hyperparameters(fits, attempt)
    except NotPositiveDefinite:
        return None
    most = np.inf if problem.algorithm.model.surrogate is not None else posterior.gp.kernel.diag(rows) * (1 + SAME)
    sound = np.isfinite(mean) & (std >= 0) & (np.square(std) <= most)
    least = float(np.min(posterior.lams, initial=1.0))  # 0 where an outcome's own noise underflows
    condition = 1.0 + len(posterior.X) * posterior.gp.kernel.variance / least if least > 0 else math.inf
    return (np.stack([mean, np.square(std)]), EPSILON * condition) if np.all(sound) else None
