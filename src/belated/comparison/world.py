"""A world simulated from a study: a function drawn from its belief, its noise and its delays.

g     the outcome when it comes, without noise: drawn from the belief given all outcomes told, one g per seed
v     the value of a query: g. Where silence counts as an outcome (floor, fading), v is drawn too, from a belief in
      which silence counts as floor + P(it still comes) (mean of g - floor); v is never better than g
ρ(x)  the share that ever comes at x: by Kaplan-Meier, near x where delays were found to depend on it. Where silence
      counts as an outcome: (v - floor) / (g - floor), so that v is the expected value of a query, where one that is
      never heard has the value of the floor
z     columns of the context, before those of the query in every row

Of conversions v is a rate drawn from the belief about rates, g what a conversion is worth on average, and delays are
those of the conversions that come, by the law that the rates were learned with.

Regret is measured in v. The best v is looked for in all queries, or by multistart from an even sequence over the space.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.random import Generator

from belated.delays.pace import DayShown, measure_pace
from belated.delays.report import DelayReport, Waits
from belated.errors import NothingHeard, SilenceWarning
from belated.learner.algorithms import DEFAULT
from belated.learner.arrays import Array
from belated.learner.blas import use_one_thread
from belated.learner.choice.candidates import join_context, list_queries
from belated.learner.choice.decide import make_prior
from belated.learner.choice.maximize import Effort, Search, maximize
from belated.learner.choice.problem import Problem
from belated.learner.confidence import Constant
from belated.learner.gp.fit import FEWEST, FitSettings, fit, group_columns
from belated.learner.gp.posterior import Path, Posterior
from belated.learner.gp.scale import Bounds, RateScale, Scale
from belated.learner.policies import EXACT
from belated.record.additions import DAY
from belated.record.beliefs import find_model
from belated.record.choices import gather_knowledge
from belated.record.state import State
from belated.results import Trial
from belated.settings import Settings
from belated.study import Study
from belated.validation import Params, freeze

# Streams of a world's random numbers, keyed (seed, 0, stream): noise and delays of query s are keyed (seed, s, ...).
FUNCTION, CONTEXTS, SEARCH = 3, 4, 5
WORLDS = 2**32  # seeds of worlds begin here, those of studies at 0: they draw from other streams
STEP = 1e-4  # on the unit cube, of a gradient by differences
CANDIDATES, STARTS = 2048, 16  # for the search for the best v


@dataclass(frozen=True, eq=False)
class SeenDelays:
    """The delays of a study; an outcome that takes longer than the longest wait so far never comes."""

    report: DelayReport

    @cached_property
    def by_input(self) -> bool:
        """Whether delays were found to depend on the query or the context; conversions have one law of delays."""
        return not self.report.conversions and any(
            finding.found and finding.on != "outcome" for finding in self.report.depends
        )

    @property
    def waits(self) -> Waits:
        return self.report.clock if self.report.scale == "clock" else self.report.rounds

    @cached_property
    def times(self) -> list[float]:
        """The delays that were seen, ascending."""
        return [float(t) for t in np.unique(self.waits.waited[self.waits.came])]

    def still_comes(self, age: Array) -> Array:
        """P(it comes | its age)."""
        return self.waits.arrivals.comes(age)

    @property
    def comes(self) -> float:
        """The share that ever comes, over all queries."""
        return 1.0 - self.report.never

    def share(self, params: Params, context: Params | None) -> float:
        """The share that ever comes at a query."""
        return self.report.rho_at(params, context, math.inf) if self.by_input else self.comes

    def quantile(self, q: float, params: Params | None = None, context: Params | None = None) -> float:
        """The delay within which the share q of those that ever come has come, over all queries or at one."""
        if params is None or not self.by_input:
            t = self.report.quantile(q if self.report.conversions else q * self.comes)
            return self.times[-1] if t is None else t
        wanted = q * self.share(params, context)
        at = bisect_left(self.times, wanted, key=lambda t: self.report.rho_at(params, context, t))
        return self.times[min(at, len(self.times) - 1)]


@dataclass(frozen=True, eq=False)
class ListedFunction:
    """A function on a finite set of rows."""

    place: Mapping[bytes, int]
    values: Array

    def __call__(self, rows: Array) -> Array:
        return self.values[[self.place[row.tobytes()] for row in rows]]


@dataclass(frozen=True, eq=False)
class ConstantFunction:
    """The same everywhere."""

    value: float

    def __call__(self, rows: Array) -> Array:
        return np.full(len(rows), self.value)

    def draw(self, problem: Problem, rng: Generator) -> ConstantFunction:
        return self


@dataclass(frozen=True, eq=False)
class DrawnFunction:
    """A function drawn from a belief, in the user's units and within the floor and the ceiling that were stated."""

    on_model: Path | ListedFunction
    scale: Scale | RateScale
    bounds: Bounds

    def __call__(self, rows: Array) -> Array:
        sign, floor, ceiling = self.bounds.sign, self.bounds.floor, self.bounds.ceiling
        y = sign * self.scale.to_user(self.on_model(rows))
        y = y if floor is None else np.maximum(y, sign * floor)
        return np.asarray(sign * (y if ceiling is None else np.minimum(y, sign * ceiling)))


