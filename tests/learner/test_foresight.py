"""What is foreseen on a list of candidates is what a study of GP posteriors, one after the other, would come to."""

from __future__ import annotations

import numpy as np

from belated.learner.foresight import NEVER, ComingQueries, Prospect, Unheard, assume, draw_functions, foresee
from belated.learner.gp.kernels import Matern52
from belated.learner.gp.posterior import GP
from belated.learner.policies import log_h

C = np.linspace(0.0, 1.0, 21)[:, None]
X, y = C[[2, 10, 18]], np.array([0.1, 0.8, -0.3])
GAUSSIAN = GP(Matern52(0.2), 0.01)


def look(draws: int, k: int, heard: list[int], out: Unheard | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Functions, and what is recommended for each."""
    now = GAUSSIAN.condition(X, y)
    f = draw_functions(now, C, draws, False, np.random.default_rng(1))
    prospect = Prospect(now.mean(C), now.cov(C), np.full(len(C), 0.01), np.arange(len(C)))
    nothing = Unheard(np.empty(0, dtype=np.intp), np.empty(0), np.empty((draws, 0), dtype=np.int64))
    coming = ComingQueries(np.ones((draws, k, len(C)), dtype=bool), np.repeat([heard], draws, axis=0))
    return f, foresee(prospect, f, out or nothing, coming, np.random.default_rng(2))


def test_it_is_what_posteriors_come_to_one_after_the_other() -> None:
    f, found = look(6, 3, [1, 2, 3])
    luck = np.random.default_rng(2).standard_normal((6, 3))
    for i in range(6):
        rows, told = X, y
        for step in range(3):
            belief = GAUSSIAN.condition(rows, told)
            best = int(np.argmax(belief.mean(C)))
            mean, s = belief.difference_from(C[best : best + 1]).mean_and_std(C)
            next_one = int(np.argmax(np.log(s) + log_h(mean / s)[0]))
            rows = np.vstack([rows, C[next_one]])
            told = np.append(told, f[i, next_one] + 0.1 * luck[i, step])
        assert found[i] == np.argmax(GAUSSIAN.condition(rows, told).mean(C))


def test_what_is_not_heard_changes_nothing_and_what_is_out_counts_when_it_comes() -> None:
    assert np.all(look(4, 2, [NEVER, NEVER])[1] == 0)  # the first candidate stays
    at, noise = np.array([6]), np.array([0.01])
    f, found = look(4, 0, [], Unheard(at, noise, np.zeros((4, 1), dtype=np.int64)))
    luck = np.random.default_rng(2).standard_normal((4, 1))
    for i in range(4):
        told = np.append(y, f[i, 6] + 0.1 * luck[i, 0])
        assert found[i] == np.argmax(GAUSSIAN.condition(np.vstack([X, C[6]]), told).mean(C))


def test_functions_have_the_mean_and_the_covariance_of_the_belief() -> None:
    now = GAUSSIAN.condition(X, y)
    f = draw_functions(now, C, 20000, False, np.random.default_rng(0))
    assert np.allclose(np.mean(f, axis=0), now.mean(C), atol=0.03)
    assert np.allclose(np.cov(f.T), now.cov(C), atol=0.05)
    level = draw_functions(now, C, 20000, True, np.random.default_rng(0))
    assert np.allclose(np.std(level, axis=0) ** 2, now.variance(C) + now.level_std(C) ** 2, atol=0.05)


def test_other_hyperparameters_are_a_belief_in_the_same_outcomes() -> None:
    now, other = GAUSSIAN.condition(X, y), GP(Matern52(0.4), 0.04)
    assert np.allclose(assume(now, other).mean(C), other.condition(X, y).mean(C))
    assert assume(now, GAUSSIAN) is now
