"""What a choice knows."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from belated.learner.arrays import Array, Mask
from belated.learner.counts import Counts
from belated.learner.gp.beginning import Begun
from belated.learner.gp.listed import Listing
from belated.learner.gp.posterior import GP
from belated.learner.gp.scale import Bounds, Scale

LEAST_NOISE, MOST_NOISE = 1e-30, 1e30  # standard deviations of an outcome, in widths of the scale


def in_time(delay: Array, age: Array, m: float | Array) -> Mask:
    """1{d_s ≤ min(m, t - s)}, the paper's indicator."""
    return np.asarray(delay <= np.minimum(m, age))


@dataclass(frozen=True, kw_only=True, eq=False)
class History:
    """What a choice knows: one row per query asked so far, by number. The model's scale has the best largest."""

    number: NDArray[np.intp]
    X: Array
    point: NDArray[np.intp]  # a number for each row of X, the same for equal rows
    y: Array  # the outcome where seen
    seen: Mask  # heard, and the model may use it
    pending: Mask  # not heard, still within patience
    infeasible: Mask  # x made it fail: counts as the floor
    gone: Mask  # lost or withdrawn: as if never asked
    recent: Mask  # age ≤ m and not gone: what ν_t sums over
    by_hand: Mask  # not chosen by us
    order: NDArray[np.intp]  # when the outcome was told, for the order of arrival
    lams: Array  # the outcome's own noise variance, NaN where lam is used
    floor: float | None  # the least value f can take; None: unknown, and no outcome is there to replace it
    age: Array  # of each query, in rounds or seconds
    m: float  # patience of now, in the same unit
    waited: Array  # d where told, the age so far elsewhere; NaN where there is no delay (added, failed)
    arrived: Mask  # told, in time or late
    late: Mask  # told after patience had run out
    counts: Counts | None = None  # of people by day; their rows here are gone
    scaled: bool = False  # whether y, lams and floor are on the model's scale already
    listing: Listing | None = None  # where the first rows are merged, and the belief is about pairs (gp/listed.py)
    begun: Begun | None = None  # where the first rows of the belief are left out (gp/beginning.py)

    @property
    def known(self) -> Mask:
        """The rows whose value needs no filling: heard, or infeasible (the floor)."""
        return self.seen | self.infeasible

    @property
    def settled(self) -> Mask:
        """Known, or silent for longer than patience: where silence does not forget, that is an outcome too."""
        return self.known | ~(self.pending | self.gone)

    @cached_property
    def heard(self) -> int:
        """How many outcomes the model may use."""
        return int(np.sum(self.seen)) + (0 if self.counts is None else int(np.sum(self.counts.converted)))

    @cached_property
    def settled_count(self) -> int:
        """How many are heard, or silent for longer than patience."""
        settled = int(np.sum(self.settled & ~self.infeasible))
        if self.counts is None:
            return settled
        over = self.counts.age - self.counts.width / 2.0 > self.m
        return settled + int(np.sum(np.where(over, self.counts.shown, self.counts.converted)))

    @cached_property
    def newest_choice(self) -> int:
        """The number of the last query that we chose, 0 for none."""
        return int(np.max(self.number[~self.by_hand], initial=0))

    @cached_property
    def late_by_arrival(self) -> Mask:
        """Whether each outcome in use came late, in order of arrival."""
        rows = np.flatnonzero(self.seen)
        late: Mask = self.late[rows[np.argsort(self.order[rows], kind="stable")]]
        return late

    @cached_property
    def queries(self) -> int:
        """How many different queries a belief may rest on."""
        points = self.point[~self.gone]
        points = points if self.counts is None else np.concatenate([points, self.counts.point])
        return int(np.count_nonzero(np.bincount(points)))

    def since(self, first: int) -> History:
        """The same without the queries before number `first`."""
        others = ("floor", "m", "counts", "scaled", "listing", "begun")
        columns = (each.name for each in fields(self) if each.name not in others)
        rows = self.number >= first
        return History(floor=self.floor, m=self.m, **{name: getattr(self, name)[rows] for name in columns})

    def without_pending(self) -> History:
        """The same as if what is pending had never been asked."""
        return replace(self, pending=np.zeros_like(self.pending), gone=self.gone | self.pending)

    def own_lams(self, gp: GP) -> Array:
        """The noise variance of each row: the outcome's own where it has one, λ elsewhere."""
        return np.where(np.isnan(self.lams), gp.lam, self.lams)


@dataclass(frozen=True, eq=False)
class Tally:
    """What a schedule of fits counts of a history."""

    heard: int
    settled_count: int
    newest_choice: int
    late_by_arrival: Mask
    queries: int
    pairs: int  # how many different queries there can be, 0: very many


def coarsen_ages(h: History) -> History:
    """The same with ages rounded down to a thousandth of patience, for a fit: so it stays the same for some time."""
    step = h.m / 1000.0
    return replace(h, age=np.floor(h.age / step + 1e-6) * step) if 0.0 < step < np.inf else h


def unroll_counts(h: History) -> History:
    """The same with a row for every person, as a method learns from it that knows no counts."""
    counts = h.counts
    if counts is None:
        return h
    silent = counts.shown - counts.converted
    times = np.column_stack([counts.converted, silent]).ravel().astype(np.intp)
    row = np.repeat(np.arange(len(counts.shown)), 2).repeat(times)
    came = np.tile([True, False], len(counts.shown)).repeat(times)
    age = (counts.age - counts.width / 2.0)[row]
    none, n = np.zeros(len(row), dtype=bool), len(row)
    return replace(
        h,
        number=np.concatenate([h.number, counts.number[row]]),
        X=np.concatenate([h.X, counts.X[row]]),
        point=np.concatenate([h.point, counts.point[row]]),
        y=np.concatenate([h.y, np.where(came, 1.0, np.nan)]),
        seen=np.concatenate([h.seen, came]),
        pending=np.concatenate([h.pending, ~came & (age <= h.m)]),
        infeasible=np.concatenate([h.infeasible, none]),
        gone=np.concatenate([h.gone, none]),
        recent=np.concatenate([h.recent, age <= h.m]),
        by_hand=np.concatenate([h.by_hand, ~none]),
        order=np.concatenate([h.order, counts.number[row]]),
        lams=np.concatenate([h.lams, np.full(n, np.nan)]),
        age=np.concatenate([h.age, age]),
        waited=np.concatenate([h.waited, np.full(n, np.nan)]),
        arrived=np.concatenate([h.arrived, came]),
        late=np.concatenate([h.late, none]),
        counts=None,
    )


def scale_history(h: History, bounds: Bounds, scale: Scale) -> History:
    """The history on the model's scale, with the floor or the value that replaces it."""
    if h.scaled:
        return h
    floor = bounds.stand_in(h.y[h.seen])
    on_model = scale.to_model if bounds.floor is None else scale.to_model_unbounded
    return replace(
        h,
        y=scale.to_model(h.y),
        lams=scale_noise(h.lams, scale.width),
        floor=None if floor is None else float(on_model(np.array(floor))),
    )


def scale_noise(noise: Array, width: float) -> Array:
    """The variance on the model's scale. A noise that is tiny or huge beside the outcomes is bounded, so that neither
    the variance nor its inverse overflows."""
    with np.errstate(over="ignore"):
        return np.square(np.clip(noise / width, LEAST_NOISE, MOST_NOISE))


def order_by_arrival(h: History) -> NDArray[np.intp]:
    """The known rows in order of arrival."""
    rows = np.flatnonzero(h.known)
    order = h.order[rows]
    return rows if np.all(order[1:] >= order[:-1]) else rows[np.argsort(order, kind="stable")]
