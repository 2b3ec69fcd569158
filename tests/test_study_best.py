"""The best query of a study, and the recommended one: their values, intervals and counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from belated import BestQuery, Choice, NothingHeard, Points, Real, Study
from tests.support.studies import KINDS, Clock, Place

HOUR = 3600.0
ITEMS = Points([0.0, 0.5, 1.0])


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with Place.at(request.param, request) as place:
        yield place


def create(**said: Any) -> Study:
    return Study.create(**{"space": ITEMS, "silence": "unknown", "seed": 0} | said)


def sell(
    study: Study, x: float, shown: int, converted: int, amount: float = 1.0, context: dict[str, Any] | None = None
) -> None:
    """Show an item so many times; the first of them convert, an hour later."""
    trials = [study.add({"x": x}, context=context) for _ in range(shown)]
    for trial in trials[:converted]:
        study.tell(trial, amount, at=trial.asked_at + HOUR)


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_an_outcome_told_once_is_what_it_is(goal: str) -> None:
    study = create(goal=goal)
    for x, y in ((0.0, 0.1), (0.5, 0.9), (1.0, 0.5)):
        study.add({"x": x}, y)
    study.ask(params={"x": 0.0})
    best, number = study.best(), 2 if goal == "maximize" else 1
    assert (best.trial, best.params) == (study.trial(number), study.trial(number).params)
    assert (best.value, best.quantity) == (study.trial(number).outcome, "outcome")
    assert (best.low, best.high, best.interval) == (None, None, "")
    assert (best.asked, best.heard) == ((1, 1) if goal == "maximize" else (2, 1))


@pytest.mark.parametrize("noise", [None, 0.3])
def test_a_noisy_outcome_comes_with_what_is_believed_there(noise: float | None) -> None:
    """It may have been lucky: the best of many outcomes of one query is above their mean."""
    study = create()
    values = (0.2, 0.4, 2.0) if noise is None else (2.0,)
    for y in values:
        study.add({"x": 0.5}, y, noise=noise)
    study.add({"x": 0.0}, 0.1)
    best, belief = study.best(), study.posterior([{"x": 0.5}])
    assert best.value == 2.0
    assert (best.low, best.high) == (belief.low[0], belief.high[0])
    assert (best.asked, best.heard) == (len(values), len(values))
    assert f"where {best.interval} is believed (90 %)" in str(best)


def test_what_was_withdrawn_was_never_asked() -> None:
    study = create()
    study.add({"x": 0.5}, 1.0)
    for kind in ("lost", "withdrawn"):
        study.fail(study.ask(params={"x": 0.5}), kind)
    assert (study.best().asked, study.best().heard) == (1, 1)


@pytest.mark.parametrize("space", [ITEMS, {"x": Real(0, 1)}])
def test_recommend_says_what_is_believed_there(space: Any) -> None:
    study = create(space=space)
    for x, y in ((0.0, 0.1), (0.5, 0.9), (1.0, 0.5)):
        study.add({"x": x}, y)
    found = study.recommend()
    belief = study.posterior([found.params])
    assert (found.value, found.low, found.high) == (belief.mean[0], belief.low[0], belief.high[0])
    assert (found.quantity, found.trial) == ("mean", None)
    asked = sum(trial.params == found.params for trial in study.trials())
    assert (found.asked, found.heard) == (asked, asked)


def test_a_rate_that_is_only_inferred_says_so() -> None:
    """Three of five converted, and the best belief lies between them."""
    clock = Clock()
    study = create(space={"x": Real(0, 1)}, outcomes="conversion", silence="fading", patience="7d", clock=clock)
    for trial in [study.ask() for _ in range(5)][:3]:
        study.tell(trial, 1)
    clock.now += 8 * 24 * HOUR
    found, best = study.recommend(), study.best()
    assert (found.asked, best.asked) == (0, 1)
    assert found.describe_value().endswith(f"(90 %: {found.interval}); never asked: other queries suggest it")
    assert best.describe_value().endswith("; asked 1 time, converted 1 time")


@pytest.mark.parametrize("patience", ["1d", 1000])
@pytest.mark.parametrize(
    ("algorithm", "silence"), [("default", "fading"), ("default", "floor"), ("GP-UCB-SDF", "floor")]
)
def test_a_query_that_was_shown_once_and_converted_is_not_the_best(algorithm: str, silence: str, patience: Any) -> None:
    clock = Clock()
    study = create(outcomes="conversion", algorithm=algorithm, silence=silence, patience=patience, clock=clock)
    for x, shown, converted in ((0.0, 100, 5), (0.5, 100, 30), (1.0, 1, 1)):
        sell(study, x, shown, converted)
    clock.now += 12 * HOUR
    best, belief = study.best(), study.posterior([{"x": 0.5}])
    assert (best.params, best.quantity, best.trial) == ({"x": 0.5}, "rate", None)
    assert (best.value, best.low, best.high) == pytest.approx((belief.mean[0], belief.low[0], belief.high[0]))
    assert (best.asked, best.heard) == (100, 30)
    assert str(best) == f"x = 0.5: rate {best.value:.4g} (90 %: {best.interval}); asked 100 times, converted 30 times"
    found = study.recommend()
    assert (found.quantity, found.trial) == ("rate", None)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0  # type: ignore[operator]


def test_the_best_rate_in_a_context_or_over_those_asked(place: Place) -> None:
    said = {"outcomes": "conversion", "silence": "fading", "patience": "1d", "context": {"who": Choice("new", "loyal")}}
    study = place.create(space=ITEMS, seed=0, **said)
    for who, x, converted in (("new", 0.0, 2), ("new", 1.0, 12), ("loyal", 0.0, 24), ("loyal", 1.0, 4)):
        sell(study, x, 40, converted, context={"who": who})
    place.clock.now += 12 * HOUR
    for one in (study, place.another(study)):
        assert (one.best().params, one.best().context) == ({"x": 0.0}, {"who": "loyal"})
        there = one.best(context={"who": "new"})
        assert (there.params, there.context, there.asked, there.heard) == ({"x": 1.0}, {"who": "new"}, 40, 12)
        assert str(there).startswith("x = 1 in the context who = new: rate 0.")
        assert one.recommend(context={"who": "new"}).params == {"x": 1.0}


def test_silence_alone_is_no_best_rate() -> None:
    study = create(outcomes="conversion", silence="floor", patience=5, context={"who": Choice("new", "loyal")})
    sell(study, 0.0, 20, 0, context={"who": "new"})
    with pytest.raises(NothingHeard):
        study.best()
    sell(study, 0.0, 20, 1, context={"who": "new"})
    assert isinstance(study.best(), BestQuery)
    with pytest.raises(NothingHeard):
        study.best(context={"who": "loyal"})


def test_amounts_are_rates_too() -> None:
    study = create(outcomes="conversion", silence="floor", patience=1000)
    sell(study, 0.0, 40, 10)
    sell(study, 1.0, 40, 10, amount=50.0)
    best = study.best()
    assert best.params == {"x": 1.0}
    assert best.value == pytest.approx(12.5, rel=0.25)
    assert best.heard == 10


def test_the_params_and_the_value_of_the_best_are_at_hand() -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", goal="minimize", seed=0)
    with pytest.raises(NothingHeard):
        _ = study.best_value
    study.add({"x": 0.2}, 0.5)
    study.add({"x": 0.8}, 0.7)
    assert (study.best_params, study.best_value) == (study.best().params, study.best().value) == ({"x": 0.2}, 0.5)
