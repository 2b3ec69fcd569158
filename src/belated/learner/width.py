"""How far an algorithm trusts σ: β_t for most, widened to ν_t where feedback is censored.

β_t   a constant (1 in all of the paper's experiments), or the value of the theory, by a rule of the algorithm's own
ν_t   B_y Σ σ_{t-1}(x_s) + β_t over the queries of the last m rounds, B_y = 1 on the paper's scale
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from belated.learner.belief import ChoiceBelief
from belated.learner.confidence import Constant, Theory, beta_baseline

Beta = Constant | Theory
BetaRule = Callable[[Theory, float, float], float]  # β_t from (theory, γ_{t-1}, B_y)
ONE = Constant(1.0)


@dataclass(frozen=True)
class BetaWidth:
    """β_t alone: the paper's four baselines, and the default.

    >>> from belated import algorithms
    >>> algorithms.DEFAULT.width.beta.value
    2.0
    """

    beta: Beta = ONE

    def beta_in_theory(self, theory: Theory, gamma: float) -> float:
        """β_t where the theory sets it, γ_{t-1} being `gamma`."""
        return beta_baseline(theory, gamma)

    def widening(self, belief: ChoiceBelief) -> float:
        """What is added to β_t."""
        return 0.0


@dataclass(frozen=True)
class CensoredWidth:
    """ν_t: GP-UCB-SDF and GP-TS-SDF (Theorems 1 to 3).

    >>> from belated import algorithms
    >>> [name for name, known in algorithms.PAPER.items() if isinstance(known.width, algorithms.CensoredWidth)]
    ['GP-UCB-SDF', 'GP-TS-SDF']
    """

    rule: BetaRule  # β_t in theory: confidence.beta_sdf_ucb, or beta_sdf_ts where queries are Thompson draws
    beta: Beta = ONE

    def beta_in_theory(self, theory: Theory, gamma: float) -> float:
        """β_t where the theory sets it, for outcomes in [0, 1]."""
        return self.rule(theory, gamma, 1.0)

    def widening(self, belief: ChoiceBelief) -> float:
        """What is added to β_t: the σ of the queries of the last m."""
        return belief.recent_spread()


Width = BetaWidth | CensoredWidth
