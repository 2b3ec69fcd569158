"""Names at the ends of lines never cover each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.plotting.style import push_apart

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
