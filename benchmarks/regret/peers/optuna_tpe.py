"""Optuna's TPESampler, its default: the trials that run count as bad ones (constant_liar, on by default since 5.0)."""

from __future__ import annotations

import optuna

from belated.simulation.simulate import Chooser
from belated.simulation.task import Task
from benchmarks.regret.peers._optuna import asking

NAME = "Optuna TPE"
NEEDS = ("optuna",)


def chooser(task: Task, seed: int) -> Chooser:
    return asking(task, optuna.samplers.TPESampler(seed=seed, constant_liar=True))
