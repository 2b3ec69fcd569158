"""The trade-off in m: the bound is Theorem 2, and the regret is that of its patience."""

import numpy as np
import pytest

from reproduction.theory import bounds, rkhs, tradeoff
from reproduction.theory.measurements import Measurement

# The trade-off


def test_the_bound_by_m_is_theorem_2_at_the_mean_norm():
    job = tradeoff.BoundCurveJob(law="Geometric(0.1)", seeds=(0, 1, 2), T=30)
    rounds, *rows = tradeoff.run_bound_curve_job(job)
    assert (rounds.quantity, rounds.value) == ("rounds", 30)
    assert [row.x for row in rows] == list(range(1, 61))
    laws = [rkhs.draw_function(seed).make_theory(0.1, 30) for seed in job.seeds]
    for row in rows[::7]:
        m = int(row.x)
        each = [bounds.compute_bound("GP-UCB-SDF", law, 30, 1 - 0.9**m, m) for law in laws]
        assert row.value == pytest.approx(np.mean(each))


def test_a_measured_regret_is_that_of_its_patience():
    (row,) = tradeoff.run_patience_job(tradeoff.PatienceJob(law="Poisson(10)", m=5, theory=False, seeds=(6,), T=15))
    ran = rkhs.run_study(
        rkhs.draw_function(6), rkhs.make_sdf("GP-UCB-SDF", 1.0, 15), tradeoff.LAWS["Poisson(10)"], 5, 15, 6
    )
    assert row == Measurement("tradeoff", "Poisson(10)", "regret, beta 1", 6, 5, pytest.approx(ran.cumulative[-1]))
