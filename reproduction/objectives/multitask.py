"""The paper's multi-task experiment (Figure 4 a-b): 50 tasks one after the other, 288 SVMs to choose from.

f         accuracy of an SVM configuration on a task, from the table of Wistuba et al.
context   the first six meta-features of the task, each scaled to [0, 1] in the table
params    kernel (one-hot) and log2(C) / 6, log10(gamma) / 4, log10(degree), the table's own six columns

Two pairs of tasks have the same six meta-features. The second of a pair has its first one moved by 1e-9: the world can
tell the two apart, and no kernel can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from belated.learner.arrays import Array
from belated.simulation.task import Task
from belated.space.parameters import Real
from belated.space.points import Points
from reproduction.download import find_dataset

NAMES = ("rbf", "polynomial", "linear", "C", "gamma", "degree")
FEATURES = ("class_entropy", "classes", "class_share_max", "class_share_min", "class_share_mean", "class_share_std")
ROUNDS = 30  # on each task
MOVED = 1e-9
ORDER = 5  # the stream [seed, ORDER] that an order of tasks is drawn from


class AccuracyTable(NamedTuple):
    """50 tasks, 288 configurations."""

    config: Array  # (288, 6)
    contexts: Array  # (50, 6), all different
    accuracy: Array  # (50, 288)


@cache
def load_table() -> AccuracyTable:
    """The table, its contexts told apart."""
    with np.load(find_dataset("tst_svm.npz")) as file:
        config, accuracy, contexts = file["config"], file["accuracy"], file["meta_features"][:, : len(FEATURES)].copy()
    seen: set[bytes] = set()
    for z in contexts:
        while z.tobytes() in seen:
            z[0] += MOVED if z[0] < 0.5 else -MOVED
        seen.add(z.tobytes())
    return AccuracyTable(config, contexts, accuracy)


@cache
def _make_space() -> Points:
    return Points(load_table().config, NAMES)


def make_task(seed: int) -> Task:
    """The tasks in the table's order, 30 rounds each; regret is against the best accuracy of each task."""
    return _make_ordered_task(range(len(load_table().contexts)))


def make_permuted_task(seed: int) -> Task:
    """The same with the tasks in an order drawn by the seed."""
    return _make_ordered_task(np.random.default_rng([seed, ORDER]).permutation(len(load_table().contexts)).tolist())


def _make_ordered_task(order: Sequence[int]) -> Task:
    config, contexts, accuracy = load_table()
    column = {tuple(x): i for i, x in enumerate(config.tolist())}
    row = {tuple(z): j for j, z in enumerate(contexts.tolist())}
    features = [dict(zip(FEATURES, z, strict=True)) for z in contexts.tolist()]

    def find_task(context: Mapping[str, float]) -> int:
        return row[tuple(context[name] for name in FEATURES)]

    def f(params: Mapping[str, float], context: Mapping[str, float]) -> float:
        return float(accuracy[find_task(context), column[tuple(params[name] for name in NAMES)]])

    return Task(
        space=_make_space(),
        f=f,
        best=lambda context: float(accuracy[find_task(context)].max()),
        context={name: Real(0.0, 1.0) for name in FEATURES},
        context_of=lambda s: features[order[(s - 1) // ROUNDS]],
    )
