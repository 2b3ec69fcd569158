"""The picture of all effects has a row for every comparison, and all of them are inside."""

import io

import numpy as np
import pytest

from belated.comparison.statistics import Summary
from belated.plotting.style import DPI
from reproduction.panels import PANELS
from reproduction.report.effects_picture import COLOURS, LIMIT, WIDTH, choose_limits, draw_effects, find_ends, list_rows
from reproduction.report.pooling import Effect
from reproduction.report.verdicts import JudgedPanel, judge_panel
from tests.reproduction.made_up_curves import make_curves

imread = pytest.importorskip("matplotlib.image").imread

SHOWN = [PANELS[name] for name in ("fig1a", "fig1c", "fig1d", "fig5a", "fig5b", "fig4a", "fig4b")]


@pytest.fixture(scope="module")
def judged() -> list[JudgedPanel]:
    curves = make_curves(SHOWN, seeds=6)
    return [judge_panel(panel, curves) for panel in SHOWN]


def test_rows_are_the_comparisons_of_every_group_and_what_is_pooled(judged: list[JudgedPanel]) -> None:
    rows = list_rows(judged, "text")
    assert [row.label for row in rows if row.effect is None] == ["synthetic", "multi-task", "all simple regret"]
    assert [row.label for row in rows[1:5]] == [
        "Fig. 1c, GP-UCB",
        "Fig. 1c, GP-BUCB",
        "Fig. 1d, GP-UCB",
        "Fig. 1d, GP-BUCB",
    ]
    assert [row.label for row in rows if row.pooled] == ["pooled, ignoring", "pooled, hallucinating"] * 3
    assert len(rows) == 3 + 2 * 6 + 2 * 3


def make_effect(mean: float, error: float, seeds: int = 10) -> Effect:
    return Effect(baseline="ignoring", panels=1, seeds=seeds, mean=Summary(mean, error))


def test_everything_is_inside_as_far_as_the_limit() -> None:
    low, high = choose_limits([make_effect(-0.3, 0.05), make_effect(0.1, 0.01)])
    assert low < 100 * (-0.3 - 2.262 * 0.05)
    assert high > 100 * (0.1 + 2.262 * 0.01)
    assert choose_limits([make_effect(0.0, 10.0)]) == (-LIMIT, LIMIT)
    assert choose_limits([]) == (-10.5, 10.5)
    assert find_ends(make_effect(0.2, float("nan"), seeds=1)) == (20.0, 20.0)


def test_the_picture_has_both_colours_and_is_the_same_again(judged: list[JudgedPanel]) -> None:
    png = draw_effects(judged, "text")
    assert draw_effects(judged, "text") == png
    image = imread(io.BytesIO(png), format="png")[..., :3]
    assert image.shape[1] == round(WIDTH * DPI)
    for colour in COLOURS.values():
        rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        assert np.sum(np.all(np.abs(image - rgb) < 0.02, axis=2)) > 500
    assert np.all(image[:3] == 1)
    assert np.all(image[:, -3:] == 1)  # nothing runs over the edges
    assert np.all(image[:, :3] == 1)


def test_a_single_seed_can_be_drawn() -> None:
    curves = make_curves(SHOWN[1:2], seeds=1)
    assert draw_effects([judge_panel(SHOWN[1], curves)], "text").startswith(b"\x89PNG")
