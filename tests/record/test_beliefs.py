"""What is shown is of today, and is what is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from belated import Points, Real, Study, algorithms
from tests.support.studies import Clock

SPACE = {"x": Real(0, 1), "y": Real(0, 1)}
AT = [{"x": 0.1, "y": 0.9}, {"x": 0.5, "y": 0.5}, {"x": 0.9, "y": 0.2}]


def f(params: dict[str, float]) -> float:
    return 100.0 * float(np.exp(-8 * (params["x"] - 0.3) ** 2 - 8 * (params["y"] - 0.6) ** 2))


def batch(silence: str = "unknown", n: int = 30, **how: object) -> Study:
    """A finished batch: all asked at once, all told since."""
    study = Study.create(space=SPACE, silence=silence, seed=3, **how)  # type: ignore[arg-type]
    for trial in study.ask(n=n):
        study.tell(trial, f(dict(trial.params)))
    return study


def test_a_finished_batch_is_fitted() -> None:
    study = batch()
    study.close()
    assert study.hyperparameters() == []  # nothing was heard when the batch was asked
    shown = study.posterior(AT)
    assert_allclose(shown.mean, [f(point) for point in AT], atol=3.0)
    assert study.hyperparameters() == []  # a look writes nothing
    assert len(study.events()) == 61


@pytest.mark.parametrize("silence", ["unknown", "waiting", "floor", "fading", "ignored"])
@pytest.mark.parametrize("told", [4, 11, 25])
def test_a_look_uses_the_hyperparameters_that_an_ask_would_use(silence: str, told: int) -> None:
    clock = Clock()
    study = Study.create(space=SPACE, silence=silence, floor=0.0, patience="5h", seed=4, clock=clock)
    for trial in study.ask(n=30)[:told]:
        clock.now += 600.0
        study.tell(trial, f(dict(trial.params)))
    clock.now += 1000.0
    before = study.posterior(AT, pending=True)
    asked = study.ask()
    assert len(study.hyperparameters()) == 1  # the ask did fit
    study.fail(asked, "withdrawn")
    again = study.posterior(AT, pending=True)
    assert_array_equal(before.mean, again.mean)
    assert_array_equal(before.std, again.std)


def test_a_fit_is_due_when_a_tenth_more_is_settled() -> None:
    """And at least ten more; here 40 were fitted to, and few rounds passed since."""
    study = Study.create(space=SPACE, silence="unknown", seed=3)
    trials = study.ask(n=60)
    for trial in trials[:40]:
        study.tell(trial, f(dict(trial.params)))
    study.ask()
    assert [fit.settled for fit in study.hyperparameters()] == [40]
    for trial in trials[40:49]:
        study.tell(trial, f(dict(trial.params)))
    study.ask()
    assert [fit.settled for fit in study.hyperparameters()] == [40]  # nine more are not enough
    study.tell(trials[49], f(dict(trials[49].params)))
    study.ask()
    assert [fit.settled for fit in study.hyperparameters()] == [40, 50]


def test_expired_silence_makes_a_fit_due_too() -> None:
    clock = Clock()
    study = Study.create(space=SPACE, silence="floor", floor=0.0, patience="1h", seed=4, clock=clock)
    for trial in study.ask(n=40)[:12]:
        study.tell(trial, f(dict(trial.params)))
    study.ask()
    (first,) = study.hyperparameters()
    assert (first.heard, first.settled) == (12, 12)
    clock.now += 7200.0
    study.ask()
    newest = study.hyperparameters()[-1]
    assert (newest.heard, newest.settled) == (12, 41)


def test_the_papers_six_keep_their_schedule_and_a_look_fits_as_outcomes_grow() -> None:
    study = Study.create(space=SPACE, algorithm="GP-BUCB", floor=0.0, ceiling=100.0, seed=5)
    for trial in study.ask(n=9):
        study.tell(trial, f(dict(trial.params)))
    prior = Study.create(
        space=SPACE, algorithm=algorithms.paper("GP-BUCB", refit_every=None), floor=0.0, ceiling=100.0, seed=5
    )
    for trial in study.trials():
        prior.add(trial.params, trial.outcome)
    assert not np.allclose(study.posterior(AT).mean, prior.posterior(AT).mean)  # fitted for the look
    assert study.ask().number == 10
    assert study.hyperparameters() == []  # and the ask was not, before round 11


@pytest.mark.parametrize("silence", ["unknown", "waiting", "nearest", "ignored"])
def test_an_open_question_is_no_answer(silence: str) -> None:
    """Under a silence that says nothing in the end, what is pending changes nothing that is shown."""
    study = Study.create(space=Points([0.0, 0.3, 0.6, 0.9]), silence=silence, floor=0.0, patience=9, seed=0)
    for x in (0.0, 0.3, 0.6):
        study.add({"x": x}, 1.0 + x)
    at = [{"x": 0.9}]
    before, best = study.posterior(at), study.recommend()
    study.add({"x": 0.9})
    after = study.posterior(at)
    assert (after.mean, after.std) == (before.mean, before.std)
    assert study.recommend() == best
    chosen_from = study.posterior(at, pending=True)
    assert bool(chosen_from.std[0] < after.std[0]) is (silence != "ignored")


@pytest.mark.parametrize("silence", ["floor", "fading"])
def test_where_silence_is_an_outcome_it_is_shown(silence: str) -> None:
    study = Study.create(space=Points([0.0, 0.3, 0.6, 0.9]), silence=silence, floor=0.0, patience=9, seed=0)
    for x in (0.0, 0.3, 0.6):
        study.add({"x": x}, 1.0 + x)
    before = study.posterior([{"x": 0.9}])
    study.add({"x": 0.9})
    after = study.posterior([{"x": 0.9}])
    assert after.mean[0] < before.mean[0]
    assert_array_equal(after.mean, study.posterior([{"x": 0.9}], pending=True).mean)
