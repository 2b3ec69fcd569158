"""Anchors, words and tables of a report."""

import pytest

from reproduction.report.document import (
    Code,
    Strong,
    TableBlock,
    extract_text,
    find_pictures,
    make_slug,
)
from tests.reproduction.report.example_blocks import BLOCKS


def test_anchors_are_githubs() -> None:
    assert make_slug("Fig. 2a: SVM, UCB, Poisson(10) delays") == "fig-2a-svm-ucb-poisson10-delays"


def test_small_things() -> None:
    assert extract_text(("a ", Strong("b"), Code("c"))) == "a bc"
    assert find_pictures(BLOCKS) == [BLOCKS[-1]]
    with pytest.raises(ValueError, match="2 cells"):
        TableBlock(("a", "b"), (("c",),))
