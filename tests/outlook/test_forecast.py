"""An outlook of single studies: what must be true of every one."""

from __future__ import annotations

import numpy as np
import pytest

from belated import (
    Choice,
    Contradiction,
    InvalidInput,
    NothingHeard,
    Outlook,
    Points,
    Real,
    SimulatedClock,
    Study,
    algorithms,
    simulate,
)
from belated.delays import Exponential, Fixed
from belated.learner.delays.survival import kaplan_meier
from belated.outlook.forecast import draw_delays, find_middle_quantile


def make_study(rounds: int = 8, delay: int = 2, **settings: object) -> Study:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0, **settings)
    f = lambda params: float(np.sin(5 * params["x"]))  # noqa: E731
    for _ in simulate(study, f, delay=Fixed(delay), rounds=rounds, seed=1, noise=0.05):
        pass
    return study


def test_no_more_queries_bring_nothing_and_what_exists_does_not_depend_on_them() -> None:
    study = make_study()
    none, some = study.outlook(0), study.outlook(5)
    assert (none.gain, none.low, none.high) == (0.0, 0.0, 0.0)
    assert (none.chance, none.margin) == (some.chance, some.margin)
    assert some.low <= some.gain <= some.high


def test_tiny_gains_and_chances_are_words() -> None:
    some: dict[str, object] = {"queries": 3, "pending": 0, "expected": None, "seconds": None}
    none = Outlook(gain=-8e-7, low=-9e-7, high=6e-6, chance=0.0, margin=0.035, **some)
    assert str(none) == (
        "The next 3 queries will hardly gain anything; something better by more than 0.035 exists with a chance of "
        "less than 1 %."
    )
    sure = Outlook(gain=0.02, low=0.0, high=0.04, chance=1.0, margin=0.0, **some)
    assert str(sure) == (
        "The next 3 queries may gain +0.02 (80 %: 0 to +0.04); something better by more than 0 exists with a chance of "
        "more than 99 %."
    )


def test_what_does_not_come_back_in_time_brings_nothing() -> None:
    slow = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    first, *others = slow.ask(n=12)
    for trial in others:
        slow.fail(trial, "lost")
    slow.tell(first, 0.5)  # after twelve rounds
    assert (slow.outlook(11).low, slow.outlook(11).high) == (0.0, 0.0)
    assert slow.outlook(14).high > 0.0
    assert slow.outlook(11).expected is None  # too few were heard
    study = make_study(rounds=20, delay=9)
    assert [study.outlook(k).expected for k in (0, 1, 3)] == pytest.approx([0.0, 1.0, 3.0])
    assert study.outlook(0).describe_pending().startswith("8 pending: none of them are expected by then")


def test_the_same_study_has_the_same_outlook_and_asks_as_if_nobody_had_looked() -> None:
    one, two = make_study(), make_study()
    assert one.outlook(4) == one.outlook(4) == two.outlook(4)
    fresh = make_study()
    assert one.ask().params == fresh.ask().params


def test_a_mirrored_study_has_the_same_outlook() -> None:
    outlooks = []
    for goal, sign in (("maximize", 1.0), ("minimize", -1.0)):
        study = Study.create(space=Points([0.0, 0.25, 0.5, 0.75, 1.0]), goal=goal, silence="unknown", seed=0)
        for x, y in ((0.0, 0.1), (0.5, 0.9), (1.0, 0.2)):
            study.add({"x": x}, sign * y)
        outlooks.append(study.outlook(3))
    assert outlooks[0].gain == pytest.approx(outlooks[1].gain)
    assert outlooks[0].chance == outlooks[1].chance


def test_a_larger_margin_is_less_likely() -> None:
    study = make_study(rounds=4)
    chances = [study.outlook(2, margin=margin).chance for margin in (0.0, 0.5, 5.0)]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > chances[-1] == 0.0


def test_a_ceiling_that_is_reached_leaves_nothing_to_gain() -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", floor=0.0, ceiling=1.0, seed=0)
    for x, y in ((0.2, 0.3), (0.5, 1.0), (0.8, 0.4), (0.5, 1.0)):
        study.add({"x": x}, y)
    assert study.outlook(5).high <= 1.0
    assert study.outlook(5, margin=1.0).chance == 0.0


def test_by_the_clock_it_says_when() -> None:
    clock = SimulatedClock()
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", patience="30d", clock=clock, seed=0)
    for _ in simulate(study, lambda params: params["x"], delay=Exponential(7200.0), rounds=20, seed=1, every="1h"):
        pass
    outlook = study.outlook(5)
    assert outlook.seconds == pytest.approx(5 * 3600.0)
    assert 0 < outlook.expected <= outlook.pending
    assert "about 5h from now" in str(outlook)


def test_after_one_batch_the_next_one_comes_when_half_of_it_is_back() -> None:
    clock = SimulatedClock()

    def read() -> float:
        clock.seconds += 0.001  # nothing happens at exactly the same time
        return clock.seconds

    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", patience="30d", clock=read, seed=0)
    trials = study.ask(n=4)
    for day, trial in enumerate(trials, start=5):
        clock.seconds = day * 86400.0
        study.tell(trial, trial.params["x"])
    outlook = study.outlook(8)
    assert outlook.seconds == pytest.approx(2 * 6 * 86400.0, rel=1e-3)
    assert outlook.low < outlook.high


