"""The factor L Lᵀ = K + λI, grown a row per query and never downdated.

n      rows so far
k      k(x_new, x_1 … x_n)                                          (n,)
kappa  k(x_new, x_new) + λ
B      rows of a block; L is kept in blocks of rows
left   L of a block's rows, in the columns of earlier blocks        (B, start)
corner L of a block's rows in its own columns, packed by rows       B(B+1)/2 numbers

Packed by rows, a corner is what LAPACK calls the packed upper triangle of its transpose: an append is a contiguous
write, and one BLAS call solves with it. A late outcome changes y and never K, so telling never touches L.

The newest block grows row by row. When it is full it is computed again as a whole, by matrix products, so that many
rows at once cost as much as a blocked factorisation. Bit for bit, a factor depends only on its rows, and not on the
order of calls that built it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import blas, lapack

from belated.errors import NotPositiveDefinite
from belated.learner.arrays import Array

BLOCK = 256
LEAST = 1e-12  # a pivot below this share of the diagonal is rounding, after some hundreds of subtractions


def packed_size(n: int) -> int:
    return n * (n + 1) // 2


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of L."""

    left: Array
    corner: Array
    rows: int

    @cached_property
    def upper(self) -> Array:
        """The corner's transpose as a full triangle in Fortran order, for many right-hand sides."""
        full: Array = lapack.dtpttr(self.rows, self.corner, uplo="U")[0]
        return full

    @cached_property
    def inverse(self) -> Array:
        """corner⁻¹, as a full matrix: products with it are faster than solving for few right-hand sides."""
        inverse, failed = lapack.dtrtri(self.upper)
        if failed:
            raise NotPositiveDefinite
        return np.asarray(np.triu(inverse).T)

    def solve(self, b: Array, *, transposed: bool) -> Array:
        """corner⁻¹ b, or corner⁻ᵀ b, for b (rows,) or (rows, q) in C order."""
        if b.ndim == 1:
            return np.asarray(blas.dtpsv(self.rows, self.corner, b, lower=0, trans=0 if transposed else 1))
        # bᵀ is in Fortran order as it is: solving x Lᵀ = bᵀ from the right saves BLAS a copy
        return np.asarray(blas.dtrsm(1.0, self.upper, b.T, side=1, lower=0, trans_a=1 if transposed else 0).T)


@dataclass
class _Room:
    """Space for the newest block, shared by a factor and those grown from it; `used` counts the rows written."""

    K: Array  # the kernel's rows, for computing the block again   (B, start + B), the diagonal with λ
    left: Array
    corner: Array
    used: int

    @classmethod
    def allocate(cls, start: int) -> _Room:
        return cls(np.empty((BLOCK, start + BLOCK)), np.empty((BLOCK, start)), np.empty(packed_size(BLOCK)), 0)

    def copy(self, used: int) -> _Room:
        return _Room(self.K.copy(), self.left.copy(), self.corner.copy(), used)


