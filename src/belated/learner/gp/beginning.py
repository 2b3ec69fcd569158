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
from belated.learner.gp.aside import OldRows, RowOutcomes
from belated.learner.gp.merging import group_rows, merge_outcomes, number_points
from belated.learner.gp.posterior import GP, GrowingPosterior, NewestRows, OldOutcomes, Posterior
from belated.learner.gp.summary import CentreSums, OtherRows, SummaryStore, find_rows

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

    level: float  # the mean of f
    sums: CentreSums
    b: Array
    place: Indices  # the centre that is nearest to each row
    ids: Indices  # the numbers of the outcomes
    aside: OldRows  # rows that are not summarised

    @cached_property
    def others(self) -> OtherRows:
        """What is summarised."""
        return self.sums.take_out(self.aside.X, self.aside.noise)

    @cached_property
    def average(self) -> Array:
        """What it says of f(Z), less the mean."""
        return self.others.sums.average(self.b - self.others.weights @ (self.aside.mean - self.level))

    @cached_property
    def rows(self) -> Indices:
        """The row of a posterior that stands for each row."""
        rows, M = self.place.copy(), len(self.sums.Z)
        rows[self.aside.rows] = np.arange(M, M + len(self.aside.rows))
        return rows

    @cached_property
    def summarised(self) -> Indices:
        """The numbers of the outcomes that are."""
        return self.ids[~np.isin(self.ids, self.aside.outcomes.ids)]

    @cached_property
    def near(self) -> Indices:
        """The centres that are the nearest to one of them."""
        return np.flatnonzero(np.bincount(np.delete(self.place, self.aside.rows)))

    def list_old(self, left_out: int) -> OldOutcomes:
        """The outcomes that are summarised, and the others that belong to the first rows, so many of them."""
        first, M = np.flatnonzero(self.aside.rows < left_out), len(self.sums.Z)
        outcomes = self.aside.outcomes.take(first)
        rows = np.concatenate([self.near, M + first])
        return OldOutcomes(self.summarised, rows, outcomes._replace(place=M + outcomes.place))

    def extend(self, rows: NewestRows, outcomes: RowOutcomes) -> Beginning:
        """That of these rows too."""
        more, b = self.sums.extend(rows.X, rows.noise, rows.mean - self.level), self.b
        for block in more.blocks:
            b = b + block.b
        place, ids = np.concatenate([self.place, more.place]), np.concatenate([self.ids, outcomes.ids])
        numbers = np.arange(self.sums.count, more.sums.count)
        new = OldRows(numbers, rows.X, rows.mean, rows.noise, more.left, outcomes)
        aside = self.aside.join(new).choose(self.sums.kernel.variance, self.sums.sizes.aside)
        return Beginning(self.level, more.sums, b, place, ids, aside)


def begin(gp: GP, rows: OutcomeRows, count: int, centres: Sequence[int], store: SummaryStore) -> Beginning:
    """What the first of all rows say, `count` of them."""
    grouping = group_rows(rows.points)
    merged, X = merge_outcomes(grouping, rows.y, rows.lams), rows.X[grouping.first[:count]]
    mean, noise, within = merged.mean[:count], merged.noise[:count], grouping.place < count
    found = find_rows(centres, rows.ids, grouping.place, count)
    summary = store.summarise(gp.kernel, X, noise, mean - gp.mean, found)
    outcomes = RowOutcomes(rows.ids[within], grouping.place[within], merged.weights[within])
    aside = OldRows(np.arange(count), X, mean, noise, summary.left, outcomes).choose(
        gp.kernel.variance, store.sizes.aside
    )
    b = summary.sum_outcomes(mean - gp.mean)
    return Beginning(gp.mean, summary.sums, b, summary.place, outcomes.ids, aside)


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
            rows = NewestRows(X[more], merged.mean[more], merged.noise[more])
            beginning = beginning.extend(
                rows, RowOutcomes(numbers[within], grouping.place[within] - more.start, merged.weights[within])
            )
        self.store.keep(self.begun, beginning)
        old, aside, M = count - left_out, beginning.aside, len(beginning.sums.Z)
        rest = NewestRows(
            np.vstack([aside.X, X[old:]]),
            np.concatenate([aside.mean, merged.mean[old:]]),
            np.concatenate([aside.noise, merged.noise[old:]]),
        )
        posterior = self.newest.grow_on(gp, beginning.others.sums, beginning.average, rest, Q)
        place = np.concatenate([beginning.rows[left_out:], np.arange(M + len(aside.rows), len(posterior.X))])
        return replace(
            posterior,
            ids=numbers,
            place=place[grouping.place],
            weights=merged.weights,
            old=beginning.list_old(left_out),
        )

    def _find(self, gp: GP, centres: Sequence[int], count: int) -> Beginning:
        """What is known of the first rows, or else what all outcomes say."""
        found = self.store.find(self.begun, count)
        return found or begin(gp, self.begun.read(), self.begun.length, centres, self.newest.store)