@dataclass(frozen=True, eq=False)
class Nature:
    """One g and one v, and what follows from them. It is also the delay for `simulate`."""

    settings: Settings
    seen: SeenDelays
    g: DrawnFunction | ConstantFunction
    v: DrawnFunction | None = None  # None: g
    floor: float = 0.0  # the value of a query that is never heard, where there is a v
    pace: int = 1  # how many of the study's queries one of this world stands for

    def outcome(self, params: Params, context: Params | None = None) -> float:
        """g at a query."""
        return float(self.g(self._encode_row(params, context))[0])

    def value(self, params: Params, context: Params | None = None) -> float:
        """v at a query."""
        return float(self.values(self._encode_row(params, context))[0])

    def values(self, rows: Array) -> Array:
        """v at rows of context and query."""
        g = self.g(rows)
        if self.v is None:
            return g
        sign, v = self.settings.objective.sign, self.v(rows)
        return sign * np.maximum(np.minimum(sign * v, sign * g), sign * self.floor)

    def share(self, params: Params, context: Params | None = None) -> float:
        """ρ(x), the share that ever comes at a query."""
        gain = self.outcome(params, context) - self.floor
        if self.v is None or self.settings.objective.sign * gain <= 0:
            return self.seen.share(params, context)
        return (self.value(params, context) - self.floor) / gain

    def draw(self, rng: Generator, params: Params, context: Params | None) -> float:
        """The delay of one query; inf for the share that never comes."""
        u, share = 1.0 - float(rng.random()), self.share(params, context)
        if u > share:
            return math.inf
        delay = self.seen.quantile(u / share, params, context)
        return delay if self.seen.report.scale == "clock" else delay / self.pace

    def _encode_row(self, params: Params, context: Params | None) -> Array:
        return join_context(self.z(context), self.settings.space.encode_all([params]))

    def z(self, context: Params | None) -> Array:
        space = self.settings.context
        return np.empty(0) if space is None or context is None else space.encode(context)

    def extremes(self, problem: Problem, anchors: Array, context: Params | None, rng: Generator) -> tuple[float, float]:
        """The best and the worst sign · v over all queries, in one context."""
        sign, floor, z = self.settings.objective.sign, self.settings.objective.floor, self.z(context)
        Q = problem.Q
        if Q is None:
            everywhere = Search(problem.compact, np.full(problem.compact.D, np.nan), anchors)
            worth = ByDifferences(lambda X: sign * self.values(join_context(z, X)))
            Q = maximize(worth, everywhere, rng, Effort(CANDIDATES, STARTS))
        values = sign * self.values(join_context(z, Q))
        return float(np.max(values)), float(np.min(values)) if floor is None else sign * floor


@dataclass(frozen=True, eq=False)
class ByDifferences:
    """A surface with a gradient by central differences."""

    value: Callable[[Array], Array]

    def __call__(self, Q: Array) -> Array:
        return self.value(Q)

    def gradient(self, Q: Array) -> tuple[Array, Array]:
        steps = STEP * np.eye(Q.shape[1])
        up, down = np.clip(Q[:, None] + steps, 0.0, 1.0), np.clip(Q[:, None] - steps, 0.0, 1.0)
        above, below = (self.value(X.reshape(-1, Q.shape[1])).reshape(Q.shape) for X in (up, down))
        return self.value(Q), (above - below) / np.sum(up - down, axis=2)


@dataclass(frozen=True, eq=False)
class World:
    """The world of one seed, the same for every candidate: g, noise, delays and contexts."""

    number: int
    nature: Nature
    noise: float
    contexts: Sequence[Params] | None  # one per round
    every: float | None  # seconds from ask to ask; None: rounds
    pace: int
    best: Array  # sign · v, one per round
    worst: Array

    @property
    def seed(self) -> int:
        return WORLDS + self.number

    @cached_property
    def kinds(self) -> list[object]:
        """Which context each round is in."""
        if self.contexts is None:
            return [None] * len(self.best)
        return [freeze(context) for context in self.contexts]


