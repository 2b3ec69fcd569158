"""Choices from the newest rows and a summary of the others are those from all rows, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from belated import Choice, Real, Study, Trial
from belated.learner.choice.decide import compute_belief
from belated.learner.choice.problem import Cache
from belated.learner.gp.summary import Sizes
from belated.record import condensing, trials
from belated.record.choices import prepare_choice
from belated.record.condensing import condense_history, find_index
from belated.record.newest_index import NewestIndex
from belated.record.outcome_index import OutcomeIndex
from belated.record.state import State
from belated.record.trials import TrialTable
from tests.support.summaries import use_sizes

FEW = Sizes(exact=40, centres=24, newest=12, block=8, chunk=2, aside=3)
SPACE = {"x": Real(0, 1), "y": Real(0, 1)}
SETTINGS: dict[str, dict[str, Any]] = {
    "regret": {"regret": "cumulative"},
    "draws": {},  # the best query counts: Thompson draws take their turn
    "contexts": {"regret": "cumulative", "context": {"z": Real(0, 1)}},
    "kinds": {"context": {"who": Choice("a", "b")}},
    "repeats": {"repeats": "always", "regret": "cumulative"},
    "patience": {"patience": 3, "regret": "cumulative"},
}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    use_sizes(monkeypatch, FEW)


def look_at(monkeypatch: pytest.MonkeyPatch, rows: str) -> None:
    monkeypatch.setattr(trials, "MANY", {"newest": 30, "all": 10**9}[rows])


def measure(x: float, y: float) -> float:
    return float(np.sin(3 * x) * y + 0.5 * ((7919.0 * x + 104729.0 * y) % 1.0))  # the last part is as good as noise


def context_at(study: Study, i: int) -> dict[str, Any]:
    context = study.settings.context
    if context is None:
        return {}
    return {"context": {"who": "ab"[i % 2]} if "who" in context.names else {"z": 0.3 if i % 3 else i / 100}}


def begin(silence: str, **settings: Any) -> Study:
    """A study with seventy outcomes, which has been fitted."""
    study = Study.create(space=SPACE, floor=-2.0, ceiling=2.0, silence=silence, seed=0, **settings)
    points = np.random.default_rng(1).random((70, 2)).tolist()
    study.add_many(
        {"params": {"x": x, "y": y}, "value": measure(x, y), **context_at(study, i)} for i, (x, y) in enumerate(points)
    )
    study.refit()
    return study


def run(study: Study, rounds: int = 36) -> Study:
    """Some rounds: four outcomes are out at any time, some are lost, some have noise of their own, some queries come
    again, and one of them is an old one."""
    rng, out = np.random.default_rng(0), list[Trial]()
    for i in range(rounds):
        if i % 9 == 7:
            old = {"x": 0.25, "y": 0.75} if i < 20 else study.trials()[5].params
            out.append(study.add(old, **context_at(study, i)))
        else:
            out.append(study.ask(**context_at(study, i)))
        if len(out) > 4:
            trial = out.pop(int(rng.integers(3)))
            if i % 11 == 5:
                study.fail(trial, "lost")
            elif i % 7 != 3:
                study.tell(trial, measure(**trial.params), noise=0.2 if i % 5 == 1 else None)
    return study


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("silence", ["unknown", "waiting", "ignored"])
def test_choices_are_those_from_all_rows(silence: str, settings: str, monkeypatch: pytest.MonkeyPatch) -> None:
    look_at(monkeypatch, "all")
    whole = run(begin(silence, **SETTINGS[settings]))
    look_at(monkeypatch, "newest")
    newest = run(begin(silence, **SETTINGS[settings]))
    assert [trial.params for trial in newest.trials()] == [trial.params for trial in whole.trials()]
    assert [trial.note for trial in newest.trials()] == [trial.note for trial in whole.trials()]
    assert "outcomes are summarised around" in newest.trials()[-1].note
    assert all(newest.replay(number).same for number in (75, 90, newest.rounds))
    look_at(monkeypatch, "all")
    assert newest.replay(newest.rounds).same


def test_an_ask_between_fits_looks_at_no_old_row(monkeypatch: pytest.MonkeyPatch) -> None:
    look_at(monkeypatch, "newest")
    monkeypatch.setattr(condensing, "is_fit_due", lambda *_: False)
    study = begin("unknown", regret="cumulative")
    out, looked_at = [study.ask(), study.ask()], list[int]()

    def count(state: State, *given: Any) -> Any:
        looked_at.append(len(given[1].trials) + len(given[2]))
        return join(state, *given)

    join = condensing.join_pending
    monkeypatch.setattr(condensing, "join_pending", count)
    monkeypatch.setattr(TrialTable, "history", lambda *_: pytest.fail("all trials were looked at"))
    for _ in range(40):
        out.append(study.ask())
        study.tell(trial := out.pop(0), measure(**trial.params))
    assert len(looked_at) == 40
    assert max(looked_at) <= FEW.newest + 2 * FEW.block + 3  # two blocks: one that fills, one that is just summarised


def test_an_infeasible_query_needs_the_whole_history(monkeypatch: pytest.MonkeyPatch) -> None:
    look_at(monkeypatch, "newest")
    study = begin("unknown", regret="cumulative")
    study.fail(study.ask(), "infeasible")
    out = study.ask()
    assert find_index(State.after(study.settings, study.events())) is None
    look_at(monkeypatch, "all")
    assert study.replay(out.number).same


def test_queries_that_were_given_up_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    look_at(monkeypatch, "newest")
    study = begin("unknown", patience=5, regret="cumulative")
    _ = [study.add({"x": 0.1, "y": i / 40}) for i in range(40)]
    out = study.ask()
    state = State.after(study.settings, study.events())
    index = find_index(state)
    assert index is not None
    assert len(index.arrived.list_out()) == 41
    known = condense_history(state, index, study.clock(), np.empty(0), lambda: pytest.fail("not yet"))
    assert known is not None
    assert np.sum(~known.history.seen) == 6  # one of them, and five that are pending
    look_at(monkeypatch, "all")
    assert study.replay(out.number).same


def test_a_batch_is_chosen_as_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    together = []
    for rows in ("all", "newest"):
        look_at(monkeypatch, rows)
        study = begin("unknown", regret="cumulative", patience=60)
        one = study.ask()
        together.append([one.params, *(trial.params for trial in study.ask(n=6)), study.ask().params])
        assert all(study.replay(number).same for number in range(71, 79))
    assert together[0] == together[1]


def test_an_index_that_grew_is_a_fresh_one(monkeypatch: pytest.MonkeyPatch) -> None:
    look_at(monkeypatch, "newest")
    study = run(begin("unknown", **SETTINGS["contexts"]))
    for other in study.ask(contexts=[{"z": 0.1}, {"z": 0.2}]):
        study.tell(other, 0.3)
    state = State.after(study.settings, [])
    for event in study.events():
        state.apply(event)
        if state.fits:
            find_index(state)  # made once, and then kept
        if state.position % 20 == 0:
            state = state.fork()
    split, again = state.problem.split, State.after(study.settings, study.events())
    grown, fresh = state.table.index_outcomes(split), again.table.index_outcomes(split)
    assert isinstance(grown, NewestIndex)
    assert isinstance(fresh, NewestIndex)
    assert grown is not fresh
    assert (grown.places, grown.starts) == (fresh.places, fresh.starts)
    for name in ("arrivals", "late", "out", "queries", "newest_choice", "chosen", "least", "most", "alive"):
        assert getattr(grown.arrived, name) == getattr(fresh.arrived, name), name


@pytest.mark.parametrize("correct", ["amend", "undo", "late outcome of a lost one", "a centre is withdrawn"])
def test_a_correction_makes_the_summary_anew(correct: str, monkeypatch: pytest.MonkeyPatch) -> None:
    look_at(monkeypatch, "newest")
    study = run(begin("unknown"))
    if correct == "amend":
        study.amend(3, 1.7, reason="misread")
    elif correct == "undo":
        study.undo(2)
    elif correct == "a centre is withdrawn":
        study.undo(study.hyperparameters()[-1].centres[0])
    else:
        study.tell(next(trial for trial in study.trials() if trial.status == "failed"), 0.4)
    after = study.ask()
    look_at(monkeypatch, "all")
    assert study.replay(after.number).same
    assert study.replay(after.number).params == after.params


def test_more_than_the_newest_rows_may_be_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    """A summary then holds what is not known yet, and is made of all rows."""
    look_at(monkeypatch, "newest")
    study = begin("unknown")
    _ = [study.add({"x": i / 40, "y": 0.5}) for i in range(FEW.newest + 3)]
    state = State.after(study.settings, study.events())
    index = find_index(state)
    assert isinstance(index, NewestIndex)
    assert condense_history(state, index, study.clock(), np.empty(0), lambda: pytest.fail("not yet")) is None
    after = study.ask()
    look_at(monkeypatch, "all")
    assert study.replay(after.number).same


def test_what_is_told_during_a_choice_does_not_change_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where no summary is kept, and all rows are needed after they have changed."""
    look_at(monkeypatch, "newest")
    monkeypatch.setattr(condensing, "is_fit_due", lambda *_: False)
    study = begin("unknown")
    out = study.ask()
    state = State.after(study.settings, study.events())
    index = find_index(state)
    assert isinstance(index, NewestIndex)
    at_once = prepare_choice(state, study.clock(), None, None)(Cache())
    later = prepare_choice(state, study.clock(), None, None)
    study.tell(out, 1.5)
    study.amend(1, -1.5, reason="misread")
    for event in study.events()[-2:]:
        state.apply(event)
    assert np.array_equal(later(Cache()).x, at_once.x)


