"""Logistic regression by minibatches: against a plain computation, and what its surface looks like."""

from __future__ import annotations

import time

import numpy as np
import pytest

import belated
from reproduction.objectives import lr

CORNER = {"batch_size": 32, "learning_rate": 1.0, "decay": 1e-6}


def test_the_task_is_the_papers() -> None:
    task = lr.make_task(7)
    assert task.space == {
        "batch_size": belated.Integer(32, 128),
        "learning_rate": belated.Real(1e-6, 1),
        "decay": belated.Real(1e-6, 1),
    }
    assert (task.floor, task.ceiling, task.best, task.noise) == (0.0, 1.0, 1.0, 0.0)
    assert task.f(CORNER) == lr.make_task(0).f(CORNER) == lr.measure_accuracy(**CORNER)


def test_features_are_standardised_by_the_training_half_and_the_split_is_stratified() -> None:
    X, y, X_held_out, y_held_out = lr.load_split()
    assert (X.shape, X_held_out.shape) == ((398, 31), (171, 31))
    np.testing.assert_allclose(X[:, :-1].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X[:, :-1].std(axis=0), 1)
    assert 0.01 < np.abs(X_held_out[:, :-1].mean(axis=0)).max() < 0.3  # scaled by the other half
    assert np.all(X[:, -1] == 1)
    assert np.all(X_held_out[:, -1] == 1)
    assert np.mean(y) == pytest.approx(np.mean(y_held_out), abs=0.005)


def test_one_step_is_the_gradient_of_the_log_loss_and_the_decay_is_inverse_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The weights by autograd-free arithmetic: batches of 128 of 398 are four steps an epoch, the last one of 14."""
    monkeypatch.setattr(lr, "EPOCHS", 2)
    X, y, X_held_out, y_held_out = lr.load_split()
    rng = np.random.default_rng(0)
    w = np.append(rng.uniform(-np.sqrt(6 / 31), np.sqrt(6 / 31), 30), 0.0)

    def loss(w: np.ndarray, rows: np.ndarray) -> float:
        s = X[rows] @ w
        return float(np.mean(np.logaddexp(0, s) - y[rows] * s))

    step = 0
    for _ in range(2):
        order = rng.permutation(398)
        for rows in (order[:128], order[128:256], order[256:384], order[384:]):
            slope = [(loss(w + h, rows) - loss(w - h, rows)) / 2e-5 for h in 1e-5 * np.eye(31)]
            w = w - 0.7 / (1 + 0.3 * step) * np.array(slope)
            step += 1
    assert step == 8
    margins = X_held_out @ w
    assert np.abs(margins).min() > 1e-4  # nobody is so near the border that the differences' error could decide
    assert lr.measure_accuracy(128, 0.7, 0.3) == np.mean((margins > 0) == y_held_out)


def test_the_surface_is_neither_flat_nor_solved() -> None:
    """Known values, to within two of the 171 held out; most points are far from the best."""
    two = 2 / 171
    assert lr.measure_accuracy(**CORNER) == pytest.approx(0.9591, abs=two)
    assert lr.measure_accuracy(128, 1.0, 1e-6) == pytest.approx(0.9532, abs=two)
    assert lr.measure_accuracy(128, 1.0, 1.0) == pytest.approx(0.9006, abs=two)
    assert lr.measure_accuracy(32, 1e-6, 1e-6) == pytest.approx(0.3860, abs=two)
    rng = np.random.default_rng(3)
    values = [
        lr.measure_accuracy(int(rng.integers(32, 129)), rng.uniform(1e-6, 1), rng.uniform(1e-6, 1)) for _ in range(100)
    ]
    assert np.quantile(values, 0.9) < lr.measure_accuracy(**CORNER)
    assert np.std(values) > 0.02
    assert len(set(values)) > 15


def test_an_evaluation_takes_milliseconds_and_is_made_once() -> None:
    f = lr.make_task(0).f
    point = {"batch_size": 33, "learning_rate": 0.25, "decay": 0.125}
    began = time.process_time()
    first = f(point)
    took = time.process_time() - began
    assert took < 0.25  # about 2 ms
    began = time.process_time()
    assert [f(point) for _ in range(100)] == [first] * 100
    assert time.process_time() - began < 0.05
