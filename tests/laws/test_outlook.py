"""An outlook says what comes: of simulated studies, early, in the middle and late, in worlds it was not tuned on; and
of simulated campaigns, whose outcomes are conversions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.support import prospective_campaigns as campaigns
from tests.support.prospects import STAGES, TESTING, Comparison, follow

FIRST = 1000  # seed; those of tuning were 0 to 119, in other worlds


def follow_many(count: int) -> list[Comparison]:
    """Every kind of world in turn, one seed after the other."""
    seeds = range(FIRST, FIRST + count)
    return [each for seed in seeds for each in follow(TESTING[seed % len(TESTING)](seed), seed)]


def hold_gain(each: Comparison | campaigns.Comparison) -> float:
    """Whether the interval held the gain; an end that is hit exactly counts half."""
    low, gain, high = each.outlook.low, each.gain, each.outlook.high
    return 0.5 if gain in (low, high) else float(low < gain < high)


def score(chances: Sequence[float], came: Sequence[bool]) -> float:
    """Brier's."""
    return float(np.mean(np.square(np.subtract(chances, came))))


@pytest.mark.long
def test_of_200_studies_intervals_hold_are_narrow_and_chances_beat_the_base_rate() -> None:
    found = follow_many(200)
    for stage in STAGES:
        here = [each for each in found if each.stage == stage]
        wide = [each for each in here if each.outlook.low < each.outlook.high]
        assert 0.7 <= np.mean([hold_gain(each) for each in wide]) <= 0.9, stage
        width = np.mean([each.outlook.high - each.outlook.low for each in wide])
        assert width <= 2.0 * np.std([each.gain for each in wide]), stage
        better = [each.better for each in here]
        chances = [each.outlook.chance for each in here]
        assert score(chances, better) < score([float(np.mean(better))] * len(better), better), stage


def test_of_a_few_studies_most_intervals_hold_and_chances_beat_the_base_rate() -> None:
    found = follow_many(4)
    wide = [each for each in found if each.outlook.low < each.outlook.high]
    assert len(wide) >= 8
    assert np.mean([hold_gain(each) for each in wide]) >= 0.6  # 80 %, less two standard errors of so few
    better = [each.better for each in found]
    assert score([each.outlook.chance for each in found], better) < score([float(np.mean(better))] * len(found), better)


@pytest.mark.long
def test_of_60_campaigns_intervals_hold_are_narrow_and_chances_beat_the_base_rate() -> None:
    """All stages together: late gains are mostly 0, and have no spread to compare a width with."""
    seeds = range(FIRST, FIRST + 60)
    worlds = campaigns.TESTING
    found = [each for seed in seeds for each in campaigns.follow_campaign(worlds[seed % len(worlds)](seed), seed)]
    wide = [each for each in found if each.outlook.low < each.outlook.high]
    assert 0.7 <= np.mean([hold_gain(each) for each in wide]) <= 0.9
    assert np.mean([each.outlook.high - each.outlook.low for each in wide]) <= 2.0 * np.std([e.gain for e in wide])
    better = [each.better for each in found]
    assert score([each.outlook.chance for each in found], better) < score([float(np.mean(better))] * len(found), better)


def test_of_a_campaign_what_may_be_gained_is_a_part_of_the_rate() -> None:
    world = campaigns.make_arms(FIRST)
    best = max(map(world.rate, world.everywhere))
    for each in campaigns.follow_campaign(world, FIRST):
        assert each.outlook.high - each.outlook.low < 0.75 * best
