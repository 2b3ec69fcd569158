"""Names to values: the six algorithms of the paper, exactly, and the product's default.

The paper's six are the table {floor, unknown, ignored} × {UCB, Thompson}; only the floor pair widens β_t to ν_t. An
algorithm is composed of small values: its moves, the settings it implies, how wide its interval is, its model, how that
is fitted, and how a study begins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from belated.errors import InvalidInput
from belated.learner.confidence import Constant, Theory, beta_sdf_ts, beta_sdf_ucb
from belated.learner.fitting import FitData, Fitting, Heard, HeardAndSettled, OwnData, Schedule
from belated.learner.gp.fit import FEWEST, HyperPrior
from belated.learner.gp.kernels import SE, Kernel, Matern12, Matern32, Matern52, read_kernel
from belated.learner.gp.scale import FloorToOne, Robust, Scaling
from belated.learner.own_policy import OwnPolicy
from belated.learner.policies import (
    UCB,
    Greedy,
    LogEI,
    Overtaking,
    Policy,
    RelativeUCB,
    ThompsonSampling,
    UncertaintySampling,
)
from belated.learner.silence import Floor, Ignored, Silence, Unknown
from belated.learner.surrogate import Surrogate
from belated.learner.width import ONE, Beta, BetaRule, BetaWidth, CensoredWidth, Width
from belated.parts import Kind, find_part, list_parts, read_part, require_members, reserve, write_part
from belated.validation import format_value, is_positive, require_rule


@dataclass(frozen=True)
class Move:
    """One way of choosing; with `share` the pending are filled at least that far from the floor to the belief.

    >>> from belated import algorithms, policies
    >>> algorithms.Algorithm(name="mine", moves=(algorithms.Move(policies.LogEI()),)).move(turn=0).policy
    LogEI()
    """

    policy: Policy
    share: float | None = None
    beta: Beta | None = None  # of this move; None: the algorithm's


# The paper's: SE kernel (App. C), minimum at 0 and bound at 1 (Section 3).
SQUARED_EXPONENTIAL, FLOOR_TO_ONE = SE(0.2), FloorToOne()


@dataclass(frozen=True, kw_only=True)
class Implied:
    """The settings of a study that an algorithm implies; None: the study may choose.

    >>> from belated import algorithms
    >>> algorithms.PAPER["GP-UCB-SDF"].implied.patience
    'needed'
    """

    silence: Silence | None = None
    silences_on_request: tuple[str, ...] = ()  # that a study may ask for instead, by name
    late: Literal["use", "ignore"] | None = None
    repeats: Literal["always", "heard", "never"] | None = None
    patience: Literal["needed", "none"] | None = None


@dataclass(frozen=True, kw_only=True)
class Model:
    """The GP, and the scale of its outcomes. What is given by hand is never fitted.

    >>> from belated import algorithms, kernels
    >>> algorithms.Model(kernel=kernels.SE(0.1), lam=0.01).mean  # both given: there is nothing to fit
    'zero'
    """

    scaling: Scaling = FLOOR_TO_ONE
    shape: Kernel = SQUARED_EXPONENTIAL  # of the kernel that is fitted
    conversion_shapes: tuple[
        Kernel, ...
    ] = ()  # where outcomes are conversions: a fit takes the likeliest; none: the same
    mean: Literal["zero", "constant"] = "zero"
    noise: Literal["one", "by outcome"] = "one"  # one λ for all outcomes, or an outcome may have its own
    infeasible: Literal["floor", "apart"] = "floor"  # an outcome as bad as the floor, or learned apart
    kernel: Kernel | None = None  # given by hand
    lam: float | None = None  # given by hand
    surrogate: Surrogate | None = None  # a model of the user's own instead of the GP


@dataclass(frozen=True, kw_only=True)
class Opening:
    """How a study begins: space-filling queries, then uncertainty sampling, then the moves.

    >>> from belated import algorithms
    >>> algorithms.Opening().initial(coordinates=3), algorithms.Opening(space_filling=5).initial(coordinates=3)
    (8, 5)
    """

    space_filling: int | None = None  # unless the study gives a number; None: by dimension
    uncertainty: int = 0  # queries by uncertainty sampling after those
    until_heard: int = 0  # space-filling goes on until so many are heard (unless every query counts)

    def initial(self, coordinates: int) -> int:
        """How many space-filling queries to begin with, unless the user says how many."""
        return min(20, 2 * coordinates + 2) if self.space_filling is None else self.space_filling


# What `paper(fitted_to=...)` takes, and what it means.
FITTED_TO: dict[str, FitData] = {"own": OwnData(), "heard": Heard()}
BETA, AS_IN_THE_PAPER, EVERY_TEN_ROUNDS = BetaWidth(), Model(), Fitting()


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """Everything that a choice depends on besides the study's history. Moves take turns in each context.

    >>> from belated import algorithms
    >>> [name for name, algorithm in algorithms.PAPER.items() if algorithm.implied.late == "ignore"]
    ['GP-UCB-SDF', 'GP-TS-SDF']
    """

    name: str
    moves: tuple[Move, ...]
    cumulative_moves: tuple[Move, ...] = ()  # where every query counts; none: the same ones
    conversion_moves: tuple[Move, ...] = ()  # where outcomes are conversions; none: the others
    implied: Implied = Implied()
    width: Width = BETA
    model: Model = AS_IN_THE_PAPER
    fitting: Fitting = EVERY_TEN_ROUNDS
    opening: Opening = Opening()
    fill_noise: float = 0.0  # std of a fill of the pending, as a share of its distance from the belief
    own: tuple[tuple[Kind, Any], ...] = ()  # parts of the user's own, by kind

    def move(self, turn: int, cumulative: bool = False) -> Move:
        """How to choose, the turn-th time (from 0) in this context; `cumulative`: every query counts."""
        moves = self.turns(cumulative)
        return moves[turn % len(moves)]

    def turns(self, cumulative: bool) -> tuple[Move, ...]:
        """The moves that take turns."""
        return self.cumulative_moves if cumulative and self.cumulative_moves else self.moves

    def spec(self) -> dict[str, object]:
        """Its name and whatever was fixed by hand, as plain values."""
        if self.own:
            return {"algorithm": self.name, "own": {kind: write_own(kind, part) for kind, part in self.own}}
        beta, kernel = self.width.beta, self.model.kernel
        return {
            "algorithm": self.name,
            "kernel": None if kernel is None else kernel.spec(),
            "lam": self.model.lam,
            "beta": beta.value
            if isinstance(beta, Constant)
            else {"B_f": beta.B_f, "R": beta.R, "delta": beta.delta, "horizon": beta.horizon, "gain": beta.gain},
            "refit_every": self.fitting.schedule.every,
            "start": self.opening.uncertainty,
            "fitted_to": next((name for name, data in FITTED_TO.items() if data == self.fitting.data), None),
        }


def _make_baseline(name: str, silence: Silence, policy: Policy) -> Algorithm:
    """One of the paper's four baselines: no patience, and an interval of width β_t."""
    return Algorithm(
        name=name,
        moves=(Move(policy),),
        implied=Implied(silence=silence, late="use", repeats="always", patience="none"),
        opening=Opening(space_filling=5),
    )


