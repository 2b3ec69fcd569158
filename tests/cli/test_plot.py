"""The picture of a study: what it reads is what the study says, whatever kind of study it is, and nothing runs over."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from belated.plotting.portrait import GRID, read_study_view
from click.testing import CliRunner
from matplotlib.image import imread

import belated
from belated import Choice, Integer, Points, Real, Study
from belated.cli import main
from belated.learner.delays.survival import kaplan_meier
from belated.plotting import study as panels_module
from belated.plotting.study import BLUE, ORANGE, VERMILLION, choose_unit, draw_study, needs_slant
from belated.plotting.style import FORMATS

DAY = 86400.0


def one_coordinate() -> Study:
    study = Study.create(name="one", space={"x": Real(0, 1)}, silence="unknown", patience=4, floor=0.0, seed=1)
    for _ in belated.simulate(study, lambda p: p["x"] * (1 - p["x"]), delay=belated.delays.Fixed(3), rounds=12, seed=2):
        pass
    return study


def mixed() -> Study:
    space = {
        "a": Real(300, 600),
        "b": Real(0.01, 100, log=True),
        "n": Integer(1, 6),
        "m": Choice("iron oxide", "nickel"),
    }
    study = Study.create(name="mixed", goal="minimize", space=space, silence="ignored", seed=3)

    def f(p: dict[str, object]) -> float:
        return abs(float(p["a"]) - 450) / 100 + abs(math.log10(float(p["b"]))) + int(p["n"])

    for _ in belated.simulate(study, f, delay=belated.delays.Fixed(2), rounds=15, seed=2):
        pass
    return study


def contextual() -> Study:
    study = Study.create(
        name="contextual", space={"x": Real(0, 1)}, context={"z": Real(0, 1), "who": Choice("f", "m")},
        silence="floor", floor=0.0, patience=5, seed=3,
    )  # fmt: skip
    for i in range(14):
        trial = study.ask(context={"z": i % 5 / 5, "who": "fm"[i % 2]})
        if i % 3:
            study.tell(trial, trial.params["x"])
    return study


def by_the_clock() -> Study:
    """Four in time, one late, two pending, one expired, one of each failure, and one added with its outcome."""
    now = [1.7e9]
    study = Study.create(
        name="clock", space={"x": Real(0, 1)}, silence="waiting", floor=0.0, patience="2d", seed=5, clock=lambda: now[0]
    )
    study.add({"x": 0.5}, 0.4)
    for kind in ("lost", "infeasible", "withdrawn"):
        study.fail(study.ask(), kind)
    early = [study.ask() for _ in range(6)]
    for i, trial in enumerate(early[:4]):
        study.tell(trial, 0.1 * i, at=now[0] + (i + 1) * 0.3 * DAY)
    study.tell(early[4], 0.9, at=now[0] + 3 * DAY)
    now[0] += 4 * DAY
    for _ in range(2):
        study.ask()
        now[0] += 0.5 * DAY
    return study


def listed() -> Study:
    points = [{"w": w, "ring": r} for w in (1.0, 2.0, 5.0) for r in ("aryl", "none")]
    study = Study.create(name="listed", space=Points(points), silence="unknown", seed=0)
    for _ in range(4):
        trial = study.ask()
        study.tell(trial, trial.params["w"])
    study.ask()
    return study


def only_asked() -> Study:
    study = Study.create(name="only-asked", space={"x": Real(0, 1), "k": Choice("a", "b")}, silence="unknown", seed=1)
    study.ask(n=3)
    return study


def empty() -> Study:
    return Study.create(name="empty", space={"x": Real(0, 1)}, silence="unknown", patience="2h", seed=1)


def wide() -> Study:
    options = Choice(*[f"option number {i}" for i in range(40)])
    study = Study.create(
        name="n" * 128, space={f"parameter_{i}": Real(0, 1) for i in range(13)} | {"which": options, "k": Real(0, 1)},
        silence="nearest", seed=1,
    )  # fmt: skip
    for _ in range(3):
        study.tell(study.ask(), 0.0)  # a constant outcome: a scale without a width
    study.ask()
    return study


STUDIES = (one_coordinate, mixed, contextual, by_the_clock, listed, only_asked, empty, wide)


@pytest.mark.parametrize("make", STUDIES, ids=lambda make: make.__name__)
def test_every_kind_of_study_has_a_picture_with_nothing_over_its_edges(make, tmp_path: Path) -> None:
    draw_study(read_study_view(make()), tmp_path / "a.png", 50)
    pixels = imread(tmp_path / "a.png")[..., :3]
    assert pixels.shape[1] == 600
    assert np.all(pixels[:2] == 1.0)
    assert np.all(pixels[-2:] == 1.0)
    assert np.all(pixels[:, :2] == 1.0)
    assert np.all(pixels[:, -2:] == 1.0)
    assert np.mean(np.any(pixels < 0.95, axis=2)) > 0.005  # and it is not blank


def overlaps(figure) -> list[tuple[str, str]]:
    """Pairs of words that cover each other."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    hidden = set()  # the labels of ticks beyond the ends of an axis
    for axes in figure.axes:
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            hidden |= {label for t in ticks if not low <= t.get_loc() <= high for label in (t.label1, t.label2)}
    texts = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip() and t not in hidden]
    boxes = [(t.get_text(), t.get_window_extent(canvas.get_renderer())) for t in texts if not t.get_rotation()]
    drawn = [(said, box.shrunk(0.98, 0.8)) for said, box in boxes]  # a little air belongs to a box
    return [(a, b) for i, (a, box) in enumerate(drawn) for b, other in drawn[i + 1 :] if box.overlaps(other)]


