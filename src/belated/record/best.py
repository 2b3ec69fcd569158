"""The best query of a study so far: the best outcome that was told, or the best rate that is believed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from belated.errors import NothingHeard
from belated.learner.arrays import Array, Mask
from belated.learner.history import History
from belated.record.choices import Knowledge
from belated.results import Belief

ENOUGH = 0.5  # of how often a query was asked on average: of those asked less often, too little is known


def find_best_told(known: Knowledge, z: Array | None) -> int:
    """The row with the best outcome, in one context or in all; of equal ones the first."""
    h, sign = known.history, known.problem.bounds.sign
    told = h.arrived & _select_context(known, z)
    if not np.any(told):
        raise NothingHeard
    return int(np.argmax(np.where(told, sign * h.y, -np.inf)))


def find_best_rate(known: Knowledge, z: Array | None, believe: Callable[[Array], Belief]) -> tuple[int, Belief]:
    """The first row of the query with the best rate, in one context or over all that were asked, and its belief.

    The best rate is the one whose interval begins highest, of the queries that were asked at least half as often as
    the average one: one that was shown once, and converted, says little beside one that was shown a thousand times."""
    h = known.history
    asked, heard = count_people(h)
    rows = np.flatnonzero((asked > 0) & _select_context(known, z))
    if not np.any(heard) or not len(rows):
        raise NothingHeard
    _, first, place = np.unique(h.point[rows], return_index=True, return_inverse=True)
    count = np.bincount(place, asked[rows])
    cells = np.sort(rows[first[count >= ENOUGH * np.mean(count)]])
    belief = believe(h.X[cells])
    k = int(np.lexsort((cells, -belief.mean, -belief.low))[0])
    return int(cells[k]), Belief(*(column[k : k + 1] for column in belief))


def _select_context(known: Knowledge, z: Array | None) -> Mask:
    h = known.history
    return np.ones(len(h.X), dtype=bool) if z is None else np.all(h.X[:, : known.problem.split] == z, axis=1)


def count_trials(h: History, row: Array, conversions: bool) -> tuple[int, int]:
    """How often a query was asked in its context, and how many of these were heard; of conversions, how many came."""
    here = np.all(h.X == row, axis=1)
    asked, heard = count_people(h) if conversions else (~h.gone, h.arrived)
    return int(np.sum(asked[here])), int(np.sum(heard[here]))


def count_people(h: History) -> tuple[Array, Array]:
    """How many people each row stands for, and how many of them have converted."""
    asked = np.where(h.gone, 0.0, 1.0)
    heard = np.where(h.seen & (np.nan_to_num(h.y) > 0), 1.0, 0.0)
    if h.counts is not None:
        asked[h.counts.number - 1], heard[h.counts.number - 1] = h.counts.shown, h.counts.converted
    return asked, heard
