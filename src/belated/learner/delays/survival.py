"""Delays estimated from the waits so far: ρ(m) with a band, the share that never comes, how many are still to come.

waited   d where the outcome has arrived; where it has not, the age so far, or the age at which the query failed   (n,)
arrived  mask of the outcomes that have arrived                                                                (n,)
S(a)     P(d > a), by Kaplan-Meier; of a pending query only d > age is known
S(∞)     the tail of S, at the longest wait: the share that never comes, once it is settled
S(a | x) the same near x: every query counts k(x, x_i)                                                  (Beran 1981)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.errors import InvalidInput
from belated.learner.arrays import Array, Mask
from belated.learner.delays.distributions import check_patience
from belated.validation import require_rule

ENOUGH = 10  # with fewer arrivals there is no forecast
MISSED = 3.0  # arrivals that must be missing before the tail of S is settled
WIDTHS = (0.05, 0.1, 0.2, 0.4, 0.8)  # of k, on the unit cube
PRIOR = 2.0  # weight of all queries together, in queries, against those near x
MOST = 2000  # rows that a model near x is made of
STEPS = 20  # times at which its width is judged
AT_ONCE = 500  # rows that are looked at together: memory goes by rows times MOST
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Survival:
    """S(t) = P(d > t), a step function: survival[i] on [times[i], times[i + 1]), 1 before the first.

    Beyond the longest wait S keeps its last value, so that rho is then a lower estimate.

    >>> from belated.delays import kaplan_meier
    >>> seen = kaplan_meier([1, 2, 2, 4], [True, True, True, False])  # one has been out for 4, unheard
    >>> seen.at(2), seen.rho(2)
    (0.25, 0.75)
    """

    times: Array  # distinct delays that have arrived, increasing  (k,)
    survival: Array  # S at those times                            (k,)
    variance: Array  # Greenwood's Var S at those times            (k,)
    n: int  # queries it was estimated from

    def at(self, t: float) -> float:
        """S(t)."""
        return float(self.over(np.asarray([check_patience(t)]))[0])

    def over(self, t: Array) -> Array:
        """S at every t, of the shape of t."""
        return np.concatenate([[1.0], self.survival])[np.searchsorted(self.times, t, side="right")]

    def rho(self, m: float) -> float:
        """ρ_m = 1 - S(m)."""
        return 1.0 - self.at(m)

    def error(self, t: float) -> float:
        """Greenwood's standard error of S(t), and of rho(t); nan when estimated from nothing."""
        if not self.n:
            return math.nan
        step = int(np.searchsorted(self.times, check_patience(t), side="right"))
        return math.sqrt(self.variance[step - 1]) if step else 0.0


def kaplan_meier(waited: ArrayLike, arrived: ArrayLike) -> Survival:
    """S(t) = prod_{t_i <= t} (1 - a_i / n_i), Var S(t) = S(t)^2 sum_{t_i <= t} a_i / (n_i (n_i - a_i))   (Greenwood)

    with a_i the outcomes that arrived after exactly t_i, and n_i the queries that had waited at least t_i: of equal
    waits, arrivals come before censorings. A pending query says only that its delay is longer than its age.

    >>> from belated.delays import kaplan_meier
    >>> round(kaplan_meier([1, 3, 3], [True, False, True]).rho(2), 3)
    0.333
    """
    w = _require_waits("waited", waited)
    heard: Mask = np.asarray(arrived, dtype=bool if np.size(arrived) == 0 else None)
    if heard.dtype != np.bool_ or heard.shape != w.shape:
        raise InvalidInput(f"arrived must be a mask as long as waited (got {heard.dtype} {heard.shape}, {w.shape})")
    times, a = np.unique(w[heard], return_counts=True)
    n = len(w) - np.searchsorted(np.sort(w), times, side="left")
    survival: Array = np.cumprod(1 - a / n, dtype=float)
    left = n > a  # where no query is left, S and its variance are 0
    hazard = np.divide(a, n * (n - a), out=np.zeros(len(times)), where=left)
    return Survival(times, survival, survival**2 * np.cumsum(hazard), len(w))


