"""A model of the user's own: its answers are checked, its gradients found by differences where it has none."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import belated
from belated import algorithms, policies
from belated.errors import Contradiction, InvalidInput
from belated.learner.gp.kernels import SE
from belated.learner.gp.posterior import GP
from belated.learner.surrogate import SurrogatePosterior

PRIOR = GP(SE(0.3), 0.01)


@dataclass(frozen=True)
class Bowl:
    """mean = a Σ (q - centre)², std = 0.1 + |q|²/10, whatever was heard; `how` makes it wrong or better."""

    how: str = ""

    def fit(self, X: Any, y: Any) -> "Bowl":
        if self.how == "counts":
            HEARD.append((X.copy(), y.copy()))
        return FullBowl(self.how) if self.how == "gradient" else self

    def mean(self, Q: Any) -> Any:
        mean = -np.sum((Q - 0.4) ** 2, axis=1)
        if self.how == "NaN":
            return mean * np.nan
        return mean[:, None] if self.how == "shape" else ["a"] * len(Q) if self.how == "words" else mean

    def std(self, Q: Any) -> Any:
        return np.full(len(Q), -0.5) if self.how == "negative" else 0.1 + np.sum(Q**2, axis=1) / 10

    def slopes(self, Q: Any) -> Any:
        return -2.0 * (Q - 0.4), Q / 5.0


HEARD: list[tuple[Any, Any]] = []


@dataclass(frozen=True)
class FullBowl(Bowl):
    def gradient(self, Q: Any) -> Any:
        return self.slopes(Q)

    def draw(self, Q: Any, rng: Any) -> Any:
        return self.mean(Q) + self.std(Q) * rng.standard_normal()


def believe(surrogate: Any) -> SurrogatePosterior:
    X = np.array([[0.2, 0.2], [0.8, 0.6]])
    return SurrogatePosterior(surrogate, surrogate.fit(X, np.zeros(2)), PRIOR, X, np.zeros(2))


Q = np.vstack([np.random.default_rng(0).random((6, 2)), [[0.0, 1.0], [1.0, 0.0]]])  # bounds too


@pytest.mark.parametrize("how", ["", "gradient"])
def test_gradients_are_those_of_mean_and_variance(how: str) -> None:
    posterior = believe(Bowl(how))
    mean, variance, d_mean, d_variance = posterior.gradients(Q)
    d, s = Bowl().slopes(Q)
    np.testing.assert_allclose(mean, Bowl().mean(Q))
    np.testing.assert_allclose(variance, Bowl().std(Q) ** 2)
    np.testing.assert_allclose(d_mean, d, atol=2e-5)  # on a bound the difference is one-sided
    np.testing.assert_allclose(d_variance, 2 * Bowl().std(Q)[:, None] * s, atol=2e-5)
    np.testing.assert_allclose(posterior.mean_gradient(Q)[1], d, atol=2e-5)


@pytest.mark.parametrize(
    ("how", "rule"),
    [
        ("NaN", r"Bowl: mean must be finite \(got nan\)"),
        ("shape", r"Bowl: mean must have the shape \(8,\) \(got \(8, 1\)\)"),
        ("words", "Bowl: mean must be an array of numbers"),
        ("negative", r"Bowl: std must be at least 0 \(got -0.5\)"),
    ],
)
def test_what_is_wrong_is_said_with_the_name(how: str, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        believe(Bowl(how)).mean_and_std(Q)


def test_draws_are_scaled_around_the_mean() -> None:
    drawn = believe(FullBowl()).draw(Q, np.random.default_rng(1), 2.0)
    z = np.random.default_rng(1).standard_normal()
    np.testing.assert_allclose(drawn, Bowl().mean(Q) + 2.0 * z * Bowl().std(Q))
    with pytest.raises(Contradiction, match=r"Bowl cannot draw functions: give it draw\(Q, rng\)"):
        believe(Bowl()).draw(Q, np.random.default_rng(1))


def create(surrogate: Any, **said: Any) -> belated.Study:
    policy = said.pop("policy", None)
    algorithm = algorithms.custom("own", surrogate=surrogate, policy=policy)
    return belated.Study.create(
        **{"space": {"x": belated.Real(0, 1)}, "silence": "unknown", "seed": 0, "initial": 2} | said,
        algorithm=algorithm,
    )


def tell(study: belated.Study, rounds: int) -> None:
    for _ in range(rounds):
        trial = study.ask()
        study.tell(trial, trial.params["x"])


def test_a_study_asks_where_the_surrogate_says() -> None:
    study = create(Bowl(), policy=policies.Greedy())
    tell(study, 5)
    assert study.trial(5).params["x"] == pytest.approx(0.4, abs=1e-4)
    assert study.recommend().params["x"] == pytest.approx(0.4, abs=1e-4)
    assert study.hyperparameters() == []


def test_thompson_sampling_draws_on_a_list_and_is_refused_elsewhere() -> None:
    points = belated.Points(np.linspace(0, 1, 11).tolist())
    study = create(Bowl("gradient"), policy=policies.ThompsonSampling(), space=points)
    tell(study, 5)
    assert study.replay(5).same
    study = create(Bowl("gradient"), policy=policies.ThompsonSampling())
    with pytest.raises(Contradiction, match="known on a list of points alone"):
        tell(study, 4)
    study = create(Bowl(), policy=policies.Overtaking())
    with pytest.raises(Contradiction, match="Overtaking needs covariances, which Bowl does not have"):
        tell(study, 4)


def test_it_is_fitted_to_what_was_heard_and_filled_in_the_order_of_asking() -> None:
    study = create(Bowl("counts"), silence="waiting", floor=-1.0, patience=9)
    trials = study.ask(n=4)
    for trial in (trials[2], trials[0], trials[1]):  # the last one is out
        study.tell(trial, trial.params["x"])
    HEARD.clear()
    study.ask()
    X, y = HEARD[-1]
    np.testing.assert_allclose(X[:, 0], [trial.params["x"] for trial in trials])
    assert int(np.argmin(y)) == 3  # the floor


def test_before_anything_is_heard_the_belief_is_the_prior() -> None:
    study = create(Bowl("NaN"), initial=0, silence="ignored", regret="cumulative")
    assert study.ask().number == 1


def test_what_a_surrogate_cannot_be_combined_with() -> None:
    with pytest.raises(Contradiction, match="conversions have a model of their own"):
        create(Bowl(), silence="floor", patience=5, outcomes="conversion")
    study = create(Bowl())
    with pytest.raises(Contradiction, match="leave noise out"):
        study.tell(study.ask(), 0.5, noise=0.1)
    with pytest.raises(InvalidInput, match="leave kernel out"):
        algorithms.custom("own", surrogate=Bowl(), kernel=SE(0.2))
    with pytest.raises(InvalidInput, match="needs a name of its own"):
        algorithms.custom("GP-BTS", surrogate=Bowl())
    with pytest.raises(InvalidInput, match="surrogate must be a value with fit"):
        algorithms.custom("own", surrogate=Bowl)  # the class


def test_a_copy_with_other_parts_is_another_algorithm() -> None:
    one = algorithms.custom("own", surrogate=Bowl())
    assert one == algorithms.custom("own", surrogate=Bowl())
    assert one != algorithms.custom("own", surrogate=Bowl("NaN"))
    assert replace(one, name="other").own == one.own
