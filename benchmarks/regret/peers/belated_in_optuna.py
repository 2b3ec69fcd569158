"""The default inside Optuna: BelatedSampler, told what the default is told."""

from __future__ import annotations

from belated.integrations.optuna import BelatedSampler
from belated.settings import RegretKind
from belated.simulation.simulate import Chooser
from belated.simulation.task import Task
from benchmarks.regret.peers._optuna import asking

NAME = "default in Optuna"
NEEDS = ("optuna",)
INSIDE = "optuna"


def chooser(task: Task, seed: int, counts: RegretKind) -> Chooser:
    return asking(task, BelatedSampler(silence="unknown", regret=counts, seed=seed))
