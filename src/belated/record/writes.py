"""Write something that another process may write first: then look again at what is there, and try again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from belated.errors import Taken, Unreadable

Result = TypeVar("Result")

MOST_TRIES = 100  # to write something; each follows what another process wrote first


def write_in_turn(attempt: Callable[[], Result], find_news: Callable[[], bool]) -> Result:
    """Attempt to write until nothing of it is taken.

    What others wrote since explains a refusal; if they wrote nothing (find_news), the refusal is an error."""
    for _ in range(MOST_TRIES):
        try:
            return attempt()
        except Taken:
            if not find_news():
                break
    raise Unreadable("the store refuses this event as written before, and has no event that says so; check the store")
