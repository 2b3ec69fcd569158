"""Plain values, as in a dictionary of params, and the checks on them."""

from __future__ import annotations

import math
import numbers
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from belated.errors import InvalidInput

Scalar: TypeAlias = str | int | float | bool | None
Params: TypeAlias = Mapping[str, Any]
Spec: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[bool, Scalar]

LONGEST_NAME, MOST_BYTES = 128, 255  # of a study's name; no file name has more bytes
FARTHEST_TIME = 1e15  # seconds, 30 million years; a float still shows eighths of a second there

UNWRAP: dict[str, Callable[[Any], object]] = {"b": bool, "i": int, "u": int, "f": float, "U": str}


def unwrap(value: object) -> object:
    """A numpy scalar as the Python one; anything else as it is."""
    kind = UNWRAP.get(value.dtype.kind) if isinstance(value, np.generic) else None
    return value if kind is None else kind(value)


def format_value(value: object) -> str:
    """A value as an error shows it: short, and never raising another error (repr of 5000 digits does)."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of about {int(value.bit_length() * math.log10(2)) + 1} digits"
    try:
        text = " ".join(repr(unwrap(value)).split())
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 120 else f"{text[:117]}..."


def format_names(names: Iterable[object]) -> str:
    """Names as an error lists them: a dozen at most."""
    words = [
        name if isinstance(name, str) and name.isprintable() and len(name) <= 80 else format_value(name)
        for name in names
    ]
    return ", ".join(words if len(words) <= 12 else [*words[:10], f"... ({len(words)} in all)"])


def is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_positive(value: object) -> TypeGuard[int | float]:
    """Whether it is a finite number more than 0."""
    given = unwrap(value)
    return is_number(given) and 0 < given < 1e308


def is_writable(text: str) -> bool:
    """Whether UTF-8 can hold it: not with lone surrogates, which stand for bytes that are no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def require_number(value: object, what: str = "value") -> float:
    """The value as a finite float; True, "0.5", NaN, inf and 10**400 are refused."""
    given = unwrap(value)
    if not is_number(given):
        raise InvalidInput(f"{what} must be a number (got {format_value(value)})")
    try:
        x = float(given)
    except OverflowError:
        x = math.inf
    if not math.isfinite(x):
        raise InvalidInput(f"{what} must be a finite number (got {format_value(value)})")
    return x


def require_time(value: object, what: str) -> float:
    """The value as seconds of a clock; times that no clock shows are refused, because waits between them overflow."""
    x = require_number(value, what)
    if abs(x) > FARTHEST_TIME:
        raise InvalidInput(
            f"{what} must be between -{FARTHEST_TIME:g} and {FARTHEST_TIME:g} seconds (got {format_value(value)})"
        )
    return x


def require_rule(what: str, value: object, rule: str, holds: Callable[[float], bool]) -> float:
    """The value as a float, inf included, if the rule holds."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidInput(f"{what} must be a number (got {format_value(value)})")
    try:
        x = float(value)
    except OverflowError:  # 10**400
        x = -math.inf if value < 0 else math.inf
    if not holds(x):
        raise InvalidInput(
            f"{what} must {rule} (got {format_value(value if isinstance(value, int) and math.isfinite(x) else x)})"
        )
    return x


def require_whole(value: object, what: str = "value") -> int:
    """The value as an int; True and 2.0 are refused."""
    given = unwrap(value)
    if not isinstance(given, int) or isinstance(given, bool):
        raise InvalidInput(f"{what} must be an integer (got {format_value(value)})")
    return int(given)


def require_plain(value: object) -> Scalar:
    """The value as a plain str, int, float, bool or None: what JSON keeps exactly."""
    given = unwrap(value)
    if given is None or isinstance(given, bool):
        return given
    if isinstance(given, str):
        return str.__str__(given)
    if isinstance(given, int | float):
        x = require_number(given)
        return int(given) if isinstance(given, int) else x
    raise InvalidInput(f"value must be a string, a number, a boolean or None (got {format_value(value)})")


def require_bool(value: object, what: str) -> bool:
    given = unwrap(value)
    if not isinstance(given, bool):
        raise InvalidInput(f"{what} must be True or False (got {format_value(value)})")
    return given


def require_words(value: object, what: str, longest: int, *, lines: bool = False) -> str | None:
    """Words for people, without spaces around them; None where there are none. `lines`: they may have several."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be text (got {format_value(value)})")
    text = value.strip()
    printable = all(line.isprintable() for line in (text.splitlines() if lines else [text]))
    if not text or not printable or len(text) > longest:
        raise InvalidInput(
            f"{what} must be printable, with at least 1 and at most {longest} characters (got {format_value(value)})"
        )
    return text


