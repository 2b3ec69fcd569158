"""Many rows as a few: what is kept of the oldest rows of a belief that has too many for one factor.

X, Λ   the rows that are summarised, and the noise variance of each                  (n, D), (n,)
Z      centres: some of these rows, spread over them                                 (M, D)
R      R Rᵀ = k(Z, Z), lower triangular                                              (M, M)
V      R⁻¹ k(Z, X): how f(x) follows from R⁻¹ f(Z)                                   (M, n)
r      what f(Z) leaves of the variance of f(x); it counts as noise of that row      (n,)
G      Σ v vᵀ / (Λ + r), what the rows say about R⁻¹ f(Z)                            (M, M)
b      Σ v (y - mean) / (Λ + r)                                                      (M,)

Together the rows say as much about f(Z) as M outcomes R G⁻¹ b with the noise covariance R G⁻¹ Rᵀ (FITC; Snelson and
Ghahramani 2006). So the rest of a belief needs to know nothing of it: a summary is M rows with noise of their own. The
newest rows are not summarised, nor are a few of which the centres say too little (aside.py): these are taken out of G
and b again. With as many centres as rows the belief is the exact one.

G and b are sums over blocks of rows, and G of those over chunks of blocks, always in the same order: the same rows give
the same bits. A chunk needs to know nothing of the others, so it may be summed up anywhere (`RowChunk`, `sum_chunk`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, lapack, solve_triangular

from belated.errors import NotPositiveDefinite
from belated.learner.arrays import Array, Indices
from belated.learner.gp.aside import choose_aside
from belated.learner.gp.factor import Factor
from belated.learner.gp.kernels import Kernel
from belated.learner.gp.table import compute_root

CLOSE = 0.003  # of the noise: as many centres as leave this share of it to the rows, on average
TRIED = (64, 128, 256, 384, 512, 768, 1024, 1280)  # numbers of centres, before the largest one
LOOKED_AT = 10_000  # rows that centres are chosen of, spread evenly
COMPARED = 2000  # of these, rows that say whether there are enough
APART = 1e-9  # squared distance, in lengthscales, of two centres at least: below it is rounding
LEAST = 1e-10  # noise of a row, relative to the prior's variance: what is summarised is not quite without noise
KEPT = 3  # summaries: of the heard, of the belief, and one that they grow from


@dataclass(frozen=True)
class Sizes:
    """How many rows make a belief exact, and what it is made of beyond."""

    exact: int = 2000  # different queries up to which nothing is summarised
    centres: int = 1536  # at most
    newest: int = 256  # rows that are never summarised
    block: int = 128  # rows that are summarised together
    aside: int = 128  # old rows, of which the centres say too little, that are not summarised: at most
    chunk: int = 64  # blocks that are summed up before they are added to the others: 8,192 rows
    pairs: int = 4000  # of a listed query and a context, up to which nothing is summarised either
    merged: int = 2048  # outcomes of pairs are merged up to a multiple of this number (listed.py)
    step: int = 128  # outcomes after these that are taken in together

    def count_summarised(self, n: int, pairs: int = 0) -> int:
        """How many of n rows, from the first on; `pairs`: how many different ones there can be, 0: very many."""
        exact = max(self.exact, self.pairs) if 0 < pairs <= self.pairs else self.exact
        return 0 if n <= exact else (n - self.newest) // self.block * self.block


SIZES = Sizes()


def choose_centres(kernel: Kernel, X: Array, lams: Array, most: int, close: float = CLOSE) -> Indices:
    """Rows that stand for all: each as far as possible from those before it, as many as the noise calls for: `close` is
    the share of it that they may leave to the rows, on average."""
    some = _spread_evenly(len(X), LOOKED_AT)
    X, lams = X[some], lams[some]
    order = _order_by_distance(X / kernel.lengthscales(X.shape[1]), min(most, len(X)))
    compared = _spread_evenly(len(X), COMPARED)
    for count in (*(size for size in TRIED if size < len(order)), len(order)):
        Z = X[order[:count]]
        V = solve_triangular(_compute_root(kernel, Z), kernel(Z, X[compared]), lower=True)
        left = np.maximum(kernel.variance - np.sum(np.square(V), axis=0), 0.0)
        if np.mean(left / lams[compared]) <= close:
            break
    return np.asarray(some[order[:count]])


def _spread_evenly(n: int, most: int) -> Indices:
    return np.linspace(0, n - 1, min(n, most)).round().astype(np.intp)


def _order_by_distance(X: Array, count: int) -> Indices:
    """Rows from the first on, each the farthest from those before it; no row twice, nor its equal."""
    order, nearest, squares = [0], np.full(len(X), np.inf), np.sum(np.square(X), axis=1)
    while True:
        x = X[order[-1]]
        nearest = np.minimum(nearest, squares - 2.0 * (X @ x) + x @ x)
        farthest = int(np.argmax(nearest))
        if len(order) >= count or not nearest[farthest] > APART:
            return np.array(order, dtype=np.intp)
        order.append(farthest)


def _compute_root(kernel: Kernel, Z: Array) -> Array:
    """R, in the order of LAPACK, which would copy it at every use."""
    return np.asfortranarray(compute_root(kernel(Z, Z), kernel.variance))


@dataclass(frozen=True, eq=False)
class BlockSum:
    """b of a block of rows, for some outcomes less the mean."""

    y: Array
    b: Array


@dataclass(frozen=True, eq=False)
class RowChunk:
    """Rows to be summed up, with all that this needs."""

    kernel: Kernel
    Z: Array
    X: Array
    lams: Array
    y: Array  # outcomes less the mean
    block: int


@dataclass(frozen=True, eq=False)
class ChunkSum:
    """What the rows of a chunk come to."""

    G: Array  # its lower triangle
    place: Indices
    left: Array
    sums: tuple[BlockSum, ...]


def sum_chunk(chunk: RowChunk) -> ChunkSum:
    """G of a chunk's rows, b of its blocks, and for each row its nearest centre and r; in this process or another."""
    return _sum_blocks(chunk, _compute_root(chunk.kernel, chunk.Z), np.zeros((len(chunk.Z),) * 2))


