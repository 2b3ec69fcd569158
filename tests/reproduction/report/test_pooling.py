"""Effects are relative to the baseline, and pooled over panels seed by seed."""

import numpy as np
import pytest

from belated.comparison.statistics import summarize
from reproduction.curves import CurveKey, CurveRun, Curves, group_runs
from reproduction.panels import PANELS
from reproduction.report.pooling import (
    BASELINES,
    GROUPS,
    POOLS,
    SIMPLE,
    compute_effects,
    count_lower,
    find_family,
    pool_effects,
    pool_groups,
    select_pool,
)
from reproduction.report.verdicts import judge_panel
from tests.reproduction.made_up_curves import make_curves

SYNTHETIC = [PANELS[name] for name in GROUPS["synthetic"]]


def make_flat(panel: str, values: dict[str, list[float]], first_seed: int = 0) -> Curves:
    """Curves that stay where they are: one value for every run."""
    return group_runs(
        CurveRun(
            key=CurveKey(panel, key, "text"),
            seed=first_seed + i,
            iterations=np.arange(1, 21),
            **dict.fromkeys(("simple", "late", "cumulative"), np.full(20, value)),
        )
        for key, runs in values.items()
        for i, value in enumerate(runs)
    )


def test_an_effect_is_a_share_of_the_baselines_mean() -> None:
    curves = make_flat("fig1c", {"GP-UCB-SDF": [1.0, 2.0], "GP-UCB": [2.0, 6.0], "GP-BUCB": [1.0, 1.0]})
    judged = judge_panel(PANELS["fig1c"], curves)
    assert compute_effects(judged, "text", "ignoring") == {0: -0.25, 1: -1.0}
    assert compute_effects(judged, "text", "hallucinating") == {0: 0.0, 1: 1.0}
    assert compute_effects(judged, "released", "ignoring") == {}


def test_a_pooled_effect_averages_panels_within_a_seed() -> None:
    """Seed 2 is in one panel only, and is left out of the average, not out of its panel's mean."""
    curves = {
        **make_flat("fig1c", {"GP-UCB-SDF": [1.0, 1.0, 1.0], "GP-UCB": [2.0, 3.0, 1.0]}),
        **make_flat("fig5a", {"GP-TS-SDF": [3.0, 1.0], "asy-TS": [2.0, 2.0]}),
    }
    judged = [judge_panel(PANELS[name], curves) for name in ("fig1c", "fig1d", "fig5a")]
    found = pool_effects(judged, "text", "ignoring")
    assert found is not None
    assert (found.panels, found.seeds) == (2, 2)
    expected = summarize([(-0.5 + 0.5) / 2, (-1.0 - 0.5) / 2])
    assert (found.mean.mean, found.mean.error) == pytest.approx((expected.mean, expected.error))
    assert found.word == "unresolved"
    assert pool_effects(judged, "text", "hallucinating") is None


def test_panels_without_a_common_seed_cannot_be_pooled() -> None:
    curves = {
        **make_flat("fig1c", {"GP-UCB-SDF": [1.0], "GP-UCB": [2.0]}),
        **make_flat("fig5a", {"GP-TS-SDF": [3.0], "asy-TS": [2.0]}, first_seed=7),
    }
    judged = [judge_panel(PANELS[name], curves) for name in ("fig1c", "fig5a")]
    assert pool_effects(judged, "text", "ignoring") is None


def test_a_pooled_effect_has_a_verdict() -> None:
    judged = [judge_panel(panel, make_curves(SYNTHETIC, seeds=8)) for panel in SYNTHETIC]
    for baseline in BASELINES:
        found = pool_effects(judged, "text", baseline)
        assert found is not None
        assert found.interval.high < 0
        assert found.word == "supported"
        assert 0 < found.detectable < abs(found.mean.mean)


def test_the_count_of_lower_means_is_over_the_panels_of_simple_regret() -> None:
    panels = [*SYNTHETIC, PANELS["fig1a"], PANELS["fig4a"]]
    curves = {
        **make_curves(panels, seeds=3),
        **make_flat("fig5b", {"GP-TS-SDF": [2.0], "asy-TS": [1.0], "GP-BTS": [2.0]}),
    }
    assert count_lower([judge_panel(panel, curves) for panel in panels], "text") == (6, 8)


def test_groups_are_the_panels_with_baselines() -> None:
    named = [name for panels in GROUPS.values() for name in panels]
    assert sorted(named) == sorted(name for name, panel in PANELS.items() if find_family(panel))
    assert len(set(named)) == len(named) == 20
    assert len(POOLS[SIMPLE]) == 16
    assert {PANELS[name].measure for name in POOLS[SIMPLE]} == {"simple"}


def test_groups_without_runs_are_left_out() -> None:
    judged = [judge_panel(panel, make_curves(SYNTHETIC[:1], seeds=2)) for panel in SYNTHETIC]
    assert list(pool_groups(judged, "text")) == ["synthetic", SIMPLE]
    assert [j.panel.name for j in select_pool(judged, ("fig5a", "fig2a", "fig1c"))] == ["fig5a", "fig1c"]
