"""A space as scikit-learn's users write it: belated's parameters, and lists of anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from belated import Choice, Integer, Real
from belated.errors import InvalidInput
from belated.validation import format_value, prefix_errors


@dataclass(frozen=True)
class SearchedSpace:
    """Parameters for a study, and the objects that the options of lists stand for: a study's are plain values."""

    parameters: Mapping[str, Real | Integer | Choice]
    objects: Mapping[str, list[Any]]

    @classmethod
    def of(cls, space: object) -> SearchedSpace:
        if not isinstance(space, Mapping) or not space:
            raise InvalidInput(
                'space must be a dictionary such as {"C": Real(0.1, 10), "kernel": ["linear", "rbf"]} '
                f"(got {format_value(space)})"
            )
        objects = {name: list(each) for name, each in space.items() if isinstance(each, list | tuple)}
        return cls({name: _make_parameter(name, each) for name, each in space.items()}, objects)

    def decode(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A query as the estimator takes it."""
        return {name: self.objects[name][value] if name in self.objects else value for name, value in params.items()}


def _make_parameter(name: object, given: object) -> Real | Integer | Choice:
    if isinstance(given, list | tuple):
        with prefix_errors(f"{name}: "):
            return Choice(*range(len(given)))
    if not isinstance(given, Real | Integer | Choice):
        raise InvalidInput(f"{name} must be a Real, Integer, Choice or a list of options (got {format_value(given)})")
    return given
