"""What an unheard outcome counts as: the one question that every method answers.

d      delay of a query, inf while untold                          (n,)
age    t - s in rounds (Section 3.1), or τ̄_t - τ_s by the clock (App. A.4)   (n,)
m      patience
seen   1{d_s ≤ min(m, age)}: outcomes that a choice may use         (n,)
ỹ      censored feedback: y where seen, the silence's fill elsewhere

A silence is a small value: it says which queries belong to the belief and what stands in for the outcomes not heard.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from belated.errors import InvalidInput
from belated.learner.kernels import Array, Mask
from belated.learner.posterior import GP, Grown, Posterior
from belated.plain import Fieldless

LOOKED_AT = 200  # waits that are compared by query, spread evenly over the order of asking
MARGIN = 3.0  # of log-likelihood by which waits must be foretold better by query than without
NOTHING = 1e-9  # a row that counts less than this is left out
SOFT = 0.25  # noise of a soft fill, as a share of its distance from the belief


def in_time(delay: Array, age: Array, m: float | Array) -> Mask:
    """1{d_s ≤ min(m, t - s)}, the paper's indicator."""
    return np.asarray(delay <= np.minimum(m, age))


@dataclass(frozen=True, kw_only=True, eq=False)
class History:
    """What a choice knows: one row per query asked so far, by number. The model's scale has the best largest."""

    number: NDArray[np.intp]
    X: Array
    y: Array  # the outcome where seen
    seen: Mask  # heard, and the model may use it
    pending: Mask  # not heard, still within patience
    infeasible: Mask  # x made it fail: counts as the floor
    gone: Mask  # lost or withdrawn: as if never asked
    recent: Mask  # age ≤ m and not gone: what ν_t sums over
    by_hand: Mask  # not chosen by us
    order: NDArray[np.intp]  # when the outcome was told, for the order of arrival
    lams: Array  # the outcome's own noise variance, NaN where lam serves
    floor: float | None  # the least value f can take; None: unknown and nothing heard to stand in for it
    waited: Array  # d where told, the age so far elsewhere; NaN where that says nothing of delays (added, failed)
    arrived: Mask  # told, in time or late
    late: Mask  # told after patience had run out

    @property
    def known(self) -> Mask:
        """The rows whose value needs no filling: heard, or infeasible (the floor)."""
        return self.seen | self.infeasible

    @property
    def settled(self) -> Mask:
        """Known, or silent for longer than patience: under a silence that does not forget, that is an outcome too."""
        return self.known | ~(self.pending | self.gone)

    def own_lams(self, gp: GP) -> Array:
        return np.where(np.isnan(self.lams), gp.lam, self.lams)


class Filled(NamedTuple):
    """The rows of a belief, in the order in which they enter it, and their ỹ.

    A row that counts in part, with a share w < 1, is an outcome with λ/w for its noise."""

    rows: NDArray[np.intp]
    y_tilde: Array
    shares: Array | None = None  # w, None: 1 everywhere
    widths: Array | None = None  # the share of σ(x_s) that ν_t counts of a recent query, None: 1 everywhere


class Silence(Protocol):
    """How the unheard count. `heard` gives the belief from the known rows alone."""

    @property
    def forgets(self) -> bool:
        """Whether a query whose patience has run out is no information."""

    @property
    def uses_floor(self) -> bool:
        """Whether the fill looks at the floor."""

    def fill(self, h: History, floor: float, heard: Callable[[], Posterior]) -> Filled: ...

    def spec(self) -> dict[str, object]:
        """Its name and numbers, as plain values."""


def _rows(h: History, keep: Mask, unheard: Array | float) -> Filled:
    rows = np.flatnonzero(keep)
    return Filled(rows, np.where(h.known, h.y, unheard)[rows])


class Floor(Fieldless):
    """The paper's rule: an unheard y_s counts as the least value f can take, for good once patience has run out."""

    forgets = False
    uses_floor = True

    def fill(self, h: History, floor: float, heard: Callable[[], Posterior]) -> Filled:
        return _rows(h, ~h.gone, floor)

    def spec(self) -> dict[str, object]:
        return {"silence": "floor"}


class Unknown(Fieldless):
    """GP-BUCB, GP-BTS (hallucination): an unheard y_s counts as the mean given the heard; σ learns and μ does not.

    After patience it is no information."""

    forgets = True
    uses_floor = False

    def fill(self, h: History, floor: float, heard: Callable[[], Posterior]) -> Filled:
        return _rows(h, h.known | h.pending, believed(h, heard))

    def spec(self) -> dict[str, object]:
        return {"silence": "unknown"}


