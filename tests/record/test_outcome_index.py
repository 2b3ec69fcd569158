"""Choices from sums by query are those from the whole history; the index is what a fresh one would be."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from belated import Choice, Points, Study, kernels
from belated.learner.choice.decide import compute_belief
from belated.learner.choice.problem import Cache
from belated.learner.gp.summary import Sizes
from belated.learner.history import History
from belated.record import condensing, outcome_index, trials
from belated.record.choices import prepare_choice
from belated.record.condensing import condense_history, find_index
from belated.record.state import State

POINTS = Points([0.0, 0.15, 0.4, 0.6, 0.8, 1.0])


def run(silence: str, rounds: int = 45, **settings: Any) -> Study:
    """A study of some rounds: three outcomes are out at any time, some are lost, some have noise of their own."""
    context = settings.get("context")
    study = Study.create(space=POINTS, silence=silence, seed=3, regret="cumulative", **settings)
    rng, out = np.random.default_rng(0), []
    for i in range(rounds):
        out.append(study.ask(context=None if context is None else {"who": "ab"[i % 2]}))
        if len(out) > 3:
            trial = out.pop(int(rng.integers(3)))
            y = float(np.sin(5 * trial.params["x"]) + 0.3 * rng.standard_normal())
            if i % 11 == 5:
                study.fail(trial, "lost")
            elif i % 7 != 3:
                study.tell(trial, y, noise=0.2 if i % 5 == 1 else None)
    return study


KINDS: dict[str, dict[str, Any]] = {
    "plain": {"patience": 9},
    "with a context": {"patience": 9, "context": {"who": Choice("a", "b")}},
    "repeats": {"patience": 9, "repeats": "always"},
}


@cache
def run_whole(silence: str, kind: str) -> Study:
    """A study that chose from its whole history; nobody changes it."""
    return run(silence, **KINDS[kind])


def never_read() -> History:
    raise AssertionError("the whole history was needed")


def index_from(monkeypatch: pytest.MonkeyPatch, trials_: int) -> None:
    monkeypatch.setattr(trials, "MANY", trials_)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("silence", ["unknown", "waiting", "ignored"])
def test_choices_are_those_from_the_whole_history(silence: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, settings = run_whole(silence, kind), KINDS[kind]
    index_from(monkeypatch, 12)
    sums = run(silence, **settings)
    assert find_index(State.after(sums.settings, sums.events())) is not None
    assert [trial.params for trial in sums.trials()] == [trial.params for trial in whole.trials()]
    assert [trial.note for trial in sums.trials()] == [trial.note for trial in whole.trials()]
    assert all(sums.replay(number).same for number in (20, 33, 45))


@pytest.mark.parametrize("sizes", [Sizes(exact=3, merged=9, step=2), Sizes(merged=9, step=2)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("silence", ["unknown", "waiting", "ignored"])
def test_choices_about_pairs_are_those_from_the_whole_history(
    silence: str, kind: str, sizes: Sizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if six queries, or nine outcomes, were very many: merged, in steps, and the newest apart (gp/listed.py)."""
    whole, settings = run_whole(silence, kind), KINDS[kind]
    index_from(monkeypatch, 12)
    monkeypatch.setattr(condensing, "SIZES", sizes)
    pairs = run(silence, **settings)
    state = State.after(pairs.settings, pairs.events())
    index = find_index(state)
    assert index is not None
    known = condense_history(state, index, pairs.clock(), np.zeros(state.problem.split), never_read)
    assert known is not None
    assert known.history.listing is not None
    assert known.history.listing.merged
    assert known.history.listing.stepped
    assert [trial.params for trial in pairs.trials()] == [trial.params for trial in whole.trials()]
    assert [trial.note for trial in pairs.trials()] == [trial.note for trial in whole.trials()]
    assert all(pairs.replay(number).same for number in range(20, 46))


