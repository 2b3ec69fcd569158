"""One run of a panel: a study in a ledger, asked by one algorithm in a world of one seed.

A study is found again by panel, curve, reading and seed, so nothing is computed twice: a run that was interrupted, or
was shorter, goes on where it ended. Function, noise, delays and initial points of a seed are the same for all curves.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from belated.errors import InvalidInput
from belated.execution.evaluate import Objective
from belated.execution.parallel import in_parallel
from belated.simulation.clock import SimulatedClock
from belated.simulation.regret import regret
from belated.simulation.simulate import simulate
from belated.simulation.task import Task, remembered
from belated.study import Study
from belated.validation import Params
from reproduction import curves as files
from reproduction.curves import Cost, Curves, Key, Run, Series, gathered
from reproduction.panels import BEYOND, INITIAL, PANELS, Panel
from reproduction.released import chooser

WORLD = 2**32  # added to a seed: where a study draws its queries, the world must not draw its noise
BY_HAND = 10**6  # initial queries of a study that another program asks: it never has to fit anything
EVERY_PANEL = {**PANELS, **BEYOND}
COSTS = "costs.csv"


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to run, and how far."""

    panel: str
    curve: str
    reading: str
    seed: int
    iterations: int

    @property
    def key(self) -> Key:
        """The line that it belongs to."""
        return Key(self.panel, self.curve, self.reading)

    @property
    def name(self) -> str:
        """Of its study."""
        return f"{'.'.join(self.key)}.{self.seed}"

    @property
    def rounds(self) -> int:
        return EVERY_PANEL[self.panel].before + self.iterations


class Done(NamedTuple):
    """What came of a job: its curve, and the CPU seconds that it took now."""

    run: Run
    cost: Cost


class Timed:
    """An objective that knows how long it took."""

    def __init__(self, f: Objective) -> None:
        self.f, self.seconds = f, 0.0

    def __call__(self, *inputs: Params) -> float:
        since = time.process_time()
        try:
            return self.f(*inputs)
        finally:
            self.seconds += time.process_time() - since


def jobs(panels: Iterable[Panel], seeds: Sequence[int], readings: Sequence[str], quick: bool) -> list[Job]:
    """Every run of these panels, the longest first, so that no core waits for one at the end."""
    made = [
        Job(
            panel=panel.name,
            curve=curve.key,
            reading=reading,
            seed=seed,
            iterations=panel.quick if quick else panel.iterations,
        )
        for panel in panels
        for reading in panel.readings
        if reading in readings
        for seed in seeds
        for curve in panel.curves
    ]
    return sorted(made, key=lambda job: -job.rounds)


def study_of(job: Job, task: Task, url: str | None) -> Study:
    """The study of a run, new or as far as it has come."""
    curve = EVERY_PANEL[job.panel].curve(job.curve)
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
        algorithm=curve.algorithm,
        initial=INITIAL if job.reading == "text" else BY_HAND,
        seed=job.seed,
        clock=SimulatedClock(),
    )


def perform(url: str | None, job: Job) -> Done:
    """Carry out a run to its end, or the rest of it."""
    since = time.process_time()
    panel = EVERY_PANEL[job.panel]
    curve, task = panel.curve(job.curve), panel.task(job.seed)
    timed = Timed(task.f)
    f = remembered(timed)
    study = study_of(job, task, url)
    delay = curve.delay or task.delay
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
        choose=_released(study) if job.reading == "released" else None,
        **panel.pace,
    )
    asked = sum(1 for _ in world)
    run = curve_of(job, study, task, f)
    spent = time.process_time() - since
    cost = Cost(job.panel, job.curve, job.reading, job.seed, asked, spent - timed.seconds, timed.seconds)
    return Done(run, cost)


def _released(study: Study) -> Callable[[Study], Params]:
    """The authors' program in the place of our algorithm of the same name."""
    m = study.settings.patience.m
    return chooser(study, study.settings.algorithm.name, None if math.isinf(m) else int(m), study.seed)


def curve_of(job: Job, study: Study, task: Task, f: Objective) -> Run:
    """The regret of a study, at the iterations that the panel shows."""
    panel = EVERY_PANEL[job.panel]
    measured = regret(study, f, task.best)
    iterations = np.arange(1, job.iterations + 1)
    shown = iterations[(iterations % panel.every == 0) | (iterations == 1) | (iterations == job.iterations)]
    rows = panel.before + shown - 1
    return Run(
        key=job.key,
        seed=job.seed,
        iterations=shown,
        simple=measured.simple[rows],
        late=measured.late[rows],
        cumulative=measured.cumulative[rows],
    )


# Many runs, and what is kept of them ----------------------------------------------------------------------------------


def place_of(folder: Path, key: Key, seed: int) -> Path:
    """Where the curve of a run is kept."""
    return folder / "curves" / f"{'.'.join(key)}.{seed}.csv"


def missing(folder: Path, wanted: Iterable[Job]) -> list[Job]:
    """The jobs whose curves are not there yet, or not that far."""
    return [job for job in wanted if _reached(place_of(folder, job.key, job.seed)) < job.iterations]


def _reached(place: Path) -> int:
    """The last iteration of a curve that is kept; 0 when none is."""
    return min((int(line.iterations[-1]) for line in files.read(place).values()), default=0) if place.exists() else 0


def carry_out(
    wanted: Sequence[Job],
    folder: Path,
    url: str,
    workers: int,
    done: Callable[[Done], None],
    executor: Executor | None = None,
) -> None:
    """Do all jobs, and keep every curve and every cost as soon as it is there."""

    def keep(result: Done) -> None:
        run = result.run
        files.write(place_of(folder, run.key, run.seed), gathered([run]))
        files.write_costs(folder / COSTS, [*costs_of(folder), result.cost])
        done(result)

    in_parallel(partial(perform, url), wanted, workers, keep, executor)


def costs_of(folder: Path) -> list[Cost]:
    """What the runs of a folder took; a run that was interrupted has several entries."""
    return files.read_costs(folder / COSTS) if (folder / COSTS).exists() else []


def collected(folder: Path) -> Curves:
    """All curves of a folder; the runs of a line as far as the shortest of them goes."""
    lines: dict[Key, list[Run]] = {}
    for place in sorted((folder / "curves").glob("*.csv")):
        for key, line in files.read(place).items():
            lines.setdefault(key, []).extend(_runs(key, line))
    return gathered(run for runs in lines.values() for run in _as_far_as_the_shortest(runs))


def _runs(key: Key, line: Series) -> Iterator[Run]:
    for i, seed in enumerate(line.seeds):
        yield Run(
            key=key,
            seed=seed,
            iterations=line.iterations,
            simple=line.simple[i],
            late=line.late[i],
            cumulative=line.cumulative[i],
        )


def _as_far_as_the_shortest(runs: Sequence[Run]) -> Iterator[Run]:
    last = min(int(run.iterations[-1]) for run in runs)
    for run in runs:
        kept = run.iterations <= last
        yield replace(
            run,
            iterations=run.iterations[kept],
            simple=run.simple[kept],
            late=run.late[kept],
            cumulative=run.cumulative[kept],
        )
