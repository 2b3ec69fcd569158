"""BoTorch's qUpperConfidenceBound with X_pending, on the same model; beta = 0.2 is its input constructor's default."""

from __future__ import annotations

from botorch.acquisition.monte_carlo import qUpperConfidenceBound

from belated.simulation.simulate import Chooser
from belated.simulation.task import Task
from benchmarks.regret.peers._botorch import asking

NAME = "BoTorch qUCB"
NEEDS = ("botorch", "gpytorch", "torch")


def chooser(task: Task, seed: int) -> Chooser:
    return asking(task, seed, lambda m, X, pending: qUpperConfidenceBound(m, beta=0.2, X_pending=pending))