def _sum_blocks(chunk: RowChunk, root: Array, G: Array) -> ChunkSum:
    """The same with R, added to the G of rows before."""
    G, places, lefts, sums = np.array(G, order="F"), [], [], []
    for start in range(0, len(chunk.X), chunk.block):
        rows = slice(start, start + chunk.block)
        V, noise, left, place = _project(chunk.kernel, chunk.Z, root, chunk.X[rows], chunk.lams[rows])
        places.append(place)
        lefts.append(left)
        sums.append(BlockSum(chunk.y[rows].copy(), V @ (chunk.y[rows] / noise)))
        V /= np.sqrt(noise)
        G = blas.dsyrk(1.0, V, beta=1.0, c=G, lower=1, overwrite_c=1)
    return ChunkSum(G, np.concatenate(places), np.concatenate(lefts), tuple(sums))


def _project(kernel: Kernel, Z: Array, root: Array, X: Array, lams: Array) -> tuple[Array, Array, Array, Indices]:
    """V, Λ + r, r, and the nearest centre of some rows."""
    lams = np.maximum(lams, LEAST * kernel.variance)
    K = kernel(X, Z)
    V = blas.dtrsm(1.0, root, K.T, lower=1)
    left = np.maximum(kernel.variance - np.sum(np.square(V), axis=0), 0.0)
    return V, lams + left, left, np.argmax(K, axis=1)


ChunkRunner = Callable[[Callable[[RowChunk], ChunkSum], Iterable[RowChunk]], Iterable[ChunkSum]]  # as map does it


@dataclass(frozen=True, eq=False)
class Average:
    """What was computed of some outcomes: b of the blocks that they fill, and what these say of f(Z)."""

    y: Array
    b: Array
    mean: Array


class FurtherRows(NamedTuple):
    """What more rows come to."""

    sums: CentreSums
    place: Indices  # the centre that is nearest to each of them
    left: Array  # r
    blocks: list[BlockSum]


class OtherRows(NamedTuple):
    """What is left of some rows once others are taken out."""

    sums: CentreSums  # not to be extended
    weights: Array  # v / (Λ + r) of those that are out                                                       (M, k)


