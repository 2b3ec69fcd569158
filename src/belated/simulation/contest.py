"""The synthetic problem of the paper, and several algorithms at it: the same f, noise and delays for all, seed by seed.

f ~ GP(0, SE with lengthscale 0.02) on equally spaced points of [0, 1], normalised to [0, 1]; a new one for every seed
y_s = f(x_s) + noise · N(0, 1), heard d_s ~ Poisson(10) rounds after query s; m = 20 for those who know a patience
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from belated.execution.parallel import in_parallel
from belated.learner.algorithms import DEFAULT, PAPER
from belated.learner.arrays import Array
from belated.learner.delays.distributions import Poisson
from belated.simulation.regret import regret
from belated.simulation.samples import sample_function
from belated.simulation.simulate import simulate
from belated.space import Points
from belated.study import Study
from belated.wording import format_count, join_words

FEWEST = 5  # seeds from which on differences are spoken of


@dataclass(frozen=True, kw_only=True)
class SyntheticProblem:
    """What every algorithm is given."""

    points: int = 1000
    lengthscale: float = 0.02
    mean_delay: float = 10.0
    patience: int = 20  # m
    noise: float = 0.01
    rounds: int = 100

    @property
    def x(self) -> Array:
        return np.linspace(0.0, 1.0, self.points)

    def f(self, seed: int) -> Array:
        """The function of a seed, one value per point."""
        return sample_function(seed, self.points, self.lengthscale)[1]


@dataclass(frozen=True)
class Method:
    """An algorithm with a meaning of silence."""

    algorithm: str
    silence: str

    @property
    def label(self) -> str:
        """Its name; the default goes by what silence means to it, too."""
        return self.algorithm if self.algorithm in PAPER else f"{self.algorithm} ({self.silence})"

    def study(self, task: SyntheticProblem, seed: int) -> Study:
        known = PAPER.get(self.algorithm, DEFAULT)
        return Study.create(
            space=Points(task.x),
            floor=0.0,
            ceiling=1.0,
            silence=self.silence,
            patience=None if known.patience is False else task.patience,
            algorithm=self.algorithm,
            seed=seed,
        )


METHODS = (
    *(Method(name, str(known.silence.spec()["silence"])) for name, known in PAPER.items() if known.silence is not None),
    Method("default", "floor"),
    Method("default", "unknown"),
)


@dataclass(frozen=True, eq=False)
class BeliefSnapshot:
    """A study's belief about f in mid-run, right after query `number` was asked."""

    number: int
    mean: Array  # one per point of the task
    std: Array
    heard: Array  # rows (x_s, y_s)
    pending: Array  # rows (x_s, what silence makes of y_s)


@dataclass(frozen=True)
class MethodRun:
    """One entrant on the f of one seed; `pause`: the query after which to look at its belief."""

    task: SyntheticProblem
    entrant: Method
    seed: int
    pause: int | None = None


@dataclass(frozen=True, eq=False)
class RunResult:
    """What came of a race."""

    simple: Array  # one per round
    cumulative: Array
    cpu: float  # seconds per ask, fits and tells included
    moment: BeliefSnapshot | None


def run_method(race: MethodRun) -> RunResult:
    """One study from the first query to the last."""
    task = race.task
    values: dict[float, float] = dict(zip(task.x.tolist(), task.f(race.seed).tolist(), strict=True))

    def f(params: Mapping[str, float]) -> float:
        return values[params["x"]]

    study = race.entrant.study(task, seed=race.seed)
    delay = Poisson(task.mean_delay)
    moment, spent = None, 0.0
    # A seed of its own: where the study draws its queries, the world must not draw its noise.
    rounds = simulate(study, f, delay=delay, rounds=task.rounds, seed=race.seed + 2**32, noise=task.noise)
    since = time.process_time()
    for trial in rounds:
        spent += time.process_time() - since
        if trial.number == race.pause:
            moment = take_snapshot(study, task, trial.number)
        since = time.process_time()
    gaps = regret(study, f)
    return RunResult(gaps.simple, gaps.cumulative, spent / task.rounds, moment)


def take_snapshot(study: Study, task: SyntheticProblem, number: int) -> BeliefSnapshot:
    """The belief of a study now. A pending outcome counts as the floor or, when unknown, as the belief's mean there."""
    mean, std = study.posterior([{"x": x} for x in task.x.tolist()])
    trials = study.trials()
    heard = [(trial.params["x"], trial.outcome) for trial in trials if trial.status == "heard"]
    waiting = np.array([trial.params["x"] for trial in trials if trial.status == "pending"])
    fill = study.settings.silence.spec()["silence"]
    value = np.zeros(len(waiting)) if fill == "floor" else np.interp(waiting, task.x, mean)
    return BeliefSnapshot(
        number, mean, std, np.array(heard, dtype=float).reshape(-1, 2), np.column_stack([waiting, value])
    )


