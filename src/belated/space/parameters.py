"""One parameter: Real, Integer or Choice. It has no name; the space puts the name before every message."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from belated.errors import InvalidInput, Outside
from belated.learner.arrays import Array
from belated.learner.gp.domain import HOT, Interval, Lattice, OneHot
from belated.validation import (
    Scalar,
    Spec,
    format_names,
    format_value,
    make_key,
    prefix_errors,
    require_bool,
    require_number,
    require_plain,
    require_whole,
    require_words,
    scale_to_unit,
)

LONGEST_UNIT = 40  # characters
FARTHEST = 1000  # ranges: how far outside its range a number may have been run
MOST_OPTIONS = 2000  # an ask takes seconds and a gigabyte with that many


@dataclass(frozen=True)
class Real:
    """A number from low to high; with log=True its logarithm is what varies evenly. The unit is for people.

    >>> from belated import Real, Study
    >>> study = Study.create(space={"rate": Real(1e-6, 1, log=True, unit="1/s")}, silence="unknown", seed=0)
    >>> 1e-6 <= study.ask().params["rate"] <= 1
    True
    """

    low: float
    high: float
    log: bool = False
    unit: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        low, high, log = (
            require_number(self.low, "low"),
            require_number(self.high, "high"),
            require_bool(self.log, "log"),
        )
        if not low < high:
            raise InvalidInput(f"low must be less than high (got {format_value(self.low)}, {format_value(self.high)})")
        if log and low <= 0:
            raise InvalidInput(f"low must be more than 0 when log=True (got {format_value(self.low)})")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "log", log)
        object.__setattr__(self, "unit", require_words(self.unit, "unit", LONGEST_UNIT))

    @property
    def coordinate(self) -> Interval:
        """How it lies on the unit cube."""
        return Interval()

    def encode(self, value: object) -> list[float]:
        """u = (x - low) / (high - low), or log(x / low) / log(high / low)."""
        x = value if type(value) is float and self.low <= value <= self.high else require_number(value)
        if not self.low <= x <= self.high:
            raise Outside(f"value must be between {self.low!r} and {self.high!r} (got {format_value(value)})")
        u = self._rise(x) / self._rise(self.high) if self.log else scale_to_unit(x, self.low, self.high)
        return [min(u, 1.0)]

    def encode_run(self, value: object) -> list[float]:
        """The same for a value that was run, which may lie outside."""
        x = require_number(value)
        if self.low <= x <= self.high:
            return self.encode(value)
        if self.log and x <= 0:
            raise Outside(f"value must be more than 0 on a log scale (got {format_value(value)})")
        u = self._rise(x) / self._rise(self.high) if self.log else scale_to_unit(x, self.low, self.high)
        return [_require_near(u, value, self.low, self.high)]

    def decode(self, columns: Sequence[float] | Array) -> float:
        """The x of u = columns[0]; exactly low at 0 and high at 1."""
        u = float(columns[0])
        if u <= 0 or u >= 1:
            return self.low if u <= 0 else self.high
        span = self.high - self.low
        if self.log and self._wide:
            x = math.exp(math.log(self.low) + u * self._rise(self.high))
        elif self.log:
            x = self.low + self.low * math.expm1(u * self._rise(self.high))
        else:
            x = self.low * (1 - u) + self.high * u if math.isinf(span) else self.low + u * span
        return min(max(x, self.low), self.high)

    def spec(self) -> Spec:
        return {"kind": "real", "low": self.low, "high": self.high, "log": self.log, **_spec_unit(self.unit)}

    @property
    def _wide(self) -> bool:
        return math.isinf((self.high - self.low) / self.low)

    def _rise(self, x: float) -> float:
        """log(x / low), by log1p, which is exact for a narrow range, unless the ratio overflows."""
        return math.log(x) - math.log(self.low) if self._wide else math.log1p((x - self.low) / self.low)


@dataclass(frozen=True)
class Integer:
    """A whole number from low to high, both included; with log=True its logarithm is what varies evenly.

    The unit is for people.

    >>> from belated import Integer, Study
    >>> study = Study.create(space={"dose": Integer(1, 8, unit="drops")}, silence="unknown", seed=0)
    >>> study.ask().params["dose"] in range(1, 9)
    True
    """

    low: int
    high: int
    log: bool = False
    unit: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", require_whole(self.low, "low"))
        object.__setattr__(self, "high", require_whole(self.high, "high"))
        object.__setattr__(self, "log", require_bool(self.log, "log"))
        object.__setattr__(self, "unit", require_words(self.unit, "unit", LONGEST_UNIT))
        for what, bound in (("low", self.low), ("high", self.high)):
            if abs(bound) > 2**53:
                raise InvalidInput(f"{what} must be between -2**53 and 2**53 (got {format_value(bound)})")
        object.__setattr__(self, "coordinate", Lattice(self.low, self.high, self.log))  # checks the rest

    coordinate: Lattice = field(init=False, repr=False, compare=False)

    def encode(self, value: object) -> list[float]:
        """The middle of the value's part of [0, 1]."""
        k = require_whole(value)
        if not self.low <= k <= self.high:
            raise Outside(f"value must be between {self.low!r} and {self.high!r} (got {format_value(value)})")
        return [self.coordinate.unit(k)]

    def encode_run(self, value: object) -> list[float]:
        """The same for a value that was run, which may lie outside."""
        k = require_whole(value)
        if self.low <= k <= self.high:
            return self.encode(value)
        ends: tuple[float, float, float] = (k, self.low, self.high)
        if self.log and k < 1:
            raise Outside(f"value must be at least 1 on a log scale (got {format_value(value)})")
        x, low, high = map(math.log, ends) if self.log else ends
        return [_require_near(scale_to_unit(x, low, high), value, self.low, self.high)]

    def decode(self, columns: Sequence[float] | Array) -> int:
        """The whole number whose part of [0, 1] this is."""
        return self.coordinate.level(float(columns[0]))

    def spec(self) -> Spec:
        return {"kind": "integer", "low": self.low, "high": self.high, "log": self.log, **_spec_unit(self.unit)}


