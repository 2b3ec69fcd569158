"""Pictures are pictures: of a fixed width, the same for the same curves, in colours that mean the same everywhere."""

import io

import matplotlib
import numpy as np
import pytest
from matplotlib.image import imread

from belated.learner.algorithms import PAPER
from belated.plotting.style import COLOUR, DPI, push_apart
from reproduction.curves import Curves, Key
from reproduction.panels import PANELS, Curve, by
from reproduction.pictures import WIDTH, barred, bundle, draw, looks, scale, spacing
from reproduction.verdicts import judge
from tests.reproduction.made_up import beyond, curves_of, panel, published

PANEL = panel()
SVM = PANELS["fig2a"]


def pixels(png: bytes) -> np.ndarray:
    return imread(io.BytesIO(png), format="png")[..., :3]


def count(image: np.ndarray, colour: str) -> int:
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return int(np.sum(np.all(np.abs(image - rgb) < 0.02, axis=2)))


@pytest.fixture(scope="module")
def curves() -> Curves:
    return curves_of([PANEL, SVM, beyond()], seeds=3)


def test_a_picture_has_its_size_and_its_colours_and_is_the_same_again(curves: Curves) -> None:
    png = draw(judge(PANEL, curves), "A title")
    assert png.startswith(b"\x89PNG")
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black"}):
        assert draw(judge(PANEL, curves), "A title") == png
    image = pixels(png)
    assert image.shape[1] == round(WIDTH * DPI)
    for silence in ("floor", "unknown", "ignored"):
        assert count(image, COLOUR[silence]) > 100
    assert np.all(image[:3] == 1)
    assert np.all(image[:, -3:] == 1)  # nothing runs over the edges


def test_every_reading_has_axes_of_its_own(curves: Curves) -> None:
    one = {key: line for key, line in curves.items() if key.reading == "text"}
    both, alone = (pixels(draw(judge(SVM, found), "SVM")).shape[0] for found in (curves, one))
    assert both > 1.7 * alone


def test_published_results_are_bands(curves: Curves) -> None:
    without, with_them = (pixels(draw(judge(SVM, c), "SVM")) for c in (curves, {**curves, **published(SVM, 3)}))
    assert without.shape == with_them.shape

    def tinted(image: np.ndarray) -> int:
        """Pixels that are neither white nor ink: light, with a colour."""
        return int(np.sum((image.min(axis=2) > 0.6) & (np.ptp(image, axis=2) > 0.08)))

    assert tinted(with_them) > tinted(without) + 5000


def test_one_run_and_many_curves_can_be_drawn() -> None:
    for shown in (PANEL, beyond(), panel("long", title="x" * 120, iterations=7)):
        png = draw(judge(shown, curves_of([shown], seeds=1)), shown.title, "a note")
        assert np.all(pixels(png)[:, -3:] == 1)


def test_an_algorithm_looks_alike_in_every_panel() -> None:
    seen: dict[str, object] = {}
    for shown in (*PANELS.values(), beyond()):
        for key, look in looks(shown).items():
            if key in PAPER:
                assert seen.setdefault(key, look) == look
    assert set(seen) == set(PAPER)
    assert len(set(seen.values())) == len(PAPER)
    assert {name for name in seen if seen[name].bold} == {"GP-UCB-SDF", "GP-TS-SDF"}  # type: ignore[attr-defined]


def test_curves_of_one_algorithm_have_shades_and_marks_of_their_own() -> None:
    for name in ("fig1a", "fig1b"):
        found = looks(PANELS[name])
        assert len({look.colour for look in found.values()}) == len(found) == 4
        assert len({look.mark for look in found.values()}) == 4


def test_the_default_goes_by_what_silence_means_to_it() -> None:
    curves: tuple[Curve, ...] = tuple(by("default", None, 20, silence) for silence in ("floor", "unknown"))
    assert [look.colour for look in looks(panel(curves=curves)).values()] == [COLOUR["floor"], COLOUR["unknown"]]


def test_error_bars_are_every_ten_iterations_and_no_two_curves_have_theirs_at_the_same() -> None:
    iterations = np.arange(1.0, 101.0)
    assert iterations[barred(iterations, 0)].tolist() == list(range(10, 101, 10))
    assert iterations[barred(iterations, 2)].tolist() == list(range(8, 100, 10))
    thinned = np.array([1.0, *range(10, 1501, 10)])
    assert thinned[barred(thinned, 0)].tolist() == list(range(150, 1501, 150))
    assert [spacing(T) for T in (40, 100, 240, 600, 1500)] == [10, 10, 20, 60, 150]


def test_from_iteration_ten_on_everything_is_inside_the_picture() -> None:
    rng = np.random.default_rng(0)
    for best in (0.0, 0.235):
        values = best + np.sort(rng.uniform(0, 0.2, (5, 30)), axis=1)[:, ::-1]
        values[:, :6] = 1.0
        line = bundle(np.arange(1.0, 31.0), values)
        low, high = scale(PANEL, [line])
        inside = slice(9, None)
        assert low <= np.min((line.mean - line.error)[inside]) or low == 0
        assert np.max((line.mean + line.error)[inside]) <= high < 1
        assert (low == 0) == (best == 0)
    assert scale(PANEL, [bundle(np.arange(1.0, 31.0), np.zeros((2, 30)))]) == (0.0, 1.0)


def test_names_are_apart_and_in_order() -> None:
    placed = push_apart([0.1, 0.11, 0.5], gap=0.05, low=0.0)
    assert placed == pytest.approx([0.08, 0.13, 0.5])
    assert push_apart([0.0, 0.0], gap=0.05, low=0.01) == pytest.approx([0.01, 0.06])


def test_a_line_without_its_baselines_is_drawn(curves: Curves) -> None:
    alone = {key: line for key, line in curves.items() if key == Key(PANEL.name, "GP-UCB-SDF", "text")}
    assert count(pixels(draw(judge(PANEL, alone), "Alone")), COLOUR["floor"]) > 100
