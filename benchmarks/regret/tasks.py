"""The public tasks: what is optimised, on which space, with which noise, and how late the outcomes come.

    family      task              d      noise    delay, in rounds                        rounds   counts
    rugged      gp1               1      0.01     Poisson(10)                             100      simple
                gp1-noisy         1      0.1      20                                      120      simple
                gp2               2      0.01     geometric, mean 10                      120      simple
    smooth      branin            2      0        10                                      80       simple
                hartmann3-every   3      0.1      Poisson(5)                              80       cumulative
                hartmann6         6      0        Poisson(10)                             100      simple
                hartmann6-crowd   6      0.05     50                                      150      simple
                ackley5           5      0.1      log-normal, median 8, mean 16           100      simple
                rosenbrock4       4      1        Poisson(4 … 28), by x1                  100      simple
    mixed       svm               3      0.01     Poisson(10)                             80       simple
                ackley-mixed      5      0        geometric, mean 10                      100      simple
                network           5      0.02     Poisson(4 … 28), by layers and width    100      simple
    contextual  branin-context    1 + 1  1        Poisson(10)                             100      cumulative
                hartmann-context  3 + 1  0.05     log-normal, median 8, mean 16           120      cumulative
                hartmann-kinds    3 + 1  0.05     geometric, mean 8                       120      cumulative

Each is maximised. Silence means "not yet" in all of them: every outcome comes. Noise is a standard deviation. Where
every query counts, or a context changes from round to round, cumulative regret is what counts; elsewhere simple regret.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np

from belated import Choice, Integer, Real
from belated.learner.arrays import Array
from belated.learner.delays.distributions import ByInput, Fixed, Geometric, LogNormal, Poisson
from belated.simulation.samples import sample_function
from belated.simulation.task import Task
from belated.space.parameters import Parameter
from belated.validation import Params
from benchmarks.regret import functions as fn

Family = Literal["rugged", "smooth", "mixed", "contextual"]
CONTEXT = 3  # what a stream is for, beside the world's noise (1) and delays (2)
HEAVY = LogNormal(8.0, 1.2)


@dataclass(frozen=True, kw_only=True, eq=False)
class Bed:
    """A public task: what it draws for a seed, how long it lasts, and which regret counts."""

    name: str
    family: Family
    task: Callable[[int], Task]  # with its noise, its delays, and the contexts of that seed
    rounds: int
    patience: int  # for those who need one: generous, 3 to 5 times the mean delay
    counts: Literal["simple", "cumulative"] = "simple"
    quick: bool = False  # whether a quick run has it


def unit(d: int, low: float = 0.0, high: float = 1.0) -> dict[str, Parameter]:
    return {f"x{i}": Real(low, high) for i in range(1, d + 1)}


def row(params: Params) -> Array:
    return np.array([params[name] for name in sorted(params)], dtype=float)


# Rugged --------------------------------------------------------------------------------------------------------------


def gp1(seed: int) -> Task:
    """The paper's sample (lengthscale 0.02) on 1000 points of a line, counted from 0, so that everyone has integers."""
    values = sample_function(seed)[1]
    return Task(
        space={"point": Integer(0, len(values) - 1)},
        f=lambda params: float(values[params["point"]]),
        best=1.0,
        noise=0.01,
        delay=Poisson(10),
    )


def gp1_noisy(seed: int) -> Task:
    return replace(gp1(seed + 1000), noise=0.1, delay=Fixed(20))


def gp2(seed: int) -> Task:
    """A GP sample with lengthscale 0.08 on the unit square."""
    f = fn.sample(seed, 2, 0.08)
    return Task(space=unit(2), f=lambda params: f(row(params)), best=1.0, noise=0.01, delay=Geometric(0.1))


# Smooth --------------------------------------------------------------------------------------------------------------


def branin(seed: int) -> Task:
    return Task(
        space={"x1": Real(-5, 10), "x2": Real(0, 15)},
        f=lambda params: fn.branin(params["x1"], params["x2"]),
        best=fn.BRANIN_BEST,
        floor=fn.BRANIN_WORST,
        ceiling=fn.BRANIN_BEST,
        delay=Fixed(10),
    )


def hartmann3(seed: int) -> Task:
    best = fn.HARTMANN3_BEST
    f = lambda params: fn.hartmann3(row(params))  # noqa: E731
    return Task(space=unit(3), f=f, best=best, ceiling=best, noise=0.1, delay=Poisson(5))


def hartmann6(seed: int) -> Task:
    best = fn.HARTMANN6_BEST
    return Task(space=unit(6), f=lambda params: fn.hartmann6(row(params)), best=best, ceiling=best, delay=Poisson(10))


