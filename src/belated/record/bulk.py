"""Many rows at once: a list as a whole; what comes one by one, in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TypeVar

from belated.errors import BelatedError
from belated.wording import format_count

Given = TypeVar("Given")
Read = TypeVar("Read")

PART = 5000  # rows that are written at once, of those that come one by one


def explain_rows(read: Callable[[Given], Read], rows: Sequence[Given], first: int = 1) -> list[Read]:
    """Every row as it is read; where there are several, an error says which row it is about.

    first  the number of the first one"""
    done: list[Read] = []
    for row in rows:
        try:
            done.append(read(row))
        except BelatedError as error:
            if len(rows) == first == 1:
                raise
            raise type(error)(f"row {first + len(done)}: {error}") from None
    return done


def write_rows(rows: Iterable[Given], write: Callable[[Sequence[Given], int], list[Read]]) -> list[Read]:
    """Write the rows of a list at once; others PART at a time, and an error says how many were written before.

    write  some rows, of which the first has a number, all or none"""
    if isinstance(rows, Sequence):
        return write(rows, 1)
    done, rest = list[Read](), iter(rows)
    while part := list(islice(rest, PART)):
        try:
            done += write(part, 1 + len(done))
        except BelatedError as error:
            if not done:
                raise
            raise type(error)(f"{error} ({format_count(len(done), 'row')} before were written)") from None
    return done
