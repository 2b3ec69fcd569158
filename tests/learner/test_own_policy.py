"""What a policy of the user's own returns is checked, and its name said."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import belated
from belated import algorithms, policies
from belated.errors import InvalidInput


@dataclass(frozen=True)
class WrongSurface:
    surface: Any
    how: str

    def __call__(self, Q: Any) -> Any:
        return self.surface(Q) * np.nan if self.how == "NaN" else self.surface(Q)

    def gradient(self, Q: Any) -> Any:
        values, slopes = self.surface.gradient(Q)
        return values, slopes[:, :1] if self.how == "gradient" else slopes


@dataclass(frozen=True)
class Wrong:
    how: str = ""

    def scores(self, belief: Any, Q: Any, nu: float, rng: Any) -> Any:
        scores = policies.UCB().scores(belief, Q, nu, rng)
        return scores[1:] if self.how == "shape" else scores

    def surface(self, belief: Any, nu: float, rng: Any) -> Any:
        return WrongSurface(policies.UCB().surface(belief, nu, rng), self.how)


def ask(how: str, space: Any) -> belated.Trial:
    algorithm = algorithms.custom("wrong", policy=Wrong(how))
    study = belated.Study.create(space=space, algorithm=algorithm, silence="unknown", seed=0, initial=3)
    for _ in range(3):
        trial = study.ask()
        study.tell(trial, trial.params["x"])
    return study.ask()


BOX = {"x": belated.Real(0, 1), "y": belated.Real(0, 1)}
LIST = belated.Points([0.0, 0.3, 0.6, 1.0])


@pytest.mark.parametrize(
    ("how", "space", "rule"),
    [
        ("shape", LIST, r"Wrong: scores must have the shape \(4,\) \(got \(3,\)\)"),
        ("NaN", BOX, "Wrong: its surface must be finite"),
        ("gradient", BOX, "Wrong: the gradient of its surface must have the shape"),
    ],
)
def test_what_is_wrong_is_said_with_the_name(how: str, space: Any, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        ask(how, space)


@pytest.mark.parametrize("space", [LIST, BOX])
def test_a_policy_that_returns_what_it_should_is_passed_on(space: Any) -> None:
    algorithm = algorithms.custom("UCB alone", policy=policies.UCB())
    study = belated.Study.create(space=space, algorithm=algorithm, silence="unknown", seed=0, initial=3)
    for _ in range(3):
        trial = study.ask()
        study.tell(trial, trial.params["x"])
    assert ask("", space).params == study.ask().params
