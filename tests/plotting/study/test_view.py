"""What the picture of a study shows is what the study says."""

from __future__ import annotations

import numpy as np
import pytest

from belated import Integer, Real, Study
from belated.learner.delays.survival import kaplan_meier
from belated.plotting.study.view import GRID, format_expected, is_squashed, read_study_view
from belated.results import BestQuery
from tests.plotting.studies import (
    DAY,
    make_amended,
    make_by_the_clock,
    make_contextual,
    make_conversions,
    make_counted,
    make_empty,
    make_imported,
    make_listed,
    make_mixed,
    make_one_coordinate,
    make_wide,
    view_study,
)
from tests.support.studies import Clock


def test_delays_are_those_of_what_was_waited_for() -> None:
    study = make_by_the_clock()
    view = read_study_view(study)
    # not the trial that was added with its outcome, nor the failed ones; the silent ones are censored at their ages
    waits = [0.3 * DAY, 0.6 * DAY, 0.9 * DAY, 1.2 * DAY, 3 * DAY, 5 * DAY, 1 * DAY, 0.5 * DAY]
    heard = [True] * 5 + [False] * 3
    expected = kaplan_meier(waits, heard)
    np.testing.assert_allclose(view.survival.times, expected.times)
    np.testing.assert_allclose(view.survival.survival, expected.survival)
    np.testing.assert_allclose(sorted(view.waiting), [0.5 * DAY, 1 * DAY, 5 * DAY])
    assert view.survival.rho(2 * DAY) == pytest.approx(expected.rho(study.settings.patience.m))
    assert [view.count(s) for s in ("heard", "late", "pending", "expired", "failed")] == [5, 1, 2, 1, 3]


def test_delays_in_rounds_are_the_studys_own() -> None:
    study = make_one_coordinate()
    view = read_study_view(study)
    assert set(view.survival.times) == {trial.delay for trial in study.trials() if trial.delay is not None}
    pending = [trial.number for trial in study.trials() if trial.status == "pending"]
    assert sorted(view.waiting) == sorted(study.rounds + 1.0 - s for s in pending)


@pytest.mark.parametrize(
    "make", [make_one_coordinate, make_mixed, make_contextual, make_listed], ids=lambda make: make.__name__
)
def test_the_belief_shown_is_the_studys(make) -> None:
    study = make()
    view = read_study_view(study)
    assert view.recommended == study.recommend(view.context)
    spaces = [study.settings.space, *([study.settings.context] if study.settings.context else [])]
    assert [s.name for s in view.slices] == [name for space in spaces for name in space.names]
    at = study.posterior([view.recommended.params], view.context)
    for piece in view.slices:
        assert piece.here[1] == pytest.approx(float(at.mean[0]))
        assert np.all(np.diff(piece.x) >= 0)
        assert len(piece.pending) == view.count("pending")
        assert len(piece.heard) == view.count("heard") + view.count("late")
    piece = view.slices[0]
    if not piece.whole:
        values = [{**view.recommended.params, piece.name: float(x)} for x in piece.x[::40]]
        belief = study.posterior(values, view.context)
        for shown, expected in zip(
            (piece.low, piece.mean, piece.high), (belief.low, belief.mean, belief.high), strict=True
        ):
            np.testing.assert_allclose(shown[::40], expected, atol=1e-9)


def test_coordinates_are_drawn_as_what_they_are() -> None:
    a, b, n, m = view_study(make_mixed).slices
    assert (len(a.x), a.dots, a.log, a.options) == (GRID, False, False, None)
    assert (b.log, b.x[0], b.x[-1]) == (True, 0.01, 100.0)
    assert n.x.tolist() == [1, 2, 3, 4, 5, 6]
    assert n.dots
    assert m.options == ("iron oxide", "nickel")
    assert m.x.tolist() == [0, 1]


def test_outcomes_on_the_line_shown_are_the_darkest() -> None:
    (piece,) = view_study(make_one_coordinate).slices
    np.testing.assert_allclose(piece.heard[:, 2], 1.0)  # one coordinate: they are all on it
    for piece in view_study(make_mixed).slices:
        assert np.all((piece.heard[:, 2] >= 0) & (piece.heard[:, 2] <= 1 + 1e-9))
        assert np.min(piece.heard[:, 2]) < 0.99


