"""To look: what a study believes, the best query so far, and the one that is recommended."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import numpy as np

from belated.errors import InvalidInput, NothingHeard
from belated.learner.arrays import Array
from belated.learner.choice.candidates import join_context
from belated.record.beliefs import believe_at, find_best_mean, limit_rates
from belated.record.best import count_trials, find_best_rate, find_best_told
from belated.record.choices import Knowledge, find_situation, gather_knowledge
from belated.record.handle import Handle
from belated.record.log import LogEntry, describe_creation, describe_event
from belated.results import STATUSES, Belief, BestQuery, Status, Trial
from belated.validation import Params, format_value, require_bool, require_whole
from belated.verbs.reading import read_number, read_time


def list_trials(handle: Handle, status: Status | Collection[Status] | None, last: int | None) -> list[Trial]:
    """The trials of some statuses (None: of all), the last ones of them (None: all)."""
    wanted = STATUSES if status is None else (status,) if isinstance(status, str) else tuple(status)
    for each in wanted:
        if each not in STATUSES:
            raise InvalidInput(f"status must be one of {', '.join(STATUSES)} (got {format_value(each)})")
    if last is not None and require_whole(last, "last") < 1:
        raise InvalidInput(f"last must be at least 1 (got {last})")
    with handle.hold_newest() as state:
        now = handle.read_clock()
        found = np.isin(state.find_statuses(now), [STATUSES.index(each) for each in wanted])
        numbers = np.flatnonzero(found) + 1
        return [state.trial(s, now) for s in numbers[-(last or len(numbers)) :].tolist()]


def list_history(
    handle: Handle,
    trial: Trial | int | None,
    by: str | None,
    since: float | datetime | None,
    until: float | datetime | None,
) -> list[LogEntry]:
    """The history in sentences: of one trial, of one person, from one time to another."""
    with handle.hold_newest() as state:
        number = None if trial is None else read_number(state, trial)
    first = None if since is None else read_time(handle, since, "since")
    last = None if until is None else read_time(handle, until, "until")
    entries = [describe_event(position, event) for position, event in enumerate(handle.read_events(), start=1)]
    return [
        entry
        for entry in [*describe_creation(handle.created), *entries]
        if (number is None or entry.number == number)
        and (by is None or entry.by == by)
        and (first is None or entry.at >= first)
        and (last is None or entry.at <= last)
    ]


def believe(handle: Handle, known: Knowledge, rows: Array, *, pending: bool = False) -> Belief:
    """The belief at some rows."""
    with handle.use_cache() as cache:
        belief = believe_at(known, rows, cache, pending=pending)
    return limit_rates(belief, known.history) if has_conversions(handle) else belief


def has_conversions(handle: Handle) -> bool:
    """Whether the outcomes are conversions."""
    return handle.state.settings.outcomes == "conversion"


def believe_points(handle: Handle, points: Sequence[Params], context: Params | None, *, pending: bool) -> Belief:
    """The belief at some points, in a context."""
    pending = require_bool(pending, "pending")
    if isinstance(points, Mapping):
        raise InvalidInput(f"points must be a list of dictionaries (got {format_value(points)})")
    with handle.hold_newest() as state:  # another process may have amended the ranges
        _, z = state.encode_context(context)
        Q = state.settings.space.encode_all(points)
        known = gather_knowledge(state, handle.read_clock())
    return believe(handle, known, join_context(z, Q), pending=pending)


def find_best(handle: Handle, context: Params | None) -> BestQuery:
    """The best query so far: by its outcome, or for conversions by the rate that is believed."""
    with handle.hold_newest() as state:
        z = None if context is None else state.encode_context(context)[1]
        known = gather_knowledge(state, handle.read_clock())
        trial = None if has_conversions(handle) else handle.read_trial(find_best_told(known, z) + 1)
    if trial is None:
        i, belief = find_best_rate(known, z, lambda rows: believe(handle, known, rows))
        asked = handle.state.rows[known.history.number[i] - 1].asked
        return describe_belief(handle, known, known.history.X[i], belief, asked.params, asked.context)
    y, x = known.history.y[trial.number - 1], known.history.X[trial.number - 1]
    shown, heard = count_trials(known.history, x, conversions=False)
    noisy = heard > 1 or trial.noise is not None
    there = believe(handle, known, x[None]) if noisy else None
    return BestQuery(
        params=trial.params,
        context=trial.context,
        value=float(y),
        quantity="outcome",
        low=None if there is None else float(there.low[0]),
        high=None if there is None else float(there.high[0]),
        asked=shown,
        heard=heard,
        trial=trial,
    )


def recommend(handle: Handle, context: Params | None) -> BestQuery:
    """The query where the belief's mean is best, over the whole space."""
    with handle.hold_newest() as state:
        words, z = state.encode_context(context)
        if not state.table.has_heard:
            raise NothingHeard
        now, settings = handle.read_clock(), state.settings
        known, (_, situation) = gather_knowledge(state, now), find_situation(state, now, z)
    with handle.use_cache() as cache:
        x = find_best_mean(known, situation, settings.seed, cache)
    params = settings.space.decode(x)
    rows = join_context(z, settings.space.encode_all([params]))
    return describe_belief(handle, known, rows[0], believe(handle, known, rows), params, words)


def describe_belief(
    handle: Handle, known: Knowledge, row: Array, belief: Belief, params: Params, context: Params | None
) -> BestQuery:
    """A query with what is believed of it."""
    conversions = has_conversions(handle)
    asked, heard = count_trials(known.history, row, conversions)
    return BestQuery(
        params=dict(params),
        context=None if context is None else dict(context),
        value=float(belief.mean[0]),
        quantity="rate" if conversions else "mean",
        low=float(belief.low[0]),
        high=float(belief.high[0]),
        asked=asked,
        heard=heard,
    )
