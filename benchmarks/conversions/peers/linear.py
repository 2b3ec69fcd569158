"""LinUCB and LinTS of MABWiser, at their defaults: a ridge regression per arm on the segment, x on a grid.

Before anything is heard there is nothing to fit, and arms are drawn at random."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from numpy.typing import NDArray

from belated.learner.arrays import Array
from benchmarks.conversions.peers import Campaign, Chooser, News

NAMES = ("LinUCB (MABWiser)", "LinTS (MABWiser)")
NEEDS = ("mabwiser",)
POLICIES = {NAMES[0]: LearningPolicy.LinUCB, NAMES[1]: LearningPolicy.LinTS}


class Linear:
    def __init__(self, name: str, campaign: Campaign, seed: int) -> None:
        self.arms, self.rng = campaign.arms, np.random.default_rng([seed, 12])
        self.contexts = np.eye(campaign.segments)
        self.bandit = MAB(list(range(len(self.arms))), POLICIES[name](), seed=seed)
        self.cells: list[tuple[int, int]] = []  # the segment and the arm of each visitor
        self.fitted = False

    def hear(self, news: Sequence[News]) -> None:
        if not news:
            return
        segments, arms = zip(*(self.cells[one.visitor] for one in news), strict=True)
        learn = self.bandit.partial_fit if self.fitted else self.bandit.fit
        learn(list(arms), [one.outcome for one in news], self.contexts[list(segments)])
        self.fitted = True

    def choose(self, hour: int, segments: NDArray[np.int64]) -> Iterable[Array]:
        if self.fitted:
            chosen = np.atleast_1d(self.bandit.predict(self.contexts[segments]))
        else:
            chosen = self.rng.integers(len(self.arms), size=len(segments))
        self.cells.extend(zip(segments.tolist(), chosen.tolist(), strict=True))
        return np.asarray(self.arms[chosen])


def chooser(name: str, campaign: Campaign, seed: int) -> Chooser:
    return Linear(name, campaign, seed)
