"""What a study has seen of its delays: the answer of `study.delays()`.

Delays are in rounds or by the clock; the default is the scale of the study's patience. Rounds are counted at the next
ask: what is not heard now counts as not heard when the next query is chosen. A trial that was added together with its
outcome has no delay and is left out. A failed trial counts as silent until it failed: "lost" and "withdrawn" say
nothing about the delay, and "infeasible" is an answer, but not an outcome.

Of conversions most never come, and more of them come at good queries. So quantiles are those of the conversions that
come within patience, by the law that the rates are learned with (learner/delays/arrival_law.py), and whether delays
depend on the query is judged among those that came. A conversion that was told to be 0 never comes, and has no delay.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Any, Literal

import numpy as np

from belated.delays.wording import (
    CONVERSION_WARNING,
    FLOOR_WARNING,
    describe_delays,
    describe_dependence,
    warn_about_outcome,
)
from belated.errors import InvalidInput
from belated.learner.arrays import Array, Mask
from belated.learner.blas import use_one_thread
from belated.learner.choice.candidates import join_context
from belated.learner.counts import Counts
from belated.learner.delays.arrival_law import NOTHING_COUNTED, ArrivalLaw
from belated.learner.delays.dependence import Verdict, judge_arrived, judge_by_outcome, judge_by_query
from belated.learner.delays.survival import Arrivals, Band, Nearby
from belated.patience import parse_duration
from belated.record.state import State
from belated.record.statements import list_arrivals
from belated.record.trials import measure_waits
from belated.settings import Settings
from belated.space.encoding import Space
from belated.validation import Params, format_value, require_number, require_rule

LEVEL = 0.05  # of error, over all tests together (Holm)
SHARES = (0.25, 0.5, 0.75, 0.9, 0.95)  # whose quantiles are shown
STREAM = 3  # of the random numbers of the tests, keyed (seed, trials, stream)
TimeScale = Literal["rounds", "clock"]


@dataclass(frozen=True, kw_only=True)
class Dependence:
    """The test of one thing that delays may depend on."""

    on: Literal["query", "context", "outcome"]
    p: float  # valid while the optimiser improves
    found: bool  # whether p is small, after Holm's correction
    words: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Waits:
    """The waits of all queries on one time scale, one row each."""

    waited: Array  # until it came, until it failed, or until now; nan: not known on this scale
    limit: Array  # until now
    came: Mask

    @cached_property
    def arrivals(self) -> Arrivals:
        known = ~np.isnan(self.waited)
        return Arrivals(self.waited[known], self.came[known])


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DelayReport:
    """The delays of a study so far, and a forecast of those to come.

    >>> from belated import Real, Study
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    >>> trials = [study.ask() for _ in range(4)]
    >>> _ = study.tell(trials[0], 0.5), study.tell(trials[2], 0.7)
    >>> report = study.delays()
    >>> report.heard, report.pending, report.quantile(0.5)
    (2, 2, 4.0)
    >>> print(report)
    2 heard, 2 pending. 90 % arrive within 4 rounds. Fewer than ten were heard: too few for a forecast.
    """

    settings: Settings
    scale: TimeScale
    rounds: Waits
    clock: Waits
    X: Array  # context and query of every row
    y: Array  # its outcome, nan while it has none
    out: Mask  # neither heard nor failed
    added: int  # trials added with their outcomes: they have no delay
    none: int = 0  # conversions that were told to be 0: they will not come
    people: int = 0  # of the rows, the last ones: people who were counted by day, with delays known to the day
    counted: Array = field(
        default_factory=lambda: NOTHING_COUNTED
    )  # when those of them converted who did (`Counts.arrivals`)

    # So far -----------------------------------------------------------------------------------------------------------

    @property
    def heard(self) -> int:
        """Outcomes that have come, in time or late."""
        return int(np.sum(self.rounds.came))

    @property
    def pending(self) -> int:
        """Outcomes that may still come, including those past patience."""
        return int(np.sum(self.out))

    @property
    def failed(self) -> int:
        """Trials that ended without an outcome."""
        return len(self.out) - self.heard - self.pending - self.none

    @cached_property
    def past_patience(self) -> Mask:
        """Which rows of the pending are past patience."""
        patience = self.settings.patience
        waits = self.clock if patience.by_clock else self.rounds
        with np.errstate(invalid="ignore"):
            return np.asarray(self.out & (waits.waited > patience.m))

    @property
    def expired(self) -> int:
        """Of the pending, those past patience."""
        return int(np.sum(self.past_patience))

    @property
    def awaited(self) -> Mask:
        """Which rows are waited for: the pending, of conversions those within patience."""
        return self.out & ~self.past_patience if self.conversions else self.out

    @property
    def conversions(self) -> bool:
        """Whether quantiles are of those that come; else of all."""
        return self.settings.outcomes == "conversion"

    def quantile(self, q: float) -> float | None:
        """After how many rounds, or seconds, the share q of all outcomes has come; None when it has not yet.

        Of conversions: the share q of those that come within patience; None when none has come."""
        if not self.conversions:
            return self._waits.arrivals.quantile(q)
        q = require_rule("q", q, "lie in (0, 1]", lambda v: 0 < v <= 1)
        if not self.heard:
            return None
        t = self._arrival_law.quantile(q)
        return t if self.scale == "clock" else float(np.ceil(t))

    def share_by(self, waited: Sequence[float] | Array) -> Array:
        """Of the conversions that come within patience, the share that has come after each of these waits."""
        return self._arrival_law.share_by(np.asarray(waited, dtype=float))

    @property
    def longest(self) -> float:
        """How long the oldest query has been out."""
        return float(np.max(self._waits.limit, initial=0.0)) or 1.0

    def learn_law(self, m: float) -> ArrivalLaw:
        """What is known of the delays of the outcomes that come within m, whatever the share that never comes."""
        waits, single = self._waits, np.arange(len(self.out)) < len(self.out) - self.people
        here = single & waits.came & (waits.waited <= m)
        own = self.settings.patience.by_clock == (self.scale == "clock")
        counted = self.counted[self.counted[:, 0] < m] if own else NOTHING_COUNTED
        return ArrivalLaw.learn(waits.waited[here], np.minimum(waits.limit[here], m), m, counted)

    def rho(self, m: float | str | timedelta | None = None) -> Band:
        """The share that comes within m, with 95 % confidence limits at that m; None: within the study's patience.

        m is in rounds, or in seconds (or "1h", or a timedelta) by the clock."""
        return self._waits.arrivals.rho(self._read_patience(m))

    def rho_at(self, params: Params, context: Params | None = None, m: float | str | timedelta | None = None) -> float:
        """The share that comes within m at one query: as rho says, unless delays were found to depend on it."""
        row = join_context(self._encode_context(context), self.settings.space.encode_all([params]))
        model = self._model_nearby(self.scale)
        if model is None:
            return self.rho(m).estimate
        return float(model.rho(self._read_patience(m), row[:, self._relevant_columns])[0])

    @property
    def in_time(self) -> Band | None:
        """The share that comes within the study's patience; None without one, or where it counts on another scale."""
        own = self.settings.patience
        return self.rho() if np.isfinite(own.m) and own.by_clock == (self.scale == "clock") else None

    @property
    def never(self) -> float:
        """The share that never comes, estimated from the waits so far; reliable once it is `settled`."""
        return self._waits.arrivals.never

    @property
    def settled(self) -> bool:
        """Whether the silence after the longest delay is long enough to estimate the share that never comes."""
        return self._waits.arrivals.settled

    # Forecast ---------------------------------------------------------------------------------------------------------

    @cached_property
    def still_to_come(self) -> float | None:
        """The share of the pending that is expected to come; 1/2 while fewer than ten were heard, None for no pending.

        From the waits so far: no delay longer than the longest wait is expected."""
        if not self.pending:
            return None
        waits, model = self._waits, self._model_nearby(self.scale)
        age = waits.waited[self.out]
        if model is None:
            return float(np.mean(waits.arrivals.comes(age)))
        return model.expected(self.X[self.out][:, self._relevant_columns], age, np.inf) / self.pending

    def expected(self, within: str | timedelta | None = None, *, rounds: int | None = None) -> float:
        """How many of the pending outcomes come within a time ("1h"), or within so many rounds."""
        if (within is None) == (rounds is None):
            raise InvalidInput('give a time, such as "1h", or rounds=10')
        if rounds is not None:
            scale: TimeScale = "rounds"
            further = require_number(rounds, "rounds")
        else:
            if not isinstance(within, str | timedelta):
                raise InvalidInput(f'within must be a timedelta or a string such as "1h" (got {format_value(within)})')
            scale, further = "clock", parse_duration(within, "within")
        if further < 0:
            raise InvalidInput(f"rounds must be at least 0 (got {format_value(rounds)})")
        waits, model = self._waits_on(scale), self._model_nearby(scale)
        out = self.out & ~np.isnan(waits.waited)
        age = waits.waited[out]
        if model is None:
            return waits.arrivals.expected(age, further)
        return model.expected(self.X[out][:, self._relevant_columns], age, further)

    # What delays depend on --------------------------------------------------------------------------------------------

    @cached_property
    def depends(self) -> tuple[Dependence, ...]:
        """Whether delays depend on the query, on the context, on the outcome; empty while fewer than ten were heard.

        p-values from 999 redraws, of at most 2000 trials spread evenly over the order of asking. The tests of query and
        context correct for each other. `found` has an error of at most 5 % over all tests (Holm). Delays that change
        during a study look as if they depended on anything else that changed with them."""
        tested = {on: verdict for on, verdict in self._verdicts.items() if verdict is not None}
        p_values = sorted(verdict.p for verdict in tested.values())
        passed = [p * (len(p_values) - i) <= LEVEL for i, p in enumerate(p_values)]
        most = max((p for p, _ in zip(p_values, _take_while_true(passed), strict=False)), default=-1.0)
        findings = [
            Dependence(
                on=on,
                p=verdict.p,
                found=verdict.p <= most,
                words=describe_dependence(self, on, verdict, verdict.p <= most),
            )
            for on, verdict in tested.items()
        ]
        also = {finding.on for finding in findings if finding.found}
        if "outcome" in also and len(also) > 1 and not self._depends_beyond_query:
            caution = warn_about_outcome([on for on in ("query", "context") if on in also])
            findings = [replace(f, words=f"{f.words}; {caution}") if f.on == "outcome" else f for f in findings]
        return tuple(findings)

    @property
    def warning(self) -> str:
        """What is wrong with the silence when delays depend on the query; empty otherwise."""
        silence = self.settings.silence
        punishes = self.conversions or (silence.fills == "floor" and not silence.forgets)
        if not punishes or not any(finding.found and finding.on == "query" for finding in self.depends):
            return ""
        return CONVERSION_WARNING if self.conversions else FLOOR_WARNING

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return {
            "scale": self.scale,
            "heard": self.heard,
            "pending": self.pending,
            "expired": self.expired,
            "failed": self.failed,
            "added": self.added,
            "none": self.none,
            "quantiles_of": "those that come within patience" if self.conversions else "all",
            "quantiles": [{"share": q, "within": self.quantile(q)} for q in SHARES],
            "patience": str(self.settings.patience),
            "in_time": None if self.in_time is None else self.in_time._asdict(),
            "never": self.never,
            "settled": self.settled,
            "still_to_come": self.still_to_come,
            "expected": {"10 rounds": self.expected(rounds=10), "1h": self.expected("1h")},
            "depends": [asdict(finding) for finding in self.depends],
            "warning": self.warning,
        }

    def __str__(self) -> str:
        return describe_delays(self)

    def __repr__(self) -> str:
        return f"DelayReport({self.heard} heard, {self.pending} pending, by {self.scale})"

    # Inside -----------------------------------------------------------------------------------------------------------

    @cached_property
    def _arrival_law(self) -> ArrivalLaw:
        """The delays of the conversions that come within patience, or within the longest wait where that is in another
        unit."""
        own = self.settings.patience
        in_force = own.by_clock == (self.scale == "clock") and np.isfinite(own.m)
        return self.learn_law(own.m if in_force else self.longest)

    @property
    def _waits(self) -> Waits:
        return self._waits_on(self.scale)

    def _waits_on(self, scale: TimeScale) -> Waits:
        return self.clock if scale == "clock" else self.rounds

    def _read_patience(self, m: float | str | timedelta | None) -> float:
        if m is None:
            own = self.settings.patience
            if np.isfinite(own.m) and own.by_clock != (self.scale == "clock"):
                raise InvalidInput(f"m must be given: patience is {'by the clock' if own.by_clock else 'in rounds'}")
            return own.m
        if not isinstance(m, str | timedelta):
            return m
        if self.scale == "rounds":
            raise InvalidInput(
                f'm must be a number of rounds; study.delays(by="clock") counts time (got {format_value(m)})'
            )
        return parse_duration(m, "m")

    def _encode_context(self, context: Params | None) -> Array:
        space = self.settings.context
        if (space is None) != (context is None):
            raise InvalidInput("context must be given" if context is None else "this study has no context")
        return np.empty(0) if space is None or context is None else space.encode(context)

    @cached_property
    def parts(self) -> dict[str, list[tuple[str, slice]]]:
        """The columns of every parameter of context and query, by name."""
        parts: dict[str, list[tuple[str, slice]]] = {"context": [], "query": []}
        at = 0
        for kind, space in (("context", self.settings.context), ("query", self.settings.space)):
            for name, width in _list_widths(space):
                parts[kind].append((name, slice(at, at + width)))
                at += width
        return parts

    def _select_columns(self, *kinds: str, rows: Mask | slice = slice(None)) -> list[Array]:
        return [self.X[rows][:, where] for kind in kinds for _, where in self.parts[kind]]

    @cached_property
    def _verdicts(self) -> dict[Literal["query", "context", "outcome"], Verdict | None]:
        rng, rows = self._make_rng(0), self._waits.came if self.conversions else slice(None)
        query, context = (self._select_columns(kind, rows=rows) for kind in ("query", "context"))
        with use_one_thread():
            return {
                "query": self._judge(query, rng, context),
                "context": self._judge(context, rng, query) if context else None,
                "outcome": self._judge_by_outcome([]),
            }

    def _judge(self, parts: Sequence[Array], rng: np.random.Generator, covariates: Sequence[Array]) -> Verdict | None:
        """By query or context: of all, or of conversions among those that came."""
        waits, came = self._waits, self._waits.came
        if self.conversions:
            return judge_arrived(parts, waits.waited[came], waits.limit[came], rng, covariates)
        return judge_by_query(parts, waits.waited, waits.came, rng, covariates)

    def _judge_by_outcome(self, covariates: Sequence[Array]) -> Verdict | None:
        waits, came = self._waits, self._waits.came
        y = self.settings.objective.sign * self.y[came]
        return judge_by_outcome(y, waits.waited[came], waits.limit[came], self._make_rng(1), covariates)

    @cached_property
    def _depends_beyond_query(self) -> bool:
        """Whether delays still depend on the outcome after a correction for query and context."""
        with use_one_thread():
            verdict = self._judge_by_outcome(self._select_columns("query", "context", rows=self._waits.came))
        return verdict is not None and verdict.p <= LEVEL

    def _make_rng(self, part: int) -> np.random.Generator:
        return np.random.default_rng([self.settings.seed, len(self.out), STREAM, part])

    @cached_property
    def _relevant_columns(self) -> list[int]:
        """The columns that delays were found to depend on: of the parameters that show it, or of all of that kind."""
        columns: list[int] = []
        for finding in self.depends:
            verdict = self._verdicts[finding.on]
            if not finding.found or finding.on == "outcome" or verdict is None:
                continue
            parts = [where for _, where in self.parts[finding.on]]
            shown_by = [where for where, trend in zip(parts, verdict.trends, strict=True) if trend.p <= LEVEL]
            columns += [column for where in shown_by or parts for column in range(where.start, where.stop)]
        return columns

    @cached_property
    def _models(self) -> dict[TimeScale, Nearby]:
        return {}

    def _model_nearby(self, scale: TimeScale) -> Nearby | None:
        """The model of delays by query and context; None where they were not found to matter."""
        if not self._relevant_columns:
            return None
        if scale not in self._models:
            with use_one_thread():
                waits = self._waits_on(scale)
                X = self.X[~np.isnan(waits.waited)]  # people who were counted by day have no wait in rounds
                self._models[scale] = Nearby.fit(X[:, self._relevant_columns], waits.arrivals)
        return self._models[scale]


