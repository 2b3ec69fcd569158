"""Theorem 1: what the experiment counts is what it says it counts."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from belated.learner.confidence import beta_sdf_ucb
from belated.learner.delays.distributions import Fixed
from reproduction.theory import coverage, rkhs


def test_need_is_the_least_multiple_that_covers():
    rounds = [
        rkhs.RoundBelief(np.array([0.0, 0.5]), np.array([1.0, 0.5]), 2.0),
        rkhs.RoundBelief(np.array([0.4, 0.0]), np.array([0.5, 0.1]), 4.0),
    ]
    centre = np.array([0.3, 0.1])  # |μ - centre| / νσ: 0.3/2, 0.4/1; 0.1/2, 0.1/0.4
    assert coverage.compute_need(rounds, centre) == pytest.approx(0.4)
    assert coverage.compute_need(rounds[1:], centre) == pytest.approx(0.25)


def test_a_row_of_coverage_is_the_need_of_its_run():
    job = coverage.CoverageJob(case="geometric", delta=0.1, seeds=(4, 7), T=12)
    rows = coverage.run_coverage_job(job)
    case = coverage.CASES["geometric"]
    for seed in job.seeds:
        function = rkhs.draw_function(seed)
        algorithm = rkhs.make_sdf("GP-UCB-SDF", function.make_theory(0.1, 12), 12)
        ran = rkhs.run_study(function, algorithm, case.delay, case.m, 12, seed)
        ratios = [np.abs(one.mean - (1 - 0.9**10) * function.f) / (one.nu * one.std) for one in ran.rounds]
        wanted = {
            "need, delta 0.1": np.max(ratios),
            "need in the first round": np.max(ratios[0]),
            "need in the last round": np.max(ratios[-1]),
        }
        assert {row.quantity: row.value for row in rows if row.seed == seed} == pytest.approx(wanted)


def test_with_beta_1_the_first_width_is_1():
    """Before anything is heard μ = 0 and σ = 1, so that need is ρ max f."""
    (row,) = coverage.run_coverage_job(coverage.CoverageJob(case="poisson", delta=None, seeds=(0,), T=1))
    assert row.quantity == coverage.AT_ONE
    assert row.value == pytest.approx(coverage.CASES["poisson"].rho * 0.9)


def test_the_stubborn_ask_the_best_x_and_hear_nothing_until_the_delay_is_over():
    case = replace(coverage.CASES["stubborn"], delay=Fixed(4), m=4)
    ran = coverage.run_case(case, 0.1, 2, 8)
    assert set(ran.chosen.tolist()) == {int(np.argmax(rkhs.draw_function(2).f))}
    assert [bool(np.any(one.mean)) for one in ran.rounds] == [False] * 4 + [True] * 4


def test_without_t_an_epoch_knows_its_own_queries_and_has_its_share_of_delta():
    """Before queries 1, 2, 4, 8 the belief is the prior, and ν = β with γ = 0 at δ/2, δ/6, δ/12, δ/20."""
    ran, function = coverage.run_case(coverage.CASES["doubling"], 0.1, 5, 15), rkhs.draw_function(5)
    for i, t in enumerate([1, 2, 4, 8]):
        one, share = ran.rounds[t - 1], function.make_theory(0.1 / ((i + 1) * (i + 2)), t)
        assert not np.any(one.mean)
        assert one.nu == pytest.approx(beta_sdf_ucb(share, 0.0, 1.0), rel=1e-12)
    assert np.all(ran.rounds[14].std < 1.0)


@pytest.mark.parametrize(("count", "runs"), [(0, 5), (3, 10), (100, 100), (399, 400)])
def test_shares_have_exact_intervals(count, runs):
    found = coverage.estimate_share(count, runs)
    exact = stats.binomtest(count, runs).proportion_ci(0.95, "exact")
    assert found.share == count / runs
    assert_allclose([found.low, found.high], [exact.low, exact.high], rtol=1e-9)


def test_there_are_as_many_runs_as_it_takes():
    assert all(coverage.estimate_share(runs, runs).low >= 1 - delta for delta, runs in coverage.RUNS.items())


@pytest.mark.parametrize(("delta", "c"), [(0.01, 1.0), (0.1, 0.9), (0.15, 0.9), (0.5, 0.5), (0.95, 0.1)])
def test_the_multiple_that_suffices_covers_1_minus_delta(delta, c):
    needs = np.arange(10, 0, -1) / 10
    assert coverage.find_sufficient(needs, delta) == c
    assert np.mean(needs <= c) >= 1 - delta > np.mean(needs < c)
