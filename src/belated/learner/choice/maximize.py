"""Where a surface is largest: exactly over a finite Q, by multistart with gradients elsewhere.

C        candidates, scored in one batch                         (c, D)
starts   the best candidates, improved together                  (s, D)
given    columns with a fixed value (the context, coordinates fixed by hand)

Improvement alternates L-BFGS-B in the continuous columns with the best single step in a discrete coordinate, until
neither helps: integers and choices only take admissible values, and bounds are reached exactly.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from belated.learner.arrays import Array, Mask
from belated.learner.choice.sequence import kronecker
from belated.learner.gp.domain import Compact
from belated.learner.policies import Surface

TIE = 1e-10  # values this close to the best, relative to it, are equal, and the lowest index wins
ROUNDING = 1e-13  # and so are values this close, on the model's scale, where the best is near 0
SWEEPS = 100  # rounds of discrete steps, at most
CORNERS = 32  # corners of the space among the candidates: all of them where there are no more


def argmax(values: Array, allowed: Mask | None = None) -> int:
    """The lowest index whose value is the largest among the allowed, to within rounding."""
    candidates = np.arange(len(values)) if allowed is None else np.flatnonzero(allowed)
    some = values[candidates]
    best = float(np.max(some))
    if not np.isfinite(best):
        return int(candidates[np.argmax(some)])
    slack = TIE * abs(best) + ROUNDING
    return int(candidates[np.argmax(some >= best - slack)])


@dataclass(frozen=True)
class Effort:
    """How much a search looks at."""

    candidates: int  # about as many points are scored
    starts: int = 8  # the best of them, which are improved
    together: int = 12  # steps of L-BFGS-B, all starts at once
    alone: int = 30  # and then of the best one


@dataclass(frozen=True, eq=False)
class Search:
    """Where to look: a space, what is given in it, and the points worth starting near."""

    domain: Compact  # of the whole row: context and query
    given: Array  # (D,) the value of a given column, NaN elsewhere
    anchors: Array  # (a, D) queries near which the maximum may be: the best so far, the newest

    @property
    def fixed(self) -> Mask:
        """Which coordinates are given."""
        return np.array([bool(np.all(~np.isnan(self.given[s]))) for s in self.domain.columns])

    @property
    def free(self) -> Mask:
        """The columns that a gradient may move."""
        return self.domain.continuous & np.isnan(self.given)

    def admit(self, X: Array) -> Array:
        """The nearest admissible points, with the given columns as given."""
        return np.where(np.isnan(self.given), self.domain.snap(X), self.given)


def spread_candidates(search: Search, count: int, rng: Generator) -> Array:
    """Points all over the space, and around the anchors at several distances                  (c, D)."""
    domain, d = search.domain, len(search.domain.coordinates)
    spread = domain.place(kronecker(0, count if not len(search.anchors) else 2 * count // 3, d, rng.random(d)))
    edges = list_corners(search, rng)
    if not len(search.anchors):
        return search.admit(np.vstack([spread, edges]))
    near = np.repeat(search.anchors, max(1, count // (3 * len(search.anchors))), axis=0)
    radius = 10.0 ** rng.uniform(-3.0, -0.5, (len(near), 1))
    near = near + radius * rng.standard_normal(near.shape) * domain.continuous
    for columns in (s for c, s in zip(domain.coordinates, domain.columns, strict=True) if not c.continuous):
        other = rng.random(len(near)) < 0.3
        near[other, columns] = spread[rng.integers(len(spread), size=int(other.sum()))][:, columns]
    return search.admit(np.vstack([spread, near, search.anchors, edges]))


def list_corners(search: Search, rng: Generator) -> Array:
    """Points with every continuous coordinate at a bound: all corners, or some where there are too many   (c, D)."""
    domain, d = search.domain, len(search.domain.coordinates)
    free = np.flatnonzero([c.continuous for c in domain.coordinates] & ~search.fixed)
    if not len(free):
        return np.empty((0, domain.D))
    if 2 ** len(free) <= CORNERS:
        ends = np.array(list(itertools.product((0.0, 1.0), repeat=len(free))))
    else:
        ends = rng.integers(0, 2, (CORNERS, len(free))).astype(float)
    U = rng.random((len(ends), d))
    U[:, free] = ends
    return domain.place(U)


def maximize(surface: Surface, search: Search, rng: Generator, effort: Effort) -> Array:
    """Points sorted by value, best first: the improved starts, then the candidates                 (c, D)."""
    C = spread_candidates(search, effort.candidates, rng)
    values = surface(C)
    if not np.all(np.isfinite(values)):
        raise FloatingPointError("the surface is not finite")
    order = np.argsort(-values, kind="stable")
    chosen = spread_out(C[order], values[order], effort.starts)
    improved, gained = improve(surface, search, chosen, effort)
    everything, all_values = np.vstack([improved, C]), np.concatenate([gained, values])
    return everything[np.argsort(-all_values, kind="stable")]


def spread_out(C: Array, values: Array, starts: int) -> Array:
    """Of points sorted by value: the best one, and then good ones that are not next to those taken."""
    pool = C[: 16 * starts]
    taken = [0]
    nearest = np.sum(np.square(pool - pool[0]), axis=1)
    rank = np.arange(len(pool))
    while len(taken) < min(starts, len(pool)):
        far = nearest > 0.05**2 * pool.shape[1]
        far[taken] = False
        rest = np.setdiff1d(rank, taken)
        pick = int(np.flatnonzero(far)[0]) if np.any(far) else int(rest[0])
        taken.append(pick)
        nearest = np.minimum(nearest, np.sum(np.square(pool - pool[pick]), axis=1))
    return pool[taken]


def improve(surface: Surface, search: Search, X: Array, effort: Effort) -> tuple[Array, Array]:
    """Each row of X moved uphill until neither a gradient nor a discrete step helps, and its value."""
    discrete = any(not c.continuous for c in search.domain.coordinates)
    X, values = climb(surface, search.free, X, effort.together)
    for _ in range(SWEEPS if discrete else 0):
        X, values, moved = step(surface, search, X, values)
        if not np.any(moved):
            break
        if np.any(search.free):
            X[moved], values[moved] = climb(surface, search.free, X[moved], effort.together)
    best = int(np.argmax(values))  # climb once more, alone: the joint climb stops when most rows have converged
    X[best : best + 1], values[best : best + 1] = climb(surface, search.free, X[best : best + 1], effort.alone)
    return X, values


def climb(surface: Surface, free: Mask, X: Array, iterations: int) -> tuple[Array, Array]:
    """L-BFGS-B on the sum of the surface over all rows, in the free columns: one batch per step for all starts."""
    if not np.any(free):
        return X, surface(X)
    from scipy.optimize import fmin_l_bfgs_b

    best_X, best = X.copy(), np.full(len(X), -np.inf)

    def negative(flat: Array) -> tuple[float, Array]:
        Z = X.copy()
        Z[:, free] = flat.reshape(len(X), -1)
        values, gradient = surface.gradient(Z)
        better = values > best
        best_X[better], best[better] = Z[better], values[better]
        return -float(np.sum(values)), -gradient[:, free].ravel()

    fmin_l_bfgs_b(
        negative,
        X[:, free].ravel(),
        bounds=[(0.0, 1.0)] * int(len(X) * free.sum()),
        maxiter=iterations,
        maxfun=2 * iterations,
    )
    return best_X, best


def step(surface: Surface, search: Search, X: Array, values: Array) -> tuple[Array, Array, Mask]:
    """Each row moved to the best of its discrete neighbours, if that is better; which rows moved."""
    X, values, moved = X.copy(), values.copy(), np.zeros(len(X), dtype=bool)
    groups = [search.domain.list_neighbours(x, search.fixed) for x in X]
    if not sum(map(len, groups)):
        return X, values, moved
    scores = np.split(surface(np.vstack(groups)), np.cumsum([len(g) for g in groups])[:-1])
    for i, (group, score) in enumerate(zip(groups, scores, strict=True)):
        if len(group) and np.max(score) > values[i] + TIE * abs(values[i]):
            X[i], values[i], moved[i] = group[np.argmax(score)], np.max(score), True
    return X, values, moved
