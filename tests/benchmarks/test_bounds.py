"""The comparison of bounds for conversions."""

from __future__ import annotations

import numpy as np

from belated.learner.algorithms import DEFAULT
from benchmarks import bounds
from benchmarks.bounds import OURS, PEER, VARIANTS, Job, Run, approximate_gittins, report
from benchmarks.conversions.worlds import OTHERS, WORLDS


def test_the_default_is_one_of_them_and_no_world_of_the_comparison_is_looked_at():
    assert VARIANTS[OURS] == DEFAULT.conversion_moves
    assert not OTHERS.keys() & WORLDS.keys()
    assert not set(OTHERS.values()) & set(WORLDS.values())
    assert bounds.FIRST_SEED >= 30  # seeds of the comparison come before


def test_a_bound_of_another_width_is_a_run_of_its_own():
    """The better of two arms is shown more than half of the time, and differently by different bounds."""
    runs = [bounds.run(Job(variant, "six", "floor", 100)) for variant in (OURS, "Gittins")]
    assert runs[0].share != runs[1].share
    assert all(0.5 < each.share <= 1 for each in runs)
    assert all(0 < each.last <= 1 for each in runs)


def test_the_gittins_index_grows_with_the_time_that_is_left():
    """Values of their b(s) / √s."""
    assert np.all(np.diff(approximate_gittins(np.array([1.0, 3.0, 10.0, 100.0, 1000.0]))) > 0)
    assert np.allclose(approximate_gittins(np.array([1.0, 100.0])), [0.614, 2.12], atol=5e-3)


def test_differences_are_within_a_world_a_seed_and_a_silence():
    def runs(variant: str, *shares: float) -> list[Run]:
        places = [("six", "floor", 100), ("six", "fading", 100), ("line", "floor", 100)]
        return [Run(Job(variant, *place), share, share) for place, share in zip(places, shares, strict=True)]

    head, _, *lines = report(runs(OURS, 0.9, 0.7, 0.8) + runs(PEER, 0.8, 0.8, 0.5)).splitlines()
    assert head == "| bound | share | more | lowest tenth | stuck | six | line |"
    assert lines[0] == f"| {OURS} | 0.800 |  | 0.720 | 1 of 3 | 0.800 | 0.800 |"
    assert lines[1] == f"| {PEER} | 0.700 | -0.100 ± 0.115 | 0.560 | 1 of 3 | 0.800 | 0.500 |"
