"""How long to wait: what each patience m would cost, and which one is advised. The answer of `study.advise()`.

S(a)   P(d > a), by Kaplan-Meier (learner/delays/survival.py)
ρ_m    1 - S(m), the share of outcomes that come within m, with 95 % confidence limits
σ_s    the belief's standard deviation at query s, given all queries, as a share of the prior's: at most 1
ν(m)   β + Σ σ_s over the queries of the last m, the width of the paper's interval: it grows with m
c(m)   ν(m) / lower limit of ρ_m. Theorem 2 bounds a round's regret by (2/ρ_m) ν σ: the m with the least c is advised
open   rate · ∫_0^m S(a) da, how many queries are pending at a time (Little's law); in rounds Σ_{a < m} S(a)

Of conversions, a shorter m also loses those that come later: their share among all that come, by the law of delays that
rates are learned with. What loses more than LOST of them is not advised, however narrow it makes the interval.

Nothing is advised while fewer than ten outcomes were heard, nor while a wait longer than any so far could be better.
Its cost is at best ν(longest wait), if all outcomes had come by then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from belated.delays.report import DelayReport, TimeScale, report_delays
from belated.delays.wording import LEGEND, describe_patience, describe_rho, format_patience
from belated.errors import InvalidInput, NotPositiveDefinite
from belated.learner.arrays import Array, Indices
from belated.learner.belief import ModelBelief
from belated.learner.blas import use_one_thread
from belated.learner.choice.decide import compute_width, find_scale, make_gp, try_hyperparameters
from belated.learner.choice.problem import Cache, Hyperparameters
from belated.learner.counts import Counts
from belated.learner.delays.arrival_law import ArrivalLaw
from belated.learner.delays.survival import ENOUGH, Arrivals, Band, spread_evenly
from belated.learner.history import scale_history
from belated.patience import SECONDS, Patience
from belated.record.choices import Knowledge, gather_knowledge
from belated.record.events import Adjusted
from belated.record.state import State
from belated.settings import Settings
from belated.wording import align_columns

SHOWN = (0.25, 0.5, 0.75, 0.9, 0.95, 0.99)  # quantiles of the outcomes that come; each has a row
MOST = 400  # values of m that are compared
NEWEST = 1000  # queries whose σ is computed
ALIKE = 1.05  # a cost up to this factor higher counts as equal
GROWTH = 1.5  # of the outcomes heard, before patience is considered again
LOST = 0.05  # of the conversions: an advised patience loses no more of them
CHANGE = 0.2  # of m: a smaller change is not made


@dataclass(frozen=True, kw_only=True)
class PatienceCost:
    """What one patience would cost."""

    m: float  # rounds, or seconds by the clock
    rho: Band  # ρ_m
    open: float | None  # pending queries at a time, at the pace so far; None: no time has passed
    width: float  # ν(m), in units of β
    cost: float  # c(m), in units of β; inf while nothing has come within m
    later: float | None = None  # of the conversions that come, the share that comes later; None: not conversions

    def to_dict(self) -> dict[str, Any]:
        return {
            "m": self.m,
            "rho": self.rho._asdict(),
            "open": self.open,
            "width": self.width,
            "cost": self.cost if math.isfinite(self.cost) else None,
            "later": self.later,
        }

    @property
    def kept(self) -> float:
        """The share that comes within m: of all outcomes, or of the conversions that come."""
        return self.rho.estimate if self.later is None else 1.0 - self.later


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What each patience would cost a study, and which is advised; print it.

    >>> from belated import Real, Study
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    >>> print(study.advise())
    Too early to advise: 0 outcomes were heard, and it takes 10. Leave patience as it is (none).
    """

    rows: tuple[PatienceCost, ...]  # by m
    recommended: float | None  # m; None: too early to say
    reason: str
    meaning: str  # what patience means to this study
    scale: TimeScale
    current: Patience
    heard: int
    warning: str = ""  # what is wrong with the study's silence, from `study.delays()`

    @property
    def patience(self) -> Patience | None:
        """The recommended one; None: too early to say."""
        return None if self.recommended is None else Patience(self.recommended, self.scale == "clock")

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return {
            "recommended": self.recommended,
            "patience": None if self.patience is None else str(self.patience),
            "current": str(self.current),
            "scale": self.scale,
            "heard": self.heard,
            "reason": self.reason,
            "meaning": self.meaning,
            "warning": self.warning,
            "rows": [row.to_dict() for row in self.rows],
        }

    def __str__(self) -> str:
        if not self.rows or self.heard < ENOUGH:
            return self.reason
        flag = f"\n! {self.warning}" if self.warning else ""
        return f"{self._format_table()}\n\n{self.reason}\n{self.meaning}\n{LEGEND}{flag}"

    def _format_table(self) -> str:
        conversions = any(row.later is not None for row in self.rows)
        lines = [("m", "arrive by then", *(["come later"] if conversions else []), "kept open", "interval", "cost", "")]
        for row in self.rows:
            rho = row.rho
            lines.append(
                (
                    format_patience(row.m, self.scale),
                    describe_rho(rho),
                    *([] if row.later is None else [f"{100 * row.later:.0f} %"]),
                    "?" if row.open is None else f"{row.open:.1f}",
                    f"{row.width:.2f}",
                    f"{row.cost:.2f}",
                    ", ".join(self._mark_row(row.m)),
                )
            )
        return "\n".join(align_columns(lines))

    def _mark_row(self, m: float) -> Iterator[str]:
        if m == self.recommended:
            yield "advised"
        if m == self.current.m and self.current.by_clock == (self.scale == "clock"):
            yield "now"