@dataclass(frozen=True, eq=False)
class BeliefModel:
    """A belief and its scale."""

    posterior: Posterior
    scale: Scale | RateScale

    def draw(self, problem: Problem, rng: Generator) -> DrawnFunction:
        """A function: exactly on a list of queries, pathwise elsewhere."""
        Q = list_queries(problem)
        if Q is None or len(Q) > EXACT:
            return DrawnFunction(self.posterior.path(rng), self.scale, problem.bounds)
        return DrawnFunction(ListedFunction(problem.place, self.posterior.draw(Q, rng)), self.scale, problem.bounds)

    def mean(self, rows: Array) -> Array:
        return self.scale.to_user(self.posterior.mean(rows))


@dataclass(frozen=True, eq=False)
class WorldSource:
    """The source of worlds: a study as it is now."""

    settings: Settings
    problem: Problem
    g: BeliefModel | ConstantFunction
    v: BeliefModel | None
    floor: float
    noise: float  # standard deviation, in the user's units
    seen: SeenDelays
    told: int  # outcomes
    contexts: Sequence[Params] | None  # of the trials so far
    every: float | None
    anchors: Array  # the queries with the best outcomes: good places to look for the best v

    def world(self, number: int, rounds: int, pace: int = 1) -> World:
        """The world of one seed, of which one query stands for `pace` queries of the study."""
        rngs = [np.random.default_rng([WORLDS + number, 0, stream]) for stream in (FUNCTION, CONTEXTS, SEARCH)]
        with use_one_thread():
            g = self.g.draw(self.problem, rngs[0])
            v = None if self.v is None else self.v.draw(self.problem, rngs[0])
            nature = Nature(self.settings, self.seen, g, v, self.floor, pace)
            given: list[Params | None] = [None] * rounds
            if self.contexts is not None:
                given = [self.contexts[i] for i in rngs[1].integers(len(self.contexts), size=rounds)]
            extremes: dict[object, tuple[float, float]] = {}
            for context in given:
                if freeze(context) not in extremes:
                    extremes[freeze(context)] = nature.extremes(self.problem, self.anchors, context, rngs[2])
        best, worst = np.array([extremes[freeze(context)] for context in given]).T
        contexts = None if self.contexts is None else [context or {} for context in given]
        every = None if self.every is None else self.every * pace
        return World(number, nature, self.noise, contexts, every, pace, best, worst)

    @property
    def median(self) -> float:
        """Half of the outcomes that come have come after so many of the study's queries."""
        return self.seen.quantile(0.5) / (self.every or 1.0)


def read_source(study: Study, scale: Literal["rounds", "clock"]) -> WorldSource:
    """The study as a source of worlds; refused while it has heard too little."""
    settings, trials = study.settings, study.trials()
    with warnings.catch_warnings(action="ignore", category=SilenceWarning):  # the report is not shown
        report = study.delays(scale)
    told = [trial for trial in trials if trial.outcome is not None]
    if not (_count_conversions(trials) if report.conversions else told):
        raise NothingHeard(
            "nothing has been heard yet, so there is no belief to draw a world from; tell an outcome first"
        )
    if not report.heard:
        raise NothingHeard(
            "no delay has been seen yet: every outcome was added together with its trial; tell one that was asked first"
        )
    if settings.outcomes == "conversion":
        return _read_rates(study, SeenDelays(report), trials, scale)
    algorithm = settings.algorithm
    if not isinstance(algorithm.width.beta, Constant):  # its lambda is the theory's, not that of the noise
        algorithm = replace(algorithm, width=replace(algorithm.width, beta=Constant(1.0)))
    problem, seen = replace(settings, algorithm=algorithm).problem, SeenDelays(report)
    failed = [trial for trial in trials if trial.failure == "infeasible"]
    silent = [trial for trial in trials if trial.outcome is None and trial.failure is None]
    y = np.array([trial.outcome for trial in told], dtype=float)
    floor = float(problem.bounds.stand_in(y) or 0.0)
    y = np.concatenate([y, np.full(len(failed), floor)])
    with use_one_thread():
        _ = seen.by_input  # computed here once, not in every worker
        g = v = _fit_model(problem, _encode_rows(settings, [*told, *failed]), y, [t.noise for t in told])
        if not settings.silence.forgets:
            X = _encode_rows(settings, silent)
            p = seen.still_comes(_measure_ages(silent, len(trials), study.clock(), scale))
            y = np.concatenate([y, floor + p * (g.mean(X) - floor)])
            v = _fit_model(problem, _encode_rows(settings, [*told, *failed, *silent]), y, [None] * len(y))
    return WorldSource(
        settings,
        problem,
        g,
        None if settings.silence.forgets else v,
        floor,
        _average_noise(g, told),
        seen,
        len(told),
        _list_contexts(trials),
        _measure_pace(trials, seen) if scale == "clock" else None,
        find_anchors(problem, g.posterior),
    )