@dataclass(frozen=True, eq=False)
class CentreSums:
    """What some rows say about f at the centres, without the rows themselves. `extend` returns that of more rows."""

    kernel: Kernel
    Z: Array
    root: Array  # R
    whole: Array  # G of the chunks that are complete
    newest: Array  # G of the blocks after them
    count: int  # of the rows
    sizes: Sizes

    @classmethod
    def begin(cls, kernel: Kernel, Z: Array, sizes: Sizes) -> CentreSums:
        """The sums of no row."""
        nothing = np.zeros((len(Z), len(Z)))
        return cls(kernel, Z, _compute_root(kernel, Z), nothing, nothing, 0, sizes)

    def extend(self, X: Array, lams: Array, y: Array, run: ChunkRunner | None = None) -> FurtherRows:
        """The sums of its rows and of these, which come after them, with their outcomes less the mean.

        `run` sums up the chunks, in order as `map` does; None: here, one after the other."""
        n, length, nothing = self.count, self.sizes.block * self.sizes.chunk, np.zeros_like(self.root)
        bounds = [0, *range(length - n % length, len(X), length), len(X)]
        chunks = [
            RowChunk(self.kernel, self.Z, X[start:end], lams[start:end], y[start:end], self.sizes.block)
            for start, end in pairwise(bounds)
        ]
        begun = 1 if n % length else 0  # a chunk of which some rows are summed up already
        further = chunks[begun:]
        rest = run(sum_chunk, further) if run else (_sum_blocks(each, self.root, nothing) for each in further)
        whole, newest, blocks = self.whole, self.newest, list[BlockSum]()
        places, lefts = list[Indices](), list[Array]()
        for done in chain((_sum_blocks(each, self.root, newest) for each in chunks[:begun]), rest):
            newest = done.G
            places.append(done.place)
            lefts.append(done.left)
            blocks.extend(done.sums)
            n += len(done.place)
            if n % length == 0:
                whole, newest = whole + newest, nothing
        sums = replace(self, whole=whole, newest=newest, count=n)
        return FurtherRows(sums, np.concatenate(places), np.concatenate(lefts), blocks)

    def take_out(self, X: Array, lams: Array) -> OtherRows:
        """The sums without some of their rows."""
        V, noise, _, _ = _project(self.kernel, self.Z, self.root, X, lams)
        weights = V / noise
        return OtherRows(replace(self, newest=self.newest - weights @ V.T) if len(X) else self, weights)

    def sum_block(self, X: Array, lams: Array, y: Array) -> BlockSum:
        """b of a block of its rows, with other outcomes."""
        V, noise, _, _ = _project(self.kernel, self.Z, self.root, X, lams)
        return BlockSum(y.copy(), V @ (y / noise))

    @cached_property
    def _root_of_G(self) -> Array:
        G = self.whole + self.newest
        return np.asfortranarray(compute_root(np.tril(G) + np.tril(G, -1).T))

    @cached_property
    def noise(self) -> Array:
        """R G⁻¹ Rᵀ."""
        T = blas.dtrsm(1.0, self._root_of_G, self.root.T, lower=1)
        noise = T.T @ T
        if not np.all(np.isfinite(noise)):
            raise NotPositiveDefinite
        return np.asarray(noise)

    @cached_property
    def factor(self) -> Factor:
        """L Lᵀ = k(Z, Z) + R G⁻¹ Rᵀ."""
        return Factor.compute(self.kernel(self.Z, self.Z) + self.noise)

    def average(self, b: Array) -> Array:
        """R G⁻¹ b: what the rows say of f(Z)                                                               (M,)."""
        return np.asarray(self.root @ lapack.dpotrs(self._root_of_G, b, lower=1)[0])


