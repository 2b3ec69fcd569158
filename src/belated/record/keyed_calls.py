"""The same key and the same call give the same answer: what a call with a key recorded, when it is made again."""

from __future__ import annotations

from belated.errors import InvalidInput, KeyTaken
from belated.record.events import Amended, Asked, Converted, Repeated, Told, Undone
from belated.record.kept_events import KeyedCall
from belated.record.state import State
from belated.validation import format_value, freeze

LONGEST_KEY = 512  # a key is part of an index, which in PostgreSQL holds at most 2700 bytes


def find_call(state: State, key: str | None, call: tuple[object, ...]) -> KeyedCall | None:
    """What the same call with this key recorded; None when the key is new."""
    if key is None:
        return None
    if not isinstance(key, str) or not key:
        raise InvalidInput(f"key must be a non-empty string (got {format_value(key)})")
    if len(key) > LONGEST_KEY or not key.isprintable():
        raise InvalidInput(f"key must have at most {LONGEST_KEY} characters, all printable (got {format_value(key)})")
    found = state.table.keys.get(key)
    if found is None:
        return None
    before = recall(state, found.event)
    if before != call:
        raise KeyTaken(
            f"key {format_value(key)} was used before, for another {before[0]}; a key is for one call and its retries"
        )
    return found


def recall(state: State, event: Asked | Told | Converted | Repeated | Amended | Undone) -> tuple[object, ...]:
    """The user's call that recorded this event. Who called is no part of it."""
    if isinstance(event, Undone) or (isinstance(event, Amended) and not event.again):
        return ("correction",)
    if isinstance(event, Converted):
        return ("tell", event.number, event.value, None, freeze(None))
    if isinstance(event, Told | Repeated | Amended):
        return ("tell", event.number, event.value, event.noise, freeze(event.params))
    if not event.by_hand:
        batch = state.rows[event.number - 1 : event.number - 1 + event.parts]
        return ("ask", tuple(freeze(row.asked.context) for row in batch), freeze(event.fixed))
    told = state.rows[event.number - 1].first_told if event.told_at_once else None
    value, noise = (None, None) if told is None else (told.value, told.noise)
    return ("add", freeze(event.params), freeze(event.context), value, noise)
