"""A finite Q: the prior on it, and the table that is kept from ask to ask.

V   L⁻¹ k(X, Q), a row per query                                 (n, |Q|)
R   R Rᵀ = k(Q, Q), for drawing                                   (|Q|, |Q|)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from belated.errors import NotPositiveDefinite
from belated.learner.arrays import Array
from belated.learner.gp.factor import BLOCK, Factor
from belated.learner.gp.kernels import Kernel

JITTERS = (0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4)  # relative to the diagonal; jitter is extra λ


def compute_root(K: Array, scale: float | None = None) -> Array:
    """Lower triangular R with R Rᵀ = K, with the least jitter (relative to `scale`, or to K) that makes it work."""
    if scale is None:
        scale = float(np.mean(np.diag(K))) if len(K) else 0.0
    for jitter in JITTERS:
        try:
            R = np.linalg.cholesky(K + (jitter * scale) * np.eye(len(K)))
        except np.linalg.LinAlgError:
            continue
        if np.all(np.isfinite(R)):  # cholesky of NaN gives NaN and does not raise
            return np.asarray(R, dtype=np.float64)
    raise NotPositiveDefinite


@dataclass(frozen=True, eq=False)
class Prior:
    """A kernel on a finite Q: what every table and every exact draw over Q starts from."""

    kernel: Kernel
    Q: Array

    @cached_property
    def variance(self) -> Array:
        return self.kernel.diag(self.Q)

    @cached_property
    def root(self) -> Array:
        """R with R Rᵀ = k(Q, Q); O(|Q|³), once per hyperparameters and only when something is drawn."""
        return compute_root(self.kernel(self.Q, self.Q), self.kernel.variance)

    @cached_property
    def _index(self) -> dict[bytes, int]:
        return {q.tobytes(): i for i, q in enumerate(self.Q)}

    def find(self, x: Array) -> int:
        """The index of x in Q, -1 when it is not there."""
        return self._index.get(x.tobytes(), -1)


@dataclass(frozen=True, eq=False)
class Table:
    """V = L⁻¹k(X, Q) for a finite Q, and the posterior variance: an ask over Q needs no solve."""

    prior: Prior
    variance: Array  # σ²(q), before clipping                     (|Q|,)
    base: Array  # the same at the start of the newest block of rows
    n: int
    room: Array  # V, with space for more rows
    places: NDArray[np.intp]  # where each row's x is in Q, likewise

    @classmethod
    def empty(cls, kernel: Kernel, Q: Array) -> Table:
        prior = Prior(kernel, Q)
        return cls(prior, prior.variance, prior.variance, 0, np.empty((32, len(Q))), np.empty(32, dtype=np.intp))

    @property
    def Q(self) -> Array:
        return self.prior.Q

    @property
    def V(self) -> Array:
        return self.room[: self.n]

    @property
    def where(self) -> NDArray[np.intp]:
        """The index in Q of every x so far; -1 for one that is not in Q."""
        return self.places[: self.n]

    def extend(self, X: Array, factor: Factor) -> Table:
        """The table of all rows of a factor that has grown from this one's: by rows and by full blocks, as it does."""
        table = self
        while table.n < factor.n:
            start = table.n // BLOCK * BLOCK
            if start < factor.start:  # this block is full now: compute it as a whole, from its first row
                block = factor.full[start // BLOCK]
                k = self.prior.kernel(X[start : start + BLOCK], self.Q)
                new = block.solve(k - block.left @ table.room[:start] if start else k, transposed=False)
                table = table.cut(start)._append(new, X[start : start + BLOCK])
            else:
                table = table._append_rows(X, factor)
        return table

    def _append_rows(self, X: Array, factor: Factor) -> Table:
        """The rows of the newest block one by one: v = (k(x, Q) - row · V) / pivot, where (row, pivot) is the factor's
        row of x."""
        table = self._reserve(factor.n)
        room = table.room
        for i, k in enumerate(self.prior.kernel(X[self.n : factor.n], self.Q), start=self.n):
            row = factor.row(i)
            room[i] = (k - row[:-1] @ room[:i]) / row[-1] if i else k / row[-1]
        return table._append(room[self.n : factor.n], X[self.n : factor.n])

    def _reserve(self, n: int) -> Table:
        """The same with memory for n rows."""
        if n <= len(self.room):
            return self
        return replace(self, room=np.resize(self.room, (2 * n, len(self.Q))), places=np.resize(self.places, 2 * n))

    def _append(self, new: Array, X: Array) -> Table:
        end = self.n + len(new)
        table = self._reserve(end)
        room, places = table.room, table.places
        room[self.n : end], places[self.n : end] = new, [self.prior.find(x) for x in X]
        variance = self.variance
        for v in new:  # one by one, for the same bits
            variance = variance - v * v
        base = variance if end % BLOCK == 0 else self.base
        return Table(self.prior, variance, base, end, room, places)

    def cut(self, n: int) -> Table:
        """The table of the first n rows, in a copy of the memory: later rows will be overwritten."""
        if n == self.n:
            return self
        variance = base = self.prior.variance
        for i, v in enumerate(self.room[:n]):
            base = variance if i % BLOCK == 0 else base
            variance = variance - v * v
        base = variance if n % BLOCK == 0 else base
        return Table(self.prior, variance, base, n, self.room.copy(), self.places.copy())
