"""The rows of a database as settings and events. Where they are damaged, one sentence says where."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from belated.errors import Unreadable
from belated.record.events import Event, parse_event

DAMAGE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)  # what decoding a damaged row raises


def parse_spec(text: str, where: str) -> dict[str, Any]:
    """The settings of a study, as its row has them; `where` names the store."""
    try:
        return dict(json.loads(text))
    except DAMAGE as error:
        raise Unreadable(f"{where} is damaged (the settings of a study: {error})") from None


def parse_events(rows: Iterable[tuple[int, str]], after: int, where: str) -> Iterator[Event]:
    """The events of rows (position, body), which must follow position `after` without a gap."""
    for expected, (position, body) in enumerate(rows, start=after + 1):
        try:
            if position != expected:
                raise ValueError("it is missing")
            event = parse_event(body)
        except DAMAGE as error:
            raise Unreadable(f"{where} is damaged (event {expected}: {error})") from None
        yield event
