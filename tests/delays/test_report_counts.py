"""Delays of people who were counted by day: known to the day."""

from __future__ import annotations

import numpy as np
import pytest

from belated import Points, SilenceWarning, Study
from tests.support.studies import Clock

DAY = 86400.0


def count_people(
    shown: int = 3000, rate: float = 0.2, median: float = 2 * DAY, days: int = 14, slower: float = 1.0
) -> Study:
    """Two days of people at two queries, whose counts are stated every night; delays at the second may be longer."""
    rng, clock = np.random.default_rng(0), Clock(0.0)
    study = Study.create(
        space=Points([0.0, 1.0]), outcomes="conversion", silence="fading", patience="14d", seed=0, clock=clock
    )
    people = {}
    for x in (0.0, 1.0):
        for day in (0, 1):
            when = rng.uniform(0.0, DAY, shown) + rng.exponential(median * slower**x / np.log(2.0), shown)
            people[x, day] = day * DAY + when[rng.random(shown) < rate]
    for night in range(1, days + 1):
        clock.now = night * DAY
        study.add_many(
            {"params": {"x": x}, "day": day * DAY, "shown": shown, "converted": int(np.sum(when < clock.now))}
            for (x, day), when in people.items()
            if day < night
        )
    return study


def test_quantiles_are_of_those_that_come() -> None:
    report = count_people().delays()
    assert report.people == 4 * 3000
    assert report.heard + report.pending == report.people
    assert report.quantile(0.5) == pytest.approx(2 * DAY, rel=0.05)
    assert "; 12000 people counted by day among them." in str(report)
    assert "Of the conversions that come within patience, half within " in str(report)


def test_single_queries_and_people_together() -> None:
    study = count_people()
    trials = study.ask(n=3)
    study.tell(trials[0], 1)
    study.tell(trials[1], 0)
    before, report = count_people().delays(), study.delays()
    assert (report.heard, report.pending, report.none) == (before.heard + 1, before.pending + 1, 1)


def test_in_rounds_they_are_left_out_of_a_study_by_the_clock() -> None:
    report = count_people().delays(by="rounds")
    assert (report.heard, report.people, report.added) == (0, 0, 0)


def test_advice_weighs_what_a_shorter_window_loses() -> None:
    advice = count_people().advise()
    assert advice.recommended is not None
    assert advice.recommended > 5 * DAY  # by then 82 % have come
    assert "conversions come later" in str(advice)


def test_the_forecast_counts_the_people_who_are_still_to_come() -> None:
    study = count_people(days=2)
    assert 100 < study.delays().expected("10d")
    study.delays().expected(rounds=10)


def test_where_delays_depend_on_the_query_single_ones_have_a_forecast_in_rounds() -> None:
    """People who were counted have no wait in rounds, and the model of delays nearby is about those who have."""
    study = count_people(slower=0.1)
    trials = study.ask(n=12)
    for trial in trials[:10]:
        study.tell(trial, 1)
    with pytest.warns(SilenceWarning, match="one law of delays"):
        report = study.delays()
    assert any(finding.found for finding in report.depends)
    assert 0.0 <= report.expected(rounds=10) <= report.pending
    assert "expected" in report.to_dict()
