"""Which queries may be asked again: always, once heard, or never; by context, and until nothing is left."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated
from belated import Choice, Exhausted, Integer, Real, Study
from belated.learner.gp.kernels import SE
from tests.support.examples import examples

FIVE = belated.Points([0.0, 0.25, 0.5, 0.75, 1.0])
EXHAUSTED = (
    r'^Every point of the space has been asked; repeats="never" leaves none\. Use repeats="heard" to ask one again\.$'
)


def create(**said: Any) -> Study:
    if "algorithm" not in said:
        said.setdefault("silence", "unknown")
    return Study.create(**{"space": FIVE, "seed": 0, **said})


def asked(study: Study) -> list[Any]:
    return [trial.params["x"] for trial in study.trials()]


# Always ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["GP-UCB", "GP-UCB-SDF"])
def test_the_papers_algorithms_may_choose_any_x_again(name: str) -> None:
    """GP-UCB does not know of the pending: while nothing is told it asks the same."""
    algorithm = belated.algorithms.paper(name, kernel=SE(0.2), lam=0.01, refit_every=None)
    study = create(algorithm=algorithm, patience=3 if name.endswith("SDF") else None, floor=0.0, ceiling=1.0)
    study.add({"x": 0.5}, 1.0)
    for _ in range(8):
        study.ask()
    assert len(set(asked(study))) < 9
    if name == "GP-UCB":
        assert len(set(asked(study)[1:])) == 1


def test_always_is_there_for_the_default_algorithm_too() -> None:
    study = create(silence="ignored", repeats="always", initial=0, floor=0.0, ceiling=1.0)
    for x, y in ((0.0, 0.0), (0.5, 1.0), (1.0, 0.0)):
        study.add({"x": x}, y)
    for _ in range(4):
        study.ask()
    assert len(set(asked(study)[3:])) < 4


# Heard ----------------------------------------------------------------------------------------------------------------


def test_a_pending_query_is_not_asked_again_while_others_are_left() -> None:
    for silence in ("floor", "unknown", "waiting", "ignored"):
        for initial in (0, 2, None):
            study = create(silence=silence, initial=initial)
            for _ in range(5):
                study.ask()
            assert sorted(asked(study)) == [0.0, 0.25, 0.5, 0.75, 1.0]
            assert study.ask().params["x"] in asked(study)[:5]  # none is left: one of them again


@settings(max_examples=examples(40))
@given(
    st.lists(st.sampled_from(["ask", "tell", "add", "lost", "infeasible"]), min_size=4, max_size=14), st.integers(0, 3)
)
def test_heard_law(script: list[str], seed: int) -> None:
    """Whatever happened: a query that is pending is never asked while there is one that is not."""
    study = create(seed=seed, initial=seed)
    for step in script:
        pending = [trial for trial in study.trials() if trial.status == "pending"]
        waited_for = {trial.params["x"] for trial in pending}
        if step == "ask":
            x = study.ask().params["x"]
            assert x not in waited_for or len(waited_for) == 5
        elif step == "add":
            study.add({"x": 0.25 * (len(pending) % 5)})
        elif pending and step == "tell":
            study.tell(pending[0], pending[0].params["x"])
        elif pending:
            study.fail(pending[-1], step)  # type: ignore[arg-type]


def test_a_heard_query_may_be_asked_again() -> None:
    study = create(floor=0.0, ceiling=1.0)
    for x in (0.0, 0.25, 0.5, 0.75, 1.0):
        study.add({"x": x}, x)
    assert study.ask().params["x"] in (0.0, 0.25, 0.5, 0.75, 1.0)
    for _ in range(3):
        study.ask()
    assert len(set(asked(study)[5:])) == 4


@pytest.mark.parametrize("silence", ["unknown", "waiting", "ignored"])
def test_a_query_that_expired_without_information_is_avoided_while_others_are_left(silence: str) -> None:
    study = create(silence=silence, patience=1)
    for _ in range(5):
        study.ask()
    assert [t.status for t in study.trials()] == ["expired"] * 4 + ["pending"]
    assert len(set(asked(study))) == 5


def test_on_a_continuous_space_too_no_pending_query_is_asked_again() -> None:
    """With silence="ignored" the model does not know of them, and would."""
    space = {"x": Real(0, 1), "kind": Choice("a", "b")}
    repeating, avoiding = (
        create(space=space, silence="ignored", repeats=repeats, initial=0, floor=0.0, ceiling=1.0)
        for repeats in ("always", "heard")
    )
    for study in (repeating, avoiding):
        for i in range(6):
            study.add({"x": i / 5, "kind": "a"}, 1 - i / 5)
        for _ in range(8):
            study.ask()
    queries = [(t.params["x"], t.params["kind"]) for t in avoiding.trials()[6:]]
    assert len(set(queries)) == 8
    assert len({(t.params["x"], t.params["kind"]) for t in repeating.trials()[6:]}) < 8


# Never ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("initial", [0, None])
def test_never_asks_each_query_once_and_then_says_so(initial: Any) -> None:
    study = create(repeats="never", initial=initial)
    study.add({"x": 0.5}, 0.1)
    for _ in range(4):
        study.tell(study.ask(), 0.2)
    assert sorted(asked(study)) == [0.0, 0.25, 0.5, 0.75, 1.0]
    with pytest.raises(Exhausted, match=EXHAUSTED):
        study.ask()
    assert len(study.trials()) == 5


def test_a_batch_is_asked_whole_or_not_at_all() -> None:
    study = create(repeats="never")
    study.ask(n=3)
    with pytest.raises(Exhausted, match=EXHAUSTED):
        study.ask(n=3)
    assert len(study.trials()) == 3
    assert [t.number for t in study.ask(n=2)] == [4, 5]


def test_what_is_fixed_by_hand_counts() -> None:
    study = create(repeats="never", space={"a": Integer(0, 1), "b": Choice("u", "v")})
    assert {study.ask(params={"a": 1}).params["b"] for _ in range(2)} == {"u", "v"}
    with pytest.raises(Exhausted):
        study.ask(params={"a": 1})
    assert study.ask().params["a"] == 0


@pytest.mark.parametrize("kind", ["lost", "withdrawn"])
def test_a_lost_query_may_be_asked_after_all(kind: Any) -> None:
    study = create(repeats="never")
    trials = study.ask(n=5)
    study.fail(trials[2], kind)
    assert study.ask().params == trials[2].params
    with pytest.raises(Exhausted):
        study.ask()


def test_an_infeasible_query_was_asked() -> None:
    study = create(repeats="never")
    for trial in study.ask(n=5):
        study.fail(trial, "infeasible")
    with pytest.raises(Exhausted):
        study.ask()


@pytest.mark.parametrize("repeats", ["never", "heard"])
@pytest.mark.parametrize("initial", [0, 3000])
def test_the_last_query_of_a_space_too_large_to_list_is_found(repeats: Any, initial: int) -> None:
    """Nobody may hear that every point has been asked while one has not."""
    left = [3, 777, 1234, 2222]
    improver = dataclasses.replace(belated.algorithms.DEFAULT, moves=belated.algorithms.DEFAULT.moves[:1])
    study = create(
        space={"k": Integer(1, 2504)}, algorithm=improver, silence="ignored", repeats=repeats, initial=initial
    )
    for k in range(1, 2505):
        if k not in left:
            study.add({"k": k})
    assert sorted(study.ask().params["k"] for _ in left) == left


# Contexts -------------------------------------------------------------------------------------------------------------


def test_repeats_looks_at_pairs_of_context_and_query() -> None:
    """(pending, 0.5) in one context does not keep 0.5 from another."""
    study = create(context={"z": Choice("a", "b", "c")}, repeats="never", space=belated.Points([0.0, 1.0]))
    for z in "abc":
        assert {study.ask(context={"z": z}).params["x"] for _ in range(2)} == {0.0, 1.0}
        with pytest.raises(Exhausted):
            study.ask(context={"z": z})
    assert len(study.trials()) == 6


@pytest.mark.parametrize("initial", [0, 10])
def test_pending_in_one_context_is_open_in_another(initial: int) -> None:
    study = create(context={"z": Choice("a", "b")}, repeats="heard", space=belated.Points([0.0, 1.0]), initial=initial)
    for z in "ab":
        for x in (0.0, 1.0):
            study.add({"x": x}, x, context={"z": z})
    first = {z: study.ask(context={"z": z}).params["x"] for z in "ab"}
    second = {z: study.ask(context={"z": z}).params["x"] for z in "ab"}
    assert {z: {first[z], second[z]} for z in "ab"} == {"a": {0.0, 1.0}, "b": {0.0, 1.0}}
