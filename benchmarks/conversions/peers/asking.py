"""What all entrants by belated do: a study in memory, by the clock of the campaign, asked hour by hour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import belated
from belated.learner.arrays import Array
from benchmarks.conversions.peers import Campaign, News

HOUR = 3600.0


class Asking:
    """A study that is told conversions, and zeros too unless its silence says them."""

    def __init__(self, campaign: Campaign, seed: int, settings: Mapping[str, Any], silent: bool) -> None:
        self.clock, self.silent = belated.SimulatedClock(), silent
        self.by_name = campaign.segments > 1
        context = {"segment": belated.Choice(*map(str, range(campaign.segments)))} if self.by_name else None
        items = list_items(campaign.features)
        self.numbers = {tuple(item.values()): i for i, item in enumerate(items)}
        cube = {f"x{i}": belated.Real(0, 1) for i in range(campaign.d)}
        space: Any = belated.Points(items) if items else cube
        self.study = belated.Study.create(space=space, context=context, seed=seed, clock=self.clock, **settings)

    def hear(self, news: Sequence[News]) -> None:
        for visitor, outcome, at in news:
            if outcome or not self.silent:
                self.clock.seconds = max(self.clock.seconds, at * HOUR)
                self.study.tell(visitor + 1, float(outcome), at=at * HOUR)

    def choose(self, hour: int, segments: NDArray[np.int64]) -> Iterator[Array]:
        self.clock.seconds = hour * HOUR
        if self.by_name:
            trials = self.study.ask(contexts=[{"segment": str(segment)} for segment in segments.tolist()])
        else:
            trials = self.study.ask(n=len(segments))
        for trial in trials:
            values = tuple(trial.params.values())
            yield np.array([self.numbers[values]] if self.numbers else values, dtype=float)


def list_items(features: Array) -> list[dict[str, Any]]:
    """An item as params: its features, or its name where it has none."""
    if features.shape[1]:
        return [{f"f{k}": value for k, value in enumerate(row)} for row in features.tolist()]
    return [{"item": f"item {i}"} for i in range(len(features))]
