"""What an outcome may be: goal, floor, ceiling and limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import belated
from belated.errors import InvalidInput, Outside
from belated.objective import Objective
from tests.support.refusals import refusal


def outcome(goal: Any = "maximize", floor: Any = None, ceiling: Any = None, limits: Any = None) -> Objective:
    return Objective.of(goal, floor, ceiling, limits)


def test_nothing_needs_to_be_known() -> None:
    assert outcome() == Objective(goal="maximize", floor=None, ceiling=None, limits=None)


def test_plain_floats_whatever_was_given() -> None:
    made = outcome("minimize", np.int64(3), np.float32(0.5), [np.int64(-1), 7])
    assert made == Objective(goal="minimize", floor=3.0, ceiling=0.5, limits=(-1.0, 7.0))
    assert {type(v) for v in (made.floor, made.ceiling, *(made.limits or ()))} == {float}


def test_the_floor_is_the_worst_value() -> None:
    """The least when maximizing, the largest when minimizing."""
    assert outcome("maximize", 0, 1).sign == 1.0
    assert outcome("minimize", 1, 0).sign == -1.0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"goal": "max"}, 'goal must be "maximize" or "minimize" (got \'max\')'),
        ({"goal": None}, 'goal must be "maximize" or "minimize" (got None)'),
        ({"floor": 1, "ceiling": 0}, "floor must be less than the ceiling (got floor 1.0, ceiling 0.0)"),
        ({"floor": 1, "ceiling": 1}, "floor must be less than the ceiling (got floor 1.0, ceiling 1.0)"),
        (
            {"goal": "minimize", "floor": 0, "ceiling": 1},
            "floor must be more than the ceiling when the goal is to minimize (got floor 0.0, ceiling 1.0)",
        ),
        ({"floor": math.nan}, "floor must be a finite number (got nan)"),
        ({"floor": -math.inf}, "floor must be a finite number (got -inf)"),
        ({"ceiling": "1"}, "ceiling must be a number (got '1')"),
        ({"ceiling": True}, "ceiling must be a number (got True)"),
        ({"limits": 3}, "limits must be a pair (lo, hi) (got 3)"),
        ({"limits": (1, 2, 3)}, "limits must be a pair (lo, hi) (got (1, 2, 3))"),
        ({"limits": "01"}, "limits must be a pair (lo, hi) (got '01')"),
        ({"limits": (1, 1)}, "limits must have lo less than hi (got 1.0, 1.0)"),
        ({"limits": (2, 1)}, "limits must have lo less than hi (got 2.0, 1.0)"),
        ({"limits": (0, math.inf)}, "limits must be a finite number (got inf)"),
        ({"limits": (None, 1)}, "limits must be a number (got None)"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        outcome(**arguments)
    assert str(refused.value) == sentence


@pytest.mark.parametrize("value", [0, 1, 0.25, np.float64(0.25), np.int32(1)])
def test_numbers_within_the_limits_are_accepted_ends_included(value: Any) -> None:
    accepted = outcome(limits=(0, 1)).accept(value)
    assert accepted == float(value)
    assert type(accepted) is float


@pytest.mark.parametrize("value", [-1e-12, 1.0000001, 1e300])
def test_beyond_the_limits_is_refused_with_both_numbers_and_the_remedy(value: float) -> None:
    with pytest.raises(Outside) as refused:
        outcome(limits=(0, 1)).accept(value)
    assert str(refused.value) == (
        f"value must lie within the limits 0.0 to 1.0 (got {value!r}); correct the value, or declare wider limits"
    )


def test_worse_than_the_floor_is_taken_and_flagged_with_both_numbers() -> None:
    assert outcome(floor=0.0).accept(-0.25) == -0.25
    assert outcome(floor=0.0).flag(-0.25) == "the outcome -0.25 is worse than the floor 0.0"
    assert outcome("minimize", floor=2.0).flag(2.5) == "the outcome 2.5 is worse than the floor 2.0"


@pytest.mark.parametrize(
    ("declared", "value"),
    [(outcome(floor=0.0), 0.0), (outcome(floor=0.0), 3.0), (outcome("minimize", floor=2.0), -7.0), (outcome(), -1e9)],
)
def test_nothing_to_flag(declared: Objective, value: float) -> None:
    assert declared.flag(value) == ""


@pytest.mark.parametrize(
    ("declared", "sentence"),
    [
        (outcome(floor=-1, limits=(0, 1)), "floor must lie within the limits (got floor -1.0, limits 0.0 to 1.0)"),
        (outcome("minimize", 3, 0, (0, 2)), "floor must lie within the limits (got floor 3.0, limits 0.0 to 2.0)"),
    ],
)
def test_a_floor_that_nobody_could_tell_is_refused(declared: Objective, sentence: str) -> None:
    assert refusal(InvalidInput, declared.check_floor) == sentence


@pytest.mark.parametrize("limits", [None, (0.0, 1.0), (-1.0, 0.0)])
def test_a_floor_at_the_end_of_the_limits_can_be_told(limits: Any) -> None:
    outcome(floor=0.0, limits=limits).check_floor()


# In a study -----------------------------------------------------------------------------------------------------------


def study(**declared: Any) -> belated.Study:
    return belated.Study.create(space={"x": belated.Real(0, 1)}, silence="unknown", seed=0, **declared)


def test_a_receipt_flags_an_outcome_below_the_floor() -> None:
    s = study(floor=0.5)
    assert s.tell(s.ask(), 0.75).note == ""
    receipt = s.tell(s.ask(), 0.25)
    assert (receipt.status, receipt.used) == ("heard", True)
    assert receipt.note == "the outcome 0.25 is worse than the floor 0.5"
    assert s.tell(2, 0.25).note == "the outcome 0.25 is worse than the floor 0.5"  # the duplicate says so too


def test_a_study_is_not_made_with_a_floor_beyond_the_limits() -> None:
    said = "floor must lie within the limits (got floor 2.0, limits 0.0 to 1.0)"
    assert refusal(InvalidInput, lambda: study(floor=2.0, limits=(0, 1))) == said


def test_the_floor_and_the_limits_are_not_amended_apart() -> None:
    s = study(floor=0.0, limits=(0, 1))
    for apart in ({"floor": -1.0}, {"limits": (0.5, 1)}):
        assert "floor must lie within the limits" in refusal(InvalidInput, lambda w=apart: s.amend(**w, reason="why"))
    s.amend(floor=-1.0, limits=(-1, 1), reason="another sensor")
    assert (s.settings.objective.floor, s.settings.objective.limits) == (-1.0, (-1.0, 1.0))


def test_an_outcome_added_below_the_floor_is_flagged_too() -> None:
    s = study(floor=0.5)
    assert s.add({"x": 0.5}, 0.75).note == ""
    assert "the outcome 0.25 is worse than the floor 0.5" in s.add({"x": 0.5}, 0.25).note


def test_an_outcome_outside_the_limits_is_refused_and_the_trial_stays_pending() -> None:
    s = study(limits=(0, 1))
    trial = s.ask()
    for refuse in (lambda: s.tell(trial, 1.5), lambda: s.add({"x": 0.5}, 1.5)):
        with pytest.raises(Outside, match=r"limits 0\.0 to 1\.0 \(got 1\.5\)"):
            refuse()
    assert [t.status for t in s.trials()] == ["pending"]
    assert s.tell(trial, 1.0).status == "heard"
