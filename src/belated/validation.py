"""Plain values: what may stand in a dictionary of params, and the checks that every border makes of them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from belated.errors import InvalidInput

Scalar: TypeAlias = str | int | float | bool | None
Params: TypeAlias = Mapping[str, Any]
Spec: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[bool, Scalar]

UNWRAP: dict[str, Callable[[Any], object]] = {"b": bool, "i": int, "u": int, "f": float, "U": str}


def unwrapped(value: object) -> object:
    """A numpy scalar as the Python one; anything else as it is."""
    kind = UNWRAP.get(value.dtype.kind) if isinstance(value, np.generic) else None
    return value if kind is None else kind(value)


def shown(value: object) -> str:
    """A value as an error shows it: never long, and never an error of its own (repr of 5000 digits raises)."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of about {int(value.bit_length() * math.log10(2)) + 1} digits"
    try:
        text = " ".join(repr(unwrapped(value)).split())
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 120 else f"{text[:117]}..."


def listed(names: Iterable[object]) -> str:
    """Names as an error lists them: a dozen at most."""
    words = [name if isinstance(name, str) and len(name) <= 80 else shown(name) for name in names]
    return ", ".join(words if len(words) <= 12 else [*words[:10], f"... ({len(words)} in all)"])


def is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_positive(value: object) -> TypeGuard[int | float]:
    """Whether it is a finite number more than 0."""
    given = unwrapped(value)
    return is_number(given) and 0 < given < 1e308


def number(value: object, what: str = "value") -> float:
    """The value as a finite float; True, "0.5", NaN, inf and 10**400 are none."""
    given = unwrapped(value)
    if not is_number(given):
        raise InvalidInput(f"{what} must be a number (got {shown(value)})")
    try:
        x = float(given)
    except OverflowError:
        x = math.inf
    if not math.isfinite(x):
        raise InvalidInput(f"{what} must be a finite number (got {shown(value)})")
    return x


def checked(what: str, value: object, rule: str, holds: Callable[[float], bool]) -> float:
    """The value as a float, inf included, if the rule holds."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidInput(f"{what} must be a number (got {shown(value)})")
    try:
        x = float(value)
    except OverflowError:  # 10**400
        x = -math.inf if value < 0 else math.inf
    if not holds(x):
        raise InvalidInput(
            f"{what} must {rule} (got {shown(value if isinstance(value, int) and math.isfinite(x) else x)})"
        )
    return x


def whole(value: object, what: str = "value") -> int:
    """The value as an int; True and 2.0 are none."""
    given = unwrapped(value)
    if not isinstance(given, int) or isinstance(given, bool):
        raise InvalidInput(f"{what} must be an integer (got {shown(value)})")
    return int(given)


def plain(value: object) -> Scalar:
    """The value as a plain str, int, float, bool or None: what JSON keeps exactly."""
    given = unwrapped(value)
    if given is None or isinstance(given, bool):
        return given
    if isinstance(given, str):
        return str.__str__(given)
    if isinstance(given, int | float):
        x = number(given)
        return int(given) if isinstance(given, int) else x
    raise InvalidInput(f"value must be a string, a number, a boolean or None (got {shown(value)})")


def switch(value: object, what: str) -> bool:
    given = unwrapped(value)
    if not isinstance(given, bool):
        raise InvalidInput(f"{what} must be True or False (got {shown(value)})")
    return given


def key_of(value: Scalar) -> Key:
    """1 and 1.0 are the same, 1 and True are not."""
    return isinstance(value, bool), value


def share(x: float, low: float, high: float) -> float:
    """(x - low) / (high - low), also where the difference overflows; never -0.0."""
    if math.isinf(high - low):
        x, low, high = x / 2, low / 2, high / 2
    return (x - low) / (high - low) + 0.0


@contextmanager
def about(prefix: str) -> Iterator[None]:
    """Puts the prefix in front of what an error inside says."""
    try:
        yield
    except InvalidInput as error:
        raise type(error)(f"{prefix}{error}") from None


def titles_of(names: Iterable[object]) -> tuple[str, ...]:
    """The names, checked: strings, not empty, no two the same."""
    if isinstance(names, str):
        raise InvalidInput(f"names must be a list of strings (got {shown(names)})")
    titles: list[str] = []
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise InvalidInput(f"names must be strings and not empty (got {shown(name)})")
        if name in titles:
            raise InvalidInput(f"names must differ (got {shown(name)} twice)")
        titles.append(str.__str__(name))
    if not titles:
        raise InvalidInput("there must be at least one parameter (got none)")
    return tuple(titles)


def check_names(params: object, names: tuple[str, ...], all_of_them: bool = False) -> None:
    """params must be a dictionary whose keys are among the names, or all of them."""
    if not isinstance(params, Mapping):
        raise InvalidInput(f"params must be a dictionary of {listed(names)} (got {shown(params)})")
    for name in params:
        if name not in names:
            raise InvalidInput(f"{listed([name])}: there is no such parameter (the names are {listed(names)})")
    for name in names:
        if all_of_them and name not in params:
            raise InvalidInput(f"{name}: value is missing (got {listed(params) or 'none'})")


class Fieldless:
    """A value that has no fields: equal to every other of its kind. (A dataclass takes half a millisecond to make.)"""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def frozen(params: Mapping[str, Any] | None) -> object:
    """Params as something that can be compared and hashed."""
    return None if params is None else tuple(sorted(params.items()))
