"""Names at the ends of lines never cover each other, and letters find a font."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.plotting import style
from belated.plotting.style import find_boxes, push_apart, write_power

GAP, LOW = 0.05, 0.01


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_names_are_apart_in_order_and_as_near_as_that_allows(ends: list[float]) -> None:
    ends = sorted(ends)
    placed = push_apart(ends, GAP, LOW)
    assert min(placed) >= LOW - 1e-12
    assert np.all(np.diff(placed) >= GAP - 1e-12)
    free = np.diff(ends) >= GAP
    if np.all(free) and ends[0] >= LOW:
        assert placed == pytest.approx(ends)


def test_letters_that_no_font_has_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    assert find_boxes(["yield (°C)", "выход"]) == ""
    monkeypatch.setattr(style, "find_missing", lambda letters, path: letters & frozenset("ф字"))
    assert find_boxes(["фa", "b字字"]) == "ф字"


def test_the_font_that_has_most_of_the_missing_letters_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = pytest.importorskip("matplotlib.font_manager").fontManager
    entries = {"one": "ab", "two": "abcd", style.FONT: "xyz", "Last Resort": "abcdefxyz"}

    class Entry:
        style = "normal"

        def __init__(self, name: str) -> None:
            self.name, self.fname = name, name

    monkeypatch.setattr(manager, "ttflist", [Entry(name) for name in entries])
    monkeypatch.setattr(style, "find_missing", lambda letters, path: letters - frozenset(entries[path]))
    assert style.find_fonts(frozenset("abcx")) == ("two",)
    assert style.find_fonts(frozenset("yf")) == ()


@pytest.mark.parametrize(
    ("value", "written"), [(0.01, "0.01"), (1.0, "1"), (1000.0, "1000"), (1e4, "10⁴"), (1e-6, "10⁻⁶"), (30.0, "")]
)
def test_powers_are_written_in_plain_letters(value: float, written: str) -> None:
    assert write_power(value) == written
