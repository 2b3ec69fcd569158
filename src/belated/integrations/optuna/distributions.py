"""Optuna's distributions as belated's parameters, and their values both ways.

A float or an integer with a step is a whole number of steps from its low end, and a category is its place among the
choices, which may be of any type."""

from __future__ import annotations

from typing import Any, TypeAlias

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from belated.errors import InvalidInput
from belated.space.parameters import Choice, Integer, Parameter, Real

Numeric: TypeAlias = FloatDistribution | IntDistribution
ON_GRID = 1e-8  # how far from a whole number of steps a value may be, as in Optuna


def make_parameter(distribution: BaseDistribution) -> Parameter:
    """The parameter whose values are those of a distribution that has more than one."""
    if isinstance(distribution, CategoricalDistribution):
        return Choice(*range(len(distribution.choices)))
    numeric = _require_numeric(distribution)
    if _has_steps(numeric):
        return Integer(0, round((numeric.high - numeric.low) / (numeric.step or 1)))
    if isinstance(numeric, IntDistribution):
        return Integer(numeric.low, numeric.high, log=numeric.log)
    return Real(numeric.low, numeric.high, log=numeric.log)


def to_ours(distribution: BaseDistribution, value: Any) -> float | int | None:
    """The parameter's value for one of Optuna's; None if the distribution does not have it.

    Ranges may change from trial to trial, so a value of an older trial may lie outside."""
    if isinstance(distribution, CategoricalDistribution):
        return int(distribution.to_internal_repr(value))
    numeric = _require_numeric(distribution)
    if not numeric.low <= value <= numeric.high:
        return None
    if not _has_steps(numeric):
        return int(value) if isinstance(numeric, IntDistribution) else float(value)
    steps = (value - numeric.low) / (numeric.step or 1)
    return round(steps) if abs(steps - round(steps)) < ON_GRID else None


def to_optuna(distribution: BaseDistribution, value: Any) -> Any:
    """Optuna's value for one of the parameter's."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[value]
    numeric = _require_numeric(distribution)
    return min(numeric.low + value * (numeric.step or 1), numeric.high) if _has_steps(numeric) else value


def _require_numeric(distribution: BaseDistribution) -> Numeric:
    if not isinstance(distribution, Numeric):
        raise InvalidInput(f"distribution must be a float, an integer or a categorical one (got {distribution!r})")
    return distribution


def _has_steps(numeric: Numeric) -> bool:
    """Whether its values are steps apart; whole numbers are what an Integer is anyway."""
    return numeric.step is not None and not (isinstance(numeric, IntDistribution) and numeric.step == 1)
