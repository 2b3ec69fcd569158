"""The pace of a study: how long it is from ask to ask, by the clock."""

from __future__ import annotations

from collections.abc import Sequence

AT_ONCE = 0.01  # of the typical delay: a batch is asked within less
BATCH = 10  # queries that are taken for one batch, at most


def measure_pace(asked_at: Sequence[float], typical: float | None) -> float:
    """Seconds from ask to ask, on average. Where all were asked at once, as many are asked again when what is typical
    of the delays has passed."""
    if not len(asked_at):
        return 1.0
    span, wait = max(asked_at) - min(asked_at), typical or 0.0
    if span > AT_ONCE * wait:
        return span / (len(asked_at) - 1)
    return wait / min(len(asked_at), BATCH) or 1.0
