"""Which settings would have been best for a study: every candidate in worlds simulated from it, seed by seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from belated.comparison.candidates import (
    QUANTILES,
    Candidate,
    Wait,
    choose_time_scale,
    list_candidates,
    round_patience,
)
from belated.comparison.result import ComparisonResult, build_result
from belated.comparison.statistics import MOST
from belated.comparison.world import World, WorldSource, read_source
from belated.delays.report import TimeScale
from belated.errors import InvalidInput
from belated.execution.parallel import run_in_parallel
from belated.execution.terminal import count_progress
from belated.learner.algorithms import Algorithm
from belated.learner.arrays import Array
from belated.learner.delays.survival import ENOUGH
from belated.learner.silence import Silence
from belated.record.ledger.memory import MemoryLedger
from belated.settings import RegretKind, Settings
from belated.simulation.clock import SimulatedClock
from belated.simulation.simulate import simulate
from belated.study import Study
from belated.validation import format_value, require_whole

FEWEST, LONGEST = 30, 200  # rounds, unless they are given
MEDIANS = 5  # delays, half of all being shorter, that a comparison lasts for at least


class CandidateJob(NamedTuple):
    """One candidate in one world."""

    world: World
    candidate: Candidate


@dataclass(frozen=True, eq=False)
class CandidateRun:
    """The result of a run, one entry per round."""

    gap: Array  # instantaneous regret
    simple: Array


def compare(
    study: Study,
    *,
    algorithms: Sequence[str | Algorithm] | None = None,
    silences: Sequence[str | Silence] | None = None,
    patience: Sequence[Wait] | None = None,
    rounds: int | None = None,
    seeds: int = 10,
    seed: int = 0,
    workers: int = 1,
    executor: Executor | None = None,
    progress: bool = True,
) -> ComparisonResult:
    """Which algorithm, silence and patience would have been best for this study; print the answer.

    algorithms  names or values; None: the default and the paper's six
    silences    for an algorithm that implies none: names or values; None: floor, unknown, waiting and fading
    patience    for algorithms that have one: a list of rounds or times, in which None is no patience; None: the times
                within which 50, 80 and 95 % of the delays lie
    rounds      queries of every run; None: as many as the study has, from 30 to 200, and enough for five times the
                delay within which half of the outcomes come. Where 200 are too few for that, a query of the world
                stands for several of the study's
    seeds       how many worlds, at most 40; every candidate runs in all of them
    seed        of the first; the same seed gives the same answer
    workers     processes to run in; with more than one, call it under if __name__ == "__main__":
    executor    any concurrent.futures.Executor instead
    progress    a bar on stderr, if that is a terminal

    A world is one function drawn from the study's belief, with the noise and the delays of the study. Regret is simple
    regret, or cumulative regret where the study's `regret` says so. The study itself is not changed.

    >>> from belated import Real, Study, compare, simulate
    >>> from belated.delays import Poisson
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    >>> for _ in simulate(study, lambda p: -((p["x"] - 0.7) ** 2), delay=Poisson(4), rounds=20, seed=1):
    ...     pass
    >>> answer = compare(study, algorithms=["GP-BTS"], seeds=2, rounds=8)
    >>> answer.best.algorithm
    'GP-BTS'
    """
    n = _require_within("seeds", seeds, 1, MOST)
    first, crew = _require_within("seed", seed, 0), _require_within("workers", workers, 1)
    asked = None if rounds is None else _require_within("rounds", rounds, 1)
    scale = choose_time_scale(study.settings, patience)
    # before the slow part, so that wrong arguments are refused at once
    wanted = list_candidates(study.settings, patience or [1], algorithms, silences)
    made_of = read_source(study, scale)
    if patience is None:
        waits = [round_patience(made_of.seen.quantile(q), scale) for q in QUANTILES]
        wanted = list_candidates(study.settings, waits, algorithms, silences)
    T, pace = choose_rounds(study, made_of) if asked is None else (asked, 1)
    with count_progress(n * len(wanted), f"{len(wanted)} candidates, {n} seeds", shown=progress) as count:
        worlds = _make_worlds(made_of, range(first, first + n), T, pace, crew, executor)
        jobs = [CandidateJob(world, candidate) for world in worlds for candidate in wanted]
        courses = run_in_parallel(run_candidate, jobs, crew, count, executor)
    simple, cumulative = measure_regrets(worlds, courses, len(wanted))
    measure: RegretKind = study.settings.regret
    return build_result(
        wanted,
        simple,
        cumulative,
        measure,
        _describe_worlds(made_of, scale, T, pace, n),
        _describe_doubts(made_of, T * pace),
    )


def _require_within(what: str, value: object, low: int, high: float = math.inf) -> int:
    count = require_whole(value, what)
    if not low <= count <= high:
        rule = f"at least {low}" if math.isinf(high) else f"from {low} to {high}"
        raise InvalidInput(f"{what} must be {rule} (got {format_value(count)})")
    return count


def choose_rounds(study: Study, made_of: WorldSource) -> tuple[int, int]:
    """As many rounds as the study has, or its delays need, within limits: enough for a result, and not too slow. And
    how many of the study's queries each stands for, where that is not enough for the delays."""
    lasting = MEDIANS * made_of.median
    T = min(max(study.rounds, FEWEST, math.ceil(lasting)), LONGEST)
    Q = made_of.problem.Q
    T = min(T, len(Q)) if study.settings.repeats == "never" and Q is not None else T
    return T, max(1, math.ceil(lasting / T))


