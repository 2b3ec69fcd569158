"""From a state to its next choice: live, computed again on a restart, or replayed from what an old choice knew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from belated.learner.arrays import Array, Mask
from belated.learner.blas import describe_versions, forget_threads, use_one_thread
from belated.learner.choice.candidates import SAME
from belated.learner.choice.decide import (
    FailureLog,
    adapt_silence,
    decide,
    decide_batch,
    decide_condensed,
    may_share_moment,
    measure_shortfall,
    recall,
    summarise_ahead,
    try_refit,
)
from belated.learner.choice.problem import Cache, Decision, Hyperparameters, Problem, Situation
from belated.learner.gp.domain import Finite
from belated.learner.gp.summary import ChunkRunner
from belated.learner.history import History
from belated.record.condensing import condense_history, find_index, list_taken
from belated.record.events import Asked, Event
from belated.record.locks import run_in_children
from belated.record.state import State
from belated.results import Replay, WorstValue
from belated.settings import Settings
from belated.validation import Params

run_in_children(forget_threads)

FIRST = "0.1"  # which did not record its own version


class Knowledge(NamedTuple):
    """Everything that a belief depends on, at one moment; later events do not change it."""

    problem: Problem
    history: History
    t: int  # the next number
    fits: list[Hyperparameters]


def gather_knowledge(state: State, now: float) -> Knowledge:
    """What is known at the clock reading `now`."""
    return Knowledge(state.problem, state.history(now), state.next_number, list(state.fits))


def narrow_to_epoch(known: Knowledge) -> Knowledge:
    """What the next query will be chosen by: all that is known, unless the theory restarts (confidence.Theory).

    Between two epochs the next query knows nothing, and it is what the epoch that has just ended knows."""
    problem, h, t, fits = known
    if t > 1 and problem.epoch_start(t) == t:
        t -= 1
    h, fits = recall(problem, h, fits, t)
    return Knowledge(problem, h, t, fits)


def prepare_choice(
    state: State, now: float, context: Params | None, fixed: Params | None
) -> Callable[[Cache], Decision]:
    """The next query at the clock reading `now`, still to be computed; later events do not change it."""
    z = state.encode_context(context)[1]
    rng, fits = _make_rng(state.settings.seed, state.next_number), list(state.fits)
    if (index := find_index(state)) is not None:
        lent = state.table.lend_history(now, state.settings.patience.m, state.settings.late)
        known = condense_history(state, index, now, z, lent.whole)
        if known is not None:
            turn, taken = index.arrived.count_chosen(z), list_taken(state, index, z)
            situation = describe_situation(state, z, fixed, turn, taken)
            return partial(decide_condensed, state.problem, known, situation, fits, lent.whole, rng)
    history, situation = find_situation(state, now, z, fixed)
    return partial(decide, state.problem, history, situation, fits, rng)


def prepare_batch(
    state: State, now: float, contexts: Sequence[Params | None], fixed: Params | None
) -> Callable[[Cache], list[Decision]] | None:
    """Queries for some contexts, asked at one moment and still to be computed, where all of them can be computed on one
    belief; None where each needs a state of its own."""
    count, settings = len(contexts), state.settings
    may = settings.repeats == "always" and settings.patience.by_clock
    if count == 1 or not may or not may_share_moment(state.problem, state.next_number, count):
        return None
    Z = [state.encode_context(context)[1] for context in contexts]
    history, situation = find_situation(state, now, Z[0], fixed)
    rng = partial(_make_rng, settings.seed)
    return partial(decide_batch, state.problem, history, situation, Z, list(state.fits), rng)


def _make_rng(seed: int, number: int) -> np.random.Generator:
    """What the choice of a query draws from."""
    return np.random.default_rng([seed, number])


def decode_choice(settings: Settings, x: Array, fixed: Params | None) -> dict[str, Any]:
    """A chosen query as params, with what was fixed by hand as it was given."""
    return {**settings.space.decode(x), **(fixed or {})}


def find_situation(state: State, now: float, z: Array, fixed: Params | None = None) -> tuple[History, Situation]:
    """What the next choice knows, and what it is about: its context, what is fixed by hand, which queries to avoid."""
    h, fresh = state.history_for_choice(now)
    problem, repeats = state.problem, state.settings.repeats
    taken, turn = np.empty((0, state.settings.space.domain.D)), 0
    if repeats != "always" or len(problem.moves) > 1:
        here, fresh_here = (np.all(X[:, : problem.split] == z, axis=1) for X in (h.X, fresh))
        away = {"always": np.zeros_like(here), "heard": _list_out(state, h), "never": ~h.gone}[repeats] & here
        taken = h.X[away, problem.split :]
        if repeats != "always":
            taken = np.vstack([taken, fresh[fresh_here, problem.split :]])
        turn = int(np.sum(here & ~h.by_hand)) + int(np.sum(fresh_here))
    return h, replace(describe_situation(state, z, fixed, turn, taken), fresh=fresh)


def describe_situation(state: State, z: Array, fixed: Params | None, turn: int, taken: Array) -> Situation:
    """What the next choice is about, where nothing was asked at this very moment."""
    space, problem = state.settings.space, state.problem
    given, matching = np.full(space.domain.D, np.nan), None
    if fixed is not None and isinstance(space.domain, Finite):
        matching = np.zeros(len(space.domain.Q), dtype=bool)
        matching[space.matching(fixed)] = True
    elif fixed is not None:
        for i, columns in space.fix(fixed).items():
            given[problem.compact.columns[i]] = columns
        if problem.Q is not None:
            matching = np.all(np.isnan(given) | (np.abs(problem.Q - given) <= SAME), axis=1)
    return Situation(
        t=state.next_number,
        turn=turn,
        z=z,
        given=given,
        open=matching,
        taken=taken,
        strict=state.settings.repeats == "never",
        shift=state.shift,
        fresh=np.empty((0, state.table.columns)),
    )


def _list_out(state: State, h: History) -> Mask:
    """The queries that are pending, and those that expired without information."""
    return h.pending | (~h.known & ~h.gone) if state.settings.silence.forgets else h.pending


def prepare_fit(state: State, now: float) -> Callable[[], Hyperparameters | None]:
    """New hyperparameters for the next query, still to be computed; None where there is nothing to fit."""
    problem, t = state.problem, state.next_number
    history, fits = recall(problem, state.history_for_choice(now)[0], list(state.fits), t)
    return partial(try_refit, problem, history, t, fits[-1] if fits else None, FailureLog())


def prepare_summary(state: State, now: float) -> Callable[[Cache, ChunkRunner], None]:
    """The belief of the next choice around the centres of the last fit, still to be computed."""
    problem, t = state.problem, state.next_number
    history, fits = recall(problem, state.history_for_choice(now)[0], list(state.fits), t)
    return partial(summarise_ahead, problem, history, t, fits[-1])


def find_worst(state: State, now: float) -> WorstValue:
    """The floor, or the value that replaces it, and whether anything uses it."""
    problem, h, _, _ = narrow_to_epoch(gather_knowledge(state, now))
    fills = any(adapt_silence(problem, move).uses_floor for move in problem.moves)
    return WorstValue(
        value=problem.bounds.stand_in(h.y[h.seen]),
        stated=problem.bounds.floor is not None,
        used=fills or problem.algorithm.model.scaling.uses_floor or bool(np.any(h.infeasible)),
    )


def replay_choice(settings: Settings, events: Iterable[Event], asked: Asked) -> Replay:
    """Compute a recorded choice again, from the settings as created and the events that it knew."""
    state = State(settings)
    for position, event in enumerate(events, start=1):
        if position <= asked.knew or (isinstance(event, Asked) and event.number < asked.number):
            state.apply(event)
    then, now = asked.versions or state.versions or {}, describe_versions()
    with use_one_thread():
        choice = prepare_choice(state, asked.considered_at, asked.context, asked.fixed)(Cache())
        params = decode_choice(state.settings, choice.x, asked.fixed)
        if params != dict(asked.params) and then != now and asked.fitted is not None:
            # Where outcomes say little about a lengthscale, other versions end a fit elsewhere.
            state.fits.append(Hyperparameters.from_dict(asked.fitted))
            choice = prepare_choice(state, asked.considered_at, asked.context, asked.fixed)(Cache())
            params = decode_choice(state.settings, choice.x, asked.fixed)
        same = params == dict(asked.params)
        gap = 0.0 if same else _measure_gap(state, asked, choice)
    by = None if then.get("belated") == now["belated"] else then.get("belated", FIRST)
    return Replay(number=asked.number, params=params, same=same, alike=then == now, by=by, gap=gap)


def _measure_gap(state: State, asked: Asked, choice: Decision) -> float:
    """How much worse a recorded query is than this choice, as a share of the acquisition's range."""
    z = state.encode_context(asked.context)[1]
    history, situation = find_situation(state, asked.considered_at, z, asked.fixed)
    rng = _make_rng(state.settings.seed, asked.number)
    fits = state.fits if choice.fitted is None else [*state.fits, choice.fitted]
    x = state.settings.space.encode(asked.params)
    return measure_shortfall(state.problem, history, situation, fits, rng, x, choice.x)
