"""The factor L Lᵀ = K + λI, grown a row per query and never downdated.

n      rows so far
L      lower triangular, kept packed by rows                      n(n+1)/2 numbers
k      k(x_new, x_1 … x_n)                                         (n,)
kappa  k(x_new, x_new) + λ

Packed by rows, L is what LAPACK calls the packed upper triangle of Lᵀ: an append is a contiguous write, and one BLAS
call solves with it. A late outcome changes y and never K, so telling never touches L. A factor is always grown row by
row, so it depends on its rows alone, bit for bit, and not on how often it was cut and grown again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import blas, lapack

from belated.errors import NotPositiveDefinite
from belated.learner.kernels import Array

LEAST = 1e-12  # a pivot below this share of the diagonal is rounding, after some hundreds of subtractions


def packed_size(n: int) -> int:
    return n * (n + 1) // 2


@dataclass
class _Buffer:
    """Room shared by a factor and those grown from it; `used` says whose end it is."""

    room: Array
    used: int


@dataclass(frozen=True)
class Factor:
    """An immutable L. `grow` returns a longer one, `cut` a shorter one; both share memory with this one."""

    n: int = 0
    _buffer: _Buffer = field(default_factory=lambda: _Buffer(np.empty(packed_size(32)), 0), repr=False)

    @property
    def packed(self) -> Array:
        return self._buffer.room[: packed_size(self.n)]

    @property
    def diagonal(self) -> Array:
        """L_11 … L_nn."""
        return np.asarray(self._buffer.room[np.arange(1, self.n + 1) * np.arange(2, self.n + 2) // 2 - 1])

    def row(self, i: int) -> Array:
        """L_{i,0} … L_{i,i}."""
        return self._buffer.room[packed_size(i) : packed_size(i + 1)]

    def grow(self, k: Array, kappa: float) -> Factor:
        """Append one query in O(n²): the new row is (L⁻¹k, √(kappa - |L⁻¹k|²))."""
        row = self.solve(k)
        pivot = kappa - float(row @ row)
        if not pivot > kappa * LEAST:  # written so that NaN fails too
            raise NotPositiveDefinite
        start, end = packed_size(self.n), packed_size(self.n + 1)
        buffer = self._buffer
        if buffer.used != start or end > len(buffer.room):  # another factor went on from here, or the room is full
            room = np.empty(max(packed_size(32), 2 * end))
            room[:start] = buffer.room[:start]
            buffer = _Buffer(room, start)
        buffer.room[start : end - 1] = row
        buffer.room[end - 1] = np.sqrt(pivot)
        buffer.used = end
        return Factor(self.n + 1, buffer)

    def cut(self, n: int) -> Factor:
        """The factor of the first n rows; growing it again writes a new copy unless it is the newest."""
        return self if n == self.n else Factor(n, self._buffer)

    def solve(self, b: Array) -> Array:
        """L⁻¹ b                                                  (n,)."""
        return blas.dtpsv(self.n, self.packed, b, lower=0, trans=1) if self.n else np.zeros(0)

    def solve_transposed(self, b: Array) -> Array:
        """L⁻ᵀ b                                                  (n,)."""
        return blas.dtpsv(self.n, self.packed, b, lower=0, trans=0) if self.n else np.zeros(0)

    def dense(self) -> Array:
        """Lᵀ as a full upper triangle in Fortran order, for solving with many right-hand sides."""
        upper: Array = lapack.dtpttr(self.n, self.packed, uplo="U")[0]
        return upper

    def logdet(self) -> float:
        """log det(K + λI)."""
        return 2.0 * float(np.sum(np.log(self.diagonal)))
