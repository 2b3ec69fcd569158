"""Bad settings: one clear sentence that says the rule and the value, and no study is made."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import belated
from belated import Choice, Integer, InvalidInput, Points, Real, Study
from tests.support.refusals import refusal

SPACE = {"x": Real(0, 1), "n": Integer(1, 8), "act": Choice("relu", "tanh")}


def create(**said: Any) -> Study:
    return Study.create(**{"space": SPACE, "seed": 0, "silence": "unknown", **said})


@pytest.mark.parametrize(
    ("space", "sentence"),
    [
        (lambda: {"x": Real(3, 1)}, "low must be less than high (got 3, 1)"),
        (lambda: {"x": Real(1, 1)}, "low must be less than high (got 1, 1)"),
        (lambda: {"x": Real(0, 1, log=True)}, "low must be more than 0 when log=True (got 0)"),
        (lambda: {"x": Integer(-1, 8, log=True)}, "log=True"),
        (lambda: {"x": Real(0, math.inf)}, "high must be a finite number (got inf)"),
        (lambda: {"x": Real(math.nan, 1)}, "low must be a finite number (got nan)"),
        (lambda: {"x": Real(True, 2)}, "low must be a number (got True)"),
        (lambda: {"x": Integer(0, 1.5)}, "high must be an integer (got 1.5)"),
        (lambda: {"x": Choice("a")}, "Choice must have at least two options (got ['a'])"),
        (lambda: {"x": Choice("a", "b", "a")}, "options must differ (got 'a' and 'a')"),
        (lambda: {"x": Choice(1, True)}, "options must differ (got 1 and True)"),
        (dict, "space: there must be at least one parameter (got none)"),
        (lambda: {"": Real(0, 1)}, "space: names must be strings and not empty (got '')"),
        (lambda: {3: Real(0, 1)}, "space: names must be strings and not empty (got 3)"),
        (
            lambda: {"a\nb": Real(0, 1)},
            "must be printable and have at most 255 characters (got 'a\\nb')",
        ),
        (lambda: {"\x1b[31m": Real(0, 1)}, "names of parameters must be printable"),
        (lambda: {"\ud800": Real(0, 1)}, "names of parameters must be printable"),
        (lambda: {"x" * 256: Real(0, 1)}, "names of parameters must be printable and have at most 255 characters"),
        (lambda: Points([{"a\x00": 1}, {"a\x00": 2}]), "names of parameters must be printable"),
        (lambda: {"x": Choice("a", "\ud800")}, "options must be text that UTF-8 can hold (got '\\ud800')"),
        (lambda: Points(["a", "\ud800"]), "options must be text that UTF-8 can hold"),
        (
            lambda: {"x": Integer(0, 10**300)},
            "between -2**53 and 2**53 (got an integer of about 301 digits)",
        ),
        (lambda: {"x": Choice(*range(10000))}, "space: there must be at most 2000 options in all (got 10000)"),
        (lambda: {"x": Choice(*range(1500)), "y": Choice(*range(1500))}, "at most 2000 options in all (got 3000)"),
        (lambda: Points([f"molecule {i}" for i in range(10000)]), "at most 2000 options in all (got 10000)"),
        (lambda: {"x": (0, 1)}, "x: must be a Real, an Integer or a Choice (got (0, 1))"),
        (lambda: {"x": Real}, "x: must be a Real, an Integer or a Choice (got <class "),
        (lambda: [Real(0, 1)], "space must be a dictionary of Real, Integer and Choice, or Points (got [Real("),
        (lambda: None, "space must be a dictionary of Real, Integer and Choice, or Points (got None)"),
        (lambda: Points([1, 2, 1]), "points must differ (points 0 and 2 are the same)"),
        (lambda: Points([]), "points must not be empty (got none)"),
        (lambda: Points([[1, 2], [3, 4]], names=["a", "a"]), "names must differ (got 'a' twice)"),
    ],
)
def test_spaces(space: Callable[[], Any], sentence: str) -> None:
    assert sentence in refusal(InvalidInput, lambda: create(space=space()))


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"patience": 0}, "patience must be more than 0 (got 0)"),
        ({"patience": -3}, "patience must be more than 0 (got -3)"),
        ({"patience": "0s"}, "patience must be more than 0 and finite (got '0s')"),
        ({"patience": timedelta(0)}, "patience must be more than 0 and finite (got datetime.timedelta(0))"),
        ({"patience": 2.5}, "patience in rounds must be a whole number (got 2.5)"),
        ({"patience": True}, "patience must be a number of rounds such as 20, a time such as"),
        ({"patience": math.nan}, "patience must be a finite number (got nan)"),
        ({"patience": "soon"}, "patience must be a number of rounds such as 20, a time such as"),
        ({"goal": "max"}, 'goal must be "maximize" or "minimize" (got \'max\')'),
        ({"floor": "low"}, "floor must be a number (got 'low')"),
        ({"floor": 1, "ceiling": 0}, "floor must be less than the ceiling (got floor 1.0, ceiling 0.0)"),
        ({"limits": (1, 0)}, "limits must have lo less than hi (got 1.0, 0.0)"),
        ({"context": {}}, "context: there must be at least one parameter (got none)"),
        ({"context": [1]}, "context must be a dictionary of Real, Integer and Choice, or Points (got [1])"),
        ({"silence": "quiet"}, "silence must be one of floor, unknown, waiting, fading, ignored"),
    ],
)
def test_settings(said: dict[str, Any], sentence: str) -> None:
    assert refusal(InvalidInput, lambda: create(**said)).startswith(sentence)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a/b",
        "..",
        ".",
        "../x",
        "<script>",
        "a b",
        "a\x00b",
        "a\n",
        "é²",
        "x" * 129,
        "x" * 10_240,
        3,
        True,
        b"a",
        ["a"],
    ],
)
def test_names_of_studies(name: Any) -> None:
    sentence = refusal(InvalidInput, lambda: create(name=name))
    assert sentence.startswith("name must ")
    assert "name must be 1 to 128 letters, digits" in sentence
    assert "(got " in sentence


def test_good_names() -> None:
    for name in ("a", "A-1_b.c", "x" * 128, "..a"):
        assert create(name=name).name == name


@pytest.mark.parametrize("lam", [0, -0.1, math.nan, math.inf, "1"])
def test_lambda(lam: Any) -> None:
    sentence = refusal(InvalidInput, lambda: belated.algorithms.paper("GP-UCB", lam=lam))
    assert sentence.startswith("lam must be a positive finite number (got ")


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.1, math.nan, "0.1"])
def test_delta(delta: Any) -> None:
    sentence = refusal(InvalidInput, lambda: belated.confidence.Theory(B_f=1.0, R=0.1, delta=delta))
    assert sentence.startswith("delta must ")
    assert "(got " in sentence


@pytest.mark.parametrize("lengthscale", [0, -1.0, math.nan, "short", True, (0.1, 0.0)])
def test_lengthscales(lengthscale: Any) -> None:
    sentence = refusal(InvalidInput, lambda: belated.kernels.SE(lengthscale))
    assert sentence.startswith("lengthscale must be ")
    assert "(got " in sentence
