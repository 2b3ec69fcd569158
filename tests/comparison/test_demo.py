"""The contest: the paper's functions, the same world for every entrant, and a sentence that the numbers make."""

from dataclasses import replace

import numpy as np
import pytest
from belated.simulation.contest import (
    METHODS,
    DemoResult,
    Method,
    MethodResult,
    MethodRun,
    Summary,
    SyntheticProblem,
    run_demo,
    run_method,
)

import belated
from belated.wording import join_words

SMALL = SyntheticProblem(points=60, rounds=30)


def standing(name: str, finals: list[float], cumulative: float = 10.0) -> MethodResult:
    runs = np.array(finals)[:, None] * np.ones(SMALL.rounds)
    total = Summary(np.full(SMALL.rounds, cumulative), np.zeros(SMALL.rounds))
    return MethodResult(Method(name, "floor"), runs, Summary.of(runs), total, 1e-3, None)


def contest(*standings: MethodResult) -> DemoResult:
    return DemoResult(SMALL, tuple(range(len(standings[0].runs))), standings)


def test_a_function_is_the_seed_s_and_spans_zero_to_one() -> None:
    f = SMALL.f(3)
    assert np.array_equal(f, SMALL.f(3))
    assert not np.array_equal(f, SMALL.f(4))
    assert (f.min(), f.max()) == (0.0, 1.0)


def test_functions_have_the_papers_kernel() -> None:
    """Before scaling f ~ GP(0, SE(0.02)): values 0.02 apart correlate with exp(-1/2), those 0.1 apart do not.

    Taking away each function's own mean takes b = 0.02 sqrt(2 pi) of the variance off both. Over 50 functions the two
    estimates have standard errors near 0.013 and 0.027 (measured on 150 others); at four of them a false alarm has
    odds below one in ten thousand, and the seeds are fixed."""
    F = np.array([SyntheticProblem(points=501).f(seed) for seed in range(50)])
    F -= F.mean(axis=1, keepdims=True)
    b = 0.02 * np.sqrt(2 * np.pi)

    def correlation(lag: int) -> float:
        return float(np.mean(np.mean(F[:, lag:] * F[:, :-lag], axis=1) / np.var(F, axis=1)))

    assert correlation(10) == pytest.approx((np.exp(-0.5) - b) / (1 - b), abs=4 * 0.013)
    assert correlation(50) == pytest.approx((np.exp(-12.5) - b) / (1 - b), abs=4 * 0.027)


def test_the_six_of_the_paper_and_the_default_take_part() -> None:
    six = set(belated.algorithms.PAPER)
    assert {entrant.algorithm for entrant in METHODS} == {*six, "default"}
    assert {e.silence for e in METHODS if e.algorithm == "default"} == {"floor", "unknown"}
    assert len({entrant.label for entrant in METHODS}) == len(METHODS)


def test_every_entrant_meets_the_same_world() -> None:
    """Noise and delay of query s are the same whoever asks: the entrants' studies hear as often by every round."""
    pause = 25
    moments = [run_method(MethodRun(SMALL, entrant, seed=1, pause=pause)).moment for entrant in METHODS]
    assert {len(moment.pending) for moment in moments if moment} == {len(moments[0].pending) if moments[0] else -1}
    assert all(moment is not None and len(moment.heard) + len(moment.pending) == pause for moment in moments)


@pytest.mark.parametrize("silence", ["floor", "unknown"])
def test_pending_queries_stand_where_silence_puts_them(silence: str) -> None:
    moment = run_method(MethodRun(SMALL, Method("default", silence), seed=0, pause=20)).moment
    assert moment is not None
    x, value = moment.pending.T
    assert len(x) > 3
    assert np.all(np.isin(x, SMALL.x))
    if silence == "floor":
        assert np.all(value == 0.0)
    else:
        assert np.array_equal(value, moment.mean[np.searchsorted(SMALL.x, x)])


def test_a_race_is_repeatable_and_its_regret_is_the_studys() -> None:
    race = MethodRun(SMALL, Method("GP-UCB", "ignored"), seed=2)
    one, two = run_method(race), run_method(race)
    assert np.array_equal(one.simple, two.simple)
    assert np.array_equal(one.cumulative, two.cumulative)
    assert one.simple.shape == one.cumulative.shape == (SMALL.rounds,)
    assert np.all(np.diff(one.simple) <= 0.0)
    assert np.all(np.diff(one.cumulative) >= 0.0)
    assert one.cpu > 0.0


def test_hold_puts_every_course_with_its_entrant() -> None:
    entrants = (Method("GP-UCB", "ignored"), Method("default", "unknown"))
    held = run_demo(SMALL, [4, 7], 1, entrants=entrants)
    assert [s.entrant for s in held.standings] == list(entrants)
    for s in held.standings:
        expected = [run_method(MethodRun(SMALL, s.entrant, seed)).simple for seed in (4, 7)]
        assert np.array_equal(s.runs, expected)
        assert np.allclose(s.simple.mean, np.mean(expected, axis=0))
    assert [s.moment is not None for s in held.standings] == [False, True]


def test_summary_is_mean_and_standard_error() -> None:
    summary = Summary.of(np.array([[1.0, 2.0], [3.0, 2.0], [8.0, 2.0]]))
    assert summary.mean.tolist() == [4.0, 2.0]
    assert summary.error == pytest.approx([np.sqrt(13.0 / 3.0), 0.0])
    assert np.all(np.isnan(Summary.of(np.ones((1, 2))).error))


def test_what_is_seen_follows_from_the_numbers() -> None:
    best = standing("A", [0.1, 0.1, 0.1, 0.1, 0.1])
    behind = standing("B", [0.2, 0.21, 0.2, 0.19, 0.2], cumulative=5.0)
    unclear = standing("C", [0.1, 0.1, 0.1, 0.1, 0.9])
    seen = contest(behind, best, unclear).seen()
    assert "A (floor) has the least simple regret, 0.1000" in seen
    assert "paired difference: B (floor);" in seen
    assert "not told apart from it: C (floor)." in seen
    assert "Least cumulative regret: B (floor), 5.0." in seen
    assert "After 30 rounds (mean of 5 seeds)" in seen


def test_equals_are_not_called_behind() -> None:
    a, b = standing("A", [0.1] * 6), standing("B", [0.1] * 6)
    assert "paired difference: none; not told apart from it: B (floor)." in contest(a, b).seen()


@pytest.mark.parametrize("seeds", [1, 4])
def test_few_seeds_are_not_made_to_speak(seeds: int) -> None:
    seen = contest(standing("A", [0.1] * seeds), standing("B", [0.9] * seeds)).seen()
    assert "too few seeds" in seen
    assert "behind" not in seen.lower()


def test_milestones_are_a_quarter_a_half_and_all() -> None:
    one = contest(standing("A", [0.1]))
    assert [replace(one, task=SyntheticProblem(rounds=T)).milestones for T in (100, 2, 1)] == [
        [25, 50, 100],
        [1, 2],
        [1],
    ]


def test_listed() -> None:
    assert [join_words(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "none",
        "a",
        "a and b",
        "a, b and c",
    ]
