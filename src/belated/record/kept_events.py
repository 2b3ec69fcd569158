"""Events that a study looks at again: kept as they came, or fetched from the ledger when somebody looks at one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from belated.errors import Unreadable
from belated.record.events import Amended, Asked, Converted, Event, Repeated, Told, Undone, event_from_dict, parse_event
from belated.record.ledger.chain import Entry

PAGE = 256  # asks that are fetched at once
MOST_PAGES = 64  # that are kept
KeyedEvent = Asked | Told | Converted | Repeated | Amended | Undone
Fetch = Callable[[int, int, str | None], Iterator[Entry]]  # first and last position, and of which kind (None: any)


def fetch_nothing(first: int, last: int, kind: str | None) -> Iterator[Entry]:
    """Where there is no ledger to fetch from."""
    return iter(())


class AskedEvents:
    """The asks of a study, by row.

    places  the positions of the first ones, which are fetched when somebody looks at them; the others are appended"""

    def __init__(self, places: NDArray[np.intp], fetch: Fetch) -> None:
        self._places, self._fetch = places, fetch
        self._pages: dict[int, Mapping[int, Asked]] = {}  # by page: the asks by position
        self._new: list[str | Asked] = []  # as JSON until somebody wants to see it

    def __len__(self) -> int:
        return len(self._places) + len(self._new)

    def append(self, source: str | Asked) -> None:
        self._new.append(source)

    def __getitem__(self, i: int) -> Asked:
        place = i - len(self._places)
        if place < 0:
            return self._find_stored(i)
        found = self._new[place]
        if isinstance(found, str):
            self._new[place] = found = cast("Asked", parse_event(found))
        return found

    def _find_stored(self, i: int) -> Asked:
        page, position = i // PAGE, int(self._places[i])
        if page not in self._pages:
            places = self._places[page * PAGE : (page + 1) * PAGE]
            found = self._fetch(int(places[0]), int(places[-1]), "asked")
            self._pages[page] = {entry.position: cast("Asked", entry.event) for entry in found}
            while len(self._pages) > MOST_PAGES:
                self._pages.pop(next(iter(self._pages)))
        asked = self._pages[page].get(position)
        if asked is None:
            raise Unreadable(f"the record is damaged (event {position}: the query of trial {i + 1} is missing)")
        return asked

    def copy(self) -> AskedEvents:
        other = AskedEvents(self._places, self._fetch)
        other._pages, other._new = dict(self._pages), list(self._new)
        return other


class KeyedCall(NamedTuple):
    """The event that a call with a key recorded, and its position."""

    event: KeyedEvent
    position: int


class KeyedCalls:
    """By each client key: the call that used it first.

    stored  the positions of those that are fetched when somebody looks at them"""

    def __init__(self, stored: Mapping[str, int], fetch: Fetch) -> None:
        self._stored, self._fetch = stored, fetch
        self._new: dict[str, KeyedCall] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._stored or key in self._new

    def get(self, key: str) -> KeyedCall | None:
        position = self._stored.get(key)
        if position is None:
            return self._new.get(key)
        for entry in self._fetch(position, position, None):
            return KeyedCall(cast("KeyedEvent", entry.event), position)
        raise Unreadable(f"the record is damaged (event {position}: it is missing)")

    def note(self, key: str, plain: Mapping[str, Any], source: str | Event, position: int) -> None:
        """The call that used a key, unless it was used before."""
        if key not in self:
            event = event_from_dict(plain) if isinstance(source, str) else source
            self._new[key] = KeyedCall(cast("KeyedEvent", event), position)

    def list_positions(self) -> dict[str, int]:
        """The position of each."""
        return {**self._stored, **{key: call.position for key, call in self._new.items()}}

    def copy(self) -> KeyedCalls:
        other = KeyedCalls(self._stored, self._fetch)
        other._new = dict(self._new)
        return other