def test_while_less_than_half_is_back_the_longest_wait_is_typical() -> None:
    clock = SimulatedClock()
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", patience="30d", clock=clock, seed=0)
    first, *_ = study.ask(n=4)
    clock.seconds = 86400.0
    study.tell(first, 0.5)
    clock.seconds = 4 * 86400.0
    assert study.outlook(4).seconds == pytest.approx(4 * 86400.0)


def test_in_a_study_with_contexts_it_is_for_one() -> None:
    study = Study.create(space={"x": Real(0, 1)}, context={"u": Real(0, 1)}, silence="unknown", seed=0)
    for u in (0.1, 0.5, 0.9):
        for x in (0.0, 0.4, 0.8):
            study.add({"x": x}, -((x - u) ** 2), context={"u": u})
    assert study.outlook(4, {"u": 0.5}).context == {"u": 0.5}
    with pytest.raises(InvalidInput, match="context must be given"):
        study.outlook(4)


def test_conversions_have_an_outlook_of_rates() -> None:
    clock = SimulatedClock()
    study = Study.create(
        space=Points([0.0, 0.5, 1.0]), silence="fading", outcomes="conversion", patience="7d", clock=clock, seed=0
    )
    for i, trial in enumerate(study.ask(n=60)):
        clock.seconds += 600.0
        if i % 5 == 0 or (trial.params["x"] == 1.0 and i % 2):
            study.tell(trial, 1)
    outlook = study.outlook()
    assert isinstance(outlook, Outlook)
    assert outlook.queries == 10
    assert -1.0 <= outlook.low <= outlook.gain <= outlook.high <= 1.0  # though most of the simulated gains are 0
    assert study.outlook(0).gain == 0.0
    assert study.outlook(3000).high > outlook.high  # many people more say more
    out = study.delays().pending
    assert outlook.pending == out > 0
    clock.seconds += 8 * 86400.0  # who did not convert within patience is not waited for
    assert study.outlook().pending == 0 < study.delays().pending


def test_of_people_counted_by_day_each_is_a_query() -> None:
    """In three segments with fewer queries than an outlook takes from each."""
    clock, day = SimulatedClock(), 86400.0
    study = Study.create(
        space=Points([0.0, 0.5, 1.0]),
        context={"segment": Choice("a", "b", "c")},
        silence="fading",
        outcomes="conversion",
        patience="7d",
        clock=clock,
        seed=0,
    )
    for i in range(4):
        clock.seconds = (i + 1) * day
        rows = [{"params": {"x": x}, "context": {"segment": s}, "day": i * day} for x in (0.0, 1.0) for s in "abc"]
        study.add_many([{**row, "shown": 100, "converted": 5 + j} for j, row in enumerate(rows)])
    outlook = study.outlook(context={"segment": "a"})
    assert outlook.queries == 240  # a tenth of the people
    assert outlook.seconds == pytest.approx(0.4 * day, rel=1e-2)  # 600 a day
    assert outlook.pending == 2400 - 4 * 45
    assert outlook.low < outlook.high


def test_what_it_needs_is_said() -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    with pytest.raises(NothingHeard):
        study.outlook()
    with pytest.raises(InvalidInput, match="queries must be at most 200"):
        make_study(rounds=3, delay=1).outlook(201)

    class Flat:
        def fit(self, X: np.ndarray, y: np.ndarray) -> Flat:
            return self

        def mean(self, Q: np.ndarray) -> np.ndarray:
            return np.zeros(len(Q))

        std = mean

    own = Study.create(
        space={"x": Real(0, 1)}, silence="unknown", algorithm=algorithms.custom("flat", surrogate=Flat()), seed=0
    )
    own.add({"x": 0.5}, 1.0)
    with pytest.raises(Contradiction, match="a model of its own"):
        own.outlook()


def test_delays_to_come_are_those_seen_and_longer_than_the_age() -> None:
    seen = kaplan_meier([1.0, 2.0, 2.0, 5.0, 6.0], [True, True, True, True, False])
    rng = np.random.default_rng(0)
    fresh = draw_delays(seen, np.zeros(20000), rng)
    assert set(np.unique(fresh)) == {1.0, 2.0, 5.0, np.inf}
    assert np.mean(fresh <= 2.0) == pytest.approx(seen.rho(2.0), abs=0.01)
    old = draw_delays(seen, np.full(20000, 2.0), rng)
    assert set(np.unique(old)) == {5.0, np.inf}
    assert np.mean(old == 5.0) == pytest.approx(0.5, abs=0.01)


def test_a_value_that_comes_often_ends_an_interval_only_where_nothing_lies_beyond() -> None:
    values = np.array([-1.0, *[0.0] * 8, 2.0])
    assert -1.0 < find_middle_quantile(values, 0.1) < 0.0 < find_middle_quantile(values, 0.9) < 2.0
    assert find_middle_quantile(values[1:], 0.1) == 0.0
    assert find_middle_quantile(np.arange(101.0), 0.5) == 50.0
