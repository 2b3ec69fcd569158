"""A known law of delays: what is still to come at an age, by the formula; and what is wrong with a law is said."""

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from belated import Study, silence
from belated.delays import Empirical, Exponential, Fixed, Geometric, LogNormal, Poisson, Sometimes, Uniform
from belated.errors import Contradiction, InvalidInput
from belated.learner.delays.known_law import compute_arrival, read_law, write_law
from belated.space.parameters import Real

LAWS = [
    Poisson(3),
    Fixed(4),
    Geometric(0.3),
    Exponential(2.0),
    LogNormal(1.0, 0.5),
    Uniform(1, 4),
    Empirical([1, 5]),
    Sometimes(Sometimes(Poisson(2), 0.5), 0.5),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_what_still_comes_follows_from_the_law(law: Any) -> None:
    age = np.array([2.0, 0.0, 7.0, 2.0])
    comes, never = compute_arrival(law, age)
    ever = law.rho(math.inf)
    for a, p in zip(age, comes, strict=True):
        left = 1 - law.rho(a)
        assert p == pytest.approx((ever - law.rho(a)) / left if left > 0 else 0.0, abs=1e-12)
    np.testing.assert_allclose(never, 1 - ever)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_a_law_is_written_and_read_back(law: Any) -> None:
    assert read_law(json.loads(json.dumps(write_law(law)))) == law


@dataclass(frozen=True)
class Wrong:
    how: str

    def rho(self, m: float) -> Any:
        return {"large": 1.5, "NaN": math.nan, "falls": 1.0 if m < 1 else 0.5, "word": "often"}[self.how]


@pytest.mark.parametrize(
    ("how", "rule"),
    [
        ("large", "Wrong: rho must rise from 0 to at most 1"),
        ("falls", "Wrong: rho must rise from 0 to at most 1"),
        ("NaN", "Wrong: rho must be finite"),
        ("word", "Wrong: rho must be an array of numbers"),
    ],
)
def test_what_is_wrong_is_said_with_the_name(how: str, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        compute_arrival(Wrong(how), np.array([0.0, 2.0]))


def test_an_outcome_that_can_no_longer_come_counts_as_the_floor_and_one_that_must_come_as_unknown() -> None:
    def believe(meaning: Any) -> Any:
        study = Study.create(space={"x": Real(0, 1)}, silence=meaning, floor=0.0, seed=0, initial=0)
        for x in (0.1, 0.2, 0.3):
            study.add({"x": x}, 1.0 + x)
        study.add({"x": 0.9})
        return study.posterior([{"x": 0.9}], pending=True).mean

    np.testing.assert_allclose(believe(silence.Fading(law=Sometimes(Fixed(9), 0.0))), believe("floor"))
    np.testing.assert_allclose(believe(silence.Fading(law=Fixed(9))), believe("unknown"))


def test_conversions_learn_their_law() -> None:
    with pytest.raises(Contradiction, match="conversions learn the law of their delays; leave it out"):
        Study.create(
            space={"x": Real(0, 1)}, silence=silence.Fading(law=Fixed(3)), patience=5, outcomes="conversion", seed=0
        )
