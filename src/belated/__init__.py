"""belated: Bayesian optimisation for results that come back late."""

from typing import TYPE_CHECKING, Any

from belated.answers import Belief, Replay, Worst
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
from belated.learner import algorithms, confidence, kernels, policies, silence
from belated.parameters import Choice, Integer, Real
from belated.points import Points
from belated.study import Study, studies
from belated.trials import Receipt, Trial

if TYPE_CHECKING:
    from belated.comparison.compare import compare
    from belated.environment import regret, simulate
    from belated.learner import delays

__version__ = "0.1.0"

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
    "Study",
    "Trial",
    "Unavailable",
    "UnknownTrial",
    "Worst",
    "algorithms",
    "compare",
    "confidence",
    "delays",
    "kernels",
    "policies",
    "regret",
    "silence",
    "simulate",
    "studies",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """The simulated world is imported when it is first used: a study in the real one does without."""
    from importlib import import_module

    if name in ("regret", "simulate"):
        return getattr(import_module("belated.environment"), name)
    if name == "compare":
        return import_module("belated.comparison.compare").compare
    if name == "delays":
        return import_module("belated.learner.delays")
    raise AttributeError(f"module 'belated' has no attribute {name!r}")
