"""Names to values: the six algorithms of the paper, exactly, and the product's default.

The paper's six are the table {floor, unknown, ignored} × {UCB, Thompson}; only the floor pair widens β_t to ν_t.
An algorithm says what it implies (silence, late, repeats, whether there is a patience); the rest is the study's to say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from belated.errors import InvalidInput
from belated.learner.confidence import Constant, Theory
from belated.learner.gp.fit import Weak
from belated.learner.gp.kernels import SE, Kernel, Matern52, kernel_of
from belated.learner.gp.scale import FloorToOne, Robust, Scaling
from belated.learner.policies import UCB, LogEI, Overtaking, Policy, ThompsonSampling
from belated.learner.silence import Floor, Ignored, Silence, Unknown
from belated.validation import checked, is_positive, shown

Beta = Constant | Theory


@dataclass(frozen=True)
class Schedule:
    """When hyperparameters are fitted again: every `every` rounds, later whenever the rounds grew by `growth`.

    `eager` also fits as soon as there is enough to fit and whenever the heard have doubled since."""

    every: int | None
    growth: float = 0.0
    eager: bool = False

    def due(self, t: int, heard: int, last: int | None, last_heard: int, previous: int) -> bool:
        """Whether to fit before choosing query t; `last` is the query for which it was done last, `previous` the last
        one that we chose (0: none): rounds by hand in between do not make us miss a fit."""
        if self.every is None:
            return False
        if not self.eager:
            return (t - 1) // self.every > (previous - 1) // self.every
        if last is None or heard >= 2 * last_heard:
            return True
        return t - last >= max(self.every, math.ceil(self.growth * last) if last >= 10 * self.every else 0)


@dataclass(frozen=True)
class Move:
    """One way of choosing; with `share` the pending are filled at least that far from the floor to the belief."""

    policy: Policy
    share: float | None = None
    beta: Beta | None = None  # of its own; None: the algorithm's


# The paper's: β_t = 1, SE kernel, hyperparameters every ten rounds (App. C), minimum at 0 and bound at 1 (Section 3).
ONE, SQUARED_EXPONENTIAL, EVERY_TEN, FLOOR_TO_ONE = Constant(1.0), SE(0.2), Schedule(10), FloorToOne()


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """Everything that a choice depends on besides the study's history. Moves take turns in each context.

    >>> from belated import algorithms
    >>> [name for name, algorithm in algorithms.PAPER.items() if algorithm.late == "ignore"]
    ['GP-UCB-SDF', 'GP-TS-SDF']
    """

    name: str
    moves: tuple[Move, ...]
    every_query: tuple[Move, ...] = ()  # the moves where every query counts; none: the same ones
    silence: Silence | None = None  # implied; None: the study says
    late: Literal["use", "ignore"] | None = None  # implied
    repeats: Literal["always", "heard", "never"] | None = None  # implied
    patience: bool | None = None  # True: needs one; False: knows none
    own_noise: bool = True  # whether an outcome may bring its own noise
    widened: bool = False  # ν_t = B_y Σ σ(x_s) + β_t instead of β_t
    beta: Beta = ONE
    kernel: Kernel | None = None  # given by hand
    lam: float | None = None  # given by hand
    shape: Kernel = SQUARED_EXPONENTIAL  # of the kernel that is fitted
    schedule: Schedule = EVERY_TEN
    scaling: Scaling = FLOOR_TO_ONE
    free_mean: bool = False
    blind: bool = True  # whether to choose while too little is heard to fit; else space-filling queries go on
    soft: bool = False  # fills of the pending bring noise of their own, and settled silence counts for fitting
    weak: Weak | None = None
    start: int = 0  # uncertainty-sampling queries first
    first: int | None = None  # space-filling queries before that, when the study does not say; None: by dimension

    def initial(self, coordinates: int) -> int:
        """How many space-filling queries to begin with when the user leaves it to us."""
        if self.first is not None:
            return self.first
        return min(20, 2 * coordinates + 2)

    def move(self, turn: int, cumulative: bool = False) -> Move:
        """How to choose, the turn-th time (from 0) in this context; `cumulative`: every query counts."""
        moves = self.turns(cumulative)
        return moves[turn % len(moves)]

    def turns(self, cumulative: bool) -> tuple[Move, ...]:
        """The moves that take turns."""
        return self.every_query if cumulative and self.every_query else self.moves

    def spec(self) -> dict[str, object]:
        """Its name and whatever was fixed by hand, as plain values."""
        beta = self.beta
        return {
            "algorithm": self.name,
            "kernel": None if self.kernel is None else self.kernel.spec(),
            "lam": self.lam,
            "beta": beta.value
            if isinstance(beta, Constant)
            else {"B_f": beta.B_f, "R": beta.R, "delta": beta.delta, "horizon": beta.horizon, "gain": beta.gain},
            "refit_every": self.schedule.every,
            "start": self.start,
        }


def _paper(name: str, silence: Silence, policy: Policy) -> Algorithm:
    sdf = isinstance(silence, Floor)
    return Algorithm(
        name=name,
        moves=(Move(policy),),
        silence=silence,
        late="ignore" if sdf else "use",
        repeats="always",
        patience=sdf,
        own_noise=False,
        widened=sdf,
        first=5,
    )


PAPER = {
    name: _paper(name, silence, policy)
    for name, silence, policy in (
        ("GP-UCB-SDF", Floor(), UCB()),
        ("GP-TS-SDF", Floor(), ThompsonSampling()),
        ("GP-UCB", Ignored(), UCB()),
        ("asy-TS", Ignored(), ThompsonSampling()),
        ("GP-BUCB", Unknown(), UCB()),
        ("GP-BTS", Unknown(), ThompsonSampling()),
    )
}

DEFAULT = Algorithm(
    name="default",
    moves=(Move(Overtaking()), Move(UCB(), share=0.5), Move(Overtaking()), Move(ThompsonSampling(), beta=ONE)),
    every_query=(Move(LogEI()), Move(UCB(), share=0.5, beta=ONE)),
    beta=Constant(2.0),
    shape=Matern52(0.3),
    schedule=Schedule(5, growth=0.1, eager=True),
    scaling=Robust(),
    free_mean=True,
    blind=False,
    soft=True,
    weak=Weak(lengthscale=(math.log(0.5), 1.5), variance=(0.0, 1.0), lam=(math.log(1e-3), 2.0)),
)


def paper(
    name: str,
    *,
    kernel: Kernel | None = None,
    lam: float | None = None,
    beta: float | Beta = 1.0,
    refit_every: int | None = 10,
    start: int = 0,
) -> Algorithm:
    """One of the paper's six with any part fixed by hand; a part given is never fitted.

    kernel       lengthscales on the unit cube; with a context one kernel for all coordinates, or kernels.Product
    lam          λ, on scaled outcomes
    beta         a number (1 in all of the paper's experiments), or confidence.Theory(...), which also sets λ = 1 + 2/T
    refit_every  rounds between fits; None fits nothing
    start        uncertainty-sampling queries first (what GP-BUCB's theory asks for)

    >>> from belated import Points, Study, algorithms, kernels
    >>> algorithm = algorithms.paper("GP-UCB-SDF", kernel=kernels.SE(0.1), lam=0.05, refit_every=None)
    >>> Study.create(space=Points([0.0, 0.5, 1.0]), algorithm=algorithm, floor=0.0, patience=20, seed=0)
    Study(GP-UCB-SDF, maximize, silence=floor, 0 trials, 0 heard)
    """
    known = named(name, PAPER)
    if kernel is not None and (isinstance(kernel, type) or not callable(getattr(kernel, "on", None))):
        raise InvalidInput(f"kernel must be a value of belated.kernels, such as SE(0.1) (got {shown(kernel)})")
    if lam is not None and not is_positive(lam):
        raise InvalidInput(f"lam must be a positive finite number (got {shown(lam)})")
    if isinstance(beta, bool) or not isinstance(beta, (int, float, Constant, Theory)):
        raise InvalidInput(f"beta must be a number or confidence.Theory(...) (got {shown(beta)})")
    if not isinstance(beta, (Constant, Theory)):
        beta = Constant(checked("beta", beta, "be a finite number of at least 0", lambda v: 0 <= v < math.inf))
    if refit_every is not None and (
        isinstance(refit_every, bool) or not isinstance(refit_every, int) or refit_every < 1
    ):
        raise InvalidInput(f"refit_every must be a positive whole number or None (got {refit_every!r})")
    if isinstance(start, bool) or not isinstance(start, int) or start < 0:
        raise InvalidInput(f"start must be a whole number of at least 0 (got {start!r})")
    if isinstance(beta, Theory) and lam is not None:
        raise InvalidInput("lam is set by confidence.Theory to 1 + 2/T; leave it out")
    whole_by_hand = kernel is not None and (lam is not None or isinstance(beta, Theory))
    return replace(
        known,
        kernel=kernel,
        lam=None if lam is None else float(lam),
        beta=beta,
        schedule=Schedule(refit_every),
        start=start,
        first=0 if start or whole_by_hand or refit_every is None else known.first,
    )


def algorithm_of(spec: Mapping[str, Any]) -> Algorithm:
    """The algorithm that a `spec()` names."""
    if spec["algorithm"] not in PAPER:
        return named(spec["algorithm"])
    beta, kernel = spec["beta"], spec["kernel"]
    return paper(
        spec["algorithm"],
        kernel=None if kernel is None else kernel_of(kernel),
        lam=spec["lam"],
        beta=Theory(**beta) if isinstance(beta, Mapping) else beta,
        refit_every=spec["refit_every"],
        start=spec["start"],
    )


def named(name: object, table: dict[str, Algorithm] | None = None) -> Algorithm:
    """The algorithm of that name."""
    table = {**PAPER, "default": DEFAULT} if table is None else table
    if isinstance(name, str) and name in table:
        return table[name]
    raise InvalidInput(f"algorithm must be one of {', '.join(table)} (got {name!r})")