def hartmann6_crowd(seed: int) -> Task:
    return replace(hartmann6(seed), noise=0.05, delay=Fixed(50))


def ackley5(seed: int) -> Task:
    f = lambda params: fn.ackley(row(params))  # noqa: E731
    return Task(space=unit(5, -5, 10), f=f, best=0.0, floor=-22.4, ceiling=0.0, noise=0.1, delay=HEAVY)


def rosenbrock4(seed: int) -> Task:
    """The larger x1, the later: what is best comes neither first nor last."""
    return Task(
        space=unit(4, -2, 2),
        f=lambda params: fn.rosenbrock(row(params)),
        best=0.0,
        floor=-10827.0,
        ceiling=0.0,
        noise=1.0,
        delay=ByInput(lambda params: Poisson(4 + 6 * (params["x1"] + 2))),
    )


# Mixed ---------------------------------------------------------------------------------------------------------------

# kernel -> the accuracy at its best, log10 C and log10 gamma there, how wide it is in each
SVM = {
    "rbf": (0.95, 1.5, -2.0, 1.2, 0.6),
    "poly": (0.92, 0.0, -1.0, 0.8, 0.5),
    "linear": (0.88, -1.0, 0.0, 2.0, math.inf),
    "sigmoid": (0.80, 0.5, -3.0, 1.5, 1.0),
}


def svm(seed: int) -> Task:
    """Like the accuracy of a support vector machine: a bent hill over (C, gamma) for each kernel, chance elsewhere.

    0.5 + (top - 0.5) exp(-(c / width_C)² - ((g + 0.3 c) / width_gamma)²), c and g the log10 distances from the top"""

    def f(params: Params) -> float:
        top, at_c, at_g, wide_c, wide_g = SVM[params["kernel"]]
        c, g = math.log10(params["C"]) - at_c, math.log10(params["gamma"]) - at_g
        return 0.5 + (top - 0.5) * math.exp(-((c / wide_c) ** 2) - ((g + 0.3 * c) / wide_g) ** 2)

    space: dict[str, Parameter] = {
        "C": Real(1e-3, 1e3, log=True),
        "gamma": Real(1e-5, 10, log=True),
        "kernel": Choice(*SVM),
    }
    return Task(space=space, f=f, best=0.95, floor=0.5, noise=0.01, delay=Poisson(10))


KINDS = {"a": (0.0, 0.0), "b": (0.5, 1.5), "c": (1.0, -2.0), "d": (1.5, 3.0)}  # kind -> penalty, centre


def ackley_mixed(seed: int) -> Task:
    """Ackley in two reals and two integers; a kind costs a penalty and moves the centre of the reals."""

    def f(params: Params) -> float:
        penalty, centre = KINDS[params["kind"]]
        x = np.array([params["x1"] - centre, params["x2"] - centre, params["n1"], params["n2"]])
        return fn.ackley(x) - penalty

    space = {**unit(2, -5, 10), "n1": Integer(-5, 10), "n2": Integer(-5, 10), "kind": Choice(*KINDS)}
    return Task(space=space, f=f, best=0.0, floor=-24.0, ceiling=0.0, delay=Geometric(0.1))


ACTIVATION = {"relu": 0.95, "gelu": 0.98, "tanh": 0.9, "sigmoid": 0.8}


def network(seed: int) -> Task:
    """Like the accuracy of a network: best with 4 layers of 128, gelu, rate 1e-3, dropout 0.2. Large ones train long.

    top exp(-(n + w)² / 8 - w² / 6 - (r + 0.15 n)² - (p / 0.4)²), n = layers - 4, w = log2(width / 128), r and p the
    distances of log10 rate and dropout from their best"""

    def f(params: Params) -> float:
        n, w = params["layers"] - 4, math.log2(params["width"] / 128)
        r, p = math.log10(params["rate"]) + 3, params["dropout"] - 0.2
        loss = (n + w) ** 2 / 8 + w**2 / 6 + (r + 0.15 * n) ** 2 + (p / 0.4) ** 2
        return ACTIVATION[params["activation"]] * math.exp(-loss)

    space: dict[str, Parameter] = {
        "layers": Integer(1, 8),
        "width": Integer(16, 512, log=True),
        "activation": Choice(*ACTIVATION),
        "rate": Real(1e-5, 1e-1, log=True),
        "dropout": Real(0, 0.6),
    }
    late = ByInput(lambda params: Poisson(4 + 3 * math.log2(params["layers"] * params["width"] / 16)))
    return Task(space=space, f=f, best=0.98, noise=0.02, delay=late)


