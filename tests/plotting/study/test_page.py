"""The picture of a study: whatever kind of study it is, nothing covers anything else."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import belated
from belated.plotting.study import page as drawing
from belated.plotting.study.beliefs import needs_slant
from belated.plotting.study.marks import BLUE, CROWDED, ORANGE, VERMILLION, choose_unit
from belated.plotting.study.outcomes import compute_rate_so_far
from belated.plotting.study.page import draw_study
from belated.plotting.study.view import format_expected, read_study_view
from belated.plotting.style import FORMATS
from tests.plotting.studies import (
    DAY,
    STUDIES,
    make_amended,
    make_by_the_clock,
    make_contextual,
    make_conversions,
    make_counted,
    make_crowd,
    make_floorless,
    make_lab,
    make_listed,
    make_mixed,
    make_one_coordinate,
    make_only_asked,
    view_study,
)

imread = pytest.importorskip("matplotlib.image").imread


def find_overlaps(figure) -> list[tuple[str, str]]:
    """Pairs of words that cover each other."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.legend import Legend
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
    legends = {legend: legend.get_window_extent() for legend in figure.findobj(Legend)}
    covered = [
        ("a legend", text.get_text())
        for legend, place in legends.items()
        for text in texts
        if text not in legend.get_texts() and place.overlaps(text.get_window_extent().shrunk(0.98, 0.8))
    ]
    return [
        *((a, b) for i, (a, box) in enumerate(drawn) for b, other in drawn[i + 1 :] if box.overlaps(other)),
        *covered,
    ]


