"""The first rows of a belief, which are summarised, without the rows themselves.

A belief about very many queries is a summary of the oldest and the newest as they are (summary.py). As long as nothing
happens to an old query, its summary only grows. So whoever has it needs to be told of the newest rows alone, and a
belief costs the same however many there are. The numbers are those of a belief from all rows, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.learner.arrays import Array, Indices
from belated.learner.gp.merging import group_rows, merge_outcomes, number_points
from belated.learner.gp.posterior import GP, GrowingPosterior, NewestRows, OldOutcomes, Posterior
from belated.learner.gp.summary import CentreSums, SummaryStore, find_rows

KEPT = 2  # of the heard, and of the belief


class OutcomeRows(NamedTuple):
    """Outcomes in order of arrival, on the model's scale."""

    ids: Indices  # their numbers
    X: Array
    y: Array
    lams: Array
    points: Indices  # a number for each query


class Begun(NamedTuple):
    """What a history leaves out: the first rows of a belief."""

    origin: object  # the same as long as these rows, and the hyperparameters, are the same
    length: int  # of these rows
    read: Callable[[], OutcomeRows]  # all outcomes, for whoever has no summary of them


@dataclass(frozen=True, eq=False)
class Beginning:
    """What the first rows say about f at the centres. `extend` returns that of more rows."""

    sums: CentreSums
    b: Array
    place: Indices  # the centre that is nearest to each row
    ids: Indices  # the numbers of the outcomes

    @cached_property
    def average(self) -> Array:
        """What they say of f(Z), less the mean."""
        return self.sums.average(self.b)

    @cached_property
    def old(self) -> OldOutcomes:
        return OldOutcomes(self.ids, np.flatnonzero(np.bincount(self.place)))

    def extend(self, X: Array, lams: Array, y: Array, ids: Indices) -> Beginning:
        """That of these rows too, with their outcomes less the mean."""
        sums, place, blocks = self.sums.extend(X, lams, y)
        b = self.b
        for block in blocks:
            b = b + block.b
        return Beginning(sums, b, np.concatenate([self.place, place]), np.concatenate([self.ids, ids]))


def begin(gp: GP, rows: OutcomeRows, count: int, centres: Sequence[int], store: SummaryStore) -> Beginning:
    """What the first of all rows say, `count` of them."""
    grouping = group_rows(rows.points)
    merged, first = merge_outcomes(grouping, rows.y, rows.lams), grouping.first[:count]
    found, outcomes = find_rows(centres, rows.ids, grouping.place, count), merged.mean[:count] - gp.mean
    summary = store.summarise(gp.kernel, rows.X[first], merged.noise[:count], outcomes, found)
    return Beginning(summary.sums, summary.sum_outcomes(outcomes), summary.place, rows.ids[grouping.place < count])


@dataclass
class BeginningStore:
    """The beginnings of the last beliefs, so that the next ones go on from them; a fresh start gives the same."""

    kept: list[tuple[object, Beginning]] = field(default_factory=list)

    def find(self, begun: Begun, most: int) -> Beginning | None:
        """The longest one that is at least as long as what is left out, and at most as long as this."""
        found = [
            each for origin, each in self.kept if origin is begun.origin and begun.length <= each.sums.count <= most
        ]
        return max(found, key=lambda each: each.sums.count, default=None)

    def keep(self, begun: Begun, beginning: Beginning) -> None:
        """Keep it, and one other that has the same origin."""
        others = [(origin, each) for origin, each in self.kept if origin is begun.origin and each is not beginning]
        self.kept = [(begun.origin, beginning), *others][:KEPT]


@dataclass
class GrowingBegun:
    """What gives beliefs from their newest rows, as `GrowingPosterior` does from all."""

    store: BeginningStore
    begun: Begun
    newest: GrowingPosterior

    def condition(
        self,
        gp: GP,
        ids: Sequence[int] | NDArray[np.intp],
        X: Array,
        y_tilde: Array,
        lams: Array,
        Q: Array | None = None,
        points: Indices | None = None,
        centres: Sequence[int] = (),
        pairs: int = 0,
    ) -> Posterior:
        """The belief of the rows that are left out, and of outcomes y_tilde at X after them."""
        numbers = np.asarray(ids, dtype=np.intp)
        grouping = group_rows(number_points(X) if points is None else points)
        merged, X = merge_outcomes(grouping, y_tilde, lams), X[grouping.first]
        left_out = self.begun.length
        count = self.newest.store.sizes.count_summarised(left_out + len(X), pairs)
        beginning = self._find(gp, centres, count)
        more = slice(beginning.sums.count - left_out, count - left_out)
        if more.start < more.stop:
            within = (more.start <= grouping.place) & (grouping.place < more.stop)
            y = merged.mean[more] - gp.mean
            beginning = beginning.extend(X[more], merged.noise[more], y, numbers[within])
        self.store.keep(self.begun, beginning)
        old = count - left_out
        rest = NewestRows(X[old:], merged.mean[old:], merged.noise[old:])
        posterior = self.newest.grow_on(gp, beginning.sums, beginning.average, rest, Q)
        rows = np.concatenate([beginning.place[left_out:], np.arange(len(beginning.sums.Z), len(posterior.X))])
        return replace(posterior, ids=numbers, place=rows[grouping.place], weights=merged.weights, old=beginning.old)

    def _find(self, gp: GP, centres: Sequence[int], count: int) -> Beginning:
        """What is known of the first rows, or else what all outcomes say."""
        found = self.store.find(self.begun, count)
        return found or begin(gp, self.begun.read(), self.begun.length, centres, self.newest.store)
