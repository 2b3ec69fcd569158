"""study.advise() of conversions: a shorter window loses those that come later."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from belated import Points, Study
from belated.delays.advice import LOST
from tests.support.campaigns import HOUR, run_campaign
from tests.support.studies import Clock

UNIT = {True: HOUR, False: 1 / 0.6}  # an hour, in seconds or in rounds


@pytest.fixture(scope="module", params=[True, False], ids=["clock", "rounds"])
def campaign(request: pytest.FixtureRequest) -> tuple[Study, float]:
    """Half of the conversions take 14 h; and an hour in the study's unit."""
    return run_campaign(by_clock=request.param), UNIT[request.param]


def share_later(m: float) -> float:
    """Of the conversions within 168 h, with m in hours."""
    never = 2.0 ** (-168.0 / 14.0)
    return (2.0 ** (-min(m, 168.0) / 14.0) - never) / (1 - never)


def test_what_loses_many_conversions_is_not_advised(campaign: tuple[Study, float]) -> None:
    study, hour = campaign
    advice = study.advise()
    assert advice.recommended is not None
    assert 45 <= advice.recommended / hour <= 90  # 95 % come within 60 h
    assert share_later(advice.recommended / hour) <= 0.1


def test_every_row_says_what_it_loses(campaign: tuple[Study, float]) -> None:
    study, hour = campaign
    advice = study.advise()
    for row in advice.rows:
        assert row.later == pytest.approx(share_later(row.m / hour), abs=0.08)
    best = next(row for row in advice.rows if row.m == advice.recommended)
    assert best.later is not None
    assert best.later <= LOST
    assert [row.later for row in advice.rows] == sorted((row.later for row in advice.rows), reverse=True)
    assert f"{100 * best.later:.0f} % of the conversions come later than that." in advice.reason
    assert "arrive by then  come later  kept open" in str(advice).splitlines()[0]
    assert json.loads(json.dumps(advice.to_dict()))["rows"][0]["later"] == advice.rows[0].later


def test_a_window_that_is_too_short_is_found_out_by_what_comes_late() -> None:
    advice = run_campaign(window=17.0).advise()
    assert advice.recommended is not None
    assert advice.recommended > 45 * HOUR


def test_nothing_is_advised_while_many_are_still_to_come() -> None:
    """After 36 hours of a campaign whose delays have a median of 40 hours."""
    advice = run_campaign(shown=60, median=40.0, rate=lambda x: 0.9).advise()
    assert advice.heard >= 10
    assert advice.recommended is None
    assert "% of the conversions come later than 34h, the longest that any was waited for." in advice.reason


def test_other_studies_lose_nothing_that_comes_late() -> None:
    study = run_campaign(outcomes="real", floor=0.0)
    assert all(row.later is None for row in study.advise().rows)
    assert "come later" not in str(study.advise())


def test_a_study_follows_this_advice_by_itself() -> None:
    study = run_campaign(patience="auto-clock", shown=400, seed=1)
    study.ask()
    assert np.isfinite(study.settings.patience.m)
    assert study.settings.patience.m > 40 * HOUR


def test_people_counted_by_day_are_advised_as_single_queries_are() -> None:
    """The same people, told one by one and counted every night."""
    rng, clock, day = np.random.default_rng(0), Clock(0.0), 24 * HOUR
    settings: dict[str, Any] = {
        "space": Points([0.0, 1.0]),
        "outcomes": "conversion",
        "silence": "fading",
        "patience": "7d",
        "seed": 0,
        "clock": clock,
    }
    single, counted = Study.create(**settings), Study.create(**settings)
    shown, rate = 60, 0.2
    people = []
    for x in (0.0, 1.0):
        for today in range(8):
            asked = today * day + np.sort(rng.uniform(0.0, day, shown))
            came = asked + rng.exponential(14 * HOUR / np.log(2.0), shown)
            people.append((x, today, asked, np.where(rng.random(shown) < rate, came, np.inf)))
    clock.now = 8 * day
    trials = single.add_many({"params": {"x": x}, "at": at} for x, _, asked, _ in people for at in asked)
    came = np.concatenate([each for *_, each in people])
    single.tell_many({"trial": t, "value": 1, "at": at} for t, at in zip(trials, came, strict=True) if at <= clock.now)
    for night in range(1, 9):
        clock.now = night * day
        counted.add_many(
            {"params": {"x": x}, "day": today * day, "shown": shown, "converted": int(np.sum(when <= clock.now))}
            for x, today, _, when in people
            if today < night
        )
    known, by_day = single.advise(), counted.advise()
    assert known.recommended is not None
    assert by_day.recommended == pytest.approx(known.recommended, rel=0.2)
    for row in by_day.rows:
        assert row.rho.estimate == pytest.approx(rate * (1 - 2.0 ** (-row.m / (14 * HOUR))), abs=0.05)
        other = min(known.rows, key=lambda each: abs(each.m - row.m))
        assert row.open is not None
        assert other.open is not None
        assert row.open == pytest.approx(other.open * row.m / other.m, rel=0.1)
        assert row.width - 1 == pytest.approx((other.width - 1) * row.m / other.m, rel=0.3)
    assert [row.width for row in by_day.rows] == sorted({row.width for row in by_day.rows})


def test_it_says_what_silence_counts_as_where_outcomes_are_conversions() -> None:
    said = {}
    for silence in ("floor", "fading"):
        study = Study.create(space=Points([0.0]), outcomes="conversion", silence=silence, patience="7d", late="ignore")
        said[silence] = study.advise().meaning
    later = "a conversion that comes later is recorded, and not used."
    assert said["floor"] == f"Silence counts as no conversion, before m and after; {later}"
    assert said["fading"].startswith("After m, silence counts as no conversion; before, what is still to come is")


def test_no_share_is_written_as_less_than_none(campaign: tuple[Study, float]) -> None:
    advice = campaign[0].advise()
    assert all(row.later >= 0 for row in advice.rows if row.later is not None)
    assert "-0 %" not in str(advice)


def test_in_rounds_every_patience_is_whole_however_little_was_waited() -> None:
    study = Study.create(space=Points([0.0], names=["x"]), outcomes="conversion", silence="fading", patience=60, seed=0)
    study.add_many([{"params": {"x": 0.0}, "day": "2026-03-01", "shown": 50, "converted": 9}])
    study.tell_many([{"trial": trial, "value": 1} for trial in study.ask(n=12)[:11]])
    advice = study.advise()
    assert advice.rows
    assert all(row.m == int(row.m) for row in advice.rows)
    assert "rounds" in str(advice)
