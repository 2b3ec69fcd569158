"""The authors' queries lie where the acquisition of our `released` reading is largest."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from belated.learner.arrays import Array
from belated.learner.blas import use_one_thread
from belated.learner.gp.domain import Compact, Interval
from belated.learner.gp.kernels import SE
from belated.learner.gp.posterior import GP
from reproduction import published_queries, replay_counts
from reproduction.published_queries import (
    DELAY,
    REPLAYED,
    SDF,
    PublishedQueries,
    ReplayedQuery,
    compare_with_maximum,
    fit_once,
    list_stretches,
    read_published_queries,
    replay_queries,
    replay_stretch,
)
from reproduction.released_program import UNFITTED, ReleasedProgram
from reproduction.report.audit import WITH_FORMER_LENGTHSCALE
from tests.reproduction.needs_data import needs_data

QUERIES = "svm_reference_queries.csv.gz"
BASELINES = ("GP-UCB", "GP-BUCB")


@cache
def load() -> dict[tuple[str, int], PublishedQueries]:
    path = Path(os.environ["BELATED_DATA"]) / QUERIES
    return {(run.method, run.run): run for run in read_published_queries(path)}


def replay(method: str, number: int, fits: published_queries.Fits, last: int | None = None) -> list[ReplayedQuery]:
    with use_one_thread():
        return replay_queries(load()[method, number], fits, last)


class Slope:
    """x₁ + 2 x₂: largest, 3, in a corner."""

    def __call__(self, Q: Array) -> Array:
        return np.asarray(Q @ np.array([1.0, 2.0]))

    def gradient(self, Q: Array) -> tuple[Array, Array]:
        return self(Q), np.tile([1.0, 2.0], (len(Q), 1))


def test_a_shortfall_is_measured_from_the_maximum() -> None:
    below = compare_with_maximum(Slope(), 7, np.array([1.0, 0.5]))
    assert below == pytest.approx((7, 1.0, 3.0, 3.0))
    assert not below.agrees
    assert compare_with_maximum(Slope(), 7, np.array([1.0, 0.99])).agrees  # 0.02 of 3
    assert not compare_with_maximum(Slope(), 7, np.array([1.0, 0.98])).agrees


def test_on_a_flat_surface_five_percent_will_do() -> None:
    assert ReplayedQuery(9, 4e-8, 1e-6, 1.0).agrees
    assert not ReplayedQuery(9, 6e-8, 1e-6, 1.0).agrees
    assert not ReplayedQuery(9, 4e-4, 1e-2, 1.0).agrees
    assert ReplayedQuery(9, 4e-4, 1e-2, 1.0).near_maximum


def test_where_all_points_are_equal_no_query_agrees() -> None:
    equal = ReplayedQuery(9, 0.0, 0.0, 0.7)
    assert equal.says_nothing
    assert not equal.agrees
    assert not ReplayedQuery(9, 0.0, 1e-15, 0.7).agrees  # rounding
    assert ReplayedQuery(9, 0.0, 1e-9, 0.7).agrees


def test_a_stretch_goes_from_fit_to_fit() -> None:
    assert list(list_stretches(34)) == [(5, 10), (10, 20), (20, 30), (30, 34)]


@needs_data(QUERIES)
def test_thirty_runs_can_be_replayed() -> None:
    assert sorted(load()) == sorted((method, run) for method in REPLAYED for run in range(10))
    assert {run.X.shape for run in load().values()} == {(105, 2)}
    for number in range(10):  # the methods begin alike
        first, *others = (load()[method, number].X[:5] for method in REPLAYED)
        for X in others:
            np.testing.assert_array_equal(X, first)


@needs_data(QUERIES)
@pytest.mark.parametrize("method", REPLAYED)
def test_the_replay_has_the_beliefs_of_the_program(method: str) -> None:
    run, before, compared = load()[method, 0], None, 0
    asks = ReleasedProgram(method, DELAY if method == SDF else None, Compact((Interval(), Interval())), seed=4)
    for first, stop in list_stretches(24):
        for n in range(first, stop):
            own = asks.update_belief(run.X[:n], run.y[:n], run.known_from[:n])
        if own is None:
            continue
        _, before = replay_stretch(run, own.gp, before, range(first, stop))
        assert before is not None
        np.testing.assert_array_equal(before.posterior.X, own.posterior.X)
        np.testing.assert_allclose(before.posterior.y_tilde, own.posterior.y_tilde, atol=1e-12)
        compared += 1
    assert compared == (3 if method == SDF else 2)


@needs_data(QUERIES)
@pytest.mark.parametrize("method", REPLAYED)
def test_every_query_that_a_gp_chose_is_replayed(method: str) -> None:
    replayed = replay(method, 0, fit_once(0), 24)
    assert [query.n for query in replayed] == list(range(5 if method == SDF else 11, 24))


def keep(gp: GP) -> Callable[[GP, Array, Array, int], list[GP]]:
    """No fit at all."""
    return lambda before, X, y, t: [gp]


@needs_data(QUERIES)
@pytest.mark.parametrize("method", BASELINES)
def test_all_choices_of_an_unfitted_gp_agree_and_with_another_lengthscale_none(method: str) -> None:
    """Queries 12 to 20: from the second outcome to the first fit, in ten runs."""
    queries = [query for number in range(10) for query in replay(method, number, keep(UNFITTED), 20)]
    assert [query.n for query in queries] == [*range(11, 20)] * 10
    assert not any(query.flat for query in queries)
    assert sum(query.agrees for query in queries) == 90
    assert max(query.shortfall / query.spread for query in queries) < 1e-6
    for number in range(10):
        run = load()[method, number]
        with use_one_thread():
            other, _ = replay_stretch(run, GP(SE(1.0, 1.0), 1.0), None, range(10, 20))
        assert sum(query.agrees for query in other) == 0


@needs_data(QUERIES)
def test_with_the_former_lengthscale_the_weaker_measure_takes_in_some() -> None:
    """Within 1 % of the maximum, and within 1 % of the spread: what the report says beside the audit's count."""
    former = GP(SE(1.0, 1.0), 1.0)
    with use_one_thread():
        queries = [
            query
            for method in BASELINES
            for number in range(10)
            for query in replay_stretch(load()[method, number], former, None, range(10, 20))[0]
        ]
    assert len(queries) == 180
    counted = sum(query.near_maximum for query in queries), sum(query.agrees for query in queries)
    assert counted == WITH_FORMER_LENGTHSCALE


