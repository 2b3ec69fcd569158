"""A belief about every pair of a context and a listed query, as one normal distribution.

Where queries and contexts are few enough to be listed, outcomes repeat, and very many of them say something about few
numbers. A factor with a row for each pair would have to be cut at every outcome, whose pair may be an old one. Instead

U     the pairs: those that were heard first, then the others       (P, D)
m, C  mean and covariance of f(U), given the outcomes so far        (P,), (P, P)

are kept, and an outcome of the j-th pair with noise variance r takes C_·j C_j·/(C_jj + r) off C. The first outcomes
are merged by pair and make m and C at once; then follow steps of some outcomes each; the newest ones are rows of an
ordinary belief whose prior is m and C. Where each of these ends goes by the number of outcomes alone (`Sizes`), so the
same outcomes give the same bits. All of it is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from belated.errors import NotPositiveDefinite
from belated.learner.arrays import Array, Indices, Mask
from belated.learner.gp.kernels import Kernel
from belated.learner.gp.posterior import GP, BeliefDifference, GrowingPosterior, Posterior
from belated.learner.gp.table import JITTERS, compute_root

FEW, LISTS = 64, 64  # pairs that are found one by one; lists of more of them that are remembered
NOISY = (
    1e3  # noise of a pair, relative to the prior's variance, beyond which it is no part of the inverse: C = N - N S N
)


class Listing(NamedTuple):
    """What the pairs are, and which rows of a history are more than single outcomes."""

    Q: Array  # the queries, without contexts                        (q, d)
    contexts: Array  # each once                                     (c, split)
    merged: int  # the first rows, so many, are pairs with all of their outcomes
    stepped: int  # the rows after these that belong to steps
    step: int  # outcomes of a step

    @property
    def pairs(self) -> int:
        """How many there are."""
        return len(self.Q) * len(self.contexts)

    def list_pairs(self) -> Array:
        """Every query in every context                              (pairs, D)."""
        q, c = len(self.Q), len(self.contexts)
        return np.hstack([np.repeat(self.contexts, q, axis=0), np.tile(self.Q, (c, 1))])

    def find_items(self, U: Array) -> Indices:
        """Which listed query each pair is of, -1: of none."""
        places, split = {q.tobytes(): i for i, q in enumerate(self.Q)}, self.contexts.shape[1]
        return np.array([places.get(x[split:].tobytes(), -1) for x in U], dtype=np.intp)


@dataclass(frozen=True, eq=False)
class JointCovariance:
    """C as a kernel: a point is a place in U, a row of one column."""

    C: Array  # symmetric, bit for bit
    variance: float  # of the prior

    def __call__(self, X: Array, Z: Array) -> Array:
        rows, columns = _read_places(X), _read_places(Z)
        if len(rows) > len(columns):  # what is read lies closer together along long rows
            return np.ascontiguousarray(self._read(columns, rows).T)
        return self._read(rows, columns)

    def _read(self, rows: Indices, columns: Indices) -> Array:
        return self.C[rows].take(columns, axis=1)

    def diag(self, X: Array) -> Array:
        return np.maximum(self.C.diagonal()[_read_places(X)], 0.0)


def _read_places(X: Array) -> Indices:
    return X[:, 0].astype(np.intp)


@dataclass(frozen=True, eq=False)
class Joint:
    """m and C, and the outcomes that they rest on. `add` returns another one."""

    U: Array
    mean: Array
    covariance: JointCovariance
    rows: Indices  # the pair of each row so far
    items: Indices  # the listed query of each pair, -1: none of them         (P,)
    places: dict[bytes, int]  # where each pair is in U
    lists: dict[bytes, Indices] = field(default_factory=dict)  # of pairs that were looked for together

    def find(self, X: Array) -> Indices:
        """Where some pairs are in U."""
        if len(X) <= FEW:
            return self._find(X)
        name = X.tobytes()
        if name not in self.lists:
            if len(self.lists) >= LISTS:
                self.lists.clear()
            self.lists[name] = self._find(X)
        return self.lists[name]

    def _find(self, X: Array) -> Indices:
        return np.fromiter((self.places[x.tobytes()] for x in X), np.intp, len(X))

    def add(self, rows: Indices, y: Array, noise: Array) -> Joint:
        """What is believed once outcomes y of some pairs are heard."""
        rest = self.covariance.C[rows]
        root = compute_root(rest[:, rows] + np.diag(noise), self.covariance.variance)
        W = solve_triangular(root, rest, lower=True)
        mean = self.mean + W.T @ solve_triangular(root, y - self.mean[rows], lower=True)
        covariance = replace(self.covariance, C=self.covariance.C - W.T @ W)
        return replace(self, mean=mean, covariance=covariance, rows=np.concatenate([self.rows, rows]))


def begin_joint(gp: GP, X: Array, y: Array, noise: Array, listing: Listing) -> Joint:
    """The belief about the pairs, given one outcome of each of the pairs X.

    With S = (k(X, X) + N)⁻¹ it is C = N - N S N at X, N S k(X, Z) between X and the others, and k(Z, Z) - k(Z, X) S
    k(X, Z) among these. Where the noise is far above the prior's variance the first would be a difference of large
    numbers: such outcomes are added afterwards."""
    n = len(X)
    places = {x.tobytes(): i for i, x in enumerate(X)}
    others = [x for x in listing.list_pairs() if x.tobytes() not in places]
    U = np.vstack([X, *others]) if others else X
    places |= {x.tobytes(): n + i for i, x in enumerate(others)}
    sure = np.flatnonzero(noise <= NOISY * gp.kernel.variance)
    order = np.concatenate([sure, np.setdiff1d(np.arange(len(U)), sure)])
    s, N, Z = len(sure), noise[sure], U[order[len(sure) :]]
    across, residual = gp.kernel(X[sure], Z), y[sure] - gp.mean
    S, (T, alpha) = _invert(gp.kernel(X[sure], X[sure]), N, across, residual)
    C = np.empty((len(U), len(U)))
    mean = np.empty(len(U))
    inner = gp.kernel(Z, Z) - across.T @ T
    C[s:, s:] = 0.5 * (inner + inner.T)
    C[:s, s:] = N[:, None] * T
    C[s:, :s] = C[:s, s:].T
    mean[s:], mean[:s] = gp.mean + alpha @ across, y[sure] - N * alpha
    S *= -np.outer(N, N)
    S[np.diag_indices(s)] += N
    C[:s, :s] = S
    if not np.array_equal(order, np.arange(len(U))):
        back = np.argsort(order)
        C, mean = C[np.ix_(back, back)], mean[back]
    joint = Joint(U, mean, JointCovariance(C, gp.kernel.variance), np.arange(0), listing.find_items(U), places)
    noisy = np.setdiff1d(np.arange(n), sure)
    joint = joint.add(noisy, y[noisy], noise[noisy]) if len(noisy) else joint
    return replace(joint, rows=np.arange(n))


def _invert(K: Array, noise: Array, *sides: Array) -> tuple[Array, list[Array]]:
    """S = (K + N)⁻¹, and S b for some b."""
    n = len(K)
    if not n:
        return K, list(sides)
    K[np.diag_indices(n)] += noise
    root, failed = lapack.dpotrf(K.T, lower=1, overwrite_a=1)  # the transpose is in LAPACK's order as it is
    if failed:
        raise NotPositiveDefinite
    solved = [lapack.dpotrs(root, b, lower=1)[0] if b.size else b for b in sides]  # more precise than by the inverse
    inverse, failed = lapack.dpotri(root, lower=1, overwrite_c=1)
    if failed or not np.all(np.isfinite(inverse.diagonal())):
        raise NotPositiveDefinite
    whole = np.tril(inverse)
    whole += np.tril(inverse, -1).T
    return np.asarray(whole), solved


@dataclass(frozen=True, eq=False)
class ListedPosterior:
    """A belief about pairs, with the methods of a posterior. `newest` is the belief about f - m, at places in U."""

    gp: GP
    joint: Joint
    newest: Posterior
    ids: Indices  # the numbers of the outcomes
    place: Indices  # the pair of each outcome

    @property
    def X(self) -> Array:
        return self.joint.U

    @property
    def summarised(self) -> Array:
        """Nothing is."""
        return np.empty((0, 0))

    @cached_property
    def own_means(self) -> Array:
        return self._mean(np.arange(len(self.X)))

    def _mean(self, rows: Indices) -> Array:
        return self.joint.mean[rows] + self.newest.mean(_as_points(rows))

    def mean(self, Q: Array) -> Array:
        return self._mean(self.joint.find(Q))

    def variance(self, Q: Array) -> Array:
        return self.newest.variance(_as_points(self.joint.find(Q)))

    def std(self, Q: Array) -> Array:
        return np.sqrt(self.variance(Q))

    def std_of(self, outcomes: Mask) -> Array:
        return self.newest.std(_as_points(self.place[outcomes]))

    def mean_and_std(self, Q: Array) -> tuple[Array, Array]:
        rows = self.joint.find(Q)
        mean, std = self.newest.mean_and_std(_as_points(rows))
        return self.joint.mean[rows] + mean, std

    def find_items(self, outcomes: Mask) -> Indices:
        """The listed queries of some of its outcomes, each once."""
        items = np.unique(self.joint.items[self.place[outcomes]])
        return items[items >= 0]

    def cov(self, Q: Array) -> Array:
        return self.newest.cov(_as_points(self.joint.find(Q)))

    def draw(self, Q: Array, rng: Generator, scale: float = 1.0) -> Array:
        rows = self.joint.find(Q)
        return self.joint.mean[rows] + self.newest.draw(_as_points(rows), rng, scale)

    def path(self, rng: Generator, scale: float = 1.0) -> Any:
        """A drawn function, known at the pairs."""
        drawn = self.draw(self.X, rng, scale)
        return lambda Q: drawn[self.joint.find(Q)]

    def difference_from(self, x: Array) -> ListedDifference:
        rows = self.joint.find(x)
        return ListedDifference(
            self.joint, self.newest.difference_from(_as_points(rows)), float(self.joint.mean[rows[0]])
        )


def _as_points(rows: Indices) -> Array:
    """Places in U as the points of `JointCovariance`."""
    return rows.astype(np.float64)[:, None]


@dataclass(frozen=True, eq=False)
class ListedDifference:
    """A `BeliefDifference` where queries are pairs."""

    joint: Joint
    newest: BeliefDifference
    known: float  # m at the point that the others are compared with

    @property
    def gp(self) -> GP:
        return self.newest.gp

    def mean_and_std(self, Q: Array) -> tuple[Array, Array]:
        rows = self.joint.find(Q)
        mean, std = self.newest.mean_and_std(_as_points(rows))
        return self.joint.mean[rows] - self.known + mean, std


@dataclass(frozen=True, eq=False)
class KeptJoint:
    """A joint belief, and what it rests on."""

    gp: GP
    listing: Listing
    X: Array
    y: Array
    noise: Array
    joint: Joint

    def leads_to(self, gp: GP, listing: Listing, X: Array, y: Array, noise: Array) -> bool:
        """Whether this is what some rows come to, or the first of them with some whole steps."""
        n, own = len(self.y), self.listing
        same = gp == self.gp and (own.merged, own.step) == (listing.merged, listing.step)
        return (
            same
            and n <= len(y)
            and np.array_equal(own.Q, listing.Q)
            and np.array_equal(own.contexts, listing.contexts)
            and np.array_equal(self.y, y[:n])
            and np.array_equal(self.noise, noise[:n])
            and np.array_equal(self.X, X[:n])
        )


@dataclass
class JointStore:
    """The joint belief of the last choice, so that the next one goes on from it; a fresh start gives the same."""

    kept: KeptJoint | None = None

    def believe(self, gp: GP, listing: Listing, X: Array, y: Array, noise: Array) -> Joint:
        """What the merged rows come to, and then the steps."""
        kept = self.kept
        if kept is None or not kept.leads_to(gp, listing, X, y, noise):
            n = listing.merged
            joint = begin_joint(gp, X[:n], y[:n], noise[:n], listing)
        else:
            n, joint = len(kept.y), kept.joint
            if n == len(y):
                return joint
        self.kept = None  # its memory is needed
        for start in range(n, len(y), listing.step):
            rows = slice(start, start + listing.step)
            joint = joint.add(joint.find(X[rows]), y[rows], noise[rows])
        self.kept = KeptJoint(gp, listing, X.copy(), y.copy(), noise.copy(), joint)
        return joint


@dataclass
class GrowingListed:
    """What gives beliefs about pairs, as `GrowingPosterior` does about any queries."""

    store: JointStore
    listing: Listing
    newest: GrowingPosterior = field(default_factory=GrowingPosterior)

    def condition(
        self,
        gp: GP,
        ids: Sequence[int] | NDArray[np.intp],
        X: Array,
        y_tilde: Array,
        lams: Array,
        Q: Array | None = None,
        points: Indices | None = None,
        centres: Sequence[int] = (),
        pairs: int = 0,
    ) -> Posterior:
        """The belief of outcomes y_tilde at X, in which the first rows are merged, and those after them stepped."""
        n, numbers = self.listing.merged + self.listing.stepped, np.asarray(ids, dtype=np.intp)
        scale = gp.kernel.variance + (float(np.mean(lams)) if len(lams) else 0.0)
        for jitter in JITTERS:
            noise = lams + jitter * scale
            try:
                joint = self.store.believe(gp, self.listing, X[:n], y_tilde[:n], noise[:n])
            except NotPositiveDefinite:
                continue
            rows = joint.find(X[n:])
            about = GP(cast("Kernel", joint.covariance), gp.lam)
            single = np.arange(len(rows))  # outcomes of a pair stay apart, so that the factor only grows
            y = y_tilde[n:] - joint.mean[rows]
            newest = self.newest.condition(about, numbers[n:], _as_points(rows), y, lams[n:], None, single)
            answers = ListedPosterior(gp, joint, newest, numbers, np.concatenate([joint.rows, rows]))
            return cast("Posterior", answers)  # it answers the same questions
        raise NotPositiveDefinite
