"""Plotly's figures show the numbers of `belated plot`, for every kind of study."""

import json
import math

import numpy as np
import pytest

from belated import Choice, InvalidInput, Points, Real, Study
from belated.plotting.study.view import read_study_view
from tests.plotting.studies import STUDIES, make_by_the_clock, make_lab, make_mixed, view_study

pytest.importorskip("plotly")
from belated.plotting.interactive import (
    draw_band,
    draw_beliefs,
    draw_delays,
    draw_outcomes,
    draw_pair,
    draw_pending,
)

LARGE = ("make_counted", "make_crowd", "make_wide", "make_imported", "make_logs")  # nothing new, and slow
EVERY = [make for make in (make_lab, *STUDIES) if make.__name__ not in LARGE]


@pytest.mark.parametrize("make", EVERY, ids=lambda make: make.__name__)
def test_outcomes_and_trials_without_one_are_all_there(make) -> None:
    study = make()
    view, figure = read_study_view(study), draw_outcomes(study)
    marks = [trace for trace in figure.data if trace.mode == "markers"]
    shown = sum(len(trace.x) for trace in marks)
    assert shown == len(view.trials)
    told = [y for trace in marks if trace.name in ("heard", "late") for y in trace.y]
    wanted = [trial.outcome for trial in view.trials if trial.outcome is not None]
    if not view.conversions:
        np.testing.assert_allclose(sorted(told), sorted(wanted))


@pytest.mark.parametrize("make", EVERY, ids=lambda make: make.__name__)
def test_beliefs_are_those_of_the_view(make) -> None:
    study = make()
    view, figure = read_study_view(study), draw_beliefs(study)
    means = [trace for trace in figure.data if trace.name == "mean"]
    assert len(means) == len(view.slices)
    for trace, along in zip(means, view.slices, strict=True):
        np.testing.assert_array_equal(trace.x, along.x)
        np.testing.assert_array_equal(trace.y, along.mean)


@pytest.mark.parametrize("make", EVERY, ids=lambda make: make.__name__)
def test_figures_can_be_written_as_json(make) -> None:
    study = make()
    for figure in (draw_outcomes(study), draw_delays(study), draw_beliefs(study)):
        assert json.loads(figure.to_json())["layout"]


def test_the_best_so_far_never_gets_worse() -> None:
    best = draw_outcomes(make_mixed()).data[0]
    assert best.name == "best so far"
    assert np.all(np.diff(best.y) <= 0)  # it minimizes


def test_pointing_at_a_trial_shows_its_params_as_they_are() -> None:
    study = Study.create(space={"kind": Choice("<b>", "c")}, silence="unknown", seed=0)
    study.tell(study.ask(params={"kind": "<b>"}), 1.0)
    assert list(draw_outcomes(study).data[1].text) == ["trial 1<br>kind &lt;b&gt;"]


def test_a_log_coordinate_has_a_log_axis() -> None:
    figure = draw_beliefs(make_mixed())
    assert [figure.layout[axis].type for axis in ("xaxis", "xaxis2")] == [None, "log"]
    assert list(figure.layout.xaxis2.ticktext) == ["0.01", "0.1", "1", "10", "100"]


def test_shares_of_delays_grow_to_at_most_one() -> None:
    shares = np.array(draw_delays(make_lab()).data[1].y)
    assert np.all(np.diff(shares) >= 0)
    assert math.isclose(shares[0], 0.0, abs_tol=1e-12)
    assert shares[-1] <= 1.0


def test_a_band_of_steps_is_flat_between_its_points() -> None:
    band = draw_band(np.array([0.0, 1.0, 3.0]), np.array([0.0, 0.2, 0.5]), np.array([0.1, 0.4, 0.9]), "", shape="hv")
    assert list(band.x[:5]) == [0.0, 1.0, 1.0, 3.0, 3.0]
    assert list(band.y[:5]) == [0.1, 0.1, 0.4, 0.4, 0.9]
    assert list(band.y[5:]) == [0.5, 0.2, 0.2, 0.0, 0.0]


def test_an_empty_study_has_empty_figures() -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    assert len(draw_outcomes(study).data) == 0
    assert len(draw_delays(study).data) == 0
    assert len(draw_beliefs(study).data) == len(read_study_view(study).slices) * 4


def test_outcomes_stand_by_number_or_by_time() -> None:
    study = make_by_the_clock()
    by_number, by_time = ({t.name: t for t in draw_outcomes(study, by).data} for by in ("trial", "time"))
    late = next(trial for trial in study.trials() if trial.status == "late")
    assert list(by_number["late"].x) == [late.number]
    start = study.trials()[0].asked_at
    np.testing.assert_allclose(list(by_time["late"].x), [((late.told_at or 0.0) - start) / 86400.0])
    assert sorted(by_number["heard"].y) == sorted(by_time["heard"].y)


def test_what_is_out_stands_beside_patience_the_oldest_at_the_top() -> None:
    study = make_by_the_clock()
    figure = draw_pending(study)
    out = [trial for trial in study.trials() if trial.status in ("pending", "expired")]
    (bars,) = figure.data
    assert list(bars.y)[::-1] == [f"trial {trial.number}" for trial in out]
    np.testing.assert_allclose(bars.x[::-1], [(study.clock() - trial.asked_at) / 86400.0 for trial in out])
    marks = {each.text: each.x for each in figure.layout.annotations}
    assert marks["patience"] == 2.0
    assert 0.3 <= marks["50 % came"] <= 1.2


