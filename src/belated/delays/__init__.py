"""Distributions of delays, for simulations; the delays of a study are `study.delays()`.

>>> from belated.delays import Poisson
>>> Poisson(10).rho(20) > 0.99
True
"""

from belated.learner.delays.distributions import (
    ByInput,
    Delay,
    Distribution,
    Empirical,
    Exponential,
    Fixed,
    Geometric,
    LogNormal,
    Poisson,
    Sometimes,
    Uniform,
)
from belated.learner.delays.survival import Band, Survival, estimate_rho, kaplan_meier

__all__ = [
    "Band",
    "ByInput",
    "Delay",
    "Distribution",
    "Empirical",
    "Exponential",
    "Fixed",
    "Geometric",
    "LogNormal",
    "Poisson",
    "Sometimes",
    "Survival",
    "Uniform",
    "estimate_rho",
    "kaplan_meier",
]