class Waiting(Fieldless):
    """The floor while pending, so that the search looks elsewhere; no information once patience has run out."""

    forgets = True
    uses_floor = True

    def fill(self, h: History, floor: float, heard: Callable[[], Posterior]) -> Filled:
        return _rows(h, h.known | h.pending, floor)

    def spec(self) -> dict[str, object]:
        return {"silence": "waiting"}


class Ignored(Fieldless):
    """GP-UCB, asy-TS: what is not heard is not there. Rows come in order of arrival, so telling appends."""

    forgets = True
    uses_floor = False

    def fill(self, h: History, floor: float, heard: Callable[[], Posterior]) -> Filled:
        rows = arrived(h)
        return Filled(rows, h.y[rows])

    def spec(self) -> dict[str, object]:
        return {"silence": "ignored"}


@dataclass(frozen=True)
class Nearest:
    """An unheard y_s counts as the average posterior mean at the k heard queries nearest to x_s (footnote of §3.1)."""

    k: int = 3
    forgets = True
    uses_floor = False

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise InvalidInput(f"k must be a positive whole number (got {self.k!r})")

    def fill(self, h: History, floor: float, heard: Callable[[], Posterior]) -> Filled:
        from scipy.spatial.distance import cdist

        fill = believed(h, heard)
        known = np.flatnonzero(h.known)
        if len(known) and np.any(h.pending):
            means = heard().mean(h.X[known])
            near = np.argsort(cdist(h.X[h.pending], h.X[known]), axis=1, kind="stable")[:, : self.k]
            fill[h.pending] = means[near].mean(axis=1)
        return _rows(h, h.known | h.pending, fill)

    def spec(self) -> dict[str, object]:
        return {"silence": "nearest", "k": self.k}


class Fading(Fieldless):
    """It could be either: an unheard y_s counts as floor + p (belief - floor), p the probability that it still comes.

    p = (S(a) - S(∞)) / S(a) after a wait of a, S the survival of silence among all queries, or near x_s where the waits
    differ (1/2 while fewer than ten have come). Once patience has run out it counts with the share 1 - p: p = 1 is
    `Unknown`, p = 0 is `Floor`. So does ν_t: of a recent query it counts σ with the share 1 - p, and with S(∞) of one
    that was heard."""

    forgets = False
    uses_floor = True

    def fill(self, h: History, floor: float, heard: Callable[[], Posterior]) -> Filled:
        p, never = comes(h)
        silent = ~h.known & ~h.gone
        unheard = np.full(len(h.X), np.nan)
        if np.any(silent):
            unheard[silent] = floor + p[silent] * (heard().mean(h.X[silent]) - floor)
        share = np.where(silent & ~h.pending, 1.0 - p, 1.0)
        rows, y_tilde = _rows(h, ~h.gone & (share > NOTHING), unheard)[:2]
        return Filled(rows, y_tilde, share[rows], np.where(h.known, never, 1.0 - p)[rows])

    def spec(self) -> dict[str, object]:
        return {"silence": "fading"}


def comes(h: History) -> tuple[Array, Array]:
    """P(it still comes | out for so long) and P(it never comes), for every query             (n,), (n,)."""
    # only here: `import belated` is lighter without it
    from belated.learner.arrivals import ENOUGH, Arrivals, Nearby, spread

    counted = np.flatnonzero(~np.isnan(h.waited))
    arrivals = Arrivals(h.waited[counted], h.arrived[counted])
    age = np.nan_to_num(h.waited)
    some = counted[spread(len(counted), LOOKED_AT)]
    near = Nearby.fit(h.X[some], Arrivals(h.waited[some], h.arrived[some]), MARGIN)
    if math.isinf(near.width):
        return arrivals.comes(age), np.full(len(age), arrivals.never if arrivals.heard >= ENOUGH else 0.5)
    S, never = near.survival(h.X, age), near.survival(h.X, np.full(len(age), np.inf))
    return np.divide(S - never, S, out=np.ones_like(S), where=S > 0), never


@dataclass(frozen=True)
class Halfway:
    """A pending y_s counts as floor + share (belief - floor), or as `base` has it where that is nearer the belief."""

    base: Silence
    share: float = 0.5
    uses_floor = True

    @property
    def forgets(self) -> bool:
        return self.base.forgets

    def fill(self, h: History, floor: float, heard: Callable[[], Posterior]) -> Filled:
        belief = believed(h, heard)
        fill = np.where(h.pending, floor + self.share * (belief - floor), h.y)
        rows, y_tilde, shares, widths = self.base.fill(h, floor, heard)
        farther = h.pending[rows] & (np.abs(fill[rows] - belief[rows]) < np.abs(y_tilde - belief[rows]))
        fill[rows] = np.where(farther, fill[rows], y_tilde)
        more = np.setdiff1d(np.flatnonzero(h.pending), rows)  # the base's order comes first, for its factor
        rows = np.concatenate([rows, more])
        return Filled(rows, fill[rows], _with_ones(shares, len(more)), _with_ones(widths, len(more)))

    def spec(self) -> dict[str, object]:
        return {"silence": "halfway", "base": self.base.spec(), "share": self.share}


