"""One choice: history -> scale -> fit -> belief -> policy -> x.

A pure function of its arguments. Numerical trouble never makes it raise: it falls back, and its note says to what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar, cast

import numpy as np
from numpy.random import Generator

from belated.errors import Contradiction, NotPositiveDefinite
from belated.learner.algorithms import Move
from belated.learner.arrays import Array
from belated.learner.belief import ChoiceBelief, ModelBelief, believe, find_centres, find_floor
from belated.learner.choice.candidates import (
    SAME,
    AskedQueries,
    AtContext,
    fill_space,
    find_best,
    join_context,
    list_queries,
    plan_search,
)
from belated.learner.choice.fit_cost import is_affordable
from belated.learner.choice.maximize import spread_candidates
from belated.learner.choice.problem import (
    Cache,
    Decision,
    Hyperparameters,
    KeptMoment,
    Problem,
    Situation,
    count_pairs,
)
from belated.learner.confidence import Constant, gamma_bound, greedy_gain
from belated.learner.conversions import (
    PRIOR,
    CellBelief,
    adjust_prior,
    believe_rates,
    choose_cells,
    count_conversions,
    select_rates,
)
from belated.learner.feasibility import learn_feasibility, set_apart
from belated.learner.gp.fit import FEWEST, FitSettings, fit, fit_likeliest, group_columns
from belated.learner.gp.posterior import GP
from belated.learner.gp.scale import RateScale, Scale, describe_stand_in
from belated.learner.gp.summary import ChunkRunner
from belated.learner.history import History, Tally, coarsen_ages, scale_history
from belated.learner.moment import Moment, RateBelief
from belated.learner.policies import Policy, ThompsonSampling, UncertaintySampling, find_scores, find_surface
from belated.learner.silence import Floor, Halfway, Ignored, Silence, Unknown, Waiting
from belated.learner.surrogate import believe_surrogate
from belated.learner.width import BetaWidth

Result = TypeVar("Result")
NUMERICS = (NotPositiveDefinite, FloatingPointError, np.linalg.LinAlgError, OverflowError, ZeroDivisionError)
RATE_PASSES = 2
POSTPONED = "kept the last hyperparameters: a fit is due and takes long here (study.refit makes it ahead of time)"
SURVIVED = (*NUMERICS, MemoryError)  # what an ask falls back from


def find_scale(problem: Problem, h: History, fitted: Hyperparameters | None) -> Scale:
    """The scale of the outcomes in use, or the one that came with the hyperparameters."""
    if fitted is not None and fitted.scale is not None:
        return fitted.scale
    return problem.algorithm.model.scaling(problem.bounds, h.y[h.seen])


def make_prior(problem: Problem, t: int) -> GP:
    """The GP before anything was fitted."""
    lam = problem.lam(t)
    return GP(problem.kernel, 1e-3 if lam is None else lam)


def refit(problem: Problem, h: History, t: int, last: Hyperparameters | None) -> Hyperparameters | None:
    """New hyperparameters; None when too little was heard, or nothing is left to fit."""
    algorithm, lam = problem.algorithm, problem.lam(t)
    if not needs_fit(problem, h, t):
        return None
    start = make_prior(problem, t) if last is None else last.gp
    if problem.conversions:
        return refit_rates(problem, h, t, start, fitted=last is not None)
    data = algorithm.fitting.data.select(h, problem.bounds, algorithm.model.scaling, problem.silence, start)
    settings = FitSettings(
        problem.kernel,
        group_columns([w for part in problem.widths for w in part]),
        given_kernel=algorithm.model.kernel is not None,
        lam=lam,
        mean=algorithm.model.mean,
        prior=algorithm.fitting.prior,
    )
    gp = fit(settings, start, data.X, data.y, data.lams, data.shares)
    scale = data.scale if algorithm.model.scaling.lasting else None
    centres = find_centres(gp, scale_history(h, problem.bounds, data.scale), count_pairs(problem, h))
    return Hyperparameters(gp, scale, t, h.heard, h.settled_count, centres)


def refit_rates(problem: Problem, h: History, t: int, start: GP, *, fitted: bool) -> Hyperparameters:
    """New hyperparameters of the belief about rates: what a cell says and what is believed depend on each other."""
    cells = count_conversions(coarsen_ages(h), problem.silence)
    gp = start if fitted else adjust_prior(start, cells)
    settings = FitSettings(
        problem.kernel,
        group_columns([w for part in problem.widths for w in part]),
        given_kernel=problem.algorithm.model.kernel is not None,
        lam=cells.lam,
        mean="constant",
        prior=PRIOR,
        contexts=len(problem.context_widths),
    )
    for _ in range(RATE_PASSES):
        data = select_rates(cells, gp)
        gp = fit_likeliest(settings, problem.kernels, gp, data.X, data.y, data.lams)
    centres = tuple(cells.first[choose_cells(cells, gp)].tolist())
    return Hyperparameters(gp, None, t, h.heard, h.settled_count, centres)


def needs_fit(problem: Problem, h: History | Tally, t: int) -> bool:
    """Whether there is enough heard to fit, and something that is not given by hand."""
    by_hand = problem.algorithm.model.kernel is not None and problem.lam(t) is not None
    return h.heard >= FEWEST and not by_hand


def make_gp(problem: Problem, fitted: Hyperparameters | None, t: int) -> GP:
    """The GP for query t: fitted or prior hyperparameters, with the λ that the theory sets."""
    gp = make_prior(problem, t) if fitted is None else fitted.gp
    lam = problem.lam(t)
    return gp if lam is None else replace(gp, lam=lam)


def compute_belief(
    problem: Problem,
    h: History,
    t: int,
    fitted: Hyperparameters | None,
    silence: Silence,
    cache: Cache,
    z: Array,
    exact: bool = False,
    ahead: bool = True,
) -> tuple[ModelBelief, Scale | RateScale]:
    """The belief about f on the model's scale, and that scale.

    exact   does not bound very bad outcomes
    ahead   counts conversions that may still come as known by then: what the next choice is made from"""
    if problem.conversions:
        rates = believe_in_rates(problem, h, t, fitted, cache)
        posterior = rates.ahead if ahead else rates.now
        every = np.ones(len(posterior.X), dtype=bool)
        return ModelBelief(posterior, every, ~every, z), RateScale(rates.cells.doubt)
    scale = find_scale(problem, h, fitted)
    scale = replace(scale, least=-np.inf) if exact else scale
    scaled, gp = scale_history(h, problem.bounds, scale), make_gp(problem, fitted, t)
    model, feasible = problem.algorithm.model, None
    if model.infeasible == "apart" and np.any(scaled.infeasible):
        feasible = learn_feasibility(gp, scaled, find_floor(gp, scaled), cache.memory.feasible)
        scaled = set_apart(scaled)
    if model.surrogate is not None:
        belief = believe_surrogate(model.surrogate, gp, silence, scaled, cache.memory, z)
    else:
        centres, Q, noise = (
            () if fitted is None else fitted.centres,
            list_queries(problem),
            problem.algorithm.fill_noise,
        )
        belief = believe(gp, silence, scaled, Q, cache.memory, z, noise, centres, count_pairs(problem, h))
    return replace(belief, feasible=feasible), scale


def summarise_ahead(
    problem: Problem, h: History, t: int, fitted: Hyperparameters, cache: Cache, run: ChunkRunner
) -> None:
    """Compute the belief of the next choice, its summary by `run`, and leave both in the cache.

    Where that fails for numerical reasons, an ask finds out and says to what it fell back."""
    if problem.conversions or not fitted.centres:  # nothing is summarised
        return
    with suppress(*NUMERICS), cache.memory.heard.store.sum_up_by(run):
        compute_belief(problem, h, t, fitted, adapt_silence(problem, problem.move(0)), cache, np.zeros(problem.split))


def believe_in_rates(problem: Problem, h: History, t: int, fitted: Hyperparameters | None, cache: Cache) -> CellBelief:
    """The belief about the log rate."""
    cells, gp = count_conversions(h, problem.silence), make_gp(problem, fitted, t)
    if fitted is None:
        return believe_rates(adjust_prior(gp, cells), cells, kept=cache.cells)
    return believe_rates(gp, cells, fitted.centres, cache.cells)


def compute_choice_belief(
    problem: Problem, h: History, situation: Situation, fitted: Hyperparameters | None, cache: Cache
) -> ChoiceBelief:
    """The belief that the next choice is made from. Of conversions it looks ahead, to when everything that is out has
    had its chance; it stays the same for all choices of a moment, except for what they ask."""
    t, silence, z = situation.t, find_silence(problem, situation), situation.z
    if not problem.conversions:
        return compute_belief(problem, h, t, fitted, silence, cache, z)[0]
    if cache.moment is None or not cache.moment.is_of(h, fitted):
        rates = believe_in_rates(problem, h, t, fitted, cache)
        literal = problem.silence.fills != "between"
        cache.moment = KeptMoment(h, fitted, Moment(rates.ahead, rates.cells, literal, situation.fresh[:0]))
    return RateBelief(cache.moment.moment, situation.fresh, z)


def compute_width(problem: Problem, belief: ChoiceBelief, move: Move, t: int, cache: Cache) -> float:
    """The factor of σ in this move: β_t, widened to ν_t for GP-UCB-SDF and GP-TS-SDF."""
    rule = problem.algorithm.width
    beta = move.beta or rule.beta
    if isinstance(beta, Constant):
        value = beta.value
    else:
        greedy, t_here = beta.gain == "greedy", problem.round_of(t)
        posterior = belief.posterior
        gamma = compute_greedy_gain(problem, posterior.gp, t_here, cache) if greedy else posterior.gain()
        value = rule.beta_in_theory(beta.in_epoch(t), gamma)
    return value + rule.widening(belief)


def compute_greedy_gain(problem: Problem, gp: GP, t: int, cache: Cache) -> float:
    """γ_{t-1} over the finite Q, bounded from above by the greedy gain over 1 - 1/e."""
    Q, key = require_finite_queries(problem), (gp.kernel, gp.lam)
    if key not in cache.gains or len(cache.gains[key]) < t:
        cache.gains[key] = greedy_gain(gp.kernel, Q, max(64, 2 * t), gp.lam)
    return float(gamma_bound(cache.gains[key][t - 1]))


def require_finite_queries(problem: Problem) -> Array:
    """The Q over which a greedy gain is defined."""
    Q = list_queries(problem)
    if Q is None:
        raise Contradiction('gain="greedy" needs a finite set of queries and no context; use gain="realised"')
    return Q


def recall(
    problem: Problem, h: History, fits: Sequence[Hyperparameters], t: int
) -> tuple[History, list[Hyperparameters]]:
    """What query t is chosen by: everything, or what belongs to its epoch where the theory restarts."""
    first = problem.epoch_start(t)
    return (h, list(fits)) if first == 1 else (h.since(first), [each for each in fits if each.number >= first])


def decide(
    problem: Problem, h: History, situation: Situation, fits: Sequence[Hyperparameters], rng: Generator, cache: Cache
) -> Decision:
    """The next query. `fits` holds the hyperparameters found so far, the newest last."""
    t = situation.t
    h, fits = recall(problem, h, fits, t)
    if is_opening(problem, h, t):
        return Decision(fill_space(problem, situation, h, rng))
    due = is_fit_due(problem, h, t - len(situation.fresh), fits)  # once for all choices of a moment
    postponed = due and needs_fit(problem, h, t) and not is_affordable(problem, h, fits)
    state = rng.bit_generator.state
    failures = FailureLog()
    for note, fitted in list_attempts(problem, h, t, fits, due and not postponed, failures):
        rng.bit_generator.state = state
        try:
            x, belief = choose(problem, h, situation, fitted, rng, cache)
        except SURVIVED as error:
            failures.add(error)
            if isinstance(error, MemoryError):
                cache.clear()  # what is kept may be half-written, and its memory is needed
            continue
        notes = [describe_floor(problem, h, situation, h.y[h.seen]), describe_summary(problem, belief)]
        notes += [POSTPONED if postponed else "", failures.explain(note)]
        found = fitted is not None and all(fitted is not each for each in fits)
        return Decision(x, "; ".join(filter(None, notes)), fitted if found else None, failures.last)
    rng.bit_generator.state = state
    note = failures.explain("fell back to a space-filling point")
    return Decision(fill_space(problem, situation, h, rng), note, failure=failures.last)


def may_share_moment(problem: Problem, t: int, count: int) -> bool:
    """Whether queries t, t + 1, … of one moment need nothing but each other and the same belief."""
    rule = problem.algorithm.width
    return (
        problem.conversions
        and len(problem.moves) == 1
        and not problem.algorithm.own
        and isinstance(rule, BetaWidth)
        and isinstance(problem.moves[0].beta or rule.beta, Constant)
        and problem.epoch_start(t + count - 1) == 1
        and not is_uncertainty_sampling(problem, t)
    )


def decide_batch(
    problem: Problem,
    h: History,
    situation: Situation,
    contexts: Sequence[Array],
    fits: Sequence[Hyperparameters],
    make_rng: Callable[[int], Generator],
    cache: Cache,
) -> list[Decision]:
    """A query for each context, at one moment: what `decide` gives one after the other, each knowing those before."""
    known, t, fits = situation.fresh, situation.t, list(fits)
    if problem.Q is not None and is_opening(problem, h, t + len(contexts) - 1):
        return fill_list(problem, problem.Q, h, situation, contexts, make_rng)
    rows = np.vstack([known, np.empty((len(contexts), known.shape[1]))])
    decisions: list[Decision] = []
    shared: Callable[[Situation], Decision | None] | None = None
    for i, (z, row) in enumerate(zip(contexts, rows[len(known) :], strict=True)):
        now = replace(situation, t=t + i, z=z, fresh=rows[: len(known) + i])
        decision = None if shared is None else shared(now)
        if decision is None:
            decision = decide(problem, h, now, fits, make_rng(t + i), cache)
            fits += [] if decision.fitted is None else [decision.fitted]
            shared = share_moment(problem, h, now, fits, make_rng, cache) if not decision.failure else None
        decisions.append(decision)
        row[: len(z)], row[len(z) :] = z, decision.x
    return decisions


def fill_list(
    problem: Problem,
    Q: Array,
    h: History,
    situation: Situation,
    contexts: Sequence[Array],
    make_rng: Callable[[int], Generator],
) -> list[Decision]:
    """Space-filling queries of a list for some contexts."""
    asked, decisions = AskedQueries.find(problem, Q, situation, h), []
    for i, z in enumerate(contexts):
        x = asked.choose(replace(situation, z=z), make_rng(situation.t + i))
        asked.add(z, x)
        decisions.append(Decision(x))
    return decisions


def share_moment(
    problem: Problem,
    h: History,
    situation: Situation,
    fits: Sequence[Hyperparameters],
    make_rng: Callable[[int], Generator],
    cache: Cache,
) -> Callable[[Situation], Decision | None] | None:
    """What chooses the further queries of a moment with the last hyperparameters, and gives None where they fail; None
    while there is something to fit, or nothing to choose by."""
    t = situation.t
    if is_opening(problem, h, t) or not fits or is_fit_due(problem, h, t - len(situation.fresh), fits):
        return None
    belief, policy, nu = prepare_choice(problem, h, situation, fits[-1], cache)
    note, moment = describe_summary(problem, belief), cast("RateBelief", belief).moment
    draws, unused = isinstance(policy, ThompsonSampling), make_rng(t)

    def choose_next(now: Situation) -> Decision | None:
        rng = make_rng(now.t) if draws else unused  # making one takes as long as choosing
        try:
            x = find_best(problem, now, RateBelief(moment, now.fresh, now.z), policy, nu, rng)
        except SURVIVED:
            return None
        return Decision(x, note)

    return choose_next


class Condensed(NamedTuple):
    """A history in which the outcomes of a query are one row, and what that leaves out."""

    history: History  # on the scale of the last hyperparameters
    outcomes: Array  # how many each row stands for
    extremes: Array  # the least and the largest outcome heard, in the user's units
    postponed: bool  # whether a fit is due and takes long


def may_condense(problem: Problem, t: int, fits: Sequence[Hyperparameters]) -> bool:
    """Whether a choice can rest on the sums of the outcomes of each query: the belief needs no more of them, nor does
    the silence of any move, and the scale stays from fit to fit."""
    algorithm = problem.algorithm
    return (
        bool(fits)
        and fits[-1].scale is not None
        and isinstance(algorithm.width, BetaWidth)
        and algorithm.model.surrogate is None
        and algorithm.fill_noise > 0.0
        and not problem.conversions
        and isinstance(problem.silence, Unknown | Waiting | Ignored)
        and problem.epoch_start(t) == 1
        and t > problem.initial + algorithm.opening.uncertainty
    )


def decide_condensed(
    problem: Problem,
    known: Condensed,
    situation: Situation,
    fits: Sequence[Hyperparameters],
    whole: Callable[[], History],
    rng: Generator,
    cache: Cache,
) -> Decision:
    """The same as `decide` where nothing is fitted. If the last hyperparameters fail, the whole history is needed."""
    state = rng.bit_generator.state
    try:
        x, belief = choose(problem, known.history, situation, fits[-1], rng, cache)
    except SURVIVED as error:
        if isinstance(error, MemoryError):
            cache.clear()
        rng.bit_generator.state = state
        return decide(problem, whole(), situation, fits, rng, cache)
    notes = [
        describe_floor(problem, known.history, situation, known.extremes),
        describe_summary(problem, belief, known),
        POSTPONED if known.postponed else "",
    ]
    return Decision(x, "; ".join(filter(None, notes)))


@dataclass
class FailureLog:
    """Why the attempts of one choice failed, as far as its note says it."""

    out_of_memory: bool = False
    last: str = ""

    def add(self, error: Exception) -> None:
        self.last = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        self.out_of_memory |= isinstance(error, MemoryError)

    def explain(self, note: str) -> str:
        """The note on a fallback, with its cause if that was not numerical."""
        return f"{note} (out of memory)" if note and self.out_of_memory else note


def is_fit_due(problem: Problem, h: History | Tally, t: int, fits: Sequence[Hyperparameters]) -> bool:
    """Whether to fit before query t is chosen."""
    last = fits[-1] if fits else None
    if last is not None and last.number == t:  # found ahead of time
        return False
    before = problem.epoch_start(t) - 1
    previous = max(h.newest_choice, before) - before
    schedule, fitted_for = problem.algorithm.fitting.schedule, last.number - before if last else None
    due = schedule.is_due(t - before, h.heard, fitted_for, last.heard if last else 0, previous)
    return due or (schedule.eager and last is not None and (has_new_late_outcome(h, last) or has_grown(h, last)))


def is_look_fit_due(problem: Problem, h: History, t: int, fits: Sequence[Hyperparameters]) -> bool:
    """Whether to fit before the belief is shown: as before an ask, where fits are eager; else as the outcomes grow."""
    schedule = problem.algorithm.fitting.schedule
    if schedule.eager:
        return is_fit_due(problem, h, t, fits)
    return schedule.every is not None and (not fits or has_grown(h, fits[-1]))


def is_opening(problem: Problem, h: History, t: int) -> bool:
    """Whether query t is a space-filling one: among the first, or, where the best query counts, while so little is
    heard that the belief is the prior's (the default), whose most uncertain points are the corners of the space."""
    if problem.round_of(t) <= problem.initial:
        return True
    if problem.conversions:  # the first day, before anything can have come back
        return not h.heard
    heard = h.known if problem.silence.forgets else h.settled
    return not problem.cumulative and int(np.sum(heard)) < problem.algorithm.opening.until_heard