def test_a_choice_about_pairs_goes_on_in_another_handle_with_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for a context that nobody asked for before."""
    index_from(monkeypatch, 12)
    monkeypatch.setattr(condensing, "SIZES", Sizes(exact=3, merged=9, step=2))
    study = run("unknown", context={"who": Choice("a", "b", "c")})
    monkeypatch.setattr(condensing, "is_fit_due", lambda *_: False)
    mine, fresh, rows = Cache(), Cache(), []
    for events in (study.events()[:-6], study.events()):  # one cache goes on, the other begins here
        state = State.after(study.settings, events)
        index, z = find_index(state), state.encode_context({"who": "c"})[1]
        assert index is not None
        known = condense_history(state, index, study.clock(), z, never_read)
        assert known is not None
        rows = [
            compute_belief(
                state.problem, known.history, state.next_number, state.fits[-1], state.problem.silence, cache, z
            )[0].mean_and_std(np.hstack([np.tile(z, (6, 1)), state.problem.Q]))
            for cache in (mine, fresh)
        ]
        fresh = Cache()
    for one, other in zip(*rows, strict=True):
        assert np.array_equal(one, other)


def test_an_index_that_grew_is_a_fresh_one(monkeypatch: pytest.MonkeyPatch) -> None:
    index_from(monkeypatch, 12)
    study = run("unknown", context={"who": Choice("a", "b")})
    state = State.after(study.settings, [])
    for event in study.events():
        state.apply(event)
        if state.fits:
            find_index(state)  # made once, and then kept
        if state.position % 20 == 0:
            state = state.fork()
    split, again = state.problem.split, State.after(study.settings, study.events())
    grown, fresh = state.table.index_outcomes(split), again.table.index_outcomes(split)
    assert grown is not None
    assert fresh is not None
    assert grown is not fresh
    for name in ("arrivals", "late", "out", "queries", "newest_choice", "chosen", "least", "most", "alive"):
        assert getattr(grown.arrived, name) == getattr(fresh.arrived, name), name
    for name in ("places", "members"):
        assert getattr(grown, name) == getattr(fresh, name), name
    scale, lam = state.fits[-1].scale, 0.1
    assert scale is not None
    for old, new in zip(grown.list_sums(scale, lam), fresh.list_sums(scale, lam), strict=True):
        assert np.array_equal(old, new)


@pytest.mark.parametrize("correct", ["amend", "undo", "late outcome of a lost one"])
def test_a_correction_makes_the_index_anew(correct: str, monkeypatch: pytest.MonkeyPatch) -> None:
    index_from(monkeypatch, 12)
    study = run("unknown")
    heard = next(trial for trial in study.trials() if trial.status == "heard")
    if correct == "amend":
        study.amend(heard, 7.0, reason="misread")
    elif correct == "undo":
        study.undo(heard)
    else:
        study.tell(next(trial for trial in study.trials() if trial.status == "failed"), 0.4)
    after = study.ask()
    index_from(monkeypatch, 10**9)
    assert study.replay(after.number).params == after.params


def test_many_outcomes_of_a_query_are_merged_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    index_from(monkeypatch, 12)
    study = run("unknown")
    state = State.after(study.settings, study.events())
    index, scale = find_index(state), state.fits[-1].scale
    assert index is not None
    assert scale is not None
    at_once = index.list_sums(scale, 0.1)
    monkeypatch.setattr(outcome_index, "BLOCK", 3)
    index.merged = None
    in_blocks = index.list_sums(scale, 0.1)
    assert max(map(len, index.members)) > 6
    for one, other in zip(at_once, in_blocks, strict=True):
        assert np.allclose(one, other, rtol=1e-13, atol=0.0)


def test_outcomes_since_the_last_fit_may_be_rows_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    index_from(monkeypatch, 12)
    monkeypatch.setattr(condensing, "is_fit_due", lambda *_: False)
    study = run("unknown", rounds=47)
    state = State.after(study.settings, study.events())
    problem, index, t = state.problem, find_index(state), state.next_number
    assert index is not None
    beliefs = []
    for exact in (2000, 3):
        monkeypatch.setattr(condensing, "SIZES", Sizes(exact=exact, pairs=0))
        known = condense_history(state, index, study.clock(), np.empty(0), never_read)
        assert known is not None
        belief, _ = compute_belief(problem, known.history, t, state.fits[-1], problem.silence, Cache(), np.empty(0))
        beliefs.append((known, np.array(belief.mean_and_std(problem.Q))))
    (merged, one), (single, other) = beliefs
    assert len(single.history.number) > len(merged.history.number)
    assert sum(single.outcomes) == sum(merged.outcomes) == len(index.arrived.arrivals)
    assert np.allclose(one, other, rtol=0.0, atol=1e-9)


def test_a_choice_that_needs_the_whole_history_has_it_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    index_from(monkeypatch, 12)
    monkeypatch.setattr(condensing, "is_fit_due", lambda *_: False)
    study = run("unknown")
    state = State.after(study.settings, study.events())
    now, out = study.clock(), next(trial for trial in study.trials() if trial.status == "pending")
    expected = state.history(now)
    compute = prepare_choice(state, now, None, None)
    study.tell(out, 99.0)
    state.apply(list(study.events())[-1])  # while the choice is being computed
    whole = compute.args[4]()  # type: ignore[attr-defined]
    assert np.array_equal(whole.seen, expected.seen)
    assert np.array_equal(whole.y, expected.y, equal_nan=True)


def test_where_the_sums_fail_the_whole_history_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    index_from(monkeypatch, 12)
    monkeypatch.setattr(condensing, "is_fit_due", lambda *_: False)
    study = run("unknown")
    state = State.after(study.settings, study.events())
    usual = prepare_choice(state, study.clock(), None, None)(Cache())
    compute = prepare_choice(state, study.clock(), None, None)
    calls = []

    def fail_once(gp: Any, *args: Any, **more: Any) -> Any:
        calls.append(gp)
        if len(calls) == 1:
            raise FloatingPointError
        return believe(gp, *args, **more)

    from belated.learner.choice import decide

    believe = decide.believe
    monkeypatch.setattr(decide, "believe", fail_once)
    again = compute(Cache())
    assert np.array_equal(again.x, usual.x)
    assert len(calls) == 2


def test_kernels_by_hand_are_not_condensed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without fits there is no lasting scale."""
    from belated import algorithms

    index_from(monkeypatch, 12)
    algorithm = algorithms.paper("GP-UCB", kernel=kernels.SE(0.2), lam=0.01)
    study = Study.create(space=POINTS, algorithm=algorithm, seed=0)
    for _ in range(20):
        study.tell(study.ask(), 0.5)
    assert find_index(State.after(study.settings, study.events())) is None
