"""The space of queries, named parameters or a finite set: from dictionaries to arrays and back.

A space encodes params (a dictionary of plain Python values) as a row on the unit cube (see learner/gp/domain.py),
and decodes such a row, never outside its bounds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from belated.errors import InvalidInput
from belated.learner.arrays import Array
from belated.learner.gp.domain import Compact, Domain
from belated.space.parameters import Choice, Integer, Parameter, Real, check_option_count
from belated.space.points import Points
from belated.validation import (
    Params,
    Scalar,
    Spec,
    check_names,
    format_label,
    format_value,
    prefix_errors,
    require_plain,
    require_titles,
)

What: TypeAlias = Literal["space", "context"]


@dataclass(frozen=True)
class Space:
    """Named parameters in a fixed order, or Points; made by `Space.of`.

    >>> from belated import Integer, Real, Space
    >>> space = Space.of({"x": Real(0, 10), "n": Integer(1, 3)})
    >>> space.encode({"x": 5.0, "n": 3}).tolist()
    [0.5, 1.0]
    """

    names: tuple[str, ...]
    parameters: tuple[Parameter, ...] | Points
    what: What = field(default="space", compare=False)

    @classmethod
    def of(cls, declared: Mapping[str, Parameter] | Points | Space, what: What = "space") -> Space:
        """The space that a user declares as a dictionary, as Points, or as a space."""
        if isinstance(declared, Space):
            return cls(declared.names, declared.parameters, what)
        if isinstance(declared, Points):
            return cls(declared.names, declared, what)
        if not isinstance(declared, Mapping):
            kinds = "a dictionary of Real, Integer and Choice, or Points"
            raise InvalidInput(f"{what} must be {kinds} (got {format_value(declared)})")
        with prefix_errors(f"{what}: "):
            names = require_titles(declared)
        for name in names:
            if not isinstance(declared[name], Parameter):
                raise InvalidInput(
                    f"{name}: must be a Real, an Integer or a Choice (got {format_value(declared[name])})"
                )
        made = cls(names, tuple(declared[name] for name in names), what)
        with prefix_errors(f"{what}: "):
            check_option_count(len(made.list_options()))
        return made

    def list_options(self) -> list[Scalar]:
        """The options of every choice; of Points every value that is no number."""
        if isinstance(self.parameters, Points):
            return self.parameters.list_options()
        return [option for p in self.parameters if isinstance(p, Choice) for option in p.options]

    def find_parameter(self, name: str) -> Parameter:
        """The parameter of this name; Points have none."""
        if isinstance(self.parameters, Points):
            raise TypeError("points have no parameters; their values are listed")
        return self.parameters[self.names.index(name)]

    @cached_property
    def units(self) -> dict[str, str]:
        """The units of the parameters that have one."""
        if isinstance(self.parameters, Points):
            return {}
        kinds = zip(self.names, self.parameters, strict=True)
        return {name: p.unit for name, p in kinds if isinstance(p, Real | Integer) and p.unit is not None}

    def format_label(self, name: str) -> str:
        """A parameter's name with its unit, as people read it.

        >>> from belated import Real, Space
        >>> Space.of({"temperature": Real(20, 90, unit="°C")}).format_label("temperature")
        'temperature (°C)'
        """
        return format_label(name, self.units.get(name))

    @cached_property
    def domain(self) -> Domain:
        """Where the rows lie."""
        if isinstance(self.parameters, Points):
            return self.parameters.domain
        return Compact(tuple(p.coordinate for p in self.parameters))

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Columns of each parameter."""
        if isinstance(self.parameters, Points):
            return self.parameters.widths
        return tuple(p.coordinate.width for p in self.parameters)

    def encode(self, params: Params) -> Array:
        """(D,): the row of a complete dictionary; an error names the parameter that is missing, unknown or outside."""
        return np.array(self.encode_as_list(params))

    def encode_as_list(self, params: Params) -> list[float]:
        """The row of a complete dictionary, as a list; every event that is read is encoded here."""
        if not isinstance(params, dict) or params.keys() != self._named:
            with prefix_errors(self._prefix):
                check_names(params, self.names, all_of_them=True)
        if isinstance(self.parameters, Points):
            try:
                return self.parameters.encode(params)
            except InvalidInput as error:
                raise type(error)(f"{self._prefix}{error}") from None
        row: list[float] = []
        for name, parameter in zip(self.names, self.parameters, strict=True):
            try:
                row += parameter.encode(params[name])
            except InvalidInput as error:
                raise type(error)(f"{self._prefix}{name}: {error}") from None
        return row

    def encode_run(self, params: Params) -> list[float]:
        """The row of a query as it was run: numbers may lie outside their ranges, which bind what is proposed alone.

        >>> from belated import Real, Space
        >>> Space.of({"x": Real(0, 10)}).encode_run({"x": 12.5})
        [1.25]
        """
        if isinstance(self.parameters, Points):
            return self.encode_as_list(params)
        with prefix_errors(self._prefix):
            check_names(params, self.names, all_of_them=True)
        row: list[float] = []
        for name, parameter in zip(self.names, self.parameters, strict=True):
            with prefix_errors(f"{self._prefix}{name}: "):
                row += parameter.encode_run(params[name])
        return row

    def holds(self, params: Params) -> bool:
        """Whether a query that was run lies inside the ranges.

        >>> from belated import Real, Space
        >>> Space.of({"x": Real(0, 10)}).holds({"x": 12.5})
        False
        """
        if isinstance(self.parameters, Points):
            return True  # nothing else can be run
        kinds = zip(self.names, self.parameters, strict=True)
        return all(isinstance(kind, Choice) or kind.low <= params[name] <= kind.high for name, kind in kinds)

    def with_ranges(self, ranges: Mapping[str, tuple[float, float]]) -> Space:
        """The same space with other ends of some ranges.

        >>> from belated import Real, Space
        >>> Space.of({"x": Real(0, 10)}).with_ranges({"x": (0, 20)}).parameters
        (Real(low=0.0, high=20.0, log=False, unit=None),)
        """
        if isinstance(self.parameters, Points):
            raise InvalidInput("the ranges of a list of points cannot be amended; make a new study")
        if not isinstance(ranges, Mapping) or not ranges:
            raise InvalidInput(f'ranges must be a dictionary such as {{"x": (0, 2)}} (got {format_value(ranges)})')
        with prefix_errors(self._prefix):
            check_names(ranges, self.names)
        kinds = zip(self.names, self.parameters, strict=True)
        changed = {name: p if name not in ranges else _change_range(name, p, ranges[name]) for name, p in kinds}
        return Space.of(changed, self.what)

    @cached_property
    def _named(self) -> frozenset[str]:
        return frozenset(self.names)

    def as_given(self, partial: Params) -> dict[str, Any]:
        """Some params as plain values, exactly as the user gave them; encode them first, which checks them."""
        if isinstance(self.parameters, Points):
            return {name: require_plain(partial[name]) for name in self.names if name in partial}
        kinds = zip(self.names, self.parameters, strict=True)
        return {
            name: float(partial[name]) if isinstance(parameter, Real) else require_plain(partial[name])
            for name, parameter in kinds
            if name in partial
        }

    def encode_all(self, many: Iterable[Params]) -> Array:
        """(n, D): a row for each."""
        return np.array([self.encode_as_list(params) for params in many], dtype=np.float64).reshape(-1, self.domain.D)

    def decode(self, x: Array) -> dict[str, Any]:
        """The params of a row: plain floats, ints and options, always inside the bounds."""
        x = np.asarray(x, dtype=np.float64)
        if x.shape != (self.domain.D,) or not np.isfinite(x).all():
            raise InvalidInput(f"x must be {self.domain.D} finite numbers (got {format_value(x.tolist())})")
        if isinstance(self.parameters, Points):
            return dict(self.parameters.decode(x))
        ends = itertools.accumulate(self.widths)
        kinds = zip(self.names, self.parameters, self.widths, ends, strict=True)
        return {name: parameter.decode(x[end - width : end]) for name, parameter, width, end in kinds}

    def fix(self, partial: Params) -> dict[int, list[float]]:
        """Some parameters encoded, as position -> columns. Points have `matching` instead."""
        if isinstance(self.parameters, Points):
            raise TypeError("Points are fixed by matching(partial)")
        fixed = {}
        with prefix_errors(self._prefix):
            check_names(partial, self.names)
            for i, (name, parameter) in enumerate(zip(self.names, self.parameters, strict=True)):
                if name in partial:
                    try:
                        fixed[i] = parameter.encode(partial[name])
                    except InvalidInput as error:
                        raise type(error)(f"{name}: {error}") from None
        return fixed

    def matching(self, partial: Params) -> NDArray[np.intp]:
        """Of Points: the numbers of those that agree with partial, at least one."""
        with prefix_errors(self._prefix):
            return self._points.matching(partial)

    def index(self, params: Params) -> int:
        """Of Points: the number of the one that equals params."""
        with prefix_errors(self._prefix):
            return self._points.index(params)

    def at(self, i: int) -> dict[str, Any]:
        """Of Points: the params of number i."""
        return dict(self._points.at(i))

    def spec(self) -> Spec:
        """The space as plain JSON; `Space.from_spec` gives back an equal one."""
        if isinstance(self.parameters, Points):
            return self.parameters.spec()
        return {"kind": "parameters", "names": list(self.names), "parameters": [p.spec() for p in self.parameters]}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], what: What = "space") -> Space:
        """The space whose spec() this is."""
        match spec:
            case {"kind": "points", "names": [*names], "rows": [*rows]}:
                return cls.of(Points(rows, names), what)
            case {"kind": "parameters", "names": [*names], "parameters": [*parts]} if len(names) == len(parts):
                return cls.of(dict(zip(require_titles(names), map(_read_parameter, parts), strict=True)), what)
        raise InvalidInput(f"spec must be one that spec() wrote (got {format_value(spec)})")

    @property
    def _prefix(self) -> str:
        return "" if self.what == "space" else f"{self.what} "

    @property
    def _points(self) -> Points:
        if not isinstance(self.parameters, Points):
            raise TypeError("only Points are numbered; other parameters are fixed by fix(partial)")
        return self.parameters


def _change_range(name: str, parameter: Parameter, ends: object) -> Parameter:
    """A number with another range."""
    if isinstance(parameter, Choice):
        raise InvalidInput(f"{name}: a choice has no range; its options cannot be amended")
    if not isinstance(ends, Sequence) or isinstance(ends, str) or len(ends) != 2:
        raise InvalidInput(f"{name}: a range must be a pair (low, high) (got {format_value(ends)})")
    with prefix_errors(f"{name}: "):
        return type(parameter)(ends[0], ends[1], parameter.log, unit=parameter.unit)


def _read_parameter(spec: object) -> Parameter:
    match spec:
        case {"kind": "real", "low": low, "high": high, "log": log, "unit": unit}:
            return Real(low, high, log, unit=unit)
        case {"kind": "integer", "low": low, "high": high, "log": log, "unit": unit}:
            return Integer(low, high, log, unit=unit)
        case {"kind": "real", "low": low, "high": high, "log": log}:
            return Real(low, high, log)
        case {"kind": "integer", "low": low, "high": high, "log": log}:
            return Integer(low, high, log)
        case {"kind": "choice", "options": [*options]}:
            return Choice(*options)
    raise InvalidInput(f"spec must be one that spec() wrote (got {format_value(spec)})")
