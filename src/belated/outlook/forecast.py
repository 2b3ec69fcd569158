"""An outlook from a state: candidates, functions drawn from the belief, and the queries to come simulated on them.

Functions are drawn under several hyperparameters, as likely as each is. The simulated study has others of these, since
its next fits will move: with those of now, intervals held too little (71 to 74 % in the worlds of tuning). What is
pending, and each query to come, is heard by the delays seen so far; queries are asked at the pace of so far. Contexts
to come are those of the trials so far, drawn at random. Of conversions one query of the simulation stands for several,
whose outcomes are counted at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from belated.delays.pace import DayShown, measure_pace
from belated.delays.report import DelayReport, report_delays
from belated.errors import Contradiction, InvalidInput, NothingHeard
from belated.learner.arrays import Array, Indices
from belated.learner.belief import ModelBelief
from belated.learner.blas import use_one_thread
from belated.learner.choice.candidates import AtContext, join_context, plan_search
from belated.learner.choice.maximize import Effort, maximize, spread_candidates
from belated.learner.choice.problem import Cache, Problem, Situation, drop_repeats
from belated.learner.conversions import PRIOR, believe_rates, count_conversions
from belated.learner.delays.survival import ENOUGH, Survival
from belated.learner.foresight import NEVER, ComingQueries, Prospect, Unheard, assume, draw_functions, foresee
from belated.learner.gp.doubt import draw_hyperparameters, fit_anew
from belated.learner.gp.fit import FitSettings, group_columns
from belated.learner.gp.posterior import Posterior
from belated.learner.gp.scale import RateScale, Robust, Scale
from belated.learner.history import History
from belated.outlook.result import Outlook
from belated.record.beliefs import find_best_mean, find_model
from belated.record.choices import Knowledge, find_situation, gather_knowledge
from belated.record.state import State
from belated.validation import Params, require_rule

STREAM = 7  # of the random numbers, keyed (seed, trials, stream)
HYPERPARAMETERS, EACH = 16, 16  # draws of hyperparameters, and of functions under each
CANDIDATES = 300  # in the context in question
ELSEWHERE, CONTEXTS = 60, 6  # candidates in each of some other contexts
LIKELY = 0.5  # a candidate can be evaluated at least as likely
PATHS = 8  # functions whose own maximum is a candidate
MOST = 200  # queries that are simulated one by one
BATCHES = 20  # of conversions: steps of a simulation
PENDING = 60  # pending queries that are simulated; the rest is as if it never came
ENDS = (0.1, 0.9)  # of the interval
USUAL = 10  # queries, where none are stated
TENTH = 0.1
# Of log rates: those of one campaign differ by a factor of two or so, and change smoothly. A belief assumes more, so as
# to try what may be better.
RATES = replace(PRIOR, lengthscale=(float(np.log(0.4)), 0.7), variance=(float(np.log(0.05)), 1.0))


@dataclass(frozen=True, eq=False)
class OutlookBasis:
    """What an outlook is made from, at one time."""

    known: Knowledge
    situation: Situation
    delays: DelayReport
    pace: float  # from ask to ask, in the unit of the delays
    seed: int
    context: Params | None


def read_basis(state: State, now: float, context: Params | None) -> OutlookBasis:
    """What is known at the clock reading `now`; later events do not change it."""
    words, z = state.encode_context(context)
    if not state.table.has_heard:
        raise NothingHeard
    delays = report_delays(state, now)
    pace = 1.0
    if delays.scale == "clock":
        longest = float(np.nanmax(delays.clock.waited, initial=0.0))
        pace = _measure_pace(state, delays.quantile(0.5) or longest)
    situation = find_situation(state, now, z)[1]
    return OutlookBasis(gather_knowledge(state, now), situation, delays, pace, state.settings.seed, words)


def _measure_pace(state: State, typical: float) -> float:
    """Seconds from query to query; of people who were counted by day, from one to the next."""
    asked_at, over, shown = (state.table.column(name) for name in ("asked_at", "shown_over", "shown"))
    single = np.isnan(over)
    days = zip(asked_at[~single].tolist(), over[~single].tolist(), shown[~single].astype(int).tolist(), strict=True)
    return measure_pace(asked_at[single].tolist(), typical, [DayShown(*day) for day in days])


def forecast(basis: OutlookBasis, queries: int | None, margin: float | None, cache: Cache) -> Outlook:
    """What so many more queries are likely to bring."""
    known = basis.known
    problem, h = known.problem, known.history
    if problem.algorithm.model.surrogate is not None:
        raise Contradiction(
            f"{problem.algorithm.name} has a model of its own, and an outlook needs functions drawn from a GP"
        )
    k = count_queries(problem, h, queries)
    seeds = np.random.default_rng([basis.seed, known.t, STREAM]).spawn(3)
    here = find_best_mean(known, basis.situation, basis.seed, cache)
    heard = known if problem.conversions else known._replace(history=h.without_pending())
    belief, scale = find_model(heard)
    with use_one_thread():
        places = choose_candidates(basis, belief, here, seeds[0])
        model = belief.posterior
        fitted = describe_fit(problem, known.t, model)
        if problem.conversions:
            model = believe_rates(fit_anew(fitted, model), count_conversions(h, problem.silence)).now
        level = fitted.mean == "constant"
        runs = []
        gps = draw_hyperparameters(fitted, model, HYPERPARAMETERS, seeds[1])
        for gp, later in zip(gps, [*gps[1:], gps[0]], strict=True):
            f = draw_functions(assume(model, gp), places.rows, EACH, level, seeds[1])
            runs.append((f, _simulate(basis, places, assume(model, later), f, k, seeds[2])))
    worth = _read_worth(problem, scale, h, np.vstack([f for f, _ in runs]))
    start = worth[:, 0]
    gains = worth[np.arange(len(worth)), np.concatenate([chosen for _, chosen in runs])] - start
    best = np.max(worth[:, places.target], axis=1) - start
    least = _find_margin(problem, h, start, margin)
    gain = float(np.mean(gains))
    low, high = (find_middle_quantile(gains, q) for q in ENDS)
    by_clock = basis.delays.scale == "clock"
    return Outlook(
        queries=k,
        context=basis.context,
        gain=gain,
        low=min(low, gain),  # a rare large gain moves the mean alone
        high=max(high, gain),
        chance=float(np.mean(best > least)),
        margin=least,
        pending=int(np.sum(basis.delays.awaited)),
        expected=count_expected(basis.delays, k * basis.pace),
        seconds=k * basis.pace if by_clock else None,
    )


def count_queries(problem: Problem, h: History, queries: int | None) -> int:
    """How many queries are simulated; of conversions by default a tenth of those so far."""
    if queries is None:
        people = len(h.X) if h.counts is None else len(h.X) - len(h.counts.shown) + int(np.sum(h.counts.shown))
        return max(USUAL, people // 10) if problem.conversions else USUAL
    if queries < 0:
        raise InvalidInput(f"queries must be at least 0 (got {queries})")
    if queries > MOST and not problem.conversions:
        raise InvalidInput(f"queries must be at most {MOST}: nothing is known of what comes later (got {queries})")
    return queries


# Where ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Places:
    """The candidates. The first is what is recommended now; `contexts` has those of each context, the first in the
    one in question; `pending` those that are out."""

    rows: Array
    contexts: Sequence[Indices]
    pending: Indices
    waiting: Indices  # rows of the delay report that `pending` stands for

    @property
    def target(self) -> Indices:
        return self.contexts[0]


def choose_candidates(basis: OutlookBasis, belief: ModelBelief, here: Array, rng: Generator) -> Places:
    """Queries all over the space, near the best ones and where functions drawn from the belief are best."""
    problem, z = basis.known.problem, basis.situation.z
    if problem.Q is not None:
        queries = _thin_list(problem, belief, z, rng)
    elif problem.conversions:
        queries = problem.lattice
    else:
        queries = _spread_queries(problem, basis.situation, belief, here, rng)
    if belief.feasible is not None:
        queries = queries[belief.feasible(join_context(z, queries)) >= LIKELY]
    queries = drop_repeats(np.vstack([here, queries]))
    groups, rows = [np.arange(len(queries))], [join_context(z, queries)]
    for other in _list_other_contexts(basis, rng):
        some = queries[rng.permutation(len(queries))[:ELSEWHERE]]
        groups.append(sum(map(len, rows)) + np.arange(len(some)))
        rows.append(join_context(other, some))
    waiting = np.flatnonzero(basis.delays.out & ~np.isnan(_find_waits(basis.delays)))
    if problem.conversions:
        waiting = waiting[:0]
    waiting = np.sort(rng.permutation(waiting)[:PENDING])
    before = sum(map(len, rows))
    return Places(np.vstack([*rows, basis.delays.X[waiting]]), groups, before + np.arange(len(waiting)), waiting)


def _thin_list(problem: Problem, belief: ModelBelief, z: Array, rng: Generator) -> Array:
    """All listed queries; of many, those that may be best, and some others."""
    Q = problem.Q
    if Q is None or len(Q) <= CANDIDATES:
        return Q if Q is not None else np.empty((0, 0))
    mean, std = belief.posterior.mean_and_std(join_context(z, Q))
    hopeful = np.argsort(-(mean + 2.0 * std), kind="stable")
    return np.asarray(Q[[*hopeful[: CANDIDATES // 2], *rng.permutation(hopeful[CANDIDATES // 2 :])[: CANDIDATES // 2]]])


def _spread_queries(problem: Problem, situation: Situation, belief: ModelBelief, here: Array, rng: Generator) -> Array:
    search = plan_search(problem, situation, belief)
    search = type(search)(search.domain, search.given, np.vstack([here, search.anchors]))
    best = [
        maximize(AtContext(belief.posterior.path(rng), situation.z), search, rng, Effort(96, starts=2))[0]
        for _ in range(PATHS)
    ]
    return np.vstack([*best, spread_candidates(search, CANDIDATES, rng)])


def _list_other_contexts(basis: OutlookBasis, rng: Generator) -> list[Array]:
    """Some of the contexts so far, each drawn as often as it was asked for; none without contexts."""
    problem, X = basis.known.problem, basis.known.history.X
    if not problem.split or not len(X):
        return []
    drawn = X[rng.integers(len(X), size=CONTEXTS), : problem.split]
    return [row for row in drop_repeats(drawn) if not np.array_equal(row, basis.situation.z)]


# What happens ---------------------------------------------------------------------------------------------------------


def describe_fit(problem: Problem, t: int, posterior: Posterior) -> FitSettings:
    """What is uncertain about the hyperparameters of a belief."""
    algorithm = problem.algorithm
    return FitSettings(
        posterior.gp.kernel,
        group_columns([w for part in problem.widths for w in part]),
        given_kernel=algorithm.model.kernel is not None,
        lam=posterior.gp.lam if problem.conversions else problem.lam(t),
        mean="constant" if problem.conversions else algorithm.model.mean,
        prior=RATES if problem.conversions else algorithm.fitting.prior,
    )


def _simulate(basis: OutlookBasis, places: Places, model: Posterior, f: Array, k: int, rng: Generator) -> Indices:
    """The candidate that is recommended in the end, for each function."""
    problem, rows = basis.known.problem, places.rows
    mean, cov = model.mean(rows), model.cov(rows)
    steps = min(k, BATCHES) if problem.conversions else k
    noise = np.full(len(rows), model.gp.lam)
    out = Unheard(places.pending, noise[places.pending], np.empty((len(f), 0), dtype=np.int64))
    if problem.conversions:
        cells = count_conversions(basis.known.history, problem.silence)
        people = max(k, 1) / max(steps, 1)
        noise = cells.compute_noise(np.exp(np.minimum(mean, 0.0)), people, 1.0)
        heard = np.repeat(np.arange(1, steps + 1)[None], len(f), axis=0)
    else:
        seen = _find_survival(basis.delays)
        ages = _find_waits(basis.delays)[places.waiting]
        coming = draw_delays(seen, np.repeat(ages[None], len(f), axis=0), rng) - ages
        out = Unheard(places.pending, noise[places.pending], np.maximum(_count_steps(coming, basis.pace), 1))
        later = _count_steps(draw_delays(seen, np.zeros((len(f), steps)), rng), basis.pace)
        heard = np.minimum(np.arange(steps) + np.maximum(later, 1), NEVER)
    target = np.zeros((len(places.contexts), len(rows)), dtype=bool)
    for i, group in enumerate(places.contexts):
        target[i, group] = True
    which = rng.integers(len(places.contexts), size=(len(f), steps))
    schedule = ComingQueries(target[which], heard)
    return foresee(Prospect(mean, cov, noise, places.target), f, out, schedule, rng)


def _find_waits(delays: DelayReport) -> Array:
    return (delays.clock if delays.scale == "clock" else delays.rounds).waited


def _find_survival(delays: DelayReport) -> Survival:
    return (delays.clock if delays.scale == "clock" else delays.rounds).arrivals.survival


def draw_delays(seen: Survival, ages: Array, rng: Generator) -> Array:
    """A delay for each query, longer than its age: one of those seen, as S(d) / S(age) says; inf for those beyond.
    Where none was seen, outcomes come at once."""
    if not len(seen.times):
        return ages.copy()
    left = seen.over(ages) * (1.0 - rng.random(ages.shape))  # S(d) ≤ u S(age)
    place = len(seen.times) - np.searchsorted(seen.survival[::-1], left, side="right")
    times = np.append(seen.times, np.inf)
    return np.asarray(times[place])


def _count_steps(wait: Array, pace: float) -> NDArray[np.int64]:
    """Before which step something is heard that comes so much later."""
    with np.errstate(invalid="ignore"):
        steps = np.ceil(wait / pace - 1e-9)
    return np.where(np.isfinite(steps), np.minimum(steps, NEVER), NEVER).astype(np.int64)


def count_expected(delays: DelayReport, further: float) -> float | None:
    """How many of those waited for are heard within so much more time; None while too few were heard to say."""
    waits = delays.clock if delays.scale == "clock" else delays.rounds
    if waits.arrivals.heard < ENOUGH:
        return None
    age = waits.waited[delays.awaited]
    return waits.arrivals.expected(age[~np.isnan(age)], further)


# What it is worth -----------------------------------------------------------------------------------------------------


def _read_worth(problem: Problem, scale: Scale | RateScale, h: History, f: Array) -> Array:
    """sign · f in the user's units, within the floor and the ceiling that were stated; no rate is more than 1 while no
    conversion counted more."""
    bounds, worth = problem.bounds, problem.bounds.sign * scale.to_user(f)
    if problem.conversions and np.max(h.y[h.seen], initial=1.0) <= 1.0:
        worth = np.minimum(worth, 1.0)
    worth = worth if bounds.floor is None else np.maximum(worth, bounds.sign * bounds.floor)
    return np.asarray(worth if bounds.ceiling is None else np.minimum(worth, bounds.sign * bounds.ceiling))


def _find_margin(problem: Problem, h: History, start: Array, margin: float | None) -> float:
    """What is stated, or a tenth: of the spread of the outcomes, or of the rate."""
    if margin is not None:
        return require_rule("margin", margin, "be a finite number of at least 0", lambda v: 0 <= v < np.inf)
    return TENTH * (float(np.mean(start)) if problem.conversions else Robust()(problem.bounds, h.y[h.seen]).width)


def find_middle_quantile(values: Array, q: float) -> float:
    """The quantile of the middle distribution P(V < v) + ½ P(V = v), straight between its steps: a value that comes
    often, such as no gain at all, is an end of an interval only where nothing comes beyond it."""
    v, counts = np.unique(values, return_counts=True)
    middle = (np.cumsum(counts) - 0.5 * counts) / len(values)
    return float(np.interp(q, middle, v))
