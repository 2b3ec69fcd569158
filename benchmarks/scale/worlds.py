"""What is asked for at every size: a list of 60, a list of 1,000 in three contexts, and two continuous spaces.

X   queries, in the unit cube                                                        (n, d)
Z   contexts, in the unit cube; no columns without                                   (n, c)
y   f + noise; f is Hartmann's sum of four bumps, in the first columns of (Z, X)     (n,)

Of a list, rows are drawn evenly. In a continuous space half of them are, and half lie near the highest bump.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from belated import Choice, Points, Real
from belated.learner.arrays import Array, Indices
from belated.settings import Declared
from benchmarks.regret.functions import A6, ALPHA, P6

NOISE, NEAR = 0.3, 0.08
KINDS = ("new", "loyal", "lapsed")
STUDY = "many"


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcomes:
    """Many trials at once."""

    X: Array
    Z: Array
    y: Array
    items: Indices  # which of the list each query is; empty where there is no list


@dataclass(frozen=True, kw_only=True)
class ScaleWorld:
    """A space, its contexts, and trials in it. The first trials of a larger n are not those of a smaller one."""

    name: str
    d: int
    listed: int = 0  # queries in the list; 0: all of the cube
    kinds: int = 0  # contexts in the list
    c: int = 0  # continuous columns of the context

    @cached_property
    def Q(self) -> Array:
        """The list; empty where there is none                                        (q, d)."""
        return np.random.default_rng(self.listed).random((self.listed, self.d))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"x{i}" for i in range(self.d))

    @property
    def space(self) -> Declared:
        return Points(self.Q, names=self.names) if self.listed else {name: Real(0, 1) for name in self.names}

    @property
    def context(self) -> Declared | None:
        if self.kinds:
            return {"who": Choice(*KINDS[: self.kinds])}
        return {f"z{i}": Real(0, 1) for i in range(self.c)} if self.c else None

    def evaluate(self, Z: Array, X: Array) -> Array:
        """f."""
        columns = np.hstack([Z, X])
        D = columns.shape[1]
        return np.asarray(
            sum(a * np.exp(-np.sum(A6[i, :D] * (columns - P6[i, :D]) ** 2, axis=1)) for i, a in enumerate(ALPHA))
        )

    def draw(self, n: int, seed: int = 0) -> Outcomes:
        """n trials."""
        rng = np.random.default_rng([seed, n])
        items = rng.integers(self.listed, size=n) if self.listed else np.empty(0, dtype=np.intp)
        X = self.Q[items] if self.listed else rng.random((n, self.d))
        if not self.listed:
            columns = self.c + np.arange(self.d)
            near = P6[-1, columns] + NEAR * rng.standard_normal((n // 2, self.d))
            X[: n // 2] = np.clip(near, 0.0, 1.0)
            X = X[rng.permutation(n)]
        Z = rng.integers(self.kinds, size=(n, 1)) / max(self.kinds - 1, 1) if self.kinds else rng.random((n, self.c))
        return Outcomes(X=X, Z=Z, y=self.evaluate(Z, X) + NOISE * rng.standard_normal(n), items=items)

    def params(self, x: Array) -> dict[str, Any]:
        """A query as a study has it."""
        return dict(zip(self.names, x.tolist(), strict=True))

    def context_at(self, z: Array) -> Mapping[str, Any] | None:
        """A context as a study has it."""
        if self.kinds:
            return {"who": KINDS[round(float(z[0]) * (self.kinds - 1))]}
        return {f"z{i}": value for i, value in enumerate(z.tolist())} if self.c else None


WORLDS = {
    world.name: world
    for world in (
        ScaleWorld(name="60 cells", d=2, listed=60),
        ScaleWorld(name="3 x 1,000 items", d=3, listed=1000, kinds=3),
        ScaleWorld(name="d = 6", d=6),
        ScaleWorld(name="d = 4 + context", d=4, c=1),
    )
}
