"""What silence means decides: two worlds in which the wrong meaning finds the wrong optimum."""

import numpy as np

from belated.learner.delays.distributions import ByInput
from benchmarks.silences import conversions, every_other, late, recommended


def test_where_the_best_region_answers_half_the_time_the_floor_takes_the_wrong_optimum() -> None:
    """In most of eight worlds: in one the better hill hardly answers, in one it answers nearly always."""
    where = {
        silence: [recommended(silence, seed, ByInput(every_other), 8) for seed in range(8)]
        for silence in ("floor", "waiting", "unknown")
    }
    assert sum(abs(x - 0.25) < 0.1 for x in where["floor"]) >= 6
    for silence in ("waiting", "unknown"):
        assert sum(abs(x - 0.75) < 0.1 for x in where[silence]) >= 6


def test_where_only_conversions_are_reported_floor_and_fading_beat_unknown_clearly() -> None:
    rate = {s: np.mean([conversions(s, seed) for seed in range(2)]) for s in ("floor", "fading", "unknown")}
    assert rate["floor"] > 3 * rate["unknown"]
    assert rate["fading"] > 3 * rate["unknown"]


def test_where_all_is_merely_late_every_meaning_finds_the_better_hill() -> None:
    for silence in ("unknown", "waiting", "fading", "floor"):
        assert np.mean([late(silence, seed) for seed in range(2)]) > 0.95
