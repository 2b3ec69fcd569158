"""What an unheard outcome counts as. Every method answers this question.

d      delay of a query, inf while untold                          (n,)
age    t - s in rounds (Section 3.1), or τ̄_t - τ_s by the clock (App. A.4)   (n,)
m      patience
seen   1{d_s ≤ min(m, age)}: outcomes that a choice may use         (n,)
ỹ      censored feedback: y where seen, the silence's fill elsewhere

A silence is a small value: it says which queries belong to the belief, and what replaces the outcomes not heard.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from belated.errors import InvalidInput
from belated.learner.arrays import Array, Mask
from belated.learner.gp.posterior import Posterior
from belated.learner.history import History, order_by_arrival
from belated.parts import check_returned, find_part, read_part, require_members, reserve, write_part
from belated.validation import Fieldless, format_value

if TYPE_CHECKING:
    from belated.learner.delays.known_law import DelayLaw

LOOKED_AT = 200  # waits that are compared near each query, spread evenly over the order of asking
MARGIN = 3.0  # in log-likelihood: how much better the query must predict the waits
NOTHING = 1e-9  # a row that counts less than this is left out


class Filled(NamedTuple):
    """The rows of a belief, in the order in which they enter it, and their ỹ.

    A row that counts in part, with a share w < 1, is an outcome with λ/w for its noise."""

    rows: NDArray[np.intp]
    y_tilde: Array
    shares: Array | None = None  # w, None: 1 everywhere
    widths: Array | None = None  # the share of σ(x_s) that ν_t counts of a recent query, None: 1 everywhere


class Silence(Protocol):
    """How unheard outcomes count. `heard` gives the belief from the known rows alone."""

    @property
    def name(self) -> str:
        """The word for it in settings, tables and pictures."""

    @property
    def fills(self) -> str:
        """What replaces a pending outcome: "floor", "belief", "between" the two, "neighbours", or "nothing"."""

    @property
    def forgets(self) -> bool:
        """Whether a query whose patience has run out is no information."""

    @property
    def uses_floor(self) -> bool:
        """Whether the fill looks at the floor."""

    def fill(self, h: History, floor: float, heard: Callable[[], Posterior]) -> Filled:
        """The rows that the belief is made of, each with its outcome."""

    def spec(self) -> dict[str, object]:
        """Its name and numbers, as plain values."""


def _select_rows(h: History, keep: Mask, unheard: Array | float) -> Filled:
    rows = np.flatnonzero(keep)
    return Filled(rows, np.where(h.known, h.y, unheard)[rows])


class Floor(Fieldless):
    """The paper's rule: an unheard y_s counts as the least value f can take; after patience it stays so.

    >>> from belated import Points, Study, silence
    >>> study = Study.create(space=Points([0.0, 1.0]), silence=silence.Floor(), floor=0.0, patience=5, seed=0)
    >>> heard, pending = study.add({"x": 0.0}, 1.0), study.add({"x": 1.0})
    >>> bool(study.posterior([{"x": 1.0}]).mean[0] < 0.9)  # no news is bad news
    True
    """

    name = "floor"
    fills = "floor"
    forgets = False
    uses_floor = True

    def fill(self, h: History, floor: float, heard: Callable[[], Posterior]) -> Filled:
        return _select_rows(h, ~h.gone, floor)

    def spec(self) -> dict[str, object]:
        return {"silence": self.name}


class Unknown(Fieldless):
    """GP-BUCB, GP-BTS (hallucination): an unheard y_s counts as the mean given the heard; σ learns and μ does not.

    After patience it is no information.

    >>> from belated import Points, Study, silence
    >>> study = Study.create(space=Points([0.0, 1.0]), silence=silence.Unknown(), seed=0)
    >>> heard = study.add({"x": 0.0}, 1.0)
    >>> before = study.posterior([{"x": 1.0}])
    >>> pending = study.add({"x": 1.0})
    >>> after = study.posterior([{"x": 1.0}], pending=True)  # what the next choice is made from
    >>> bool(abs(after.mean[0] - before.mean[0]) < 1e-9), bool(after.std[0] < before.std[0])
    (True, True)
    """

    name = "unknown"
    fills = "belief"
    forgets = True
    uses_floor = False

    def fill(self, h: History, floor: float, heard: Callable[[], Posterior]) -> Filled:
        return _select_rows(h, h.known | h.pending, fill_with_belief(h, heard))

    def spec(self) -> dict[str, object]:
        return {"silence": self.name}


class Waiting(Fieldless):
    """The floor while pending, so that the search looks elsewhere; no information once patience has run out.

    >>> from belated import Points, Study, silence
    >>> study = Study.create(space=Points([0.0, 1.0]), silence=silence.Waiting(), floor=0.0, patience=1, seed=0)
    >>> heard, pending = study.add({"x": 0.0}, 1.0), study.add({"x": 1.0})
    >>> while_pending = study.posterior([{"x": 1.0}], pending=True).mean[0]
    >>> later = study.add({"x": 0.0}, 1.0), study.add({"x": 0.0}, 1.0)  # two rounds on, its patience has run out
    >>> bool(while_pending < study.posterior([{"x": 1.0}]).mean[0])
    True
    """

    name = "waiting"
    fills = "floor"
    forgets = True
    uses_floor = True

    def fill(self, h: History, floor: float, heard: Callable[[], Posterior]) -> Filled:
        return _select_rows(h, h.known | h.pending, floor)

    def spec(self) -> dict[str, object]:
        return {"silence": self.name}


class Ignored(Fieldless):
    """GP-UCB, asy-TS: what is not heard is left out. Rows are in order of arrival, so a tell appends a row.

    >>> from belated import Points, Study, silence
    >>> study = Study.create(space=Points([0.0, 1.0]), silence=silence.Ignored(), seed=0)
    >>> heard = study.add({"x": 0.0}, 1.0)
    >>> before = study.posterior([{"x": 1.0}])
    >>> pending = study.add({"x": 1.0})
    >>> study.posterior([{"x": 1.0}]) == before
    True
    """

    name = "ignored"
    fills = "nothing"
    forgets = True
    uses_floor = False

    def fill(self, h: History, floor: float, heard: Callable[[], Posterior]) -> Filled:
        rows = order_by_arrival(h)
        return Filled(rows, h.y[rows])

    def spec(self) -> dict[str, object]:
        return {"silence": self.name}


@dataclass(frozen=True)
class Nearest:
    """An unheard y_s counts as the average posterior mean at the k heard queries nearest to x_s (footnote of §3.1).

    >>> from belated import Points, Study, silence
    >>> study = Study.create(space=Points([0.0, 0.1, 1.0]), silence=silence.Nearest(k=1), seed=0)
    >>> _ = study.add({"x": 0.0}, 0.0), study.add({"x": 1.0}, 1.0), study.add({"x": 0.1})  # the last one is pending
    >>> bool(study.posterior([{"x": 0.1}]).mean[0] < 0.3)  # as its neighbour
    True
    """

    k: int = 3
    name = "nearest"
    fills = "neighbours"
    forgets = True
    uses_floor = False

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise InvalidInput(f"k must be a positive whole number (got {self.k!r})")

    def fill(self, h: History, floor: float, heard: Callable[[], Posterior]) -> Filled:
        from scipy.spatial.distance import cdist

        fill = fill_with_belief(h, heard)
        known = np.flatnonzero(h.known)
        if len(known) and np.any(h.pending):
            means = heard().mean(h.X[known])
            near = np.argsort(cdist(h.X[h.pending], h.X[known]), axis=1, kind="stable")[:, : self.k]
            fill[h.pending] = means[near].mean(axis=1)
        return _select_rows(h, h.known | h.pending, fill)

    def spec(self) -> dict[str, object]:
        return {"silence": self.name, "k": self.k}


@dataclass(frozen=True)
class Fading:
    """It could be either: an unheard y_s counts as floor + p (belief - floor), p the probability that it still comes.

    law   the law of the delays, where it is known: one of belated.delays, or a value of your own with rho(m), in the
          unit of patience. None: learned from the delays so far

    p = (S(a) - S(∞)) / S(a) after a wait of a, S the survival of silence among all queries, or near x_s where the waits
    differ (1/2 while fewer than ten have come). Once patience has run out it counts with the share 1 - p: p = 1 is
    `Unknown`, p = 0 is `Floor`. ν_t is shared out in the same way: σ of a recent query counts with the share 1 - p, or
    with S(∞) if it was heard.

    >>> from belated import Points, Study, silence
    >>> def belief(meaning):
    ...     study = Study.create(space=Points([0.0, 1.0]), silence=meaning, floor=0.0, seed=0)
    ...     heard, pending = study.add({"x": 0.0}, 1.0), study.add({"x": 1.0})
    ...     return study.posterior([{"x": 1.0}]).mean[0]
    >>> bool(belief(silence.Floor()) < belief(silence.Fading()) < belief(silence.Unknown()))
    True
    >>> from belated.delays import Fixed, Sometimes
    >>> seldom, often = (silence.Fading(law=Sometimes(Fixed(5), share)) for share in (0.1, 0.9))
    >>> bool(belief(seldom) < belief(often))  # what seldom comes is soon given up
    True
    """

    law: DelayLaw | None = None
    name = "fading"
    fills = "between"
    forgets = False
    uses_floor = True

    def __post_init__(self) -> None:
        if self.law is not None:
            require_members("law", self.law, ("rho",))

    def fill(self, h: History, floor: float, heard: Callable[[], Posterior]) -> Filled:
        p, never = self._estimate_arrival(h)
        silent = ~h.known & ~h.gone
        unheard = np.full(len(h.X), np.nan)
        if np.any(silent):
            unheard[silent] = floor + p[silent] * (heard().mean(h.X[silent]) - floor)
        share = np.where(silent & ~h.pending, 1.0 - p, 1.0)
        rows, y_tilde = _select_rows(h, ~h.gone & (share > NOTHING), unheard)[:2]
        return Filled(rows, y_tilde, share[rows], np.where(h.known, never, 1.0 - p)[rows])

    def _estimate_arrival(self, h: History) -> tuple[Array, Array]:
        if self.law is None:
            return estimate_arrival(h)
        from belated.learner.delays.known_law import compute_arrival

        return compute_arrival(self.law, np.nan_to_num(h.waited))

    def spec(self) -> dict[str, object]:
        if self.law is None:
            return {"silence": self.name}
        from belated.learner.delays.known_law import write_law

        return {"silence": self.name, "law": write_law(self.law)}


def estimate_arrival(h: History) -> tuple[Array, Array]:
    """P(it still comes | its age) and P(it never comes), for every query             (n,), (n,)."""
    # only here: `import belated` is lighter without it
    from belated.learner.delays.survival import ENOUGH, Arrivals, Nearby, spread_evenly

    counted = np.flatnonzero(~np.isnan(h.waited))
    arrivals = Arrivals(h.waited[counted], h.arrived[counted])
    age = np.nan_to_num(h.waited)
    some = counted[spread_evenly(len(counted), LOOKED_AT)]
    near = Nearby.fit(h.X[some], Arrivals(h.waited[some], h.arrived[some]), MARGIN)
    if math.isinf(near.width):
        return arrivals.comes(age), np.full(len(age), arrivals.never if arrivals.heard >= ENOUGH else 0.5)
    S, never = near.survival(h.X, age), near.survival(h.X, np.full(len(age), np.inf))
    return np.divide(S - never, S, out=np.ones_like(S), where=S > 0), never


@dataclass(frozen=True)
class Halfway:
    """A pending y_s counts as floor + share (belief - floor), or as `base` fills it if that is nearer to the belief."""

    base: Silence
    share: float = 0.5
    name = "halfway"
    fills = "between"
    uses_floor = True

    @property
    def forgets(self) -> bool:
        return self.base.forgets

    def fill(self, h: History, floor: float, heard: Callable[[], Posterior]) -> Filled:
        belief = fill_with_belief(h, heard)
        fill = np.where(h.pending, floor + self.share * (belief - floor), h.y)
        rows, y_tilde, shares, widths = fill_checked(self.base, h, floor, heard)
        farther = h.pending[rows] & (np.abs(fill[rows] - belief[rows]) < np.abs(y_tilde - belief[rows]))
        fill[rows] = np.where(farther, fill[rows], y_tilde)
        more = np.setdiff1d(np.flatnonzero(h.pending), rows)  # last, so that the base's rows stay factored
        rows = np.concatenate([rows, more])
        return Filled(rows, fill[rows], _append_ones(shares, len(more)), _append_ones(widths, len(more)))

    def spec(self) -> dict[str, object]:
        return {"silence": self.name, "base": self.base.spec(), "share": self.share}


def _append_ones(shares: Array | None, more: int) -> Array | None:
    return None if shares is None else np.concatenate([shares, np.ones(more)])


def fill_with_belief(h: History, heard: Callable[[], Posterior]) -> Array:
    """The mean given the known rows at every pending query, NaN elsewhere                     (n,)."""
    fill = np.full(len(h.X), np.nan)
    if np.any(h.pending):
        fill[h.pending] = heard().mean(h.X[h.pending])
    return fill


def fill_checked(silence: Silence, h: History, floor: float, heard: Callable[[], Posterior]) -> Filled:
    """What a silence fills in. One of the user's own is refused with its name where rows or numbers do not fit."""
    filled = silence.fill(h, floor, heard)
    if not isinstance(filled, Filled):
        raise InvalidInput(f"{type(silence).__name__}: fill must return a silence.Filled (got {format_value(filled)})")
    if np.any(np.isnan(filled.y_tilde)):
        raise InvalidInput(f"{silence!r} left an outcome unfilled")
    if type(silence).__module__ != __name__:
        rows = np.asarray(filled.rows)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or np.any((rows < 0) | (rows >= len(h.y))):
            raise InvalidInput(f"{silence!r}: rows must be numbers of rows of the history (got {format_value(rows)})")
        for what, values in (("y_tilde", filled.y_tilde), ("shares", filled.shares), ("widths", filled.widths)):
            if values is not None:
                check_returned(silence, what, values, rows.shape)
    return filled


SILENCES: dict[str, Silence] = {
    "floor": Floor(),
    "unknown": Unknown(),
    "waiting": Waiting(),
    "fading": Fading(),
    "ignored": Ignored(),
    "nearest": Nearest(),
}


def read_silence(spec: Mapping[str, Any]) -> Silence:
    """The silence that `write_silence` wrote."""
    if spec["silence"] not in SILENCES:
        own: Silence = read_part("silence", spec)
        return own
    if "law" in spec:
        from belated.learner.delays.known_law import read_law

        return Fading(read_law(spec["law"]))
    return Nearest(spec["k"]) if spec["silence"] == "nearest" else SILENCES[spec["silence"]]


def write_silence(silence: Silence) -> dict[str, object]:
    """A silence as plain values: one of belated's by its own spec, any other by its registered name."""
    known = SILENCES.get(silence.name)
    return silence.spec() if type(known) is type(silence) else write_part("silence", silence)


def find_silence(name: str) -> Silence | None:
    """The silence of that name, belated's or registered, with the fields that it has by default."""
    part = find_part("silence", name)
    return SILENCES.get(name) if part is None else part()


reserve("silence", *SILENCES)
