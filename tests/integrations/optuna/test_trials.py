"""Trials of Optuna as events."""

import math
from datetime import datetime, timedelta
from typing import Any

import pytest

pytest.importorskip("optuna")

from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from belated.events import Asked, Failed, Told
from belated.integrations.optuna.trials import find_space, make_row, order_events

X, Y = FloatDistribution(0, 1), FloatDistribution(0, 10)
NOON = datetime(2026, 5, 4, 12)


def trial(
    number: int, params: dict[str, Any], start: float, end: float | None = None, value: float | None = None, **says: Any
) -> FrozenTrial:
    """A trial that started `start` seconds after noon."""
    state = says.pop("state", TrialState.RUNNING if end is None else TrialState.COMPLETE)
    return FrozenTrial(
        number=number,
        trial_id=number,
        state=state,
        value=value,
        datetime_start=NOON + timedelta(seconds=start),
        datetime_complete=None if end is None else NOON + timedelta(seconds=end),
        params=params,
        distributions=says.pop("distributions", {name: {"x": X, "y": Y}[name] for name in params}),
        user_attrs={},
        system_attrs=says.pop("system_attrs", {}),
        intermediate_values={},
    )


def rows(*trials: FrozenTrial) -> list[Any]:
    return [row for each in trials if (row := make_row({"x": X}, each, "lost")) is not None]


def test_things_happen_in_the_order_of_the_clock() -> None:
    events = order_events(
        rows(trial(0, {"x": 0.1}, 0, 25, 1.0), trial(1, {"x": 0.2}, 10, 15, 2.0), trial(2, {"x": 0.3}, 20))
    )
    assert [(type(event), event.number) for event in events] == [
        (Asked, 1),
        (Asked, 2),
        (Told, 2),
        (Asked, 3),
        (Told, 1),
    ]
    assert [event.knew for event in events if isinstance(event, Asked)] == [0, 1, 3]
    noon = NOON.timestamp()
    assert [event.asked_at - noon for event in events if isinstance(event, Asked)] == [0, 10, 20]
    assert [event.at - noon for event in events if isinstance(event, Told)] == [15, 25]


def test_more_of_the_same_trials_continues_the_events() -> None:
    before = [trial(0, {"x": 0.1}, 0, 5, 1.0), trial(1, {"x": 0.2}, 10), trial(2, {"x": 0.3}, 20)]
    after = [before[0], trial(1, {"x": 0.2}, 10, 25, 2.0), before[2], trial(3, {"x": 0.4}, 30)]
    first, second = order_events(rows(*before)), order_events(rows(*after))
    assert second[: len(first)] == first


@pytest.mark.parametrize(
    ("ended", "value"), [(TrialState.FAIL, None), (TrialState.PRUNED, 0.5), (TrialState.COMPLETE, math.inf)]
)
@pytest.mark.parametrize("silent", ["lost", "infeasible"])
def test_what_has_no_value_ends_as_the_silence_says(ended: TrialState, value: float | None, silent: Any) -> None:
    row = make_row({"x": X}, trial(0, {"x": 0.1}, 0, 5, value, state=ended), silent)
    assert row is not None
    assert row.ended == Failed(number=0, kind=silent, at=NOON.timestamp() + 5)


def test_a_trial_that_was_added_with_its_value_was_never_waited_for() -> None:
    asked, told = order_events(rows(trial(0, {"x": 0.1}, 0, 0, 1.0)))
    assert isinstance(asked, Asked)
    assert (asked.by_hand, asked.told_at_once) == (True, True)
    assert isinstance(told, Told)


def test_a_trial_whose_params_were_all_given_was_not_chosen() -> None:
    (given,) = rows(trial(0, {"x": 0.1}, 0, system_attrs={"fixed_params": {"x": 0.1}}))
    (chosen,) = rows(trial(0, {"x": 0.1}, 0, system_attrs={"fixed_params": {"y": 0.1}}))
    assert (given.asked.by_hand, chosen.asked.by_hand) == (True, False)


def test_a_trial_outside_the_space_is_no_row() -> None:
    outside = trial(0, {"x": 7.0}, 0, distributions={"x": FloatDistribution(0, 10)})
    assert rows(outside, trial(1, {"y": 0.1}, 1), trial(2, {}, 2)) == []


def test_the_space_is_what_completed_trials_share_in_their_newest_ranges() -> None:
    wide = IntDistribution(0, 90)
    trials = [
        trial(0, {"x": 0.1, "y": 3.0}, 0, 1, 1.0, distributions={"x": X, "y": IntDistribution(0, 9)}),
        trial(1, {"x": 0.2, "y": 30.0}, 2, 3, 1.0, distributions={"x": X, "y": wide}),
        trial(2, {"x": 0.2}, 4),  # its y may still come
        trial(3, {}, 5, 6, state=TrialState.FAIL),
    ]
    assert find_space(trials) == {"x": X, "y": wide}
    assert find_space([*trials, trial(4, {"x": 0.2}, 7, 8, 1.0)]) == {"x": X}
    assert find_space([*trials, trial(4, {"x": 0.2}, 7, 8, 1.0)], having="y") == {"x": X, "y": wide}


def test_before_any_is_completed_those_that_run_decide() -> None:
    assert find_space([trial(0, {"x": 0.1, "y": 3.0}, 0), trial(1, {}, 1)]) == {"x": X, "y": Y}
    assert find_space([]) == {}


def test_a_parameter_with_one_value_is_no_part_of_the_space() -> None:
    one = {"x": X, "y": FloatDistribution(2, 2)}
    assert find_space([trial(0, {"x": 0.1, "y": 2.0}, 0, 1, 1.0, distributions=one)]) == {"x": X}