def estimate_rho(m: float, delay: ArrayLike, age: ArrayLike) -> float:
    """ρ_m by Kaplan-Meier: delay = inf where nothing was heard, age = the wait so far (negative counts as 0).

    >>> from math import inf
    >>> from belated.delays import estimate_rho
    >>> round(estimate_rho(2, delay=[1, 2, inf, inf], age=[9, 9, 9, 1]), 3)  # the last one may yet come in time
    0.625
    """
    d = np.asarray(delay, dtype=float)
    a = np.asarray(age, dtype=float)
    if d.shape != a.shape:
        raise InvalidInput(f"delay and age must have the same shape (got {d.shape}, {a.shape})")
    arrived = d < math.inf
    return kaplan_meier(np.where(arrived | np.isnan(d), d, np.maximum(a, 0)), arrived).rho(m)


def _require_waits(name: str, values: ArrayLike) -> Array:
    w = np.asarray(values, dtype=float)
    if w.ndim != 1:
        raise InvalidInput(f"{name} must have one axis (got shape {w.shape})")
    bad = np.flatnonzero(~((w >= 0) & (w < math.inf)))
    if bad.size:
        raise InvalidInput(f"{name}[{bad[0]}] must be a finite number of at least 0 (got {float(w[bad[0]])!r})")
    return w


