"""A world with delays: when outcomes come, what is the same for every algorithm, and a driven clock."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import belated
from belated import Choice, InvalidInput, Real, Study, Trial
from belated.learner.delays.distributions import ByInput, Exponential, Fixed, Poisson, Sometimes
from belated.record.trials import Failed, Told

GRID = belated.Points([i / 10 for i in range(11)])
SIX = ["GP-UCB-SDF", "GP-TS-SDF", "GP-UCB", "asy-TS", "GP-BUCB", "GP-BTS"]
HOUR = 3600.0


def create(**said: Any) -> Study:
    if "algorithm" not in said:
        said.setdefault("silence", "unknown")
    if str(said.get("algorithm", "")).endswith("SDF"):
        said.setdefault("patience", 8)
    return Study.create(**{"space": GRID, "seed": 0, "clock": belated.SimulatedClock(), **said})


def f(params: Any) -> float:
    return math.sin(6 * params["x"])


def zero(params: Any) -> float:
    return 0.0


def run(study: Study, f: Callable[..., float] = f, **said: Any) -> list[Trial]:
    """The trials as they were yielded."""
    return list(belated.simulate(study, f, **{"delay": Fixed(1), "rounds": 12, "seed": 1, **said}))


@dataclasses.dataclass
class Listed:
    """The delays of the queries, one after the other."""

    delays: list[float]
    drawn: int = 0

    def draw(self, rng: Any, params: Any, context: Any) -> float:
        self.drawn += 1
        return self.delays[self.drawn - 1]


# Rounds ---------------------------------------------------------------------------------------------------------------


def test_a_trial_is_yielded_right_after_its_ask() -> None:
    study = create()
    for s, trial in enumerate(belated.simulate(study, f, delay=Fixed(3), rounds=6, seed=0), start=1):
        assert trial.number == s == len(study.trials())
        assert (trial.status, trial.outcome) == ("pending", None)
        told = [t.number for t in study.trials() if t.outcome is not None]
        assert told == list(range(1, s - 2))  # those with s' + 3 <= s


def test_an_outcome_is_told_just_before_ask_s_plus_max_1_d() -> None:
    delays = [3, 0, 1, 2, math.inf, 5, 1.5, 1]
    study = create()
    told_before: dict[int, int] = {}
    for trial in belated.simulate(study, f, delay=Listed(delays), rounds=8, seed=0):
        for t in study.trials():
            if t.outcome is not None:
                told_before.setdefault(t.number, trial.number)
    assert told_before == {1: 4, 2: 3, 3: 4, 4: 6}  # 6 would be told before ask 11; 7 and 8 before ask 9
    after = {t.number: t.delay for t in study.trials()}
    assert after == {1: 3.0, 2: 1.0, 3: 1.0, 4: 2.0, 5: None, 6: None, 7: 2.0, 8: 1.0}


def test_drawn_delays_of_0_and_1_coincide() -> None:
    none, one = create(algorithm="GP-UCB-SDF"), create(algorithm="GP-UCB-SDF")
    run(none, delay=Fixed(0))
    run(one, delay=Fixed(1))
    assert [(t.params, t.outcome, t.delay) for t in none.trials()] == [
        (t.params, t.outcome, t.delay) for t in one.trials()
    ]
    assert all(t.delay == 1.0 for t in none.trials())


def test_a_late_outcome_is_told_late() -> None:
    study = create(patience=2, late="ignore")
    run(study, delay=Listed([1, 4, 2] * 4), rounds=12)
    assert [t.status for t in study.trials()][:9] == ["heard", "late", "heard"] * 3


def test_no_rounds_ask_nothing() -> None:
    study = create()
    assert run(study, rounds=0) == []
    assert study.trials() == []


# Streams --------------------------------------------------------------------------------------------------------------


def answers(study: Study) -> list[Any]:
    return [(t.outcome, t.delay) for t in study.trials()]


def test_noise_and_delay_of_query_s_are_the_same_for_every_algorithm() -> None:
    """f = 0, so that the outcomes are the noise."""
    studies = [create(algorithm=name, seed=i) for i, name in enumerate(SIX)] + [
        create(seed=9),
        create(space={"x": Real(0, 1)}),
    ]
    for study in studies:
        run(study, zero, delay=Poisson(3), noise=0.5, seed=4)
    assert len({repr([t.params for t in study.trials()]) for study in studies}) > 1
    assert all(answers(study) == answers(studies[0]) for study in studies[1:])
    assert len({outcome for outcome, _ in answers(studies[0]) if outcome is not None}) > 5


def test_another_seed_gives_other_answers() -> None:
    one, other = create(), create()
    run(one, zero, delay=Poisson(5), noise=0.5, seed=4)
    run(other, zero, delay=Poisson(5), noise=0.5, seed=5)
    assert {a for a, _ in answers(one) if a} & {a for a, _ in answers(other) if a} == set()
    assert [d for _, d in answers(one)] != [d for _, d in answers(other)]


def test_noise_and_delay_come_from_separate_streams() -> None:
    """Other delays leave the noise of each query as it was, and other noise the delays."""
    one, other, louder = create(), create(), create()
    run(one, zero, delay=Fixed(1), noise=0.5)
    run(other, zero, delay=Poisson(1), noise=0.5)
    pairs = [(a, b) for (a, _), (b, _) in zip(answers(one), answers(other), strict=True) if a and b]
    assert len(pairs) > 5
    assert all(a == b for a, b in pairs)
    run(louder, zero, delay=Poisson(1), noise=5.0)
    assert [d for _, d in answers(louder)] == [d for _, d in answers(other)]


def test_the_delay_does_not_follow_from_the_noise() -> None:
    """A delay that draws a normal does not get the one that is the noise."""

    @dataclasses.dataclass
    class Curious:
        drawn: list[float]

        def draw(self, rng: Any, params: Any, context: Any) -> float:
            self.drawn.append(float(rng.standard_normal()))
            return 1.0

    study, delay = create(), Curious([])
    run(study, zero, delay=delay, noise=1.0)
    outcomes = {t.outcome for t in study.trials()}
    assert len(outcomes) == len(set(delay.drawn)) == 12
    assert not outcomes & set(delay.drawn)


def test_noise_has_the_standard_deviation_given() -> None:
    """400 draws: a standard deviation off by 20 % would be 5.6 standard errors away; false alarms below 1e-7."""
    study = create(repeats="always", initial=10**6)
    run(study, zero, noise=0.5, rounds=400, seed=11)
    outcomes = np.array([t.outcome for t in study.trials()])
    assert 0.4 < np.std(outcomes) < 0.6
    assert abs(np.mean(outcomes)) < 0.5 * 5.4 / math.sqrt(400)


def test_without_noise_the_outcome_is_f() -> None:
    study = create()
    run(study)
    assert [t.outcome for t in study.trials()] == [f(t.params) for t in study.trials()]


# Delays by input, contexts --------------------------------------------------------------------------------------------


def test_delays_may_depend_on_the_input() -> None:
    study = create()
    run(study, delay=ByInput(lambda params: Fixed(4) if params["x"] > 0.5 else 1), rounds=20)
    heard = [t for t in study.trials() if t.outcome is not None]
    assert {t.delay for t in heard} == {1.0, 4.0}
    assert all(t.delay == (4.0 if t.params["x"] > 0.5 else 1.0) for t in heard)


def test_contexts_come_one_per_round() -> None:
    context = {"z": Choice("a", "b")}
    named = [{"z": "ab"[s % 2]} for s in range(6)]

    def g(params: Any, context: Any) -> float:
        return float(params["x"]) if context["z"] == "a" else 10 + params["x"]

    for contexts in (named, iter(named), lambda s: named[s - 1]):
        study = create(context=context)
        run(study, g, contexts=contexts, rounds=6, delay=ByInput(lambda params, context: 1 + (context["z"] == "b")))
        assert [t.context for t in study.trials()] == named
        assert [t.outcome for t in study.trials()][:5] == [g(t.params, t.context) for t in study.trials()][:5]
        assert [t.delay for t in study.trials()][:5] == [1.0, 2.0, 1.0, 2.0, 1.0]


def test_contexts_must_last() -> None:
    study = create(context={"z": Real(0, 1)})
    with pytest.raises(InvalidInput, match=r"^contexts ended before round 3$"):
        run(study, lambda params, context: 0.0, contexts=[{"z": 0.1}, {"z": 0.2}], rounds=3)
    assert len(study.trials()) == 2


# Going on -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["GP-UCB-SDF", "GP-BTS"])
def test_two_simulations_in_a_row_are_one(name: str) -> None:
    """What is still pending from the first is answered in the second, when its time comes."""
    one, two = create(algorithm=name), create(algorithm=name)
    run(one, delay=Poisson(4), noise=0.1, rounds=16)
    run(two, delay=Poisson(4), noise=0.1, rounds=7)
    run(two, delay=Poisson(4), noise=0.1, rounds=9)
    assert [(t.params, t.outcome, t.delay) for t in one.trials()] == [
        (t.params, t.outcome, t.delay) for t in two.trials()
    ]


def test_a_simulation_that_was_broken_off_can_be_taken_up_again() -> None:
    whole, parts = create(), create()
    run(whole, delay=Poisson(2), rounds=9)
    for trial in belated.simulate(parts, f, delay=Poisson(2), rounds=9, seed=1):
        if trial.number == 4:
            break
    run(parts, delay=Poisson(2), rounds=5)
    assert [t.params for t in parts.trials()] == [t.params for t in whole.trials()]
    assert answers(parts) == answers(whole)


def test_queries_asked_or_added_before_are_answered_too_and_failures_are_not() -> None:
    study = create()
    study.ask()
    study.add({"x": 0.5})
    study.add({"x": 0.7}, 3.25)
    study.fail(study.ask(), "lost")
    run(study, rounds=2)
    assert [t.outcome for t in study.trials()][1:4] == [f({"x": 0.5}), 3.25, None]
    assert study.trials()[0].outcome == f(study.trials()[0].params)


@pytest.mark.parametrize("kind", ["withdrawn", "infeasible", "told"])
def test_what_the_caller_ends_on_the_way_is_not_answered(kind: Any) -> None:
    study = create()
    for trial in belated.simulate(study, f, delay=Fixed(2), rounds=6, seed=0):
        if trial.number == 2 and kind == "told":
            study.tell(trial, 7.0)
        elif trial.number == 2:
            study.fail(trial, kind)
    assert study.trials()[1].outcome == (7.0 if kind == "told" else None)
    assert [t.number for t in study.trials() if t.status == "pending"] == [6]


# The clock ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("every", ["1h", timedelta(hours=1), HOUR])
def test_asking_on_a_schedule(every: Any) -> None:
    study = create(patience="3h", late="ignore")
    delays = [0.5 * HOUR, 2 * HOUR, 3 * HOUR, 3.5 * HOUR, 0.0, math.inf, HOUR, HOUR]
    known: dict[int, int] = {}
    for trial in belated.simulate(study, f, delay=Listed(delays), rounds=8, seed=1, every=every):
        assert trial.asked_at == (trial.number - 1) * HOUR
        assert study.clock() == trial.asked_at
        for t in study.trials():
            if t.outcome is not None:
                known.setdefault(t.number, trial.number)
                assert t.told_at == t.asked_at + delays[t.number - 1]
    assert known == {1: 2, 2: 4, 3: 6, 5: 6, 4: 8, 7: 8}  # told at the hour of an ask: before it
    assert [t.delay for t in study.trials()][:5] == delays[:5]
    assert [t.status for t in study.trials()][:5] == ["heard", "heard", "heard", "late", "heard"]


def test_rounds_are_counted_on_a_schedule_too() -> None:
    study = create(patience=2)
    run(study, delay=Fixed(1.5 * HOUR), rounds=6, every="1h")
    assert [t.delay for t in study.trials()][:4] == [2.0] * 4
    assert study.trials()[0].told_at == 1.5 * HOUR


def test_workers_ask_when_one_of_them_is_free() -> None:
    delays = [5.0, 2.0, 10.0, 1.0, 1.0, 20.0, 1.0]
    study = create()
    trials = run(study, delay=Listed(delays), rounds=7, workers=2)
    # 1 and 2 at once; 2 is back at 2, so 3 then; 1 at 5 -> 4; 4 at 6 -> 5; 5 at 7 -> 6; 3 at 12 -> 7
    assert [t.asked_at for t in trials] == [0.0, 0.0, 2.0, 5.0, 6.0, 7.0, 12.0]


def test_no_more_are_out_than_there_are_workers() -> None:
    study = create()
    for trial in belated.simulate(study, f, delay=Exponential(60), rounds=40, seed=2, workers=3):
        out = [t for t in study.trials() if t.outcome is None]
        assert len(out) == min(3, trial.number)
    assert len({t.asked_at for t in study.trials()}) > 30


def test_a_worker_gives_up_when_patience_by_the_clock_runs_out() -> None:
    study = create(patience="10s")
    trials = run(study, delay=Listed([math.inf, 1.0, 1.0, math.inf, 1.0]), rounds=5, workers=1)
    assert [t.asked_at for t in trials] == [0.0, 10.0, 11.0, 12.0, 22.0]
    with pytest.raises(InvalidInput, match=r"^every worker waits for an outcome that never comes; "):
        run(create(), delay=Sometimes(Fixed(1), 0.0), rounds=3, workers=2)


@pytest.mark.parametrize("pace", [{"every": "1h"}, {"workers": 2}])
def test_on_the_clock_too_two_simulations_in_a_row_are_one(pace: Any) -> None:
    one, two = create(patience="5h"), create(patience="5h")
    run(one, delay=Exponential(2 * HOUR), rounds=14, **pace)
    run(two, delay=Exponential(2 * HOUR), rounds=6, **pace)
    run(two, delay=Exponential(2 * HOUR), rounds=8, **pace)
    assert [t.asked_at for t in two.trials()] == [t.asked_at for t in one.trials()]
    assert [(t.params, t.outcome, t.delay) for t in one.trials()] == [
        (t.params, t.outcome, t.delay) for t in two.trials()
    ]


def test_only_a_clock_that_is_made_for_it_is_driven() -> None:
    for pace in ({"every": "1h"}, {"workers": 2}):
        study = create(clock=time.time)
        with pytest.raises(InvalidInput, match=r"create or open it with clock=belated\.SimulatedClock\(\)$"):
            run(study, delay=Fixed(1.0), rounds=2, **pace)
        assert study.clock is time.time
        assert not study.events()


def test_when_the_simulation_is_over_the_study_stands_at_its_end() -> None:
    """The last query was asked just now: it has not expired because another clock says 2024."""
    study = create(patience="5h")
    run(study, delay=Fixed(3 * HOUR), rounds=6, every="1h")
    assert [t.status for t in study.trials()] == ["heard"] * 4 + ["pending"] * 2


def test_a_simulation_by_the_clock_is_the_same_every_time() -> None:
    studies = [create(algorithm="GP-TS-SDF", patience="4h") for _ in range(2)]
    for study in studies:
        run(study, delay=Exponential(HOUR), noise=0.1, rounds=10, every="1h")
    told = [[e for e in study.events() if isinstance(e, Told)] for study in studies]
    assert told[0] == told[1]
    assert [t.params for t in studies[0].trials()] == [t.params for t in studies[1].trials()]


# Queries without a value ----------------------------------------------------------------------------------------------


def half(params: Any) -> float:
    """sin(6x) up to 0.5; beyond it nothing can be evaluated."""
    if params["x"] > 0.5:
        raise belated.Infeasible("x is too large")
    return f(params)


def test_where_f_has_no_value_the_trial_ends_as_infeasible_when_its_outcome_would_have_come() -> None:
    study = create()
    for trial in belated.simulate(study, half, delay=Fixed(3), rounds=12, seed=0):
        for t in study.trials():
            if trial.number < t.number + 3:
                assert (t.status, t.failure) == ("pending", None)
            elif t.params["x"] > 0.5:
                assert (t.status, t.failure, t.outcome) == ("failed", "infeasible", None)
            else:
                assert (t.status, t.outcome) == ("heard", f(t.params))
    kinds = {t.failure for t in study.trials()[:9]}
    assert kinds == {None, "infeasible"}  # both occurred


def test_a_late_one_without_a_value_ends_as_infeasible_too() -> None:
    study = create(patience=2)
    run(study, half, delay=Fixed(4), rounds=8, choose=lambda study: {"x": 0.9})
    assert [t.failure for t in study.trials()] == ["infeasible"] * 5 + [None] * 3  # told before ask s + 4


def test_by_the_clock_a_trial_without_a_value_fails_at_its_time_and_its_worker_is_busy_until_then() -> None:
    delays = [5.0, 2.0, 10.0, 1.0, 1.0, 20.0, 1.0]
    study = create()
    trials = run(study, half, delay=Listed(delays), rounds=7, workers=2, choose=lambda study: {"x": 0.9})
    assert [t.asked_at for t in trials] == [0.0, 0.0, 2.0, 5.0, 6.0, 7.0, 12.0]  # as with outcomes
    failed = {e.number: e.at for e in study.events() if isinstance(e, Failed)}
    assert failed == {1: 5.0, 2: 2.0, 3: 12.0, 4: 6.0, 5: 7.0, 7: 13.0}
    scheduled = create()
    run(scheduled, half, delay=Fixed(1.5 * HOUR), rounds=4, every="1h", choose=lambda study: {"x": 0.9})
    failed = {e.number: e.at for e in scheduled.events() if isinstance(e, Failed)}
    assert failed == {1: 1.5 * HOUR, 2: 2.5 * HOUR, 3: 3.5 * HOUR}


@pytest.mark.parametrize("pace", [{}, {"every": "1h"}, {"workers": 2}])
def test_with_infeasible_ones_too_two_simulations_in_a_row_are_one(pace: Any) -> None:
    said = {"delay": Exponential(2 * HOUR) if pace else Poisson(3), "noise": 0.1, **pace}
    one, two = create(), create()
    run(one, half, rounds=14, **said)
    run(two, half, rounds=6, **said)
    run(two, half, rounds=8, **said)
    known = [[(t.params, t.outcome, t.delay, t.failure) for t in study.trials()] for study in (one, two)]
    assert known[0] == known[1]
    assert {failure for *_, failure in known[0]} == {None, "infeasible"}
    if pace:
        assert [t.asked_at for t in two.trials()] == [t.asked_at for t in one.trials()]


def test_one_that_was_lost_before_it_turned_out_infeasible_stays_lost() -> None:
    study = create()
    for trial in belated.simulate(study, half, delay=Fixed(2), rounds=4, seed=0, choose=lambda study: {"x": 0.9}):
        if trial.number == 1:
            study.fail(trial, "lost")
    assert [t.failure for t in study.trials()] == ["lost", "infeasible", "infeasible", None]


# Other choosers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pace", [{}, {"every": "1h"}, {"workers": 2}])
def test_what_is_asked_may_be_chosen_elsewhere(pace: Any) -> None:
    """The chooser sees the study as it is just before its query is asked; the world answers as ever."""
    seen: list[tuple[int, int]] = []

    def backwards(study: Study) -> dict[str, float]:
        trials = study.trials()
        seen.append((len(trials), sum(t.outcome is not None for t in trials)))
        return {"x": GRID.rows[10 - len(trials) % 11][0]}

    study, own = create(), create()
    said = {"delay": Listed([3.0, 1.0, 2.0, 1.0, 1.0, 1.0]), "rounds": 6, **pace}
    run(study, choose=backwards, **said)
    assert [t.params["x"] for t in study.trials()] == [1.0, 0.9, 0.8, 0.7, 0.6, 0.5]
    assert not any(t.by_hand for t in study.trials())
    if not pace:
        assert seen == [(0, 0), (1, 0), (2, 1), (3, 2), (4, 4), (5, 5)]
    run(own, **{**said, "delay": Listed([3.0, 1.0, 2.0, 1.0, 1.0, 1.0])})
    assert [(t.delay, t.asked_at if pace else 0) for t in own.trials()] == [
        (t.delay, t.asked_at if pace else 0) for t in study.trials()
    ]


def test_a_chooser_may_leave_coordinates_open_and_is_given_no_say_over_the_context() -> None:
    space = {"x": Real(0, 1), "k": Choice("a", "b")}
    study = create(space=space, context={"z": Real(0, 1)})
    contexts = [{"z": s / 10} for s in range(5)]
    run(study, lambda params, context: params["x"], rounds=5, contexts=contexts, choose=lambda study: {"k": "b"})
    assert [t.params["k"] for t in study.trials()] == ["b"] * 5
    assert [t.context for t in study.trials()] == contexts
    assert len({t.params["x"] for t in study.trials()}) > 1


# Refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"rounds": -1}, "rounds must be at least 0 (got -1)"),
        ({"rounds": 2.5}, "rounds must be an integer (got 2.5)"),
        ({"delay": 3}, "delay must be a value of belated.delays (got 3)"),
        ({"delay": Poisson}, "delay must be a value of belated.delays (got <class "),
        ({"noise": -0.1}, "noise must be at least 0 (got -0.1)"),
        ({"noise": math.nan}, "noise must be a finite number (got nan)"),
        ({"seed": 1.5}, "seed must be an integer (got 1.5)"),
        ({"seed": None}, "seed must be an integer (got None)"),
        ({"seed": -1}, "seed must be at least 0 (got -1)"),
        ({"contexts": [{"z": 1}]}, "contexts must be left out: this study has no context"),
        ({"every": "1h", "workers": 2}, "give every or workers, not both"),
        ({"every": "soon"}, "every must be a number and a unit"),
        ({"every": 0}, "every must be more than 0 and finite (got 0)"),
        ({"workers": 0}, "workers must be at least 1 (got 0)"),
        ({"workers": 1.5}, "workers must be an integer (got 1.5)"),
        ({"choose": {"x": 0.5}}, "choose must be a function of the study (got {'x': 0.5})"),
    ],
)
def test_what_simulate_refuses_before_it_asks_anything(said: dict[str, Any], sentence: str) -> None:
    study = create()
    with pytest.raises(InvalidInput) as refused:
        belated.simulate(study, f, **{"delay": Fixed(1), "rounds": 2, "seed": 1, **said})
    assert str(refused.value).startswith(sentence)
    assert study.trials() == []


def test_a_study_with_a_context_needs_contexts_and_one_with_a_clock_needs_a_pace() -> None:
    with pytest.raises(InvalidInput, match=r"^contexts must be given: this study has a context$"):
        run(create(context={"z": Real(0, 1)}))
    with pytest.raises(InvalidInput, match=r"^patience is by the clock: give every= or workers=, "):
        run(create(patience="14d"))


@pytest.mark.parametrize("value", [math.nan, math.inf, "1", None])
def test_f_must_give_a_finite_number(value: Any) -> None:
    study = create()
    with pytest.raises(InvalidInput, match=r"^the value of f must be a (finite )?number \(got "):
        run(study, lambda params: value)
    assert study.trials()[0].outcome is None
