"""The pace of a study: how long it is from ask to ask, by the clock."""

from __future__ import annotations

from collections.abc import Sequence


def measure_pace(asked_at: Sequence[float], median: float | None) -> float:
    """Seconds from ask to ask, on average; where all were asked at once, a tenth of the median delay."""
    gap = (max(asked_at) - min(asked_at)) / max(1, len(asked_at) - 1) if len(asked_at) else 0.0
    return gap or (median or 0.0) / 10 or 1.0
