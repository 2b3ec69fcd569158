"""What an ask costs: CPU time, against refactoring and against the bare BLAS calls, how it grows, import and memory.

    python -m benchmarks.speed [--quick] [--csv [FILE]]

plain        an ask without a refit: the median over many (± half the distance between the quartiles)
refit        what an ask with a refit costs more than that (the fit, and the factor built again)
every        asks from one refit to the next at this n, by the algorithm's schedule
amortised    plain + refit / every
end to end   one whole stretch from the ask after a refit to the next refit, divided by its asks
fresh / ask  the same study with a fresh cache at every ask (the factor grown from nothing), in multiples of the ask
ask / bare   the ask in multiples of the BLAS calls that it needs, written out in `Bare`; both choose the same queries
inside / ask a suggestion inside another library, where that is installed, in multiples of the ask; refits included

n counts the queries in the belief when the stretch begins, 10 of them pending all the time. Times are CPU time of this
process (or of a child) on one BLAS thread; what machines add to it is measured too, by a fixed piece of work.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import blas
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

import belated
from belated.learner.algorithms import Algorithm
from belated.learner.arrays import Array
from belated.learner.gp.table import compute_root
from belated.record.ledger.memory import MemoryLedger
from benchmarks.table import align_numbers, numbers, sections

D, PENDING, PATIENCE = 6, 10, 20
NAMES = tuple(f"x{i}" for i in range(D))
FLOOR, CEILING, NOISE = 0.0, 3.4, 0.05
LENGTHSCALE, LAM = 0.3, 0.01  # where hyperparameters are fixed by hand
CONTINUOUS = ("default", "GP-UCB-SDF", "GP-TS-SDF")
FINITE = ("GP-UCB-SDF", "GP-BUCB", "GP-TS-SDF")

ASK = {100: 10.0, 1000: 50.0}  # ms, amortised, by n: what to build for in a continuous space
BARE = {1000: 3.0}  # multiples of the bare calls, by n: where arithmetic outweighs the interpreter
SLOPE, IMPORT, MEMORY = 2.0, 1.2, 100.0
INSIDE = 2.0  # multiples of the ask


@dataclass(frozen=True)
class Plan:
    """How much to measure."""

    sizes: tuple[int, ...] = (20, 100, 300, 1000)
    studies: tuple[int, ...] = (5, 5, 3, 3)  # for each size
    points: int = 1000  # |Q|
    compared: int = 10  # asks beside a fresh cache; three times as many beside the bare calls
    starts: int = 9  # interpreters started, of each kind
    rounds: int = 300  # of the run whose memory is measured
    inside: int = 100  # n where a suggestion inside another library is measured


QUICK = Plan(sizes=(20, 40), studies=(1, 1), points=60, compared=2, starts=1, rounds=25, inside=20)


@dataclass(frozen=True)
class Line:
    """One line of the table: measured numbers by column; `most` is the number to build for in the column `judged`."""

    section: str
    subject: str
    n: int | None
    cells: Mapping[str, float]
    judged: str | None = None
    most: float | None = None

    @property
    def met(self) -> bool | None:
        return None if self.judged is None or self.most is None else self.cells[self.judged] <= self.most


# What is optimised -------------------------------------------------------------------------------------------------

_A = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann(x: Array) -> float:
    """The Hartmann function in six dimensions, from 0 to 3.32."""
    return float(np.array([1.0, 1.2, 3.0, 3.2]) @ np.exp(-np.sum(_A * np.square(x - _P), axis=1)))


@dataclass
class World:
    """A study with n queries, 10 of them pending, that goes on: after each ask the oldest pending outcome arrives."""

    study: belated.Study
    X: list[Array]
    y: list[float]  # NaN while pending
    arrived: list[int]  # rows, in order of arrival
    pending: deque[int] = field(default_factory=deque)

    @classmethod
    def of(cls, algorithm: str | Algorithm, n: int, seed: int, Q: Array | None) -> World:
        name = algorithm if isinstance(algorithm, str) else algorithm.name
        says: dict[str, Any] = {"silence": "unknown"} if name == "default" else {}
        if name.endswith("SDF"):
            says["patience"] = PATIENCE
        study = belated.Study.create(
            space={x: belated.Real(0, 1) for x in NAMES} if Q is None else belated.Points(Q),
            algorithm=algorithm,
            floor=FLOOR,
            ceiling=CEILING,
            seed=seed,
            **says,
        )
        world = cls(study, [], [], [])
        rng = np.random.default_rng(seed)
        for x in rng.random((n, D)) if Q is None else Q[rng.integers(len(Q), size=n)]:
            i = len(world.X)
            heard = i < n - PENDING
            study.add(dict(zip(NAMES, x.tolist(), strict=True)), world.outcome(i, x) if heard else None)
            world.take(x)
            if heard:
                world.y[i] = world.outcome(i, x)
                world.arrived.append(world.pending.popleft())
        return world

    def take(self, x: Array) -> None:
        self.pending.append(len(self.X))
        self.X.append(x)
        self.y.append(math.nan)

    @staticmethod
    def outcome(i: int, x: Array) -> float:
        return hartmann(x) + NOISE * float(np.random.default_rng([1, i]).standard_normal())

    def ask(self) -> tuple[Array, float]:
        """The query asked, and the CPU seconds it took."""
        began = time.process_time()
        trial = self.study.ask()
        took = time.process_time() - began
        assert not trial.note, trial.note  # a fallback would not be the ask that is to be timed
        self.take(np.array([trial.params[x] for x in NAMES]))
        return self.X[-1], took

    def hear(self) -> None:
        """The oldest pending outcome arrives."""
        i = self.pending.popleft()
        self.y[i] = self.outcome(i, self.X[i])
        self.arrived.append(i)
        self.study.tell(i + 1, self.y[i])

    def reopen(self) -> None:
        """Another handle on the study, with nothing computed yet."""
        study = self.study
        self.study = belated.Study(study.settings, MemoryLedger(study.events()), study.name, study.clock)

    @property
    def refits(self) -> int:
        return len(self.study.hyperparameters())

    def by_move(self, took: Sequence[tuple[int, float]]) -> list[list[float]]:
        """Asks (n, seconds) sorted by the moves that take turns: they do different work."""
        moves = len(self.study.settings.algorithm.moves)
        sorted_out = [[t for n, t in took if n % moves == move] for move in range(moves)]
        return [times for times in sorted_out if times]

    def typical(self, took: Sequence[tuple[int, float]]) -> float:
        """The median CPU seconds of each move's asks, averaged over the moves."""
        return float(np.mean([np.median(times) for times in self.by_move(took)]))

    def spread(self, took: Sequence[tuple[int, float]]) -> float:
        """Half the distance between the quartiles of each move's asks, averaged over the moves."""
        return float(np.mean([0.5 * np.ptp(np.quantile(times, [0.25, 0.75])) for times in self.by_move(took)]))


