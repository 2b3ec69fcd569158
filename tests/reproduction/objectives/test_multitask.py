"""The multi-task table: its shape, its best values, and the tasks that look alike."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated
from reproduction.datasets import TASKS
from reproduction.objectives import multitask
from tests.reproduction.needs_data import needs_data

pytestmark = needs_data("tst_svm.npz")


@pytest.fixture(scope="module")
def raw() -> dict[str, Any]:
    with np.load(Path(os.environ["BELATED_DATA"]) / "tst_svm.npz") as file:
        return dict(file)


def test_the_shapes() -> None:
    config, contexts, accuracy = multitask.load_table()
    assert (config.shape, contexts.shape, accuracy.shape) == ((288, 6), (50, 6), (50, 288))
    task = multitask.make_task(0)
    assert isinstance(task.space, belated.Points)
    assert len(task.space) == 288
    assert task.context == dict.fromkeys(multitask.FEATURES, belated.Real(0, 1))


@pytest.mark.parametrize(
    ("name", "best"), [("A9A", 0.849217), ("abalone", 0.279042), ("pima", 0.766234), ("wine", 1.0), ("yeast", 0.622896)]
)
def test_the_best_accuracies(name: str, best: float) -> None:
    task = multitask.make_task(0)
    j = TASKS.index(name)
    assert task.context_of is not None
    context = task.context_of(1 + 30 * j)
    assert task.best(context) == best
    space = task.space
    assert isinstance(space, belated.Points)
    assert max(task.f(space.at(i), context) for i in range(288)) == best


def test_every_value_is_the_tables(raw: dict[str, Any]) -> None:
    task = multitask.make_task(0)
    space = task.space
    assert isinstance(space, belated.Points)
    assert task.context_of is not None
    assert tuple(raw["task"]) == TASKS
    for j in range(50):
        context = task.context_of(30 * j + 1)
        assert list(context.values()) == pytest.approx(raw["meta_features"][j, :6].tolist(), abs=2e-9)
        found = [task.f(space.at(i), context) for i in range(0, 288, 7)]
        assert found == raw["accuracy"][j, ::7].tolist()
    assert [list(space.at(i).values()) for i in range(288)] == raw["config"].tolist()


def test_two_pairs_of_tasks_look_alike_and_are_told_apart(raw: dict[str, Any]) -> None:
    before, after = raw["meta_features"][:, :6], multitask.load_table().contexts
    assert len(np.unique(before, axis=0)) == 48
    assert len(np.unique(after, axis=0)) == 50
    moved = np.flatnonzero(np.any(before != after, axis=1))
    assert [TASKS[j] for j in moved] == ["pima", "saheart"]
    pairs = [[TASKS[i] for i in range(50) if np.array_equal(before[i], before[j])] for j in moved]
    assert pairs == [["diabetes", "pima"], ["breast-cancer", "saheart"]]
    assert np.abs(after - before)[moved, 0] == pytest.approx([1e-9, 1e-9], rel=1e-6)
    assert np.array_equal(after[:, 1:], before[:, 1:])
    assert ((after >= 0) & (after <= 1)).all()
    kernel = belated.kernels.SE(0.01)
    diabetes, pima = after[[TASKS.index("diabetes")]], after[[TASKS.index("pima")]]
    assert kernel(diabetes, pima)[0, 0] == pytest.approx(1.0, abs=1e-13)


def test_ties_among_the_best_cost_nothing() -> None:
    """54 configurations are best on wine: asking any of them is no regret."""
    task = multitask.make_task(0)
    space = task.space
    assert isinstance(space, belated.Points)
    assert task.context_of is not None
    context = task.context_of(1 + 30 * TASKS.index("wine"))
    best = [i for i in range(288) if task.f(space.at(i), context) == 1.0]
    assert len(best) == 54
    study = belated.Study.create(space=space, context=task.context, silence="unknown", floor=0.0, seed=0)
    for i in best[:5]:
        study.tell(study.ask(params=space.at(i), context=context), 1.0)
    simple, cumulative, _ = belated.measure_regret(study, task.f, task.best)
    assert simple.tolist() == cumulative.tolist() == [0.0] * 5


def test_each_task_comes_thirty_times_in_order_and_a_run_can_be_simulated() -> None:
    task = multitask.make_task(0)
    assert task.context_of is not None
    contexts = [tuple(task.context_of(s).values()) for s in range(1, 1501)]
    assert contexts == [tuple(z) for z in np.repeat(multitask.load_table().contexts, 30, axis=0).tolist()]
    study = belated.Study.create(
        space=task.space, context=task.context, algorithm="GP-UCB-SDF", floor=0.0, ceiling=1.0, patience=6, seed=0
    )
    delay = belated.delays.Poisson(3)
    for _ in belated.simulate(study, task.f, delay=delay, rounds=35, seed=1, contexts=task.context_of):
        pass
    cumulative = belated.measure_regret(study, task.f, task.best).cumulative
    gaps = np.diff(cumulative, prepend=0.0)
    assert np.all(gaps >= -1e-12)
    assert gaps == pytest.approx([task.best(t.context) - task.f(t.params, t.context) for t in study.trials()])
