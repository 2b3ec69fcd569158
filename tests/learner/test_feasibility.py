"""Infeasible queries are learned apart from f: they repel, and leave the mean as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from belated import Real, Study, algorithms, kernels
from belated.learner.belief import believe
from belated.learner.feasibility import LEAST, Feasibility, learn_feasibility, set_apart
from belated.learner.gp.kernels import Matern52
from belated.learner.gp.posterior import GP, GrowingPosterior
from belated.learner.history import History
from belated.learner.policies import UCB, LogEI, WeighedSurface, find_scores, find_surface
from belated.learner.silence import Unknown
from tests.plotting.studies import make_lab

X = np.array([[0.1, 0.2], [0.5, 0.5], [0.9, 0.3], [0.4, 0.8], [0.6, 0.1]])


PRIOR = GP(Matern52(0.3).on([(1, 1)]), 0.01)


def make_history(*infeasible: int) -> History:
    """Outcomes from 0 to 1 at X, except for those that were infeasible."""
    n, bad = len(X), np.isin(np.arange(len(X)), infeasible)
    none, zeros = np.zeros(n, dtype=bool), np.zeros(n)
    return History(
        number=np.arange(1, n + 1),
        X=X,
        point=np.arange(n),
        y=np.linspace(0.0, 1.0, n),
        seen=~bad,
        pending=none,
        infeasible=bad,
        gone=none,
        recent=~none,
        by_hand=none,
        order=np.arange(n),
        lams=np.full(n, np.nan),
        floor=-1.0,
        age=zeros,
        m=np.inf,
        waited=zeros,
        arrived=~bad,
        late=none,
    )


def make_feasibility(*infeasible: int) -> Feasibility:
    return learn_feasibility(PRIOR, make_history(*infeasible), -1.0, GrowingPosterior())


def test_what_was_evaluated_can_be_and_what_could_not_cannot() -> None:
    p = make_feasibility(1, 3)
    assert p(X) == pytest.approx([1.0, 0.0, 1.0, 0.0, 1.0], abs=1e-2)
    assert np.all(p(X) >= LEAST)
    assert p(np.array([[5.0, 5.0]])) == pytest.approx([1.0])  # far from all of them nothing speaks against it
    assert 0.0 < float(p(np.array([[0.5, 0.62]]))[0]) < 0.9


@pytest.mark.parametrize("policy", [UCB(), LogEI()])
def test_gradients_are_those_of_the_weighed_values(policy: Any) -> None:
    feasible = make_feasibility(1)
    belief = replace(believe(PRIOR, Unknown(), set_apart(make_history(1))), feasible=feasible)
    surface = find_surface(policy, belief, 2.0, np.random.default_rng(0))
    assert isinstance(surface, WeighedSurface)
    Q = np.random.default_rng(1).random((40, 2))
    values, slopes = surface.gradient(Q)
    assert values == pytest.approx(surface(Q))
    for d in range(2):
        step = np.zeros(2)
        step[d] = 1e-6
        inside = (feasible(Q) > 1e-4) & (feasible(Q) < 1 - 1e-4)  # at the ends p has a kink
        numeric = (surface(Q + step) - surface(Q - step)) / 2e-6
        assert np.sum(inside) > 10
        assert slopes[inside, d] == pytest.approx(numeric[inside], rel=1e-3, abs=1e-4)
    assert find_scores(policy, belief, Q, 2.0, np.random.default_rng(0)) == pytest.approx(values)


def test_a_value_below_the_floor_is_not_raised() -> None:
    feasible = make_feasibility(1)
    weighed = WeighedSurface(lambda Q: np.full(len(Q), -5.0), feasible, False)  # type: ignore[arg-type]
    assert weighed(X).tolist() == [-5.0] * len(X)


def test_infeasible_queries_do_not_make_the_mean_swing() -> None:
    """Nearly noise-free outcomes below 80, some infeasible: as outcomes they made it expect 245."""
    study = make_lab()
    best = max(trial.outcome for trial in study.trials() if trial.outcome is not None)
    assert study.recommend().value < best + 10.0


def test_an_infeasible_region_is_left_alone() -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    asked = []
    for trial in (study.ask() for _ in range(30)):
        x = trial.params["x"]
        if 0.3 < x < 0.7:
            study.fail(trial, "infeasible")
        else:
            study.tell(trial, np.sin(9 * x))
        asked.append(x)
    inside = [0.3 < x < 0.7 for x in asked]
    assert 1 <= sum(inside) <= 10
    assert sum(inside[15:]) <= 4
    assert not 0.3 < study.recommend().params["x"] < 0.7


def test_the_papers_six_count_them_as_the_floor() -> None:
    study = Study.create(
        space={"x": Real(0, 1)}, algorithm=algorithms.paper("GP-UCB", kernel=kernels.SE(0.1), lam=0.01), floor=0.0
    )
    study.add({"x": 0.2}, 1.0)
    before = study.posterior([{"x": 0.8}]).std[0]
    study.fail(study.ask(params={"x": 0.8}), "infeasible")
    assert study.posterior([{"x": 0.8}]).std[0] < 0.5 * before
    assert study.posterior([{"x": 0.8}]).mean[0] == pytest.approx(0.0, abs=1e-6)