@pytest.mark.parametrize("make", STUDIES, ids=lambda make: make.__name__)
def test_no_words_cover_each_other_and_nothing_runs_over_the_edges(
    make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    save = drawing.save_page
    monkeypatch.setattr(
        drawing, "save_page", lambda figure, out, dpi: (found.append(find_overlaps(figure)), save(figure, out, dpi))
    )
    draw_study(view_study(make), tmp_path / "a.png", 50)
    assert found == [[]]
    pixels = imread(tmp_path / "a.png")[..., :3]
    assert pixels.shape[1] == 600
    assert np.all(pixels[:2] == 1.0)
    assert np.all(pixels[-2:] == 1.0)
    assert np.all(pixels[:, :2] == 1.0)
    assert np.all(pixels[:, -2:] == 1.0)
    assert np.mean(np.any(pixels < 0.95, axis=2)) > 0.005  # and it is not blank


@pytest.mark.parametrize(
    ("make", "label"),
    [
        (make_one_coordinate, "floor"),
        (make_floorless, "worst heard, as floor"),
        (make_listed, ""),
        (make_only_asked, ""),
    ],
    ids=lambda value: getattr(value, "__name__", "label"),
)
def test_the_floor_or_what_stands_in_is_a_line(
    make, label: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, lines = make(), {}

    def look(figure, out, dpi) -> None:
        lines.update({line.get_label(): line.get_ydata()[0] for line in figure.axes[0].lines})
        assert find_overlaps(figure) == []

    monkeypatch.setattr(drawing, "save_page", look)
    draw_study(read_study_view(study), tmp_path / "a.png")
    assert [name for name in lines if "floor" in name] == ([label] if label else [])
    if label:
        assert lines[label] == study.floor.value
    if make is make_floorless:
        assert lines[label] == max(trial.outcome for trial in study.trials() if trial.outcome is not None)


@pytest.mark.parametrize("ending", FORMATS)
def test_the_same_study_gives_the_same_file(tmp_path: Path, ending: str) -> None:
    view = view_study(make_mixed)
    draw_study(view, tmp_path / f"a{ending}", 50)
    draw_study(view, tmp_path / f"b{ending}", 50)
    assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()


def test_an_outcome_that_was_added_has_no_tail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.collections import LineCollection

    study = belated.Study.create(space={"x": belated.Real(0, 1)}, silence="unknown", seed=0)
    study.add({"x": 0.25}, 1.0)
    study.tell(study.ask(), 2.0)
    tails: list[float] = []

    def save(figure, out, dpi) -> None:
        drawn = [lines for lines in figure.axes[0].collections if isinstance(lines, LineCollection)]
        tails.extend(tail[0, 1] for lines in drawn for tail in lines.get_segments())

    monkeypatch.setattr(drawing, "save_page", save)
    draw_study(read_study_view(study), tmp_path / "a.png", 50)
    assert tails == [2.0]


def test_every_status_is_drawn_in_its_colour(tmp_path: Path) -> None:
    draw_study(view_study(make_by_the_clock), tmp_path / "a.png", 100)
    pixels = imread(tmp_path / "a.png")[..., :3]
    for colour in (BLUE, ORANGE, VERMILLION):
        rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        assert np.sum(np.all(np.abs(pixels - rgb) < 0.02, axis=2)) > 10, colour


def test_options_are_slanted_only_where_they_would_touch() -> None:
    m = view_study(make_mixed).slices[3]
    assert needs_slant(m, 1.0)
    assert not needs_slant(m, 6.0)


@pytest.mark.parametrize(
    ("seconds", "name"),
    [(0.5, "milliseconds"), (90, "seconds"), (130, "minutes"), (3 * 3600, "hours"), (3 * DAY, "days")],
)
def test_times_are_in_a_unit_that_reads_well(seconds: float, name: str) -> None:
    assert choose_unit(seconds)[1] == name


def read_texts(view) -> list[str]:
    """Every text of a picture."""
    from matplotlib.text import Text

    texts: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            drawing, "save_page", lambda figure, out, dpi: texts.extend(t.get_text() for t in figure.findobj(Text))
        )
        draw_study(view, Path("unused.png"))
    return texts


def test_amended_and_failed_trials_are_named_with_the_reason() -> None:
    texts = read_texts(view_study(make_amended))
    assert {"Trial 2 amended: digits swapped", "Trial 4 amended: second titration", "2", "4"} <= set(texts)
    assert "Trial 6 infeasible: it boiled over" in texts


def test_reasons_are_shown_once_and_what_was_undone_is_no_amendment() -> None:
    study = belated.Study.create(space={"x": belated.Real(0, 1)}, silence="unknown", seed=0)
    for trial in study.ask(n=9)[:2]:
        study.fail(trial, "lost", reason="the power was off")
    study.tell(3, 0.5)
    study.amend(3, 0.75, reason="misread")
    study.undo()
    texts = read_texts(read_study_view(study))
    assert "Trials 1, 2 lost: the power was off" in texts
    assert not any("misread" in text for text in texts)
    for number in range(4, 9):
        study.fail(number, "infeasible", reason=f"flask {number} cracked")
    assert "3 more notes on failed trials: see the report" in read_texts(read_study_view(study))


def test_names_and_units_are_shown() -> None:
    texts = read_texts(view_study(make_amended))
    assert {"Which bath is best?", "yield (%)", "Belief about yield (%)", "温度 (°C)", "вода"} <= set(texts)
    assert any("Best yield: 40 %, trial 5." in text for text in texts)


def test_the_recommended_point_has_its_value_and_interval() -> None:
    view = view_study(make_one_coordinate)
    x = view.study.recommend().params["x"]
    assert f"Recommended: {format_expected(view.study.recommend())} at x = {x:.4g}." in read_texts(view)


def test_the_recommended_point_is_whole_with_its_units_and_its_context() -> None:
    texts = read_texts(view_study(make_lab))
    point = make_lab().recommend().params
    assert any(text.startswith("Recommended: ") and text.endswith(f"solvent = {point['solvent']}.") for text in texts)
    assert any(f"temperature = {point['temperature']:.4g} °C, rate = " in text for text in texts)
    assert any(", in the context z = " in text for text in read_texts(view_study(make_contextual)))


def test_a_crowd_of_pending_is_a_density() -> None:
    from matplotlib.collections import PolyCollection

    shapes: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            drawing,
            "save_page",
            lambda figure, out, dpi: shapes.extend(
                sum(isinstance(c, PolyCollection) and c.get_alpha() == CROWDED["alpha"] for c in axes.collections)
                for axes in figure.axes
            ),
        )
        draw_study(view_study(make_crowd), Path("unused.png"))
    assert shapes == [0, 1, 1, 1, 0]  # outcomes, lanes, delays, x, and c, where counts are written
    texts = read_texts(view_study(make_crowd))
    assert "106 pending" in texts
    counts = Counter(trial.params["c"] for trial in make_crowd().trials() if trial.status == "pending")
    assert {str(count) for count in counts.values()} <= set(texts)


