"""The demo: the paper's synthetic problem, its six algorithms and the default on it, and how they compare.

f ~ GP(0, SE with lengthscale 0.02) on equally spaced points of [0, 1], scaled to [0, 1]; a new f for every seed
y_s = f(x_s) + noise · N(0, 1), heard d_s ~ Poisson(10) rounds after query s; m = 20 for algorithms with a patience

All methods meet the same f, noise and delays under the same seed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from belated.comparison.statistics import Summary, summarize, summarize_curves
from belated.execution.parallel import run_in_parallel
from belated.execution.terminal import count_progress
from belated.learner.algorithms import DEFAULT, PAPER
from belated.learner.arrays import Array
from belated.learner.delays.distributions import Poisson
from belated.simulation.regret import measure_regret
from belated.simulation.samples import sample_function
from belated.simulation.simulate import simulate
from belated.space import Points
from belated.study import Study
from belated.wording import format_count, join_words

ENOUGH_SEEDS = 5  # with fewer there is no test of differences
MEANING = {
    "floor": "no news is the worst news",
    "unknown": "it is coming, it is merely late",
    "ignored": "what is not heard is not there",
}


@dataclass(frozen=True, kw_only=True)
class SyntheticProblem:
    """The problem that every method gets."""

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

    @property
    def milestones(self) -> list[int]:
        """The rounds that a table shows: a quarter, a half, all."""
        T = self.rounds
        return sorted({max(1, T // 4), max(1, T // 2), T})

    @property
    def snapshot_round(self) -> int:
        """The round after which a picture shows the belief."""
        return max(1, (2 * self.rounds) // 5)


@dataclass(frozen=True)
class Method:
    """An algorithm, and what silence means to it."""

    algorithm: str
    silence: str

    @property
    def label(self) -> str:
        """The algorithm's name; for the default also its silence."""
        return self.algorithm if self.algorithm in PAPER else f"{self.algorithm} ({self.silence})"

    def create_study(self, problem: SyntheticProblem, seed: int) -> Study:
        algorithm = PAPER.get(self.algorithm, DEFAULT)
        return Study.create(
            space=Points(problem.x),
            floor=0.0,
            ceiling=1.0,
            silence=self.silence,
            patience=None if algorithm.implied.patience == "none" else problem.patience,
            algorithm=self.algorithm,
            seed=seed,
        )


METHODS = (
    *(Method(name, silence.name) for name, known in PAPER.items() if (silence := known.implied.silence) is not None),
    Method("default", "floor"),
    Method("default", "unknown"),
)


# One run --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MethodRun:
    """One method on the function of one seed."""

    problem: SyntheticProblem
    method: Method
    seed: int
    snapshot_after: int | None = None  # the round after which to look at its belief


@dataclass(frozen=True, eq=False)
class BeliefSnapshot:
    """A study's belief about f in the middle of a run, right after query `number` was asked."""

    number: int
    mean: Array  # one per point of the problem
    std: Array
    heard: Array  # rows (x_s, y_s)
    pending: Array  # rows (x_s, the fill of y_s by the silence)


@dataclass(frozen=True, eq=False)
class RunResult:
    """The result of a run."""

    simple: Array  # regret, one per round
    cumulative: Array
    cpu: float  # seconds per ask, fits and tells included
    snapshot: BeliefSnapshot | None


def run_method(run: MethodRun) -> RunResult:
    """One study from the first query to the last."""
    problem = run.problem
    values: dict[float, float] = dict(zip(problem.x.tolist(), problem.f(run.seed).tolist(), strict=True))

    def f(params: Mapping[str, float]) -> float:
        return values[params["x"]]

    study = run.method.create_study(problem, seed=run.seed)
    delay = Poisson(problem.mean_delay)
    snapshot, spent = None, 0.0
    # Its own seed: the noise must not use the same random numbers as the study's queries.
    rounds = simulate(study, f, delay=delay, rounds=problem.rounds, seed=run.seed + 2**32, noise=problem.noise)
    since = time.process_time()
    for trial in rounds:
        spent += time.process_time() - since
        if trial.number == run.snapshot_after:
            snapshot = take_snapshot(study, problem, trial.number)
        since = time.process_time()
    gaps = measure_regret(study, f)
    return RunResult(gaps.simple, gaps.cumulative, spent / problem.rounds, snapshot)


