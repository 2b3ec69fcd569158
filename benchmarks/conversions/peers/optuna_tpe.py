"""Optuna's TPESampler, its default, with a study for each segment; running trials count as bad ones (constant_liar)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray

from belated.learner.arrays import Array
from benchmarks.conversions.peers import Campaign, Chooser, News

NAMES = ("Optuna TPE",)
NEEDS = ("optuna",)


class Tpe:
    def __init__(self, campaign: Campaign, seed: int) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        samplers = [
            optuna.samplers.TPESampler(seed=100 * seed + z, constant_liar=True) for z in range(campaign.segments)
        ]
        self.studies = [optuna.create_study(direction="maximize", sampler=sampler) for sampler in samplers]
        self.space: dict[str, Any] = {f"x{i}": optuna.distributions.FloatDistribution(0, 1) for i in range(campaign.d)}
        if not campaign.d:
            self.space = {"item": optuna.distributions.CategoricalDistribution(range(len(campaign.features)))}
        self.asked: list[tuple[int, Any]] = []  # the segment and the trial of each visitor

    def hear(self, news: Sequence[News]) -> None:
        for visitor, outcome, _ in news:
            segment, trial = self.asked[visitor]
            self.studies[segment].tell(trial, outcome)

    def choose(self, hour: int, segments: NDArray[np.int64]) -> Iterator[Array]:
        for segment in segments.tolist():
            trial = self.studies[segment].ask(self.space)
            self.asked.append((segment, trial))
            yield np.array([trial.params[name] for name in self.space], dtype=float)


def chooser(name: str, campaign: Campaign, seed: int) -> Chooser:
    return Tpe(campaign, seed)
