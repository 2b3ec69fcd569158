"""The outcomes of a study by query, in the order of arrival, kept while trials are asked, told and lost.

Where outcomes repeat, a choice rests on one row for each query: the mean of its outcomes and the noise of that mean
(learner/gp/merging.py). Another outcome changes one of these rows. So an ask costs what its different queries cost,
however many outcomes there are.

Whatever else happens to a trial (a correction, an undo), the index is thrown away and made again from the columns.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from belated.learner.arrays import Array, Indices, Mask
from belated.learner.gp.merging import Grouping, group_rows, merge_outcomes
from belated.learner.gp.scale import Scale
from belated.learner.history import Tally, scale_noise

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


@dataclass(frozen=True)
class BaseSums:
    """The sums of the outcomes that came first, some number of them."""

    scale: Scale
    lam: float
    count: int
    sums: OutcomeSums
    outcomes: Indices  # how many each row stands for


class OutcomeIndex:
    """Which trials were heard, in order, by query; which are out; and what a schedule of fits counts."""

    def __init__(self, columns: Mapping[str, Any], X: Array, n: int, split: int) -> None:
        told = np.isfinite(columns["delay"][:n])
        rows = np.flatnonzero(told)
        rows = rows[np.argsort(columns["order"][rows], kind="stable")]
        point = columns["point"][:n]
        self.columns, self.split = columns, split
        self.arrivals = array("q", rows.astype(np.int64).tobytes())
        self.late = bytearray((columns["delay"][rows] > columns["m"][rows]).tobytes())
        gone, infeasible = columns["gone"][:n], columns["infeasible"][:n]
        self.out = dict.fromkeys(np.flatnonzero(~(told | gone | infeasible)).tolist())  # not heard, and not ended
        self.alive = Counter(dict(enumerate(np.bincount(point[~gone]).tolist())))  # trials of each query that count
        self.queries = sum(1 for count in self.alive.values() if count)
        self.infeasible = int(np.sum(infeasible))
        chosen = np.flatnonzero(~columns["by_hand"][:n])
        self.newest_choice = int(chosen[-1]) + 1 if len(chosen) else 0
        contexts = X[np.unique(point, return_index=True)[1], :split]
        self.contexts = {_name_context(z): z + 0.0 for z in contexts}  # of all trials, asked or added
        self.chosen = Counter(_name_context(x) for x in X[chosen, :split])  # how many we chose in each context
        y = columns["y"][rows]
        self.least, self.most = float(np.min(y, initial=np.inf)), float(np.max(y, initial=-np.inf))
        grouping = group_rows(point[rows])
        self.places = dict(zip(point[rows[grouping.first]].tolist(), range(len(grouping.first)), strict=True))
        by_query = rows[np.argsort(grouping.place, kind="stable")]
        ends = np.cumsum(np.bincount(grouping.place, minlength=len(grouping.first)))
        self.members = [array("q", part.tobytes()) for part in np.split(by_query.astype(np.int64), ends[:-1])]
        self.merged: MergedQueries | None = None
        self.base: BaseSums | None = None

    # What happens -----------------------------------------------------------------------------------------------------

    def note_asked(self, i: int, x: Array) -> None:
        """A query is out, the newest."""
        self.out[i] = None
        point = self.columns["point"][i].item()
        self.queries += not self.alive[point]
        self.alive[point] += 1
        z = x[: self.split] + 0.0
        self.contexts.setdefault(_name_context(z), z)
        if not self.columns["by_hand"][i]:
            self.newest_choice = i + 1
            self.chosen[_name_context(x[: self.split])] += 1

    def note_told(self, i: int) -> None:
        """A query that was out has its first outcome, the newest."""
        columns = self.columns
        del self.out[i]
        self.arrivals.append(i)
        self.late.append(bool(columns["delay"][i] > columns["m"][i]))
        y, point = columns["y"][i].item(), columns["point"][i].item()
        self.least, self.most = min(self.least, y), max(self.most, y)
        place = self.places.setdefault(point, len(self.members))
        if place == len(self.members):
            self.members.append(array("q"))
        self.members[place].append(i)
        if self.merged is not None:
            self.merged.old.add(place)

    def note_gone(self, i: int) -> None:
        """A query that was out is lost or withdrawn."""
        del self.out[i]
        point = self.columns["point"][i].item()
        self.alive[point] -= 1
        self.queries -= not self.alive[point]

    # What it comes to -------------------------------------------------------------------------------------------------

    def list_out(self) -> Indices:
        """The rows of the queries that have no outcome, and may still have one."""
        return np.fromiter(self.out, dtype=np.intp, count=len(self.out))

    def tally(self, pending: int, pairs: int) -> Tally:
        """What a schedule of fits counts, where so many are still within patience, of so many pairs."""
        late: Mask = np.frombuffer(bytes(self.late), dtype=bool)
        heard = len(self.arrivals)
        return Tally(
            heard=heard,
            settled_count=heard + len(self.out) - pending,
            newest_choice=self.newest_choice,
            late_by_arrival=late,
            queries=self.queries,
            pairs=pairs,
        )

    def list_contexts(self, z: Array) -> Array:
        """Every context, that of the next query included, in an order that depends on nothing else."""
        known = {**self.contexts, _name_context(z): z + 0.0}
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
                known = _merge(*self._read_outcomes(part, merged.scale, merged.lam))
                if len(part) == BLOCK:
                    merged.blocks[place, i] = known
            parts.append(known)
        return parts[0] if len(parts) == 1 else _merge(*np.array(parts).T)

    def _read_outcomes(self, rows: Indices, scale: Scale, lam: float) -> tuple[Array, Array]:
        """Some outcomes on the model's scale, and their noise."""
        own = self.columns["noise"][rows]
        noise = np.where(np.isnan(own), lam, scale_noise(own, scale.width))
        return scale.to_model(self.columns["y"][rows]), noise

    def list_base_sums(self, scale: Scale, lam: float, count: int) -> BaseSums:
        """The outcomes that came first, so many of them, merged by query."""
        base = self.base
        if base is None or (base.scale, base.lam, base.count) != (scale, lam, count):
            rows = np.array(self.arrivals[:count], dtype=np.intp)
            grouping = group_rows(self.columns["point"][rows])
            merged = merge_outcomes(grouping, *self._read_outcomes(rows, scale, lam))
            sums = OutcomeSums(rows[grouping.first], merged.mean, merged.noise)
            base = self.base = BaseSums(scale, lam, count, sums, np.bincount(grouping.place))
        return base

    def list_singles(self, scale: Scale, lam: float, count: int) -> OutcomeSums:
        """The outcomes after those, one by one."""
        rows = np.array(self.arrivals[count:], dtype=np.intp)
        return OutcomeSums(rows, *self._read_outcomes(rows, scale, lam))


def _merge(y: Array, noise: Array) -> tuple[float, float]:
    """Outcomes of one query as one."""
    one = Grouping(np.zeros(1, dtype=np.intp), np.zeros(len(y), dtype=np.intp))
    merged = merge_outcomes(one, y, noise)
    return float(merged.mean[0]), float(merged.noise[0])


def _name_context(z: Array) -> bytes:
    """Equal contexts have the same name."""
    return (z + 0.0).tobytes()


def count_chosen(index: OutcomeIndex, z: Array) -> int:
    """How many queries we chose in a context."""
    return index.chosen[_name_context(z)]