def _read_rates(study: Study, seen: SeenDelays, trials: list[Trial], scale: Literal["rounds", "clock"]) -> WorldSource:
    """A study of conversions as a source of worlds, by the default's belief about rates."""
    known = gather_knowledge(State.after(study.original_settings, study.events()), study.clock())
    if not known.problem.conversions:  # the paper's six have no belief about rates
        known = known._replace(problem=replace(study.settings, algorithm=DEFAULT).problem, fits=[])
    belief, on_model = find_model(known)
    told = _count_conversions(trials)
    amount = (sum(trial.outcome or 0.0 for trial in trials) + _count_people(trials)) / told
    return WorldSource(
        study.settings,
        known.problem,
        ConstantFunction(amount),
        BeliefModel(belief.posterior, on_model),
        0.0,
        0.0,
        seen,
        told,
        _list_contexts(trials),
        _measure_pace(trials, seen) if scale == "clock" else None,
        find_anchors(known.problem, belief.posterior),
    )


def _count_conversions(trials: list[Trial]) -> int:
    """How many conversions are known, told one by one or counted by day."""
    return sum(bool(trial.outcome) for trial in trials) + _count_people(trials)


def _count_people(trials: list[Trial]) -> int:
    """How many people who were counted by day have converted."""
    return sum(trial.converted or 0 for trial in trials if trial.failure is None)


def _measure_pace(trials: list[Trial], seen: SeenDelays) -> float:
    """Seconds from query to query; of people who were counted by day, from one to the next."""
    single = [trial.asked_at for trial in trials if trial.counted_at is None]
    days = [DayShown(t.asked_at, DAY, t.shown or 0) for t in trials if t.counted_at is not None]
    return measure_pace(single, seen.quantile(0.5), days)


def find_anchors(problem: Problem, posterior: Posterior) -> Array:
    """The queries with the best outcomes."""
    best = np.argsort(-posterior.y_tilde, kind="stable")[:4]
    return np.asarray(posterior.X[best, problem.split :])


def _list_contexts(trials: list[Trial]) -> list[Params] | None:
    return [trial.context for trial in trials if trial.context is not None] or None


def _average_noise(g: BeliefModel, told: list[Trial]) -> float:
    """The standard deviation of an outcome's noise, in the user's units."""
    usual = float(abs(np.diff(g.scale.to_user(np.array([0.0, math.sqrt(g.posterior.gp.lam)])))[0]))
    return math.sqrt(np.mean([np.square(usual if trial.noise is None else trial.noise) for trial in told]))


def _encode_rows(settings: Settings, trials: list[Trial]) -> Array:
    """Context and query as columns."""
    X = settings.space.encode_all([trial.params for trial in trials])
    if settings.context is None:
        return X
    return np.hstack([settings.context.encode_all([trial.context or {} for trial in trials]), X])


def _measure_ages(trials: list[Trial], asked: int, now: float, scale: Literal["rounds", "clock"]) -> Array:
    """The age of each query."""
    if scale == "clock":
        return np.array([max(now - trial.asked_at, 0.0) for trial in trials], dtype=float)
    return np.array([asked + 1 - trial.number for trial in trials], dtype=float)


def _fit_model(problem: Problem, X: Array, y: Array, noises: Sequence[float | None]) -> BeliefModel:
    """The model of the study's algorithm, fitted again to the first rows, those of `noises`, and conditioned on all."""
    algorithm, n = problem.algorithm, len(noises)
    scale = replace(algorithm.model.scaling(problem.bounds, y[:n]), least=-math.inf)
    sigma = np.full(len(y), math.nan)
    sigma[:n] = [math.nan if noise is None else noise for noise in noises]
    y, lams, gp = scale.to_model_unbounded(y), np.square(sigma / scale.width), make_prior(problem, n + 1)
    if n >= FEWEST:
        shape = FitSettings(
            problem.kernel,
            group_columns([width for part in problem.widths for width in part]),
            given_kernel=algorithm.model.kernel is not None,
            lam=problem.lam(n + 1),
            mean=algorithm.model.mean,
            prior=algorithm.fitting.prior,
        )
        gp = fit(shape, gp, X[:n], y[:n], lams[:n])
    return BeliefModel(gp.condition(X, y, np.where(np.isnan(lams), gp.lam, lams), list_queries(problem)), scale)
