"""Beyond the paper: tuning a convolution kernel on six GPUs. Real delays, contexts, and queries that fail.

f         log2 of the kernel's time in milliseconds, to be minimised: a regret of 1 is twice as slow as need be.
          A configuration that the GPU refused has no value: Infeasible
d         what it took to compile and to measure it, in seconds
context   the GPU. They take turns, round by round, so that each can learn from the others

The floor is the slowest time on any GPU, the ceiling the fastest; regret is against the fastest on the round's GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from belated.errors import Infeasible
from belated.learner.arrays import Array
from belated.learner.delays.distributions import ByInput
from belated.simulation.task import Task
from belated.space.parameters import Choice
from belated.space.points import Points
from reproduction.download import find_dataset

COLUMNS = ("block_size_x", "block_size_y", "tile_size_x", "tile_size_y", "read_only", "use_padding", "use_shmem")
DOUBLING = "block_size_y"  # its values are powers of two: equally spaced by their logarithms
NAMES = tuple(f"log2_{name}" if name == DOUBLING else name for name in COLUMNS)


class KernelTable(NamedTuple):
    """4,362 configurations on 6 GPUs."""

    gpus: tuple[str, ...]
    config: Array  # (4362, 7)
    value: Array  # log2 milliseconds, nan where it failed      (6, 4362)
    delay: Array  # seconds                                    (6, 4362)


@cache
def load_table() -> KernelTable:
    """The table, with block_size_y by its logarithm."""
    with np.load(find_dataset("gpu_convolution.npz")) as file:
        gpus, config = tuple(file["gpu"].tolist()), file["config"].astype(float)
        value = np.log2(file["kernel_time_ms"].astype(float))
        delay = (file["compile_ms"].astype(float) + file["benchmark_ms"]) / 1000
    doubling = COLUMNS.index(DOUBLING)
    config[:, doubling] = np.log2(config[:, doubling])
    return KernelTable(gpus, config, value, delay)


@cache
def _make_space() -> Points:
    return Points(load_table().config.astype(int), NAMES)


def make_task(seed: int) -> Task:
    """The same for every seed, and its delays too."""
    gpus, config, value, delay = load_table()
    column = {tuple(x): i for i, x in enumerate(config.tolist())}
    row = {gpu: j for j, gpu in enumerate(gpus)}

    def locate(params: Mapping[str, Any], context: Mapping[str, Any]) -> tuple[int, int]:
        return row[context["gpu"]], column[tuple(params[name] for name in NAMES)]

    def f(params: Mapping[str, Any], context: Mapping[str, Any]) -> float:
        y = float(value[locate(params, context)])
        if np.isnan(y):
            raise Infeasible(f"the {context['gpu']} does not run this configuration")
        return y

    return Task(
        space=_make_space(),
        f=f,
        best=lambda context: float(np.nanmin(value[row[context["gpu"]]])),
        floor=float(np.nanmax(value)),
        ceiling=float(np.nanmin(value)),
        goal="minimize",
        context={"gpu": Choice(*gpus)},
        context_of=lambda s: {"gpu": gpus[(s - 1) % len(gpus)]},
        delay=ByInput(lambda params, context: float(delay[locate(params, context)])),
    )
