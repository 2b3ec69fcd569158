"""Old rows that stay as they are beside a summary: those of which its centres say too little.

Centres are chosen by a fit. A query that is asked later may be far from all of them, such as a corner that was never
tried before. In a summary its outcome would be next to nothing: the belief would forget it as soon as it is old, and
the same query would be asked again and again until the next fit. So the few of which the centres leave the most are
rows of the belief like the newest, and are taken out of the sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from belated.learner.arrays import Array, Indices

MUCH = 0.1  # of the variance of f


def choose_aside(left: Array, noise: Array, variance: float, most: int) -> Indices:
    """Which rows stay, in order: those of which the centres leave the most, if it is more than noise and much.

    left   what f at the centres leaves of the variance of f at each row
    most   how many of them"""
    far = np.flatnonzero(left > np.maximum(noise, MUCH * variance))
    return np.sort(far[np.argsort(left[far], kind="stable")[::-1][:most]])


class RowOutcomes(NamedTuple):
    """Outcomes that belong to some rows."""

    ids: Indices  # their numbers
    place: Indices  # the row of each
    weights: Array  # what each counts in the mean of its row

    def take(self, rows: Indices) -> RowOutcomes:
        """Those of some of the rows, which are numbered anew."""
        of = np.isin(self.place, rows)
        return RowOutcomes(self.ids[of], np.searchsorted(rows, self.place[of]), self.weights[of])


@dataclass(frozen=True, eq=False)
class OldRows:
    """Some rows, in order."""

    rows: Indices  # which of all they are
    X: Array
    mean: Array
    noise: Array
    left: Array
    outcomes: RowOutcomes

    def choose(self, variance: float, most: int) -> OldRows:
        """Those of these rows that stay."""
        chosen = choose_aside(self.left, self.noise, variance, most)
        return OldRows(
            rows=self.rows[chosen],
            X=self.X[chosen],
            mean=self.mean[chosen],
            noise=self.noise[chosen],
            left=self.left[chosen],
            outcomes=self.outcomes.take(chosen),
        )

    def join(self, other: OldRows) -> OldRows:
        """These rows and others, which come after them."""
        n = len(self.rows)
        return OldRows(
            rows=np.concatenate([self.rows, other.rows]),
            X=np.vstack([self.X, other.X]),
            mean=np.concatenate([self.mean, other.mean]),
            noise=np.concatenate([self.noise, other.noise]),
            left=np.concatenate([self.left, other.left]),
            outcomes=RowOutcomes(
                np.concatenate([self.outcomes.ids, other.outcomes.ids]),
                np.concatenate([self.outcomes.place, n + other.outcomes.place]),
                np.concatenate([self.outcomes.weights, other.outcomes.weights]),
            ),
        )
