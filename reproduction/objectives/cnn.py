"""CNN on MNIST: validation accuracy by batch size, learning rate and decay, from a table of trained networks.

b       batch size                        128 ... 512
η       learning rate                     1e-6 ... 1
decay   of the learning rate, see networks   1e-6 ... 1

A training takes half a minute, so accuracies are tabulated on a grid and interpolated linearly in b, log η, log decay.
The objective is the mean over SEEDS trainings. `python -m reproduction.objectives.cnn` makes the table; `train_one`
trains a single network.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from belated.learner.arrays import Array
from belated.simulation.task import Task
from belated.space.parameters import Integer, Real

SEEDS = 3
BATCH = (128, 192, 256, 384, 512)
RATE = (
    *(1e-6, 1e-5, 3e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 3e-3, 5e-3, 7e-3, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.065),
    *(0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
)
DECAY = (
    *(1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5),
    *(0.6, 0.7, 0.8, 0.9, 1.0),
)
TOGETHER = 256  # networks side by side when tabulating


def train_one(params: Mapping[str, Any], seed: int = 0) -> float:
    """Train one network and see."""
    from reproduction.objectives.networks import train_networks

    rate, decay = np.array([params["rate"]]), np.array([params["decay"]])
    return float(train_networks(int(params["batch"]), rate, decay, seed)[0])


@cache
def load_table() -> Array:
    """Accuracies of the trained networks                         (SEEDS, |BATCH|, |RATE|, |DECAY|)."""
    with (files("reproduction.objectives") / "cnn.npz").open("rb") as file:
        return np.asarray(np.load(file)["accuracy"], dtype=float)


def _locate(grid: Array, at: float) -> tuple[int, float]:
    """The cell of a grid that holds a value, and how far along it is."""
    i = int(np.clip(np.searchsorted(grid, at, side="right") - 1, 0, len(grid) - 2))
    return i, float((at - grid[i]) / (grid[i + 1] - grid[i]))


def interpolate_accuracy(params: Mapping[str, Any]) -> float:
    """The mean accuracy of SEEDS trainings, interpolated."""
    values = load_table().mean(axis=0)
    for grid, at in (
        (np.array(BATCH, dtype=float), float(params["batch"])),
        (np.log(RATE), float(np.log(params["rate"]))),
        (np.log(DECAY), float(np.log(params["decay"]))),
    ):
        i, share = _locate(grid, at)
        values = (1.0 - share) * values[i] + share * values[i + 1]
    return float(values)


def make_task(seed: int) -> Task:
    """The same for every seed; with the best accuracy taken as 1, regret is the validation error."""
    space: dict[str, Integer | Real] = {"batch": Integer(128, 512), "rate": Real(1e-6, 1), "decay": Real(1e-6, 1)}
    return Task(space=space, f=interpolate_accuracy, best=1.0)


def train_grid(device: str) -> Array:
    """Train every network of the grid."""
    from reproduction.objectives.networks import train_networks

    rates, decays = (grid.ravel() for grid in np.meshgrid(RATE, DECAY, indexing="ij"))
    made = np.empty((SEEDS, len(BATCH), len(rates)))
    for seed in range(SEEDS):
        for i, b in enumerate(BATCH):
            for start in range(0, len(rates), TOGETHER):
                these = slice(start, start + TOGETHER)
                made[seed, i, these] = train_networks(b, rates[these], decays[these], seed, device)
            sys.stderr.write(f"seed {seed}, batch size {b}: best {made[seed, i].max():.4f}\n")
    return made.reshape(SEEDS, len(BATCH), len(RATE), len(DECAY))


if __name__ == "__main__":
    place, device = sys.argv[1:]  # e.g. reproduction/objectives/cnn.npz cuda
    np.savez_compressed(place, accuracy=train_grid(device).astype(np.float32))
