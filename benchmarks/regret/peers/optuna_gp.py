"""Optuna's GPSampler: qLogEI, the trials that run integrated over."""

from __future__ import annotations

import optuna

from belated.simulation.simulate import Chooser
from belated.simulation.task import Task
from benchmarks.regret.peers._optuna import asking

NAME = "Optuna GP"
NEEDS = ("optuna", "torch")


def chooser(task: Task, seed: int) -> Chooser:
    return asking(task, optuna.samplers.GPSampler(seed=seed))
