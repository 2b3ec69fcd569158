"""The picture of the demo: its formats, its size, its colours."""

from pathlib import Path

import numpy as np
import pytest

from belated.comparison.demo import MEANING, DemoResult, SyntheticProblem, run_demo
from belated.plotting.demo import draw_demo
from belated.plotting.style import COLOUR, FORMATS

imread = pytest.importorskip("matplotlib.image").imread


@pytest.fixture(scope="module")
def small() -> DemoResult:
    return run_demo(SyntheticProblem(points=60, rounds=15), [0, 1])


@pytest.mark.parametrize("ending", FORMATS)
def test_a_picture_is_written_in_the_format_of_its_name(small: DemoResult, tmp_path: Path, ending: str) -> None:
    first = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}[ending]
    draw_demo(small, tmp_path / f"a{ending}", 60)
    draw_demo(small, tmp_path / f"b{ending}", 60)
    written = (tmp_path / f"a{ending}").read_bytes()
    assert written.startswith(first)
    assert written == (tmp_path / f"b{ending}").read_bytes()


def test_a_picture_has_the_size_and_the_colours_it_should(small: DemoResult, tmp_path: Path) -> None:
    draw_demo(small, tmp_path / "a.png", 60)
    pixels = imread(tmp_path / "a.png")[..., :3]
    assert pixels.shape[:2] == (432, 720)
    for colour in (COLOUR[silence] for silence in MEANING):
        rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        assert np.sum(np.all(np.abs(pixels - rgb) < 0.02, axis=2)) > 50, colour
    assert np.all(pixels[:3] == 1.0)  # nothing runs over the edges
    assert np.all(pixels[-3:] == 1.0)
    assert np.all(pixels[:, -3:] == 1.0)


def test_one_seed_has_no_bars_and_still_a_picture(tmp_path: Path) -> None:
    draw_demo(run_demo(SyntheticProblem(points=60, rounds=4), [0]), tmp_path / "a.png", 40)
    assert (tmp_path / "a.png").stat().st_size > 5_000