class Band(NamedTuple):
    """An estimate and its confidence limits.

    >>> from belated import Real, Study, simulate
    >>> from belated.delays import Fixed
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", patience=2, seed=0)
    >>> for _ in simulate(study, lambda params: params["x"], delay=Fixed(1), rounds=12, seed=1):
    ...     pass
    >>> band = study.delays().in_time
    >>> band.estimate, band.low < 1.0, band.high
    (1.0, True, 1.0)
    """

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Waits, and what follows from them."""

    waited: Array
    arrived: Mask

    @cached_property
    def survival(self) -> Survival:
        """S, by Kaplan-Meier."""
        return kaplan_meier(self.waited, self.arrived)

    @property
    def heard(self) -> int:
        return int(np.sum(self.arrived))

    @property
    def longest(self) -> float:
        """The longest wait; beyond it nothing is known."""
        return float(np.max(self.waited, initial=0.0))

    def rho(self, m: float, confidence: float = 0.95) -> Band:
        """ρ(m) = 1 - S(m), and the limits 1 - S^exp(±z e), e² = Greenwood's sum / log² S   (log-log, pointwise).

        Before the first arrival the upper limit is that of no success among those that waited for m (Clopper-Pearson).
        Once S is 0 the lower limit is the last one before, or that of successes only. Beyond the longest wait the
        estimate keeps its value, as a lower estimate, and the upper limit is 1 unless the tail is settled."""
        m = require_rule("m", m, "not be nan", lambda v: not math.isnan(v))
        tail = (1 - require_rule("confidence", confidence, "lie between 0 and 1", lambda v: 0 < v < 1)) / 2
        S = self.survival
        step = int(np.searchsorted(S.times, m, side="right"))
        beyond = m > self.longest and not self.settled
        if step == 0:
            n = int(np.sum(self.waited >= m))
            return Band(0.0, 0.0, 1.0 - tail ** (1 / n) if n else 1.0)
        s = float(S.survival[step - 1])
        if s == 0:
            partly = S.survival > 0
            if np.any(partly):
                low = self._compute_limits(int(np.sum(partly)), tail)[0]
            else:
                low = tail ** (1 / int(np.sum(self.waited >= S.times[0])))
            return Band(1.0, low, 1.0)
        low, high = self._compute_limits(step, tail)
        return Band(1.0 - s, low, 1.0 if beyond else high)

    def _compute_limits(self, step: int, tail: float) -> tuple[float, float]:
        from statistics import NormalDist  # imported here: it takes half of this module's import time

        S = self.survival
        s, z = float(S.survival[step - 1]), NormalDist().inv_cdf(1 - tail)
        e = z * math.sqrt(float(S.variance[step - 1])) / (s * -math.log(s))
        return 1 - s ** math.exp(-e), 1 - s ** math.exp(e)

    def quantile(self, q: float) -> float | None:
        """The least t with ρ(t) ≥ q; None while fewer have come."""
        q = require_rule("q", q, "lie in (0, 1]", lambda v: 0 < v <= 1)
        reached = np.flatnonzero(1 - self.survival.survival >= q - ROUNDING)
        return float(self.survival.times[reached[0]]) if len(reached) else None

    @property
    def never(self) -> float:
        """S(∞), the share that never comes: S at the longest wait. Some may still come until it is settled. It is 0
        when the longest wait ended in an arrival."""
        return float(self.survival.survival[-1]) if len(self.survival.times) else 1.0

    @cached_property
    def settled(self) -> bool:
        """Whether the tail of S has settled: at the pace of the slowest quarter of the arrivals, three more would have
        come since the last one. If that pace goes on, this happens by chance in e⁻³ = 5 % of cases.

        Never when the longest wait ended in an arrival."""
        if not self.heard:
            return False
        delays = self.waited[self.arrived]
        last, since = float(np.max(delays)), float(np.quantile(delays, 0.75, method="lower"))
        since = since if since < last else 0.0
        out = np.sum(np.clip(self.waited, since, last) - since)  # all waiting, from then on to the last arrival
        beyond = np.sum(np.maximum(self.waited - last, 0.0))
        return bool(np.sum(delays > since) * beyond >= MISSED * out and beyond > 0)

    def comes(self, age: ArrayLike) -> Array:
        """P(it comes | age a) = (S(a) - S(∞)) / S(a); 1/2 while fewer than ten have come."""
        a = np.asarray(age, dtype=float)
        if self.heard < ENOUGH:
            return np.full(a.shape, 0.5)
        S = self.survival.over(a)
        return np.divide(S - self.never, S, out=np.ones_like(S), where=S > 0)

    def expected(self, age: ArrayLike, further: float) -> float:
        """Σ_i (S(a_i) - S(a_i + h)) / S(a_i): how many of the pending arrive within the next h."""
        a = np.asarray(age, dtype=float)
        now, then = self.survival.over(a), self.survival.over(a + _require_horizon(further))
        return float(np.sum(np.divide(now - then, now, out=np.zeros_like(now), where=now > 0)))


def _require_horizon(h: float) -> float:
    return require_rule("h", h, "be at least 0", lambda v: v >= 0)


@dataclass(frozen=True, eq=False)
class Nearby:
    """S(a | x) = Π_{t ≤ a} (1 - h(t | x)), with k_i = k(x, x_i) and

    h(t | x) = (Σ_i k_i 1{d_i = t} + c h(t)) / (Σ_i k_i 1{w_i ≥ t} + c),

    k Gaussian, h(t) the hazard of all queries, and c = 2: where no query is near, S is that of all."""

    X: Array  # rows on the unit cube                   (n, D)
    arrivals: Arrivals
    width: float  # of k; inf: x makes no difference

    @classmethod
    def fit(cls, X: Array, arrivals: Arrivals, margin: float = 0.0) -> Nearby:
        """The width that predicts each wait best from the others, by log-likelihood. It is inf unless another width is
        better by more than `margin`."""
        keep = spread_evenly(len(X), MOST)
        X, arrivals = X[keep], Arrivals(arrivals.waited[keep], arrivals.arrived[keep])
        widths = [math.inf, *WIDTHS] if arrivals.heard >= ENOUGH else [math.inf]
        gap = _compute_distances(X, X)
        merits = [_score_width(gap, arrivals, width) for width in widths]
        merits[0] += margin
        return cls(X, arrivals, widths[int(np.argmax(merits))])

    def survival(self, x: Array, age: ArrayLike) -> Array:
        """(q,): S(a | x) for every row x and its own age."""
        a = np.broadcast_to(np.asarray(age, dtype=float), (len(x),))
        S = np.concatenate([np.ones((len(x), 1)), self._compute_steps(x)], axis=1)
        at = np.searchsorted(self.arrivals.survival.times, a, side="right")
        return np.asarray(S[np.arange(len(x)), at])

    def rho(self, m: float, x: Array) -> Array:
        """(q,): ρ(m | x) = 1 - S(m | x)."""
        return 1 - self.survival(x, require_rule("m", m, "not be nan", lambda v: not math.isnan(v)))

    def expected(self, x: Array, age: ArrayLike, further: float) -> float:
        """How many of the pending, at x and of this `age`, arrive within the next h."""
        a, h, total = np.asarray(age, dtype=float), _require_horizon(further), 0.0
        new = np.ones(len(a), dtype=bool)  # people who were counted by day follow each other: one row for all of them
        new[1:] = np.any(x[1:] != x[:-1], axis=1) | (a[1:] != a[:-1])
        first = np.flatnonzero(new)
        many = np.diff([*first, len(a)])
        for k in range(0, len(first), AT_ONCE):
            rows, people = first[k : k + AT_ONCE], many[k : k + AT_ONCE]
            now, then = self.survival(x[rows], a[rows]), self.survival(x[rows], a[rows] + h)
            total += float(np.sum(people * np.divide(now - then, now, out=np.zeros_like(now), where=now > 0)))
        return total

    def _compute_steps(self, x: Array) -> Array:
        """(q, k): S at the times of arrival."""
        w, arrived, times = self.arrivals.waited, self.arrivals.arrived, self.arrivals.survival.times
        k = np.exp(-_compute_distances(x, self.X) / (2 * self.width**2))
        order = np.argsort(w, kind="stable")
        waiting = np.cumsum(k[:, order[::-1]], axis=1)[:, ::-1]  # Σ k over those that waited at least as long
        out = waiting[:, np.searchsorted(w[order], times, side="left")]
        came = np.zeros((len(x), len(times)))
        where = np.searchsorted(times, w[arrived])
        np.add.at(came.T, where, k[:, arrived].T)
        before = np.concatenate([[1.0], self.arrivals.survival.survival[:-1]])
        hazard = 1 - self.arrivals.survival.survival / np.where(before > 0, before, 1.0)
        return np.asarray(np.cumprod(1 - (came + PRIOR * hazard) / (out + PRIOR), axis=1))


def spread_evenly(n: int, most: int) -> NDArray[np.intp]:
    """At most so many of the rows 0 … n - 1, spread evenly."""
    return np.arange(n, dtype=np.intp) if n <= most else np.linspace(0, n - 1, most).astype(np.intp)


def _compute_distances(a: Array, b: Array) -> Array:
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise InvalidInput(f"x must be rows of {b.shape[1]} columns (got shape {a.shape})")
    return np.asarray(np.maximum(np.sum(a**2, axis=1)[:, None] + np.sum(b**2, axis=1) - 2 * a @ b.T, 0.0))


def _score_width(gap: Array, arrivals: Arrivals, width: float) -> float:
    """Σ_i log-likelihood of wait i given the others near it, time cut into a few steps of equally many arrivals."""
    w, arrived = arrivals.waited, arrivals.arrived
    if not np.any(arrived):
        return 0.0
    steps = int(np.clip(arrivals.heard // 5, 1, STEPS))
    ends = np.unique(np.quantile(w[arrived], np.arange(1, steps + 1) / steps, method="higher"))
    step = np.searchsorted(ends, w, side="left")  # the step in which a wait ended; len(ends): after the last arrival
    came = (step[:, None] == np.arange(len(ends))) & arrived[:, None]
    out = (step[:, None] > np.arange(len(ends))) | came  # through the whole of a step, or until it came
    k = np.exp(-gap / (2 * width**2))
    np.fill_diagonal(k, 0.0)
    pooled = (np.sum(came, axis=0) - came) / np.maximum(np.sum(out, axis=0) - out, 1)  # of the others
    hazard = (k @ came + PRIOR * pooled) / (k @ out + PRIOR)
    hazard = np.clip(hazard, 1e-9, 1 - 1e-9)
    return float(np.sum(np.where(came, np.log(hazard), np.where(out, np.log1p(-hazard), 0.0))))