class WorldPlan(NamedTuple):
    """What is needed to make one world."""

    made_of: WorldSource
    number: int
    rounds: int
    pace: int


def _make_worlds(
    made_of: WorldSource, numbers: Sequence[int], T: int, pace: int, workers: int, executor: Executor | None
) -> list[World]:
    """One world for each seed; slow with many contexts, because each has its own best query."""
    plans = [WorldPlan(made_of, number, T, pace) for number in numbers]
    many = made_of.contexts is not None
    return run_in_parallel(make_world, plans, workers if many else 1, executor=executor if many else None)


def make_world(plan: WorldPlan) -> World:
    return plan.made_of.world(plan.number, plan.rounds, plan.pace)


def settle_in_world(settings: Settings, world: World) -> Settings:
    """The settings of a candidate with the seed of a world, and patience in rounds of that world."""
    patience = settings.patience
    if not patience.by_clock and math.isfinite(patience.m):
        patience = replace(patience, m=float(max(1, math.ceil(patience.m / world.pace))))
    return replace(settings, seed=world.number, patience=patience)


def run_candidate(job: CandidateJob) -> CandidateRun:
    """One study from its first query to its last."""
    world, settings = job.world, settle_in_world(job.candidate.settings, job.world)
    study = Study(settings, MemoryLedger(), None, SimulatedClock())
    for _ in simulate(
        study,
        world.nature.outcome,
        delay=world.nature,
        rounds=len(world.best),
        seed=world.seed,
        noise=world.noise,
        contexts=world.contexts,
        every=world.every,
    ):
        pass
    return measure_run(study, world)


def measure_run(study: Study, world: World) -> CandidateRun:
    """Regret in v after each round, as in belated.measure_regret, with the same best and worst for all candidates."""
    trials, sign = study.trials(), study.settings.objective.sign
    gap = world.best - sign * np.array([world.nature.value(trial.params, trial.context) for trial in trials])
    used = [trial.status != "late" or study.settings.late == "use" for trial in trials]
    usable = np.array(
        [math.inf if t.known_from is None or not use else t.known_from for t, use in zip(trials, used, strict=True)]
    )
    kind = np.unique([world.kinds.index(each) for each in world.kinds], return_inverse=True)[1]
    simple = world.best - world.worst
    for n in range(1, len(trials) + 1):
        visible = (usable[:n] <= n + 1) & (kind[:n] == kind[n - 1])
        if np.any(visible):
            simple[n - 1] = np.min(gap[:n][visible])
    return CandidateRun(gap, simple)


def measure_regrets(worlds: Sequence[World], courses: Sequence[CandidateRun], k: int) -> tuple[Array, Array]:
    """Simple and cumulative regret (candidates, seeds, rounds), against the best value that was found at all."""
    gaps = np.array([course.gap for course in courses]).reshape(len(worlds), k, -1)
    simple = np.array([course.simple for course in courses]).reshape(gaps.shape)
    for i, world in enumerate(worlds):
        for kind in set(world.kinds):
            here = np.array([each == kind for each in world.kinds])
            better = max(0.0, -float(np.min(gaps[i][:, here])))
            gaps[i][:, here] += better
            simple[i][:, here] += better
    return simple.swapaxes(0, 1), np.cumsum(gaps, axis=2).swapaxes(0, 1)


# In words -----------------------------------------------------------------------------------------------------------


def _describe_worlds(made_of: WorldSource, scale: TimeScale, T: int, pace: int, n: int) -> str:
    delay, settings = made_of.seen, made_of.settings
    within = _format_time(delay.quantile(0.5), scale)
    never = "" if delay.comes > 1 - 0.005 else f", {100 * (1 - delay.comes):.0f} % never"
    depend = ", by query or context as they were found to depend on it" if delay.by_input else ""
    each = "" if pace == 1 else f", each for {pace} of the study's so that they last for {MEDIANS} such delays"
    asked = "" if made_of.every is None else f", asked every {_format_time(made_of.every * pace, scale)}"
    meaning = (
        "what never comes is merely missing"
        if made_of.v is None
        else f"what never comes is worth {made_of.floor:g}, because silence is an outcome to this study"
    )
    contexts = "" if settings.context is None else "contexts drawn from its trials; "
    conversions = delay.report.conversions
    functions = "one function" if n == 1 else f"{n} functions"
    heard = f"{made_of.told} {'conversions' if conversions else 'outcomes'}"
    noise = "" if conversions else f"noise {made_of.noise:.2g}; "
    delays = f"delays as it has seen them (half of those that come within {within}{never}){depend}"
    return (
        f"The world: {functions} drawn from what the study believes {'of rates ' if conversions else ''}after {heard}; "
        f"{noise}{T} rounds{asked}{each}; {contexts}{delays}; {meaning}."
    )


def _describe_doubts(made_of: WorldSource, lasting: int) -> str:
    heard, doubts = made_of.seen.report.heard, []
    if heard < ENOUGH:
        doubts.append(f"Only {heard} of its outcomes came with a delay: that is little to simulate delays from.")
    if lasting < made_of.median:
        doubts.append("These rounds end before half of the outcomes can come: leave their number out.")
    return " ".join(doubts)


def _format_time(t: float, scale: TimeScale) -> str:
    wait = round_patience(t, scale)
    return wait if isinstance(wait, str) else f"{wait} round{'' if wait == 1 else 's'}"
