"""Pictures have their size, their colours and their curves, and are the same bytes again."""

import io

import numpy as np
import pytest

from belated.learner.algorithms import PAPER
from belated.plotting.style import COLOUR, DPI
from reproduction.curves import CurveKey, Curves
from reproduction.panels import PANELS, PanelCurve, make_curve
from reproduction.report.layout import WIDTH, average_runs
from reproduction.report.panel_picture import (
    choose_limits,
    choose_styles,
    compute_bar_step,
    draw_panel,
    place_error_bars,
)
from reproduction.report.verdicts import judge_panel
from tests.reproduction.made_up_curves import make_beyond_panel, make_curves, make_panel, make_published

matplotlib = pytest.importorskip("matplotlib")
imread = pytest.importorskip("matplotlib.image").imread

PANEL = make_panel()


SVM = PANELS["fig2a"]


def pixels(png: bytes) -> np.ndarray:
    return imread(io.BytesIO(png), format="png")[..., :3]


def count(image: np.ndarray, colour: str) -> int:
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return int(np.sum(np.all(np.abs(image - rgb) < 0.02, axis=2)))


@pytest.fixture(scope="module")
def curves() -> Curves:
    return make_curves([PANEL, SVM, make_beyond_panel()], seeds=3)


def test_a_picture_has_its_size_and_its_colours_and_is_the_same_again(curves: Curves) -> None:
    png = draw_panel(judge_panel(PANEL, curves), "A title")
    assert png.startswith(b"\x89PNG")
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black"}):
        assert draw_panel(judge_panel(PANEL, curves), "A title") == png
    image = pixels(png)
    assert image.shape[1] == round(WIDTH * DPI)
    for silence in ("floor", "unknown", "ignored"):
        assert count(image, COLOUR[silence]) > 100
    assert np.all(image[:3] == 1)
    assert np.all(image[:, -3:] == 1)  # nothing runs over the edges


def test_every_reading_has_axes_of_its_own(curves: Curves) -> None:
    one = {key: line for key, line in curves.items() if key.reading == "text"}
    both, alone = (pixels(draw_panel(judge_panel(SVM, found), "SVM")).shape[0] for found in (curves, one))
    assert both > 1.5 * alone


def test_published_results_are_bands(curves: Curves) -> None:
    without, with_them = (
        pixels(draw_panel(judge_panel(SVM, c), "SVM")) for c in (curves, {**curves, **make_published(SVM, 3)})
    )
    assert without.shape == with_them.shape

    def tinted(image: np.ndarray) -> int:
        """Pixels that are neither white nor ink: light, with a colour."""
        return int(np.sum((image.min(axis=2) > 0.6) & (np.ptp(image, axis=2) > 0.08)))

    assert tinted(with_them) > tinted(without) + 5000


def test_one_run_and_many_curves_can_be_drawn() -> None:
    for shown in (PANEL, make_beyond_panel(), make_panel("long", title="x" * 120, iterations=7)):
        png = draw_panel(judge_panel(shown, make_curves([shown], seeds=1)), shown.title, "a note")
        assert np.all(pixels(png)[:, -3:] == 1)


def test_an_algorithm_looks_alike_in_every_panel() -> None:
    seen: dict[str, object] = {}
    for shown in (*PANELS.values(), make_beyond_panel()):
        for key, look in choose_styles(shown).items():
            if key in PAPER:
                assert seen.setdefault(key, look) == look
    assert set(seen) == set(PAPER)
    assert len(set(seen.values())) == len(PAPER)
    assert {name for name in seen if seen[name].bold} == {"GP-UCB-SDF", "GP-TS-SDF"}  # type: ignore[attr-defined]


def test_curves_of_one_algorithm_have_shades_and_marks_of_their_own() -> None:
    for name in ("fig1a", "fig1b"):
        found = choose_styles(PANELS[name])
        assert len({look.colour for look in found.values()}) == len(found) == 4
        assert len({look.mark for look in found.values()}) == 4


def test_the_default_goes_by_what_silence_means_to_it() -> None:
    curves: tuple[PanelCurve, ...] = tuple(make_curve("default", None, 20, silence) for silence in ("floor", "unknown"))
    assert [look.colour for look in choose_styles(make_panel(curves=curves)).values()] == [
        COLOUR["floor"],
        COLOUR["unknown"],
    ]


def test_error_bars_are_every_ten_iterations_and_no_two_curves_have_theirs_at_the_same() -> None:
    iterations = np.arange(1.0, 101.0)
    assert iterations[place_error_bars(iterations, 0)].tolist() == list(range(10, 101, 10))
    assert iterations[place_error_bars(iterations, 2)].tolist() == list(range(8, 100, 10))
    thinned = np.array([1.0, *range(10, 1501, 10)])
    assert thinned[place_error_bars(thinned, 0)].tolist() == list(range(150, 1501, 150))
    assert [compute_bar_step(T) for T in (40, 100, 240, 600, 1500)] == [10, 10, 20, 60, 150]


def test_from_iteration_ten_on_everything_is_inside_the_picture() -> None:
    rng = np.random.default_rng(0)
    for best in (0.0, 0.235):
        values = best + np.sort(rng.uniform(0, 0.2, (5, 30)), axis=1)[:, ::-1]
        values[:, :6] = 1.0
        line = average_runs(np.arange(1.0, 31.0), values)
        low, high = choose_limits(PANEL, [line])
        inside = slice(9, None)
        assert low <= np.min((line.mean - line.error)[inside]) or low == 0
        assert np.max((line.mean + line.error)[inside]) <= high < 1
        assert (low == 0) == (best == 0)
    assert choose_limits(PANEL, [average_runs(np.arange(1.0, 31.0), np.zeros((2, 30)))]) == (0.0, 1.0)


def test_a_line_without_its_baselines_is_drawn(curves: Curves) -> None:
    alone = {key: line for key, line in curves.items() if key == CurveKey(PANEL.name, "GP-UCB-SDF", "text")}
    assert count(pixels(draw_panel(judge_panel(PANEL, alone), "Alone")), COLOUR["floor"]) > 100
