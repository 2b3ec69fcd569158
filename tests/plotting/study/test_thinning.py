"""Fewer marks keep the newest and the best."""

import numpy as np

from belated.plotting.study.thinning import choose_marks


def test_few_are_all_kept() -> None:
    assert choose_marks(np.array([1.0, np.nan, 3.0]), 3).tolist() == [0, 1, 2]


def test_the_newest_the_best_and_the_first_are_among_the_kept() -> None:
    worth = np.random.default_rng(0).normal(size=10_000)
    worth[::7] = np.nan
    kept = choose_marks(worth, 400)
    assert len(kept) == 400
    assert np.all(np.diff(kept) > 0)
    assert set(range(9_980, 10_000)) <= set(kept.tolist())
    ordered = np.argsort(np.where(np.isnan(worth), -np.inf, worth))
    assert set(ordered[-20:].tolist()) <= set(kept.tolist())
    assert set(ordered[-200:].tolist()) <= set(choose_marks(worth, 400, best=0.5).tolist())
    assert kept[0] == 0


def test_the_kept_are_spread_like_all_of_them() -> None:
    """A crowd of the best, or of the newest, would look like a pattern."""
    worth = np.random.default_rng(0).normal(size=10_000)
    kept = choose_marks(worth, 400)
    assert np.max(np.histogram(kept, bins=10, range=(0, 10_000))[0]) < 70
    assert abs(float(np.mean(worth[kept] > 0)) - 0.5) < 0.06
