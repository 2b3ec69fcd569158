"""Numbers have decimals that make sense and true minus signs."""

import math

import pytest

from belated.comparison.statistics import Summary
from reproduction.report.formatting import (
    count_decimals,
    format_interval,
    format_number,
    format_p_cell,
    format_percentage,
    format_size,
    format_summary,
)
from reproduction.report.intervals import MeanInterval


def test_decimals_and_p_values() -> None:
    assert [count_decimals([v]) for v in (0.2429, 23.4, 1500.0, 0.0123, 1e-9, 0.0)] == [4, 2, 0, 5, 6, 4]
    assert [format_p_cell(p) for p in (0.00005, 0.0039, 1.0)] == ["<0.0001", "0.0039", "1.0000"]


def test_minus_signs_are_true_and_zero_has_none() -> None:
    assert [format_number(v, 2) for v in (-0.25, 0.25, -0.001, 0.0)] == ["−0.25", "0.25", "0.00", "0.00"]
    assert format_summary(Summary(-0.5, 0.25), 2) == "−0.50 ± 0.25"
    assert format_summary(Summary(0.5, math.nan), 1) == "0.5"


@pytest.mark.parametrize(
    ("mean", "low", "high", "written"),
    [
        (-0.0626, -0.1329, 0.0077, "−0.063 [−0.133, 0.008]"),
        (33.88, 24.26, 43.5, "33.9 [24.3, 43.5]"),
        (-1.1, -24.1, 21.9, "−1 [−24, 22]"),
        (-0.1, -0.1, -0.1, "−0.1000 [−0.1000, −0.1000]"),
        (0.25, -math.inf, math.inf, "0.2500"),
    ],
)
def test_an_interval_has_two_digits_of_half_its_width(mean: float, low: float, high: float, written: str) -> None:
    assert format_interval(mean, MeanInterval(low, high)) == written


@pytest.mark.parametrize(
    ("mean", "low", "high", "written"),
    [
        (-16.68, -33.06, -0.3, "−16.7 [−33.1, −0.3]"),
        (0.0202, 0.0004, 0.04, "0.0202 [0.0004, 0.0400]"),
        (-16.68, -33.06, 0.3, "−17 [−33, 0]"),
        (-0.5, -1.0, -1e-9, "−0.500000 [−1.000000, 0.000000]"),  # six decimals at most
    ],
)
def test_an_interval_that_excludes_0_is_not_written_as_if_it_ended_there(
    mean: float, low: float, high: float, written: str
) -> None:
    assert format_interval(mean, MeanInterval(low, high)) == written


def test_shares_are_per_cent() -> None:
    assert format_percentage(-0.113, MeanInterval(-0.145, -0.08)) == "−11.3 [−14.5, −8.0]"


def test_sizes_have_two_digits() -> None:
    assert [format_size(v) for v in (0.0346, 12.3, 123.0, math.nan)] == ["0.035", "12", "123", "—"]