def _with_ones(shares: Array | None, more: int) -> Array | None:
    return None if shares is None else np.concatenate([shares, np.ones(more)])


def believed(h: History, heard: Callable[[], Posterior]) -> Array:
    """The mean given the known rows at every pending query, NaN elsewhere                     (n,)."""
    fill = np.full(len(h.X), np.nan)
    if np.any(h.pending):
        fill[h.pending] = heard().mean(h.X[h.pending])
    return fill


def arrived(h: History) -> NDArray[np.intp]:
    """The known rows in order of arrival."""
    rows = np.flatnonzero(h.known)
    return rows[np.argsort(h.order[rows], kind="stable")]


@dataclass(frozen=True, eq=False)
class Belief:
    """A posterior, and which of its rows the policies need to know about."""

    posterior: Posterior
    known: Mask  # rows with an outcome of their own
    recent: Mask  # rows that ν_t sums over
    z: Array = field(default_factory=lambda: np.empty(0))  # the context that the next query is for, if any
    widths: Array | None = None  # the share of each row's σ that ν_t counts; None: all of it

    def recent_spread(self) -> float:
        """Σ σ(x_s) over the recent queries, as ν_t counts them."""
        std = self.posterior.std_of(self.recent)
        return float(np.sum(std if self.widths is None else std * self.widths[self.recent]))

    @cached_property
    def means(self) -> Array:
        """μ at the queries with an outcome of their own, each as it would be in the context at hand."""
        if not len(self.z):
            return self.posterior.mean_of(self.known)
        rows = self.posterior.X[self.known].copy()
        rows[:, : len(self.z)] = self.z
        return self.posterior.mean(rows)


@dataclass
class Memory:
    """The factors that a study keeps between asks: of the known rows, and of the rows of the belief."""

    heard: Grown = field(default_factory=Grown)
    belief: Grown = field(default_factory=Grown)


def believe(
    gp: GP,
    silence: Silence,
    h: History,
    Q: Array | None = None,
    memory: Memory | None = None,
    z: Array | None = None,
    soft: bool = False,
) -> Belief:
    """The belief that a silence makes of a history. `memory` only saves time: without it the numbers are the same.

    With `soft` a pending query that is filled far from the belief is taken as an outcome with noise of its own, a
    quarter of that distance: where little is known it counts in full, beside what was heard it bends nothing."""
    memory = memory or Memory()
    floor = gp.mean if h.floor is None else h.floor
    h = replace(h, y=np.where(h.infeasible, floor, h.y))
    lams = h.own_lams(gp)
    in_order = arrived(h)
    made: list[Posterior] = []

    def heard() -> Posterior:
        if not made:
            made.append(memory.heard.condition(gp, h.number[in_order], h.X[in_order], h.y[in_order], lams[in_order]))
        return made[0]

    rows, y_tilde, shares, widths = silence.fill(h, floor, heard)
    if np.any(np.isnan(y_tilde)):
        raise InvalidInput(f"{silence!r} left an outcome unfilled")
    if soft:  # the noise of a soft fill changes from ask to ask: those rows come last, so that the others stay factored
        last = np.lexsort((h.order[rows], h.pending[rows]))
        rows, y_tilde = rows[last], y_tilde[last]
        shares, widths = (None if parts is None else parts[last] for parts in (shares, widths))
    own = lams[rows] if shares is None else lams[rows] / shares
    if soft and np.any(h.pending[rows]):
        distance = np.nan_to_num(y_tilde - believed(h, heard)[rows])
        own = np.where(h.pending[rows], np.maximum(own, np.square(SOFT * distance)), own)
    posterior = memory.belief.condition(gp, h.number[rows], h.X[rows], y_tilde, own, Q)
    return Belief(posterior, h.known[rows], h.recent[rows], np.empty(0) if z is None else z, widths)


SILENCES: dict[str, Silence] = {
    "floor": Floor(),
    "unknown": Unknown(),
    "waiting": Waiting(),
    "fading": Fading(),
    "ignored": Ignored(),
    "nearest": Nearest(),
}


def silence_of(spec: Mapping[str, Any]) -> Silence:
    """The silence that a `spec()` names."""
    return Nearest(spec["k"]) if spec["silence"] == "nearest" else SILENCES[spec["silence"]]