@needs_data(QUERIES)
@pytest.mark.parametrize("number", range(0, 10, 3))
def test_after_a_fit_to_zeros_every_query_is_as_good(number: int) -> None:
    queries = replay(SDF, number, fit_once(0), 10)
    assert [query.n for query in queries] == [5, 6, 7, 8, 9]
    assert all(query.says_nothing for query in queries)


@needs_data(QUERIES)
@pytest.mark.parametrize(("method", "number"), [(SDF, 1), ("GP-UCB", 2), ("GP-BUCB", 0)])
def test_a_whole_run_agrees_with_our_own_fits(method: str, number: int) -> None:
    queries = replay(method, number, fit_once(0))
    assert len(queries) == (100 if method == SDF else 94)
    zeros_alone = [5, 6, 7, 8, 9] if method == SDF else []
    assert [query.n for query in queries if not query.agrees] == zeros_alone
    assert sum(not query.flat for query in queries) >= 40


# All of them, as they are kept ---------------------------------------------------------------------------------------


def count_all(tries: int) -> dict[tuple[str, str, str], replay_counts.ReplayCount]:
    """The counts of all runs by method, phase and surface, made anew."""
    jobs = [job for job in replay_counts.list_jobs() if job.tries == tries]
    with use_one_thread():
        counts = replay_counts.sum_counts(count for job in jobs for count in replay_counts.run_job(job))
    return {count[1:4]: count for count in counts}


def share_near_maximum(counts: dict[tuple[str, str, str], replay_counts.ReplayCount], method: str, phase: str) -> float:
    """Of a method's queries in a phase, the share within 1 % of the maximum."""
    found = [count for count in counts.values() if count[1:3] == (method, phase)]
    return sum(count.near_maximum for count in found) / sum(count.queries for count in found)


@pytest.mark.long
@needs_data(QUERIES)
def test_most_queries_agree_with_our_own_fits() -> None:
    """The counts that are kept, less what another rounding may change: which maximum a fit finds."""
    counts = count_all(1)
    assert sum(count.queries for count in counts.values()) == 10 * 100 + 20 * 94
    assert counts[SDF, "zeros", "equal"][4:6] == (50, 0)
    assert [counts[method, "unfitted", "steep"][4:] for method in BASELINES] == [(90, 90, 90)] * 2
    shares = {kind: count.agreeing / count.queries for kind, count in counts.items()}
    assert shares["GP-UCB", "fitted", "steep"] >= 0.98
    assert shares["GP-BUCB", "fitted", "steep"] >= 0.8
    assert shares[SDF, "fitted", "steep"] >= 0.8
    assert min(shares[method, "fitted", "flat"] for method in REPLAYED) >= 0.95
    near = {method: share_near_maximum(counts, method, "fitted") for method in REPLAYED}
    assert near["GP-UCB"] >= 0.99  # 1 as kept
    assert near["GP-BUCB"] >= 0.88  # 0.907
    assert near[SDF] >= 0.92  # 0.946


@pytest.mark.long
@needs_data(QUERIES)
def test_fits_from_other_starts_bring_in_more() -> None:
    counts = count_all(20)
    shares = {kind: count.agreeing / count.queries for kind, count in counts.items()}
    assert shares["GP-UCB", "fitted", "steep"] >= 0.99
    assert shares["GP-BUCB", "fitted", "steep"] >= 0.9
    assert shares[SDF, "fitted", "steep"] >= 0.9
    assert min(shares[method, "fitted", "flat"] for method in REPLAYED) >= 0.98
    near = {method: share_near_maximum(counts, method, "fitted") for method in REPLAYED}
    assert near["GP-UCB"] >= 0.99  # 1 as kept
    assert near["GP-BUCB"] >= 0.97  # 0.994
    assert near[SDF] >= 0.95  # 0.976
    equal = sum(count.queries for kind, count in counts.items() if kind[1:] == ("fitted", "equal"))
    assert equal <= 60  # they would agree with anything, and count as not explained
