"""The 90 % interval of a rate holds the truth about as often as it says, in worlds with different rates and delays."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.coverage import DAYS, PAIRS, WORLDS, Campaign, Look, World, look_at_chosen, look_at_spread, pool

LEAST, MOST, MOST_FROM = 0.80, 0.97, 50  # coverage: at least, and at most once so many conversions are told
WIDEST = 2.0  # times the interval of Beta(1, 1) on every outcome of the nearest queries, from day 7 on


def check_coverage(world: World, seeds: range, days: tuple[int, ...]) -> None:
    looks: dict[int, list[Look]] = {day: [] for day in days}
    for seed in seeds:
        for day, look in look_at_spread(world, seed, days):
            looks[day].append(look)
    for day, some in looks.items():
        found = pool(some)
        shown = f"day {day}: {found.covered:.3f} of {len(some) * PAIRS} covered, {found.told} conversions told"
        assert found.covered >= LEAST, shown
        assert found.told < MOST_FROM or found.covered <= MOST, shown
        ratio = found.width / found.beta_width
        assert day < 7 or ratio <= WIDEST, f"day {day}: {ratio:.2f} times as wide as Beta(1, 1)"


@pytest.mark.parametrize("world", [WORLDS[0], WORLDS[18]], ids=str)
def test_intervals_hold_the_rates_in_a_few_seeds(world: World) -> None:
    check_coverage(world, range(100, 106), (4, 14))


@pytest.mark.long
@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_intervals_hold_the_rates(world: World) -> None:
    check_coverage(world, range(20), DAYS)


def test_a_study_that_asks_by_itself_is_told_what_came_and_shows_what_is_good() -> None:
    campaign = Campaign.begin(WORLDS[12], np.random.default_rng(3), 8, seed=3)
    for day in range(1, 9):
        for hour in range(24 * (day - 1), 24 * day):
            campaign.ask(hour)
        campaign.tell(day)
    came = campaign.converts & (campaign.hour / 24 + campaign.delay <= 8)
    told = [trial.number - 1 for trial in campaign.study.trials() if trial.outcome is not None]
    assert told == np.flatnonzero(came).tolist()
    last, rates = campaign.hour >= 24 * 7, campaign.find_rate(campaign.x, campaign.segment)
    assert np.mean(rates[last]) > 1.1 * np.mean(campaign.rates)
    look = campaign.look(campaign.x[:40], campaign.segment[:40])
    assert look.told == len(told)
    assert 0.5 < look.covered <= 1.0
    assert look.width < 0.3


def test_its_days_are_looked_at() -> None:
    days = [day for day, _, _ in look_at_chosen(WORLDS[0], 0, (1, 3))]
    assert days == [1, 3]
