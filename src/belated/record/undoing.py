"""What an undo takes back: the newest thing that a person did, if nothing has happened to the same trial since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from belated.errors import Followed, NothingToUndo
from belated.record.events import Adjusted, Asked, Counted, Event, Refused, Renamed, Repeated, Told, Undone
from belated.record.state import State

CHANGED_NOTHING = (Refused, Repeated, Undone, Adjusted, Renamed)


class PastEvent(NamedTuple):
    """An event with its position."""

    position: int
    event: Event


def find_number(event: Event) -> int | None:
    """The trial that an event is about; None: the study itself."""
    number: int | None = getattr(event, "number", None)
    return number


def find_undo(state: State, events: Sequence[Event], by: str | None, trial: int | None = None) -> list[PastEvent]:
    """The events that an undo takes back, the newest first: one, or all that one call recorded together.

    events  all of the study, which come to the state
    trial   of this one alone, one event at a time; None: of anything"""
    for position in range(len(events), 0, -1):
        event = events[position - 1]
        if isinstance(event, CHANGED_NOTHING) or event.by != by or state.was_undone(position):
            continue
        if trial is not None and find_number(event) != trial:
            continue
        if state.find_newest(find_number(event)) < position:
            continue  # it never counted
        together = [position] if trial is not None else _list_together(events, position)
        found = [PastEvent(place, events[place - 1]) for place in together]
        for place, each in found:
            number = find_number(each)
            newest = state.find_newest(number)
            if newest not in (position, place):
                what = "the study" if number is None else f"trial {number}"
                raise Followed(
                    f"event {place} cannot be undone: event {newest} changed {what} after it; amend it instead"
                )
        return found
    who = "without a name" if by is None else f"by {by}"
    raise NothingToUndo(f"there is nothing {who} to undo")


def _list_together(events: Sequence[Event], position: int) -> list[int]:
    """The positions of what was recorded together with an event, the newest first: a batch, or a query with what was
    told of it at once."""
    event = events[position - 1]
    before = events[position - 2] if position > 1 else None
    at_once = isinstance(before, Asked) and (before.told_at_once or before.shown_over is not None)
    if at_once and isinstance(event, Told | Counted):
        return [position, position - 1]
    if isinstance(event, Asked):
        first = position - event.part
        return list(range(first + event.parts - 1, first - 1, -1))
    return [position]
