"""What a study believes, in the user's units: posterior, recommend and best; what silence and failure do to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import belated
from belated import InvalidInput, NothingHeard, Real, Study
from belated.learner.gp.kernels import SE
from belated.record.trials import Asked

GRID = belated.Points([i / 20 for i in range(21)])
EVERYWHERE = [{"x": i / 20} for i in range(21)]
HEARD = [(0.1, 2.0), (0.4, 5.0), (0.45, 4.0), (0.9, 3.5)]


def fixed(name: str, **parts: Any) -> belated.algorithms.Algorithm:
    return belated.algorithms.paper(name, **{"kernel": SE(0.2), "lam": 0.01, "refit_every": None, **parts})


def create(**said: Any) -> Study:
    if "algorithm" not in said:
        said.setdefault("silence", "unknown")
    return Study.create(**{"space": GRID, "seed": 0, **said})


def regression(X: Any, y: Any, Q: Any, l: float = 0.2, lam: float = 0.01) -> tuple[Any, Any]:
    """Eq. (1) as it stands: k(x, x') = exp(-(x - x')² / 2l²), prior mean 0."""
    X, Q = np.asarray(X, dtype=float), np.asarray(Q, dtype=float)
    k = lambda A, B: np.exp(-((A[:, None] - B[None, :]) ** 2) / (2 * l * l))  # noqa: E731
    weights = np.linalg.solve(k(X, X) + lam * np.eye(len(X)), k(X, Q))
    return weights.T @ np.asarray(y), np.sqrt(1.0 - np.sum(k(X, Q) * weights, axis=0))


# Units and sign -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "floor", "width"),
    [
        ({"floor": 1.0, "ceiling": 9.0}, 1.0, 8.0),
        ({"floor": 1.0}, 1.0, 4.0),  # without a ceiling: the largest |y - floor| heard
        ({}, 2.0, 3.0),  # without a floor: the worst heard
        ({"goal": "minimize", "floor": 9.0, "ceiling": 1.0}, 9.0, 8.0),
        ({"goal": "minimize", "floor": 9.0}, 9.0, 7.0),
        ({"goal": "minimize"}, 5.0, 3.0),
        ({"ceiling": 12.0}, 2.0, 10.0),
    ],
)
def test_the_papers_posterior_in_the_users_units(said: dict[str, Any], floor: float, width: float) -> None:
    """The model sees sign (y - floor) / B_y with prior mean 0; the user sees floor + sign B_y μ, and B_y σ."""
    sign = -1.0 if said.get("goal") == "minimize" else 1.0
    study = create(algorithm=fixed("GP-UCB"), **said)
    for x, y in HEARD:
        study.add({"x": x}, y)
    X, Y = np.array(HEARD).T
    mean, std = regression(X, sign * (Y - floor) / width, [q["x"] for q in EVERYWHERE])
    belief = study.posterior(EVERYWHERE)
    np.testing.assert_allclose(belief.mean, floor + sign * width * mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(belief.std, width * std, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("space", "low", "span"),
    [
        ({"x": Real(-5, 15)}, -5.0, 20.0),
        (belated.Points([-5 + i for i in range(21)]), -5.0, 20.0),
    ],
)
def test_lengthscales_are_on_the_unit_cube(space: Any, low: float, span: float) -> None:
    study = create(space=space, algorithm=fixed("GP-UCB"), floor=0.0, ceiling=10.0)
    for x, y in ((0.1, 2.0), (0.4, 5.0), (0.9, 3.5)):
        study.add({"x": low + span * x}, y)
    belief = study.posterior([{"x": low + span * q} for q in (0.0, 0.4, 0.55, 1.0)])
    mean, std = regression([0.1, 0.4, 0.9], [0.2, 0.5, 0.35], [0.0, 0.4, 0.55, 1.0])
    np.testing.assert_allclose(belief.mean, 10 * mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(belief.std, 10 * std, rtol=0, atol=1e-9)


def test_before_anything_the_belief_is_the_prior() -> None:
    study = create(algorithm=fixed("GP-UCB"), floor=1.0, ceiling=9.0)
    belief = study.posterior(EVERYWHERE)
    assert belief.mean.tolist() == [1.0] * 21
    np.testing.assert_allclose(belief.std, 8.0)
    assert study.posterior([]).mean.shape == (0,)


def test_the_belief_is_about_f_without_its_noise() -> None:
    """σ shrinks towards 0 as outcomes of one x pile up, though each has noise."""
    study = create(algorithm=fixed("GP-UCB", lam=1.0), floor=0.0, ceiling=1.0)
    for _ in range(100):
        study.add({"x": 0.5}, 1.0)
    mean, std, *_ = study.posterior([{"x": 0.5}])
    assert mean[0] == pytest.approx(100 / 101, abs=1e-9)
    assert std[0] == pytest.approx(np.sqrt(1 / 101), abs=1e-9)


# What silence, lateness and failure do --------------------------------------------------------------------------------

# One outcome is heard at 0.3, and a query at 0.6 is (or has become) ...; then it counts as ...
FATES = {
    "pending": {"floor": "soft floor", "unknown": "belief", "waiting": "soft floor", "ignored": "nothing"},
    "expired": {"floor": "floor", "unknown": "nothing", "waiting": "nothing", "ignored": "nothing"},
    "late, ignored": {"floor": "floor", "unknown": "nothing", "waiting": "nothing", "ignored": "nothing"},
    "late, used": dict.fromkeys(("floor", "unknown", "waiting", "ignored"), "outcome"),
    "heard": dict.fromkeys(("floor", "unknown", "waiting", "ignored"), "outcome"),
    "lost": dict.fromkeys(("floor", "unknown", "waiting", "ignored"), "nothing"),
    "withdrawn": dict.fromkeys(("floor", "unknown", "waiting", "ignored"), "nothing"),
    "infeasible": dict.fromkeys(("floor", "unknown", "waiting", "ignored"), "nothing"),
    "lost and found": dict.fromkeys(("floor", "unknown", "waiting", "ignored"), "outcome"),
}


def believed(*told: tuple[float, float], goal: Any, noise: float | None = None) -> Any:
    """The belief of a study in which this was told and nothing else happened; `noise` is that of the last outcome."""
    worst, best = (0.0, 10.0) if goal == "maximize" else (10.0, 0.0)
    study = create(silence="ignored", goal=goal, floor=worst, ceiling=best)
    for i, (x, y) in enumerate(told, start=1):
        study.add({"x": x}, y, noise=noise if i == len(told) else None)
    return study.posterior(EVERYWHERE)


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
@pytest.mark.parametrize("silence", ["floor", "unknown", "waiting", "ignored"])
@pytest.mark.parametrize("fate", FATES)
def test_what_an_unheard_outcome_counts_as(fate: str, silence: str, goal: str) -> None:
    floor, ceiling = (0.0, 10.0) if goal == "maximize" else (10.0, 0.0)
    late = "ignore" if fate == "late, ignored" else "use"
    study = create(
        silence=silence, goal=goal, floor=floor, ceiling=ceiling, patience="1h", late=late, clock=lambda: now
    )
    now = 0.0
    study.add({"x": 0.3}, 7.0)
    trial = study.ask(params={"x": 0.6})
    if fate in ("expired", "late, ignored", "late, used"):
        now = 3601.0
    if fate.startswith("lost") or fate in ("withdrawn", "infeasible"):
        study.fail(trial, fate.split()[0])  # type: ignore[arg-type]
    if fate in ("heard", "late, ignored", "late, used", "lost and found"):
        study.tell(trial, 8.0)
    counts_as = FATES[fate][silence]
    alone = believed((0.3, 7.0), goal=goal)
    expected = {
        "nothing": lambda: alone,
        "floor": lambda: believed((0.3, 7.0), (0.6, floor), goal=goal),
        # while pending: with noise of a quarter of its distance from the belief
        "soft floor": lambda: believed(
            (0.3, 7.0), (0.6, floor), goal=goal, noise=0.25 * abs(floor - float(alone.mean[12]))
        ),
        "outcome": lambda: believed((0.3, 7.0), (0.6, 8.0), goal=goal),
        "belief": lambda: believed((0.3, 7.0), (0.6, float(alone.mean[12])), goal=goal),
    }[counts_as]()
    belief = study.posterior(EVERYWHERE, pending=True)
    np.testing.assert_allclose(belief.mean, expected.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(belief.std, expected.std, rtol=0, atol=1e-9)
    shown = study.posterior(EVERYWHERE)  # an open question is shown where the study counts its silence
    np.testing.assert_array_equal(shown, alone if fate == "pending" and silence != "floor" else belief)
    if counts_as == "belief":  # the mean of the heard is untouched, the uncertainty is not
        np.testing.assert_allclose(belief.mean, alone.mean, rtol=0, atol=1e-9)
        assert belief.std[12] < 0.5 * alone.std[12]
    if counts_as in ("floor", "soft floor", "outcome"):  # so that the table above can be wrong
        assert np.max(np.abs(belief.mean - alone.mean)) > 0.1


def test_a_lost_query_is_as_if_it_had_never_been_asked() -> None:
    """The next choice too, whatever the algorithm: σ, ν_t and the queries to keep away from do not know of it."""
    for algorithm, patience in (("GP-UCB-SDF", 5), ("GP-BUCB", None), ("GP-UCB", None)):
        one, other = (create(algorithm=fixed(algorithm), patience=patience, floor=0.0, ceiling=1.0) for _ in range(2))
        for study in (one, other):
            study.add({"x": 0.25}, 0.5)
            study.ask(params={"x": 0.8})
        one.fail(one.ask(params={"x": 0.5}), "lost")
        np.testing.assert_array_equal(one.posterior(EVERYWHERE), other.posterior(EVERYWHERE))
        assert one.ask().params == other.ask().params


def test_infeasible_queries_are_never_used_for_fitting_or_scaling() -> None:
    found, beliefs = [], []
    for kind in ("infeasible", "lost"):
        study = create(space={"x": Real(0, 1)}, initial=0, silence="unknown", floor=-100.0)
        for i in range(8):
            study.add({"x": i / 7}, np.sin(i))
        study.fail(study.add({"x": 0.5}), kind)  # type: ignore[arg-type]
        study.ask()  # fitted for the first time
        fitted = [e.fitted for e in study.events() if isinstance(e, Asked) and e.fitted is not None]
        found.append(fitted)
        beliefs.append(float(study.posterior([{"x": 0.5}]).mean[0]))
    assert len(found[0]) == len(found[1]) >= 1
    assert found[0] == found[1]
    assert beliefs[0] == beliefs[1]  # f is not known there
    for floor, width in ((0.0, 4.0), (None, 2.0)):  # B_y is the largest |y - floor| among the heard, 2 and 4
        study = create(algorithm=fixed("GP-UCB"), floor=floor)
        study.add({"x": 0.0}, 2.0)
        study.add({"x": 0.1}, 4.0)
        study.fail(study.ask(params={"x": 1.0}), "infeasible")
        assert study.posterior([{"x": 0.5}]).std[0] == pytest.approx(
            width * regression([0.0, 0.1, 1.0], [0, 0, 0], [0.5])[1][0], abs=1e-9
        )


# Recommend and best ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_recommend_is_the_best_mean_of_the_whole_space(goal: Any) -> None:
    """Even where nothing was asked: between two good outcomes here."""
    best = np.argmax if goal == "maximize" else np.argmin
    sign = 1 if goal == "maximize" else -1
    floor, ceiling = (0.0, 2.0) if goal == "maximize" else (0.0, -2.0)
    study = create(algorithm=fixed("GP-UCB"), goal=goal, floor=floor, ceiling=ceiling)
    for x, y in ((0.0, 0.0), (0.3, 1.0), (0.5, 1.0), (1.0, 0.0)):
        study.add({"x": x}, sign * y)
    mean = study.posterior(EVERYWHERE).mean
    assert study.recommend().params == EVERYWHERE[int(best(mean))] == {"x": 0.4}


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
@pytest.mark.parametrize("algorithm", ["default", "GP-UCB"])
def test_recommend_on_a_continuous_space_beats_a_fine_grid(goal: Any, algorithm: str) -> None:
    sign = 1 if goal == "maximize" else -1
    said = {"silence": "unknown"} if algorithm == "default" else {}
    study = create(space={"x": Real(0, 1)}, algorithm=algorithm, goal=goal, **said)
    for i in range(9):
        study.add({"x": i / 8}, sign * float(np.sin(7 * i / 8)))
    fine = [{"x": i / 1000} for i in range(1001)]
    grid = sign * study.posterior(fine).mean
    x = study.recommend().params
    assert set(x) == {"x"}
    assert sign * study.posterior([x]).mean[0] >= np.max(grid) - 1e-7


@pytest.mark.parametrize(("goal", "number"), [("maximize", 3), ("minimize", 2)])
def test_best_is_the_trial_with_the_best_told_outcome_late_ones_included(goal: Any, number: int) -> None:
    study = create(goal=goal, patience=1, late="ignore")
    trials = study.ask(n=4)
    for trial, y in zip(trials, (0.5, -2.0, 3.0, 0.7), strict=True):
        study.tell(trial, y)
    study.fail(study.ask(), "infeasible")
    study.ask()
    best = study.best()
    assert best.trial == study.trial(number)
    assert best.trial is not None
    assert best.trial.status == "late"
    assert best.value == (3.0 if goal == "maximize" else -2.0)


@pytest.mark.parametrize("context", [None, {"z": Real(0, 1)}])
def test_nothing_heard(context: Any) -> None:
    study = create(context=context)
    given = {} if context is None else {"context": {"z": 0.5}}
    trial = study.ask(**given)
    study.fail(study.ask(**given), "infeasible")
    for look in (study.best, lambda: study.best(**given), lambda: study.recommend(**given)):
        with pytest.raises(NothingHeard, match=r"^No outcome has been heard yet; tell one first\.$"):
            look()
    study.tell(trial, 0.0)
    assert study.best(**given).trial == study.trial(1)
    assert set(study.recommend(**given).params) == {"x"}


# Contexts -------------------------------------------------------------------------------------------------------------


def contextual(**said: Any) -> Study:
    study = create(context={"z": belated.Choice("low", "high")}, **said)
    for x in (0.0, 0.25, 0.5, 0.75, 1.0):
        study.add({"x": x}, x, context={"z": "high"})
        study.add({"x": x}, 2 - x, context={"z": "low"})
    return study


def test_each_context_has_its_own_belief_and_recommendation() -> None:
    study = contextual(initial=0)
    study.ask(context={"z": "low"})  # so that hyperparameters are fitted
    high = study.posterior(EVERYWHERE, context={"z": "high"}).mean
    low = study.posterior(EVERYWHERE, context={"z": "low"}).mean
    assert high[-1] - high[0] > 0.5
    assert low[0] - low[-1] > 0.5
    assert study.recommend(context={"z": "high"}).params["x"] == EVERYWHERE[int(np.argmax(high))]["x"] >= 0.75
    assert study.recommend(context={"z": "low"}).params["x"] == EVERYWHERE[int(np.argmax(low))]["x"] <= 0.25


def test_best_looks_at_exactly_that_context_or_at_all() -> None:
    study = contextual()
    assert study.best().value == 2.0
    assert study.best(context={"z": "high"}).value == 1.0
    assert study.best(context={"z": "high"}).context == {"z": "high"}
    near = create(context={"z": Real(0, 1)})
    near.add({"x": 0.5}, 1.0, context={"z": 0.5})
    near.add({"x": 0.5}, 2.0, context={"z": 0.5000001})
    assert near.best(context={"z": 0.5}).value == 1.0
    with pytest.raises(NothingHeard):
        near.best(context={"z": 0.6})


def test_recommend_and_posterior_need_the_context() -> None:
    study = contextual()
    for look in (study.recommend, lambda: study.posterior(EVERYWHERE), study.ask):
        with pytest.raises(InvalidInput, match=r"^context must be given: z$"):
            look()


def test_a_context_may_be_a_finite_set() -> None:
    study = create(context=belated.Points([1, 2, 4]), algorithm="GP-BUCB")
    for z in (1, 2, 4, 1):
        trial = study.ask(context={"x": z})
        assert trial.context == {"x": z}
        study.tell(trial, trial.params["x"] * z)
    assert study.best(context={"x": 4}).trial == study.trial(3)