def test_the_context_is_the_newest_unless_another_is_named() -> None:
    study = make_contextual()
    assert read_study_view(study).context == study.trials()[-1].context
    other = {"z": 0.9, "who": "f"}
    assert read_study_view(study, other).recommended == study.recommend(other)


def test_the_outlook_is_the_studys_in_the_context_shown() -> None:
    study = make_contextual()
    view = read_study_view(study)
    assert view.outlook == study.outlook(context=view.context)
    assert read_study_view(make_empty()).outlook is None


def test_more_coordinates_than_fit_are_counted() -> None:
    view = view_study(make_wide)
    assert (len(view.slices), view.left_out) == (12, 3)


def test_the_axis_of_a_finished_study_ends_with_what_happened_last() -> None:
    clock = Clock()
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0, patience="1h", clock=clock)
    for _ in range(4):
        trial = study.ask()
        clock.now += 60.0
        study.tell(trial, trial.params["x"])
    clock.now += 1e7
    view = read_study_view(study)
    assert (view.dated, view.now) == (True, 240.0)
    study.ask()
    assert read_study_view(study).now == 6.0  # one is out: now counts, and the axis counts trials


def test_dates_that_would_squash_the_axis_make_it_count_trials() -> None:
    view = view_study(make_imported)
    assert (view.by_clock, view.dated) == (True, False)
    assert view.asked.tolist() == [float(number) for number in range(1, 13)]
    assert view_study(make_by_the_clock).dated


@pytest.mark.parametrize(
    ("times", "squashed"),
    [
        ([0, 1, 2, 3, 4, 100], True),
        ([0, 20, 40, 60, 80, 100], False),
        ([0, 50, 60, 70, 80, 100], False),
        ([0, 100], False),  # too few to say
        ([5.0] * 9, False),
    ],
)
def test_one_empty_stretch_squashes_an_axis(times: list[float], squashed: bool) -> None:
    assert is_squashed(times) == squashed


@pytest.mark.parametrize(
    ("mean", "low", "high", "words"),
    [
        (83.1234, 79.5, 86.7, "83.1 ± 3.6 g (90 % interval)"),
        (0.3405, 0.2243, 0.5171, "0.3405 g (90 % interval 0.2243 to 0.5171)"),
        (8.0e-5, 7.5e-5, 8.5e-5, "8e-05 ± 5e-06 g (90 % interval)"),
        (12345.0, 12000.0, 12690.0, "12340 ± 340 g (90 % interval)"),
        (1.0, 1.0, 1.0, "1 g (90 % interval 1 to 1)"),
    ],
)
def test_what_is_expected_has_as_many_digits_as_are_known(mean: float, low: float, high: float, words: str) -> None:
    best = BestQuery(params={}, value=mean, quantity="mean", low=low, high=high, asked=1, heard=1)
    assert format_expected(best, "g") == words


def test_the_newest_reason_counts() -> None:
    assert view_study(make_amended).amended == {2: "digits swapped", 4: "second titration"}


def test_of_conversions_the_best_is_a_rate_and_no_outcome_is_drawn_on_the_belief() -> None:
    study = make_conversions()
    view = read_study_view(study)
    assert view.conversions
    assert view.best == study.best()
    assert view.best is not None
    assert view.best.quantity == "rate"
    (piece,) = view.slices
    assert len(piece.heard) == 0
    assert np.max(piece.high) <= 1.0


def test_people_who_were_counted_are_shown_as_the_share_of_all_days_of_a_query() -> None:
    study = make_counted()
    view = read_study_view(study)
    assert view.counts == {"counted": 42}
    days = [t for t in study.trials() if t.params["discount"] == 0.15 and t.context == {"segment": "new"}]
    share = sum(day.converted or 0 for day in days) / sum(day.shown or 0 for day in days)
    heard = view.slices[0].heard
    assert len(days) == 7
    assert len(heard) == 6
    assert any(at == 0.15 and value == share for at, value, _ in heard)


def test_what_was_run_outside_the_ranges_is_counted_and_not_drawn_on_the_belief() -> None:
    study = Study.create(space={"x": Real(0, 1), "n": Integer(1, 4)}, silence="unknown", seed=0)
    for x, n in ((0.5, 2), (1.5, 2), (0.25, 9)):
        study.add({"x": x, "n": n}, x)
    view = read_study_view(study)
    assert view.outside == 2
    assert [piece.heard[:, 0].tolist() for piece in view.slices] == [[0.5], [2.0]]
