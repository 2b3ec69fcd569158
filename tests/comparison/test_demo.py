"""The demo: the paper's functions, the same world for every method, and a conclusion that follows from the numbers."""

import numpy as np
import pytest

import belated
from belated.comparison.demo import (
    METHODS,
    DemoResult,
    Method,
    MethodResult,
    MethodRun,
    SyntheticProblem,
    run_demo,
    run_method,
)
from belated.comparison.statistics import Summary, summarize_curves

SMALL = SyntheticProblem(points=60, rounds=30)


def make_result(name: str, finals: list[float], cumulative: float = 10.0) -> MethodResult:
    runs = np.array(finals)[:, None] * np.ones(SMALL.rounds)
    total = Summary(np.full(SMALL.rounds, cumulative), np.zeros(SMALL.rounds))
    return MethodResult(Method(name, "floor"), runs, summarize_curves(runs), total, 1e-3, None)


def make_demo(*methods: MethodResult) -> DemoResult:
    return DemoResult(SMALL, tuple(range(len(methods[0].runs))), methods)


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
    assert {method.algorithm for method in METHODS} == {*six, "default"}
    assert {e.silence for e in METHODS if e.algorithm == "default"} == {"floor", "unknown"}
    assert len({method.label for method in METHODS}) == len(METHODS)


def test_every_method_meets_the_same_world() -> None:
    """Noise and delay of query s are the same whoever asks: the methods' studies hear as often by every round."""
    after = 25
    snapshots = [run_method(MethodRun(SMALL, method, seed=1, snapshot_after=after)).snapshot for method in METHODS]
    counts = {(len(snapshot.heard), len(snapshot.pending)) for snapshot in snapshots if snapshot is not None}
    assert None not in snapshots
    assert len(counts) == 1
    assert sum(counts.pop()) == after


@pytest.mark.parametrize("silence", ["floor", "unknown"])
def test_pending_queries_stand_where_silence_puts_them(silence: str) -> None:
    snapshot = run_method(MethodRun(SMALL, Method("default", silence), seed=0, snapshot_after=20)).snapshot
    assert snapshot is not None
    x, value = snapshot.pending.T
    assert len(x) > 3
    assert np.all(np.isin(x, SMALL.x))
    if silence == "floor":
        assert np.all(value == 0.0)
    else:
        assert np.array_equal(value, snapshot.mean[np.searchsorted(SMALL.x, x)])


def test_a_run_is_repeatable_and_its_regret_is_the_studys() -> None:
    run = MethodRun(SMALL, Method("GP-UCB", "ignored"), seed=2)
    one, two = run_method(run), run_method(run)
    assert np.array_equal(one.simple, two.simple)
    assert np.array_equal(one.cumulative, two.cumulative)
    assert one.simple.shape == one.cumulative.shape == (SMALL.rounds,)
    assert np.all(np.diff(one.simple) <= 0.0)
    assert np.all(np.diff(one.cumulative) >= 0.0)
    assert one.cpu > 0.0


def test_every_run_is_counted_for_its_method() -> None:
    methods = (Method("GP-UCB", "ignored"), Method("default", "unknown"))
    result = run_demo(SMALL, [4, 7], methods=methods)
    assert [s.method for s in result.methods] == list(methods)
    for s in result.methods:
        expected = [run_method(MethodRun(SMALL, s.method, seed)).simple for seed in (4, 7)]
        assert np.array_equal(s.runs, expected)
        assert np.allclose(s.simple.mean, np.mean(expected, axis=0))
    assert [s.snapshot is not None for s in result.methods] == [False, True]


def test_what_is_seen_follows_from_the_numbers() -> None:
    best = make_result("A", [0.1, 0.1, 0.1, 0.1, 0.1])
    behind = make_result("B", [0.2, 0.21, 0.2, 0.19, 0.2], cumulative=5.0)
    unclear = make_result("C", [0.1, 0.1, 0.1, 0.1, 0.9])
    seen = make_demo(behind, best, unclear).conclusion
    assert "A (floor) has the least simple regret, 0.1000" in seen
    assert "paired difference: B (floor);" in seen
    assert "not told apart from it: C (floor)." in seen
    assert "Least cumulative regret: B (floor), 5.0." in seen
    assert "After 30 rounds (mean of 5 seeds)" in seen


def test_equals_are_not_called_behind() -> None:
    a, b = make_result("A", [0.1] * 6), make_result("B", [0.1] * 6)
    assert "paired difference: none; not told apart from it: B (floor)." in make_demo(a, b).conclusion


@pytest.mark.parametrize("seeds", [1, 4])
def test_few_seeds_are_not_made_to_speak(seeds: int) -> None:
    seen = make_demo(make_result("A", [0.1] * seeds), make_result("B", [0.9] * seeds)).conclusion
    assert "too few seeds" in seen
    assert "behind" not in seen.lower()


def test_milestones_are_a_quarter_a_half_and_all() -> None:
    assert [SyntheticProblem(rounds=T).milestones for T in (100, 2, 1)] == [[25, 50, 100], [1, 2], [1]]