# Contextual ----------------------------------------------------------------------------------------------------------


def drawn(seed: int, s: int) -> np.random.Generator:
    """What the context of round s is drawn from."""
    return np.random.default_rng([seed, s, CONTEXT])


def branin_context(seed: int) -> Task:
    """Branin's first coordinate is given, the second is asked for."""

    def best(context: Params) -> float:
        return fn.branin(context["x1"], min(max(fn.branin_ridge(context["x1"]), 0.0), 15.0))

    return Task(
        space={"x2": Real(0, 15)},
        f=lambda params, context: fn.branin(context["x1"], params["x2"]),
        best=best,
        floor=fn.BRANIN_WORST,
        ceiling=fn.BRANIN_BEST,
        noise=1.0,
        context={"x1": Real(-5, 10)},
        context_of=lambda s: {"x1": float(drawn(seed, s).uniform(-5, 10))},
        delay=Poisson(10),
    )


def moved(shift: Array, params: Params) -> float:
    """Hartmann-3 moved by a shift that leaves its best inside the cube."""
    return fn.hartmann3(row(params) - shift)


def hartmann_context(seed: int) -> Task:
    """Hartmann-3, moved along a curve by a context from [0, 1]."""

    def f(params: Params, context: Params) -> float:
        z = context["z"]
        return moved(np.array([0.5 * z, 0.3 * math.sin(2 * math.pi * z), -0.5 * z]), params)

    best = fn.HARTMANN3_BEST
    return Task(
        space=unit(3),
        f=f,
        best=best,
        ceiling=best,
        noise=0.05,
        context={"z": Real(0, 1)},
        context_of=lambda s: {"z": float(drawn(seed, s).random())},
        delay=HEAVY,
    )


SHIFTS = {
    "spring": (0.0, 0.0, 0.0),
    "summer": (0.4, 0.2, -0.2),
    "autumn": (0.6, -0.3, -0.5),
    "winter": (0.2, -0.4, -0.3),
}


def hartmann_kinds(seed: int) -> Task:
    """Hartmann-3, moved by one of four kinds of context."""
    best, kinds = fn.HARTMANN3_BEST, tuple(SHIFTS)
    return Task(
        space=unit(3),
        f=lambda params, context: moved(np.array(SHIFTS[context["season"]]), params),
        best=best,
        ceiling=best,
        noise=0.05,
        context={"season": Choice(*kinds)},
        context_of=lambda s: {"season": kinds[int(drawn(seed, s).integers(len(kinds)))]},
        delay=Geometric(1 / 8),
    )


# name, family, task, rounds, patience, which regret counts, whether a quick run has it
Row = tuple[str, Family, Callable[[int], Task], int, int, Literal["simple", "cumulative"], bool]
TABLE: tuple[Row, ...] = (
    ("gp1", "rugged", gp1, 100, 40, "simple", True),
    ("gp1-noisy", "rugged", gp1_noisy, 120, 60, "simple", False),
    ("gp2", "rugged", gp2, 120, 40, "simple", True),
    ("branin", "smooth", branin, 80, 30, "simple", True),
    ("hartmann3-every", "smooth", hartmann3, 80, 20, "cumulative", False),
    ("hartmann6", "smooth", hartmann6, 100, 40, "simple", True),
    ("hartmann6-crowd", "smooth", hartmann6_crowd, 150, 150, "simple", False),
    ("ackley5", "smooth", ackley5, 100, 60, "simple", False),
    ("rosenbrock4", "smooth", rosenbrock4, 100, 60, "simple", False),
    ("svm", "mixed", svm, 80, 40, "simple", True),
    ("ackley-mixed", "mixed", ackley_mixed, 100, 40, "simple", False),
    ("network", "mixed", network, 100, 60, "simple", False),
    ("branin-context", "contextual", branin_context, 100, 40, "cumulative", True),
    ("hartmann-context", "contextual", hartmann_context, 120, 60, "cumulative", True),
    ("hartmann-kinds", "contextual", hartmann_kinds, 120, 32, "cumulative", False),
)
BEDS = {
    name: Bed(name=name, family=family, task=task, rounds=rounds, patience=patience, counts=counts, quick=quick)
    for name, family, task, rounds, patience, counts, quick in TABLE
}
FAMILIES: tuple[Family, ...] = ("rugged", "smooth", "mixed", "contextual")


@cache
def drawn_task(name: str, seed: int) -> Task:
    """The task of a seed, drawn once per process."""
    return BEDS[name].task(seed)
