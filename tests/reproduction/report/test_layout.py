"""Names at the ends of lines stand apart."""

import pytest

from belated.plotting.style import push_apart


def test_names_are_apart_and_in_order() -> None:
    placed = push_apart([0.1, 0.11, 0.5], gap=0.05, low=0.0)
    assert placed == pytest.approx([0.08, 0.13, 0.5])
    assert push_apart([0.0, 0.0], gap=0.05, low=0.01) == pytest.approx([0.01, 0.06])
