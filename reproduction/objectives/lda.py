"""Beyond the paper: online LDA on a grid, whose running times are recorded. Real delays that depend on the input.

f       perplexity on held-out documents, to be minimised: from 5258 (the floor) to 1266
d       how long the configuration ran, in seconds: 1.8 to 10 hours
kappa   how fast a step's weight falls; tau slows the first steps; S documents make a minibatch

tau and S are powers of four in the table, and equally spaced here: by their logarithms to base 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from belated.learner.arrays import Array
from belated.learner.delays.distributions import ByInput
from belated.simulation.task import Task
from belated.space.points import Points
from reproduction.download import find_dataset

NAMES = ("kappa", "log2_tau", "log2_S")


@cache
def load_table() -> Array:
    """(288, 5): kappa, log2 tau, log2 S, perplexity, seconds."""
    rows = np.loadtxt(find_dataset("lda_on_grid.csv.gz"), delimiter=",", skiprows=1)
    rows[:, 1:3] = np.log2(rows[:, 1:3])
    return rows


def make_task(seed: int) -> Task:
    """The same for every seed, and its delays too."""
    rows = load_table()
    known = {tuple(row[:3]): (row[3], row[4]) for row in rows.tolist()}

    def key(params: Mapping[str, float]) -> tuple[float, ...]:
        return tuple(params[name] for name in NAMES)

    return Task(
        space=Points(rows[:, :3], NAMES),
        f=lambda params: known[key(params)][0],
        best=float(rows[:, 3].min()),
        floor=float(rows[:, 3].max()),
        ceiling=float(rows[:, 3].min()),
        goal="minimize",
        delay=ByInput(lambda params: known[key(params)][1]),
    )
