"""Values as text: what is written is read back."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import belated
from belated.cli.io.cells import ParameterTexts, format_time, parse_day, parse_time, parse_whole, write_options
from belated.errors import InvalidInput
from belated.space.encoding import Space
from belated.validation import make_key

SCALARS = st.one_of(
    st.text(max_size=4), st.integers(-9, 9), st.floats(allow_nan=False, allow_infinity=False), st.none(), st.booleans()
)


@given(st.lists(SCALARS, min_size=2, max_size=6, unique_by=lambda v: (str(type(v)), v)))
@example(["1", 1])
@example(["null", None, "a"])
@example(['"1"', "1", 1])
@example(["2.0", 2])
def test_every_option_is_written_so_that_it_is_read_back(options: list[Any]) -> None:
    if len(set(options)) < len(options):  # 1 beside True, 0 beside False: no Choice
        return
    written = write_options(options)
    assert len(written) == len(options)
    texts = ParameterTexts(Space.of({"c": belated.Choice(*options)}))
    for option in options:
        text = texts.format("c", option)
        assert text.strip()
        assert text.isprintable()
        assert make_key(texts.parse("c", text)) == make_key(option)


@given(st.floats(-1e10, 2e11))
@example(1_772_375_400.1234567)
@example(0.0)
@example(-0.25)
@example(1e-7)
def test_a_time_is_written_so_that_it_is_read_back(at: float) -> None:
    text = format_time(at)
    read = parse_time(text)
    assert (read.timestamp() if isinstance(read, datetime) else read) == at
    assert text.endswith("+00:00") or -1 < at < 0


@given(st.integers(10**14, 10**17))
def test_a_time_of_today_has_seven_decimals_at_most(ticks: int) -> None:
    at = ticks / 10**7
    decimals = format_time(at).removesuffix("+00:00").partition(".")[2]
    assert len(decimals) <= 7
    assert parse_time(format_time(1795028192.2060273)) == 1795028192.2060273
    assert format_time(1795028192.2060273) == "2026-11-18T18:56:32.2060273+00:00"


def test_a_time_that_no_calendar_has_is_written_in_seconds() -> None:
    assert format_time(1e15) == "1000000000000000.0"


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("2026-03-01T14:30", datetime(2026, 3, 1, 14, 30)),
        ("1.3.2026", datetime(2026, 3, 1)),
        ("01.03.2026 14:30", datetime(2026, 3, 1, 14, 30)),
        ("01.03.2026 14:30:05", datetime(2026, 3, 1, 14, 30, 5)),
    ],
)
def test_days_may_come_first(text: str, when: datetime) -> None:
    assert parse_time(text) == when


@pytest.mark.parametrize("text", ["31.2.2026", "1.13.2026", "soon", "01/03/2026"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="must be a time such as"):
        parse_time(text)


@pytest.mark.parametrize(("text", "number"), [("2", 2), ("2.0", 2), (" -3.000 ", -3)])
def test_a_whole_number_may_have_a_point_and_zeros(text: str, number: int) -> None:
    assert parse_whole(text) == number


@pytest.mark.parametrize("text", ["2.", "2.5", "2.0e0", ".0", "1e3", "two"])
def test_other_numbers_are_not_whole(text: str) -> None:
    with pytest.raises(InvalidInput, match="must be an integer"):
        parse_whole(text)


@pytest.mark.parametrize("text", ["2026-03-01", "1.3.2026", "20260301", " 20260301 "])
def test_a_day_is_written_as_people_do(text: str) -> None:
    assert parse_day(text, "day") == datetime(2026, 3, 1)


def test_a_day_that_no_calendar_has_is_refused() -> None:
    for text in ("20261301", "03/01/2026", "yesterday"):
        with pytest.raises(InvalidInput, match="day must be a date such as 2026-03-01, or a time"):
            parse_day(text, "day")
    assert parse_day("1772323200", "day") == 1772323200.0
