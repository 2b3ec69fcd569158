"""A model of your own in place of the GP, asked the questions that policies and looks ask of a posterior.

X, y   the rows of a belief on the unit cube, and their ỹ on the model's scale     (n, D), (n,)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from belated.errors import Contradiction, InvalidInput
from belated.learner.arrays import Array, Mask
from belated.learner.belief import FactorCache, ModelBelief, believe, count_infeasible, fill_silence
from belated.learner.gp.posterior import GP, Posterior
from belated.learner.history import History, order_by_arrival
from belated.learner.silence import Silence
from belated.parts import check_returned, require_members

STEP = 1e-5  # on the unit cube, of a gradient by differences


class FittedModel(Protocol):
    """What a surrogate says of f. It may also have draw(Q, rng) and gradient(Q), which gives those of mean and std."""

    def mean(self, Q: Array) -> Array:
        """μ at every row of Q                                          (q,)."""

    def std(self, Q: Array) -> Array:
        """σ at every row of Q                                          (q,)."""


class Surrogate(Protocol):
    """A model of f that is fitted to outcomes. The same outcomes must give the same model."""

    def fit(self, X: Array, y: Array) -> FittedModel: ...


@dataclass(frozen=True, eq=False)
class SurrogatePosterior:
    """A fitted surrogate, with the methods of a posterior. `gp` is the prior, for the scale of f alone."""

    surrogate: Surrogate
    fitted: FittedModel
    gp: GP
    X: Array
    y_tilde: Array

    @cached_property
    def place(self) -> NDArray[np.intp]:
        return np.arange(len(self.X))

    @cached_property
    def lams(self) -> Array:
        """The noise of each row: the prior's, as a surrogate keeps its own to itself."""
        return np.full(len(self.X), self.gp.lam)

    @cached_property
    def own_means(self) -> Array:
        return self.mean(self.X)

    def mean(self, Q: Array) -> Array:
        return check_returned(self.surrogate, "mean", self.fitted.mean(Q), (len(Q),))

    def std(self, Q: Array) -> Array:
        std = check_returned(self.surrogate, "std", self.fitted.std(Q), (len(Q),))
        if np.any(std < 0):
            raise InvalidInput(f"{type(self.surrogate).__name__}: std must be at least 0 (got {float(np.min(std))!r})")
        return std

    def mean_and_std(self, Q: Array) -> tuple[Array, Array]:
        return self.mean(Q), self.std(Q)

    def std_of(self, outcomes: Mask) -> Array:
        return self.std(self.X[outcomes])

    def level_std(self, Q: Array) -> Array:
        return np.zeros(len(Q))

    def mean_gradient(self, Q: Array) -> tuple[Array, Array]:
        return self.mean(Q), self._slopes(Q)[0]

    def gradients(self, Q: Array) -> tuple[Array, Array, Array, Array]:
        """μ, σ² and their gradients."""
        (mean, std), (d_mean, d_std) = self.mean_and_std(Q), self._slopes(Q)
        return mean, np.square(std), d_mean, 2.0 * std[:, None] * d_std

    def _slopes(self, Q: Array) -> tuple[Array, Array]:
        """∂μ/∂q and ∂σ/∂q, by the surrogate itself, or by differences between two points on both sides."""
        own = getattr(self.fitted, "gradient", None)
        if own is not None:
            d_mean, d_std = own(Q)
            return (
                check_returned(self.surrogate, "the gradient of the mean", d_mean, Q.shape),
                check_returned(self.surrogate, "the gradient of the std", d_std, Q.shape),
            )
        q, D = Q.shape
        low, high = (np.clip(Q[:, None] + side * STEP * np.eye(D), 0.0, 1.0).reshape(-1, D) for side in (-1, 1))
        width = np.maximum((high - low).sum(axis=1), STEP / 2).reshape(q, D)
        return tuple((f(high) - f(low)).reshape(q, D) / width for f in (self.mean, self.std))

    def draw(self, Q: Array, rng: Generator, scale: float = 1.0) -> Array:
        """μ + scale (f - μ), f drawn by the surrogate."""
        own = getattr(self.fitted, "draw", None)
        if own is None:
            raise Contradiction(f"{type(self.surrogate).__name__} cannot draw functions: give it draw(Q, rng)")
        mean = self.mean(Q)
        return mean + scale * (check_returned(self.surrogate, "a draw", own(Q, rng), (len(Q),)) - mean)

    def path(self, rng: Generator, scale: float = 1.0) -> Any:
        raise Contradiction(
            f"functions drawn from {type(self.surrogate).__name__} are known on a list of points alone: "
            "use another policy than Thompson sampling, or Points"
        )

    def difference_from(self, x: Array) -> Any:
        raise Contradiction(f"Overtaking needs covariances, which {type(self.surrogate).__name__} does not have")


def believe_surrogate(
    surrogate: Surrogate, gp: GP, silence: Silence, h: History, memory: FactorCache, z: Array
) -> ModelBelief:
    """The belief of a surrogate from a history, with the pending filled by a silence; without a row, the GP's prior.

    Rows are in the order of asking, so that the order of telling does not matter."""

    def fit(X: Array, y: Array) -> Posterior:
        fitted = surrogate.fit(X, y)
        require_members(f"{type(surrogate).__name__}: what fit returns", fitted, ("mean", "std"))
        answers = SurrogatePosterior(surrogate, fitted, gp, X, y)
        return cast(Posterior, answers)  # it answers the same questions

    known, heard = count_infeasible(gp, h), np.sort(order_by_arrival(h))

    def believe_heard() -> Posterior:
        X, y = h.X[heard], known.y[heard]
        return fit(X, y) if len(X) else gp.condition(X, y)

    filled = fill_silence(gp, silence, known, believe_heard)
    if not len(filled.rows):
        return believe(gp, silence, h, None, memory, z)
    order = np.argsort(filled.rows)
    rows, widths = filled.rows[order], None if filled.widths is None else filled.widths[order]
    return ModelBelief(fit(h.X[rows], filled.y_tilde[order]), h.known[rows], h.recent[rows], z, widths)
