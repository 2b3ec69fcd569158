"""The delays of dengue reports: whole weeks, half of them one week or less."""

import numpy as np

from reproduction.objectives import dengue
from tests.reproduction.needs_data import needs_data

pytestmark = needs_data("delays_dengue.csv.gz")


def test_delays_are_whole_weeks() -> None:
    weeks = np.array(dengue.load_delays().delays) / dengue.WEEK
    assert len(weeks) == 52_987
    assert np.all(weeks == np.round(weeks))
    assert np.all((weeks >= 0) & (weeks <= 26))
    assert np.median(weeks) <= 1


def test_the_task_is_the_synthetic_one_with_these_delays() -> None:
    task = dengue.make_task(3)
    assert task.delay is dengue.load_delays()
    assert task.best == 1.0
