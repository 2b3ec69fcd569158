"""How likely a query can be evaluated at all, learned from those that could and those that could not.

An infeasible query says nothing about how good f is. Put into the belief about f as a very bad outcome, it makes a
cliff there, and beside a cliff a smooth mean swings: where outcomes have little noise, far above everything that was
heard. So the default keeps them apart, and weighs what a policy finds by

p(x)  the mean of a GP about 1 (it had an outcome) and 0 (it was infeasible), with the kernel of the belief about f;
      1 where nothing is known, and between LEAST and 1
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from belated.learner.arrays import Array
from belated.learner.gp.posterior import GP, GrowingPosterior, Posterior
from belated.learner.history import History, order_by_arrival

NOISE = 1e-4  # variance of what is seen of feasibility, as a share of the kernel's: a query that was evaluated can be
LEAST = 1e-6  # of p


@dataclass(frozen=True, eq=False)
class Feasibility:
    """p, and the value that an infeasible query has."""

    posterior: Posterior
    floor: float

    def __call__(self, Q: Array) -> Array:
        """p at Q                                                  (q,)."""
        return np.clip(self.posterior.mean(Q), LEAST, 1.0)

    def gradient(self, Q: Array) -> tuple[Array, Array]:
        """p and its gradient at Q                                 (q,), (q, D)."""
        mean, slope = self.posterior.mean_gradient(Q)
        inside = (mean > LEAST) & (mean < 1.0)
        return np.clip(mean, LEAST, 1.0), np.where(inside[:, None], slope, 0.0)


def learn_feasibility(gp: GP, h: History, floor: float, memory: GrowingPosterior) -> Feasibility:
    """What a history says about it; it has at least one infeasible query."""
    rows = order_by_arrival(h)
    about = replace(gp, lam=NOISE * gp.kernel.variance, mean=1.0)
    labels = np.where(h.infeasible[rows], 0.0, 1.0)
    return Feasibility(memory.condition(about, h.number[rows], h.X[rows], labels, points=h.point[rows]), floor)


def set_apart(h: History) -> History:
    """The history without its infeasible queries."""
    return replace(
        h,
        infeasible=np.zeros_like(h.infeasible),
        gone=h.gone | h.infeasible,
        recent=h.recent & ~h.infeasible,
    )
