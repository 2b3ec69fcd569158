"""Durations read as they are written, and patience is rounds, time or none."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.errors import InvalidInput
from belated.patience import Patience, describe_chosen, parse_duration
from belated.validation import format_value


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("14d", 1209600.0),
        ("2w", 1209600.0),
        ("1h", 3600.0),
        ("1.5h", 5400.0),
        ("15m", 900.0),
        ("90s", 90.0),
        ("500ms", 0.5),
        ("9ms", 0.009),
        ("1e3s", 1000.0),
        (" 90 s ", 90.0),
        (timedelta(days=1, seconds=1), 86401.0),
        (20, 20.0),
        (0.25, 0.25),
        (np.int64(3), 3.0),
    ],
)
def test_duration(value: Any, seconds: float) -> None:
    assert parse_duration(value) == seconds
    assert type(parse_duration(value)) is float


WRITTEN = 'must be a number and a unit such as "14d", "1h", "15m", "90s"'
KINDS = 'must be a timedelta, seconds, or a string such as "90s"'


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("", WRITTEN),
        ("20", WRITTEN),
        ("d", WRITTEN),
        ("14 days", WRITTEN),
        ("-1d", WRITTEN),
        ("1d12h", WRITTEN),
        ("nans", WRITTEN),
        ("infd", WRITTEN),
        ("14D", WRITTEN),
        ("\u0661d", WRITTEN),
        ("0s", "must be more than 0 and finite"),
        ("9" * 400 + "d", "must be more than 0 and finite"),
        (0, "must be more than 0 and finite"),
        (-1.5, "must be more than 0 and finite"),
        (timedelta(0), "must be more than 0 and finite"),
        (timedelta(days=-1), "must be more than 0 and finite"),
        (math.nan, "must be a finite number"),
        (math.inf, "must be a finite number"),
        (10**5000, "must be a finite number"),
        (True, KINDS),
        (None, KINDS),
        ([90], KINDS),
        (b"90s", KINDS),
    ],
    ids=format_value,
)
def test_duration_refuses(value: Any, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rf"^every {re.escape(rule)} \(got [^\n]*\)$"):
        parse_duration(value, "every")


@pytest.mark.parametrize(
    ("value", "m", "by_clock", "text"),
    [
        (None, math.inf, False, "none"),
        (20, 20.0, False, "20 rounds"),
        (20.0, 20.0, False, "20 rounds"),
        (np.int64(20), 20.0, False, "20 rounds"),
        (1, 1.0, False, "1 round"),
        ("14d", 1209600.0, True, "14d"),
        ("2w", 1209600.0, True, "14d"),
        (timedelta(days=14), 1209600.0, True, "14d"),
        ("24h", 86400.0, True, "1d"),
        ("1.5h", 5400.0, True, "90m"),
        ("90s", 90.0, True, "90s"),
        ("0.5s", 0.5, True, "500ms"),
        (timedelta(microseconds=1), 1e-6, True, "1e-06s"),
    ],
)
def test_patience(value: Any, m: float, by_clock: bool, text: str) -> None:
    patience = Patience.of(value)
    assert patience == Patience(m, by_clock)
    assert str(patience) == text
    assert Patience.of(patience) is patience


@given(st.floats(min_value=0, exclude_min=True, allow_infinity=False) | st.integers(1, 10**9).map(lambda k: k / 1000))
def test_a_patience_reads_back_as_it_is_written(seconds: float) -> None:
    patience = Patience(seconds, by_clock=True)
    assert Patience.of(str(patience)) == patience


def test_none_is_written_as_it_is_shown() -> None:
    assert Patience.of("none") == Patience.of(None) == Patience()
    assert str(Patience.of("none")) == "none"


ALLOWED = 'patience must be a number of rounds such as 20, a time such as "2h" or "14d", "auto", "auto-clock" or "none"'


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (0, "patience must be more than 0 (got 0)"),
        (-3, "patience must be more than 0 (got -3)"),
        (2.5, "patience in rounds must be a whole number (got 2.5)"),
        (math.nan, "patience must be a finite number (got nan)"),
        (math.inf, "patience must be a finite number (got inf)"),
        (10**400, "patience must be a finite number (got an integer of about 401 digits)"),
        (True, f"{ALLOWED} (got True)"),
        ([20], f"{ALLOWED} (got [20])"),
        ("20", f"{ALLOWED} (got '20')"),
        ("soon", f"{ALLOWED} (got 'soon')"),
        ("None", f"{ALLOWED} (got 'None')"),
        ("0d", "patience must be more than 0 and finite (got '0d')"),
        (timedelta(0), "patience must be more than 0 and finite (got datetime.timedelta(0))"),
    ],
    ids=format_value,
)
def test_patience_refuses(value: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{re.escape(sentence)}$"):
        Patience.of(value)


@pytest.mark.parametrize("arguments", [(0.0, True), (math.nan, False), (math.nan, True), (1.5, False)])
def test_no_way_around_the_rules(arguments: tuple[float, bool]) -> None:
    with pytest.raises(InvalidInput, match=r"^patience"):
        Patience(*arguments)


@pytest.mark.parametrize(("word", "by_clock", "text"), [("auto", False, "20 rounds"), ("auto-clock", True, "20s")])
def test_patience_that_the_study_chooses(word: str, by_clock: bool, text: str) -> None:
    patience = Patience.of(word)
    assert (patience.m, patience.by_clock, patience.auto) == (math.inf, by_clock, True)
    assert str(patience) == word
    assert str(Patience(20.0, by_clock, auto=True)) == f"{word}, now {text}"


@pytest.mark.parametrize(
    ("m", "text"),
    [(1.5384929180145264, "1.54s"), (349601.0, "4.05d"), (349200.0, "4.04d"), (5400.0, "90m"), (0.25, "250ms")],
)
def test_a_patience_that_a_study_chose_is_shown_rounded(m: float, text: str) -> None:
    assert describe_chosen(m, by_clock=True) == text
    assert str(Patience(m, by_clock=True, auto=True)) == f"auto-clock, now {text}"
