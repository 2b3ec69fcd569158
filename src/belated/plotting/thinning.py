"""Fewer marks than there are trials: the newest, the best, and an even choice of the rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from belated.learner.arrays import Array
from belated.learner.delays.survival import spread_evenly

NEWEST = BEST = 0.25  # of the marks that are kept


def choose_marks(worth: Array, most: int) -> NDArray[np.intp]:
    """The rows to draw, in order, at most so many: the newest (last), the best, and an even choice of the others.

    worth  the larger, the better; NaN where nothing is known

    >>> import numpy as np
    >>> from belated.plotting.thinning import choose_marks
    >>> choose_marks(np.array([0.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 4).tolist()
    [0, 1, 6, 7]
    """
    n = len(worth)
    if n <= most:
        return np.arange(n)
    newest = np.arange(n - int(NEWEST * most), n)
    best = np.argsort(np.where(np.isnan(worth), -np.inf, worth), kind="stable")[n - int(BEST * most) :]
    kept = np.union1d(newest, best)
    rest = np.setdiff1d(np.arange(n), kept)
    return np.union1d(kept, rest[spread_evenly(len(rest), most - len(kept))])
