"""Policies: from a belief to the next query.

>>> from belated import policies
>>> policies.UCB() == policies.UCB()
True
"""

from belated.learner.policies import (
    UCB,
    Greedy,
    LogEI,
    Overtaking,
    Policy,
    RelativeUCB,
    Surface,
    ThompsonSampling,
    UncertaintySampling,
)

__all__ = [
    "UCB",
    "Greedy",
    "LogEI",
    "Overtaking",
    "Policy",
    "RelativeUCB",
    "Surface",
    "ThompsonSampling",
    "UncertaintySampling",
]
