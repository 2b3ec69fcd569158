"""A study's memory in this process: a list of events, gone when the process ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from belated.trials import Event


@dataclass
class MemoryLedger:
    """Events at positions 1, 2, 3, … in the order in which they were appended."""

    events: list[Event] = field(default_factory=list)

    def append(self, events: Sequence[Event]) -> int:
        """Write all of them, or none, and return the position of the last."""
        self.events.extend(events)
        return len(self.events)

    def read(self, after: int = 0) -> Iterator[Event]:
        """The events with position > after, in order."""
        return iter(self.events[after:])
