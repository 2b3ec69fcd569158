"""A finite set of queries, the paper's Q, in the user's units."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from belated.errors import InvalidInput, Outside
from belated.learner.arrays import Array
from belated.learner.gp.domain import HOT, Finite
from belated.space.parameters import Choice, check_option_count
from belated.validation import (
    Params,
    Scalar,
    Spec,
    check_names,
    format_names,
    format_value,
    is_number,
    make_key,
    prefix_errors,
    require_number,
    require_plain,
    require_titles,
    scale_to_unit,
)

PLAIN = (float, int, str, bool)  # types of values that need no conversion


@dataclass(frozen=True, init=False, repr=False)
class Points:
    """A finite set of queries: a list of dictionaries, or an array (n,) or (n, d).

    Numbers are scaled to [0, 1] by their least and largest value, other coordinates are options without order, and a
    constant coordinate is 0. Points are counted from 0.

    >>> from belated import Points
    >>> Points([0.0, 0.25, 0.5]).at(1)
    {'x': 0.25}
    >>> Points([{"solvent": "water", "hours": 2}, {"solvent": "ethanol", "hours": 8}])
    Points(2 of solvent, hours)
    """

    names: tuple[str, ...]
    rows: tuple[tuple[Scalar, ...], ...]
    domain: Finite = field(compare=False)
    widths: tuple[int, ...] = field(compare=False)  # columns of each coordinate
    _by_row: dict[Hashable, int] = field(compare=False)
    _by_x: dict[Hashable, int] = field(compare=False)

    def __init__(self, points: Sequence[Any] | NDArray[Any], names: Sequence[str] | None = None) -> None:
        titles, rows = _read_table(points, names)
        check_option_count(len(_list_options(rows)))
        blocks = []
        for name, column in zip(titles, zip(*rows, strict=True), strict=True):
            with prefix_errors(f"{name}: "):
                blocks.append(_scale_column(column))
        by_row = _number_keys("points must differ", (tuple(map(make_key, row)) for row in rows))
        domain = Finite(np.concatenate(blocks, axis=1))
        by_x = _number_keys("points must differ by more than rounding once scaled", (x.tobytes() for x in domain.Q))
        widths = tuple(block.shape[1] for block in blocks)
        for field_, value in zip(self.__dataclass_fields__, (titles, rows, domain, widths, by_row, by_x), strict=True):
            object.__setattr__(self, field_, value)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Points({len(self)} of {format_names(self.names)})"

    def at(self, i: int) -> dict[str, Scalar]:
        """The params of point i."""
        return dict(zip(self.names, self.rows[i], strict=True))

    def list_options(self) -> list[Scalar]:
        """Every value that is no number, or stands in a column with such ones."""
        return _list_options(self.rows)

    def matching(self, partial: Params) -> NDArray[np.intp]:
        """The numbers of the points that agree with partial, which names some coordinates or all; at least one."""
        check_names(partial, self.names)
        found = list(range(len(self)))
        agreed: list[str] = []
        for c, name in enumerate(self.names):
            if name not in partial:
                continue
            key = make_key(_require_plain(name, partial[name]))
            found = [i for i in found if make_key(self.rows[i][c]) == key]
            if not found:
                which = f"{len(self)} points" + (f" that has the given {format_names(agreed)}" if agreed else "")
                raise Outside(f"{name}: value must be that of one of the {which} (got {format_value(key[1])})")
            agreed.append(name)
        return np.array(found, dtype=np.intp)

    def index(self, params: Params) -> int:
        """The number of the point that equals params."""
        if isinstance(params, dict) and all(type(value) in PLAIN for value in params.values()):  # as they mostly are
            known = self._by_row.get(tuple(make_key(params[name]) for name in self.names if name in params))
            if known is not None and len(params) == len(self.names):
                return known
        check_names(params, self.names, all_of_them=True)
        i = self._by_row.get(tuple(make_key(_require_plain(name, params[name])) for name in self.names))
        return int(self.matching(params)[0]) if i is None else i  # matching raises the error

    def encode(self, params: Params) -> list[float]:
        """The row of Q that these params are."""
        row: list[float] = self.domain.Q[self.index(params)].tolist()
        return row

    def decode(self, x: Array) -> dict[str, Scalar]:
        """The params of a row of Q."""
        i = self._by_x.get((x + 0.0).tobytes())
        if i is None:
            raise Outside(f"x must be a row of Q (got {format_value(x.tolist())})")
        return self.at(i)

    def spec(self) -> Spec:
        return {"kind": "points", "names": list(self.names), "rows": [list(row) for row in self.rows]}


def _number_keys(rule: str, keys: Iterable[Hashable]) -> dict[Hashable, int]:
    first: dict[Hashable, int] = {}
    for i, key in enumerate(keys):
        if first.setdefault(key, i) != i:
            raise InvalidInput(f"{rule} (points {first[key]} and {i} are the same)")
    return first


def _require_plain(name: str, value: object) -> Scalar:
    with prefix_errors(f"{name}: "):
        return require_plain(value)


def _find_options(column: Sequence[Scalar]) -> list[Scalar]:
    """The different values of a column that is not made of numbers; none of a constant."""
    if all(map(is_number, column)):
        return []
    options = dict.fromkeys(map(make_key, column))
    return [option for _, option in options] if len(options) > 1 else []


def _list_options(rows: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    return [option for column in zip(*rows, strict=True) for option in _find_options(column)]


def _scale_column(column: Sequence[Scalar]) -> Array:
    """(n, 1) for numbers, by their range; (n, number of options) for anything else; 0 for a constant."""
    if options := _find_options(column):
        Choice(*options)  # refuses 1 beside True
        place = {make_key(option): i for i, option in enumerate(options)}
        columns = np.zeros((len(column), len(options)))
        columns[np.arange(len(column)), [place[make_key(value)] for value in column]] = HOT
        return columns
    if len(set(map(make_key, column))) == 1:
        return np.zeros((len(column), 1))
    values = [require_number(value) for value in column]
    low, high = min(values), max(values)
    return np.array([[scale_to_unit(x, low, high) if low < high else 0.0] for x in values])


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    if isinstance(value, np.ndarray):
        return value.ndim in (1, 2)
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _read_table(points: object, names: Sequence[str] | None) -> tuple[tuple[str, ...], tuple[tuple[Scalar, ...], ...]]:
    """The names, and one tuple of values per point, from the argument of Points."""
    if not _is_list(points):
        raise InvalidInput(
            f"points must be a list of dictionaries or an array (n,) or (n, d) (got {format_value(points)})"
        )
    rows = list(points)
    if not rows:
        raise InvalidInput("points must not be empty (got none)")
    if isinstance(rows[0], Mapping):
        titles = require_titles(rows[0] if names is None else names)
    else:
        rows = [list(row) if _is_list(row) else [row] for row in rows]
        d = len(rows[0])
        titles = require_titles([f"x{i}" if d > 1 else "x" for i in range(d)] if names is None else names)
    table = []
    for i, row in enumerate(rows):
        with prefix_errors(f"point {i}: "):
            if isinstance(rows[0], Mapping):
                check_names(row, titles, all_of_them=True)
                row = [row[name] for name in titles]
            if len(row) != len(titles):
                raise InvalidInput(f"must have a value for each of {format_names(titles)} (got {format_value(row)})")
            table.append(tuple(_require_plain(name, value) for name, value in zip(titles, row, strict=True)))
    return titles, tuple(table)