def has_new_late_outcome(h: History | Tally, last: Hyperparameters) -> bool:
    """Whether a late outcome was heard since the last fit."""
    return bool(np.any(h.late_by_arrival[last.heard :]))


def has_grown(h: History | Tally, last: Hyperparameters) -> bool:
    """Whether a tenth more, and at least ten more, are settled since the last fit."""
    return h.settled_count - last.settled >= max(10.0, 0.1 * last.settled)


def describe_floor(problem: Problem, h: History, situation: Situation, heard: Array) -> str:
    """A note on what replaced a floor that was not stated, if the choice needed one; `heard` has the outcomes in the
    user's units, or the least and the largest of them."""
    if problem.bounds.floor is not None:
        return ""
    fills = find_silence(problem, situation).uses_floor and bool(np.any(~h.known & ~h.gone))
    if not (fills or problem.algorithm.model.scaling.uses_floor or np.any(h.infeasible)):
        return ""
    return describe_stand_in(problem.bounds.stand_in(heard))


def describe_summary(problem: Problem, belief: ChoiceBelief, known: Condensed | None = None) -> str:
    """A note on the approximation, where the belief is one; `known` says how many outcomes its rows stand for."""
    if isinstance(belief, RateBelief):
        M, n = len(belief.moment.posterior.summarised), len(belief.moment.cells.k)
        pairs = "queries" if problem.context is None else "pairs of a context and a query"
        return f"approximate: the outcomes of {n} {pairs} are summarised around {M} of them" if M else ""
    if problem.algorithm.model.surrogate is not None:
        return ""
    posterior = belief.posterior
    M = len(posterior.summarised)
    if not M:
        return ""
    old = posterior.place < M
    if len(posterior.old.ids):
        outcomes = len(posterior.old.ids)
    elif known is None:
        outcomes = int(np.sum(old))
    else:
        stand_for = dict(zip(known.history.number.tolist(), known.outcomes.tolist(), strict=True))
        outcomes = sum(stand_for[number] for number in posterior.ids[old].tolist())
    return f"approximate: {outcomes} outcomes are summarised around {M} queries"


