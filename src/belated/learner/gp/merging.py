"""Outcomes of one query as one, exactly: a GP cannot tell them from their mean, with less noise.

r   noise variance of each outcome                               (n,)
N   1 / Σ 1/r over the outcomes of a point, the noise of their mean
w   N/r: what each outcome counts in that mean; they sum to 1 at each point          (n,)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from belated.learner.arrays import Array, Indices


class Grouping(NamedTuple):
    """Which rows belong together."""

    first: Indices  # the row where each point comes first                (points,)
    place: Indices  # the point of each row                               (n,)


class MergedOutcomes(NamedTuple):
    """One outcome for each point."""

    mean: Array  # Σ w y                                                  (points,)
    noise: Array  # N                                                     (points,)
    weights: Array  # w                                                   (n,)


def number_points(X: Array) -> Indices:
    """A number for each row, the same for equal rows."""
    known: dict[bytes, int] = {}
    return np.array([known.setdefault(x.tobytes(), len(known)) for x in X], dtype=np.intp)


def group_rows(numbers: Indices) -> Grouping:
    """Rows of the same number together, in the order in which they first come. Numbers are counted from 0, with few
    left out."""
    n = len(numbers)
    if np.all(numbers[1:] > numbers[:-1]):  # each its own
        return Grouping(np.arange(n), np.arange(n))
    found = np.full(int(np.max(numbers, initial=-1)) + 1, n, dtype=np.intp)  # by number: the row where it comes first
    found[numbers[::-1]] = np.arange(n)[::-1]  # of several, the last one stays
    order = np.argsort(found)[: np.count_nonzero(found < n)]
    rank = np.empty(len(found), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return Grouping(found[order], rank[numbers])


def merge_outcomes(grouping: Grouping, y: Array, noise: Array) -> MergedOutcomes:
    """The outcomes of each point as one; a point with a single outcome keeps it, bit for bit."""
    place, points = grouping.place, len(grouping.first)
    if points == len(y):
        return MergedOutcomes(y, noise, np.ones(points))
    least = np.full(points, np.inf)
    np.minimum.at(least, place, noise)
    with np.errstate(invalid="ignore"):
        ratio = np.where(noise == least[place], 1.0, least[place] / noise)  # an outcome without noise outweighs others
    total = np.bincount(place, ratio, minlength=points)
    weights = ratio / total[place]
    mean: Array = np.bincount(place, weights * y, minlength=points).astype(np.float64)
    return MergedOutcomes(mean, least / total, weights)