class Days(NamedTuple):
    """Whom a study counts by day: how many, and how old the youngest and the oldest of them are."""

    shown: Array
    youngest: Array
    oldest: Array

    def count_within(self, m: float) -> Array:
        """How many of each day are at most so old: they came evenly while it went by."""
        return np.asarray(self.shown * np.clip((m - self.youngest) / (self.oldest - self.youngest), 0.0, 1.0))


class CountedCells(NamedTuple):
    """The different queries, each in its context, of the people who were counted by day: the newest first."""

    X: Array
    shown: Array
    place: Indices  # of each day

    @classmethod
    def of(cls, counts: Counts) -> CountedCells:
        _, last, place = np.unique(counts.point[::-1], return_index=True, return_inverse=True)
        order = np.argsort(last)
        place = np.argsort(order)[place[::-1]]
        X = counts.X[::-1][last[order]]
        return cls(X, np.asarray(np.bincount(place, counts.shown, len(order)), dtype=float), place)


NOBODY = Days(np.empty(0), np.empty(0), np.empty(0))


class IntervalParts(NamedTuple):
    """The parts of ν(m)."""

    beta: float
    age: Array  # of every query that is not gone, at the next choice (by the clock: at the last one)
    sigma: Array
    days: Days = NOBODY
    by_day: Array = np.empty(0)  # σ of the people of each day

    def nu(self, m: float) -> float:
        nu = self.beta + float(np.sum(self.sigma[self.age <= m]))
        return nu + float(np.sum(self.by_day * self.days.count_within(m))) if len(self.by_day) else nu