def find_silence(problem: Problem, situation: Situation) -> Silence:
    """The silence that fills the pending for this query.

    Uncertainty sampling uses σ alone, which needs the queries and no outcomes: all of them count."""
    if is_uncertainty_sampling(problem, situation.t):
        return Floor()
    return adapt_silence(problem, problem.move(situation.turn))


def is_uncertainty_sampling(problem: Problem, t: int) -> bool:
    """Whether query t is one of those that come before the algorithm's own, after the space-filling ones."""
    return problem.round_of(t) <= problem.initial + problem.algorithm.opening.uncertainty


def adapt_silence(problem: Problem, move: Move) -> Silence:
    """The silence for a move: the study's, or one that fills the pending between the floor and the belief (with
    silence="unknown" they are filled with the belief already)."""
    own = problem.silence
    return own if move.share is None or isinstance(own, Unknown) else Halfway(own, move.share)


def list_attempts(
    problem: Problem, h: History, t: int, fits: list[Hyperparameters], due: bool, failures: FailureLog
) -> Iterator[tuple[str, Hyperparameters | None]]:
    """Hyperparameters to try, in order: the usual ones, a fresh fit, the last good ones, the prior ones."""
    last = fits[-1] if fits else None
    fresh = try_refit(problem, h, t, last, failures) if due else None
    failed = due and fresh is None and needs_fit(problem, h, t)
    instead = "the last good" if fits else "prior"
    yield f"fell back to {instead} hyperparameters" if failed else "", fresh or last
    may_fit = problem.algorithm.fitting.schedule.every is not None
    may_fit = may_fit and fresh is None and is_affordable(problem, h, fits)
    if may_fit and (again := try_refit(problem, h, t, None, failures)) is not None:
        yield "fell back to refitted hyperparameters", again
    for older in reversed(fits if fresh is not None else fits[:-1]):
        yield "fell back to the last good hyperparameters", older
    yield "fell back to prior hyperparameters", None


