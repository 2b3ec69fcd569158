"""One run of a panel: a study in a ledger, asked by one algorithm in a world of one seed.

A study is found again by panel, curve, reading and seed, so nothing is computed twice: a run that was interrupted, or
was shorter, goes on where it ended. Function, noise, delays and initial points of a seed are the same for all curves.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from belated.errors import InvalidInput
from belated.execution.evaluate import ObjectiveFunction
from belated.learner.algorithms import Algorithm, find_algorithm, paper
from belated.simulation.clock import SimulatedClock
from belated.simulation.regret import measure_regret
from belated.simulation.simulate import simulate
from belated.simulation.task import Task
from belated.study import Study
from belated.validation import Params
from reproduction.curves import CurveKey, CurveRun
from reproduction.objectives.caching import cache_values
from reproduction.panels import ALL_PANELS, INITIAL, Panel, PanelCurve
from reproduction.released_program import make_chooser
from reproduction.run_costs import RunCost

WORLD = 2**32  # added to a seed: where a study draws its queries, the world must not draw its noise
BY_HAND = 10**6  # initial queries of a study that another program asks: it never has to fit anything


@dataclass(frozen=True, kw_only=True)
class RunJob:
    """What to run, and how far."""

    panel: str
    curve: str
    reading: str
    seed: int
    iterations: int

    @property
    def key(self) -> CurveKey:
        """The line that it belongs to."""
        return CurveKey(self.panel, self.curve, self.reading)

    @property
    def name(self) -> str:
        """Of its study."""
        return f"{'.'.join(self.key)}.{self.seed}"

    @property
    def rounds(self) -> int:
        return ALL_PANELS[self.panel].before + self.iterations


class RunResult(NamedTuple):
    """What came of a job: its curve, and the CPU seconds that it took now."""

    run: CurveRun
    cost: RunCost


class TimedObjective:
    """An objective that knows how long it took."""

    def __init__(self, f: ObjectiveFunction) -> None:
        self.f, self.seconds = f, 0.0

    def __call__(self, *inputs: Params) -> float:
        since = time.process_time()
        try:
            return self.f(*inputs)
        finally:
            self.seconds += time.process_time() - since


def list_jobs(panels: Iterable[Panel], runs: int | None, readings: Sequence[str], quick: bool) -> list[RunJob]:
    """Every run of these panels, the longest first, so that no core waits for one at the end.

    runs   of each curve; None: as many as the panel says"""
    made = [
        RunJob(
            panel=panel.name,
            curve=curve.key,
            reading=reading,
            seed=seed,
            iterations=panel.quick if quick else panel.iterations,
        )
        for panel in panels
        for reading in panel.readings
        if reading in readings
        for seed in range(panel.runs[reading] if runs is None else runs)
        for curve in panel.curves
    ]
    return sorted(made, key=lambda job: -job.rounds)


def open_study(job: RunJob, task: Task, url: str | None, algorithm: Algorithm | None = None) -> Study:
    """The study of a run, new or as far as it has come; with another algorithm than the curve's if one is given."""
    curve = ALL_PANELS[job.panel].find_curve(job.curve)
    return Study.create(
        url,
        job.name,
        space=task.space,
        context=task.context,
        goal=task.goal,
        floor=task.floor,
        ceiling=task.ceiling,
        silence=curve.silence,
        patience=curve.patience,
        algorithm=algorithm or _find_algorithm(curve, job.reading),
        initial=BY_HAND if job.reading == "released" else INITIAL,
        seed=job.seed,
        clock=SimulatedClock(),
    )


def _find_algorithm(curve: PanelCurve, reading: str) -> Algorithm:
    """What a curve runs: one of the paper's six as the reading says, or the default."""
    if reading == "heard":
        return paper(curve.algorithm, fitted_to="heard")
    return find_algorithm(curve.algorithm)


def run_job(url: str | None, job: RunJob) -> RunResult:
    """Carry out a run to its end, or the rest of it."""
    since = time.process_time()
    panel = ALL_PANELS[job.panel]
    task = panel.task(job.seed)
    timed = TimedObjective(task.f)
    f = cache_values(timed)
    study = open_study(job, task, url)
    asked = finish_study(job, study, task, f)
    run = measure_curve(job, study, task, f)
    spent = time.process_time() - since
    cost = RunCost(job.panel, job.curve, job.reading, job.seed, asked, spent - timed.seconds, timed.seconds)
    return RunResult(run, cost)


def finish_study(job: RunJob, study: Study, task: Task, f: ObjectiveFunction) -> int:
    """Ask and tell in the world of a run until it is at its end; how many queries that took."""
    panel = ALL_PANELS[job.panel]
    delay = panel.find_curve(job.curve).delay or task.delay
    if delay is None:
        raise InvalidInput(f"{job.name} has no delays")
    world = simulate(
        study,
        f,
        delay=delay,
        rounds=max(0, job.rounds - study.rounds),
        seed=job.seed + WORLD,
        noise=task.noise,
        contexts=task.context_of,
        choose=_choose_as_released(study, task) if job.reading == "released" else None,
        **panel.pace,
    )
    return sum(1 for _ in world)


def _choose_as_released(study: Study, task: Task) -> Callable[[Study], Params]:
    """The authors' program in the place of our algorithm of the same name."""
    m, name = study.settings.patience.m, study.settings.algorithm.name
    return make_chooser(study, name, None if math.isinf(m) else int(m), study.seed, task.context_of)


def measure_curve(job: RunJob, study: Study, task: Task, f: ObjectiveFunction) -> CurveRun:
    """The regret of a study, at the iterations that the panel shows."""
    panel = ALL_PANELS[job.panel]
    measured = measure_regret(study, f, task.best)
    iterations = np.arange(1, job.iterations + 1)
    shown = iterations[(iterations % panel.every == 0) | (iterations == 1) | (iterations == job.iterations)]
    rows = panel.before + shown - 1
    return CurveRun(
        key=job.key,
        seed=job.seed,
        iterations=shown,
        simple=measured.simple[rows],
        late=measured.late[rows],
        cumulative=measured.cumulative[rows],
    )