def _list_widths(space: Space | None) -> list[tuple[str, int]]:
    return [] if space is None else list(zip(space.names, space.widths, strict=True))


def _take_while_true(passed: Sequence[bool]) -> Iterator[bool]:
    for yes in passed:
        if not yes:
            return
        yield yes


def report_delays(state: State, now: float, by: TimeScale | None = None) -> DelayReport:
    """What is known at the clock reading `now`; later events do not change it."""
    if by not in (None, "rounds", "clock"):
        raise InvalidInput(f'by must be "rounds" or "clock" (got {format_value(by)})')
    settings = state.settings
    own: TimeScale = "clock" if settings.patience.by_clock else "rounds"
    history = state.table.history(now, settings.patience.m, settings.late)
    n = state.table.count
    keep = np.flatnonzero(~state.table.column("undelayed") | state.table.column("told_none"))
    asked_at, told_at, failed_at, failure, delay_in_rounds, none = (
        state.table.column(name)[keep]
        for name in ("asked_at", "told_at", "failed_at", "failure", "rounds", "told_none")
    )
    came = state.table.told[keep] & ~none  # told to be 0: silent for ever
    failed = ~came & (failure >= 0)
    # a trial that failed was silent until the first choice that knew of the failure
    first_after = np.searchsorted(np.maximum.accumulate(state.table.column("knew")), history.order[keep], side="left")
    age, seconds = (n - keep).astype(float), measure_waits(asked_at, now)
    silent = np.where(failed, np.maximum(np.minimum(first_after, n) - keep, 0), age)
    ended_at = np.where(came, told_at, failed_at)
    rounds = np.where(came, delay_in_rounds, silent)
    clock = np.where(came | failed, measure_waits(asked_at, ended_at), seconds)
    out = ~came & ~failed & ~none
    report = DelayReport(
        settings=settings,
        scale=by or own,
        rounds=Waits(waited=rounds, limit=age, came=came),
        clock=Waits(waited=clock, limit=np.maximum(seconds, clock), came=came),
        X=history.X[keep],
        y=np.where(came, history.y[keep], np.nan),
        out=out,
        added=n - len(keep) - int(np.sum(~np.isnan(state.table.column("shown_over")))),
        none=int(np.sum(none)),
    )
    return report if history.counts is None or report.scale != own else add_people(report, state, history.counts)