@dataclass(frozen=True, eq=False)
class Summary:
    """The mean over seeds with its standard error (NaN for a single seed)."""

    mean: Array
    error: Array

    @classmethod
    def of(cls, runs: Array) -> Summary:
        """runs (seeds, rounds) -> one entry per round."""
        n = len(runs)
        error = runs.std(axis=0, ddof=1) / math.sqrt(n) if n > 1 else np.full(runs.shape[1:], np.nan)
        return cls(runs.mean(axis=0), error)


@dataclass(frozen=True, eq=False)
class MethodResult:
    """Everything about one entrant."""

    entrant: Method
    runs: Array  # simple regret (seeds, rounds)
    simple: Summary
    cumulative: Summary
    cpu: float  # seconds per ask: the median over seeds, which the first ask of a fresh interpreter does not move
    moment: BeliefSnapshot | None


@dataclass(frozen=True, eq=False)
class DemoResult:
    """Every entrant on every seed."""

    task: SyntheticProblem
    seeds: tuple[int, ...]
    standings: tuple[MethodResult, ...]

    @property
    def milestones(self) -> list[int]:
        """The rounds that a table shows: a quarter, a half, all."""
        T = self.task.rounds
        return sorted({max(1, T // 4), max(1, T // 2), T})

    def seen(self) -> str:
        """What the numbers say, and no more: paired differences, because every entrant had the same seeds."""
        best = min(self.standings, key=lambda s: float(s.simple.mean[-1]))
        cheap = min(self.standings, key=lambda s: float(s.cumulative.mean[-1]))
        over = f"After {format_count(self.task.rounds, 'round')} ({describe_seeds(len(self.seeds))})"
        first = f"{over} {best.entrant.label} has the least simple regret, {best.simple.mean[-1]:.4f}"
        others = [s for s in self.standings if s is not best]
        if len(self.seeds) < FEWEST:
            second = "; these are too few seeds to tell the others from it."
        else:
            behind = [s.entrant.label for s in others if self._behind(s, best)]
            rest = [s.entrant.label for s in others if not self._behind(s, best)]
            worse = f"Behind it by more than two standard errors of the paired difference: {join_words(behind)}"
            second = f". {worse}; not told apart from it: {join_words(rest)}."
        return f"{first}{second} Least cumulative regret: {cheap.entrant.label}, {cheap.cumulative.mean[-1]:.1f}."

    def _behind(self, one: MethodResult, best: MethodResult) -> bool:
        difference = Summary.of(one.runs[:, -1:] - best.runs[:, -1:])
        return bool(difference.mean[0] > 2.0 * difference.error[0])

    def plain(self) -> dict[str, Any]:
        """Everything measured, as plain values; a standard error over one seed is None."""

        def numbers(values: Array) -> list[float | None]:
            return [None if math.isnan(value) else value for value in values.tolist()]

        return {
            "task": asdict(self.task),
            "seeds": list(self.seeds),
            "algorithms": [
                {
                    "algorithm": s.entrant.algorithm,
                    "silence": s.entrant.silence,
                    "simple_regret": {"mean": numbers(s.simple.mean), "standard_error": numbers(s.simple.error)},
                    "cumulative_regret": {
                        "mean": numbers(s.cumulative.mean),
                        "standard_error": numbers(s.cumulative.error),
                    },
                    "cpu_seconds_per_ask": s.cpu,
                }
                for s in self.standings
            ],
            "seen": self.seen(),
        }


def describe_seeds(seeds: int) -> str:
    return "one seed" if seeds == 1 else f"mean of {seeds} seeds"


def run_demo(
    task: SyntheticProblem,
    seeds: Sequence[int],
    workers: int,
    done: Callable[[], None] = lambda: None,
    entrants: Sequence[Method] = METHODS,
) -> DemoResult:
    """Run everyone on every seed; `done` is called after each race. The default's beliefs on the first are kept."""

    def race(seed: int, entrant: Method) -> MethodRun:
        shown = seed == seeds[0] and entrant.algorithm == "default"
        return MethodRun(task, entrant, seed, pause_of(task) if shown else None)

    races = [race(seed, entrant) for seed in seeds for entrant in entrants]
    courses = in_parallel(run_method, races, workers, lambda course: done())
    standings = []
    for i, entrant in enumerate(entrants):
        own = courses[i :: len(entrants)]
        simple = np.array([course.simple for course in own])
        standings.append(
            MethodResult(
                entrant,
                simple,
                Summary.of(simple),
                Summary.of(np.array([course.cumulative for course in own])),
                float(np.median([course.cpu for course in own])),
                own[0].moment,
            )
        )
    return DemoResult(task, tuple(seeds), tuple(standings))


def pause_of(task: SyntheticProblem) -> int:
    """The query after which a picture shows the belief."""
    return max(1, (2 * task.rounds) // 5)
