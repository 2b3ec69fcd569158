"""Simple and cumulative regret, against hand-worked numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import belated
from belated import Choice, Integer, InvalidInput, Real, Study
from belated.learner.delays.distributions import Poisson

F = {0: 0.0, 1: 3.0, 2: 5.0, 3: 2.0}
FOUR = belated.Points(list(F))


def f(params: Any) -> float:
    return F[params["x"]]


def create(**said: Any) -> Study:
    if "algorithm" not in said:
        said.setdefault("silence", "unknown")
    return Study.create(**{"space": FOUR, "seed": 0, "floor": -1.0, **said})


def play(study: Study, sign: float = 1.0) -> Study:
    """Queries 1, 3, 2, 0: the second has delay 1, the first 3, the third 2. Outcomes are far off: f is what counts."""
    ask = lambda x: study.ask(params={"x": x})  # noqa: E731
    first = ask(1)
    second = ask(3)
    study.tell(second, sign * 77.0)
    third = ask(2)
    study.tell(first, sign * -9.0)
    ask(0)
    study.tell(third, sign * 0.5)
    return study


# f* = 5, floor = -1. After n queries the visible are those that the choice of query n + 1 may use:
#   n = 1: none      n = 2: {2}, f = 2      n = 3: {1, 2}, best 3      n = 4: {1, 2, 3}, best 5
SIMPLE = [6.0, 3.0, 2.0, 0.0]
CUMULATIVE = [2.0, 5.0, 5.0, 10.0]  # of 2, 3, 0, 5


def test_by_hand() -> None:
    simple, cumulative, late = belated.measure_regret(play(create()), f)
    assert simple.tolist() == late.tolist() == SIMPLE
    assert cumulative.tolist() == CUMULATIVE


def test_late_outcomes_count_where_the_study_uses_them() -> None:
    """With patience 2 the first, of delay 3, is late."""
    assert belated.measure_regret(play(create(patience=2, late="use")), f).simple.tolist() == SIMPLE
    assert belated.measure_regret(play(create(patience=2, late="ignore")), f).simple.tolist() == [6.0, 3.0, 3.0, 0.0]
    assert belated.measure_regret(play(create(patience=3, late="ignore")), f).simple.tolist() == SIMPLE
    sdf = belated.measure_regret(play(create(algorithm="GP-UCB-SDF", patience=2)), f)
    assert sdf.simple.tolist() == [6.0, 3.0, 3.0, 0.0]
    assert sdf.cumulative.tolist() == CUMULATIVE


@pytest.mark.parametrize("late", ["use", "ignore"])
def test_the_second_column_counts_late_outcomes_whether_or_not_the_study_uses_them(late: Any) -> None:
    assert belated.measure_regret(play(create(patience=2, late=late)), f).late.tolist() == SIMPLE


def test_minimizing() -> None:
    study = play(create(goal="minimize", floor=1.0), sign=-1.0)
    simple, cumulative, _ = belated.measure_regret(study, lambda params: -f(params))
    assert simple.tolist() == SIMPLE
    assert cumulative.tolist() == CUMULATIVE


def test_one_entry_per_round_and_none_without_rounds() -> None:
    assert [part.shape for part in belated.measure_regret(create(), f)] == [(0,), (0,), (0,)]
    study = create()
    study.ask(n=3)
    assert [len(part) for part in belated.measure_regret(study, f)] == [3, 3, 3]
    assert belated.measure_regret(study, f).simple.tolist() == [6.0, 6.0, 6.0]  # nothing visible: f* - floor


def test_lost_and_infeasible_queries_were_made_but_show_nothing() -> None:
    study = create()
    study.fail(study.ask(params={"x": 2}), "infeasible")
    study.fail(study.ask(params={"x": 1}), "lost")
    simple, cumulative, _ = belated.measure_regret(study, f)
    assert simple.tolist() == [6.0, 6.0]
    assert cumulative.tolist() == [0.0, 2.0]


def g(params: Any) -> float:
    """f, which has no value at its best x."""
    if params["x"] == 2:
        raise belated.Infeasible("nobody can evaluate this")
    return f(params)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_where_f_has_no_value_the_floor_counts_for_cumulative_regret_and_nothing_for_simple(sign: float) -> None:
    """The best of g is 3, the floor -1; played are 1, 3, 2, 0, and 2 has no value."""
    study = create(goal="maximize" if sign > 0 else "minimize", floor=-sign)
    simple, cumulative, late = belated.measure_regret(play(study, sign), lambda params: sign * g(params))
    assert cumulative.tolist() == [0.0, 1.0, 5.0, 8.0]  # of 0, 1, 3 - -1, 3
    assert simple.tolist() == late.tolist() == [4.0, 1.0, 0.0, 0.0]


def test_without_a_floor_the_worst_value_of_f_stands_in() -> None:
    study = create(floor=None)
    study.fail(study.ask(params={"x": 2}), "infeasible")
    simple, cumulative, _ = belated.measure_regret(study, g)
    assert (simple.tolist(), cumulative.tolist()) == ([3.0], [3.0])  # 3 - 0


def test_a_function_without_any_value_has_no_regret() -> None:
    def nothing(params: Any) -> float:
        raise belated.Infeasible

    study = create(floor=None)
    study.ask()
    with pytest.raises(InvalidInput, match=r"^best must be given: f has no value that it could be taken from$"):
        belated.measure_regret(study, nothing)
    with pytest.raises(InvalidInput, match=r"^the study's floor must be given: f has no value "):
        belated.measure_regret(study, nothing, best=1.0)
    with_floor = create()
    with_floor.ask()
    assert belated.measure_regret(with_floor, nothing, best=1.0).cumulative.tolist() == [2.0]


def test_what_is_known_is_not_computed() -> None:
    """With the best and the floor given, f is evaluated where it was queried and nowhere else."""
    evaluated = []

    def counted(params: Any) -> float:
        evaluated.append(params["x"])
        return f(params)

    belated.measure_regret(play(create()), counted, best=5.0)
    assert evaluated == [1, 3, 2, 0]


def test_added_outcomes_are_visible_to_the_next_choice() -> None:
    study = create()
    study.add({"x": 1}, 0.0)
    study.ask(params={"x": 0})
    assert belated.measure_regret(study, f).simple.tolist() == [2.0, 2.0]


def test_by_the_clock_visible_is_what_was_told_before() -> None:
    now = 0.0
    study = create(patience="10s", late="ignore", clock=lambda: now)
    one = study.ask(params={"x": 1})
    now = 5.0
    two = study.ask(params={"x": 3})
    study.tell(two, 0.0)
    now = 20.0
    study.ask(params={"x": 0})
    study.tell(one, 0.0, at=9.0)  # in time, but nobody knew before ask 4
    assert belated.measure_regret(study, f).simple.tolist() == [6.0, 3.0, 2.0]


def test_with_contexts_both_are_against_the_best_x_of_the_rounds_context() -> None:
    """f(x, a) = f(x), f(x, b) = 10 - f(x): the best are 5 and 10, the floor -1."""

    def g(params: Any, context: Any) -> float:
        return f(params) if context["z"] == "a" else 10 - f(params)

    study = create(context={"z": Choice("a", "b")})
    for x, z in ((1, "a"), (1, "b"), (2, "a"), (3, "b")):
        study.tell(study.ask(params={"x": x}, context={"z": z}), 0.0)
    simple, cumulative, _ = belated.measure_regret(study, g)
    assert cumulative.tolist() == [2.0, 5.0, 5.0, 7.0]  # of 5 - 3, 10 - 7, 5 - 5, 10 - 8
    assert simple.tolist() == [2.0, 3.0, 0.0, 2.0]
    waiting = create(context={"z": Choice("a", "b")})
    waiting.tell(waiting.ask(params={"x": 1}, context={"z": "a"}), 0.0)
    waiting.ask(params={"x": 0}, context={"z": "b"})
    assert belated.measure_regret(waiting, g).simple.tolist() == [2.0, 11.0]  # nothing visible in b yet


def test_best_is_a_number_or_a_function_of_the_context() -> None:
    study = create(space={"x": Real(0, 1)}, floor=0.0)
    for x in (0.25, 0.5):
        study.tell(study.ask(params={"x": x}), 0.0)
    square = lambda params: params["x"] ** 2  # noqa: E731
    simple, cumulative, _ = belated.measure_regret(study, square, best=1.0)
    assert simple.tolist() == [0.9375, 0.75]
    assert cumulative.tolist() == [0.9375, 1.6875]
    with pytest.raises(InvalidInput, match=r"^best must be given: the space is not a finite set$"):
        belated.measure_regret(study, square)
    with pytest.raises(InvalidInput, match=r"^best must be a finite number \(got nan\)$"):
        belated.measure_regret(study, square, best=math.nan)

    contextual = create(space={"x": Real(0, 1)}, context={"z": Real(1, 2)}, floor=0.0)
    for x, z in ((0.5, 1.0), (0.5, 2.0)):
        contextual.tell(contextual.ask(params={"x": x}, context={"z": z}), 0.0)
    scaled = lambda params, context: context["z"] * params["x"]  # noqa: E731
    assert belated.measure_regret(contextual, scaled, best=lambda context: context["z"]).cumulative.tolist() == [
        0.5,
        1.5,
    ]


def test_the_best_of_a_space_that_can_be_listed_is_computed() -> None:
    study = create(space={"n": Integer(0, 3), "sign": Choice(1, -1)}, floor=-3.0)
    study.tell(study.ask(params={"n": 1, "sign": 1}), 0.0)
    simple, cumulative, _ = belated.measure_regret(study, lambda params: params["n"] * params["sign"])
    assert (simple.tolist(), cumulative.tolist()) == ([2.0], [2.0])


@pytest.mark.parametrize("said", [{"algorithm": "GP-UCB-SDF", "patience": 4}, {"algorithm": "GP-BUCB"}])
def test_of_any_simulation_by_the_formula(said: dict[str, Any]) -> None:
    """After n queries: f* - max f(x_s) over d_s <= min(m, n + 1 - s), from the delays themselves."""
    m = said.get("patience", math.inf)
    study = create(**said)
    list(belated.simulate(study, f, delay=Poisson(3), rounds=25, seed=2, noise=0.3))
    trials = study.trials()
    assert any(t.status == "late" for t in trials) == (m == 4)
    simple, cumulative, late = belated.measure_regret(study, f)
    for n in range(1, 26):
        visible = [f(t.params) for t in trials[:n] if t.delay is not None and t.delay <= min(m, n + 1 - t.number)]
        assert simple[n - 1] == 5.0 - max(visible, default=-1.0)
        heard = [f(t.params) for t in trials[:n] if t.delay is not None and t.delay <= n + 1 - t.number]
        assert late[n - 1] == 5.0 - max(heard, default=-1.0)
        assert cumulative[n - 1] == pytest.approx(sum(5.0 - f(t.params) for t in trials[:n]))
    assert np.all(np.diff(simple) <= 0)
    assert np.all(np.diff(cumulative) >= 0)
