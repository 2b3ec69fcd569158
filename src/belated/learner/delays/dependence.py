"""Does a delay depend on the query, on the context, or on the outcome? Tests that hold while the optimiser improves.

Queries asked late have waited less, and the optimiser asks better ones late. So among the arrived, delay and query (and
outcome) are correlated even where neither causes the other. Each arrival is therefore compared only with the queries
that could have arrived at the same moment:

query, context   at each arrival after a wait t, all that had waited as long: R(t) = {j : w_j ≥ t}              (Cox)
outcome          known only for the arrived, each with d_j ≤ A_j, the time since it was asked. Time runs backwards from
                 A_j: at each delay t, R(t) = {j : d_j ≤ t ≤ A_j}                                            (Tsai 1990)
                 So are conversions compared by query and context: that more of them come at some is no delay

φ     features, functions of the ranks of what is tested                                (n, q)
U     Σ over arrivals of φ(arrived) - mean of φ over R(t): 0 on average, if there is no dependence
V     its covariance: at each t that of drawing, without replacement, as many from R(t) as arrived
p     how often the statistic is as large when the arrivals are drawn again from R(t), 999 times; for the outcome all
      ways to give the delays to rows that could have had them are equally likely

A statistic is a sum of U²/V over the features of one parameter, or over random features of all parameters. All are
put on one scale, and the largest counts. Other parameters that may change delays are projected out: U - V_b V_bb⁻¹ U_b.
This works as long as they change delays by not much more than a factor of three; p is then the larger of the two, with
and without the projection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from belated.learner.arrays import Array, Mask
from belated.learner.delays.survival import ENOUGH, spread_evenly

DRAWS = 999
MOST = 2000  # rows that a test looks at, spread evenly over the order of asking
WAVES = 4  # cosines per coordinate
TOGETHER = 48  # random features of all coordinates together
LEFT = 0.01  # share of a feature's variance that must be left after the projection
ROUNDING = 1e-9


class Trend(NamedTuple):
    """How delays go with one parameter, in standard errors."""

    p: float  # of this parameter, corrected for the others tested with it
    rise: float  # positive: slower where it is large
    bow: float  # positive: slower in the middle of its range
    options: tuple[float, ...]  # of a parameter without order: positive where slower


class Verdict(NamedTuple):
    """p, and how each parameter contributes."""

    p: float
    trends: tuple[Trend, ...]


@dataclass(frozen=True, eq=False)
class RiskSets:
    """At each distinct time, in increasing order: which rows could have arrived, and how many did."""

    among: Mask  # (k, n)
    came: NDArray[np.intp]  # (k,)
    who: Array  # (n,): how often a row arrived, 0 or 1
    backward: bool = False

    @classmethod
    def forwards(cls, waited: Array, arrived: Mask) -> RiskSets:
        """R(t) = {j : w_j ≥ t}."""
        times, came = np.unique(waited[arrived], return_counts=True)
        return cls(waited >= times[:, None], came, arrived.astype(float))

    @classmethod
    def backwards(cls, delay: Array, limit: Array) -> RiskSets:
        """R(t) = {j : d_j ≤ t ≤ A_j}, of arrived outcomes."""
        times, came = np.unique(delay, return_counts=True)
        return cls((delay <= times[:, None]) & (limit >= times[:, None]), came, np.ones(len(delay)), True)

    @property
    def sizes(self) -> Array:
        return np.asarray(np.sum(self.among, axis=1), dtype=float)

    @property
    def spread(self) -> Array:
        """(k,): (n - a) / (n - 1), by which drawing without replacement varies less."""
        n = self.sizes
        less: Array = (n - self.came) / np.maximum(n - 1, 1)
        return less

    def scores(self, phi: Array, rng: Generator) -> tuple[Array, Array]:
        """U, first as observed and then for each redraw (1 + draws, q); and V (q, q)."""
        n, a, c = self.sizes, self.came, self.came * self.spread
        means = (self.among / n[:, None]) @ phi
        U = self.who @ phi - a @ means
        V = (phi.T * ((c / n) @ self.among)) @ phi - (means.T * c) @ means
        anew = self._redraw_backwards(rng) if self.backward else self._redraw(rng)
        return np.concatenate([U[None], anew @ phi]), V

    def _redraw(self, rng: Generator) -> Array:
        """(draws, n): how often each row is drawn, a_k times from every R(t_k), minus the expected number.

        Drawn with replacement and scaled by the root of (n - a) / (n - 1): mean and covariance are those of drawing
        without replacement. Where only one arrives at a time (by the clock) the two are the same."""
        drawn, weights = [], []
        for members, a, less in zip(self.among, self.came, self.spread, strict=True):
            if less > 0:
                rows = np.flatnonzero(members)
                drawn.append(rows[rng.integers(len(rows), size=(DRAWS, a))])
                weights.append(np.full(a, np.sqrt(less)))
        size = self.among.shape[1]
        if not drawn:
            return np.zeros((DRAWS, size))
        flat = np.concatenate(drawn, axis=1) + size * np.arange(DRAWS)[:, None]
        w = np.broadcast_to(np.concatenate(weights), flat.shape)
        often = np.bincount(flat.ravel(), w.ravel(), DRAWS * size).reshape(DRAWS, size)
        return np.asarray(often - (self.came * np.sqrt(self.spread) / self.sizes) @ self.among)

    def _redraw_backwards(self, rng: Generator) -> Array:
        """The same backwards in time: from the longest delay down, a_k of the rows in R(t_k) that are not drawn yet.

        How many there are does not depend on which were drawn, so all sequences are equally likely."""
        last = len(self.came) - 1
        entry = last - np.argmax(self.among[::-1], axis=0)  # the largest t_k ≤ A_j
        order = np.argsort(-entry, kind="stable")
        to_come = np.cumsum((self.came / self.sizes)[::-1])[::-1]  # Σ a / n at t_k and above
        above = np.append(to_come, 0.0)[entry + 1]  # before row j entered
        size, each = len(entry), np.arange(DRAWS)
        pool, left = np.empty((DRAWS, size), dtype=np.intp), np.zeros((DRAWS, size))
        n = seen = 0
        for k in range(last, -1, -1):
            until = int(np.searchsorted(-entry[order], -k, side="right"))
            pool[:, n : n + until - seen] = order[seen:until]
            n, seen = n + until - seen, until
            for _ in range(self.came[k]):
                at = rng.integers(n, size=DRAWS)
                row = pool[each, at]
                left[each, row] = 1 - (to_come[k] - above[row])
                pool[each, at] = pool[:, n - 1]
                n -= 1
        return left


def judge_by_query(
    parts: Sequence[Array], waited: Array, arrived: Mask, rng: Generator, covariates: Sequence[Array] = ()
) -> Verdict | None:
    """Whether delays depend on some parameters, each given by its columns (n, 1), or one per option (n, c).

    `covariates` are other parameters that may change delays and are not tested. None: too few arrivals, or parameters
    that never vary."""
    keep = spread_evenly(len(waited), MOST)
    if np.sum(arrived[keep]) < ENOUGH:
        return None
    sets = RiskSets.forwards(waited[keep], arrived[keep])
    return _judge(sets, [part[keep] for part in parts], [part[keep] for part in covariates], rng)


def judge_by_outcome(
    y: Array, delay: Array, limit: Array, rng: Generator, covariates: Sequence[Array] = ()
) -> Verdict | None:
    """Whether delays depend on the outcome: y and d of what has arrived, and how long ago each was asked."""
    return judge_arrived([y[:, None]], delay, limit, rng, covariates)


def judge_arrived(
    parts: Sequence[Array], delay: Array, limit: Array, rng: Generator, covariates: Sequence[Array] = ()
) -> Verdict | None:
    """Whether the delays of what has arrived depend on some parameters, whatever the share that arrives depends on."""
    keep = spread_evenly(len(delay), MOST)
    if len(keep) < ENOUGH:
        return None
    sets = RiskSets.backwards(delay[keep], limit[keep])
    found = _judge(sets, [part[keep] for part in parts], [part[keep] for part in covariates], rng)
    if found is None:
        return None
    # backwards in time, a row that "arrives" at t is slower than the rest of R(t): the signs are reversed
    trends = tuple(Trend(t.p, -t.rise, -t.bow, tuple(-o for o in t.options)) for t in found.trends)
    return Verdict(found.p, trends)


def _judge(sets: RiskSets, parts: Sequence[Array], covariates: Sequence[Array], rng: Generator) -> Verdict | None:
    """The verdict. With covariates, the weaker of two verdicts: with and without their projection."""
    blocks = [_make_waves(part, WAVES) for part in parts]
    joint = _make_joint_features(parts, rng) if len(parts) > 1 else np.empty((len(sets.who), 0))
    waves = 2 if len(covariates) * 40 <= np.sum(sets.came) else 1
    others = [_make_waves(part, waves)[0] for part in covariates]
    phi = np.concatenate([*(block for block, _ in blocks), joint, *others], axis=1)
    q = phi.shape[1] - sum(other.shape[1] for other in others)
    U, V = sets.scores(phi, rng)
    weights = [weight for _, weight in blocks]
    found = _test_largest(U[:, :q], np.diag(V)[:q], weights, parts)
    if not others or found is None:
        return found
    gain = np.linalg.pinv(V[q:, q:], rcond=1e-6, hermitian=True) @ V[q:, :q]
    left = np.diag(V)[:q] - np.sum(V[:q, q:].T * gain, axis=0)
    left = np.where(left > LEFT * np.diag(V)[:q], left, 0.0)  # almost a function of the others: not tested
    alone = _test_largest(U[:, :q] - U[:, q:] @ gain, left, weights, parts)
    return max(found, alone, key=lambda verdict: verdict.p) if alone is not None else None


def _test_largest(U: Array, variance: Array, weights: Sequence[Array], parts: Sequence[Array]) -> Verdict | None:
    """The largest statistic, compared with the largest of every redraw. Features beyond the weights are the joint ones
    of all parts."""
    varies = variance > ROUNDING
    z = np.divide(U, np.sqrt(variance, where=varies, out=np.ones(len(variance))), out=np.zeros_like(U), where=varies)
    ends = np.cumsum([len(weight) for weight in weights])
    shapes = np.split(z[:, : ends[-1]], ends[:-1], axis=1)
    groups = [np.square(shape) @ weight for shape, weight in zip(shapes, weights, strict=True)]
    groups.append(np.sum(np.square(z[:, ends[-1] :]) * variance[ends[-1] :], axis=1))
    levels = np.stack([_standardize(group) for group in groups], axis=1)
    if np.all(np.isinf(levels)):
        return None
    most = np.max(levels, axis=1)
    trends = tuple(
        _read_trend(float(np.mean(most >= level - ROUNDING)), shape[0], part)
        for level, shape, part in zip(levels[0], shapes, parts, strict=False)
    )
    return Verdict(float(np.mean(most >= most[0] - ROUNDING)), trends)


def _standardize(group: Array) -> Array:
    """Statistics of different size on one scale: cube roots, standardised by their mean and standard deviation over the
    redraws. One that never varies is never the largest."""
    root = np.cbrt(group)
    sd = float(np.std(root))
    return (root - np.mean(root)) / sd if sd > ROUNDING else np.full_like(root, -np.inf)


def _read_trend(p: float, z: Array, part: Array) -> Trend:
    """A row that arrived is faster than the rest; cos(πu) falls with u, cos(2πu) is least in the middle."""
    if part.shape[1] > 1:
        return Trend(p, 0.0, 0.0, tuple((-z).tolist()))
    return Trend(p, float(z[0]), float(z[1]), ())


def rank(values: Array) -> Array:
    """Middle ranks, as shares in (0, 1)."""
    _, where, count = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - (count + 1) / 2
    return np.asarray((middle[where.reshape(-1)] + 0.5) / len(values))


def _make_waves(part: Array, waves: int) -> tuple[Array, Array]:
    """cos(πku) of the ranks u, k = 1 … waves, with weight 1/k²; the columns of a choice as they are."""
    if part.shape[1] > 1:
        return part, np.ones(part.shape[1])
    k = np.arange(1, waves + 1)
    return np.cos(np.pi * rank(part[:, 0])[:, None] * k), 1.0 / k**2


def _make_joint_features(parts: Sequence[Array], rng: Generator) -> Array:
    """Random features of a Gaussian kernel on all coordinates, as wide as the median distance of two rows."""
    u = np.concatenate([part if part.shape[1] > 1 else rank(part[:, 0])[:, None] for part in parts], axis=1)
    some = u[spread_evenly(len(u), 200)]
    apart = np.sum(np.square(some[:, None] - some), axis=2)
    positive = apart[apart > 0]
    width = float(np.sqrt(np.median(positive))) if len(positive) else 1.0
    omega = rng.standard_normal((u.shape[1], TOGETHER)) / width
    return np.cos(u @ omega + rng.uniform(0, 2 * np.pi, TOGETHER))
