"""Theorems 2 and 3: the bounds are those of the paper, beside the regret of a run."""

import numpy as np
from numpy.testing import assert_allclose

from belated.learner.confidence import (
    beta_sdf_ts,
    beta_sdf_ucb,
    gamma_bound,
    greedy_gain,
    theorem2,
    theorem3,
)
from reproduction.theory import bounds, rkhs
from reproduction.theory.measurements import Quantity, group_measurements


def test_bounds_are_those_of_the_theorems():
    T, t, m, rho = 40, 17, 6, 0.7
    law = rkhs.draw_function(0).make_theory(0.2, T)
    lam = 1 + 2 / T
    gamma = gamma_bound(greedy_gain(rkhs.KERNEL, rkhs.Q[:, None], T, lam))
    ucb, ts = beta_sdf_ucb(law, gamma[16], 1.0), beta_sdf_ts(law, gamma[16], 1.0)
    assert bounds.compute_bound("GP-UCB-SDF", law, t, rho, m) == theorem2(t, rho, m, ucb, gamma[17], 1.0, lam)
    assert bounds.compute_bound("GP-TS-SDF", law, t, rho, m) == theorem3(
        t, rho, m, ts, gamma[17], 1.0, law.B_f, 0.2, rkhs.POINTS, lam
    )


def test_a_bounded_run_has_all_of_its_lines():
    rows = bounds.run_regret_job(bounds.RegretJob(algorithm="GP-UCB-SDF", quantity="regret", seeds=(3,), T=20))
    found = group_measurements(rows)
    function, at = rkhs.draw_function(3), [1, 2, 5, 10, 20]
    law = function.make_theory(bounds.DELTA, 20)
    ran = rkhs.run_study(function, rkhs.make_sdf("GP-UCB-SDF", law, 20), bounds.DELAY, bounds.M, 20, 3)
    rho = bounds.DELAY.rho(bounds.M)
    wanted = {
        "regret": [ran.cumulative[t - 1] for t in at],
        "widths": [2 / rho * sum(ran.widths[:t]) for t in at],
        "bound": [bounds.compute_bound("GP-UCB-SDF", law, t, rho, bounds.M) for t in at],
        "trivial": [t * function.gap for t in at],
    }
    assert {key.quantity for key in found} == set(wanted)
    for quantity, values in wanted.items():
        each = found[Quantity("bounds", "GP-UCB-SDF", quantity)]
        assert each.x.tolist() == at
        assert_allclose(each.values[0], values, rtol=1e-12)
    assert np.all(np.array(wanted["regret"]) <= wanted["widths"])
    assert np.all(np.array(wanted["widths"]) <= wanted["bound"])


def test_without_t_the_run_restarts():
    """The regret by doubling is that of a run whose rounds 2, 4, 8, … begin with the prior: σ = 1 everywhere."""
    job = bounds.RegretJob(algorithm="GP-TS-SDF", quantity="regret, doubling", seeds=(3,), T=20)
    function = rkhs.draw_function(3)
    algorithm = rkhs.make_sdf("GP-TS-SDF", function.make_theory(bounds.DELTA, None), 20)
    ran = rkhs.run_study(function, algorithm, bounds.DELAY, bounds.M, 20, 3)
    assert [t for t, one in enumerate(ran.rounds, start=1) if np.all(one.std == 1.0)] == [1, 2, 4, 8, 16]
    assert [row.value for row in bounds.run_regret_job(job)] == [ran.cumulative[t - 1] for t in (1, 2, 5, 10, 20)]


def test_the_first_four_rounds_are_those_that_the_proof_of_theorem_3_loses():
    p = 1 / (4 * np.e * np.sqrt(np.pi))
    assert bounds.FIRST_ROUNDS == [1, 2, 3, 4]
    assert all(0 < 2 / (p - 1 / t**2) <= 10 / p for t in range(5, 200))
    assert bounds.EXTRA == 2 * (0 + 3 / 4 + 8 / 9 + 15 / 16)


def test_the_long_gain_is_the_greedy_gain():
    Q = np.linspace(0, 1, 12)[:, None]
    K = rkhs.KERNEL(Q, Q)
    assert_allclose(bounds.compute_long_gain(K, 60, 1.1), greedy_gain(rkhs.KERNEL, Q, 60, 1.1), rtol=1e-9)


def test_theorem_2_begins_to_say_something_where_it_falls_below_the_largest_regret(monkeypatch):
    """With one point in place of Q, γ_T = ½ log(1 + T) grows so slowly that it happens early."""
    monkeypatch.setattr(bounds, "Q", np.zeros(1))
    (row,) = bounds.run_horizon_job(bounds.HorizonJob(seeds=(0,), T=2**15))
    function, gamma = rkhs.draw_function(0), gamma_bound(np.log1p(np.arange(2**15 + 1)) / 2)

    def says(T):
        return bounds.compute_theorem2(function.make_theory(bounds.DELTA, T), gamma, T) < T * function.gap

    T = int(row.value)
    assert says(T)
    assert not says(int(T / 1.03))
    assert bounds.run_horizon_job(bounds.HorizonJob(seeds=(0,), T=T // 2)) == []
