"""Random queries: what everybody is compared with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from belated.learner.arrays import Array
from benchmarks.conversions.peers import Campaign, Chooser, News

NAMES = ("random",)
NEEDS = ()


class Random:
    def __init__(self, campaign: Campaign, seed: int) -> None:
        self.campaign, self.rng = campaign, np.random.default_rng([seed, 10])

    def hear(self, news: Sequence[News]) -> None:
        pass

    def choose(self, hour: int, segments: NDArray[np.int64]) -> Iterable[Array]:
        if self.campaign.d:
            return self.rng.random((len(segments), self.campaign.d))
        return self.rng.integers(len(self.campaign.features), size=(len(segments), 1)).astype(float)


def chooser(name: str, campaign: Campaign, seed: int) -> Chooser:
    return Random(campaign, seed)
