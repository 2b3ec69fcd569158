"""BoTorch's qLogNoisyExpectedImprovement with X_pending."""

from __future__ import annotations

from botorch.acquisition.logei import qLogNoisyExpectedImprovement

from belated.simulation.simulate import Chooser
from belated.simulation.task import Task
from benchmarks.regret.peers._botorch import asking

NAME = "BoTorch qLogNEI"
NEEDS = ("botorch", "gpytorch", "torch")


def chooser(task: Task, seed: int) -> Chooser:
    return asking(task, seed, lambda m, X, pending: qLogNoisyExpectedImprovement(m, X_baseline=X, X_pending=pending))
