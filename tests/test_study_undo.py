"""`undo` takes back the newest thing that a person did; it is an event itself, on every ledger."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from belated import InvalidInput, Real, Study
from belated.errors import Followed, NothingToUndo
from belated.record.events import Told, Undone
from tests.support.refusals import refusal
from tests.support.studies import Place


def everywhere(place: Place, study: Study) -> list[Study]:
    return [study, place.another(study), place.restart(study)]


def test_an_undone_tell_leaves_the_trial_pending_and_its_key_its_receipt(place: Place) -> None:
    study = place.create()
    trial = study.ask(by="Anna")
    receipt = study.tell(trial, 7.1, key="k", by="Bob")
    assert [past.position for past in study.find_undo(by="Bob")] == [2]
    (past,) = study.undo(by="Bob", reason="the wrong flask")
    assert (past.position, past.event) == (2, Told(number=1, value=7.1, noise=None, at=1000.0, key="k", by="Bob"))
    for handle in everywhere(place, study):
        assert handle.trial(1).status == "pending"
        assert handle.tell(trial, 7.1, key="k", by="Bob") == receipt  # as it was answered then; nothing is told
        assert handle.trial(1).status == "pending"
    assert study.tell(trial, 0.71, by="Bob").status == "heard"
    (undone,) = [event for event in study.events() if isinstance(event, Undone)]
    assert (undone.number, undone.position, undone.by, undone.reason) == (1, 2, "Bob", "the wrong flask")


def test_an_undone_ask_is_withdrawn_and_its_number_and_params_stay(place: Place) -> None:
    study = place.create()
    trial = study.ask(key="k")
    batch = study.ask(n=3)
    assert [past.position for past in study.undo()] == [4, 3, 2]
    for handle in everywhere(place, study):
        assert [t.failure for t in handle.trials()] == [None, "withdrawn", "withdrawn", "withdrawn"]
        assert [t.params for t in handle.trials()[1:]] == [t.params for t in batch]
    study.undo()
    assert study.trial(1).failure == "withdrawn"
    assert study.ask(key="k").params == trial.params
    refusal(NothingToUndo, study.undo)
    assert study.ask().number == 5


def test_what_was_added_with_its_outcome_is_undone_as_a_whole(place: Place) -> None:
    study = place.create()
    added = study.add({"x": 0.5}, 0.7, key="k")
    assert [past.position for past in study.undo()] == [2, 1]
    trial = place.restart(study).trial(1)
    assert (trial.failure, trial.outcome) == ("withdrawn", None)
    assert study.add({"x": 0.5}, 0.7, key="k").number == added.number


def test_each_correction_is_undone_exactly(place: Place) -> None:
    """After each of them, an undo leaves the trials that were there before."""
    study = place.create(space={"x": Real(0, 1)}, patience="100s", floor=0.0)
    one, two, three, four = study.ask(n=4)
    place.clock.now += 5
    study.tell(one, 0.5, noise=0.1)
    study.fail(two, "lost")
    study.tell(two, 0.4)
    study.fail(three, "infeasible")
    calls: list[Callable[[], object]] = [
        lambda: study.amend(1, 0.6, reason="why"),
        lambda: study.amend(1, at=1001.0, reason="why"),
        lambda: study.amend(1, take_back=True, reason="why"),
        lambda: study.amend(2, take_back=True, reason="why"),
        lambda: study.amend(2, failure="withdrawn", reason="why"),
        lambda: study.amend(3, failure="lost", reason="why"),
        lambda: study.amend(4, params={"x": 0.25}, reason="why"),
        lambda: study.amend(1, params={"x": 0.25}, reason="why"),
        lambda: study.tell(four, 0.3, params={"x": 1.5}),
        lambda: study.fail(four, "withdrawn"),
        lambda: study.amend(floor=-1.0, limits=(-2, 2), reason="why"),
        lambda: study.amend(patience=1, reason="why"),
        lambda: study.amend(ranges={"x": (0, 2)}, reason="why"),
        lambda: study.close(),
    ]
    points = [{"x": 0.2}, {"x": 0.7}]
    for call in calls:
        before, settings, believed = study.trials(), study.settings, study.posterior(points)
        call()
        changed = study.trials() != before or study.settings != settings or study.closed
        assert changed
        study.undo()
        for handle in everywhere(place, study):
            assert (handle.trials(), handle.settings, handle.closed) == (before, settings, False)
            assert handle.posterior(points).mean == pytest.approx(believed.mean, abs=1e-9)


def test_a_stack_of_corrections_is_undone_one_by_one(place: Place) -> None:
    study = place.create()
    study.tell(study.ask(), 0.1)
    for value in (0.2, 0.3):
        study.amend(1, value, reason="better")
    seen = []
    for _ in range(4):
        seen.append(study.trial(1).outcome)
        study.undo()
    assert seen == [0.3, 0.2, 0.1, None]
    assert place.restart(study).trial(1).failure == "withdrawn"


def test_it_is_refused_if_something_else_happened_to_the_trial(place: Place) -> None:
    study = place.create()
    trial, other = study.ask(n=2, by="Anna")
    study.tell(trial, 0.5, by="Bob")
    study.amend(trial, 0.6, reason="typo", by="Cleo")
    assert "event 4 changed trial 1" in refusal(Followed, lambda: study.undo(by="Bob"))
    assert "event 4 changed trial 1" in refusal(Followed, lambda: study.undo(by="Anna"))  # the batch is one
    study.undo(by="Cleo")
    study.undo(by="Bob")
    assert place.restart(study).trial(1).status == "pending"
    assert study.tell(other, 0.1).status == "heard"
    refusal(NothingToUndo, lambda: study.undo(by="Dora"))


def test_what_was_refused_or_repeated_is_passed_over(place: Place) -> None:
    study = place.create()
    trial = study.ask()
    study.tell(trial, 0.5, by="Anna")
    study.tell(trial, 0.5, key="again", by="Anna")
    with pytest.raises(ValueError, match="told before"):
        study.tell(trial, 0.6, by="Anna")
    assert study.undo(by="Anna")[0].position == 2
    assert study.tell(trial, 0.6, by="Anna").status == "heard"


def test_the_counts_of_a_day(place: Place) -> None:
    study = place.create(outcomes="conversion", silence="fading", patience="7d")
    row = {"params": {"x": 0.1}, "day": 0.0, "shown": 50}
    study.add_many([{**row, "converted": 2, "as_of": 86400.0}])
    before = study.trials(), study.posterior([{"x": 0.1}]).mean.tolist()
    study.add_many([{**row, "converted": 9, "as_of": 2 * 86400.0}])
    study.undo()
    for handle in everywhere(place, study):
        assert (handle.trials(), handle.posterior([{"x": 0.1}]).mean.tolist()) == before
    study.undo()
    assert place.restart(study).trial(1).failure == "withdrawn"


def test_a_range_is_not_narrowed_by_an_undo_if_something_lies_outside() -> None:
    study = Place(None).create(space={"x": Real(0, 1)})
    study.amend(ranges={"x": (0, 2)}, reason="wider", by="Anna")
    study.add({"x": 1.5}, 0.3)
    assert "everything lies inside" in refusal(InvalidInput, lambda: study.undo(by="Anna"))
