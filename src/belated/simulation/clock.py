"""The clock of a simulation, which the simulation sets."""

from __future__ import annotations


class SimulatedClock:
    """Seconds from 0 on, for a study that `simulate` drives by the clock.

    >>> from belated import SimulatedClock
    >>> clock = SimulatedClock()
    >>> clock.seconds = 3600.0
    >>> clock()
    3600.0
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds

    def __repr__(self) -> str:
        return f"SimulatedClock({self.seconds!r})"
