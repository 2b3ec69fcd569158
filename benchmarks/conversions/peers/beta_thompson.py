"""Thompson sampling with a Beta posterior for every arm in every segment, from Beta(1, 1); x on a grid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from belated.learner.arrays import Array
from benchmarks.conversions.peers import Campaign, Chooser, News

NAMES = ("Thompson, Beta per cell",)
NEEDS = ()


class BetaThompson:
    def __init__(self, campaign: Campaign, seed: int) -> None:
        self.arms, self.rng = campaign.arms, np.random.default_rng([seed, 11])
        self.counts = np.ones((2, campaign.segments, len(self.arms)))  # of 0s and 1s, with one of each before any
        self.cells: list[tuple[int, int]] = []  # the segment and the arm of each visitor

    def hear(self, news: Sequence[News]) -> None:
        for visitor, outcome, _ in news:
            self.counts[outcome, *self.cells[visitor]] += 1

    def choose(self, hour: int, segments: NDArray[np.int64]) -> Iterable[Array]:
        chosen = self.rng.beta(self.counts[1, segments], self.counts[0, segments]).argmax(axis=1)
        self.cells.extend(zip(segments.tolist(), chosen.tolist(), strict=True))
        return np.asarray(self.arms[chosen])


def chooser(name: str, campaign: Campaign, seed: int) -> Chooser:
    return BetaThompson(campaign, seed)
