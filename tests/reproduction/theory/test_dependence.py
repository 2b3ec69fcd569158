"""Delays that depend on the query: what is measured is the proof's η, and the belief that follows ρ(x) f(x)."""

import numpy as np
import pytest

from belated.learner.delays.distributions import Poisson
from reproduction.theory import coverage, dependence, rkhs


def measure(law, beta, seed, T):
    rows = dependence.run_dependence_job(dependence.DependenceJob(law=law, beta=beta, seeds=(seed,), T=T))
    return {row.quantity: row.value for row in rows}


def test_the_laws_are_what_their_labels_say():
    function = rkhs.draw_function(0)
    best, least = int(np.argmax(function.f)), int(np.argmin(function.f))
    for law, ends in {"same": (10, 10), "good late": (15, 5), "bad late": (5, 15)}.items():
        delay = dependence.make_delay(law, function)
        means = [delay.at({"x": rkhs.Q[i]}).mean for i in (best, least)]
        assert means == pytest.approx(ends, abs=0.2)
    assert function.f[least] / function.best < 0.02


@pytest.mark.parametrize("law", dependence.LAWS)
def test_a_row_is_what_became_of_its_run(law):
    function, T = rkhs.draw_function(2), 40
    delay = dependence.make_delay(law, function)
    ran = rkhs.run_study(function, rkhs.make_sdf("GP-UCB-SDF", 1.0, T), delay, 10, T, 2)
    shares = [Poisson(delay.at({"x": x}).mean).rho(10) for x in rkhs.Q[ran.chosen]]
    found = measure(law, "one", 2, T)
    assert found["need"] == coverage.compute_need(ran.rounds, min(shares) * function.f)
    assert found["mean of eta"] == pytest.approx(np.mean(ran.delays[:30] <= 10) - min(shares))
    assert found["f at the belief's best"] == function.f[np.argmax(ran.rounds[-1].mean)] / function.best
    assert found["regret per round, last quarter"] == pytest.approx(
        np.mean(function.best - function.f[ran.chosen[-10:]])
    )


@pytest.fixture(scope="module")
def runs():
    return {law: measure(law, "one", 0, 200) for law in dependence.LAWS}


def test_eta_has_mean_0_only_where_delays_do_not_depend_on_the_query(runs):
    """E[η] = ρ(x) - ρ_m. A mean of 190, each of standard deviation at most 1/2, is within 0.11 in 99.7 % of runs."""
    assert abs(runs["same"]["mean of eta"]) < 0.11
    assert runs["good late"]["mean of eta"] > 0.3
    assert runs["bad late"]["mean of eta"] > 0.3


def test_where_good_queries_are_late_the_belief_is_best_at_a_bad_one(runs):
    believed = {law: found["f at the belief's best"] for law, found in runs.items()}
    assert believed["good late"] < 0.7 < 0.9 < min(believed["same"], believed["bad late"])