# The bare calls ----------------------------------------------------------------------------------------------------


class Bare:
    """The calls that an ask on a finite Q cannot do without, for k(x, z) = exp(-r²/2) and λ fixed by hand, in order:

    a new query   one kernel row k(x, Q); one triangular solve for its row of L; one gemv over V for its row of V
    GP-BUCB       the same row of L for the query heard last; two triangular solves and ten kernel rows for the fill
    GP-TS-SDF     one gemv with the root of k(Q, Q); one triangular solve for the residual
    every ask     one triangular solve of ỹ; one gemv over V; the largest score
    """

    def __init__(self, world: World, Q: Array, seed: int, capacity: int) -> None:
        name = world.study.settings.algorithm.name
        self.world, self.seed = world, seed
        self.unknown, self.thompson = name == "GP-BUCB", name == "GP-TS-SDF"
        self.scaled = Q / LENGTHSCALE
        self.place = {q.tobytes(): i for i, q in enumerate(Q)}
        self.where = np.empty(capacity, dtype=np.intp)
        self.packed, self.V, self.n = np.empty(capacity * (capacity + 1) // 2), np.empty((capacity, len(Q))), 0
        self.variance = np.ones(len(Q))
        self.heard_packed, self.heard = np.empty_like(self.packed), 0
        self.root = compute_root(self._kernel(slice(None))) if self.thompson else np.empty((0, 0))

    def _kernel(self, rows: Any) -> Array:
        r2: Array = cdist(np.atleast_2d(self.scaled[rows]), self.scaled, "sqeuclidean")
        return np.exp(-0.5 * r2)

    @staticmethod
    def _solve(packed: Array, n: int, b: Array, *, transposed: bool = False) -> Array:
        x: Array = blas.dtpsv(n, packed[: n * (n + 1) // 2], b, lower=0, trans=0 if transposed else 1)
        return x

    def _row(self, packed: Array, n: int, k: Array) -> Array:
        """(L⁻¹k, √(1 + λ - |L⁻¹k|²)), written behind the n rows of L."""
        row = np.empty(n + 1)
        row[:n] = self._solve(packed, n, k) if n else k
        row[n] = math.sqrt(1.0 + LAM - row[:n] @ row[:n])
        packed[n * (n + 1) // 2 : (n + 1) * (n + 2) // 2] = row
        return row

    def catch_up(self) -> None:
        """Every query asked, and every outcome heard, that is not yet in the factors."""
        for x in self.world.X[self.n :]:
            n, i = self.n, self.place[x.tobytes()]
            k = self._kernel(i)[0]
            row = self._row(self.packed, n, k[self.where[:n]])
            v = (k - row[:n] @ self.V[:n]) / row[n]
            self.where[n], self.V[n], self.n = i, v, n + 1
            self.variance -= v * v
        for i in self.world.arrived[self.heard :] if self.unknown else []:
            rows = self.where[self.world.arrived[: self.heard]]
            self._row(self.heard_packed, self.heard, self._kernel(self.where[i])[0][rows])
            self.heard += 1

    def choose(self) -> tuple[int, float]:
        """The index of the query to ask, and the CPU seconds it took."""
        y = np.array(self.world.y) / CEILING
        waiting, arrived = np.array(self.world.pending), np.array(self.world.arrived)
        began = time.process_time()
        self.catch_up()
        n, nu, fill, V = self.n, 1.0, np.zeros(len(waiting)), self.V[: self.n]
        if self.unknown:
            half = self._solve(self.heard_packed, self.heard, y[arrived])
            alpha = self._solve(self.heard_packed, self.heard, half, transposed=True)
            apart = cdist(self.scaled[self.where[waiting]], self.scaled[self.where[arrived]], "sqeuclidean")
            fill = np.exp(-0.5 * apart) @ alpha
        else:
            nu += float(np.sum(np.sqrt(self.variance[self.where[max(0, n - PATIENCE) : n]])))
        y[waiting] = fill
        weights = self._solve(self.packed, n, y)
        if self.thompson:
            rng = np.random.default_rng([self.seed, n + 1])
            f0 = self.root @ rng.standard_normal(len(self.scaled))
            residual = f0[self.where[:n]] + math.sqrt(LAM) * rng.standard_normal(n)
            scores = (weights - nu * self._solve(self.packed, n, residual)) @ V + nu * f0
        else:
            scores = weights @ V + nu * np.sqrt(self.variance)
        best = int(np.argmax(scores))
        return best, time.process_time() - began


# Measuring ---------------------------------------------------------------------------------------------------------


@dataclass
class Noise:
    """The same piece of work again and again during the run: what the machine adds shows in how its time varies."""

    times: list[float] = field(default_factory=list)
    A: Array = field(default_factory=lambda: np.random.default_rng(0).random((160, 160)))

    def sample(self) -> None:
        for _ in range(3):
            began = time.process_time()
            for _ in range(20):
                self.A @ self.A
            sum(i * i for i in range(20_000))
            self.times.append(time.process_time() - began)

    def __str__(self) -> str:
        low, middle, high, worst = np.quantile(self.times, [0.25, 0.5, 0.75, 1.0])
        return (
            f"{len(self.times)} repeats of the same work took {1e3 * middle:.2f} ms CPU in the median, "
            f"{100 * (low / middle - 1):+.0f} % to {100 * (high / middle - 1):+.0f} % between the quartiles, "
            f"{100 * (worst / middle - 1):+.0f} % at worst"
        )


def stretch(world: World) -> tuple[list[tuple[int, float]], float]:
    """Asks (n, CPU seconds) from the one after a refit to the next refit, and the seconds of the ask with it."""
    while not world.refits:
        world.ask()
        world.hear()
    took: list[tuple[int, float]] = []
    before = world.refits
    while world.refits == before:
        n = len(world.X)
        took.append((n, world.ask()[1]))
        world.hear()
    return took[:-1], took[-1][1]


def costs(algorithm: str, n: int, studies: int, Q: Array | None, noise: Noise) -> dict[str, float]:
    """CPU milliseconds of an ask, with and without its share of the refits."""
    plain: list[tuple[int, float]] = []
    refit, whole, every = list[float](), list[float](), 0
    for seed in range(studies):
        noise.sample()
        world = World.of(algorithm, n, seed, Q)
        took, last = stretch(world)
        plain += took
        every = len(took) + 1
        refit.append(last)
        whole.append((sum(t for _, t in took) + last) / every)
    typical = world.typical(plain)
    extra = max(0.0, float(np.median(refit)) - typical)
    return {
        "plain ms": 1e3 * typical,
        "± %": 100.0 * world.spread(plain) / typical,
        "refit ms": 1e3 * extra,
        "every": float(every),
        "amortised ms": 1e3 * (typical + extra / every),
        "end to end ms": 1e3 * float(np.median(whole)),
    }


def against_fresh(algorithm: str | Algorithm, n: int, rounds: int, Q: Array | None) -> dict[str, float]:
    """The same study opened anew for every ask, in turns with the one that stays open: both ask the same."""
    world, twin = World.of(algorithm, n, 0, Q), World.of(algorithm, n, 0, Q)
    kept, fresh = list[tuple[int, float]](), list[tuple[int, float]]()
    for i in range(-1, rounds):  # the first, untimed, builds what is kept
        x, took = world.ask()
        twin.reopen()
        same, took_fresh = twin.ask()
        assert np.max(np.abs(x - same)) <= 1e-9, f"a fresh cache asks {same}, the kept one {x}"
        world.hear()
        twin.hear()
        if i >= 0:
            kept.append((i, took))
            fresh.append((i, took_fresh))
    return {"fresh / ask": world.typical(fresh) / world.typical(kept)}


def against_bare(algorithm: Algorithm, n: int, rounds: int, Q: Array) -> dict[str, float]:
    """The bare calls, in turns with the ask on a finite Q: both choose the same."""
    world = World.of(algorithm, n, 0, Q)
    bare = Bare(world, Q, 0, n + rounds + 2)
    own, least = list[float](), list[float]()
    for i in range(-1, rounds):  # the first, untimed, builds what is kept
        index, took_bare = bare.choose()
        x, took = world.ask()
        assert np.array_equal(Q[index], x), f"the bare calls choose {Q[index]}, the study {x}"
        world.hear()
        if i >= 0:
            own.append(took)
            least.append(took_bare)
    return {"bare ms": 1e3 * float(np.median(least)), "ask / bare": float(np.median(own) / np.median(least))}


def against_inside_optuna(n: int, rounds: int) -> dict[str, float]:
    """Mean CPU ms of a suggestion by BelatedSampler, and of the same choice by Study.ask, after n queries."""
    import optuna
    from optuna.distributions import BaseDistribution, FloatDistribution

    from belated.integrations.optuna import BelatedSampler

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    says: dict[str, Any] = {"silence": "unknown", "floor": FLOOR, "ceiling": CEILING, "seed": 0}
    theirs = optuna.create_study(direction="maximize", sampler=BelatedSampler(**says))
    ours = belated.Study.create(space={x: belated.Real(0, 1) for x in NAMES}, **says)
    space: dict[str, BaseDistribution] = {x: FloatDistribution(0, 1) for x in NAMES}
    rng, running, took = np.random.default_rng(0), deque[Any](), np.zeros(2)
    for i in range(n + rounds):
        if i < n:
            point = dict(zip(NAMES, rng.random(D).tolist(), strict=True))
            theirs.enqueue_trial(point)
        began = time.process_time()
        trial = theirs.ask(space)
        between = time.process_time()
        twin = ours.add(point) if i < n else ours.ask()
        if i >= n:
            took += (between - began, time.process_time() - between)
        assert trial.params == twin.params, "the sampler asks another query"
        running.append((trial, twin))
        if len(running) > PENDING:
            trial, twin = running.popleft()
            y = hartmann(np.array([trial.params[x] for x in NAMES]))
            theirs.tell(trial, y)
            ours.tell(twin, y)
    suggestion, ask = (1000.0 * took / rounds).tolist()
    return {"suggestion ms": suggestion, "ask ms": ask, "inside / ask": suggestion / ask}


def slope(sizes: Sequence[int], values: Sequence[float]) -> float:
    """The exponent p of value ~ n^p, by least squares on the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


LAUNCH = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-c", sys.argv[1]], check=True, stdout=subprocess.DEVNULL)
child = resource.getrusage(resource.RUSAGE_CHILDREN)
print(child.ru_utime + child.ru_stime, child.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10))
"""

RUN = """
import math
import belated
space = {space}
study = belated.Study.create(space=space, algorithm={algorithm!r}, floor=0.0, seed=0, **{says})
f = lambda params: math.exp(-sum((v - 0.3) ** 2 for v in params.values()))
for trial in belated.simulate(study, f, delay=belated.delays.Poisson(10), rounds={rounds}, noise=0.05, seed=1):
    pass
"""


def child(code: str) -> tuple[float, float]:
    """CPU seconds and peak MiB of a fresh interpreter that runs this.

    A small launcher starts it: Linux counts the peak of whoever starts a process as that process's own."""
    settings = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    settings |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    found = [str(Path(belated.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    settings["PYTHONPATH"] = os.pathsep.join(found)
    done = subprocess.run(
        [sys.executable, "-S", "-c", LAUNCH, code], check=True, capture_output=True, text=True, env=settings
    )
    seconds, peak = map(float, done.stdout.split())
    return seconds, peak


def importing(plan: Plan) -> Line:
    """import belated against numpy + scipy.linalg, started in turns; the interpreter's own start is taken off both."""
    kinds = {
        "interpreter s": "pass",
        "numpy + scipy.linalg s": "import numpy, scipy.linalg",
        "belated s": "import belated",
    }
    for code in kinds.values():
        child(code)  # once before, so that every file is compiled and in the page cache
    took = [{kind: child(code)[0] for kind, code in kinds.items()} for _ in range(plan.starts)]
    middle = {kind: float(np.median([t[kind] for t in took])) for kind in kinds}
    start = middle["interpreter s"]
    ratio = (middle["belated s"] - start) / (middle["numpy + scipy.linalg s"] - start)
    spread = np.quantile([t["belated s"] for t in took], [0.25, 0.75])
    cells = middle | {"± %": 50.0 * float(np.ptp(spread)) / middle["belated s"], "ratio": ratio}
    return Line("import", "import belated", None, cells, "ratio", IMPORT)


def memory(plan: Plan) -> Iterator[Line]:
    """Peak memory of a fresh interpreter."""
    cube = f"{{x: belated.Real(0, 1) for x in {NAMES!r}}}"
    points = f"belated.Points(__import__('numpy').random.default_rng(0).random(({plan.points}, {D})))"
    codes = {
        "import numpy, scipy.linalg": "import numpy, scipy.linalg",
        "import belated": "import belated",
        f"{plan.rounds} rounds, d = {D}, default": RUN.format(
            space=cube, algorithm="default", says={"silence": "unknown"}, rounds=plan.rounds
        ),
        f"{plan.rounds} rounds, |Q| = {plan.points}, GP-UCB-SDF": RUN.format(
            space=points, algorithm="GP-UCB-SDF", says={"patience": PATIENCE}, rounds=plan.rounds
        ),
    }
    for subject, code in codes.items():
        own = "belated" in code
        cells = {
            "peak MiB": float(
                np.median([child(code)[1] for _ in range(1 if "rounds" in subject else min(3, plan.starts))])
            )
        }
        yield Line("peak memory", subject, None, cells, "peak MiB" if own else None, MEMORY if own else None)


def asks(plan: Plan, noise: Noise) -> Iterator[Line]:
    """An ask at every n, in a continuous space and on a finite Q."""
    listed = np.random.default_rng(0).random((plan.points, D))
    listed = (listed - listed.min(axis=0)) / np.ptp(listed, axis=0)  # on the unit cube already, as the model has it
    for algorithm in CONTINUOUS:
        for n, studies in zip(plan.sizes, plan.studies, strict=True):
            cells = costs(algorithm, n, studies, None, noise) | against_fresh(algorithm, n, plan.compared, None)
            judged = "end to end ms" if n in ASK else None
            yield Line(f"ask, d = {D} continuous, {PENDING} pending", algorithm, n, cells, judged, ASK.get(n))
    for algorithm in FINITE:
        by_hand = belated.algorithms.paper(algorithm, kernel=belated.kernels.SE(LENGTHSCALE), lam=LAM, refit_every=None)
        for n, studies in zip(plan.sizes, plan.studies, strict=True):
            cells = costs(algorithm, n, studies, listed, noise)
            cells |= against_fresh(by_hand, n, plan.compared, listed)
            cells |= against_bare(by_hand, n, 3 * plan.compared, listed)
            judged = "ask / bare" if n in BARE else None
            yield Line(f"ask, |Q| = {plan.points} finite, {PENDING} pending", algorithm, n, cells, judged, BARE.get(n))


def inside(plan: Plan) -> Iterator[Line]:
    """A suggestion inside other libraries, where they are installed."""
    if find_spec("optuna") is not None:
        cells = against_inside_optuna(plan.inside, 3 * plan.compared)
        section = f"inside another library, n = {plan.inside}, {PENDING} pending"
        yield Line(section, "BelatedSampler in Optuna", None, cells, "inside / ask", INSIDE)


def growth(lines: Sequence[Line]) -> Iterator[Line]:
    """The exponent of n between the two largest sizes, and over all of them, without and with refits."""
    for section, subject in dict.fromkeys((line.section, line.subject) for line in lines):
        rows = [line for line in lines if (line.section, line.subject) == (section, subject)]
        sizes = [line.n or 0 for line in rows]
        cells: dict[str, float] = {}
        for word, column in (("plain", "plain ms"), ("with refits", "end to end ms")):
            values = [line.cells[column] for line in rows]
            cells[f"{word}, {sizes[-2]} to {sizes[-1]}"] = slope(sizes[-2:], values[-2:])
            cells[f"{word}, all"] = slope(sizes, values)
        cells["steepest"] = max(cells.values())
        space = section.split(", ")[1]
        yield Line("growth, exponent of n", f"{subject}, {space}", None, cells, "steepest", SLOPE)


def measure(plan: Plan, noise: Noise, say: Callable[[str], None] = lambda words: None) -> list[Line]:
    """Every line of the table; `say` hears about each as it comes."""
    lines: list[Line] = []
    with threadpool_limits(1, user_api="blas"):
        stretch(World.of("default", 20, 0, None))  # imports what only an ask needs
        for line in asks(plan, noise):
            say(f"{line.section}: {line.subject}, n = {line.n}")
            lines.append(line)
        lines += growth(lines)
        say("inside other libraries")
        lines += inside(plan)
    say("import, peak memory")
    return [*lines, importing(plan), *memory(plan)]


# Showing -----------------------------------------------------------------------------------------------------------


def table(lines: Sequence[Line]) -> str:
    """Sections of aligned columns; each line ends with the number to build for and whether it is met."""
    out: list[str] = []
    for section, rows, columns in sections(lines):
        sized = any(line.n is not None for line in rows)
        grid = [[section, *(["n"] if sized else []), *columns, "build for", "met"]]
        for line in rows:
            goal = "" if line.most is None else f"{line.judged} <= {line.most:g}"
            verdict = {True: "yes", False: "NO", None: ""}[line.met]
            grid.append([line.subject, *([str(line.n)] if sized else []), *numbers(line, columns), goal, verdict])
        out += [*align_numbers(grid, words=2), ""]
    return "\n".join(out)


def write(lines: Sequence[Line], path: Path) -> None:
    """One measured number per row."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["section", "subject", "n", "measured", "value", "build_for", "met"])
        for line in lines:
            for column, value in line.cells.items():
                judged = column == line.judged
                goal = (line.most, "yes" if line.met else "no") if judged else ("", "")
                rows.writerow([line.section, line.subject, line.n, column, f"{value:.6g}", *goal])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the smallest sizes, to see that it runs")
    parser.add_argument(
        "--csv",
        nargs="?",
        type=Path,
        const=Path(__file__).with_suffix(".csv"),
        metavar="FILE",
        help="write the numbers to FILE (benchmarks/speed.csv)",
    )
    chosen = parser.parse_args(arguments)
    noise, began = Noise(), time.perf_counter()

    def say(words: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{words}", end="", file=sys.stderr, flush=True)

    lines = measure(QUICK if chosen.quick else Plan(), noise, say)
    say("")
    print(table(lines))
    missed = sum(line.met is False for line in lines)
    print(f"{missed} of {sum(line.met is not None for line in lines)} numbers to build for are missed.")
    print(f"Noise of this machine: {noise}; in all {time.perf_counter() - began:.0f} s.")
    if chosen.csv is not None:
        write(lines, chosen.csv)
        print(f"Written: {chosen.csv}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
