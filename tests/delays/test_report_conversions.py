"""study.delays() of conversions: the delays of those that come, whatever the share that never does."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from belated import InvalidInput, Points, SilenceWarning, Study
from tests.support.campaigns import HOUR, run_campaign

SCALES = pytest.mark.parametrize("by_clock", [True, False], ids=["clock", "rounds"])
UNIT = {True: HOUR, False: 1 / 0.6}  # an hour, in seconds or in rounds


@SCALES
@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_quantiles_are_of_those_that_come(by_clock: bool, rate: float) -> None:
    """Within 30 % of the true ones, however few convert: by Kaplan-Meier not even a quarter of all has come."""
    report = run_campaign(by_clock=by_clock, rate=lambda x: rate, shown=800).delays()
    assert report.rho().estimate < 0.4
    for q in (0.5, 0.75, 0.9):
        wanted = -14.0 / np.log(2.0) * np.log1p(-q * (1 - 2.0 ** (-168.0 / 14.0)))
        assert report.quantile(q) == pytest.approx(wanted * UNIT[by_clock], rel=0.3)
    assert report.to_dict()["quantiles_of"] == "those that come within patience"
    assert "Of the conversions that come within patience, half within " in str(report)
    assert "(those that never come are left out)" in str(report)


def test_the_youth_of_most_queries_is_corrected_for() -> None:
    """After two days only short delays can have been seen."""
    study = run_campaign(shown=80, rate=lambda x: 0.9, median=30.0)
    seen = [trial.delay for trial in study.trials() if trial.delay is not None]
    assert np.median(seen) < 16 * HOUR
    half = study.delays().quantile(0.5)
    assert half is not None
    assert half > 20 * HOUR


@SCALES
def test_more_conversions_at_good_queries_are_no_delay(by_clock: bool) -> None:
    """The rates of the two halves differ by a factor of ten; one test in twenty may be wrong by chance."""
    warned = 0
    for seed in range(8):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", SilenceWarning)
            report = run_campaign(by_clock=by_clock, seed=seed, rate=lambda x: 0.03 if x < 0.5 else 0.3).delays()
        assert [finding.on for finding in report.depends] == ["query"]
        warned += len(caught)
    assert warned <= 1


@SCALES
@pytest.mark.parametrize("silence", ["floor", "fading"])
def test_delays_that_do_depend_on_the_query_are_still_found(by_clock: bool, silence: str) -> None:
    study = run_campaign(
        by_clock=by_clock, silence=silence, rate=lambda x: 0.4, median=4.0, slower=lambda x: 1.0 if x < 0.5 else 8.0
    )
    with pytest.warns(SilenceWarning, match="All queries share one law of delays"):
        report = study.delays()
    assert report.depends[0].found
    assert "slower where x is large" in report.depends[0].words


def test_a_conversion_told_to_be_0_is_no_delay() -> None:
    study = Study.create(space=Points([0.0]), outcomes="conversion", silence="floor", patience=50, seed=0)
    trials = [study.add({"x": 0.0}) for _ in range(30)]
    for trial in trials[:10]:
        study.tell(trial, 0)
    before = study.delays()
    assert (before.heard, before.none, before.pending, before.failed) == (0, 10, 20, 0)
    assert before.quantile(0.5) is None
    assert "0 heard, 20 pending, 10 told to be 0." in str(before)
    for trial in trials[-5:]:
        study.tell(trial, 1)
    after = study.delays()
    assert (after.heard, after.none, after.pending) == (5, 10, 15)
    assert after.rounds.waited[after.rounds.came].tolist() == [5, 4, 3, 2, 1]


def test_q_is_a_share() -> None:
    report = run_campaign(shown=40).delays()
    for q in (0.0, 1.5):
        with pytest.raises(InvalidInput, match=r"q must lie in \(0, 1\]"):
            report.quantile(q)
