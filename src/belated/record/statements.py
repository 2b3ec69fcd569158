"""What the counts of a day come to: how many were shown a query, how many converted, and between which two statements.

A later statement takes the place of an earlier one, whatever the order in which they are recorded; the difference is
what came between them. Where a later one has fewer conversions, the newest ones before it were never there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Statement(NamedTuple):
    """The counts of a day at some age of it, in rounds or seconds."""

    age: float
    shown: int
    converted: int


class DayArrivals(NamedTuple):
    """Conversions that came between two ages of their day."""

    since: float
    until: float
    people: int


def insert_statement(statements: Iterable[Statement], new: Statement) -> list[Statement]:
    """By age; of two of the same age, the newer one stays."""
    return sorted([old for old in statements if old.age != new.age] + [new])


def list_arrivals(statements: Sequence[Statement]) -> list[DayArrivals]:
    """When the conversions of a day came."""
    arrivals: list[DayArrivals] = []
    since, total = 0.0, 0
    for age, _, converted in statements:
        if converted > total:
            arrivals.append(DayArrivals(since, age, converted - total))
        while converted < total:
            newest = arrivals.pop()
            total -= newest.people
            if total < converted:
                arrivals.append(newest._replace(people=converted - total))
                total = converted
        since, total = age, converted
    return arrivals