def _make_sdf(name: str, policy: Policy, rule: BetaRule) -> Algorithm:
    """One of the paper's two: censored feedback, and β_t widened to ν_t."""
    return Algorithm(
        name=name,
        moves=(Move(policy),),
        implied=Implied(
            silence=Floor(),
            silences_on_request=("unknown", "nearest"),  # footnote of §3.1
            late="ignore",
            repeats="always",
            patience="needed",
        ),
        width=CensoredWidth(rule),
        opening=Opening(space_filling=5),
    )


PAPER = {
    algorithm.name: algorithm
    for algorithm in (
        _make_sdf("GP-UCB-SDF", UCB(), beta_sdf_ucb),
        _make_sdf("GP-TS-SDF", ThompsonSampling(), beta_sdf_ts),
        _make_baseline("GP-UCB", Ignored(), UCB()),
        _make_baseline("asy-TS", Ignored(), ThompsonSampling()),
        _make_baseline("GP-BUCB", Unknown(), UCB()),
        _make_baseline("GP-BTS", Unknown(), ThompsonSampling()),
    )
}

DEFAULT = Algorithm(
    name="default",
    moves=(Move(Overtaking()), Move(UCB(), share=0.5), Move(Overtaking()), Move(ThompsonSampling(), beta=ONE)),
    cumulative_moves=(Move(LogEI()), Move(UCB(), share=0.5, beta=ONE)),
    conversion_moves=(Move(RelativeUCB(), beta=Constant(0.9)),),
    width=BetaWidth(Constant(2.0)),
    model=Model(
        scaling=Robust(),
        shape=Matern52(0.3),
        conversion_shapes=(Matern32(0.3), Matern12(0.3)),  # rates may have steps
        mean="constant",
        noise="by outcome",
        infeasible="apart",
    ),
    fitting=Fitting(
        schedule=Schedule(5, growth=0.1, eager=True),
        data=HeardAndSettled(),
        prior=HyperPrior(lengthscale=(math.log(0.5), 1.5), variance=(0.0, 1.0), lam=(math.log(1e-3), 2.0)),
    ),
    opening=Opening(until_heard=FEWEST),
    fill_noise=0.25,
)