def test_without_an_outcome_there_is_no_axis_for_outcomes() -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    trial = study.ask()
    assert [list(trace.y) for trace in draw_outcomes(study).data] == [["pending"]]
    assert "yaxis2" not in draw_outcomes(study).to_dict()["layout"]
    study.tell(trial, 0.4)
    study.ask()
    assert "yaxis2" in draw_outcomes(study).to_dict()["layout"]


def test_delays_that_are_short_are_drawn_in_the_unit_of_patience() -> None:
    now = [0.0]
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", patience="5d", seed=0, clock=lambda: now[0])
    trial = study.ask()
    now[0] = 120.0
    study.tell(trial, 0.4)
    figure = draw_delays(study)
    assert figure.layout.xaxis.title.text == "days waited"
    assert figure.layout.annotations[0].x == 5.0


def test_the_mean_is_drawn_over_the_outcomes_and_the_star_over_both() -> None:
    for make in (make_lab, make_mixed):
        for trace in draw_beliefs(view_study(make).study).data:
            wanted = {"mean": 1, "recommended": 2}.get(trace.name)
            assert trace.zorder == wanted


def test_a_pair_shows_the_mean_of_the_posterior() -> None:
    view = view_study(make_lab)
    grid = draw_pair(view.study, "temperature", "stages").data[0]
    here = dict(view.recommended.params)
    for row, column in ((0, 0), (3, 7)):
        there = {**here, "temperature": float(grid.x[column]), "stages": int(grid.y[row])}
        wanted = view.study.posterior([there], view.context).mean[0]
        np.testing.assert_allclose(grid.z[row][column], wanted, rtol=1e-6)


@pytest.mark.parametrize("names", [("temperature", "temperature"), ("temperature", "heat"), ("", "stages")])
def test_a_pair_must_be_two_names_of_the_space(names: tuple[str, str]) -> None:
    with pytest.raises(InvalidInput, match=r"two different names of temperature, rate, stages, solvent \(got "):
        draw_pair(make_lab(), *names)
    with pytest.raises(InvalidInput, match="a list of queries"):
        draw_pair(Study.create(space=Points([0.0, 1.0]), silence="unknown", seed=0), "x", "x")


def test_names_with_tags_are_text_on_axes() -> None:
    study = Study.create(space={"<b>": Choice("<i>", "c"), "x": Real(0, 1, unit="<u>")}, silence="unknown", seed=0)
    for trial in study.ask(n=3):
        study.tell(trial, 1.0)
    axes = draw_beliefs(study).layout
    assert axes.xaxis.title.text == "&lt;b&gt;"
    assert list(axes.xaxis.ticktext) == ["&lt;i&gt;", "c"]
    assert axes.xaxis2.title.text == "x (&lt;u&gt;)"


def test_a_chart_of_many_trials_says_what_it_shows() -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    study.add_many({"params": {"x": i / 3000}, "value": 1.0 - (i / 3000 - 0.3) ** 2} for i in range(3000))
    figure = draw_outcomes(study)
    heard = next(trace for trace in figure.data if trace.name == "heard")
    assert len(heard.x) == 1200
    assert max(heard.y) == study.best().value
    assert heard.text[-1].startswith("trial 3000<br>")
    assert figure.layout.annotations[0].text.startswith("Shown: 1,200 of 3,000 outcomes: the newest, the best")


def test_few_rounds_have_a_tick_each_and_many_do_not() -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    study.tell(study.ask(n=3)[0], 0.4)
    for figure in (draw_outcomes(study), draw_pending(study), draw_delays(study)):
        assert figure.layout.xaxis.dtick == 1
    study.ask(n=20)
    assert draw_outcomes(study).layout.xaxis.dtick is None
    assert draw_outcomes(study, "time").layout.xaxis.dtick is None


def test_of_conversions_silence_past_patience_is_not_out() -> None:
    study = Study.create(space={"x": Real(0, 1)}, outcomes="conversion", silence="fading", patience=3, seed=0)
    study.ask(n=3)
    study.ask(n=2)
    assert list(draw_pending(study).data[0].y) == ["trial 5", "trial 4", "trial 3"]


def test_a_heat_map_ends_with_its_last_cells() -> None:
    space = {"rate": Real(1e-4, 1, log=True), "heat": Real(20, 90), "kind": Choice("a", "b")}
    study = Study.create(space=space, silence="unknown", seed=0)
    for trial in study.ask(n=4):
        study.tell(trial, trial.params["heat"])
    layout = draw_pair(study, "rate", "kind").layout
    np.testing.assert_allclose(layout.xaxis.range, (-4 - 1 / 12, 1 / 12))
    np.testing.assert_allclose(layout.yaxis.range, (-0.5, 1.5))
    half = 70 / 48
    np.testing.assert_allclose(draw_pair(study, "heat", "kind").layout.xaxis.range, (20 - half, 90 + half))


def test_single_conversions_stand_below_the_rate_and_counts_beside_it() -> None:
    study = Study.create(space={"x": Real(0, 1)}, outcomes="conversion", silence="fading", patience=3, seed=0)
    trials = study.ask(n=6)
    study.tell(trials[3], 1)
    study.tell(trials[4], 1)
    figure = draw_outcomes(study, "trial")
    heard = next(trace for trace in figure.data if trace.name == "heard")
    assert (list(heard.x), list(heard.y), heard.yaxis) == ([4.0, 5.0], ["heard", "heard"], "y2")
    assert max(figure.data[0].y) < 1
    assert figure.data[0].name == "rate so far"
