"""Fewer marks keep the newest and the best."""

import numpy as np

from belated.plotting.thinning import choose_marks


def test_few_are_all_kept() -> None:
    assert choose_marks(np.array([1.0, np.nan, 3.0]), 3).tolist() == [0, 1, 2]


def test_the_newest_the_best_and_the_first_are_among_the_kept() -> None:
    worth = np.random.default_rng(0).normal(size=10_000)
    worth[::7] = np.nan
    kept = choose_marks(worth, 400)
    assert len(kept) == 400
    assert np.all(np.diff(kept) > 0)
    assert set(range(9_900, 10_000)) <= set(kept.tolist())
    assert set(np.argsort(np.where(np.isnan(worth), -np.inf, worth))[-100:].tolist()) <= set(kept.tolist())
    assert kept[0] == 0
