"""belated: Bayesian optimisation for results that come back late."""

from typing import TYPE_CHECKING, Any

from belated.errors import (
    AlreadyEnded,
    AlreadyTold,
    BelatedError,
    Contradiction,
    Exhausted,
    Infeasible,
    InvalidInput,
    KeyTaken,
    NothingHeard,
    NotPositiveDefinite,
    Outside,
    SilenceWarning,
    Unavailable,
    UnknownTrial,
)
from belated.learner import algorithms, confidence, policies, silence
from belated.learner.gp import kernels
from belated.results import Belief, Receipt, Replay, Trial, WorstValue
from belated.space.parameters import Choice, Integer, Real
from belated.space.points import Points
from belated.study import Study, studies

if TYPE_CHECKING:
    from belated import delays
    from belated.comparison.compare import compare
    from belated.simulation.clock import SimulatedClock
    from belated.simulation.regret import measure_regret
    from belated.simulation.simulate import simulate

__version__ = "0.2.0.dev0"

__all__ = [
    "AlreadyEnded",
    "AlreadyTold",
    "BelatedError",
    "Belief",
    "Choice",
    "Contradiction",
    "Exhausted",
    "Infeasible",
    "Integer",
    "InvalidInput",
    "KeyTaken",
    "NotPositiveDefinite",
    "NothingHeard",
    "Outside",
    "Points",
    "Real",
    "Receipt",
    "Replay",
    "SilenceWarning",
    "SimulatedClock",
    "Study",
    "Trial",
    "Unavailable",
    "UnknownTrial",
    "WorstValue",
    "algorithms",
    "compare",
    "confidence",
    "delays",
    "kernels",
    "measure_regret",
    "policies",
    "silence",
    "simulate",
    "studies",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """The simulated world is imported when it is first used: a study in the real one does without."""
    from importlib import import_module

    if name == "SimulatedClock":
        return import_module("belated.simulation.clock").SimulatedClock
    if name == "simulate":
        return import_module("belated.simulation.simulate").simulate
    if name == "measure_regret":
        return import_module("belated.simulation.regret").measure_regret
    if name == "compare":
        return import_module("belated.comparison.compare").compare
    if name == "delays":
        return import_module("belated.delays")
    raise AttributeError(f"module 'belated' has no attribute {name!r}")
