"""Section 4: batches are told all at once, and the factors are those of the bounds."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import belated
from belated.learner.algorithms import paper
from belated.learner.confidence import (
    Theory,
    beta_sdf_ucb,
    gamma_bound,
    greedy_gain,
    proposition1,
    theorem2,
)
from belated.learner.delays.distributions import Fixed
from belated.learner.gp.kernels import SE
from belated.simulation.simulate import SimulatedWorld
from reproduction.theory import batches
from reproduction.theory.measurements import Quantity, group_measurements


def test_batches_are_told_all_at_once():
    study = belated.Study.create(
        space=belated.Points(np.linspace(0, 1, 9)), floor=0.0, ceiling=1.0, algorithm="GP-BUCB"
    )
    world = SimulatedWorld(lambda params: params["x"], Fixed(0), 0.0, 0)
    batches.run_in_batches(study, world, 25)
    trials = study.trials()
    assert [trial.number for trial in trials] == list(range(1, 26))
    assert [trial.known_from for trial in trials] == [11] * 10 + [21] * 10 + [26] * 5
    assert all(trial.outcome == trial.params["x"] for trial in trials)


def test_a_start_heeds_no_outcomes():
    """The first 20 queries after a start of 20 are those of a study that is told 0.5 whatever it asks."""
    x, f = batches.sample_function(0, 200, 0.1)
    kernel, lam = SE(0.1, float(np.mean(f**2))), batches.synthetic.NOISE**2
    algorithm = paper("GP-BUCB", kernel=kernel, lam=lam, refit_every=None, start=batches.START)
    study = belated.Study.create(space=belated.Points(x), floor=0.0, ceiling=1.0, algorithm=algorithm, seed=0)
    gaps = []
    for _ in range(20):
        trial = study.ask()
        gaps.append(1.0 - f[np.flatnonzero(x == trial.params["x"])[0]])
        study.tell(trial, 0.5)
    found = group_measurements(
        batches.run_batch_job(batches.BatchJob(case="smooth", method=batches.STARTED, seed=0, T=20))
    )
    cumulative = found[Quantity("batches", f"smooth/{batches.STARTED}", "cumulative regret")]
    assert_allclose(cumulative.values[0], np.cumsum(gaps)[9::10], rtol=1e-9)


def test_factors_are_those_of_the_bounds():
    found = group_measurements(batches.run_factors_job(batches.FactorsJob(case="smooth", T=100)))
    lam, law = 1.02, Theory(B_f=1.0, R=0.1, delta=0.1, horizon=100)
    greedy = greedy_gain(SE(0.1), np.linspace(0, 1, 200)[:, None], 400, lam)
    gamma = gamma_bound(greedy)
    beta = beta_sdf_ucb(law, gamma[99], 1.0)
    for B in batches.SIZES:
        halluc, floor, longer, needed = (
            found[Quantity("factors", "smooth", q)].at(B)[0]
            for q in ("hallucination", "floor", "floor, patience", "needed")
        )
        assert halluc == pytest.approx(math.exp(greedy[B - 1]))
        ratio = proposition1(100, B, beta, gamma[100], 1.0, lam) / proposition1(100, 1, beta, gamma[100], 1.0, lam)
        assert floor == pytest.approx(ratio)
        single, batch = (theorem2(100, 1.0, m, beta, gamma[100], 1.0, lam) for m in (0, B))  # patience = B
        assert longer == pytest.approx(batch / single)
        n = int(needed)
        assert gamma_bound(greedy[n + B - 1] - greedy[n]) <= math.log(2)
        assert n == 0 or gamma_bound(greedy[n + B - 2] - greedy[n - 1]) > math.log(2)


def test_a_start_that_is_too_long_is_said_to_be():
    assert batches.find_start_needed(np.arange(20.0), 5) == 20
