"""The paper's algorithms with parts fixed by hand: what is given is never refitted, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import belated
from belated import InvalidInput, Real, Study
from belated.learner.gp.kernels import SE, Matern52
from belated.record.trials import Asked

X = {"x": Real(0, 1)}
GRID = belated.Points([i / 8 for i in range(9)])


def create(**said: Any) -> Study:
    return Study.create(**{"space": GRID, "floor": 0.0, "ceiling": 1.0, "seed": 0, **said})


def asked_with(algorithm: Any, rounds: int = 24) -> list[Any]:
    """The hyperparameters that were found on the way, as the study recorded them."""
    study = create(algorithm=algorithm, seed=3, ceiling=None)
    rng = np.random.default_rng(5)
    for _ in range(rounds):
        trial = study.ask()
        study.tell(trial, float(math.sin(3 * trial.params["x"]) + 0.1 * rng.standard_normal()))
    found = [event.fitted for event in study.events() if isinstance(event, Asked)]
    return [fitted for fitted in found if fitted is not None]


def test_the_papers_algorithms_are_fitted_every_ten_rounds() -> None:
    found = asked_with("GP-UCB", 32)
    assert [fitted["number"] for fitted in found] == [11, 21, 31]
    assert len({fitted["lam"] for fitted in found}) > 1


def test_refit_every_none_refits_nothing() -> None:
    assert asked_with(belated.algorithms.paper("GP-UCB", refit_every=None)) == []
    assert asked_with(belated.algorithms.paper("GP-UCB", lam=0.05, refit_every=None)) == []


def test_a_part_given_by_hand_is_never_refitted() -> None:
    kernel = Matern52(0.15, 0.8)
    with_kernel = asked_with(belated.algorithms.paper("GP-UCB", kernel=kernel, refit_every=5))
    assert len(with_kernel) >= 3
    assert {repr(fitted["kernel"]) for fitted in with_kernel} == {repr(kernel.on([(1,)]).spec())}
    assert len({fitted["lam"] for fitted in with_kernel}) > 1
    with_lam = asked_with(belated.algorithms.paper("GP-UCB", lam=0.05, refit_every=5))
    assert {fitted["lam"] for fitted in with_lam} == {0.05}
    assert len({repr(fitted["kernel"]) for fitted in with_lam}) > 1
    assert asked_with(belated.algorithms.paper("GP-UCB", kernel=kernel, lam=0.05, refit_every=5)) == []


@pytest.mark.parametrize(
    ("part", "error", "sentence"),
    [
        ({"lam": 0}, InvalidInput, "lam must be a positive finite number (got 0)"),
        ({"lam": -1.0}, InvalidInput, "lam must be a positive finite number (got -1.0)"),
        ({"lam": math.nan}, InvalidInput, "lam must be a positive finite number (got nan)"),
        ({"lam": True}, InvalidInput, "lam must be a positive finite number (got True)"),
        ({"lam": 10**400}, InvalidInput, "lam must be a positive finite number (got "),
        ({"beta": -1.0}, InvalidInput, "beta must be "),
        ({"kernel": "SE"}, InvalidInput, "kernel must be "),
        ({"kernel": SE}, InvalidInput, "kernel must be "),
        ({"beta": "1"}, InvalidInput, "beta must be a number or confidence.Theory(...) (got '1')"),
        ({"beta": True}, InvalidInput, "beta must be a number or confidence.Theory(...) (got True)"),
        ({"refit_every": 0}, InvalidInput, "refit_every must be a positive whole number or None (got 0)"),
        ({"start": -1}, InvalidInput, "start must be a whole number of at least 0 (got -1)"),
        (
            {"lam": 0.1, "beta": belated.confidence.Theory(B_f=1, R=0.1, delta=0.1)},
            InvalidInput,
            "lam is set by confidence.Theory to 1 + 2/T; leave it out",
        ),
    ],
)
def test_parts_that_are_refused(part: dict[str, Any], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error) as refused:
        belated.algorithms.paper("GP-UCB-SDF", **part)
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_a_kernel_that_does_not_fit_the_space_is_refused_at_once() -> None:
    """Not at the first ask, when the study has been made."""
    algorithm = belated.algorithms.paper("GP-UCB", kernel=SE((0.1, 0.2)))
    with pytest.raises(InvalidInput, match="lengthscale must be one number or one per coordinate"):
        create(space=X, algorithm=algorithm)
    create(space={**X, "y": Real(0, 1)}, algorithm=algorithm)


@pytest.mark.parametrize("name", ["default", "GP-UBC", None])
def test_only_the_six_are_the_papers(name: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^algorithm must be one of GP-UCB-SDF, .*, GP-BTS \(got "):
        belated.algorithms.paper(name)


def test_delta_must_lie_between_0_and_1() -> None:
    for delta in (0, 1, -0.5, math.nan):
        with pytest.raises(InvalidInput, match=r"^delta must .*\(got "):
            belated.confidence.Theory(B_f=1, R=0.1, delta=delta)


@pytest.mark.parametrize(
    ("horizon", "asked", "rows", "lams"),
    [(50, (1, 2, 4), (1, 2, 4), (1.04, 1.04, 1.04)), (None, (1, 3, 6), (1, 2, 3), (3.0, 2.0, 1.5))],
)
def test_theory_also_sets_lambda(
    horizon: int | None, asked: tuple[int, ...], rows: tuple[int, ...], lams: tuple[float, ...]
) -> None:
    """λ = 1 + 2/T; without T there are epochs of T = 1, 2, 4, …, and a belief has the rows of one of them."""
    theory = belated.confidence.Theory(B_f=1.0, R=0.1, delta=0.1, horizon=horizon)
    algorithm = belated.algorithms.paper("GP-UCB", kernel=SE(0.2), beta=theory, refit_every=None)
    for told, n, lam in zip(asked, rows, lams, strict=True):
        study = create(algorithm=algorithm)
        for _ in range(told):
            study.add({"x": 0.5}, 1.0)
        mean, std, *_ = study.posterior([{"x": 0.5}])  # n outcomes of 1 at one point: μ = n / (n + λ), σ² = λ / (n + λ)
        assert mean[0] == pytest.approx(n / (n + lam), abs=1e-12)
        assert std[0] ** 2 == pytest.approx(lam / (n + lam), abs=1e-12)


def test_start_begins_with_uncertainty_sampling() -> None:
    """The first k queries go where σ is largest, whatever the outcomes; only then does μ count, here (β = 0) alone."""
    algorithm = belated.algorithms.paper("GP-BUCB", kernel=SE(0.3), lam=0.01, beta=0.0, refit_every=None, start=4)
    queries = []
    for outcomes in ([0.0] * 6, [1.0, 0.9, 0.8, 0.7, 0.6, 0.5]):
        study = create(algorithm=algorithm)
        for s, outcome in enumerate(outcomes, start=1):
            std = study.posterior(study.queries() or []).std
            trial = study.ask()
            if s <= 4:
                assert trial.params["x"] == int(np.argmax(std >= np.max(std) - 1e-9)) / 8
            study.tell(trial, outcome)
        queries.append([t.params["x"] for t in study.trials()])
    assert queries[0][:4] == queries[1][:4]
    assert queries[0] != queries[1]