def try_hyperparameters(fits: Sequence[Hyperparameters], attempt: Callable[[Hyperparameters | None], Result]) -> Result:
    """The result of an attempt with the newest hyperparameters that work: the last, older ones, the prior ones."""
    for fitted in [*reversed(fits), None]:
        try:
            return attempt(fitted)
        except NUMERICS:
            continue
    raise NotPositiveDefinite


def try_refit(
    problem: Problem, h: History, t: int, last: Hyperparameters | None, failures: FailureLog
) -> Hyperparameters | None:
    """New hyperparameters, or None where that fails."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return refit(problem, h, t, last)
    except SURVIVED as error:
        failures.add(error)
        return None


def measure_shortfall(
    problem: Problem,
    h: History,
    situation: Situation,
    fits: Sequence[Hyperparameters],
    rng: Generator,
    recorded: Array,
    best: Array,
) -> float:
    """How much worse the policy finds one query than another, as a share of its range over a spread of the space."""
    h, fits = recall(problem, h, fits, situation.t)
    if is_opening(problem, h, situation.t):  # there is no acquisition
        return 0.0 if np.allclose(recorded, best, rtol=0.0, atol=SAME) else float("inf")
    belief, policy, nu = prepare_choice(problem, h, situation, fits[-1] if fits else None, Cache())
    if problem.Q is not None:
        rows = join_context(situation.z, problem.Q)
        scores = find_scores(policy, belief, rows, nu, rng)
        i, j = (problem.place[x.tobytes()] for x in (recorded, best))
        return max(0.0, float(scores[j] - scores[i])) / max(float(np.ptp(scores)), 1e-300)
    surface = AtContext(find_surface(policy, belief, nu, rng), situation.z)
    spread = spread_candidates(plan_search(problem, situation, belief), 256, rng)
    values = surface(np.vstack([recorded, best, spread]))
    return max(0.0, float(values[1] - values[0])) / max(float(np.ptp(values)), 1e-300)


def prepare_choice(
    problem: Problem, h: History, situation: Situation, fitted: Hyperparameters | None, cache: Cache
) -> tuple[ChoiceBelief, Policy, float]:
    """The belief, the policy and its width for this query."""
    t = situation.t
    move = problem.move(situation.turn)
    if is_uncertainty_sampling(problem, t):
        move = Move(UncertaintySampling())
    belief = compute_choice_belief(problem, h, situation, fitted, cache)
    return belief, move.policy, compute_width(problem, belief, move, t, cache)


def choose(
    problem: Problem, h: History, situation: Situation, fitted: Hyperparameters | None, rng: Generator, cache: Cache
) -> tuple[Array, ChoiceBelief]:
    """The argmax of the algorithm's policy over the space, for these hyperparameters, and the belief it rests on."""
    belief, policy, nu = prepare_choice(problem, h, situation, fitted, cache)
    return find_best(problem, situation, belief, policy, nu, rng), belief
