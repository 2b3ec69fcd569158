"""An optimisation task: a noise-free objective, its space, and the optimum that regret is measured against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from belated.execution.evaluate import ObjectiveFunction
from belated.learner.delays.distributions import Delay
from belated.settings import Declared
from belated.validation import Params


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """One objective; a new one for each seed where it is random (`Callable[[int], Task]`)."""

    space: Declared
    f: ObjectiveFunction  # f(params), or f(params, context); raises belated.Infeasible where there is no value
    best: float | Callable[[Params], float] | None  # the best of f, in a context; None: the best over a finite space
    floor: float = 0.0  # the worst value of f
    ceiling: float = 1.0  # the best value it could have
    goal: Literal["maximize", "minimize"] = "maximize"
    noise: float = 0.0  # standard deviation, added to f
    context: Declared | None = None
    context_of: Callable[[int], Params] | None = None  # the context of round s = 1, 2, ...
    delay: Delay | None = None  # where the delays belong to the data, in seconds