@pytest.mark.parametrize("make", STUDIES, ids=lambda make: make.__name__)
def test_no_words_cover_each_other(make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    monkeypatch.setattr(panels_module, "save_page", lambda figure, out, dpi: found.append(overlaps(figure)))
    draw_study(read_study_view(make()), tmp_path / "a.png")
    assert found == [[]]


def floorless() -> Study:
    """A study that needs a floor and states none."""
    study = Study.create(
        name="floorless", space={"x": Real(0, 1)}, silence="floor", goal="minimize", patience=2, seed=1
    )
    for _ in belated.simulate(study, lambda p: p["x"], delay=belated.delays.Fixed(3), rounds=9, seed=2):
        pass
    return study


@pytest.mark.parametrize(
    ("make", "label"),
    [(one_coordinate, "floor"), (floorless, "worst heard, as floor"), (listed, ""), (only_asked, "")],
    ids=lambda value: getattr(value, "__name__", "label"),
)
def test_the_floor_or_what_stands_in_is_a_line(
    make, label: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, lines = make(), {}

    def seen(figure, out, dpi) -> None:
        lines.update({line.get_label(): line.get_ydata()[0] for line in figure.axes[0].lines})
        assert overlaps(figure) == []

    monkeypatch.setattr(panels_module, "save_page", seen)
    draw_study(read_study_view(study), tmp_path / "a.png")
    assert [name for name in lines if "floor" in name] == ([label] if label else [])
    if label:
        assert lines[label] == study.floor.value
    if make is floorless:
        assert lines[label] == max(trial.outcome for trial in study.trials() if trial.outcome is not None)


@pytest.mark.parametrize("ending", FORMATS)
def test_the_same_study_gives_the_same_file(tmp_path: Path, ending: str) -> None:
    seen = read_study_view(mixed())
    draw_study(seen, tmp_path / f"a{ending}", 50)
    draw_study(seen, tmp_path / f"b{ending}", 50)
    assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()


def test_every_status_is_drawn_in_its_colour(tmp_path: Path) -> None:
    draw_study(read_study_view(by_the_clock()), tmp_path / "a.png", 100)
    pixels = imread(tmp_path / "a.png")[..., :3]
    for colour in (BLUE, ORANGE, VERMILLION):
        rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        assert np.sum(np.all(np.abs(pixels - rgb) < 0.02, axis=2)) > 10, colour


def test_delays_are_those_of_what_was_waited_for() -> None:
    study = by_the_clock()
    seen = read_study_view(study)
    # not the trial that was added with its outcome, nor the failed ones; the silent ones are censored at their ages
    waits = [0.3 * DAY, 0.6 * DAY, 0.9 * DAY, 1.2 * DAY, 3 * DAY, 5 * DAY, 1 * DAY, 0.5 * DAY]
    heard = [True] * 5 + [False] * 3
    expected = kaplan_meier(waits, heard)
    np.testing.assert_allclose(seen.survival.times, expected.times)
    np.testing.assert_allclose(seen.survival.survival, expected.survival)
    np.testing.assert_allclose(sorted(seen.waiting), [0.5 * DAY, 1 * DAY, 5 * DAY])
    assert seen.survival.rho(2 * DAY) == pytest.approx(expected.rho(study.settings.patience.m))
    assert [seen.count(s) for s in ("heard", "late", "pending", "expired", "failed")] == [5, 1, 2, 1, 3]


def test_delays_in_rounds_are_the_studys_own() -> None:
    study = one_coordinate()
    seen = read_study_view(study)
    assert set(seen.survival.times) == {trial.delay for trial in study.trials() if trial.delay is not None}
    pending = [trial.number for trial in study.trials() if trial.status == "pending"]
    assert sorted(seen.waiting) == sorted(study.rounds + 1.0 - s for s in pending)


@pytest.mark.parametrize("make", [one_coordinate, mixed, contextual, listed], ids=lambda make: make.__name__)
def test_the_belief_shown_is_the_studys(make) -> None:
    study = make()
    seen = read_study_view(study)
    assert seen.recommended == study.recommend(seen.context)
    spaces = [study.settings.space, *([study.settings.context] if study.settings.context else [])]
    assert [s.name for s in seen.slices] == [name for space in spaces for name in space.names]
    at = study.posterior([seen.recommended], seen.context)
    for piece in seen.slices:
        assert piece.here[1] == pytest.approx(float(at.mean[0]))
        assert np.all(np.diff(piece.x) >= 0)
        assert len(piece.pending) == seen.count("pending")
        assert len(piece.heard) == seen.count("heard") + seen.count("late")
    piece = seen.slices[0]
    if not piece.whole:
        values = [{**seen.recommended, piece.name: float(x)} for x in piece.x[::40]]
        mean, std = study.posterior(values, seen.context)
        np.testing.assert_allclose(piece.mean[::40], mean, atol=1e-9)
        np.testing.assert_allclose(piece.std[::40], std, atol=1e-9)


def test_coordinates_are_drawn_as_what_they_are() -> None:
    a, b, n, m = read_study_view(mixed()).slices
    assert (len(a.x), a.dots, a.log, a.options) == (GRID, False, False, None)
    assert (b.log, b.x[0], b.x[-1]) == (True, 0.01, 100.0)
    assert n.x.tolist() == [1, 2, 3, 4, 5, 6]
    assert n.dots
    assert m.options == ("iron oxide", "nickel")
    assert m.x.tolist() == [0, 1]


def test_outcomes_on_the_line_shown_are_the_darkest() -> None:
    (piece,) = read_study_view(one_coordinate()).slices
    np.testing.assert_allclose(piece.heard[:, 2], 1.0)  # one coordinate: they are all on it
    for piece in read_study_view(mixed()).slices:
        assert np.all((piece.heard[:, 2] >= 0) & (piece.heard[:, 2] <= 1 + 1e-9))
        assert np.min(piece.heard[:, 2]) < 0.99


def test_the_context_is_the_newest_unless_another_is_named() -> None:
    study = contextual()
    assert read_study_view(study).context == study.trials()[-1].context
    other = {"z": 0.9, "who": "f"}
    assert read_study_view(study, other).recommended == study.recommend(other)


def test_more_coordinates_than_fit_are_counted() -> None:
    seen = read_study_view(wide())
    assert (len(seen.slices), seen.left_out) == (12, 3)


def test_options_are_slanted_only_where_they_would_touch() -> None:
    m = read_study_view(mixed()).slices[3]
    assert needs_slant(m, 1.0)
    assert not needs_slant(m, 6.0)


@pytest.mark.parametrize(
    ("seconds", "name"),
    [(0.5, "milliseconds"), (90, "seconds"), (130, "minutes"), (3 * 3600, "hours"), (3 * DAY, "days")],
)
def test_times_are_in_a_unit_that_reads_well(seconds: float, name: str) -> None:
    assert choose_unit(seconds)[1] == name


# The command ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BELATED_STORE", "sqlite:///lab.db")
    study = Study.create(
        "sqlite:///lab.db", "catalyst", space={"x": Real(0, 1)}, context={"z": Real(0, 1)}, silence="unknown", seed=0
    )
    for z in (0.1, 0.5, 0.9):
        trial = study.ask(context={"z": z})
        study.tell(trial, trial.params["x"])
    return tmp_path


def run(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, ["plot", *words])
    return done.exit_code, done.stdout, done.stderr


def test_the_command_writes_a_picture_named_after_the_study(lab: Path) -> None:
    assert run("catalyst", "--dpi", "40") == (0, "The picture: catalyst.png\n", "")
    assert (lab / "catalyst.png").read_bytes().startswith(b"\x89PNG")


def test_for_a_script_it_says_what_is_in_it(lab: Path) -> None:
    code, out, _ = run("--json", "--out", "a.svg", "--context", "z=0.25")
    said = json.loads(out)
    assert code == 0
    assert said["context"] == {"z": 0.25}
    assert said["trials"]["heard"] == 3
    assert set(said["recommended"]) == {"x"}
    assert (lab / said["picture"]).stat().st_size > 5_000


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nope",), "there is no study 'nope'"),
        (("catalyst", "--out", "a.gif"), "--out must end in .png, .pdf, .svg (got a.gif)"),
        (("catalyst", "--out", "no/where.png"), "--out must be in a folder that exists"),
        (("catalyst", "--context", "z=7"), "between 0.0 and 1.0"),
        (("catalyst", "--context", "w=0"), "there is no such parameter"),
        (("catalyst", "--dpi", "3"), "--dpi must be at least 30 (got 3)"),
        (("one", "two"), "the arguments must be [NAME]"),
    ],
)
def test_bad_input_is_one_sentence_and_no_picture(lab: Path, words: tuple[str, ...], says: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.strip().splitlines()) == 1
    assert not list(lab.glob("*.png"))
