"""Which outcomes are new, where queries hardly repeat and there are too many of them for one factor.

A belief summarises the oldest queries (learner/gp/summary.py). As long as no further outcome of one of these comes, the
next belief needs the newest alone (learner/gp/beginning.py).
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from belated.learner.arrays import Array, Indices
from belated.learner.choice.candidates import LAST
from belated.learner.choice.problem import Hyperparameters
from belated.learner.gp.merging import group_rows
from belated.record.arrival_index import ArrivalIndex

UNHEARD = -1


class NewestIndex:
    """The row of a belief that each query has, and how many of the first are summarised."""

    def __init__(self, columns: Mapping[str, Any], X: Array, n: int, split: int) -> None:
        self.arrived = ArrivalIndex(columns, X, n, split)
        point = columns["point"][np.array(self.arrived.arrivals, dtype=np.intp)]
        grouping = group_rows(point)
        places = np.full(len(self.arrived.alive), UNHEARD, dtype=np.int64)
        places[point[grouping.first]] = np.arange(len(grouping.first))
        self.places = array("q", places.tobytes())  # by query: its row
        self.starts = array("q", grouping.first.astype(np.int64).tobytes())  # by row: the outcome that was its first
        self.count = 0  # of the first rows, those that the last choice summarised, in the belief from what was heard
        self.covered = 0  # the same in the belief from all that it knew
        self.fitted: Hyperparameters | None = None  # the hyperparameters that it had
        self.origin = object()  # another one when any of this has changed but by growing

    def fork(self) -> NewestIndex:
        """An independent copy, on the same columns; what is summarised is the same."""
        other = copy(self)
        other.arrived, other.places, other.starts = self.arrived.fork(), self.places[:], self.starts[:]
        return other

    def note_asked(self, i: int, x: Array) -> None:
        """A query is out, the newest."""
        self.arrived.note_asked(i, x)
        if len(self.places) < len(self.arrived.alive):
            self.places.append(UNHEARD)

    def note_told(self, i: int) -> None:
        """A query that was out has its first outcome, the newest."""
        point = self.arrived.columns["point"][i].item()
        place = self.places[point]
        if place == UNHEARD:
            self.places[point] = len(self.starts)
            self.starts.append(len(self.arrived.arrivals))
        elif place < self.covered:
            self.count, self.covered, self.origin = 0, 0, object()
        self.arrived.note_told(i)

    def note_gone(self, i: int) -> None:
        """A query that was out is lost or withdrawn."""
        self.arrived.note_gone(i)

    def begin(self, fitted: Hyperparameters, count: int, covered: int) -> int:
        """How many of the first rows need not be looked at again, where so many are to be summarised now: of those that
        were heard, and of all."""
        if fitted is not self.fitted or not 0 < self.count <= count:
            self.fitted, self.count, self.origin = fitted, count, object()
        known, self.count, self.covered = self.count, count, max(covered, self.covered)
        return known

    def holds(self, centres: Sequence[int], count: int) -> bool:
        """Whether all of these trials were heard, and their queries are among the first rows, so many."""
        rows = np.array(centres, dtype=np.intp) - 1
        places = self.find_places(rows)
        told = np.isfinite(self.arrived.columns["delay"][rows])
        return bool(np.all(told & (places < count)))

    def ends_with(self, row: int) -> bool:
        """Whether the last outcomes, near whose queries the next choice looks, are not of the first rows."""
        return bool(np.all(self.find_places(np.array(self.arrived.arrivals[-LAST:], dtype=np.intp)) >= row))

    def list_newest(self, row: int) -> Indices:
        """The trials that were heard, in order of arrival, without those of the first rows."""
        arrived = self.arrived
        rows = np.array(arrived.arrivals[self.starts[row] :] if row < len(self.starts) else (), dtype=np.intp)
        return rows[self.find_places(rows) >= row]

    def find_places(self, rows: Indices) -> Indices:
        """The row of the query of each of some trials."""
        points = self.arrived.columns["point"][rows].tolist()
        return np.array([self.places[point] for point in points], dtype=np.intp)
