"""Effects relative to a baseline, in one panel and pooled over panels.

The effect in a panel and a seed is (a − b) / (mean of b over the panel's seeds), for the SDF method a and a baseline b.
Seeds are the units of a pooled effect, not panels: the panels of a seed share worlds. verdicts.py has the whole rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from belated.comparison.statistics import Summary, summarize
from reproduction.panels import FAMILIES, Panel
from reproduction.report.intervals import MeanInterval, find_detectable, find_interval
from reproduction.report.verdicts import JudgedPanel, Word, judge_less, pair_quantities

Baseline = Literal["ignoring", "hallucinating"]
BASELINES: tuple[Baseline, ...] = get_args(Baseline)  # in the order of a family after its SDF method
SVM_PANELS = ("fig2a", "fig2b", "fig2c", "fig2d")
GROUPS: dict[str, tuple[str, ...]] = {
    "synthetic": ("fig1c", "fig1d", "fig5a", "fig5b"),
    "SVM": SVM_PANELS,
    "CNN": ("fig2e", "fig2f", "fig2g", "fig2h"),
    "LR": ("fig3a", "fig3b", "fig3c", "fig3d"),
    "multi-task": ("fig4a", "fig4b"),
    "non-stationary": ("fig4c", "fig4d"),
}
SIMPLE = "all simple regret"
POOLS: dict[str, tuple[str, ...]] = {
    **{name: GROUPS[name] for name in ("synthetic", "SVM", "CNN", "LR")},
    SIMPLE: tuple(panel for name in ("synthetic", "SVM", "CNN", "LR") for panel in GROUPS[name]),
    **{name: GROUPS[name] for name in ("multi-task", "non-stationary")},
}


@dataclass(frozen=True, kw_only=True)
class Effect:
    """A mean effect over seeds: a share of the baseline's regret, negative where the SDF method has less."""

    baseline: Baseline
    panels: int
    seeds: int
    mean: Summary[float]

    @property
    def interval(self) -> MeanInterval:
        return find_interval(self.mean, self.seeds)

    @property
    def detectable(self) -> float:
        return find_detectable(self.mean, self.seeds)

    @property
    def word(self) -> Word:
        return judge_less(self.mean, self.seeds)


def find_family(panel: Panel) -> tuple[str, ...]:
    """The SDF method of a panel and its baselines, in the order of BASELINES; empty where it compares other things."""
    keys = {curve.key for curve in panel.curves}
    return next((family for family in FAMILIES.values() if keys == set(family)), ())


def compute_effects(judged: JudgedPanel, reading: str, baseline: Baseline) -> dict[int, float]:
    """The effect of every seed in one panel; empty where the curves were not run."""
    family, lines = find_family(judged.panel), judged.lines.get(reading, {})
    if not family:
        return {}
    a, b = (lines.get(key) for key in (family[0], family[1 + BASELINES.index(baseline)]))
    if a is None or b is None:
        return {}
    seeds, first, second = pair_quantities(judged.panel, a, b)
    return dict(zip(seeds, ((first - second) / np.mean(second)).tolist(), strict=True)) if seeds else {}


def pool_effects(panels: Sequence[JudgedPanel], reading: str, baseline: Baseline) -> Effect | None:
    """The effect over panels, of the seeds that all of those that were run have; None where there is none."""
    found = [effects for judged in panels if (effects := compute_effects(judged, reading, baseline))]
    seeds = sorted(set.intersection(*map(set, found))) if found else []
    if not seeds:
        return None
    averages = [float(np.mean([effects[seed] for effects in found])) for seed in seeds]
    return Effect(baseline=baseline, panels=len(found), seeds=len(seeds), mean=summarize(averages))


def select_pool(judged: Sequence[JudgedPanel], names: Sequence[str]) -> list[JudgedPanel]:
    """The panels of these names, in their order."""
    by_name: Mapping[str, JudgedPanel] = {j.panel.name: j for j in judged}
    return [by_name[name] for name in names if name in by_name]


def pool_groups(judged: Sequence[JudgedPanel], reading: str) -> dict[str, list[Effect]]:
    """The pooled effects of every group that was run."""
    found = {
        name: [
            effect
            for baseline in BASELINES
            if (effect := pool_effects(select_pool(judged, panels), reading, baseline)) is not None
        ]
        for name, panels in POOLS.items()
    }
    return {name: effects for name, effects in found.items() if effects}


def count_lower(judged: Sequence[JudgedPanel], reading: str) -> tuple[int, int]:
    """In how many comparisons of simple regret the SDF method's mean is below a baseline's, and of how many."""
    effects = [
        effect
        for panel in select_pool(judged, POOLS[SIMPLE])
        for baseline in BASELINES
        if (effect := pool_effects([panel], reading, baseline)) is not None
    ]
    return sum(effect.mean.mean < 0 for effect in effects), len(effects)
