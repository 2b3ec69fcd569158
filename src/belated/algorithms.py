"""Algorithms by name, the paper's six with parts fixed by hand, and the small values that one is composed of.

>>> from belated import algorithms
>>> algorithms.paper("GP-UCB-SDF", lam=0.05).name
'GP-UCB-SDF'
"""

from belated.learner.algorithms import DEFAULT, PAPER, Algorithm, Implied, Model, Move, Opening, custom, paper
from belated.learner.fitting import Fitting, Heard, HeardAndSettled, OwnData, Schedule
from belated.learner.gp.fit import HyperPrior
from belated.learner.gp.scale import FloorToOne, Robust
from belated.learner.width import BetaWidth, CensoredWidth

__all__ = [
    "DEFAULT",
    "PAPER",
    "Algorithm",
    "BetaWidth",
    "CensoredWidth",
    "Fitting",
    "FloorToOne",
    "Heard",
    "HeardAndSettled",
    "HyperPrior",
    "Implied",
    "Model",
    "Move",
    "Opening",
    "OwnData",
    "Robust",
    "Schedule",
    "custom",
    "paper",
]