def paper(
    name: str,
    *,
    kernel: Kernel | None = None,
    lam: float | None = None,
    beta: float | Beta = 1.0,
    refit_every: int | None = 10,
    start: int = 0,
    fitted_to: Literal["own", "heard"] = "own",
) -> Algorithm:
    """One of the paper's six with any part fixed by hand; a part given is never fitted.

    kernel       lengthscales on the unit cube; with a context one kernel for all coordinates, or kernels.Product
    lam          λ, on scaled outcomes
    beta         a number (1 in all of the paper's experiments), or confidence.Theory(...), which also sets λ = 1 + 2/T
                 and, where T is not given, makes the algorithm restart
    refit_every  rounds between fits; None fits nothing
    start        uncertainty-sampling queries first (what GP-BUCB's theory asks for)
    fitted_to    "own": fits look at the data of the method's own GP (Eq. (1)), with unheard outcomes filled as its
                 silence says, zeros or hallucinations; "heard": at what was heard alone

    >>> from belated import Points, Study, algorithms, kernels
    >>> algorithm = algorithms.paper("GP-UCB-SDF", kernel=kernels.SE(0.1), lam=0.05, refit_every=None)
    >>> Study.create(space=Points([0.0, 0.5, 1.0]), algorithm=algorithm, floor=0.0, patience=20, seed=0)
    Study(GP-UCB-SDF, maximize, silence=floor, 0 trials, 0 heard)
    """
    known = find_algorithm(name, PAPER)
    if kernel is not None and (isinstance(kernel, type) or not callable(getattr(kernel, "on", None))):
        raise InvalidInput(f"kernel must be a value of belated.kernels, such as SE(0.1) (got {format_value(kernel)})")
    if lam is not None and not is_positive(lam):
        raise InvalidInput(f"lam must be a positive finite number (got {format_value(lam)})")
    if isinstance(beta, bool) or not isinstance(beta, (int, float, Constant, Theory)):
        raise InvalidInput(f"beta must be a number or confidence.Theory(...) (got {format_value(beta)})")
    if not isinstance(beta, (Constant, Theory)):
        beta = Constant(require_rule("beta", beta, "be a finite number of at least 0", lambda v: 0 <= v < math.inf))
    if refit_every is not None and (
        isinstance(refit_every, bool) or not isinstance(refit_every, int) or refit_every < 1
    ):
        raise InvalidInput(f"refit_every must be a positive whole number or None (got {refit_every!r})")
    if isinstance(start, bool) or not isinstance(start, int) or start < 0:
        raise InvalidInput(f"start must be a whole number of at least 0 (got {start!r})")
    if fitted_to not in FITTED_TO:
        raise InvalidInput(f"fitted_to must be one of {', '.join(FITTED_TO)} (got {format_value(fitted_to)})")
    if isinstance(beta, Theory) and lam is not None:
        raise InvalidInput("lam is set by confidence.Theory to 1 + 2/T; leave it out")
    whole_by_hand = kernel is not None and (lam is not None or isinstance(beta, Theory))
    space_filling = 0 if start or whole_by_hand or refit_every is None else known.opening.space_filling
    return replace(
        known,
        width=replace(known.width, beta=beta),
        model=replace(known.model, kernel=kernel, lam=None if lam is None else float(lam)),
        fitting=replace(known.fitting, schedule=Schedule(refit_every), data=FITTED_TO[fitted_to]),
        opening=Opening(space_filling=space_filling, uncertainty=start),
    )


NEEDED: dict[str, tuple[str, ...]] = {  # what an own part must have
    "policy": ("scores", "surface"),
    "kernel": ("variance", "diag", "slopes", "frequencies", "on", "lengthscales", "at"),
    "surrogate": ("fit",),
}
POLICIES: dict[str, type[Policy]] = {
    policy.__name__: policy
    for policy in (UCB, RelativeUCB, ThompsonSampling, UncertaintySampling, Greedy, LogEI, Overtaking)
}
reserve("policy", "default", *PAPER, *POLICIES)
reserve("surrogate", "default", *PAPER)


