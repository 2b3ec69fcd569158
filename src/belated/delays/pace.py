"""The pace of a study: how long it is from ask to ask, by the clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

AT_ONCE = 0.01  # of the typical delay: a batch is asked within less
BATCH = 10  # queries that are taken for one batch, at most


class DayShown(NamedTuple):
    """A day on which people were shown a query."""

    began: float
    length: float
    people: int


def measure_pace(asked_at: Sequence[float], typical: float | None, counted: Sequence[DayShown] = ()) -> float:
    """Seconds from ask to ask, on average. Where all were asked at once, as many are asked again when what is typical
    of the delays has passed.

    counted  days whose people were counted: each of them is an ask"""
    asks = len(asked_at) + sum(day.people for day in counted)
    if not asks:
        return 1.0
    first = min([*asked_at, *(day.began for day in counted)])
    last = max([*asked_at, *(day.began + day.length for day in counted)])
    span, wait = last - first, typical or 0.0
    if span > AT_ONCE * wait:
        return span / max(asks - 1, 1)
    return wait / min(asks, BATCH) or 1.0
