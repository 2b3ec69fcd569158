"""A choice computed again, where versions of libraries differ."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np

from belated import Real, Replay, Study
from belated.learner.blas import describe_versions
from belated.record.choices import replay_choice
from belated.record.events import Asked, Event

THESE = dict(describe_versions())
OTHERS = {**THESE, "numpy": "1.0"}


def run(n: int) -> Study:
    """GP-TS-SDF, whose draws depend on every digit of the lengthscales."""
    space = {"x": Real(0, 1), "y": Real(0, 1)}
    study = Study.create(space=space, algorithm="GP-TS-SDF", floor=-1.0, ceiling=1.0, patience=9, seed=3)
    for _ in range(n):
        trial = study.ask()
        study.tell(trial, float(np.sin(5 * trial.params["x"])))  # y says nothing
    return study


def replay(study: Study, events: list[Event], asked: Asked) -> Replay:
    return replay_choice(study.original_settings, events, asked)


def test_under_other_versions_a_query_is_compared_at_the_recorded_hyperparameters() -> None:
    study = run(21)
    events = list(study.events())
    asked = next(event for event in events if isinstance(event, Asked) and event.number == 21)
    assert asked.fitted is not None
    assert replay(study, events, asked).same
    # As if another processor had ended the fit elsewhere: the draw is another function.
    fitted = copy.deepcopy(dict(asked.fitted))
    fitted["kernel"]["lengthscale"][1] *= 1.1
    elsewhere = replace(asked, params={"x": 0.5, "y": 0.5}, fitted=fitted, versions=OTHERS)
    there = replay(study, events, elsewhere)
    assert there.params != asked.params
    chosen_there = replace(elsewhere, params=there.params)
    assert replay(study, events, chosen_there).same
    assert not replay(study, events, replace(chosen_there, versions=THESE)).ok


def test_under_other_versions_another_query_is_still_a_contradiction() -> None:
    study = run(21)
    events = list(study.events())
    asked = next(event for event in events if isinstance(event, Asked) and event.number == 21)
    wrong = replace(asked, params={"x": 0.123, "y": 0.456}, versions=OTHERS)
    assert not replay(study, events, wrong).ok
