"""Online LDA on its grid: the table's values, and running times as delays."""

from __future__ import annotations

import numpy as np
import pytest

import belated
from reproduction.objectives import lda
from tests.reproduction.needs_data import needs_data

pytestmark = needs_data("lda_on_grid.csv.gz")

BEST = {"kappa": 0.5, "log2_tau": 4.0, "log2_S": 14.0}
RNG = np.random.default_rng(0)


def test_known_values_and_the_scale() -> None:
    task = lda.make_task(0)
    assert task.f({"kappa": 0.5, "log2_tau": 0.0, "log2_S": 0.0}) == task.floor == 5258.112826
    assert task.f(BEST) == task.best == task.ceiling == 1266.167382
    assert task.f({"kappa": 1.0, "log2_tau": 2.0, "log2_S": 4.0}) == 2014.255351  # tau = 4, S = 16
    assert task.goal == "minimize"


def test_the_grid_is_evenly_spaced() -> None:
    space = lda.make_task(0).space
    assert isinstance(space, belated.Points)
    assert len(space) == 6 * 6 * 8
    for column, levels in zip(space.domain.Q.T, (6, 6, 8), strict=True):
        assert np.unique(column.round(12)) == pytest.approx(np.linspace(0, 1, levels))


def test_the_delay_is_the_recorded_running_time() -> None:
    delay = lda.make_task(0).delay
    assert delay is not None
    assert delay.draw(RNG, BEST, None) == 16119.52
    assert delay.draw(RNG, {"kappa": 1.0, "log2_tau": 2.0, "log2_S": 4.0}, None) == 36393.19
    hours = lda.load_table()[:, 4] / 3600
    assert (hours.min(), hours.max()) == pytest.approx((1.82, 10.23), abs=0.01)


def test_by_the_clock_outcomes_come_when_the_configuration_has_run() -> None:
    task = lda.make_task(0)
    study = belated.Study.create(
        space=task.space,
        goal=task.goal,
        floor=task.floor,
        ceiling=task.ceiling,
        algorithm="GP-UCB-SDF",
        patience="5h",
        seed=0,
        clock=belated.SimulatedClock(),
    )
    assert task.delay is not None
    for _ in belated.simulate(study, task.f, delay=task.delay, rounds=30, seed=0, workers=4):
        pass
    told = [t for t in study.trials() if t.told_at is not None]
    assert [t.told_at - t.asked_at for t in told] == pytest.approx([task.delay.draw(RNG, t.params, None) for t in told])
    assert {t.status for t in told} == {"heard", "late"}
    assert all((t.status == "late") == (t.delay is not None and t.delay > 5 * 3600) for t in told)
    simple, _, with_late = belated.measure_regret(study, task.f, task.best)
    assert np.all(with_late <= simple)
    assert with_late[-1] < simple[0] == 5258.112826 - 1266.167382
