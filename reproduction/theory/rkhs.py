"""A world in which everything that the theorems suppose is true and known.

Q      POINTS equally spaced points of [0, 1]
k      SE with lengthscale LENGTHSCALE, so that k(x, x) = 1
f      Σ_i a_i k(c_i, ·) with c_i ∈ Q and a_i ≥ 0, so that f ≥ 0 and ‖f‖_k = B_f = sqrt(aᵀ k(c, c) a), exactly
y_s    f(x_s) + uniform noise on [-R, R], which is R-sub-Gaussian
B_y    1: f is scaled so that max f = 1 - R, hence |y_s| ≤ 1
floor  0
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from belated.learner.algorithms import Algorithm, Move, paper
from belated.learner.arrays import Array
from belated.learner.belief import ChoiceBelief
from belated.learner.confidence import Theory
from belated.learner.delays.distributions import Delay
from belated.learner.gp.kernels import SE
from belated.learner.policies import Policy, Surface
from belated.simulation.regret import measure_regret
from belated.simulation.simulate import simulate
from belated.space.points import Points
from belated.study import Study

POINTS, LENGTHSCALE, CENTRES = 50, 0.15, 4
R, B_Y = 0.1, 1.0
KERNEL = SE(LENGTHSCALE)
Q = np.linspace(0.0, 1.0, POINTS)
WORLD = 2**32  # added to a seed: where a study draws its queries, the world must not draw its delays


@dataclass(frozen=True, eq=False)
class KnownFunction:
    """f on Q, and its norm."""

    f: Array
    B_f: float

    @property
    def best(self) -> float:
        return float(np.max(self.f))

    @property
    def gap(self) -> float:
        """The most that one query can cost: T times that is the most that any regret can be."""
        return float(np.ptp(self.f))

    def make_theory(self, delta: float, T: int | None) -> Theory:
        """What the theorems ask for, with γ as they have it: the maximum over Q. T None: by doubling."""
        return Theory(B_f=self.B_f, R=R, delta=delta, horizon=T, gain="greedy")


def draw_function(seed: int) -> KnownFunction:
    """The function of a seed."""
    rng = _make_generator(seed, 1)
    c, a = Q[rng.integers(POINTS, size=CENTRES), None], rng.exponential(size=CENTRES)
    f = KERNEL(Q[:, None], c) @ a
    scale = (B_Y - R) / float(np.max(f))
    return KnownFunction(scale * f, scale * math.sqrt(a @ KERNEL(c, c) @ a))


def _make_generator(seed: int, purpose: int) -> Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose,)))


class RoundBelief(NamedTuple):
    """What query t was chosen by: μ_{t-1} and σ_{t-1} on Q, and ν_t."""

    mean: Array
    std: Array
    nu: float


@dataclass(frozen=True)
class RecordingPolicy:
    """A policy that writes down what it is given."""

    policy: Policy
    rounds: list[RoundBelief] = field(default_factory=list)

    def scores(self, belief: ChoiceBelief, Q: Array, nu: float, rng: Generator) -> Array:
        self.rounds.append(RoundBelief(*belief.posterior.mean_and_std(Q), nu))
        return self.policy.scores(belief, Q, nu, rng)

    def surface(self, belief: ChoiceBelief, nu: float, rng: Generator) -> Surface:
        return self.policy.surface(belief, nu, rng)


@dataclass(frozen=True, eq=False)
class TheoryRun:
    """A run: what every choice was made by, which point of Q it was, its delay, and the regret so far."""

    rounds: list[RoundBelief]
    chosen: NDArray[np.intp]  # positions in Q            (T,)
    delays: Array  # inf where the run ended before       (T,)
    cumulative: Array  # ℜ_1 … ℜ_T                        (T,)

    @property
    def widths(self) -> Array:
        """ν_t σ_{t-1}(x_t), t = 1 … T."""
        return np.array([one.nu * one.std[i] for one, i in zip(self.rounds, self.chosen, strict=True)])


def make_sdf(name: str, beta: float | Theory, T: int) -> Algorithm:
    """One of the SDF pair with the kernel known, and λ = 1 + 2/T whatever β_t is."""
    lam = None if isinstance(beta, Theory) else 1 + 2 / T
    return paper(name, kernel=KERNEL, beta=beta, lam=lam, refit_every=None)


def run_study(
    function: KnownFunction,
    algorithm: Algorithm,
    delay: Delay,
    m: int,
    T: int,
    seed: int,
    policy: Policy | None = None,
) -> TheoryRun:
    """T rounds of a study under these delays, with another policy in the place of its own if one is given."""
    watched = RecordingPolicy(policy or algorithm.moves[0].policy)
    study = Study.create(
        space=Points(Q),
        floor=0.0,
        ceiling=B_Y,
        patience=m,
        algorithm=replace(algorithm, moves=(Move(watched),)),
        seed=seed,
        clock=lambda: 0.0,
    )
    places = {x: i for i, x in enumerate(Q.tolist())}
    noise = _make_generator(seed, 2)

    def value(params: Mapping[str, float]) -> float:
        return float(function.f[places[params["x"]]])

    def noisy(params: Mapping[str, float]) -> float:
        return value(params) + float(noise.uniform(-R, R))  # simulate's own noise is normal, which has no bound

    for _ in simulate(study, noisy, delay=delay, rounds=T, seed=seed + WORLD):
        pass
    trials = study.trials()
    chosen = np.array([places[trial.params["x"]] for trial in trials], dtype=np.intp)
    delays = np.array([math.inf if trial.delay is None else trial.delay for trial in trials])
    return TheoryRun(watched.rounds, chosen, delays, measure_regret(study, value, function.best).cumulative)