@dataclass(frozen=True, eq=False)
class RowSummary:
    """Some rows, and what they say about f at the centres. `extend` returns a longer one."""

    sums: CentreSums
    X: Array
    lams: Array
    place: Indices  # the centre that is nearest to each row                  (n,)
    left: Array  # r                                                          (n,)
    blocks: dict[int, BlockSum] = field(default_factory=dict)  # kept from belief to belief
    averages: list[Average] = field(default_factory=list)  # the last one

    @classmethod
    def begin(cls, kernel: Kernel, Z: Array, sizes: Sizes) -> RowSummary:
        """A summary of no row."""
        return cls(CentreSums.begin(kernel, Z, sizes), Z[:0], np.empty(0), np.empty(0, dtype=np.intp), np.empty(0))

    def is_around(self, kernel: Kernel, Z: Array) -> bool:
        """Whether these are its centres."""
        return self.sums.kernel == kernel and np.array_equal(self.sums.Z, Z)

    def begins(self, X: Array, lams: Array) -> bool:
        """Whether its rows are the first of these."""
        n = len(self.X)
        return n <= len(X) and np.array_equal(self.lams, lams[:n]) and np.array_equal(self.X, X[:n])

    def extend(self, X: Array, lams: Array, y: Array, run: ChunkRunner | None = None) -> RowSummary:
        """The summary of all of these rows, which begin with its own, with their outcomes less the mean; `run` as in
        CentreSums."""
        n = len(self.X)
        more, blocks = self.sums.extend(X[n:], lams[n:], y[n:], run), dict(self.blocks)
        place, left = np.concatenate([self.place, more.place]), np.concatenate([self.left, more.left])
        blocks.update(enumerate(more.blocks, n // more.sums.sizes.block))
        return RowSummary(more.sums, X, lams, place, left, blocks, list(self.averages))

    @cached_property
    def aside(self) -> Indices:
        """The rows that stay as they are."""
        return choose_aside(self.left, self.lams, self.sums.kernel.variance, self.sums.sizes.aside)

    @cached_property
    def others(self) -> OtherRows:
        """What is summarised: the rows without those."""
        return self.sums.take_out(self.X[self.aside], self.lams[self.aside])

    def sum_outcomes(self, y: Array) -> Array:
        """b of all rows, for their outcomes less the mean                                                  (M,)."""
        return self._average(y).b

    def average(self, y: Array) -> Array:
        """R G⁻¹ b: what is summarised says of f(Z), for the outcomes of all rows less the mean             (M,)."""
        return self._average(y).mean

    def _average(self, y: Array) -> Average:
        b, first, length = np.zeros(len(self.sums.Z)), 0, self.sums.sizes.block
        if self.averages and np.array_equal(self.averages[0].y, y[: len(self.averages[0].y)]):
            known = self.averages[0]
            if len(known.y) == len(y):
                return known
            b, first = known.b, len(known.y) // length
        for i, start in enumerate(range(first * length, len(y), length), first):
            rows = slice(start, start + length)
            if i not in self.blocks or not np.array_equal(self.blocks[i].y, y[rows]):
                self.blocks[i] = self.sums.sum_block(self.X[rows], self.lams[rows], y[rows])
            b = b + self.blocks[i].b
        average = Average(y.copy(), b, self.others.sums.average(b - self.others.weights @ y[self.aside]))
        self.averages[:] = [average]
        return average


@dataclass(frozen=True, eq=False)
class FirstCentres:
    """Centres that were chosen of some rows, where no fit has chosen any."""

    kernel: Kernel
    X: Array
    lams: Array
    rows: Indices

    def are_of(self, kernel: Kernel, X: Array, lams: Array) -> bool:
        return kernel == self.kernel and np.array_equal(self.X, X) and np.array_equal(self.lams, lams)


@dataclass
class SummaryStore:
    """The summaries of the last beliefs, so that the next ones grow from them; a fresh start gives the same."""

    sizes: Sizes = field(default_factory=lambda: SIZES)
    kept: list[RowSummary] = field(default_factory=list)
    first: FirstCentres | None = None
    run: ChunkRunner | None = None  # what sums up the chunks; None: this process

    @contextmanager
    def sum_up_by(self, run: ChunkRunner) -> Iterator[None]:
        """Inside, chunks are summed up by `run`."""
        self.run = run
        try:
            yield
        finally:
            self.run = None

    def summarise(self, kernel: Kernel, X: Array, lams: Array, y: Array, centres: Indices) -> RowSummary:
        """The summary of these rows around some of them; without centres, they are chosen of the first rows.

        y   their outcomes less the mean, so that their sums are computed together with the rest"""
        Z = X[centres if len(centres) else self._choose_first(kernel, X, lams)]
        own = [each for each in self.kept if each.is_around(kernel, Z) and each.begins(X, lams)]
        longest = max(own, key=lambda each: len(each.X)) if own else RowSummary.begin(kernel, Z, self.sizes)
        summary = longest if len(longest.X) == len(X) else longest.extend(X, lams, y, self.run)
        self.kept = [summary, *(each for each in self.kept if each is not summary)][:KEPT]
        return summary

    def _choose_first(self, kernel: Kernel, X: Array, lams: Array) -> Indices:
        few = self.sizes.count_summarised(self.sizes.exact + 1)
        X, lams = X[:few], lams[:few]
        if self.first is None or not self.first.are_of(kernel, X, lams):
            rows = choose_centres(kernel, X, lams, self.sizes.centres)
            self.first = FirstCentres(kernel, X, lams, rows)
        return self.first.rows


def find_rows(numbers: Sequence[int], ids: Indices, place: Indices, count: int) -> Indices:
    """Which of the first rows, `count` of them, the outcomes of some numbers belong to; those that are there."""
    rows = place[np.isin(ids, np.asarray(numbers, dtype=np.intp))]
    return np.unique(rows[rows < count])
