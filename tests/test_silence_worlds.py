"""What silence means decides: two worlds in which the wrong meaning finds the wrong optimum."""

import math

import numpy as np

import belated
from belated import Study
from belated.learner.delays import ByInput, Delay, Empirical, Fixed

POINTS = np.linspace(0.0, 1.0, 41)


def bump(x: float, at: float) -> float:
    return math.exp(-(((x - at) / 0.12) ** 2))


def uneven(params: dict[str, float]) -> Delay:
    """The right half answers every other time, the left always."""
    return Empirical([2.0, math.inf]) if params["x"] > 0.5 else Fixed(2)


def two_hills(silence: str, seed: int) -> float:
    """Where a study believes the best to be, when the better hill answers half as often."""
    study = Study.create(space=belated.Points(POINTS), floor=0.0, silence=silence, patience=8, initial=12, seed=seed)
    f = lambda params: 0.7 * bump(params["x"], 0.25) + 1.0 * bump(params["x"], 0.75)  # noqa: E731
    for _ in belated.simulate(study, f, delay=ByInput(uneven), rounds=80, seed=seed, noise=0.02):
        pass
    return float(study.recommend()["x"])


def test_where_the_best_region_answers_half_the_time_the_floor_takes_the_wrong_optimum() -> None:
    """In most of eight worlds: in one the better hill hardly answers, in one it answers nearly always."""
    where = {silence: [two_hills(silence, seed) for seed in range(8)] for silence in ("floor", "waiting", "unknown")}
    assert sum(abs(x - 0.25) < 0.1 for x in where["floor"]) >= 6
    for silence in ("waiting", "unknown"):
        assert sum(abs(x - 0.75) < 0.1 for x in where[silence]) >= 6


def converts(x: float) -> float:
    """The probability of a conversion."""
    return 0.1 + 0.7 * bump(x, 0.7)


def only_conversions(params: dict[str, float]) -> Delay:
    came = round(20 * converts(params["x"]))
    return Empirical([3.0] * came + [math.inf] * (20 - came))


def conversions(silence: str, seed: int) -> float:
    """The mean rate of the last half of the queries, when all that is ever told is 1, and only if it converts."""
    study = Study.create(
        space=belated.Points(POINTS),
        floor=0.0,
        ceiling=1.0,
        silence=silence,
        patience=10,
        repeats="always",
        initial=12,
        seed=seed,
    )
    asked = list(belated.simulate(study, lambda params: 1.0, delay=ByInput(only_conversions), rounds=120, seed=seed))
    return float(np.mean([converts(trial.params["x"]) for trial in asked[60:]]))


def test_where_only_conversions_are_reported_floor_and_fading_beat_unknown_clearly() -> None:
    rate = {s: np.mean([conversions(s, seed) for seed in range(4)]) for s in ("floor", "fading", "unknown")}
    assert rate["floor"] > 3 * rate["unknown"]
    assert rate["fading"] > 3 * rate["unknown"]
