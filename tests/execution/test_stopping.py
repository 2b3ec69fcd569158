"""A run stops early: after a time, at a goal, or when a callback says so; and goes on later."""

import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import belated
from belated.errors import InvalidInput
from belated.execution.optimize import Run
from belated.validation import Params

SOON = 30.0  # seconds within which a machine under load does what it takes milliseconds to do


def hill(params: Params) -> float:
    return -((params["x"] - 0.3) ** 2)


def create(**said: Any) -> belated.Study:
    """Space-filling queries: the choices are not at issue."""
    return belated.Study.create(
        **{"space": {"x": belated.Real(0, 1)}, "silence": "unknown", "seed": 0, "initial": 1000} | said
    )


@pytest.fixture
def thread() -> Iterator[Executor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


# More -----------------------------------------------------------------------------------------------------------------


def test_more_counts_from_what_the_study_has(thread: Executor) -> None:
    study = create()
    assert study.optimize(hill, more=3, executor=thread) == Run(asked=3, told=3)
    assert study.optimize(hill, more=2, executor=thread) == Run(asked=2, told=2)
    study.ask()
    assert study.optimize(hill, more=0, executor=thread) == Run(resumed=1, told=1)
    assert study.rounds == 6


# Until ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("goal", "target"), [("maximize", 2.0), ("minimize", -2.0)])
def test_until_stops_once_an_outcome_is_as_good(goal: Any, target: float, thread: Executor) -> None:
    study, sign = create(goal=goal), 1.0 if goal == "maximize" else -1.0
    outcomes = iter([sign * y for y in (0.0, 1.0, 2.0, 3.0)])
    run = study.optimize(lambda params: next(outcomes), rounds=9, workers=1, executor=thread, until=target)
    assert (run.asked, run.told) == (3, 3)
    assert run.ended == f"trial 3 reached {target:g} ({target:g})"
    assert study.optimize(hill, rounds=9, workers=1, executor=thread, until=target).asked == 0  # it is reached already
    assert study.optimize(hill, rounds=9, workers=1, executor=thread, until=sign * 99).told == 6
    assert study.rounds == 9


def test_what_is_running_when_it_stops_is_waited_for_and_told() -> None:
    study, second = create(), threading.Event()

    def f(params: Params) -> float:
        if params == study.trial(1).params:
            assert second.wait(SOON)
            return 5.0
        second.set()
        return 9.0

    with ThreadPoolExecutor(2) as threads:
        run = study.optimize(f, rounds=9, workers=2, executor=threads, until=9.0)
    assert run.told == run.asked == study.rounds
    assert study.trial(1).outcome == 5.0
    assert run.asked < 9


# Timeout --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timeout", [0.2, "200ms", timedelta(milliseconds=200)])
def test_nothing_is_started_after_the_timeout(timeout: Any, thread: Executor) -> None:
    study, pause = create(), threading.Event()

    def f(params: Params) -> float:
        pause.wait(0.15)
        return hill(params)

    run = study.optimize(f, rounds=1000, workers=1, executor=thread, timeout=timeout)
    assert 1 <= run.told == run.asked == study.rounds < 10
    assert run.ended == "the timeout is over"
    assert run.unheard == 0


def test_what_was_left_behind_and_not_reached_stays_pending(thread: Executor) -> None:
    study = create()
    study.ask(n=3)
    run = study.optimize(hill, rounds=3, workers=1, executor=thread, callbacks=[lambda study, trial: True])
    assert (run.resumed, run.told) == (1, 1)
    assert [trial.status for trial in study.trials()] == ["heard", "pending", "pending"]


# Callbacks ------------------------------------------------------------------------------------------------------------


def test_callbacks_see_every_trial_that_has_ended_as_it_is_then(thread: Executor) -> None:
    study, seen = create(), []

    def f(params: Params) -> float:
        if params == study.trial(2).params:
            raise ValueError
        if params == study.trial(3).params:
            raise belated.Infeasible
        return hill(params)

    def see(of: belated.Study, trial: belated.Trial) -> None:
        assert of is study
        seen.append((trial.number, trial.failure or trial.outcome))

    study.add({"x": 0.5})
    study.add({"x": 0.6})
    study.add({"x": 0.7})
    run = study.optimize(f, rounds=3, workers=1, executor=thread, callbacks=[see, see])
    assert run.ended == ""
    assert seen[::2] == seen[1::2] == [(1, hill({"x": 0.5})), (2, "lost"), (3, "infeasible")]


@pytest.mark.parametrize("stop", [True, np.True_])
def test_a_callback_may_stop_the_run(stop: object, thread: Executor, caplog: pytest.LogCaptureFixture) -> None:
    study = create()
    callbacks = [lambda study, trial: stop if trial.number == 3 else None, lambda study, trial: "not True"]
    run = study.optimize(hill, rounds=9, workers=1, executor=thread, callbacks=callbacks)
    assert run == Run(asked=3, told=3, ended="a callback stopped it after trial 3")
    assert caplog.messages == []  # it was wished for
    assert study.optimize(hill, rounds=9, executor=thread) == Run(asked=6, told=6)


def test_an_error_in_a_callback_ends_the_run_and_what_has_come_is_told() -> None:
    study, both = create(), threading.Barrier(2, timeout=SOON)

    def f(params: Params) -> float:
        both.wait()
        return hill(params)

    def fail(study: belated.Study, trial: belated.Trial) -> None:
        for future in list(futures):
            future.result(SOON)
        raise KeyError("mine")

    futures = []

    class Noting(ThreadPoolExecutor):
        def submit(self, *call: Any, **named: Any) -> Any:
            futures.append(super().submit(*call, **named))
            return futures[-1]

    with Noting(2) as threads, pytest.raises(KeyError, match="mine"):
        study.optimize(f, rounds=9, workers=2, executor=threads, callbacks=[fail])
    assert [trial.status for trial in study.trials()] == ["heard", "heard"]


# Refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ({"rounds": 3, "more": 3}, r"give rounds .* or more .*, not both \(got 3, 3\)"),
        ({"more": -1}, r"more must be at least 0 \(got -1\)"),
        ({"timeout": 0}, r"timeout must be more than 0"),
        ({"timeout": "soon"}, r"timeout must be a number and a unit"),
        ({"until": "best"}, r"until must be a number"),
        ({"callbacks": print}, r"callbacks must be a list of functions of \(study, trial\)"),
        ({"callbacks": [3]}, r"callbacks must be a list of functions .* \(got \[3\]\)"),
    ],
)
def test_bad_input_asks_nothing(said: dict[str, Any], rule: str, thread: Executor) -> None:
    study = create()
    with pytest.raises(InvalidInput, match=rule):
        study.optimize(hill, executor=thread, **said)
    assert study.rounds == 0
