"""A policy of your own, whose values are checked."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.random import Generator

from belated.errors import InvalidInput
from belated.learner.arrays import Array
from belated.learner.belief import ChoiceBelief
from belated.learner.policies import Policy, Surface
from belated.parts import check_returned
from belated.validation import format_value


@dataclass(frozen=True)
class OwnPolicy:
    """The same policy; what it returns is finite and has the right shape, or is refused with its name."""

    policy: Policy

    def scores(self, belief: ChoiceBelief, Q: Array, nu: float, rng: Generator) -> Array:
        return check_returned(self.policy, "scores", self.policy.scores(belief, Q, nu, rng), (len(Q),))

    def surface(self, belief: ChoiceBelief, nu: float, rng: Generator) -> Surface:
        surface = self.policy.surface(belief, nu, rng)
        if not (callable(surface) and hasattr(surface, "gradient")):
            rule = "surface must be a function of Q with a method gradient"
            raise InvalidInput(f"{type(self.policy).__name__}: {rule} (got {format_value(surface)})")
        return OwnSurface(self.policy, surface)


@dataclass(frozen=True)
class OwnSurface:
    """The surface of an own policy."""

    policy: Policy
    surface: Surface

    def __call__(self, Q: Array) -> Array:
        return check_returned(self.policy, "its surface", self.surface(Q), (len(Q),))

    def gradient(self, Q: Array) -> tuple[Array, Array]:
        values, slopes = self.surface.gradient(Q)
        return (
            check_returned(self.policy, "its surface", values, (len(Q),)),
            check_returned(self.policy, "the gradient of its surface", slopes, Q.shape),
        )
