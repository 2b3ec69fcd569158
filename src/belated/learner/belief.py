"""The belief from a history, with the pending filled by a silence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from belated.learner.arrays import Array, Mask
from belated.learner.feasibility import Feasibility
from belated.learner.gp.beginning import BeginningStore, GrowingBegun
from belated.learner.gp.listed import GrowingListed, JointStore, ListedPosterior
from belated.learner.gp.merging import group_rows
from belated.learner.gp.posterior import GP, GrowingPosterior, Posterior
from belated.learner.gp.summary import SIZES, choose_centres
from belated.learner.history import History, order_by_arrival
from belated.learner.silence import Filled, Silence, fill_checked, fill_with_belief


class ChoiceBelief(Protocol):
    """What a policy may ask of a belief."""

    def mean_and_std(self, Q: Array) -> tuple[Array, Array]:
        """μ and σ at Q                                            (q,), (q,)."""

    @property
    def posterior(self) -> Posterior: ...

    @property
    def known(self) -> Mask: ...

    @property
    def heard(self) -> NDArray[np.intp]: ...

    @property
    def queries(self) -> Array: ...

    @property
    def means(self) -> Array: ...

    @property
    def feasible(self) -> Feasibility | None: ...

    def recent_spread(self) -> float: ...


@dataclass(frozen=True, eq=False)
class ModelBelief:
    """A posterior, and which of its outcomes the policies need to know about."""

    posterior: Posterior
    known: Mask  # outcomes that are not a fill
    recent: Mask  # those whose queries ν_t sums over
    z: Array = field(default_factory=lambda: np.empty(0))  # the context that the next query is for, if any
    widths: Array | None = None  # the share of each query's σ that ν_t counts; None: all of it
    feasible: Feasibility | None = None  # where infeasible queries are kept apart, and there are some

    def mean_and_std(self, Q: Array) -> tuple[Array, Array]:
        return self.posterior.mean_and_std(Q)

    def recent_spread(self) -> float:
        """Σ σ(x_s) over the recent queries, as ν_t counts them: a query that was asked twice counts twice."""
        std = self.posterior.std_of(self.recent)
        return float(np.sum(std if self.widths is None else std * self.widths[self.recent]))

    @cached_property
    def heard(self) -> NDArray[np.intp]:
        """The rows of the posterior that have an outcome."""
        return np.flatnonzero(np.bincount(self.posterior.place[self.known]))

    @cached_property
    def queries(self) -> Array:
        """The queries that have an outcome, each in the context of the next query."""
        rows = self.posterior.X[self.heard].copy()
        rows[:, : len(self.z)] = self.z
        return rows

    @cached_property
    def means(self) -> Array:
        """μ at those queries."""
        return self.posterior.mean(self.queries) if len(self.z) else self.posterior.own_means[self.heard]


@dataclass(frozen=True, eq=False)
class ListedBelief(ModelBelief):
    """The same where queries are listed, and each is looked at once."""

    items: Array = field(kw_only=True)  # the listed queries that have an outcome in any context

    @cached_property
    def queries(self) -> Array:
        return np.hstack([np.tile(self.z, (len(self.items), 1)), self.items])

    @cached_property
    def means(self) -> Array:
        return self.posterior.mean(self.queries)


class BegunBelief(ModelBelief):
    """The same where the first rows are left out: their centres have outcomes too."""

    @cached_property
    def heard(self) -> NDArray[np.intp]:
        return np.union1d(self.posterior.old.rows, self.posterior.place[self.known])


Conditioner = GrowingPosterior | GrowingListed | GrowingBegun


@dataclass
class FactorCache:
    """The factors that a study keeps between asks: of the known rows, of the rows of the belief, of feasibility."""

    heard: GrowingPosterior = field(default_factory=GrowingPosterior)
    belief: GrowingPosterior = field(default_factory=GrowingPosterior)
    feasible: GrowingPosterior = field(default_factory=GrowingPosterior)
    joint: JointStore = field(default_factory=JointStore)
    beginnings: BeginningStore = field(default_factory=BeginningStore)

    def __post_init__(self) -> None:
        self.belief.store = self.heard.store  # what is old is the same for both, as a rule
        self.belief.siblings = [self.heard]  # which has just grown by what was told

    def choose(self, h: History) -> tuple[Conditioner, Conditioner]:
        """What gives the belief from the known rows, and what gives that from all rows."""
        both = self.heard, self.belief
        if h.begun is not None:
            heard, belief = (GrowingBegun(self.beginnings, h.begun, each) for each in both)
            return heard, belief
        if h.listing is not None:
            return GrowingListed(self.joint, h.listing, self.heard), GrowingListed(self.joint, h.listing, self.belief)
        return both


def fill_outcomes(
    gp: GP, silence: Silence, h: History, growing: Conditioner, centres: Sequence[int] = (), pairs: int = 0
) -> tuple[Filled, Callable[[], Posterior]]:
    """The rows of a belief with their ỹ, and what gives the belief from the known rows alone."""
    lams, known = h.own_lams(gp), count_infeasible(gp, h)
    rows = order_by_arrival(h)

    @cache
    def believe_heard() -> Posterior:
        X, points = h.X[rows], h.point[rows]
        return growing.condition(gp, h.number[rows], X, known.y[rows], lams[rows], None, points, centres, pairs)

    return fill_silence(gp, silence, known, believe_heard), believe_heard


def find_centres(gp: GP, h: History, pairs: int = 0) -> tuple[int, ...]:
    """The numbers of the queries around which a belief from this history is summarised; none where it is exact.

    They are known, and old enough to be summarised in the order of arrival and in that of asking. `pairs`: how many
    different queries there can be, 0: very many."""
    rows = order_by_arrival(h)
    rows = rows[group_rows(h.point[rows]).first]
    rows = rows[: SIZES.count_summarised(len(rows), pairs)]
    rows = np.sort(rows[h.number[rows] <= SIZES.count_summarised(len(h.number), pairs)])
    if not len(rows):
        return ()
    chosen = choose_centres(gp.kernel, h.X[rows], h.own_lams(gp)[rows], SIZES.centres)
    return tuple(h.number[rows[chosen]].tolist())


def count_infeasible(gp: GP, h: History) -> History:
    """The history in which infeasible queries have the floor for their outcome."""
    return replace(h, y=np.where(h.infeasible, find_floor(gp, h), h.y))


def fill_silence(gp: GP, silence: Silence, known: History, believe_heard: Callable[[], Posterior]) -> Filled:
    """The rows of a belief with their ỹ; `believe_heard` gives the belief from the known rows alone."""
    return fill_checked(silence, known, find_floor(gp, known), believe_heard)


def find_floor(gp: GP, h: History) -> float:
    """The floor, or the prior mean where it is not known."""
    return gp.mean if h.floor is None else h.floor


def believe(
    gp: GP,
    silence: Silence,
    h: History,
    Q: Array | None = None,
    memory: FactorCache | None = None,
    z: Array | None = None,
    fill_noise: float = 0.0,
    centres: Sequence[int] = (),
    pairs: int = 0,
) -> ModelBelief:
    """The belief from a history, with the pending filled by a silence.

    `memory` only saves time: without it the numbers are the same.

    With `fill_noise` a pending query that is filled far from the belief is an outcome with its own noise: its standard
    deviation is that share of the distance. So a fill counts in full where little is known, and hardly at all near
    outcomes that were heard.

    `centres` are numbers of queries around which very many rows are summarised (gp/summary.py); `pairs` says how many
    different queries there can be, 0: very many."""
    memory = memory or FactorCache()
    lams, (growing_heard, growing) = h.own_lams(gp), memory.choose(h)
    (rows, y_tilde, shares, widths), heard = fill_outcomes(gp, silence, h, growing_heard, centres, pairs)
    if fill_noise:  # fills change from ask to ask: their rows come last, so that the factor of the others is kept
        last = np.lexsort((h.order[rows], h.pending[rows]))
        rows, y_tilde = rows[last], y_tilde[last]
        shares, widths = (None if parts is None else parts[last] for parts in (shares, widths))
    own = lams[rows] if shares is None else lams[rows] / shares
    points = h.point[rows]
    if fill_noise and np.any(h.pending[rows]):  # what changes from ask to ask is not merged with what stays
        points = 2 * points + h.pending[rows]
        distance = np.nan_to_num(y_tilde - fill_with_belief(h, heard)[rows])
        own = np.where(h.pending[rows], np.maximum(own, np.square(fill_noise * distance)), own)
    posterior = growing.condition(gp, h.number[rows], h.X[rows], y_tilde, own, Q, points, centres, pairs)
    z = np.empty(0) if z is None else z
    if h.listing is not None:
        items = cast("ListedPosterior", posterior).find_items(h.known[rows])
        return ListedBelief(posterior, h.known[rows], h.recent[rows], z, widths, items=h.listing.Q[items])
    kind = ModelBelief if h.begun is None else BegunBelief
    return kind(posterior, h.known[rows], h.recent[rows], z, widths)
