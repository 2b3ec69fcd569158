"""Where a query may lie: the set Q (or Z) as the learner sees it, on the unit cube.

A row x is made of coordinates, each with its own columns:
Interval   one column, any u in [0, 1]
Lattice    one column, the integers low … high at u = (k - low) / (high - low), or the same on the log scale
OneHot     `count` columns, 1/√2 for the chosen option and 0 elsewhere: two options are at squared distance 1

X  points, one per row (n, D)       U  one number in [0, 1] per coordinate (n, number of coordinates)
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from belated.errors import InvalidInput
from belated.learner.arrays import Array, Mask

HOT = 1 / math.sqrt(2)
WIDEST = 10**12  # the most steps of a Lattice: beyond it float64 cannot separate the levels of a log scale
ULPS = 8 * np.finfo(np.float64).eps  # the same point, computed twice


@dataclass(frozen=True)
class Interval:
    """Any u in [0, 1]."""

    width = 1
    count = None
    continuous = True

    def place(self, u: Array) -> Array:
        """(n,) -> (n, 1): u itself."""
        return u[:, None]

    def snap(self, X: Array) -> Array:
        """The nearest point of [0, 1]."""
        return np.clip(X, 0.0, 1.0)

    def list_points(self) -> Array:
        """There is no list of all points."""
        raise InvalidInput("an Interval has no list of points")

    def list_neighbours(self, x: Array) -> Array:
        """A continuous coordinate has no neighbours."""
        return np.empty((0, 1))


@dataclass(frozen=True)
class Lattice:
    """The integers low … high; j = k - low counts steps, so that large bounds lose no digits.

    u = j / span, or with log=True u = log(k / low) / log(high / low) = log1p(j / low) / log1p(span / low)."""

    low: int
    high: int
    log: bool = False

    width = 1
    continuous = False

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InvalidInput(f"low must be less than high (got {self.low!r}, {self.high!r})")
        if self.high - self.low > WIDEST:
            raise InvalidInput(f"high - low must be at most 10**12 (got {self.low!r}, {self.high!r})")
        if self.log and self.low < 1:
            raise InvalidInput(f"low must be at least 1 when log=True (got {self.low!r})")

    @property
    def span(self) -> int:
        return self.high - self.low

    @property
    def count(self) -> int:
        return self.span + 1

    def unit(self, k: int) -> float:
        """The position of the integer k in [0, 1]; low is at 0.0 and high at 1.0, exactly."""
        return float(self._positions(np.array([k - self.low], dtype=np.float64))[0])

    def level(self, u: float) -> int:
        """The integer whose position is nearest to u."""
        return self.low + int(self._steps(np.array([u], dtype=np.float64))[0])

    def place(self, u: Array) -> Array:
        """(n,) -> (n, 1): equal shares of u for every level; on the log scale the nearest level."""
        j = self._steps(u) if self.log else np.minimum(np.floor(u * self.count), self.span)
        return self._positions(j)[:, None]

    def snap(self, X: Array) -> Array:
        """The nearest level."""
        return self._positions(self._steps(X[:, 0]))[:, None]

    def list_points(self) -> Array:
        """All levels, ascending."""
        return self._positions(np.arange(self.count, dtype=np.float64))[:, None]

    def list_neighbours(self, x: Array) -> Array:
        """1, 2, 4, 8, … levels up and down, ending at low and high: any level is a few such steps away."""
        j = self._steps(x)[0]
        strides = 2.0 ** np.arange(self.span.bit_length())
        steps = np.unique(np.clip(np.concatenate([j - strides, j + strides]), 0, self.span))
        return self._positions(steps[steps != j])[:, None]

    def _positions(self, j: Array) -> Array:
        if not self.log:
            return j / self.span
        j = np.ascontiguousarray(j)
        u = np.log1p(j / self.low) / math.log1p(self.span / self.low)
        u[j == 0] = 0.0
        u[j == self.span] = 1.0
        return np.minimum(u, 1.0)

    def _steps(self, u: Array) -> Array:
        u = np.clip(u, 0.0, 1.0)
        if not self.log:
            return np.rint(u * self.span)
        j: Array = np.floor(self.low * np.expm1(u * math.log1p(self.span / self.low)))
        j = np.clip(j, 0, self.span - 1)
        up = np.abs(self._positions(j + 1) - u) < np.abs(self._positions(j) - u)
        return j + up.astype(np.float64)


@dataclass(frozen=True)
class OneHot:
    """One of `count` options without order."""

    count: int

    continuous = False

    def __post_init__(self) -> None:
        if self.count < 1:
            raise InvalidInput(f"count must be at least 1 (got {self.count!r})")

    @property
    def width(self) -> int:
        return self.count

    def place(self, u: Array) -> Array:
        """(n,) -> (n, count): option floor(u · count)."""
        return self._encode(np.minimum(np.floor(u * self.count), self.count - 1).astype(np.intp))

    def snap(self, X: Array) -> Array:
        """The option with the largest column (the nearest one); ties go to the first."""
        return self._encode(np.argmax(X, axis=1))

    def list_points(self) -> Array:
        """All options, in order."""
        return HOT * np.eye(self.count)

    def list_neighbours(self, x: Array) -> Array:
        """Every other option."""
        return np.delete(self.list_points(), int(np.argmax(x)), axis=0)

    def _encode(self, options: NDArray[np.intp]) -> Array:
        rows = np.zeros((len(options), self.count))
        rows[np.arange(len(options)), options] = HOT
        return rows


Coordinate = Interval | Lattice | OneHot


@dataclass(frozen=True)
class Compact:
    """A product of coordinates."""

    coordinates: tuple[Coordinate, ...]

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Columns of each coordinate."""
        return tuple(c.width for c in self.coordinates)

    @cached_property
    def D(self) -> int:
        """Columns of a point."""
        return sum(self.widths)

    @cached_property
    def columns(self) -> tuple[slice, ...]:
        """Where each coordinate lies in a row."""
        ends = list(itertools.accumulate(self.widths, initial=0))
        return tuple(slice(a, b) for a, b in itertools.pairwise(ends))

    @cached_property
    def continuous(self) -> Mask:
        """(D,): which columns belong to an Interval."""
        mask = np.repeat([c.continuous for c in self.coordinates], self.widths).astype(np.bool_)
        mask.flags.writeable = False
        return mask

    def place(self, U: Array) -> Array:
        """(n, number of coordinates) in [0, 1] -> (n, D): admissible points, spread as evenly as U is."""
        return self._join(len(U), [c.place(U[:, i]) for i, c in enumerate(self.coordinates)])

    def snap(self, X: Array) -> Array:
        """(n, D) -> (n, D): the nearest admissible points."""
        return self._join(len(X), [c.snap(X[:, s]) for c, s in zip(self.coordinates, self.columns, strict=True)])

    def contains(self, X: Array) -> Mask:
        """(n, D) -> (n,): which rows are admissible (a discrete column may be off by rounding, an Interval may not)."""
        off = np.abs(self.snap(X) - X)
        return np.asarray(np.all(off <= np.where(self.continuous, 0.0, ULPS), axis=1), dtype=np.bool_)

    def list_neighbours(self, x: Array, fixed: Mask | None = None) -> Array:
        """(D,) -> (k, D): the points that differ from x in one discrete coordinate, `fixed` ones excepted.

        A OneHot gives every other option, a Lattice a few steps (see Lattice.list_neighbours)."""
        groups = []
        for i, (c, s) in enumerate(zip(self.coordinates, self.columns, strict=True)):
            if fixed is not None and fixed[i]:
                continue
            others = c.list_neighbours(x[s])
            rows = np.repeat(x[None, :], len(others), axis=0)
            rows[:, s] = others
            groups.append(rows)
        return np.concatenate([np.empty((0, self.D)), *groups])

    def list_points(self, limit: int) -> Array | None:
        """(N, D): every point, in lexicographic order, when there are at most `limit`; None otherwise."""
        N = self.size
        if N is None or limit < N:
            return None
        repeats = N
        parts = []
        for every in (c.list_points() for c in self.coordinates):
            repeats //= len(every)  # the last coordinate changes fastest
            parts.append(np.tile(np.repeat(every, repeats, axis=0), (N // (repeats * len(every)), 1)))
        return self._join(N, parts)

    @property
    def size(self) -> int | None:
        """N, the number of points; None when an Interval makes it infinite."""
        counts = [c.count for c in self.coordinates if c.count is not None]
        return math.prod(counts) if len(counts) == len(self.coordinates) else None

    def _join(self, n: int, parts: list[Array]) -> Array:
        return np.concatenate([np.empty((n, 0)), *parts], axis=1)


@dataclass(frozen=True, eq=False)
class Finite:
    """An explicit list of points: the paper's Q, one per row (N, D)."""

    Q: Array

    def __post_init__(self) -> None:
        Q = np.array(self.Q, dtype=np.float64, order="C")
        if Q.ndim != 2 or len(Q) == 0:
            raise InvalidInput(f"Q must have one point per row and at least one row (got shape {Q.shape})")
        if not np.isfinite(Q).all():
            raise InvalidInput("Q must be finite")
        Q.flags.writeable = False
        object.__setattr__(self, "Q", Q)

    @property
    def D(self) -> int:
        """Columns of a point."""
        return int(self.Q.shape[1])


Domain = Compact | Finite
