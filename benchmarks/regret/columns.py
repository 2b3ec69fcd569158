"""A space as columns of numbers, for peers that work on arrays: reals and integers in [0, 1], options by number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from belated.learner.arrays import Array
from belated.space.encoding import Space
from belated.space.parameters import Choice, Integer, Parameter
from belated.validation import Params


def parameters(declared: object) -> dict[str, Parameter]:
    """The parameters of a space or a context by name; none where there is no context."""
    if declared is None:
        return {}
    space = Space.of(declared)  # type: ignore[arg-type]  # it checks
    assert isinstance(space.parameters, tuple), "the public tasks have named parameters"
    return dict(zip(space.names, space.parameters, strict=True))


@dataclass(frozen=True)
class Columns:
    """One column per parameter, in the order given."""

    parameters: Mapping[str, Parameter]

    def encode(self, params: Params) -> list[float]:
        return [_number(p, params[name]) for name, p in self.parameters.items()]

    def decode(self, row: Array) -> dict[str, Any]:
        return {name: _value(p, u) for (name, p), u in zip(self.parameters.items(), row, strict=True)}

    @property
    def bounds(self) -> Array:
        """(2, d): the least and the largest of each column."""
        tops = [len(p.options) - 1.0 if isinstance(p, Choice) else 1.0 for p in self.parameters.values()]
        return np.array([[0.0] * len(tops), tops])

    @property
    def levels(self) -> dict[int, list[float]]:
        """The values that an integer's column may have."""
        return {
            i: p.coordinate.list_points()[:, 0].tolist()
            for i, p in enumerate(self.parameters.values())
            if isinstance(p, Integer)
        }

    @property
    def options(self) -> dict[int, list[float]]:
        """The values that a choice's column may have, without order."""
        return {
            i: [float(k) for k in range(len(p.options))]
            for i, p in enumerate(self.parameters.values())
            if isinstance(p, Choice)
        }


def _number(parameter: Parameter, value: Any) -> float:
    return float(parameter.options.index(value)) if isinstance(parameter, Choice) else parameter.encode(value)[0]


def _value(parameter: Parameter, u: float) -> Any:
    return parameter.options[round(float(u))] if isinstance(parameter, Choice) else parameter.decode([float(u)])
