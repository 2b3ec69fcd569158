"""Intervals are Student's, and what is detectable is detected in four of five cases."""

import math

import numpy as np
import pytest
from scipy import stats

from belated.comparison.statistics import Summary, summarize
from reproduction.report.intervals import MeanInterval, find_detectable, find_interval


@pytest.mark.parametrize("level", [0.05, 0.01])
def test_an_interval_is_scipys(level: float) -> None:
    values = np.random.default_rng(0).normal(size=12)
    found = find_interval(summarize(values), 12, level)
    theirs = stats.ttest_1samp(values, 0).confidence_interval(1 - level)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))


def test_what_is_detectable_is_detected_in_four_of_five_cases() -> None:
    """By hand first: t_0.975 = 2.2622 and t_0.8 = 0.8834 for nine degrees of freedom. Then over many samples."""
    assert find_detectable(Summary(0.0, 1.0), 10) == pytest.approx(2.2622 + 0.8834, abs=1e-4)
    n = 30
    true = find_detectable(Summary(0.0, 1 / math.sqrt(n)), n)
    samples = np.random.default_rng(1).normal(true, 1.0, (4000, n))
    error = samples.std(axis=1, ddof=1) / math.sqrt(n)
    assert np.mean(samples.mean(axis=1) - stats.t.ppf(0.975, n - 1) * error > 0) == pytest.approx(0.8, abs=0.02)


def test_a_single_run_says_nothing() -> None:
    found = find_interval(Summary(1.0, math.nan), 1)
    assert found == MeanInterval(-math.inf, math.inf)
    assert not found.is_known
    assert not found.excludes_zero
    assert math.isnan(find_detectable(Summary(1.0, math.nan), 1))


def test_runs_that_are_all_alike_leave_no_doubt() -> None:
    assert find_interval(Summary(-0.5, 0.0), 5) == MeanInterval(-0.5, -0.5)
    assert MeanInterval(-0.5, -0.5).excludes_zero
    assert not MeanInterval(0.0, 0.0).excludes_zero
