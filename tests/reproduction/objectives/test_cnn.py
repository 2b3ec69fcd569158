"""The table of trained networks: its values where they are known, and what lies between them."""

import numpy as np
import pytest

from belated.study import Study
from reproduction.objectives import cnn


def at(b: int, rate: float, decay: float) -> float:
    return cnn.interpolate_accuracy({"batch": b, "rate": rate, "decay": decay})


def test_the_table_has_a_network_for_every_point_of_the_grid_and_seed() -> None:
    assert cnn.load_table().shape == (cnn.SEEDS, len(cnn.BATCH), len(cnn.RATE), len(cnn.DECAY)) == (3, 5, 32, 24)
    assert np.all((cnn.load_table() > 0.05) & (cnn.load_table() < 1.0))
    assert list(cnn.RATE) == sorted(cnn.RATE)
    assert list(cnn.DECAY) == sorted(cnn.DECAY)


def test_known_values() -> None:
    assert at(128, 0.03, 0.002) == pytest.approx(0.9509, abs=1e-4)  # the best of the grid
    assert cnn.load_table().mean(axis=0).max() == pytest.approx(0.9509, abs=1e-4)
    assert at(128, 1.0, 1e-6) == pytest.approx(0.1, abs=0.01)  # a learning rate that destroys the network
    assert at(512, 1e-6, 1.0) < 0.2  # and one that never moves it


def test_it_is_the_mean_of_the_seeds_on_the_grid_and_linear_in_between() -> None:
    table = cnn.load_table().mean(axis=0)
    for i, j, k in ((0, 0, 0), (1, 10, 3), (4, 31, 23)):
        assert at(cnn.BATCH[i], cnn.RATE[j], cnn.DECAY[k]) == pytest.approx(table[i, j, k], abs=1e-12)
    half = at(160, cnn.RATE[10], cnn.DECAY[3])
    assert half == pytest.approx((table[0, 10, 3] + table[1, 10, 3]) / 2, abs=1e-12)
    between = at(128, float(np.sqrt(cnn.RATE[10] * cnn.RATE[11])), cnn.DECAY[3])
    assert between == pytest.approx((table[0, 10, 3] + table[0, 11, 3]) / 2, abs=1e-12)


def test_the_task_is_the_papers_space() -> None:
    task = cnn.make_task(0)
    study = Study.create(space=task.space, silence="unknown", seed=0)
    assert study.settings.space.names == ("batch", "rate", "decay")
    assert task.best == 1.0
    for trial in study.ask(n=8):
        assert 128 <= trial.params["batch"] <= 512
        assert 0.05 < task.f(trial.params) < 0.96
