"""Extreme values: refused at the door with the rule and the value, or survived. (In tests a warning is an error.)"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from belated import InvalidInput, Points, Real, Study, algorithms, kernels
from belated.record.events import Asked, Told
from belated.record.ledger.memory import MemoryLedger
from tests.support.refusals import refusal

SPACE = {"x": Real(0, 1)}


def create(**said: Any) -> Study:
    return Study.create(**{"space": SPACE, "seed": 0, "silence": "unknown", "initial": 2, **said})


def live(study: Study, rounds: int = 6) -> None:
    for _ in range(rounds):
        trial = study.ask()
        study.tell(trial, float(np.sin(3 * trial.params["x"])))


def check_alive(study: Study) -> None:
    """Every question about it is answered with finite numbers, and asks use the model."""
    notes = [study.ask().note for _ in range(2)]
    assert not any("fell back" in note for note in notes)
    mean, std, _, _ = study.posterior([trial.params for trial in study.trials()])
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(std))
    assert 0 <= study.recommend().params["x"] <= 1
    for report in (study.delays, study.advise):
        assert "inf" not in str(report("rounds")) + str(report("clock"))


@pytest.mark.parametrize("noise", [5e-324, 1e-300, 1e-100, 1e100, 1e155, 1.7e308])
def test_noise_far_from_the_outcomes(noise: float) -> None:
    study = create()
    live(study)
    study.tell(study.ask(), 0.5, noise=noise)
    study.add({"x": 0.3}, 0.5, noise=noise)
    check_alive(study)


def test_a_noise_beyond_measure_says_nothing_of_f() -> None:
    """The belief is the one without that outcome, for the same scale and hyperparameters."""
    model = replace(algorithms.DEFAULT.model, kernel=kernels.SE(0.3), lam=0.01, scaling=algorithms.FloorToOne())
    study = create(algorithm=replace(algorithms.DEFAULT, name="by hand", model=model), floor=-10.0, ceiling=10.0)
    live(study)
    points = [{"x": 0.1}, {"x": 0.6}]
    before = study.posterior(points)
    study.add({"x": 0.6}, -5.0, noise=1e155)
    np.testing.assert_allclose(study.posterior(points).mean, before.mean, rtol=1e-9)


@pytest.mark.parametrize("algorithm", ["default", "GP-UCB-SDF", "GP-TS-SDF", "GP-BUCB", "asy-TS"])
@pytest.mark.parametrize("values", [(1.7e308, -1.7e308), (1e308,), (-1.7e308,)], ids=str)
def test_outcomes_at_the_end_of_float64(algorithm: str, values: tuple[float, ...]) -> None:
    said: dict[str, Any] = {} if algorithm == "default" else {"silence": None}
    study = create(algorithm=algorithm, **said, **({"patience": 5, "floor": -2.0} if "SDF" in algorithm else {}))
    live(study)
    for value in values:
        study.tell(study.ask(), value)
    check_alive(study)


def test_a_floor_and_a_ceiling_whose_distance_is_no_number() -> None:
    study = create(silence="floor", floor=-1.7e308, ceiling=1.7e308)
    live(study, 2)
    check_alive(study)


FAR = 1.1e15
DOORS: dict[str, Callable[[Study, float], object]] = {
    "tell": lambda study, at: study.tell(1, 0.5, at=at),
    "add": lambda study, at: study.add({"x": 0.5}, at=at),
    "add with its outcome": lambda study, at: study.add({"x": 0.5}, 0.5, at=at),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("at", [FAR, -FAR, 1e308, -1e308])
def test_times_that_no_clock_shows_are_refused(door: str, at: float) -> None:
    study = create(patience="auto-clock")
    study.ask()
    text = refusal(InvalidInput, lambda: DOORS[door](study, at))
    assert text == f"at must be between -1e+15 and 1e+15 seconds (got {at!r})"
    assert len(study.events()) == 1


def test_a_clock_that_counts_nanoseconds_is_refused() -> None:
    study = create(clock=lambda: 1.7e18)
    assert "the clock's reading must be between -1e+15 and 1e+15 seconds" in refusal(InvalidInput, study.ask)


@pytest.mark.parametrize("silence", ["fading", "unknown"])
@pytest.mark.parametrize("patience", ["auto-clock", "auto", "1d"])
def test_the_farthest_times_are_survived(patience: str, silence: str) -> None:
    study = create(patience=patience, silence=silence, floor=-1.0)
    live(study, 12)
    study.tell(study.add({"x": 0.4}, at=-1e15), 0.5, at=1e15)
    study.tell(study.add({"x": 0.5}, at=1e15), 0.5, at=-1e15)
    check_alive(study)


def test_a_record_that_has_farther_times_is_survived() -> None:
    """Version 0.1 took them."""
    study = create(patience="auto-clock")
    live(study, 12)
    old = study.events()
    for i, event in enumerate(old):
        if isinstance(event, Asked) and event.number == 12:
            old[i] = replace(event, asked_at=-1.7e308)
        if isinstance(event, Told) and event.number == 12:
            old[i] = replace(event, at=1.7e308)
    again = Study(study.original_settings, MemoryLedger(old), None, study.clock)
    assert again.trial(12).delay == 2e15
    check_alive(again)


def test_two_thousand_options_are_taken() -> None:
    study = create(space=Points([{"x": i, "name": f"molecule {i}"} for i in range(2000)]), initial=1)
    assert study.ask().params["name"].startswith("molecule")


@pytest.mark.parametrize("name", ["seed", "initial"])
def test_integers_that_no_store_could_hold(name: str) -> None:
    assert f"{name} must be " in refusal(InvalidInput, lambda: create(**{name: 10**5000}))


def test_a_reason_that_no_file_could_hold() -> None:
    study = create()
    live(study, 1)
    refusal(InvalidInput, lambda: study.amend(1, 0.5, reason="\ud800"))
    assert study.trial(1).outcome != 0.5
