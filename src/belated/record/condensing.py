"""What a choice needs of very many outcomes: one row for each query where they repeat, and else the newest rows.

Where neither will do, a choice rests on the whole history, which has a row for every trial.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, cast

import numpy as np

from belated.learner.arrays import Array, Indices
from belated.learner.choice.decide import Condensed, is_fit_due, make_gp, may_condense, needs_fit
from belated.learner.choice.fit_cost import is_affordable
from belated.learner.choice.problem import Problem, pair_contexts
from belated.learner.gp.beginning import Begun, OutcomeRows
from belated.learner.gp.listed import Listing
from belated.learner.gp.posterior import GP
from belated.learner.gp.scale import Scale
from belated.learner.gp.summary import SIZES
from belated.learner.history import History, order_by_arrival, scale_history
from belated.record.newest_index import NewestIndex
from belated.record.outcome_index import OutcomeIndex
from belated.record.state import State

Index = OutcomeIndex | NewestIndex


class CondensedRows(NamedTuple):
    """The rows of what was heard, on the model's scale."""

    trials: Indices  # each, or the first of several
    y: Array
    noise: Array
    points: Indices  # a number for each query
    outcomes: Indices  # how many each row stands for
    listing: Listing | None = None
    begun: Begun | None = None


def find_index(state: State) -> Index | None:
    """The index that the next choice can rest on; None: it needs the whole history."""
    settings = state.settings
    if settings.repeats == "never" or not may_condense(state.problem, state.next_number, state.fits):
        return None
    index = state.table.index_outcomes(state.problem.split)
    if index is None or (settings.late == "ignore" and True in index.arrived.late):
        return None
    return index


def condense_history(
    state: State, index: Index, now: float, z: Array, whole: Callable[[], History]
) -> Condensed | None:
    """What the next choice knows, in few rows; None where it needs the whole history, which `whole` gives."""
    problem, last, t = state.problem, state.fits[-1], state.next_number
    scale, gp, out = cast("Scale", last.scale), make_gp(problem, last, t), index.arrived.list_out()
    age, m = state.table.ages_of(out, now), state.settings.patience.m
    pending, pairs = age <= m, count_pairs(state, index, z)
    tally = index.arrived.tally(int(np.sum(pending)), pairs)
    due = is_fit_due(problem, tally, t, state.fits) and needs_fit(problem, tally, t)
    if due and is_affordable(problem, tally, state.fits):
        return None
    if isinstance(index, OutcomeIndex):
        rows = merge_by_query(state, index, z, pairs, scale, gp.lam)
    else:
        found = None if pairs else take_newest(state, index, int(np.sum(pending)), scale, gp, whole)
        if found is None:
            return None
        rows = found
    return join_pending(state, index, rows, out, age, scale, due)


def count_pairs(state: State, index: Index, z: Array) -> int:
    """How many pairs of a context and a listed query the next belief may be about, where they are few; else 0."""
    if state.problem.Q is None:
        return 0
    if isinstance(index, OutcomeIndex):
        contexts = index.list_contexts(z)
    else:
        contexts = state.table.list_contexts(state.problem.split)
    return pair_contexts(len(state.problem.Q), contexts, SIZES.pairs)


def merge_by_query(state: State, index: OutcomeIndex, z: Array, pairs: int, scale: Scale, lam: float) -> CondensedRows:
    """One row for each query.

    Beyond some thousands of outcomes or queries the outcomes since some number of them are rows of their own: for a
    belief about few pairs (gp/listed.py) by that number, for a summary, which another outcome of an old query would
    make anew, since the last fit."""
    point, heard = state.table.column("point"), len(index.arrived.arrivals)
    listed = pairs > 0 and heard >= SIZES.merged
    if len(index.members) <= SIZES.exact and not listed:
        rows, y, noise = index.list_sums(scale, lam)
        return CondensedRows(rows, y, noise, point[rows], np.array([len(each) for each in index.members]))
    count = heard // SIZES.merged * SIZES.merged if pairs else min(state.fits[-1].heard, heard)
    base, singles = index.list_base_sums(scale, lam, count), index.list_singles(scale, lam, count)
    beyond, listing = state.table.count_points() + np.arange(len(singles.first)), None
    if state.problem.Q is not None and pairs:
        merged, stepped = len(base.sums.first), len(singles.first) // SIZES.step * SIZES.step
        listing = Listing(state.problem.Q, index.list_contexts(z), merged, stepped, SIZES.step)
    return CondensedRows(
        trials=np.concatenate([base.sums.first, singles.first]),
        y=np.concatenate([base.sums.mean, singles.mean]),
        noise=np.concatenate([base.sums.noise, singles.noise]),
        points=np.concatenate([point[base.sums.first], beyond]),
        outcomes=np.concatenate([base.outcomes, np.ones(len(singles.first), dtype=np.intp)]),
        listing=listing,
    )


