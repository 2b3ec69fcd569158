"""Ticks: labels never touch, and read as people write numbers."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.plotting.study.ticks import APART, LETTER, OVER, fit_ticks, list_log_ticks, pad_range, write_numbers

Figure = pytest.importorskip("matplotlib.figure").Figure


def label_axis(low: float, high: float, wide: float, *, log: bool) -> list[tuple[float, str]]:
    """Where the labels stand, in inches, and what they say."""
    axes = Figure().add_subplot()
    ends = (math.log10(low), math.log10(high)) if log else (low, high)
    axes.set_xlim(*ends)
    fit_ticks(axes, wide, log=log)
    places = [(at - ends[0]) / (ends[1] - ends[0]) * wide for at in axes.get_xticks()]
    return list(zip(places, [label.get_text() for label in axes.get_xticklabels()], strict=True))


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (2e-3, 5e-2, ["0.003", "0.01", "0.03"]),
        (0.01, 100, ["0.01", "0.1", "1", "10", "100"]),
        (1, 20, ["1", "3", "10"]),
        (0.8, 1.7, ["0.8", "1", "1.2", "1.4", "1.6"]),
        (1e-8, 1e4, ["1e-6", "0.001", "1", "1000"]),
    ],
)
def test_a_log_axis_has_numbers_and_no_powers(low: float, high: float, labels: list[str]) -> None:
    assert [text for _, text in label_axis(low, high, 2.3, log=True)] == labels


@given(
    st.floats(-300, 300), st.floats(1e-4, 600), st.floats(1.0, 8.0)
)  # exponents of the low end and of the ratio, inches
def test_labels_of_a_log_axis_never_touch(exponent: float, decades: float, wide: float) -> None:
    high = min(exponent + decades, 307.0)
    placed = label_axis(10.0 ** min(exponent, high - 1e-4), 10.0**high, wide, log=True)
    check_apart(placed, wide)


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.floats(1.0, 8.0))
def test_labels_of_an_even_axis_never_touch(low: float, span: float, wide: float) -> None:
    check_apart(label_axis(low, low + span, wide, log=False), wide)


def check_apart(placed: list[tuple[float, str]], wide: float) -> None:
    ends = [(at - LETTER * len(text) / 2, at + LETTER * len(text) / 2) for at, text in placed]
    assert all(a[1] + APART <= b[0] + 1e-6 for a, b in pairwise(ends))
    assert all(low >= -OVER - 1e-6 and high <= wide + OVER + 1e-6 for low, high in ends)


@given(st.floats(-20, 20), st.floats(0.05, 12))
def test_a_log_axis_has_at_least_two_numbers(exponent: float, decades: float) -> None:
    assert max(len(values) for values in list_log_ticks(exponent, exponent + decades)) >= 2


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0.0, 0.25, 0.5], ["0.00", "0.25", "0.50"]),
        ([-20.0, 0.0, 20.0], ["-20", "0", "20"]),
        ([0.0, 2e-5, 4e-5], ["0", "2e-5", "4e-5"]),
        ([1e6, 2e6], ["1e6", "2e6"]),
        ([1000000.25, 1000000.5], ["1000000.25", "1000000.5"]),
    ],
)
def test_labels_are_as_long_as_they_differ(values: list[float], labels: list[str]) -> None:
    assert write_numbers(values) == labels


def test_values_that_are_all_one_still_have_a_range() -> None:
    assert pad_range([0.0, 0.0], 0.1) == (-1.0, 1.0)
    assert pad_range([5.0], 0.1) == (4.5, 5.5)
    assert pad_range([0.0, 10.0], 0.1) == (-1.0, 11.0)
