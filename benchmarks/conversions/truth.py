"""The conversion rates of one seed of a world: known to the harness, and to nobody who takes part.

g     Σ_k w_k cos(ω_k · x + φ_k): a sample of a GP with the world's lengthscale, one per segment, brought to [0, 1]
rate  low + (high - low) g², so that few queries are good; in steps, or from one g to another, where the world says so

Items have features as their x. Those with names only lie so far apart that their g are independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from belated.learner.arrays import Array
from benchmarks.conversions.worlds import DAYS, EVERY, Cube, Items, World

FREQUENCIES = 256
GRID = {1: 2001, 2: 101}  # points along each side of a cube, where its best and its mean are looked for
STEPS = 4  # levels of a stepped rate, above the lowest
APART = 1000.0  # between items without features, in lengthscales


@dataclass(frozen=True, eq=False)
class Truth:
    """The rates of a seed. A query is a row: the number of an item, or x."""

    world: World
    places: Array  # (n, d): the features of the items, or a grid of x
    curves: tuple[Callable[[Array], Array], ...]  # g of the first day, and of the last if the world drifts

    def locate(self, queries: Array) -> Array:
        """The places of queries (n, 1 or d)."""
        return queries if isinstance(self.world.shown, Cube) else self.places[queries[:, 0].astype(int)]

    def rates(self, queries: Array, segments: NDArray[np.int64], day: int) -> Array:
        """The rate of each query in its segment."""
        return np.asarray(self.rates_at(self.locate(queries), day)[np.arange(len(queries)), segments])

    def best(self, day: int) -> Array:
        """The best rate of each segment."""
        return np.asarray(list_rates(self, day if self.world.drifts else 0).max(axis=0))

    def average(self, day: int) -> Array:
        """The expected rate of a random query, by segment."""
        return np.asarray(list_rates(self, day if self.world.drifts else 0).mean(axis=0))

    def rates_at(self, places: Array, day: int) -> Array:
        """The rate at each place in each segment: (n, segments)."""
        first, last = self.curves[0](places), self.curves[-1](places)
        g = np.clip(first + (last - first) * day / (DAYS - 1), 0.0, 1.0)
        if self.world.stepped:
            g = np.floor(g * (STEPS + 1)).clip(max=STEPS) / STEPS
        return np.asarray(self.world.low + (self.world.high - self.world.low) * g**2)


@cache
def list_rates(truth: Truth, day: int) -> Array:
    """The rates at all places of a truth: (n, segments)."""
    return truth.rates_at(truth.places, day)


@cache
def draw_truth(name: str, seed: int) -> Truth:
    """The truth of a seed, drawn once per process."""
    world = EVERY[name]
    rng = np.random.default_rng([seed, crc32(name.encode()), 0])
    places = _draw_places(world.shown, rng)
    curves = [_draw_curves(world, places, rng) for _ in range(2 if world.drifts else 1)]
    return Truth(world, places, tuple(curves))


def _draw_places(shown: Items | Cube, rng: np.random.Generator) -> Array:
    if isinstance(shown, Cube):
        side = np.linspace(0, 1, GRID[shown.d])
        return np.stack(np.meshgrid(*[side] * shown.d, indexing="ij"), axis=-1).reshape(-1, shown.d)
    if shown.features:
        return rng.random((shown.count, shown.features))
    return np.asarray(APART * np.arange(shown.count)[:, None], dtype=float)


def _draw_curves(world: World, places: Array, rng: np.random.Generator) -> Callable[[Array], Array]:
    """g of all segments: (n, d) -> (n, segments), from 0 to 1 over the places."""
    omega = rng.standard_normal((FREQUENCIES, places.shape[1])) / world.lengthscale
    phase = rng.uniform(0, 2 * np.pi, FREQUENCIES)
    common, own = rng.standard_normal((FREQUENCIES, 1)), rng.standard_normal((FREQUENCIES, world.segments))
    weight = np.sqrt(world.alike) * common + np.sqrt(1 - world.alike) * own

    def sum_up(X: Array) -> Array:
        return np.asarray(np.cos(X @ omega.T + phase) @ weight)

    values = sum_up(places)
    low, high = values.min(axis=0), values.max(axis=0)
    return lambda X: (sum_up(X) - low) / (high - low)
