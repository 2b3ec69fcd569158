"""belated.compare of a study of conversions: its worlds are campaigns like its own."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

import belated
from belated import Choice, NothingHeard, Points, SimulatedClock, Study
from belated.comparison.candidates import choose_time_scale, list_candidates
from belated.comparison.compare import choose_rounds
from belated.comparison.world import read_source
from tests.support.campaigns import HOUR, run_campaign

X = np.linspace(0.05, 0.95, 10)


def test_a_quick_campaign_is_followed_for_days() -> None:
    """A query every 44 s, and half of the conversions take 14 h: 200 of these queries last for two and a half hours."""
    study = run_campaign(every=44 / 3600, shown=800, rate=lambda x: 0.5)
    made_of = read_source(study, "clock")
    T, pace = choose_rounds(study, made_of)
    assert T == 200
    assert made_of.every == pytest.approx(44.0)
    assert T * pace * 44.0 > 2 * 14 * HOUR


@pytest.mark.long
def test_a_comparison_says_how_it_is_scaled() -> None:
    study = run_campaign(every=44 / 3600, shown=800, rate=lambda x: 0.5)
    pace = choose_rounds(study, read_source(study, "clock"))[1]
    found = belated.compare(study, algorithms=["GP-UCB-SDF"], patience=["7d"], seeds=1, progress=False)
    asked = f"200 rounds, asked every {math.ceil(pace * 44 / 60)}m, each for {pace} of the study's so that"
    assert asked in found.world
    assert found.tied
    assert found.answer.startswith("Nothing can be told apart: cumulative regret ")


@cache
def follow_campaign(by_clock: bool, algorithm: str) -> Study:
    """A campaign that nobody changes."""
    return run_campaign(by_clock=by_clock, algorithm=algorithm, shown=400)


@pytest.mark.parametrize(
    ("algorithm", "by_clock"), [("default", True), ("default", False), ("GP-UCB-SDF", True)], ids=str
)
def test_rates_and_delays_are_the_study_s(algorithm: str, by_clock: bool) -> None:
    study = follow_campaign(by_clock, algorithm)
    made_of = read_source(study, choose_time_scale(study.settings, None))
    natures = [made_of.world(k, 5).nature for k in range(20)]
    logs = np.log([[nature.value({"x": x}) for x in X] for nature in natures])
    believed = follow_campaign(by_clock, "default").posterior([{"x": x} for x in X])
    np.testing.assert_allclose(logs.mean(axis=0), np.log(believed.mean), atol=4 * np.max(logs.std(axis=0)) / 20**0.5)
    assert len({tuple(row) for row in logs.tolist()}) == 20  # each a function of its own
    nature, rng = natures[0], np.random.default_rng(0)
    assert nature.outcome({"x": 0.9}) == 1.0  # all that is ever told
    assert nature.share({"x": 0.9}) == pytest.approx(nature.value({"x": 0.9}))
    waits = np.array([nature.draw(rng, {"x": 0.9}, None) for _ in range(800)])
    assert np.mean(np.isfinite(waits)) == pytest.approx(nature.value({"x": 0.9}), abs=0.05)
    hour = HOUR if by_clock else 1 / 0.6
    assert np.median(waits[np.isfinite(waits)]) == pytest.approx(14 * hour, rel=0.4)


def test_amounts_are_what_a_conversion_brings() -> None:
    study = Study.create(space=Points([0.0, 1.0]), outcomes="conversion", silence="floor", patience=200, seed=0)
    for i in range(120):
        trial = study.add({"x": float(i % 2)})
        if i % 4 == 1:
            study.tell(trial, 20.0)
    nature = read_source(study, "rounds").world(0, 5).nature
    assert nature.outcome({"x": 1.0}) == 20.0
    assert nature.value({"x": 1.0}) == pytest.approx(10.0, rel=0.5)
    assert nature.share({"x": 1.0}) == pytest.approx(nature.value({"x": 1.0}) / 20.0)


def test_candidates_are_settings_that_conversions_may_have() -> None:
    study = run_campaign(shown=40)
    found = list_candidates(study.settings, ["1d", None])
    assert {(each.algorithm, each.silence) for each in found} == {
        ("default", "floor"),
        ("default", "fading"),
        ("GP-UCB-SDF", "floor"),
        ("GP-TS-SDF", "floor"),
    }
    assert {each.patience for each in found} == {"7d", "1d"}
    assert {each.settings.outcomes for each in found} == {"conversion"}


def test_contexts_have_rates_of_their_own() -> None:
    context = {"who": Choice("new", "loyal")}
    study = Study.create(
        space=Points([0.0, 1.0]), context=context, outcomes="conversion", silence="fading", patience=400, seed=0
    )
    for i in range(240):
        x, who = float(i % 2), "new" if i % 4 < 2 else "loyal"
        trial = study.add({"x": x}, context={"who": who})
        if (x == 1.0) == (who == "new") and i % 3 == 0:
            study.tell(trial, 1)
    world = read_source(study, "rounds").world(0, 8)
    assert world.nature.value({"x": 1.0}, {"who": "new"}) > world.nature.value({"x": 0.0}, {"who": "new"})
    assert world.nature.value({"x": 1.0}, {"who": "loyal"}) < world.nature.value({"x": 0.0}, {"who": "loyal"})
    found = belated.compare(study, algorithms=["GP-UCB-SDF"], patience=[100], seeds=1, rounds=6, progress=False)
    assert found.measure == "cumulative"
    assert "drawn from what the study believes of rates after 40 conversions" in found.world


def test_nothing_but_zeros_is_no_world() -> None:
    study = Study.create(space=Points([0.0, 1.0]), outcomes="conversion", silence="floor", patience=50, seed=0)
    study.tell(study.ask(), 0)
    with pytest.raises(NothingHeard):
        belated.compare(study, seeds=1, rounds=5, progress=False)


def test_people_who_were_counted_by_day_are_a_campaign() -> None:
    clock, day = SimulatedClock(), 24 * HOUR
    study = Study.create(
        space=Points([0.0, 1.0]), outcomes="conversion", silence="fading", patience="7d", clock=clock, seed=0
    )
    row = {"params": {"x": 1.0}, "day": 0.0, "shown": 1000}
    study.add_many([{**row, "converted": 0, "as_of": day}])
    with pytest.raises(NothingHeard):
        read_source(study, "clock")
    for i, converted in enumerate((60, 90, 100), start=1):
        clock.seconds = i * day
        rows = [{**row, "converted": converted, "as_of": clock.seconds}]
        study.add_many([*rows, {**row, "params": {"x": 0.0}, "converted": converted // 4, "as_of": clock.seconds}])
    made_of = read_source(study, "clock")
    assert made_of.told == 125
    assert made_of.every == pytest.approx(day / 2000, rel=1e-2)
    T, pace = choose_rounds(study, made_of)
    assert T * pace * day / 2000 > made_of.seen.quantile(0.5)
    nature = made_of.world(0, 5).nature
    assert nature.outcome({"x": 1.0}) == 1.0
    assert nature.value({"x": 1.0}) > nature.value({"x": 0.0})
