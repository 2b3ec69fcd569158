"""belated: Bayesian optimisation for results that come back late."""

from typing import TYPE_CHECKING, Any

from belated.errors import (
    AlreadyEnded,
    AlreadyExists,
    AlreadyTold,
    BelatedError,
    Closed,
    Contradiction,
    Deleted,
    Exhausted,
    Followed,
    Infeasible,
    InvalidInput,
    KeyTaken,
    Locked,
    NotAllowed,
    NothingHeard,
    NothingToUndo,
    NotPositiveDefinite,
    NotSignedIn,
    NoWorkers,
    Outside,
    PartWarning,
    ServerFault,
    SilenceWarning,
    StoreChanged,
    TooBusy,
    TooLarge,
    TooOften,
    Unavailable,
    UnexplainedEdits,
    UnknownStudy,
    UnknownTrial,
    Unreachable,
    Unreadable,
    Unregistered,
    WorkerLost,
)
from belated.learner.choice.problem import Hyperparameters
from belated.objective import Objective
from belated.parts import register
from belated.patience import Patience
from belated.results import Belief, BestQuery, Receipt, Replay, Trial, WorstValue
from belated.settings import Settings
from belated.space.encoding import Space
from belated.space.parameters import Choice, Integer, Real
from belated.space.points import Points
from belated.study import Study, studies
from belated.version import __version__ as __version__

if TYPE_CHECKING:
    from belated import algorithms, confidence, delays, events, kernels, policies, silence
    from belated.comparison.compare import compare
    from belated.comparison.result import ComparisonResult
    from belated.delays.advice import Advice
    from belated.delays.report import DelayReport
    from belated.execution.optimize import Run
    from belated.outlook.result import Outlook
    from belated.record.backup import BackupReport, RestoreReport, backup, restore
    from belated.record.check import CheckReport, check
    from belated.simulation.clock import SimulatedClock
    from belated.simulation.regret import Regret, measure_regret
    from belated.simulation.simulate import simulate


# Imported when they are first used, so that `import belated` is quick: modules, and names of modules.
MODULES = ("algorithms", "confidence", "delays", "events", "kernels", "policies", "silence")
LAZY = {
    "Advice": "belated.delays.advice",
    "BackupReport": "belated.record.backup",
    "CheckReport": "belated.record.check",
    "ComparisonResult": "belated.comparison.result",
    "DelayReport": "belated.delays.report",
    "Outlook": "belated.outlook.result",
    "Regret": "belated.simulation.regret",
    "RestoreReport": "belated.record.backup",
    "Run": "belated.execution.optimize",
    "SimulatedClock": "belated.simulation.clock",
    "backup": "belated.record.backup",
    "check": "belated.record.check",
    "compare": "belated.comparison.compare",
    "measure_regret": "belated.simulation.regret",
    "restore": "belated.record.backup",
    "simulate": "belated.simulation.simulate",
}

__all__ = [
    "Advice",
    "AlreadyEnded",
    "AlreadyExists",
    "AlreadyTold",
    "BackupReport",
    "BelatedError",
    "Belief",
    "BestQuery",
    "CheckReport",
    "Choice",
    "Closed",
    "ComparisonResult",
    "Contradiction",
    "DelayReport",
    "Deleted",
    "Exhausted",
    "Followed",
    "Hyperparameters",
    "Infeasible",
    "Integer",
    "InvalidInput",
    "KeyTaken",
    "Locked",
    "NoWorkers",
    "NotAllowed",
    "NotPositiveDefinite",
    "NotSignedIn",
    "NothingHeard",
    "NothingToUndo",
    "Objective",
    "Outlook",
    "Outside",
    "PartWarning",
    "Patience",
    "Points",
    "Real",
    "Receipt",
    "Regret",
    "Replay",
    "RestoreReport",
    "Run",
    "ServerFault",
    "Settings",
    "SilenceWarning",
    "SimulatedClock",
    "Space",
    "StoreChanged",
    "Study",
    "TooBusy",
    "TooLarge",
    "TooOften",
    "Trial",
    "Unavailable",
    "UnexplainedEdits",
    "UnknownStudy",
    "UnknownTrial",
    "Unreachable",
    "Unreadable",
    "Unregistered",
    "WorkerLost",
    "WorstValue",
    "algorithms",
    "backup",
    "check",
    "compare",
    "confidence",
    "delays",
    "events",
    "kernels",
    "measure_regret",
    "policies",
    "register",
    "restore",
    "silence",
    "simulate",
    "studies",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in MODULES:
        return import_module(f"belated.{name}")
    if name in LAZY:
        return getattr(import_module(LAZY[name]), name)
    raise AttributeError(f"module 'belated' has no attribute {name!r}")