def test_a_mark_at_the_edge_is_whole() -> None:
    from matplotlib.lines import Line2D

    marks: list[Line2D] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            drawing,
            "save_page",
            lambda figure, out, dpi: marks.extend(
                m for m in figure.findobj(Line2D) if m.get_marker() in ("o", "v", "*")
            ),
        )
        draw_study(view_study(make_one_coordinate), Path("unused.png"))
    assert marks
    assert not any(mark.get_clip_on() for mark in marks if mark.axes is not None)


def test_letters_of_any_script_are_drawn_without_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    draw_study(view_study(make_amended), tmp_path / "a.png", 40)  # a warning would be an error here
    assert caplog.records == []


def test_the_rate_so_far_is_what_came_per_person_shown() -> None:
    view = read_study_view(make_counted())
    (rate,) = compute_rate_so_far(view, np.array([view.now]), view.asked, view.told)
    people = sum(trial.shown or 0 for trial in view.trials)
    assert rate == pytest.approx(sum(trial.converted or 0 for trial in view.trials) / people)


@pytest.mark.parametrize(
    ("start", "after", "words"),
    [
        (1.75e9, 60.0, "trial (on 15 Jun 2025)"),
        (1.75e9, 86400.0 * 400, "trial (dates, too far apart: 15 Jun 2025 to 20 Jul 2026)"),
        (0.0, 60.0, "trial (times, too far apart)"),
    ],
)
def test_an_axis_that_counts_trials_says_when_they_were(start: float, after: float, words: str) -> None:
    now = [start]
    study = belated.Study.create(
        space={"x": belated.Real(0, 1)}, silence="unknown", patience="14d", clock=lambda: now[0], seed=0
    )
    first, *others = study.ask(n=7)
    for trial in others:
        study.tell(trial, trial.params["x"])
    now[0] += after
    study.tell(first, 0.5)
    assert any(text.startswith(words) for text in read_texts(read_study_view(study)))


def test_patience_is_said_as_everywhere() -> None:
    view = view_study(make_by_the_clock)
    assert any(f"; patience {view.study.settings.patience};" in text for text in read_texts(view))


def test_python_draws_what_the_shell_draws_and_refuses_another_ending(tmp_path: Path) -> None:
    study = belated.Study.create(space={"x": belated.Real(0, 1)}, silence="unknown", seed=0, clock=lambda: 1e9)
    study.add({"x": 0.2}, 0.5)
    study.add({"x": 0.8}, 0.7)
    assert study.plot(tmp_path / "mine.svg") == tmp_path / "mine.svg"
    text = (tmp_path / "mine.svg").read_text()
    draw_study(read_study_view(study), tmp_path / "shell.svg")
    assert text == (tmp_path / "shell.svg").read_text()
    with pytest.raises(belated.InvalidInput, match=r"out must end in \.png, \.pdf, \.svg"):
        study.plot(tmp_path / "mine.gif")


def test_of_conversions_the_rate_is_to_be_seen_and_single_ones_stand_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_conversions()

    def look(figure, out, dpi) -> None:
        rates, lanes, *_ = figure.axes
        (line,) = [line for line in rates.get_lines() if line.get_label() == "rate so far"]
        assert max(line.get_ydata()) < 0.5
        assert rates.get_ylim()[1] < 1.2 * max(line.get_ydata())
        assert lanes.get_yticklabels()[0].get_text().endswith("heard")
        assert find_overlaps(figure) == []

    monkeypatch.setattr(drawing, "save_page", look)
    draw_study(read_study_view(study), Path("unused.png"))
    assert "Belief about the rate" in read_texts(read_study_view(study))


def test_the_people_of_a_day_are_one_dot_whatever_they_were_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_counted()
    first = [trial for trial in study.trials() if trial.asked_at == study.trial(1).asked_at]
    share = sum(trial.converted or 0 for trial in first) / sum(trial.shown or 0 for trial in first)
    study.fail(42, "lost")

    def look(figure, out, dpi) -> None:
        (dots,) = [line for line in figure.axes[0].get_lines() if line.get_label() == "share of a day"]
        assert len(dots.get_xdata()) == 7
        assert dots.get_ydata()[0] == pytest.approx(share)
        assert find_overlaps(figure) == []

    monkeypatch.setattr(drawing, "save_page", look)
    draw_study(read_study_view(study), Path("unused.png"))