def custom(
    name: str, *, policy: Policy | None = None, kernel: Kernel | None = None, surrogate: Surrogate | None = None
) -> Algorithm:
    """The default with parts of your own. A store keeps it if they are registered (belated.register).

    name       what the algorithm is called
    policy     chooses every query. None: the default's moves; with a surrogate, expected improvement and UCB in turn
    kernel     the shape of the GP's kernel; its hyperparameters are fitted
    surrogate  a model in place of the GP

    >>> from belated import Real, Study, algorithms, policies
    >>> greedy = algorithms.custom("greedy", policy=policies.Greedy())
    >>> Study.create("sqlite:///lab.db", "mine", space={"x": Real(0, 1)}, algorithm=greedy, silence="unknown", seed=0)
    Study(mine: greedy, maximize, silence=unknown, 0 trials, 0 heard)
    """
    if name in PAPER or name == DEFAULT.name:
        raise InvalidInput(f"an algorithm with own parts needs a name of its own (got {format_value(name)})")
    if kernel is not None and surrogate is not None:
        raise InvalidInput("a surrogate takes the place of the GP: leave kernel out")
    given: tuple[tuple[Kind, Any], ...] = (("policy", policy), ("kernel", kernel), ("surrogate", surrogate))
    for kind, part in given:
        if part is not None:
            require_members(kind, part, NEEDED[kind])
    algorithm = replace(DEFAULT, name=name, own=tuple((kind, part) for kind, part in given if part is not None))
    if kernel is not None:
        algorithm = replace(algorithm, model=replace(DEFAULT.model, shape=kernel, conversion_shapes=()))
    if surrogate is not None:
        algorithm = replace(
            algorithm,
            moves=DEFAULT.cumulative_moves,
            model=replace(DEFAULT.model, surrogate=surrogate, noise="one"),
            fitting=replace(DEFAULT.fitting, schedule=Schedule(None)),
        )
    if policy is not None:
        checked = policy if type(policy) in POLICIES.values() else OwnPolicy(policy)
        algorithm = replace(algorithm, moves=(Move(checked),), cumulative_moves=(), conversion_moves=())
        algorithm = replace(algorithm, model=replace(algorithm.model, infeasible="floor"))  # its scale is not known
    return algorithm


def write_own(kind: Kind, part: Any) -> dict[str, object]:
    """A part of an algorithm as plain values; belated's own policies and kernels by their own names."""
    if kind == "kernel":
        spec: dict[str, object] = part.spec()
        return spec
    return {kind: type(part).__name__} if type(part) in POLICIES.values() else write_part(kind, part)


def read_own(kind: Kind, spec: dict[str, Any]) -> Any:
    """What `write_own` wrote, read back."""
    if kind == "kernel":
        return read_kernel(spec)
    return POLICIES[spec[kind]]() if spec[kind] in POLICIES else read_part(kind, spec)


def read_algorithm(spec: Mapping[str, Any]) -> Algorithm:
    """The algorithm that a `spec()` names."""
    if "own" in spec:
        return custom(spec["algorithm"], **{kind: read_own(kind, part) for kind, part in spec["own"].items()})
    if spec["algorithm"] not in PAPER:
        return find_algorithm(spec["algorithm"])
    beta, kernel = spec["beta"], spec["kernel"]
    return paper(
        spec["algorithm"],
        kernel=None if kernel is None else read_kernel(kernel),
        lam=spec["lam"],
        beta=Theory(**beta) if isinstance(beta, Mapping) else beta,
        refit_every=spec["refit_every"],
        start=spec["start"],
        fitted_to=spec["fitted_to"],
    )


def find_algorithm(name: object, table: dict[str, Algorithm] | None = None) -> Algorithm:
    """The algorithm of that name; without a table, also the one made of a registered policy or surrogate."""
    known = {**PAPER, "default": DEFAULT} if table is None else table
    if isinstance(name, str) and name in known:
        return known[name]
    if table is None and (policy := find_part("policy", name)) is not None:
        return custom(str(name), policy=policy())
    if table is None and (surrogate := find_part("surrogate", name)) is not None:
        return custom(str(name), surrogate=surrogate())
    names = [*known, *(list_parts("policy") + list_parts("surrogate") if table is None else [])]
    raise InvalidInput(f"algorithm must be one of {', '.join(names)} (got {name!r})")
