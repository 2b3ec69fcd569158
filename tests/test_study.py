"""Tell, fail and keys: numbers, statuses, receipts, and what no outcome can do."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import belated
from belated import AlreadyEnded, AlreadyTold, Choice, Integer, InvalidInput, KeyTaken, Real, Study, WorstValue
from belated.learner.silence import Floor
from belated.record.events import Refused

MIXED = {"x": Real(0, 1), "lr": Real(1e-6, 1, log=True), "layers": Integer(1, 8), "act": Choice("relu", "tanh")}
GRID = belated.Points([i / 10 for i in range(11)])


@dataclasses.dataclass
class Clock:
    """Seconds that the test sets; every reading moves it on by `tick`."""

    now: float = 0.0
    tick: float = 0.0

    def __call__(self) -> float:
        reading, self.now = self.now, self.now + self.tick
        return reading


def create(**said: Any) -> Study:
    if "algorithm" not in said:
        said.setdefault("silence", "unknown")
    return Study.create(**{"space": GRID, "seed": 0, **said})


def statuses(study: Study) -> list[str]:
    return [trial.status for trial in study.trials()]


# Trials ---------------------------------------------------------------------------------------------------------------


def test_a_trial_is_a_snapshot_of_what_is_known() -> None:
    clock = Clock(100.0)
    study = create(space=MIXED, clock=clock, patience=5)
    trial = study.ask()
    assert (trial.number, trial.context, trial.asked_at, trial.status) == (1, None, 100.0, "pending")
    assert (trial.outcome, trial.delay, trial.told_at, trial.note) == (None, None, None, "")
    assert list(trial.params) == list(MIXED)
    assert [type(value) for value in trial.params.values()] == [float, float, int, str]

    clock.now = 160.0
    study.tell(trial, 0.83)
    assert (trial.status, trial.outcome) == ("pending", None)  # as of the call that returned it
    after = study.trials()[0]
    assert (after.status, after.outcome, after.delay, after.told_at) == ("heard", 0.83, 1.0, 160.0)
    assert (after.number, after.params, after.asked_at) == (1, trial.params, 100.0)


def test_changing_a_trial_does_not_change_the_study() -> None:
    study = create(space=MIXED)
    trial = study.ask()
    kept = dict(trial.params)
    trial.params["x"] = 99.0  # type: ignore[index]
    assert study.trials()[0].params == kept
    with pytest.raises(dataclasses.FrozenInstanceError):
        trial.status = "heard"  # type: ignore[misc]


def test_numbers_count_from_one_whoever_chose() -> None:
    study = create(space=MIXED)
    study.ask()
    study.add({"x": 0.5, "lr": 0.1, "layers": 3, "act": "tanh"}, 1.0)
    study.ask(n=2)
    study.ask(params={"act": "relu"})
    assert [trial.number for trial in study.trials()] == [1, 2, 3, 4, 5]


# Telling --------------------------------------------------------------------------------------------------------------


def test_the_first_tell_is_heard_and_the_same_again_is_a_duplicate() -> None:
    study = create()
    trial = study.ask()
    first, again = study.tell(trial, 0.5), study.tell(trial.number, np.float64(0.5))
    assert (first.number, first.status, first.delay, first.used) == (1, "heard", 1.0, True)
    assert (again.number, again.status, again.delay, again.used) == (1, "duplicate", 1.0, True)
    before = study.posterior([{"x": 0.3}])
    study.ask()
    assert study.tell(trial, 0.5, at=1e12).delay == 1.0  # neither a later tell nor its time changes anything
    assert study.trials()[0].told_at != 1e12
    assert before.mean.tolist() == study.posterior([{"x": 0.3}]).mean.tolist()


def test_another_value_raises_and_changes_nothing_but_the_record() -> None:
    study = create()
    trial = study.ask()
    study.tell(trial, 0.5)
    before, belief = study.trials(), study.posterior([{"x": 0.3}])
    with pytest.raises(AlreadyTold) as refused:
        study.tell(trial, 0.75)
    assert str(refused.value) == "trial 1 was told before, with 0.5; feedback is never overwritten (got 0.75)"
    assert study.trials() == before
    assert study.posterior([{"x": 0.3}]).mean.tolist() == belief.mean.tolist()
    last = study.events()[-1]
    assert isinstance(last, Refused)
    assert (last.number, last.value) == (1, 0.75)


def test_a_tell_after_patience_is_late_and_says_whether_it_is_used() -> None:
    for late, used in (("use", True), ("ignore", False)):
        study = create(patience=2, late=late)
        trial = study.ask()
        study.ask(n=2)
        receipt = study.tell(trial, 0.5)
        assert (receipt.status, receipt.delay, receipt.used) == ("late", 3.0, used)
        assert ("not used by the model" in receipt.note and "2 rounds" in receipt.note) == (not used)
        assert (study.trials()[0].status, study.trials()[0].outcome) == ("late", 0.5)
        again = study.tell(trial, 0.5)
        assert (again.status, again.used) == ("duplicate", used)


@pytest.mark.parametrize("name", ["GP-UCB-SDF", "GP-TS-SDF", "GP-UCB", "asy-TS", "GP-BUCB", "GP-BTS"])
def test_the_papers_six_have_one_lambda_and_refuse_noise(name: str) -> None:
    study = create(algorithm=name, patience=5 if name.endswith("SDF") else None)
    trial = study.ask()
    for refuse in (lambda: study.tell(trial, 0.5, noise=0.1), lambda: study.add({"x": 0.5}, 0.5, noise=0.1)):
        with pytest.raises(InvalidInput) as refused:
            refuse()
        assert str(refused.value) == f"{name} has one lambda for all outcomes; leave noise out (got 0.1)"
    assert statuses(study) == ["pending"]


def test_noise_says_how_far_an_outcome_is_trusted() -> None:
    def mean(**noise: float) -> float:
        study = create(space={"x": Real(0, 1)})
        for i in range(5):
            study.add({"x": i / 4}, 0.1 * i, noise=0.1)
        study.tell(study.ask(params={"x": 0.6}), 5.0, **noise)
        return float(study.posterior([{"x": 0.6}]).mean[0])

    assert mean(noise=1e-3) == pytest.approx(5.0, abs=0.05)
    assert mean(noise=1e-3) > mean(noise=1.0) > mean(noise=10.0)
    assert mean(noise=100.0) < 0.5


# Failing --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["lost", "infeasible", "withdrawn"])
def test_three_ways_to_end_without_a_value(kind: Any) -> None:
    study = create(patience=1)
    trial = study.ask()
    assert study.fail(trial, kind).status == "failed"
    assert study.fail(trial.number, kind).failure == kind  # saying it again is fine
    other = "withdrawn" if kind == "lost" else "lost"
    with pytest.raises(AlreadyEnded) as refused:
        study.fail(trial, other)
    assert str(refused.value) == f"trial 1 ended as {kind} before (got {other!r})"
    study.ask(n=3)
    assert statuses(study)[0] == "failed"  # not expired


def test_an_outcome_is_still_taken_after_lost_and_not_after_the_others() -> None:
    study = create()
    for kind in ("lost", "infeasible", "withdrawn"):
        study.fail(study.ask(), kind)
    assert study.tell(1, 0.5).status == "heard"
    assert (study.trials()[0].status, study.trials()[0].outcome) == ("heard", 0.5)
    for number, kind in ((2, "infeasible"), (3, "withdrawn")):
        with pytest.raises(AlreadyEnded) as refused:
            study.tell(number, 0.5)
        assert str(refused.value) == f"trial {number} ended as {kind}; an outcome is accepted only after lost (got 0.5)"
    assert statuses(study) == ["heard", "failed", "failed"]


def test_what_was_told_cannot_fail() -> None:
    study = create()
    trial = study.ask()
    study.tell(trial, 0.5)
    with pytest.raises(AlreadyTold) as refused:
        study.fail(trial, "lost")
    assert str(refused.value) == "trial 1 was told 0.5 before; it cannot fail any more (got 'lost')"
    assert statuses(study) == ["heard"]


# Keys -----------------------------------------------------------------------------------------------------------------


def test_the_same_key_gives_the_same_trial_and_receipt() -> None:
    study = create()
    one = study.ask(key="a")
    assert study.ask(key="a") == one
    batch = study.ask(n=3, key="b")
    assert study.ask(n=3, key="b") == batch
    added = study.add({"x": 0.5}, 0.5, key="c")
    assert study.add({"x": 0.5}, 0.5, key="c") == added
    receipt = study.tell(one, 0.25, key="d")
    assert receipt.status == "heard"
    assert study.tell(one, 0.25, key="d") == receipt
    assert study.tell(one, 0.25, key="e").status == "duplicate"
    assert len(study.trials()) == 5


def test_a_key_belongs_to_one_call() -> None:
    study = create(context={"z": Real(0, 1)})
    z = {"z": 0.5}
    trial = study.ask(context=z, key="a")
    for reuse in (
        lambda: study.ask(context={"z": 0.25}, key="a"),
        lambda: study.ask(context=z, n=2, key="a"),
        lambda: study.ask(context=z, params={"x": 0.5}, key="a"),
        lambda: study.tell(trial, 0.5, key="a"),
        lambda: study.add({"x": 0.5}, 0.5, context=z, key="a"),
    ):
        with pytest.raises(KeyTaken, match=r"^key 'a' was used before.* for another "):
            reuse()
    assert statuses(study) == ["pending"]


def test_the_snapshot_of_a_retried_ask_is_as_of_now() -> None:
    study = create()
    study.tell(study.ask(key="a"), 0.5)
    assert study.ask(key="a").status == "heard"


def test_a_call_that_was_refused_leaves_its_key_free() -> None:
    study = create()
    with pytest.raises(InvalidInput):
        study.add({"x": 99}, 0.5, key="a")
    assert study.add({"x": 0.5}, 0.5, key="a").number == 1


# Notes ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["default", "GP-UCB-SDF"])
def test_the_trial_says_when_an_outcome_stands_in_for_the_floor(algorithm: Any) -> None:
    said = {"silence": "floor"} if algorithm == "default" else {}
    for floor, noted in ((None, True), (0.0, False)):
        study = create(algorithm=algorithm, patience=9, floor=floor, initial=0, **said)
        study.add({"x": 0.2}, 0.375)
        study.add({"x": 0.7}, 0.75)
        study.add({"x": 0.9}, 0.5)
        study.ask()
        note = study.ask().note
        assert ("floor" in note and "0.375" in note) == noted, note


@pytest.mark.parametrize(("goal", "worst"), [("maximize", 0.375), ("minimize", 0.75)])
def test_the_worst_heard_stands_in_for_a_floor_that_nobody_stated(goal: Any, worst: float) -> None:
    study = create(silence="floor", goal=goal, patience=9, initial=0)
    assert study.floor == WorstValue(value=None, stated=False, used=True)
    assert str(study.floor) == "no floor stated: the prior mean stands in"
    assert (study.ask().note, study.ask().note) == ("", "")  # space-filling queries, while so little is heard
    for x, y in ((0.2, 0.375), (0.5, 0.5), (0.7, 0.75)):
        study.add({"x": x}, y)
    assert study.floor == WorstValue(value=worst, stated=False, used=True)
    assert study.ask().note == str(study.floor) == f"no floor stated: the worst outcome heard, {worst}, stands in"
    study.amend(floor=-2.0 if goal == "maximize" else 2.0, reason="known now")
    assert study.floor == WorstValue(value=study.settings.objective.floor, stated=True, used=True)
    assert str(study.floor) == f"floor {study.settings.objective.floor:g}"
    assert study.ask().note == ""


@pytest.mark.parametrize(
    ("said", "used"),
    [
        ({"silence": "floor"}, True),
        ({"silence": "waiting"}, True),
        ({"silence": "fading"}, True),
        ({"silence": "unknown"}, False),
        ({"silence": "ignored"}, True),  # by the upper bound, one move of four
        ({"algorithm": "GP-BUCB"}, True),  # by its scale
    ],
)
def test_whether_anything_looks_at_the_floor(said: dict[str, Any], used: bool) -> None:
    study = create(**said)
    study.ask()
    assert study.floor.used == used
    study.fail(1, "infeasible")
    assert study.floor.used


def test_a_late_outcome_that_is_not_used_stands_in_for_nothing() -> None:
    for late, worst in (("ignore", 0.5), ("use", 0.25)):
        study = create(silence="floor", patience=1, late=late)
        study.ask(n=3)
        study.tell(1, 0.25)  # late
        study.tell(3, 0.5)
        assert study.floor.value == worst


class Broken(Floor):
    """A silence whose arithmetic always fails."""

    def fill(self, *_: Any) -> Any:
        raise FloatingPointError


def test_numerics_never_make_an_ask_raise_and_the_trial_says_what_it_fell_back_to() -> None:
    study = create(space=MIXED, silence=Broken(), initial=0)
    for i in range(6):
        trial = study.ask()
        assert trial.note == ("" if i < 3 else "fell back to a space-filling point")  # at first it is no fallback
        study.tell(trial, 1.0)
    assert len({t.params["x"] for t in study.trials()}) == 6


@pytest.mark.parametrize(
    "values", [[0.0, 1.0, 1e100, -1e100], [5.0] * 4, [1e-100, 2e-100, 3e-100, 0.0], [1e6, 0, 1, 2]]
)
@pytest.mark.parametrize("algorithm", ["default", "GP-UCB-SDF", "GP-BTS"])
def test_no_outcome_poisons_the_model(values: list[float], algorithm: Any) -> None:
    said = {"silence": "floor"} if algorithm == "default" else {}
    study = create(
        space=MIXED, algorithm=algorithm, initial=0, patience=9 if algorithm == "GP-UCB-SDF" else None, **said
    )
    for i, value in enumerate(values):
        study.add({"x": i / 3, "lr": 10.0**-i, "layers": 2 * i + 1, "act": "relu"}, value)
    for _ in range(2):
        study.ask()
    belief = study.posterior([t.params for t in study.trials()])
    assert np.all(np.isfinite(belief.mean))
    assert np.all(np.isfinite(belief.std))
    assert np.all(belief.std >= 0)
    assert study.best().value == max(values)
    assert math.isfinite(study.recommend().params["lr"])