def take_newest(
    state: State, index: NewestIndex, pending: int, scale: Scale, gp: GP, whole: Callable[[], History]
) -> CondensedRows | None:
    """The outcomes that are not summarised; None where nothing is, or where a summary may hold more than outcomes."""
    n, last = len(index.starts), state.fits[-1]
    count = SIZES.count_summarised(n)
    if not count or pending > SIZES.newest or not (index.holds(last.centres, count) and index.ends_with(count)):
        return None
    known = index.begin(last, count, SIZES.count_summarised(n + pending))
    rows = index.list_newest(known)
    y, noise = index.arrived.read_outcomes(rows, scale, gp.lam)
    begun = Begun(index.origin, known, partial(read_all, whole, state.problem, scale, gp))
    return CondensedRows(
        rows, y, noise, state.table.column("point")[rows], np.ones(len(rows), dtype=np.intp), begun=begun
    )


def read_all(whole: Callable[[], History], problem: Problem, scale: Scale, gp: GP) -> OutcomeRows:
    """All outcomes in order of arrival."""
    h = scale_history(whole(), problem.bounds, scale)
    rows = order_by_arrival(h)
    return OutcomeRows(h.number[rows], h.X[rows], h.y[rows], h.own_lams(gp)[rows], h.point[rows])


def join_pending(
    state: State, index: Index, rows: CondensedRows, out: Indices, age: Array, scale: Scale, postponed: bool
) -> Condensed:
    """Some rows of what was heard, and the queries that are out, as a history.

    A query whose patience has run out is no information: one of them says that there are some."""
    column, bounds, m = state.table.column, state.problem.bounds, state.settings.patience.m
    kept = age <= m
    kept[np.flatnonzero(~kept)[:1]] = True
    out, age = out[kept], age[kept]
    every, heard = np.concatenate([rows.trials, out]), len(rows.trials)
    seen, nobody = np.arange(len(every)) < heard, np.zeros(len(every), dtype=bool)
    extremes = np.array([index.arrived.least, index.arrived.most])
    on_model = scale.to_model if bounds.floor is None else scale.to_model_unbounded
    unknown = np.full(len(out), np.nan)
    points = np.concatenate([rows.points, column("point")[out]])
    history = History(
        number=every + 1,
        X=state.table.list_X(every),
        point=points if rows.begun is None else np.unique(points, return_inverse=True)[1],  # numbers leave few out
        y=np.concatenate([rows.y, unknown]),
        seen=seen,
        pending=np.concatenate([nobody[:heard], age <= m]),
        infeasible=nobody,
        gone=nobody,
        recent=nobody,
        by_hand=column("by_hand")[every],
        order=column("order")[every],
        lams=np.concatenate([rows.noise, unknown]),
        floor=float(on_model(np.array(bounds.stand_in(extremes)))),
        age=np.concatenate([np.full(heard, np.inf), age]),
        m=m,
        waited=np.full(len(every), np.nan),
        arrived=seen,
        late=nobody,
        scaled=True,
        listing=rows.listing,
        begun=rows.begun,
    )
    outcomes = np.concatenate([rows.outcomes, np.zeros(len(out), dtype=np.intp)])
    return Condensed(history, outcomes, extremes, postponed)


def list_taken(state: State, index: Index, z: Array) -> Array:
    """The queries that are not to be asked again now, in a context."""
    split, X = state.problem.split, state.table.list_X(index.arrived.list_out())
    if state.settings.repeats == "always":
        X = X[:0]
    return np.asarray(X[np.all(X[:, :split] == z, axis=1), split:])
