"""Random search: uniform on the space (on the log scale where a parameter has one); the pending do not matter to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated import Study
from belated.simulation.simulate import Chooser
from belated.simulation.task import Task
from belated.space.encoding import Space

NAME = "random"
NEEDS = ()


def chooser(task: Task, seed: int) -> Chooser:
    space = Space.of(task.space)
    domain: Any = space.domain

    def choose(study: Study) -> dict[str, Any]:
        rng = np.random.default_rng([seed, study.rounds + 1, 4])  # 4: nobody else's stream
        return space.decode(domain.place(rng.random((1, len(space.names))))[0])

    return choose
