"""Every mistake has a remedy: `amend`, on every ledger, live and after a restart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import belated
from belated import AlreadyEnded, AlreadyExists, AlreadyTold, Integer, InvalidInput, NothingHeard, Outside, Real, Study
from belated.record.events import Amended, Told
from tests.support.refusals import refusal
from tests.support.studies import GRID, Place

LINE = {"x": Real(0, 1)}
POINTS = [{"x": 0.1}, {"x": 0.5}, {"x": 0.9}]


def belief(study: Study) -> np.ndarray:
    return np.stack(study.posterior(POINTS)[:2])


def fill(study: Study, count: int = 5) -> None:
    for trial in study.ask(n=count):
        study.tell(trial, 1.0 - (trial.params["x"] - 0.3) ** 2)


def everywhere(place: Place, study: Study) -> list[Study]:
    return [study, place.another(study), place.restart(study)]


# A trial --------------------------------------------------------------------------------------------------------------


def test_an_outcome_taken_back_leaves_the_trial_pending_and_the_next_is_an_amendment(place: Place) -> None:
    study = place.create(patience=4)
    first, second = study.ask(n=2)
    study.tell(first, 0.5)
    study.amend(1, take_back=True, reason="it was flask 2's", by="Anna")
    for handle in everywhere(place, study):
        trial = handle.trial(1)
        assert (trial.status, trial.outcome, trial.delay, trial.told_at) == ("pending", None, None, None)
    study.ask()
    receipt = study.tell(first, 0.9, key="k")
    assert (receipt.status, receipt.delay) == ("heard", 3.0)
    assert [type(event) for event in study.events()][-1] is Amended
    assert study.tell(first, 0.9).status == "duplicate"
    refusal(AlreadyTold, lambda: study.tell(first, 0.8))
    for handle in everywhere(place, study):
        assert handle.trial(1).outcome == 0.9
        assert handle.tell(first, 0.9, key="k") == receipt
    assert study.tell(second, 0.4).status == "heard"


def test_the_belief_without_an_outcome_is_as_if_it_had_never_been_told(place: Place) -> None:
    study, other = place.create(space=LINE), Place(None).create(space=LINE)
    fill(study)
    for trial in study.trials():
        other.add(trial.params, trial.outcome if trial.number != 3 else None)
    belief(study)  # fills the cache
    study.amend(3, take_back=True, reason="wrong flask")
    for handle in everywhere(place, study):
        assert belief(handle) == pytest.approx(belief(other), abs=1e-9)


def test_a_wrong_failure_is_taken_back_or_becomes_another(place: Place) -> None:
    study = place.create()
    one, two, _ = study.ask(n=3)
    study.fail(one, "infeasible")
    study.fail(two, "infeasible")
    assert study.amend(one, take_back=True, reason="the wrong trial").status == "pending"
    assert study.amend(two, failure="lost", reason="the tube broke").failure == "lost"
    assert study.tell(one, 0.5).status == "heard"
    assert study.tell(two, 0.6).status == "heard"  # it was only lost
    assert study.amend(one, failure="withdrawn", reason="never done").failure == "withdrawn"
    refusal(AlreadyEnded, lambda: study.tell(one, 0.5))
    for handle in everywhere(place, study):
        assert [(t.status, t.failure, t.outcome) for t in handle.trials()] == [
            ("failed", "withdrawn", None),
            ("heard", None, 0.6),
            ("pending", None, None),
        ]


def test_a_trial_can_fail_again_after_its_failure_was_taken_back(place: Place) -> None:
    study = place.create()
    trial = study.ask()
    study.fail(trial, "lost")
    study.amend(trial, take_back=True, reason="found")
    assert study.fail(trial, "infeasible", reason="it boils").failure == "infeasible"
    assert study.fail(trial, "infeasible").failure == "infeasible"
    assert len(study.events()) == 4
    assert place.restart(study).trial(1).failure == "infeasible"


def test_a_told_trial_told_after_a_failure_was_taken_back(place: Place) -> None:
    """The ledger has a Told that never counted, because the failure came first."""
    study = place.create()
    trial = study.ask()
    ledger = place.ledger(study)
    study.fail(trial, "infeasible")
    ledger.append([Told(number=1, value=0.5, noise=None, at=1.0)])  # of a process that did not know yet
    study.amend(trial, take_back=True, reason="it was feasible")
    assert study.tell(trial, 0.7).status == "heard"
    assert place.restart(study).trial(1).outcome == 0.7


def test_the_time_of_an_outcome(place: Place) -> None:
    study = place.create(patience="100s", late="ignore")
    trial = study.ask()
    place.clock.now += 500
    receipt = study.tell(trial, 0.5, key="k")
    assert receipt.status == "late"
    assert study.amend(trial, at=1060.0, reason="the clock of the plate reader").status == "heard"
    for handle in everywhere(place, study):
        found = handle.trial(1)
        assert (found.told_at, found.delay, found.outcome, found.status) == (1060.0, 60.0, 0.5, "heard")
        assert handle.tell(trial, 0.5, key="k") == receipt  # as it was


@pytest.mark.parametrize("with_tell", [False, True])
def test_what_was_run_is_what_the_belief_uses(place: Place, with_tell: bool) -> None:
    study, other = place.create(space=LINE, initial=9), Place(None).create(space=LINE, initial=9)
    fill(study)
    trial = study.ask()
    if with_tell:
        study.tell(trial, 0.2, params={"x": 0.75}, key="k")
        assert study.tell(trial, 0.2, params={"x": 0.75}, key="k").status == "heard"
        refusal(AlreadyTold, lambda: study.tell(trial, 0.2, params={"x": 0.7}))
        assert study.tell(trial, 0.2).status == "duplicate"
    else:
        study.tell(trial, 0.2)
        belief(study)
        study.amend(trial, params={"x": 0.75}, reason="the knob has steps")
    for each in study.trials():
        other.add(each.params, each.outcome)
    for handle in everywhere(place, study):
        found = handle.trial(6)
        assert (found.params, found.asked_params) == ({"x": 0.75}, trial.params)
        assert belief(handle) == pytest.approx(belief(other), abs=1e-9)
        assert handle.tell(trial, 0.2).status == "duplicate"  # the trial as it was asked is still the trial
        assert handle.replay(6).same
    asked = [event for event in study.events() if isinstance(event, belated.events.Asked)][-1]
    assert asked.params == trial.params


def test_what_was_run_may_lie_outside_and_is_never_proposed() -> None:
    study = Place(None).create(space={"x": Real(1, 10, log=True), "n": Integer(1, 4)}, initial=2)
    for trial in study.ask(n=4):
        study.tell(trial, trial.params["x"])
    study.amend(1, params={"x": 20.0, "n": 6}, reason="too hot")
    assert study.trial(1).params == {"x": 20.0, "n": 6}
    study.amend(1, 100.0, reason="and the best")
    for trial in study.ask(n=3):
        assert 1 <= trial.params["x"] <= 10
        assert 1 <= trial.params["n"] <= 4
    assert study.best().params == {"x": 20.0, "n": 6}
    for params in ({"x": -1.0}, {"n": 10**6}):
        refusal(Outside, lambda params=params: study.amend(1, params=params, reason="typo"))
    for params in ({"n": 0.5}, {"y": 1.0}, "x"):
        refusal(InvalidInput, lambda params=params: study.amend(1, params=params, reason="typo"))
    refusal(Outside, _tell_off_the_list)


@pytest.mark.parametrize("kind", [Real, Integer])
def test_what_was_added_from_outside_is_used_and_never_proposed(place: Place, kind: Any) -> None:
    study = place.create(space={"x": kind(1, 5)}, initial=2)
    for x, y in ((9, 9.0), (-3, 0.1), (3, 1.0)):
        study.add({"x": x}, y)
    study.add_many([{"params": {"x": 12}}])
    assert [trial.note != "" for trial in study.trials()] == [True, True, False, True]
    for _ in range(4):
        for trial in study.ask(n=2):
            assert 1 <= trial.params["x"] <= 5
            study.tell(trial, trial.params["x"] / 10)
    assert (study.best().params, study.best().value) == ({"x": 9}, 9.0)
    assert 1 <= study.recommend().params["x"] <= 5
    again = place.restart(study)
    assert again.trials() == study.trials()
    assert all(again.replay(number).same for number in range(5, 13))
    if place.url is not None:
        assert belated.check(place.url, again.name).ok
    means = []
    for at in (6, 40):  # the model hears what lies outside, where it lies
        near = Place(None).create(space={"x": kind(1, 5)})
        near.add({"x": 1}, 0.0)
        near.add({"x": at}, 9.0)
        means.append(near.posterior([{"x": 5}]).mean[0])
    assert means[0] > means[1] + 1


def test_a_range_is_narrowed_though_something_lay_outside_before() -> None:
    study = Place(None).create(space={"x": Real(0, 10)})
    study.add({"x": 12.0}, 0.5)
    study.add({"x": 4.0}, 0.5)
    study.amend(ranges={"x": (2, 8)}, reason="the bath cannot do more")
    refusal(InvalidInput, lambda: study.amend(ranges={"x": (5, 8)}, reason="4 was tried"))
    study.amend(ranges={"x": (2, 15)}, reason="a new bath")
    assert [trial.note for trial in study.trials()] == ["", ""]
    study.add({"x": 9500.0}, 0.1)
    study.amend(3, params={"x": 3.0}, reason="a typing error")
    refusal(Outside, lambda: study.amend(ranges={"x": (3, 12)}, reason="9500 is on record, too far away"))
    study.undo()
    assert study.trial(3).params == {"x": 9500.0}


def _tell_off_the_list() -> None:
    study = Place(None).create(space=GRID)
    study.tell(study.ask(), 0.5, params={"x": 0.123})


def test_corrections_that_cannot_be_are_refused_in_one_sentence(place: Place) -> None:
    study = place.create()
    study.tell(study.ask(), 0.5)
    study.ask()
    refusal(NothingHeard, lambda: study.amend(2, 0.4, reason="typo"))
    refusal(NothingHeard, lambda: study.amend(2, at=5.0, reason="typo"))
    refusal(NothingHeard, lambda: study.amend(2, take_back=True, reason="typo"))
    wrong: list[dict[str, Any]] = [
        {},
        {"noise": 0.1},
        {"take_back": True, "value": 0.3},
        {"failure": "broken"},
        {"take_back": True, "failure": "lost"},
        {"floor": 0.0},
        {"params": {"x": study.trial(1).params["x"]}},
    ]
    for words in wrong:
        refusal(InvalidInput, lambda words=words: study.amend(1, reason="typo", **words))
    assert len(study.events()) == 3


# The study ------------------------------------------------------------------------------------------------------------


def test_another_patience_judges_every_outcome(place: Place) -> None:
    study = place.create(patience=1, late="ignore")
    for trial in study.ask(n=3):
        study.tell(trial, 0.5, key=f"k{trial.number}")
    receipt = study.tell(1, 0.5, key="k1")
    assert [trial.status for trial in study.trials()] == ["late", "late", "heard"]
    study.amend(patience=2, reason="two rounds are usual")
    for handle in everywhere(place, study):
        assert [trial.status for trial in handle.trials()] == ["late", "heard", "heard"]
        assert handle.tell(1, 0.5, key="k1") == receipt
    place.clock.now += 90
    study.amend(patience="80s", reason="by the clock")
    study.ask()
    assert [trial.status for trial in place.restart(study).trials()] == ["heard", "heard", "heard", "pending"]
    assert place.restart(study).trial(1).delay == 0.0  # seconds now
    study.amend(patience="none", reason="it comes when it comes")
    assert str(place.restart(study).settings.patience) == "none"


def test_a_wider_range_is_searched_and_the_old_trials_are_where_they_were(place: Place) -> None:
    study = place.create(space=LINE, initial=3)
    fill(study, 6)
    study.ask()
    study.amend(ranges={"x": (0, 2)}, reason="the best is at the edge", by="Anna")
    other = Place(None).create(space={"x": Real(0, 2)}, initial=3)
    for trial in study.trials():
        other.add(trial.params, trial.outcome)
    for handle in everywhere(place, study):
        assert handle.settings.space.parameters == (Real(0, 2),)
        assert belief(handle) == pytest.approx(belief(other), abs=1e-9)
    chosen = [study.ask() for _ in range(3)]
    assert all(study.replay(trial.number).same for trial in study.trials())
    assert any(trial.params["x"] > 1 for trial in chosen)
    if place.url is not None:
        assert place.create(space={"x": Real(0, 2)}, initial=3).rounds == study.rounds
        refusal(AlreadyExists, lambda: place.create(space=LINE, initial=3))


def test_a_range_is_narrowed_only_around_everything() -> None:
    study = Place(None).create(space={"x": Real(0, 1), "n": Integer(1, 9), "c": belated.Choice("a", "b")})
    study.add({"x": 0.4, "n": 5, "c": "a"}, 0.3)
    study.amend(ranges={"x": (0.2, 0.6), "n": (2, 12)}, reason="why not")
    assert study.settings.space.parameters[:2] == (Real(0.2, 0.6), Integer(2, 12))
    sentence = refusal(InvalidInput, lambda: study.amend(ranges={"x": (0.5, 0.6)}, reason="why not"))
    assert "trial 1 has 0.4" in sentence
    for ranges in ({"c": (0, 1)}, {"y": (0, 1)}, {"x": (1, 0)}, {"x": 3}, {}):
        refusal(InvalidInput, lambda ranges=ranges: study.amend(ranges=ranges, reason="why not"))
    refusal(InvalidInput, lambda: Place(None).create().amend(ranges={"x": (0, 2)}, reason="points"))
    assert len(study.events()) == 3


# A locked study -------------------------------------------------------------------------------------------------------


def test_a_locked_study_takes_nothing_and_reopen_ends_it(place: Place) -> None:
    study = place.create()
    told, pending, third = study.ask(n=3)
    receipt = study.tell(told, 0.5, key="k")
    study.close(lock=True, by="Anna")
    calls = [
        lambda: study.tell(pending, 0.4),
        lambda: study.fail(third, "lost"),
        lambda: study.amend(told, 0.4, reason="typo"),
        lambda: study.amend(floor=0.0, reason="typo"),
        lambda: study.undo(),
        lambda: study.undo(by="Anna"),
        lambda: study.ask(),
        lambda: study.add({"x": 0.5}, 0.2),
    ]
    before = len(study.events())
    for call in calls:
        refusal(belated.errors.Locked, call)
    assert place.restart(study).tell(told, 0.5, key="k") == receipt
    assert len(study.events()) == before
    refusal(InvalidInput, lambda: study.reopen(reason=" "))
    study.reopen(reason="two more", by="Anna")
    assert study.tell(pending, 0.4).status == "heard"
    assert place.restart(study).ask().number == 4


def test_what_was_told_before_its_teller_could_know_of_the_lock_does_not_count(place: Place) -> None:
    study = place.create()
    trial = study.ask()
    study.close(lock=True)
    place.ledger(study).append([Told(number=1, value=0.5, noise=None, at=1.0)])
    for handle in everywhere(place, study):
        assert handle.trial(1).outcome is None
    study.reopen(reason="one was on its way")
    assert study.tell(trial, 0.6).status == "heard"
    assert place.restart(study).trial(1).outcome == 0.6
