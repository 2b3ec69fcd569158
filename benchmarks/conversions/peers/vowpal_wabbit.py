"""Vowpal Wabbit: --cb_explore_adf --squarecb at its defaults, the segment crossed with the arm, its features and x.

What is believed of a segment stays the same within an hour, so it is computed once and drawn from for every visitor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from vowpalwabbit import Workspace

from belated.learner.arrays import Array
from benchmarks.conversions.peers import Campaign, Chooser, News

NAMES = ("Vowpal Wabbit, squarecb",)
NEEDS = ("vowpalwabbit",)


class VowpalWabbit:
    def __init__(self, campaign: Campaign, seed: int) -> None:
        self.arms, self.rng = campaign.arms, np.random.default_rng([seed, 13])
        self.learner = Workspace(f"--cb_explore_adf --squarecb -q SA --quiet --random_seed {seed + 1}")
        known = self.arms if campaign.d else campaign.features
        words = ["".join(f" f{k}:{value:.6g}" for k, value in enumerate(row)) for row in known]
        self.lines = [f"|A arm{i}{features}" for i, features in enumerate(words)]
        self.logged: list[tuple[int, int, float]] = []  # segment, arm and its probability, for each visitor

    def hear(self, news: Sequence[News]) -> None:
        for visitor, outcome, _ in news:
            segment, arm, p = self.logged[visitor]
            lines = list(self.lines)
            lines[arm] = f"0:{-outcome}:{p:.6g} {lines[arm]}"
            self.learner.learn([f"shared |S segment{segment}", *lines])

    def choose(self, hour: int, segments: NDArray[np.int64]) -> Iterator[Array]:
        beliefs = {
            segment: np.asarray(self.learner.predict([f"shared |S segment{segment}", *self.lines]))
            for segment in np.unique(segments).tolist()
        }
        for segment in segments.tolist():
            p = beliefs[segment]
            arm = int(self.rng.choice(len(p), p=p / p.sum()))
            self.logged.append((segment, arm, float(p[arm])))
            yield self.arms[arm]


def chooser(name: str, campaign: Campaign, seed: int) -> Chooser:
    return VowpalWabbit(campaign, seed)
