"""Counts of people: how many were shown a query on a day, and how many of them have converted so far.

Every person is a query, shown at some time of that day, evenly over it. What is known of them is as old as the last
statement of the day's counts, however late it is now.

a   age of the day, from its beginning to its last statement                       (days,)
w   how much of the day was over by then, at most all of it                         (days,)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from belated.learner.arrays import Array, Indices

PARTS = 8  # of a day, for averages over it


@dataclass(frozen=True, kw_only=True, eq=False)
class Counts:
    """What was stated, one row per query, context and day."""

    number: Indices
    X: Array
    point: Indices
    shown: Array
    converted: Array
    age: Array  # a
    width: Array  # w
    arrivals: Array  # conversions between two statements: since, until, and a, w of their day; how many         (k, 5)

    def list_ages(self) -> Array:
        """The ages of the people of each day, evenly over it                         (days, PARTS)."""
        return spread_over_day(self.age, self.width)


def spread_over_day(age: Array, width: Array) -> Array:
    """Ages of people who came evenly while a day of that age went by; negative for those who came later."""
    return np.asarray(age[:, None] - width[:, None] * (np.arange(PARTS) + 0.5) / PARTS)