def test_where_the_newest_rows_fail_the_whole_history_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from belated.errors import NotPositiveDefinite
    from belated.learner.gp.beginning import GrowingBegun

    look_at(monkeypatch, "newest")
    study = begin("unknown")
    usual = prepare_choice(State.after(study.settings, study.events()), study.clock(), None, None)(Cache())

    def fail(*_: Any, **__: Any) -> Any:
        raise NotPositiveDefinite

    monkeypatch.setattr(GrowingBegun, "condition", fail)
    choice = prepare_choice(State.after(study.settings, study.events()), study.clock(), None, None)(Cache())
    assert np.array_equal(choice.x, usual.x)
    assert choice.note == usual.note


def test_beliefs_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mean, std, draws and what a policy may ask of it; old rows of which the centres say too little are among them."""
    look_at(monkeypatch, "newest")
    use_sizes(monkeypatch, replace(FEW, centres=3))
    monkeypatch.setattr(condensing, "is_fit_due", lambda *_: False)
    study, Q = run(begin("waiting")), np.random.default_rng(2).random((20, 2))
    state = State.after(study.settings, study.events())
    index, fitted, t, problem = find_index(state), state.fits[-1], state.next_number, state.problem
    assert index is not None
    whole = state.history(study.clock())
    known = condense_history(state, index, study.clock(), np.empty(0), lambda: whole)
    assert known is not None
    assert known.history.begun is not None
    assert len(known.history.number) < len(whole.number) / 2
    silence, z = problem.silence, np.empty(0)
    some, every = (compute_belief(problem, h, t, fitted, silence, Cache(), z)[0] for h in (known.history, whole))
    for one, other in zip(some.mean_and_std(Q), every.mean_and_std(Q), strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(some.heard, every.heard)
    assert np.array_equal(some.queries, every.queries)
    assert np.array_equal(some.means, every.means)
    assert len(some.posterior.old.aside.ids)
    paths = [belief.posterior.path(np.random.default_rng(3))(Q) for belief in (some, every)]
    assert np.array_equal(*paths)


def test_a_list_of_few_pairs_has_a_row_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Continuous contexts make many pairs; of few, nothing is summarised."""
    look_at(monkeypatch, "newest")
    use_sizes(monkeypatch, replace(FEW, pairs=200))
    study = Study.create(
        space={"arm": Choice("a", "b", "c")}, context={"z": Real(0, 1)}, silence="unknown", regret="cumulative", seed=0
    )
    rng = np.random.default_rng(0)
    for count, newest in ((50, False), (60, True)):
        study.add_many(
            {"params": {"arm": "abc"[i % 3]}, "context": {"z": float(rng.random())}, "value": float(rng.random())}
            for i in range(count)
        )
        study.refit()
        state = State.after(study.settings, study.events())
        index = find_index(state)
        assert isinstance(index, NewestIndex)
        z = np.array([0.5])
        known = condense_history(state, index, study.clock(), z, lambda state=state: state.history(0.0))  # type: ignore[misc]
        assert (known is not None) is newest
        after = study.ask(context={"z": 0.5})
        look_at(monkeypatch, "all")
        assert study.replay(after.number).same
        look_at(monkeypatch, "newest")


@pytest.mark.parametrize("repeats", [False, True])
def test_a_fork_leaves_its_index_as_it_was(repeats: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    look_at(monkeypatch, "newest")
    study = begin("unknown", regret="cumulative")
    if repeats:
        study.add_many({"params": {"x": i % 5 / 4, "y": 0.5}, "value": float(i)} for i in range(90))
    out = [study.ask() for _ in range(3)]
    state = State.after(study.settings, study.events())
    index = find_index(state)
    assert isinstance(index, OutcomeIndex if repeats else NewestIndex)
    chosen = prepare_choice(state, study.clock(), None, None)(Cache())
    other = state.fork()
    study.tell(out[0], 1.0)
    study.fail(out[1], "lost")
    study.tell(study.ask(), 0.5)
    for event in study.events()[-4:]:
        other.apply(event)
    assert len(find_index(other).arrived.arrivals) == len(index.arrived.arrivals) + 2  # type: ignore[union-attr]
    assert sorted(index.arrived.out) == [trial.number - 1 for trial in out]
    assert np.array_equal(prepare_choice(state, study.clock(), None, None)(Cache()).x, chosen.x)
