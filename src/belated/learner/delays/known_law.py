"""A law of delays that is known and not learned: one of belated's distributions, or one of the user's own.

law   a value with rho(m) = P(d ≤ m), in the unit of the study's patience
a     age of a query without its outcome                             (n,)
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Protocol

import numpy as np

from belated.errors import InvalidInput
from belated.learner.arrays import Array
from belated.learner.delays.distributions import (
    Empirical,
    Exponential,
    Fixed,
    Geometric,
    LogNormal,
    Poisson,
    Sometimes,
    Uniform,
)
from belated.parts import check_returned, read_part, reserve, write_part

DISTRIBUTIONS: dict[str, type] = {
    law.__name__: law for law in (Empirical, Exponential, Fixed, Geometric, LogNormal, Poisson, Sometimes, Uniform)
}
reserve("delay", *DISTRIBUTIONS)


class DelayLaw(Protocol):
    """What is needed of a law: rho."""

    def rho(self, m: float) -> float:
        """P(d ≤ m), at most 1; rho(inf) is the share that ever comes."""


def compute_arrival(law: DelayLaw, age: Array) -> tuple[Array, Array]:
    """P(it still comes | its age) = (ρ(∞) - ρ(a)) / (1 - ρ(a)), and P(it never comes) = 1 - ρ(∞)      (n,), (n,)."""
    times, place = np.unique(np.append(age, np.inf), return_inverse=True)
    rho = check_returned(law, "rho", [law.rho(float(t)) for t in times], times.shape)
    if np.any((rho < 0) | (rho > 1)) or np.any(np.diff(rho) < 0):
        raise InvalidInput(f"{type(law).__name__}: rho must rise from 0 to at most 1 (got {rho.tolist()!r:.100})")
    came, ever = rho[place[:-1]], float(rho[-1])
    left = 1.0 - came
    comes = np.divide(ever - came, left, out=np.zeros_like(left), where=left > 0)
    return comes, np.full(len(age), 1.0 - ever)


def write_law(law: DelayLaw) -> dict[str, Any]:
    """A law as plain values: one of belated's by its class, any other by its registered name."""
    name = type(law).__name__
    if type(law) is not DISTRIBUTIONS.get(name):
        return write_part("delay", law)
    given = {field.name: getattr(law, field.name) for field in fields(law)}  # type: ignore[arg-type]
    plain = {what: write_law(each) if hasattr(each, "rho") else each for what, each in given.items()}
    return {"delay": name, "with": plain}


def read_law(spec: dict[str, Any]) -> DelayLaw:
    """What `write_law` wrote, read back."""
    if spec["delay"] not in DISTRIBUTIONS:
        own: DelayLaw = read_part("delay", spec)
        return own
    given = {what: read_law(each) if isinstance(each, dict) else each for what, each in spec["with"].items()}
    known: DelayLaw = DISTRIBUTIONS[spec["delay"]](**given)
    return known
