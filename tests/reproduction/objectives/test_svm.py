"""The SVM objectives: known values of the flat square and its corner, and the growing data sets."""

from __future__ import annotations

import numpy as np
import pytest

import belated
from reproduction.objectives import svm
from tests.reproduction.needs_data import needs_data

pytestmark = needs_data("pima_diabetes.csv")


def test_nearly_all_of_the_square_is_at_the_majority_rate_and_one_corner_is_not() -> None:
    f = svm.make_task(0).f
    assert f({"C": 100.0, "gamma": 1e-4}) == pytest.approx(0.7619, abs=5e-5)  # 176 of 231
    for C, gamma in ((1e-4, 1e-4), (1e-4, 10.0), (100.0, 10.0), (50.0, 5.0), (3.0, 0.5)):
        assert f({"C": C, "gamma": gamma}) == pytest.approx(0.6494, abs=5e-5)  # 150 of 231


def test_the_split_is_stratified_and_keeps_seventy_per_cent() -> None:
    train, held_out, diagnoses, answers = svm.split_patients(19)
    assert (train.shape, held_out.shape) == ((537, 8), (231, 8))
    assert np.mean(diagnoses) == pytest.approx(np.mean(answers), abs=1 / 231)
    assert train.max() > 800  # unscaled: insulin


def test_the_task_is_the_papers() -> None:
    task = svm.make_task(3)
    assert task.space == {"C": belated.Real(1e-4, 100), "gamma": belated.Real(1e-4, 10)}
    assert (task.floor, task.ceiling, task.best, task.noise) == (0.0, 1.0, 1.0, 0.0)
    study = belated.Study.create(space=task.space, algorithm="GP-UCB-SDF", floor=0.0, ceiling=1.0, patience=20, seed=0)
    for _ in belated.simulate(study, task.f, delay=belated.delays.Fixed(2), rounds=8, seed=0):
        pass
    heard = [t.outcome for t in study.trials() if t.outcome is not None]
    simple = belated.measure_regret(study, task.f, task.best).simple
    assert simple[-1] == 1 - max(heard)  # the validation error of the best configuration heard
    assert simple[0] == 1.0  # nothing heard


def test_an_evaluation_is_made_once() -> None:
    calls = []
    real = svm.measure_accuracy

    def counted(j: int, C: float, gamma: float) -> float:
        calls.append((j, C, gamma))
        return real(j, C, gamma)

    f = svm.make_task(0).f
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svm, "measure_accuracy", counted)
        once = f({"C": 0.123, "gamma": 0.0123})
        assert svm.make_task(1).f({"gamma": 0.0123, "C": 0.123}) == once
    assert calls == [(19, 0.123, 0.0123)]


# Growing --------------------------------------------------------------------------------------------------------------


def test_the_data_sets_grow_in_the_files_order() -> None:
    sizes = [len(svm.split_patients(j)[0]) + len(svm.split_patients(j)[1]) for j in range(20)]
    assert sizes[:3] == [38, 77, 115]
    assert sizes[-1] == 768
    assert all(37 <= step <= 39 for step in np.diff(sizes))
    for j in (0, 7):
        train, held_out, _, _ = svm.split_patients(j)
        rows = {tuple(row) for row in np.vstack([train, held_out])}
        assert rows == {tuple(row[:-1]) for row in svm.load_patients()[: sizes[j]]}


def test_each_index_comes_thirty_times_in_order() -> None:
    task = svm.make_growing_task(0)
    assert task.context_of is not None
    assert [task.context_of(s) for s in (1, 30, 31, 600)] == [{"index": i} for i in (0, 0, 1, 19)]
    study = belated.Study.create(space=task.space, context=task.context, silence="unknown", seed=0)
    with pytest.raises(belated.Outside):
        study.ask(context=task.context_of(601))
    f = task.f
    assert f({"C": 100.0, "gamma": 1e-4}, {"index": 19}) == svm.make_task(0).f({"C": 100.0, "gamma": 1e-4})


def test_the_best_of_every_data_set_is_reached_where_it_is_said_to_be() -> None:
    task = svm.make_growing_task(0)
    assert len(svm.BEST) == 20
    for j, (best, C, gamma) in enumerate(svm.BEST):
        assert svm.measure_accuracy(j, C, gamma) == best == task.best({"index": j})
        assert (C, gamma) in GRID


def test_nothing_on_the_grid_is_better() -> None:
    """Fifty points of it for every data set; all of it for two in the test that takes a minute."""
    rng = np.random.default_rng(0)
    points = sorted(GRID)
    for j in range(0, 20, 3):
        for i in rng.choice(len(points), 50, replace=False):
            assert svm.measure_accuracy(j, *points[i]) <= svm.BEST[j][0]


@pytest.mark.long
@pytest.mark.parametrize("j", [0, 5])
def test_the_best_over_the_grid_again(j: int) -> None:
    assert svm.find_best(j) == svm.BEST[j]


GRID = set(svm.list_grid())


def test_the_grid_lies_in_the_space_and_reaches_its_bounds() -> None:
    Cs, gammas = ({point[i] for point in GRID} for i in (0, 1))
    assert (min(Cs), max(Cs)) == (1e-4, 100.0)
    assert (min(gammas), max(gammas)) == (1e-4, 10.0)
    assert {(C, g) for C in (1e-4, 100.0) for g in (1e-4, 10.0)} <= GRID
    assert sum(g <= 0.005 for _, g in GRID) > len(GRID) / 2