@dataclass(frozen=True, eq=False)
class AdviceBasis:
    """Everything that advice depends on, at one moment; later events do not change it."""

    at: float
    delays: DelayReport
    known: Knowledge
    settings: Settings
    age: Array  # of all queries
    rate: float | None  # asks per round, or per second since the first
    counts: Counts | None = None  # of people by day, where delays go by the clock
    days: Days = NOBODY

    @classmethod
    def of(cls, state: State, now: float, by: TimeScale | None = None) -> AdviceBasis:
        seen, table, known = report_delays(state, now, by), state.table, gather_knowledge(state, now)
        n = table.count
        if seen.scale == "rounds":
            return cls(now, seen, known, state.settings, n - np.arange(n, dtype=float), 1.0)
        at = table.column("asked_at")
        timed = at[~table.column("undelayed")]
        if (counts := known.history.counts) is not None:
            begin, shown = at[counts.number - 1], float(np.sum(counts.shown))
            begun, ended = float(np.min([*begin, *timed])), float(np.max([*(begin + counts.width), *timed]))
            days = Days(counts.shown, ended - begin - counts.width, ended - begin)
            pace = (len(timed) + shown) / (ended - begun) if ended > begun else None
            return cls(now, seen, known, state.settings, ended - at, pace, counts, days)
        elapsed = float(max(now, np.max(timed)) - np.min(timed)) if len(timed) else 0.0
        age = np.max(at, initial=-math.inf) - at
        return cls(now, seen, known, state.settings, age, len(timed) / elapsed if elapsed > 0 else None)

    @property
    def by_clock(self) -> bool:
        return self.delays.scale == "clock"

    @cached_property
    def cells(self) -> CountedCells:
        X = self.known.history.X
        return (
            CountedCells(X[:0], np.empty(0), np.empty(0, dtype=np.intp))
            if self.counts is None
            else CountedCells.of(self.counts)
        )

    @cached_property
    def arrivals(self) -> Arrivals:
        waits = self.delays.clock if self.by_clock else self.delays.rounds
        return waits.arrivals

    def advise(self) -> Advice:
        """What each m would cost, and the best one; without a warning, whose tests are too slow for an ask."""
        own, longest, times = self.settings.patience, self.arrivals.longest, self.arrivals.survival.times
        now = own.m if own.by_clock == self.by_clock and math.isfinite(own.m) else None
        looked_at = {self._round_up(float(times[i])) for i in spread_evenly(len(times), MOST)}
        shown = {self._round_up(t) for t in self._list_quantiles()}
        if self.arrivals.heard:
            shown |= {self._round_down(longest)} | ({now} if now is not None else set())
        costs = {m: self._compute_cost(m) for m in sorted(looked_at | shown) if m > 0}
        open_to = [row for row in costs.values() if row.m <= longest and (row.later or 0.0) <= LOST]
        best = min(open_to, key=lambda row: (row.cost, row.m), default=None)
        early = self._explain_too_early(best)
        chosen = None if early or best is None else best
        rows = tuple(row for m, row in costs.items() if m in shown or row is chosen)
        reason = (
            f"Too early to advise: {early} Leave patience as it is ({own})."
            if chosen is None
            else self._explain_choice(chosen, rows)
        )
        return Advice(
            rows=rows,
            recommended=None if chosen is None else chosen.m,
            reason=reason,
            meaning=describe_patience(self.settings),
            scale=self.delays.scale,
            current=own,
            heard=self.arrivals.heard,
        )

    def _list_quantiles(self) -> list[float]:
        """Of the outcomes that come."""
        if self.law is not None:
            return [self.law.quantile(p) for p in SHOWN] if self.arrivals.heard else []
        came = 1 - self.arrivals.never
        times = [self.arrivals.quantile(p * came) for p in SHOWN if came > 0]
        return [t for t in times if t is not None]

    def _compute_cost(self, m: float) -> PatienceCost:
        rho, unit = self._estimate_share(m), self.spread.beta or 1.0
        nu = self.spread.nu(m) / unit
        return PatienceCost(
            m=m,
            rho=rho,
            open=None if self.rate is None else self.rate * integrate_survival(self.arrivals, m),
            width=nu,
            cost=nu / rho.low if rho.low > 0 else math.inf,
            later=None if self.law is None else max(0.0, 1.0 - float(self.law.share_by(np.array([m]))[0])),
        )

    def _estimate_share(self, m: float) -> Band:
        """ρ_m. Of people who were counted by day, who are known to the day only, by the law of delays."""
        if self.law is None or not len(self.days.shown):
            return self.arrivals.rho(m)
        share = float(self.law.share_by(np.array([m]))[0])
        return Band(*(share * limit for limit in self.arrivals.rho(self.arrivals.longest)))

    @cached_property
    def law(self) -> ArrivalLaw | None:
        """Of conversions: the delays of those that come within patience, or, where some came later, at all."""
        if not self.delays.conversions:
            return None
        own, longest = self.settings.patience, self.delays.longest
        known = own.by_clock == self.by_clock and math.isfinite(own.m)
        times = self.arrivals.survival.times
        within = known and (not len(times) or times[-1] <= own.m)
        return self.delays.learn_law(own.m if within else longest)

    def _explain_too_early(self, best: PatienceCost | None) -> str:
        """Why nothing can be advised yet; empty when something can."""
        heard = self.arrivals.heard
        if self.law is not None and heard >= ENOUGH:
            return "" if best is not None else self._explain_longer_delays(self.law)
        if heard < ENOUGH or best is None:
            return f"{heard} outcome{' was' if heard == 1 else 's were'} heard, and it takes {ENOUGH}."
        hoped = self.spread.nu(self.arrivals.longest) / (self.spread.beta or 1.0)
        if self.arrivals.settled or best.width <= ALIKE * hoped * best.rho.estimate:
            return ""
        return (
            f"{100 * best.rho.estimate:.0f} % of outcomes have come within {self._format(best.m)}, and none was waited "
            f"for longer than {self._format_longest()}, which may be too short for the "
            "rest."
        )

    def _explain_longer_delays(self, law: ArrivalLaw) -> str:
        later = 1.0 - float(law.share_by(np.array([self.arrivals.longest]))[0])
        return (
            f"about {100 * later:.0f} % of the conversions come later than {self._format_longest()}, the longest that "
            "any was waited for."
        )

    @cached_property
    def spread(self) -> IntervalParts:
        """σ at every query, given all of them; with the newest hyperparameters that work, else the bound σ ≤ 1."""
        here = ~self.known.history.gone
        count = int(np.sum(here))
        try:
            with use_one_thread():
                beta, sigma = try_hyperparameters(self.known.fits, self._compute_newest)
        except NotPositiveDefinite:
            return IntervalParts(1.0, self.age[here], np.ones(count), self.days, np.ones(len(self.days.shown)))
        single, by_cell = np.split(sigma, [min(count, NEWEST)])
        older = np.full(count - len(single), float(np.mean(single)) if len(single) else 1.0)
        place = self.cells.place
        by_day = np.append(by_cell, np.mean(by_cell) if len(by_cell) else 1.0)[np.minimum(place, len(by_cell))]
        return IntervalParts(beta, self.age[here], np.concatenate([older, single]), self.days, by_day)

    def _compute_newest(self, fitted: Hyperparameters | None) -> tuple[float, Array]:
        """β_t, and σ at the newest queries, then at those of the people who were counted by day, given each other."""
        problem, h, t = self.known.problem, self.known.history, self.known.t
        rows = np.flatnonzero(~h.gone)[-NEWEST:]
        gp = make_gp(problem, fitted, t)
        lams, X = scale_history(h, problem.bounds, find_scale(problem, h, fitted)).own_lams(gp)[rows], h.X[rows]
        X = np.vstack([X, self.cells.X[:NEWEST]])
        lams = np.concatenate([lams, gp.lam / self.cells.shown[:NEWEST]])
        posterior = gp.condition(X, np.full(len(X), gp.mean), lams)
        none = np.zeros(len(X), dtype=bool)
        beta = compute_width(problem, ModelBelief(posterior, none, none), problem.algorithm.moves[0], t, Cache())
        sigma = posterior.std_of(~none) / np.sqrt(gp.kernel.diag(X))
        if not (math.isfinite(beta) and np.all(np.isfinite(sigma))):
            raise FloatingPointError
        return beta, sigma

    # In words ---------------------------------------------------------------------------------------------------------

    def _explain_choice(self, best: PatienceCost, rows: Sequence[PatienceCost]) -> str:
        rho = best.rho
        share = describe_rho(rho)
        sentences = [
            f"Advised: {self._format(best.m)}. {share} of outcomes arrive by then."
            if best.later is None
            else f"Advised: {self._format(best.m)}. {100 * best.later:.0f} % of the conversions come later than that."
        ]
        if longer := [row for row in rows if row.m > best.m]:
            more, wider = 100 * (longer[0].kept - best.kept), 100 * (longer[0].width / best.width - 1)
            sentences.append(
                f"Waiting for {self._format(longer[0].m)} would bring {more:.0f} more of 100, and make the confidence "
                f"interval {wider:.0f} % wider."
            )
        if shorter := [row for row in rows if row.m < best.m]:
            less, narrower = 100 * (best.kept - shorter[-1].kept), 100 * (1 - shorter[-1].width / best.width)
            sentences.append(
                f"Waiting for {self._format(shorter[-1].m)} only would miss {less:.0f} more of 100, for an interval "
                f"{narrower:.0f} % narrower."
            )
        return " ".join(sentences)

    def _format_longest(self) -> str:
        return self._format(self._round_down(self.arrivals.longest))

    def _format(self, m: float) -> str:
        return format_patience(m, self.delays.scale)

    def _round_up(self, t: float) -> float:
        """A time rounded up to whole rounds; by the clock to whole units, ten or more of them, but never beyond the
        longest wait."""
        if not self.by_clock:
            return float(math.ceil(t))
        up = next((size * math.ceil(t / size) for size in self._units if t >= 10 * size), t)
        return up if up <= self.arrivals.longest else t

    def _round_down(self, t: float) -> float:
        """A time rounded down to whole units, ten or more of them."""
        return next((size * math.floor(t / size) for size in self._units if t >= 10 * size), t)

    @property
    def _units(self) -> list[float]:
        return sorted((size for unit, size in SECONDS.items() if unit != "w"), reverse=True) if self.by_clock else []