def add_people(report: DelayReport, state: State, counts: Counts) -> DelayReport:
    """The same with a row for every person who was counted by day; they were shown in the middle of their day."""
    waited, limit, place = list[float](), list[float](), list[int]()
    many, m = list[int](), state.settings.patience.m
    for row, number in enumerate(counts.number.tolist()):
        middle = float(counts.width[row]) / 2.0
        age = max(float(counts.age[row]) - middle, 0.0)
        silent = int(counts.shown[row])
        for since, until, people in list_arrivals(state.rows[number - 1].statements):
            if since - 2.0 * middle <= m:  # they count as in time, so they came by then
                until = min(until, max(since, m + middle))
            waited.append(min(max((since + until) / 2.0 - middle, 0.0), age))
            silent -= people
            many.append(people)
        waited.append(math.nan)
        many.append(silent)
        limit += [age] * (len(waited) - len(limit))
        place += [row] * (len(waited) - len(place))
    times = np.array(many, dtype=np.intp)
    when, until_now = np.repeat(waited, times), np.repeat(limit, times)
    came, X = ~np.isnan(when), counts.X[np.repeat(np.array(place, dtype=np.intp), times)]
    mine = Waits(waited=np.where(came, when, until_now), limit=until_now, came=came)
    nobody = np.full(len(when), np.nan)
    unknown = Waits(waited=nobody, limit=nobody, came=came)
    by_clock = report.scale == "clock"
    return replace(
        report,
        rounds=join_waits(report.rounds, unknown if by_clock else mine),
        clock=join_waits(report.clock, mine if by_clock else unknown),
        X=np.vstack([report.X, X]),
        y=np.concatenate([report.y, np.where(came, 1.0, np.nan)]),
        out=np.concatenate([report.out, ~came]),
        people=len(when),
        counted=counts.arrivals,
    )


def join_waits(first: Waits, second: Waits) -> Waits:
    """The rows of both."""
    return Waits(
        waited=np.concatenate([first.waited, second.waited]),
        limit=np.concatenate([first.limit, second.limit]),
        came=np.concatenate([first.came, second.came]),
    )