@dataclass(frozen=True, eq=False)
class Factor:
    """An immutable L. `grow` and `extend` return longer ones, `cut` a shorter one; they share memory with this one."""

    n: int = 0
    full: tuple[Block, ...] = ()
    _room: _Room | None = None

    @property
    def start(self) -> int:
        """The first row of the newest block."""
        return len(self.full) * BLOCK

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        rows = self.n - self.start
        if not rows or self._room is None:
            return self.full
        return (*self.full, Block(self._room.left[:rows], self._room.corner[: packed_size(rows)], rows))

    @property
    def diagonal(self) -> Array:
        """L_11 … L_nn."""
        ends = [
            block.corner[np.arange(1, block.rows + 1) * np.arange(2, block.rows + 2) // 2 - 1] for block in self.blocks
        ]
        return np.concatenate([np.empty(0), *ends])

    def row(self, i: int) -> Array:
        """L_{i,0} … L_{i,i}."""
        block, r = self.blocks[i // BLOCK], i % BLOCK
        return np.concatenate([block.left[r], block.corner[packed_size(r) : packed_size(r + 1)]])

    def grow(self, k: Array, kappa: float) -> Factor:
        """Append one query in O(n²): the new row is (L⁻¹k, √(kappa - |L⁻¹k|²))."""
        return self._grow_rows(k[None, :], np.array([kappa]))

    def _grow_rows(self, K: Array, kappas: Array) -> Factor:
        """Append some queries one by one, as many as the newest block has room for: row i of K is k of the i-th, which
        looks at n + i numbers of it."""
        start, r = self.start, self.n - self.start
        room = self._room if self._room is not None and r else _Room.allocate(start)
        if room.used != r:  # another factor has grown from here: leave its rows alone
            room = room.copy(r)
        left, corner = room.left, room.corner
        for k, kappa in zip(K, kappas.tolist(), strict=True):
            n, first = start + r, packed_size(r)
            row = np.empty(n)
            for i, block in enumerate(self.full):
                rows = slice(i * BLOCK, (i + 1) * BLOCK)
                b = k[rows] - block.left @ row[: i * BLOCK] if i else k[rows]
                row[rows] = block.solve(b, transposed=False)
            if r:
                b = k[start:n] - left[:r] @ row[:start] if start else k[:n]
                row[start:] = blas.dtpsv(r, corner[:first], b, lower=0, trans=1)
            pivot = kappa - float(row @ row)
            if not pivot > kappa * LEAST:  # written so that NaN fails too
                raise NotPositiveDefinite
            room.K[r, :n], room.K[r, n] = k[:n], kappa
            left[r], corner[first : first + r], corner[first + r] = row[:start], row[start:], math.sqrt(pivot)
            r += 1
        room.used = r
        if r < BLOCK:
            return Factor(start + r, self.full, room)
        return self.cut(start).append_block(room.K)

    def append_block(self, K: Array) -> Factor:
        """Append a full block, where this factor ends with one: K (B, n + B) has its kernel rows, λ on the diagonal."""
        left, packed = self._compute_block(K)
        return Factor(self.n + BLOCK, (*self.full, Block(left, packed, BLOCK)), None)

    def _compute_block(self, K: Array) -> tuple[Array, Array]:
        """`left` and `corner` of the rows after this factor's, from their kernel rows."""
        left = np.ascontiguousarray(self.solve(K[:, : self.n].T).T)
        inner = K[:, self.n :]
        S = np.tril(inner) + np.tril(inner, -1).T - left @ left.T
        corner, failed = lapack.dpotrf(S, lower=1, clean=1)
        ends = np.diag(corner)
        if failed or not np.all(np.square(ends) > np.diag(inner) * LEAST):
            raise NotPositiveDefinite
        packed: Array = lapack.dtrttp(np.asfortranarray(corner.T), uplo="U")[0]
        return left, packed

    @classmethod
    def compute(cls, C: Array) -> Factor:
        """The factor of C (n, n), K with λ on its diagonal, as a whole: to rounding the one that grows row by row."""
        factor = cls()
        while len(C) - factor.n >= BLOCK:
            factor = factor.append_block(C[factor.n : factor.n + BLOCK, : factor.n + BLOCK])
        if factor.n == len(C):
            return factor
        room, rows = _Room.allocate(factor.n), len(C) - factor.n
        room.K[:rows, : len(C)], room.used = C[factor.n :], rows
        room.left[:rows], packed = factor._compute_block(C[factor.n :])
        room.corner[: len(packed)] = packed
        return cls(len(C), factor.full, room)

    def extend(self, K: Array, kappas: Array) -> Factor:
        """Append many queries: K (m, n + m) has their kernel rows, kappas (m,) their diagonal."""
        factor, done = self, 0
        while done < len(K):
            rest = len(K) - done
            if factor.n == factor.start and rest >= BLOCK:
                rows = K[done : done + BLOCK, : factor.n + BLOCK].copy()
                np.fill_diagonal(rows[:, factor.n :], kappas[done : done + BLOCK])
                factor, done = factor.append_block(rows), done + BLOCK
            else:
                end = done + min(rest, BLOCK - (factor.n - factor.start))
                factor, done = factor._grow_rows(K[done:end], kappas[done:end]), end
        return factor

    def count_kept(self, n: int) -> int:
        """How many of the first n rows a shorter factor can keep: a full block is kept whole or not at all."""
        return n if n >= self.start else n // BLOCK * BLOCK

    def cut(self, n: int) -> Factor:
        """The factor of the first n rows, n from `count_kept`."""
        if n == self.n:
            return self
        if n >= self.start:
            return Factor(n, self.full, self._room if n > self.start else None)
        return Factor(n, self.full[: n // BLOCK], None)

    def solve(self, b: Array) -> Array:
        """L⁻¹ b, for b (n,) or (n, q)."""
        b = np.ascontiguousarray(b)
        x = np.empty_like(b)
        for block, start in self._starts():
            end = start + block.rows
            x[start:end] = block.solve(b[start:end] - block.left @ x[:start] if start else b[:end], transposed=False)
        return x

    def solve_transposed(self, b: Array) -> Array:
        """L⁻ᵀ b, for b (n,) or (n, q)."""
        x = b.copy(order="C")
        for block, start in reversed(self._starts()):
            end = start + block.rows
            x[start:end] = block.solve(x[start:end], transposed=True)
            if start:
                x[:start] -= block.left.T @ x[start:end]
        return x

    def solve_rows(self, B: Array) -> Array:
        """L⁻¹ b for each row b of B (q, n), where they are few: by products alone, so to rounding the same."""
        X = np.empty_like(B)
        for block, start in self._starts():
            own = slice(start, start + block.rows)
            X[:, own] = (B[:, own] - X[:, :start] @ block.left.T if start else B[:, own]) @ block.inverse.T
        return X

    def solve_rows_transposed(self, B: Array) -> Array:
        """L⁻ᵀ b for each of them."""
        X = B.copy()
        for block, start in reversed(self._starts()):
            own = X[:, start : start + block.rows] @ block.inverse
            X[:, start : start + block.rows] = own
            if start:
                X[:, :start] -= own @ block.left
        return X

    def _starts(self) -> Sequence[tuple[Block, int]]:
        return [(block, i * BLOCK) for i, block in enumerate(self.blocks)]

    def logdet(self) -> float:
        """log det(K + λI)."""
        return 2.0 * float(np.sum(np.log(self.diagonal)))