def format_label(name: str, unit: str | None) -> str:
    """A name with its unit, as people write it: temperature (°C)."""
    return name if unit is None else f"{name} ({unit})"


def make_key(value: Scalar) -> Key:
    """1 and 1.0 are the same, 1 and True are not."""
    return isinstance(value, bool), value


def scale_to_unit(x: float, low: float, high: float) -> float:
    """(x - low) / (high - low), also where the difference overflows; never -0.0."""
    if math.isinf(high - low):
        x, low, high = x / 2, low / 2, high / 2
    return (x - low) / (high - low) + 0.0


@contextmanager
def prefix_errors(prefix: str) -> Iterator[None]:
    """Put the prefix before the message of an error inside."""
    try:
        yield
    except InvalidInput as error:
        raise type(error)(f"{prefix}{error}") from None


def require_titles(names: Iterable[object]) -> tuple[str, ...]:
    """The names, checked: strings, not empty, no two the same."""
    if isinstance(names, str):
        raise InvalidInput(f"names must be a list of strings (got {format_value(names)})")
    titles: list[str] = []
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise InvalidInput(f"names must be strings and not empty (got {format_value(name)})")
        if name in titles:
            raise InvalidInput(f"names must differ (got {format_value(name)} twice)")
        titles.append(str.__str__(name))
    if not titles:
        raise InvalidInput("there must be at least one parameter (got none)")
    return tuple(titles)


def check_names(params: object, names: tuple[str, ...], all_of_them: bool = False) -> None:
    """params must be a dictionary whose keys are among the names, or all of them."""
    if not isinstance(params, Mapping):
        raise InvalidInput(f"params must be a dictionary of {format_names(names)} (got {format_value(params)})")
    for name in params:
        if name not in names:
            raise InvalidInput(
                f"{format_names([name])}: there is no such parameter (the names are {format_names(names)})"
            )
    for name in names:
        if all_of_them and name not in params:
            raise InvalidInput(f"{name}: value is missing (got {format_names(params) or 'none'})")


class Fieldless:
    """A value that has no fields: equal to every other of its kind. (A dataclass takes half a millisecond to make.)"""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def freeze(params: Mapping[str, Any] | None) -> object:
    """Params as something that can be compared and hashed."""
    return None if params is None else tuple(sorted(params.items()))


def is_name(text: str) -> bool:
    """Whether a text can be the name of a study, in NFC: letters and digits of any script, ".", "_" and "-"."""
    short = 1 <= len(text) <= LONGEST_NAME and len(text.encode(errors="replace")) <= MOST_BYTES
    return short and all(c in "._-" or unicodedata.category(c)[0] in "LM" or c.isdecimal() for c in text)


def read_name(name: object) -> str:
    """The name of a study, in NFC, as the same letters may be written in several ways."""
    text = unicodedata.normalize("NFC", name) if isinstance(name, str) else ""
    if not is_name(text) or not text.strip("."):
        raise InvalidInput(
            f'name must be 1 to {LONGEST_NAME} letters, digits, ".", "_" and "-" (at most {MOST_BYTES} bytes), '
            f"and not dots only (got {format_value(name)})"
        )
    return text