def integrate_survival(arrivals: Arrivals, m: float) -> float:
    """∫_0^m S(a) da."""
    S = arrivals.survival
    ends = np.concatenate([S.times[S.times < m], [m]])
    return float(np.sum(np.diff(ends, prepend=0.0) * np.concatenate([[1.0], S.survival])[: len(ends)]))


# patience="auto" ------------------------------------------------------------------------------------------------------


def prepare_adjustment(state: State, now: float) -> Callable[[], list[Adjusted]]:
    """The change of patience that is due at the next ask, if any, still to be computed."""
    if not is_due(state):
        return list
    basis = AdviceBasis.of(state, now)
    return lambda: adjust(basis.advise(), now)


def is_due(state: State) -> bool:
    """Whether patience is considered at the next ask: when ten outcomes were heard, and again at each growth by half.

    Only outcomes that choices knew count, so that every worker and every restart considers it at the same asks."""
    if not state.settings.patience.auto:
        return False
    last = int(np.max(np.flatnonzero(~state.table.column("by_hand")) + 1, initial=0))
    return _count_stages(state.table.count_known(state.next_number)) > _count_stages(state.table.count_known(last))


def _count_stages(heard: int) -> int:
    stage, least = 0, ENOUGH
    while heard >= least:
        stage, least = stage + 1, math.ceil(GROWTH * least)
    return stage


def adjust(advice: Advice, at: float) -> list[Adjusted]:
    """The change that follows from an advice; none if m is close to the present one, or nothing is advised."""
    m, now = advice.recommended, advice.current
    if not now.auto or now.by_clock != (advice.scale == "clock"):
        raise InvalidInput(
            f'patience must be "auto" or "auto-clock", as the advice is, for the study to change it (got {now})'
        )
    if m is None or (math.isfinite(now.m) and abs(m - now.m) <= CHANGE * now.m):
        return []
    return [Adjusted(m=m, by_clock=now.by_clock, reason=advice.reason, at=at)]
