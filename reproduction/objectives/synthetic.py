"""The paper's synthetic objective (App. C.1): a sample of a rugged GP on a line of points, normalised to [0, 1].

f ~ GP(0, SE with lengthscale 0.02) on 1000 equally spaced points of [0, 1], a new one for every seed
y_s = f(x_s) + 0.01 · N(0, 1): the paper is silent on the noise
"""

from __future__ import annotations

from collections.abc import Mapping

from belated.simulation.samples import sample_function
from belated.simulation.task import Task
from belated.space.points import Points

POINTS, LENGTHSCALE, NOISE = 1000, 0.02, 0.01


def make_task(seed: int) -> Task:
    """The function of a seed."""
    x, f = sample_function(seed)
    values: dict[float, float] = dict(zip(x.tolist(), f.tolist(), strict=True))

    def value(params: Mapping[str, float]) -> float:
        return values[params["x"]]

    return Task(space=Points(x), f=value, best=1.0, noise=NOISE)
