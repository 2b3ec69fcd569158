"""The outcomes of a study by query, in the order of arrival, where they repeat.

Where outcomes repeat, a choice rests on one row for each query: the mean of its outcomes and the noise of that mean
(learner/gp/merging.py). Another outcome changes one of these rows. So an ask costs what its different queries cost,
however many outcomes there are.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from belated.learner.arrays import Array, Indices
from belated.learner.gp.merging import Grouping, group_rows, merge_outcomes
from belated.learner.gp.scale import Scale
from belated.record.arrival_index import ArrivalIndex, name_context

BLOCK = 16_384  # outcomes of one query that are merged at once; beyond, block by block, and then their means


class OutcomeSums(NamedTuple):
    """One row for each query, in the order in which they were first heard, on the model's scale."""

    first: Indices  # the trial that was heard first, as its row
    mean: Array
    noise: Array  # variance of that mean


@dataclass
class MergedQueries:
    """The sums for one scale and λ, and of which queries they are out of date."""

    scale: Scale
    lam: float
    mean: list[float] = field(default_factory=list)
    noise: list[float] = field(default_factory=list)
    blocks: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)  # full ones, by query and number
    old: set[int] = field(default_factory=set)

    def fork(self) -> MergedQueries:
        """An independent copy."""
        return replace(self, mean=self.mean[:], noise=self.noise[:], blocks=dict(self.blocks), old=set(self.old))


@dataclass(frozen=True)
class BaseSums:
    """The sums of the outcomes that came first, some number of them."""

    scale: Scale
    lam: float
    count: int
    sums: OutcomeSums
    outcomes: Indices  # how many each row stands for


class OutcomeIndex:
    """The outcomes of each query, where they repeat."""

    def __init__(self, columns: Mapping[str, Any], X: Array, n: int, split: int) -> None:
        self.arrived = ArrivalIndex(columns, X, n, split)
        rows, point = np.array(self.arrived.arrivals, dtype=np.intp), columns["point"][:n]
        contexts = X[np.unique(point, return_index=True)[1], :split]
        self.contexts = {name_context(z): z + 0.0 for z in contexts}  # of all trials, asked or added
        grouping = group_rows(point[rows])
        self.places = dict(zip(point[rows[grouping.first]].tolist(), range(len(grouping.first)), strict=True))
        by_query = rows[np.argsort(grouping.place, kind="stable")]
        ends = np.cumsum(np.bincount(grouping.place, minlength=len(grouping.first)))
        self.members = [array("q", part.tobytes()) for part in np.split(by_query.astype(np.int64), ends[:-1])]
        self.merged: MergedQueries | None = None
        self.base: BaseSums | None = None

    def fork(self) -> OutcomeIndex:
        """An independent copy, on the same columns."""
        other = copy(self)
        other.arrived, other.contexts, other.places = self.arrived.fork(), dict(self.contexts), dict(self.places)
        other.members = [rows[:] for rows in self.members]
        other.merged = None if self.merged is None else self.merged.fork()
        return other

    def note_asked(self, i: int, x: Array) -> None:
        """A query is out, the newest."""
        self.arrived.note_asked(i, x)
        z = x[: self.arrived.split] + 0.0
        self.contexts.setdefault(name_context(z), z)

    def note_told(self, i: int) -> None:
        """A query that was out has its first outcome, the newest."""
        self.arrived.note_told(i)
        point = self.arrived.columns["point"][i].item()
        place = self.places.setdefault(point, len(self.members))
        if place == len(self.members):
            self.members.append(array("q"))
        self.members[place].append(i)
        if self.merged is not None:
            self.merged.old.add(place)

    def note_gone(self, i: int) -> None:
        """A query that was out is lost or withdrawn."""
        self.arrived.note_gone(i)

    def list_contexts(self, z: Array) -> Array:
        """Every context, that of the next query included, in an order that depends on nothing else."""
        known = {**self.contexts, name_context(z): z + 0.0}
        return np.array([known[name] for name in sorted(known)])

    def list_sums(self, scale: Scale, lam: float) -> OutcomeSums:
        """Every outcome, merged by query."""
        merged = self.merged
        if merged is None or (merged.scale, merged.lam) != (scale, lam):
            merged = self.merged = MergedQueries(scale, lam, old=set(range(len(self.members))))
        for place in sorted(merged.old):
            mean, noise = self._merge_query(merged, place)
            merged.mean[place : place + 1], merged.noise[place : place + 1] = [mean], [noise]
        merged.old.clear()
        first = np.array([rows[0] for rows in self.members], dtype=np.intp)
        return OutcomeSums(first, np.array(merged.mean), np.array(merged.noise))

    def _merge_query(self, merged: MergedQueries, place: int) -> tuple[float, float]:
        """Mean and noise of the outcomes of one query; with many of them, from the means of blocks."""
        rows = np.array(self.members[place], dtype=np.intp)
        parts = []
        for i, start in enumerate(range(0, len(rows), BLOCK)):
            part = rows[start : start + BLOCK]
            known = merged.blocks.get((place, i))
            if known is None:
                known = _merge(*self.arrived.read_outcomes(part, merged.scale, merged.lam))
                if len(part) == BLOCK:
                    merged.blocks[place, i] = known
            parts.append(known)
        return parts[0] if len(parts) == 1 else _merge(*np.array(parts).T)

    def list_base_sums(self, scale: Scale, lam: float, count: int) -> BaseSums:
        """The outcomes that came first, so many of them, merged by query."""
        base = self.base
        if base is None or (base.scale, base.lam, base.count) != (scale, lam, count):
            rows = np.array(self.arrived.arrivals[:count], dtype=np.intp)
            grouping = group_rows(self.arrived.columns["point"][rows])
            merged = merge_outcomes(grouping, *self.arrived.read_outcomes(rows, scale, lam))
            sums = OutcomeSums(rows[grouping.first], merged.mean, merged.noise)
            base = self.base = BaseSums(scale, lam, count, sums, np.bincount(grouping.place))
        return base

    def list_singles(self, scale: Scale, lam: float, count: int) -> OutcomeSums:
        """The outcomes after those, one by one."""
        rows = np.array(self.arrived.arrivals[count:], dtype=np.intp)
        return OutcomeSums(rows, *self.arrived.read_outcomes(rows, scale, lam))


def _merge(y: Array, noise: Array) -> tuple[float, float]:
    """Outcomes of one query as one."""
    one = Grouping(np.zeros(1, dtype=np.intp), np.zeros(len(y), dtype=np.intp))
    merged = merge_outcomes(one, y, noise)
    return float(merged.mean[0]), float(merged.noise[0])
