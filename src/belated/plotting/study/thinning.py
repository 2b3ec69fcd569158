"""Fewer marks than there are trials: the newest, the best, and an even choice of the rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from belated.learner.arrays import Array, Mask
from belated.learner.delays.survival import spread_evenly

MOST_OUTCOMES, MOST_NEAR = 1200, 500  # marks over time, and beside a belief
NEWEST, BEST, NEAREST = 0.05, 0.05, 0.5  # of the marks that are kept: few, since many would look like a pattern


def choose_marks(worth: Array, most: int, best: float = BEST) -> NDArray[np.intp]:
    """The rows to draw, in order, at most so many: the newest (last), the best, and an even choice of the others.

    worth  the larger, the better; NaN where nothing is known
    best   the share of the marks that the best get

    >>> import numpy as np
    >>> from belated.plotting.study.thinning import choose_marks
    >>> choose_marks(np.array([0.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 4, best=0.25).tolist()
    [0, 1, 4, 7]
    """
    n = len(worth)
    if n <= most:
        return np.arange(n)
    newest = np.arange(n - int(NEWEST * most), n)
    ordered = np.argsort(np.where(np.isnan(worth), -np.inf, worth), kind="stable")
    kept = np.union1d(newest, ordered[n - int(best * most) :])
    rest = np.setdiff1d(np.arange(n), kept)
    return np.union1d(kept, rest[spread_evenly(len(rest), most - len(kept))])


def find_drawn(mask: Mask, worth: Array, most: int) -> Mask:
    """Which of the rows of a mask are drawn, at most so many."""
    rows = np.flatnonzero(mask)
    drawn = np.zeros(len(mask), dtype=bool)
    drawn[rows[choose_marks(worth[rows], most)]] = True
    return drawn


def choose_near(nearness: Array) -> NDArray[np.intp]:
    """Which outcomes are drawn beside a belief: the nearest, the newest and some others."""
    return choose_marks(nearness, MOST_NEAR, NEAREST)