def take_snapshot(study: Study, problem: SyntheticProblem, number: int) -> BeliefSnapshot:
    """The belief of a study now. A pending outcome counts as the floor, or else as the mean of the belief there."""
    belief = study.posterior([{"x": x} for x in problem.x.tolist()])
    trials = study.trials()
    heard = [(trial.params["x"], trial.outcome) for trial in trials if trial.status == "heard"]
    pending = np.array([trial.params["x"] for trial in trials if trial.status == "pending"])
    on_floor = study.settings.silence.fills == "floor"
    value = np.zeros(len(pending)) if on_floor else np.interp(pending, problem.x, belief.mean)
    rows = np.array(heard, dtype=float).reshape(-1, 2)
    return BeliefSnapshot(number, belief.mean, belief.std, rows, np.column_stack([pending, value]))


# All runs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MethodResult:
    """One method over all seeds."""

    method: Method
    runs: Array  # simple regret (seeds, rounds)
    simple: Summary[Array]  # one per round
    cumulative: Summary[Array]
    cpu: float  # seconds per ask: the median over seeds, so that a slow first run does not count
    snapshot: BeliefSnapshot | None  # of the default under the first seed


@dataclass(frozen=True, eq=False)
class DemoResult:
    """Every method under every seed."""

    problem: SyntheticProblem
    seeds: tuple[int, ...]
    methods: tuple[MethodResult, ...]

    @property
    def conclusion(self) -> str:
        """What the numbers say. Differences are paired: every method had the same seeds."""
        best = min(self.methods, key=lambda m: float(m.simple.mean[-1]))
        cheapest = min(self.methods, key=lambda m: float(m.cumulative.mean[-1]))
        when = f"After {format_count(self.problem.rounds, 'round')} ({describe_seeds(len(self.seeds))})"
        first = f"{when} {best.method.label} has the least simple regret, {best.simple.mean[-1]:.4f}"
        others = [m for m in self.methods if m is not best]
        if len(self.seeds) < ENOUGH_SEEDS:
            second = "; these are too few seeds to tell the others from it."
        else:
            behind = [m.method.label for m in others if _is_behind(m, best)]
            rest = [m.method.label for m in others if not _is_behind(m, best)]
            worse = f"Behind it by more than two standard errors of the paired difference: {join_words(behind)}"
            second = f". {worse}; not told apart from it: {join_words(rest)}."
        least = f"{cheapest.method.label}, {cheapest.cumulative.mean[-1]:.1f}"
        return f"{first}{second} Least cumulative regret: {least}."

    def to_dict(self) -> dict[str, Any]:
        """Everything measured, as plain values; the standard error of a single seed is None."""
        return {
            "task": asdict(self.problem),
            "seeds": list(self.seeds),
            "algorithms": [
                {
                    "algorithm": m.method.algorithm,
                    "silence": m.method.silence,
                    "simple_regret": _summary_to_dict(m.simple),
                    "cumulative_regret": _summary_to_dict(m.cumulative),
                    "cpu_seconds_per_ask": m.cpu,
                }
                for m in self.methods
            ],
            "seen": self.conclusion,
        }


def _is_behind(one: MethodResult, best: MethodResult) -> bool:
    difference = summarize(one.runs[:, -1] - best.runs[:, -1])
    return difference.mean > 2.0 * difference.error


def _summary_to_dict(summary: Summary[Array]) -> dict[str, list[float | None]]:
    def list_numbers(values: Array) -> list[float | None]:
        return [None if math.isnan(value) else value for value in values.tolist()]

    return {"mean": list_numbers(summary.mean), "standard_error": list_numbers(summary.error)}


def describe_seeds(seeds: int) -> str:
    return "one seed" if seeds == 1 else f"mean of {seeds} seeds"


def run_demo(
    problem: SyntheticProblem,
    seeds: Sequence[int],
    workers: int = 1,
    *,
    methods: Sequence[Method] = METHODS,
    progress: bool = False,
) -> DemoResult:
    """Run every method under every seed.

    workers   processes to run in
    progress  a bar on stderr, if that is a terminal
    """

    def plan_run(seed: int, method: Method) -> MethodRun:
        drawn = seed == seeds[0] and method.algorithm == "default"
        return MethodRun(problem, method, seed, problem.snapshot_round if drawn else None)

    runs = [plan_run(seed, method) for seed in seeds for method in methods]
    note = f"{len(methods)} algorithms, {format_count(len(seeds), 'seed')}"
    with count_progress(len(runs), note, shown=progress) as count:
        results = run_in_parallel(run_method, runs, workers, count)
    by_method = [_gather_method(method, results[i :: len(methods)]) for i, method in enumerate(methods)]
    return DemoResult(problem, tuple(seeds), tuple(by_method))


def _gather_method(method: Method, runs: Sequence[RunResult]) -> MethodResult:
    simple = np.array([run.simple for run in runs])
    return MethodResult(
        method,
        simple,
        summarize_curves(simple),
        summarize_curves(np.array([run.cumulative for run in runs])),
        float(np.median([run.cpu for run in runs])),
        runs[0].snapshot,
    )