def _require_near(u: float, value: object, low: float, high: float) -> float:
    """A position outside the unit interval, if the model can still compute with it."""
    if not abs(u) <= FARTHEST:
        raise Outside(
            f"value must not be farther than {FARTHEST} ranges from {low!r} to {high!r} (got {format_value(value)})"
        )
    return u


def _spec_unit(unit: str | None) -> Spec:
    """Left out where there is none, as in stores of earlier versions."""
    return {} if unit is None else {"unit": unit}


@dataclass(frozen=True, init=False)
class Choice:
    """One of several options without order: strings, numbers, booleans or None.

    >>> from belated import Choice, Study
    >>> study = Study.create(space={"solvent": Choice("water", "ethanol")}, silence="unknown", seed=0)
    >>> study.ask().params["solvent"] in ("water", "ethanol")
    True
    """

    options: tuple[Scalar, ...]

    def __init__(self, *options: object) -> None:
        if len(options) < 2:
            raise InvalidInput(f"Choice must have at least two options (got {format_value(list(options))})")
        seen: dict[Scalar, Scalar] = {}
        for given in options:
            with prefix_errors("an option's "):
                option = require_plain(given)
            if option in seen:  # 1 == True too: as keys of a dictionary one of the two would be lost
                raise InvalidInput(f"options must differ (got {format_value(seen[option])} and {format_value(option)})")
            seen[option] = option
        object.__setattr__(self, "options", tuple(seen))

    def __repr__(self) -> str:
        return f"Choice({', '.join(map(repr, self.options))})"

    @property
    def coordinate(self) -> OneHot:
        """How it lies on the unit cube: a column for each option."""
        return OneHot(len(self.options))

    def encode(self, value: object) -> list[float]:
        """0.707… in the option's own column, 0 in the others."""
        chosen = make_key(require_plain(value))
        columns = [HOT if make_key(option) == chosen else 0.0 for option in self.options]
        if HOT not in columns:
            raise Outside(
                f"value must be one of {format_names(map(format_value, self.options))} (got {format_value(value)})"
            )
        return columns

    def encode_run(self, value: object) -> list[float]:
        """What was run is one of the options too."""
        return self.encode(value)

    def decode(self, columns: Sequence[float] | Array) -> Scalar:
        """The option with the largest column."""
        return self.options[int(np.argmax(columns))]

    def spec(self) -> Spec:
        return {"kind": "choice", "options": list(self.options)}


Parameter: TypeAlias = Real | Integer | Choice


def check_option_count(count: int) -> None:
    """Refuse a space with more options than the model can take: it has a column for each of them."""
    if count > MOST_OPTIONS:
        raise InvalidInput(
            f"there must be at most {MOST_OPTIONS} options in all (got {count}): nothing is learned from one option "
            "about another; describe them by numbers, in Points"
        )
