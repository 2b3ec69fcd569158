"""Bad input: one clear sentence that says the rule and the value, and nothing is stored."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest

import belated
from belated import (
    BelatedError,
    Choice,
    Contradiction,
    Exhausted,
    Integer,
    InvalidInput,
    Outside,
    Points,
    Real,
    Study,
    UnknownTrial,
)
from tests.support.refusals import refusal

SPACE = {"x": Real(0, 1), "n": Integer(1, 8), "act": Choice("relu", "tanh")}
HERE = {"x": 0.5, "n": 2, "act": "relu"}


def create(**said: Any) -> Study:
    if "algorithm" not in said:
        said.setdefault("silence", "unknown")
    return Study.create(**{"space": SPACE, "seed": 0, **said})


def started(**said: Any) -> Study:
    """A study with one trial heard and one pending."""
    study = create(**said)
    study.tell(study.ask(), 0.5)
    study.ask()
    return study


def untouched(study: Study, error: type[Exception], call: Callable[[], Any]) -> str:
    """The message of a refusal that leaves the study as it was."""
    events, trials = study.events(), study.trials()
    belief = study.posterior([HERE])
    sentence = refusal(error, call)
    assert study.events() == events
    assert study.trials() == trials
    assert study.posterior([HERE]).mean.tolist() == belief.mean.tolist()
    return sentence


# Values ---------------------------------------------------------------------------------------------------------------

NOT_FINITE = [
    math.nan,
    math.inf,
    -math.inf,
    json.loads("1e999"),
    10**400,
    -(10**5000),
    np.float64("nan"),
    np.float32("inf"),
]
NO_NUMBERS = [True, False, np.bool_(True), "0.5", b"0.5", "", [0.5], (0.5,), {"value": 0.5}, np.array([0.5]), 1j]


@pytest.mark.parametrize("value", NOT_FINITE, ids=lambda v: str(v)[:12] if isinstance(v, float) else "digits")
def test_a_value_must_be_finite(value: Any) -> None:
    study = started()
    for call in (lambda: study.tell(2, value), lambda: study.add(HERE, value)):
        assert untouched(study, InvalidInput, call).startswith("value must be a finite number (got ")


@pytest.mark.parametrize("value", [*NO_NUMBERS, None], ids=repr)
def test_a_value_must_be_a_number(value: Any) -> None:
    study = started()
    sentence = untouched(study, InvalidInput, lambda: study.tell(2, value))
    assert sentence.startswith("value must be a number (got ")
    if value is not None:  # for add, no value means pending
        assert untouched(study, InvalidInput, lambda: study.add(HERE, value)) == sentence


def test_the_sentence_shows_the_value() -> None:
    study = started()
    assert untouched(study, InvalidInput, lambda: study.tell(2, "0.5")) == "value must be a number (got '0.5')"
    assert untouched(study, InvalidInput, lambda: study.tell(2, math.nan)) == "value must be a finite number (got nan)"
    assert "400 digits" in untouched(study, InvalidInput, lambda: study.tell(2, 10**399))
    long = untouched(study, InvalidInput, lambda: study.tell(2, "9" * 10_000))  # type: ignore[arg-type]
    assert len(long) < 200


@pytest.mark.parametrize("value", [-0.001, 1.001, 1e300])
def test_outside_the_limits(value: float) -> None:
    study = started(limits=(0, 1))
    for call in (lambda: study.tell(2, value), lambda: study.add(HERE, value)):
        sentence = untouched(study, Outside, call)
        assert sentence.startswith(f"value must lie within the limits 0.0 to 1.0 (got {value!r}); ")
        assert "wider limits" in sentence


def test_below_the_floor_is_accepted_and_flagged() -> None:
    study = started(floor=0.25)
    receipt = study.tell(2, 0.125)
    assert receipt.status == "heard"
    assert "0.125" in receipt.note
    assert "0.25" in receipt.note
    assert study.trials()[1].outcome == 0.125


@pytest.mark.parametrize(
    ("noise", "sentence"),
    [
        (0, "noise must be more than 0 (got 0.0)"),
        (-0.1, "noise must be more than 0 (got -0.1)"),
        (math.nan, "noise must be a finite number (got nan)"),
        (math.inf, "noise must be a finite number (got inf)"),
        ("0.1", "noise must be a number (got '0.1')"),
        (True, "noise must be a number (got True)"),
    ],
)
def test_noise(noise: Any, sentence: str) -> None:
    study = started()
    assert untouched(study, InvalidInput, lambda: study.tell(2, 0.5, noise=noise)) == sentence
    assert untouched(study, InvalidInput, lambda: study.add(HERE, 0.5, noise=noise)) == sentence


def test_noise_belongs_to_an_outcome() -> None:
    study = started()
    sentence = untouched(study, InvalidInput, lambda: study.add(HERE, noise=0.1))
    assert sentence == "noise belongs to an outcome; give a value with it"


@pytest.mark.parametrize("at", [math.nan, math.inf, "yesterday", True, [0.0], 10**400, datetime.min, timedelta(days=1)])
def test_at(at: Any) -> None:
    study = started(patience="14d")
    for call in (lambda: study.tell(2, 0.5, at=at), lambda: study.add(HERE, 0.5, at=at)):
        assert untouched(study, InvalidInput, call).startswith("at must be ")


@pytest.mark.parametrize("reading", [math.nan, "noon", None])
def test_a_clock_must_tell_the_time(reading: Any) -> None:
    readings = iter([0.0] * 4)
    study = create(clock=lambda: next(readings, reading))
    study.ask()
    next(readings)  # 0, considered and asked at; one more when the trial was returned
    for call in (study.ask, lambda: study.tell(1, 0.5), lambda: study.add(HERE, 0.5), lambda: study.fail(1, "lost")):
        assert refusal(InvalidInput, call).startswith("the clock's reading must be a ")
    assert len(study.events()) == 1
    assert refusal(InvalidInput, lambda: create(clock=5)) == "clock must be a function returning seconds (got 5)"


# Trials ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, -1, 3, 1.5, 1.0, True, "1", None, 10**400, [1]])
def test_an_unknown_trial_says_which_exist(number: Any) -> None:
    study = started()
    calls = [lambda: study.tell(number, 0.5), lambda: study.fail([2, number], "lost")]
    if not isinstance(number, list):  # a list is many trials
        calls.append(lambda: study.fail(number, "lost"))
    for call in calls:
        sentence = untouched(study, UnknownTrial, call)
        assert sentence.startswith("there is no trial ")
        assert sentence.endswith("; trials 1 to 2 exist")


def test_before_any_ask_there_is_no_trial() -> None:
    study = create()
    sentence = untouched(study, UnknownTrial, lambda: study.tell(1, 0.5))
    assert sentence == "there is no trial 1; none has been asked yet"
    assert started().tell(np.int64(2), 0.5).number == 2  # a whole number is one, whoever made it


@pytest.mark.parametrize("kind", ["failed", "", None, 3, ["lost"]])
def test_the_kinds_of_failure(kind: Any) -> None:
    study = started()
    sentence = untouched(study, InvalidInput, lambda: study.fail(2, kind))
    assert sentence == f"kind must be one of lost, infeasible, withdrawn (got {kind!r})"


@pytest.mark.parametrize("n", [0, -1, 1.5, 2.0, True, "2", [2]])
def test_how_many_to_ask(n: Any) -> None:
    study = started()
    sentence = untouched(study, InvalidInput, lambda: study.ask(n=n))
    assert sentence.startswith(("n must be an integer (got ", "n must be at least 1 (got "))


@pytest.mark.parametrize("key", ["", 3, True, ["a"], b"a"])
def test_keys(key: Any) -> None:
    study = started()
    for call in (
        lambda: study.ask(key=key),
        lambda: study.tell(2, 0.5, key=key),
        lambda: study.add(HERE, 0.5, key=key),
    ):
        assert untouched(study, InvalidInput, call).startswith("key must be a non-empty string (got ")


# Params and contexts --------------------------------------------------------------------------------------------------

BAD_PARAMS: list[tuple[Any, type[Exception], str]] = [
    ({**HERE, "x": math.nan}, InvalidInput, "x: value must be a finite number (got nan)"),
    ({**HERE, "x": True}, InvalidInput, "x: value must be a number (got True)"),
    ({**HERE, "x": "0.5"}, InvalidInput, "x: value must be a number (got '0.5')"),
    ({**HERE, "x": None}, InvalidInput, "x: value must be a number (got None)"),
    ({**HERE, "n": 2.0}, InvalidInput, "n: value must be an integer (got 2.0)"),
    ({**HERE, "act": "gelu"}, Outside, "act: value must be one of 'relu', 'tanh' (got 'gelu')"),
    (
        {**HERE, "act": ["relu"]},
        InvalidInput,
        "act: value must be a string, a number, a boolean or None (got ['relu'])",
    ),
    ({**HERE, "z": 1}, InvalidInput, "z: there is no such parameter (the names are x, n, act)"),
    ({**HERE, 3: 1}, InvalidInput, "3: there is no such parameter (the names are x, n, act)"),
    (0.5, InvalidInput, "params must be a dictionary of x, n, act (got 0.5)"),
    ([0.5], InvalidInput, "params must be a dictionary of x, n, act (got [0.5])"),
    ("x", InvalidInput, "params must be a dictionary of x, n, act (got 'x')"),
]


@pytest.mark.parametrize(("params", "error", "sentence"), BAD_PARAMS)
def test_params_are_named_when_they_are_wrong(params: Any, error: type[Exception], sentence: str) -> None:
    study = started()
    assert untouched(study, error, lambda: study.add(params, 0.5)) == sentence
    assert untouched(study, error, lambda: study.ask(params=params)) == sentence
    assert untouched(study, error, lambda: study.posterior([HERE, params])) == sentence


@pytest.mark.parametrize(
    ("params", "sentence", "farther"),
    [
        ({"x": 1.5}, "x: value must be between 0.0 and 1.0 (got 1.5)", {"x": 1001.0}),
        ({"x": -1e-9}, "x: value must be between 0.0 and 1.0 (got -1e-09)", {"x": -1001.0}),
        ({"n": 9}, "n: value must be between 1 and 8 (got 9)", {"n": 7009}),
    ],
)
def test_what_was_run_may_lie_outside_and_nothing_else(params: Any, sentence: str, farther: Any) -> None:
    study = started()
    assert untouched(study, Outside, lambda: study.ask(params={**HERE, **params})) == sentence
    assert untouched(study, Outside, lambda: study.posterior([HERE, {**HERE, **params}])) == sentence
    said = untouched(study, Outside, lambda: study.add({**HERE, **farther}, 0.5))
    assert "value must not be farther than 1000 ranges from" in said
    assert study.add({**HERE, **params}, 0.5).note == "outside the ranges: kept and used, never proposed"


def test_params_that_are_missing() -> None:
    study = started()
    for call in (lambda: study.add({"x": 0.5, "n": 2}, 0.5), lambda: study.posterior([{"x": 0.5, "n": 2}])):
        assert untouched(study, InvalidInput, call) == "act: value is missing (got x, n)"
    assert "x: value is missing" in untouched(study, InvalidInput, lambda: study.add({}, 0.5))


def test_a_point_that_is_none_of_the_points() -> None:
    study = create(space=Points([0.0, 0.5, 1.0]))
    for call in (
        lambda: study.add({"x": 0.25}, 1.0),
        lambda: study.ask(params={"x": 0.25}),
        lambda: study.posterior([{"x": 0.25}]),
    ):
        assert refusal(Outside, call) == "x: value must be that of one of the 3 points (got 0.25)"
    assert refusal(InvalidInput, lambda: study.ask(params={"y": 1})).startswith("y: there is no such parameter")
    assert study.trials() == []


CONTEXT = {"z": Real(0, 1), "site": Choice("a", "b")}


@pytest.mark.parametrize(
    ("context", "error", "sentence"),
    [
        (None, InvalidInput, "context must be given: z, site"),
        ({"z": 0.5}, InvalidInput, "context site: value is missing (got z)"),
        (
            {"z": 0.5, "site": "a", "q": 1},
            InvalidInput,
            "context q: there is no such parameter (the names are z, site)",
        ),
        ({"z": 1.5, "site": "a"}, Outside, "context z: value must be between 0.0 and 1.0 (got 1.5)"),
        ({"z": 0.5, "site": "c"}, Outside, "context site: value must be one of 'a', 'b' (got 'c')"),
        ({"z": math.inf, "site": "a"}, InvalidInput, "context z: value must be a finite number (got inf)"),
        (0.5, InvalidInput, "context params must be a dictionary of z, site (got 0.5)"),
    ],
)
def test_the_coordinate_of_a_context_is_named(context: Any, error: type[Exception], sentence: str) -> None:
    study = create(context=CONTEXT)
    for call in (
        lambda: study.ask(context=context),
        lambda: study.add(HERE, 0.5, context=context),
        lambda: study.posterior([HERE], context=context),
        lambda: study.recommend(context=context),
    ):
        assert refusal(error, call) == sentence
    if context is not None:
        assert refusal(error, lambda: study.best(context=context)) == sentence
    assert study.trials() == []


def test_a_study_without_context_takes_none() -> None:
    study = started()
    for call in (
        lambda: study.ask(context={"z": 1}),
        lambda: study.add(HERE, 0.5, context={"z": 1}),
        lambda: study.posterior([HERE], context={"z": 1}),
        lambda: study.recommend(context={"z": 1}),
        lambda: study.best(context={"z": 1}),
    ):
        assert untouched(study, InvalidInput, call) == "this study has no context; leave it out (got {'z': 1})"


@pytest.mark.parametrize("wrong", ["false", "", 0, 1.0, None])
def test_a_flag_is_true_or_false_and_nothing_that_looks_like_it(wrong: Any) -> None:
    study = started()
    for name, call in {
        "lock": lambda: study.close(lock=wrong),
        "take_back": lambda: study.amend(1, take_back=wrong, reason="why"),
        "pending": lambda: study.posterior([HERE], pending=wrong),
    }.items():
        assert untouched(study, InvalidInput, call) == f"{name} must be True or False (got {wrong!r})"
    assert not study.closed


def test_an_amendment_says_what_it_amends() -> None:
    study = started()
    for call in (
        lambda: study.amend(reason="why"),
        lambda: study.amend(1, reason="why"),
        lambda: study.amend(value=0.3, reason="why"),
        lambda: study.amend(1, floor=0.0, reason="why"),
    ):
        assert untouched(study, InvalidInput, call).startswith("give what to amend: of a trial its value, noise, at, ")


def test_a_time_that_is_none_is_named_as_it_was_given() -> None:
    study = started()
    wrong: Any = "yesterday"
    assert untouched(study, InvalidInput, lambda: study.log(since=wrong)) == "since must be a number (got 'yesterday')"
    assert untouched(study, InvalidInput, lambda: study.log(until=wrong)) == "until must be a number (got 'yesterday')"
    assert untouched(study, InvalidInput, lambda: study.undo(only=wrong)) == "only must be an integer (got 'yesterday')"


def test_a_finite_space_that_is_exhausted_says_so() -> None:
    study = create(space=Points([0.0, 1.0]), repeats="never")
    study.ask(n=2)
    sentence = refusal(Exhausted, study.ask)
    assert "Every point of the space has been asked" in sentence
    assert 'repeats="never"' in sentence
    assert len(study.trials()) == 2


# Errors ---------------------------------------------------------------------------------------------------------------


def test_one_root_for_every_error() -> None:
    raised = [value for value in vars(belated).values() if isinstance(value, type) and issubclass(value, Exception)]
    errors = [error for error in raised if not issubclass(error, Warning)]
    assert len(errors) >= 10
    assert all(issubclass(error, BelatedError) for error in errors)
    assert issubclass(Outside, InvalidInput)
    assert issubclass(Contradiction, InvalidInput)
    assert all(str(error()) == str(error.__doc__).strip() for error in errors)
