"""One entrant on one public task for one seed.

The first queries are the same space-filling ones for all, and so are f, the contexts, and the noise and the delay of
query s (a delay that depends on the query: the same draw from the law at that query). Whatever comes is told at once.

simple      the best of f minus the best f(x_s) among the outcomes heard before query T + 1 would be asked; nan where a
            context changes from round to round. f without noise; the whole range while nothing is heard.
cumulative  Σ_s best(z_s) - f(x_s, z_s) over all T queries, the first ones included
cpu         seconds of CPU per ask after the first queries, with all that the entrant computes when it is told
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from belated import Study, Trial, simulate
from belated.learner.arrays import Array
from belated.learner.gp.domain import Compact
from belated.simulation.simulate import Chooser, evaluate_exactly
from belated.simulation.task import Task
from belated.space.encoding import Space
from benchmarks.regret.entrants import OURS, Entrant, entrant
from benchmarks.regret.tasks import BEDS, drawn_task

LONGEST = 256  # points of the space-filling sequence; a power of two, as Sobol's sequence wants
NEVER = 10**9  # space-filling queries of a study that only keeps a peer's trials: its own choice is never used


@dataclass(frozen=True)
class Job:
    """Who runs where."""

    task: str
    entrant: str
    seed: int
    rounds: int


@dataclass(frozen=True)
class Run:
    """What came of it."""

    job: Job
    simple: float
    simple_half: float  # the same after half of the rounds
    cumulative: float
    cpu: float
    failures: int  # asks for which a peer raised; a space-filling query was asked instead
    note: str  # the first of those errors


def beginnings(task: Task) -> int:
    """How many space-filling queries everyone begins with: two per parameter, and two."""
    return 2 * len(Space.of(task.space).names) + 2


@cache
def _sequence(d: int, seed: int) -> Array:
    from scipy.stats.qmc import Sobol

    return np.asarray(Sobol(d, rng=np.random.default_rng([seed, d])).random(LONGEST), dtype=float)


def space_filling(task: Task, seed: int, i: int) -> dict[str, Any]:
    """Point i (from 0) of the seed's scrambled Sobol sequence over the space."""
    space = Space.of(task.space)
    assert isinstance(space.domain, Compact), "the public tasks have named parameters"
    U = _sequence(len(space.names), seed)[i % LONGEST]
    return space.decode(space.domain.place(U[None])[0])


@dataclass
class Guarded:
    """A peer's chooser; when it raises, a space-filling query is asked, and counted."""

    chooser: Chooser
    task: Task
    seed: int
    failures: int = 0
    note: str = ""

    def __call__(self, study: Study) -> Any:
        try:
            return self.chooser(study)
        except Exception as error:  # whatever a peer raises: one run must not end them all
            self.failures += 1
            self.note = self.note or f"{type(error).__name__}: {error}".splitlines()[0][:100]
            return space_filling(self.task, self.seed, study.rounds)


def run(job: Job) -> Run:
    """A whole run."""
    return played(job, entrant(job.entrant))[0]


def played(job: Job, who: Entrant) -> tuple[Run, Study]:
    """A whole run, and the study it left behind."""
    bed, task = BEDS[job.task], drawn_task(job.task, job.seed)
    assert task.delay is not None
    first = beginnings(task)
    says: dict[str, Any] = {"delay": task.delay, "noise": task.noise, "seed": job.seed, "contexts": task.context_of}
    guarded: Guarded | None = None
    module = who.load()
    if who.file.name == OURS:
        study = module.study(who.name, task, bed.patience, bed.counts, first, job.seed)
    else:
        counts = (bed.counts,) if who.own else ()
        guarded = Guarded(module.chooser(task, job.seed, *counts), task, job.seed)
        plain: dict[str, Any] = {"space": task.space, "context": task.context, "initial": NEVER, "seed": job.seed}
        study = Study.create(silence="ignored", **plain)
    opening: Chooser = lambda study: space_filling(task, job.seed, study.rounds)  # noqa: E731
    for _ in simulate(study, task.f, rounds=min(first, job.rounds), choose=opening, **says):
        pass
    left, began = max(job.rounds - first, 0), time.process_time()
    for _ in simulate(study, task.f, rounds=left, choose=guarded, **says):
        pass
    spent = time.process_time() - began
    trials = study.trials()
    return Run(
        job,
        simple=simple_regret(task, trials, job.rounds),
        simple_half=simple_regret(task, trials, job.rounds // 2),
        cumulative=float(np.sum([gap(task, trial) for trial in trials])),
        cpu=spent / max(left, 1),
        failures=guarded.failures if guarded else 0,
        note=guarded.note if guarded else "",
    ), study


def gap(task: Task, trial: Trial) -> float:
    """best(z_s) - f(x_s, z_s)."""
    best = task.best(trial.context or {}) if callable(task.best) else task.best
    assert best is not None
    return best - evaluate_exactly(task.f, trial.params, trial.context)


def simple_regret(task: Task, trials: Sequence[Trial], n: int) -> float:
    """Simple regret after n rounds: of the outcomes that choice n + 1 could know."""
    if task.context is not None:
        return math.nan
    heard = [gap(task, t) for t in trials if t.known_from is not None and t.known_from <= n + 1]
    return min(heard, default=task.ceiling - task.floor)
