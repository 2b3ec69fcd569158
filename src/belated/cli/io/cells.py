"""Values as text: in the shell's k=v, in a CSV's cells, and back to exactly the same value.

A number is written with the digits that give it back; true, false and null are JSON's; an option that is a string
stands as it is, in JSON's quotes only where it could be taken for something else.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from belated.errors import InvalidInput, Outside
from belated.space.encoding import Space
from belated.space.parameters import Choice, Integer, Real
from belated.validation import Scalar, about, is_number, key_of, listed, shown

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
DIGITS = 400  # more of them and a number overflows anyway


def parse_decimal(text: str, what: str = "value") -> float:
    """The number that a text writes; its sign, digits, point and exponent, and nothing else."""
    text = text.strip()
    if text.lstrip("+-").lower() in ("nan", "inf", "infinity"):
        raise InvalidInput(f"{what} must be a finite number (got {text})")
    if NUMBER.fullmatch(text) is None:
        raise InvalidInput(f"{what} must be a number (got {shown(text)})")
    x = float(text)
    if not math.isfinite(x):
        raise InvalidInput(f"{what} must be a finite number (got {text if len(text) < 40 else text[:37] + '...'})")
    return x


def parse_integer(text: str, what: str = "value") -> int:
    text = text.strip()
    if WHOLE.fullmatch(text) is None or len(text) > DIGITS:
        raise InvalidInput(f"{what} must be an integer (got {shown(text)})")
    return int(text)


def parse_time(text: str, what: str = "at") -> float | datetime:
    """2026-03-01T14:30 (local time, unless it says a zone), or seconds since 1970."""
    text = text.strip()
    if NUMBER.fullmatch(text):
        return parse_decimal(text, what)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        rule = "a time such as 2026-03-01T14:30, or seconds since 1970"
        raise InvalidInput(f"{what} must be {rule} (got {shown(text)})") from None


def parse_option(text: str) -> Scalar:
    """An option as it is typed: a number, true, false, null, a string in quotes, or else the text itself."""
    text = text.strip()
    if WHOLE.fullmatch(text):
        return parse_integer(text, "an option")
    if NUMBER.fullmatch(text):
        return parse_decimal(text, "an option")
    if text in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[text]
    if len(text) >= 2 and text.startswith('"') and text.endswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            raise InvalidInput(f"an option in quotes must be a JSON string (got {shown(text)})") from None
    return text


def write_options(options: Iterable[Scalar]) -> dict[str, Scalar]:
    """How each option is written, no two the same."""
    listing = list(options)

    def written(option: Scalar) -> str:
        return option if isinstance(option, str) else json.dumps(option)

    strange = any(isinstance(o, str) and (not o.strip() or o != o.strip() or not o.isprintable()) for o in listing)
    quoted = strange or len({written(option) for option in listing}) < len(listing)
    quoted = quoted or any(isinstance(option, str) and option.startswith('"') for option in listing)
    return {json.dumps(option) if quoted else written(option): option for option in listing}


class ParameterTexts:
    """The parameters of a space as text."""

    def __init__(self, space: Space) -> None:
        self.names = space.names
        self._kinds: dict[str, Real | Integer | Mapping[str, Scalar]] = {}
        for i, name in enumerate(space.names):
            if isinstance(space.parameters, tuple):
                kind = space.parameters[i]
                self._kinds[name] = write_options(kind.options) if isinstance(kind, Choice) else kind
            else:
                column = {key_of(row[i]): row[i] for row in space.parameters.rows}
                self._kinds[name] = write_options(column.values())

    def value(self, name: str, text: str) -> Scalar:
        """What a text says of a parameter; the space itself checks bounds."""
        kind = self._kinds[name]
        with about(f"{name}: "):
            if isinstance(kind, Real):
                return parse_decimal(text)
            if isinstance(kind, Integer):
                return parse_integer(text)
            if text in kind:
                return kind[text]
            said = parse_option(text)
            for option in kind.values():
                if key_of(option) == key_of(said) or (is_number(said) and is_number(option) and said == option):
                    return option
            raise Outside(f"value must be one of {listed(kind)} (got {shown(text)})")

    def text(self, name: str, value: Scalar) -> str:
        """The text that says exactly this value."""
        kind = self._kinds[name]
        if isinstance(kind, Real | Integer):
            return repr(value)
        return next(text for text, option in kind.items() if key_of(option) == key_of(value))


def parse_pairs(words: Sequence[str], what: str) -> dict[str, str]:
    """x=1 act=relu as a dictionary of texts."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise InvalidInput(f"{what} must be name=value (got {shown(word)})")
        if name in found:
            raise InvalidInput(f"{what} must be given once for each name (got {shown(name)} twice)")
        found[name] = text
    return found


def parse_params(space: Space, words: Mapping[str, str], what: str = "") -> dict[str, Any]:
    """Texts by name as values; names the parameter that does not exist."""
    cells = ParameterTexts(space)
    with about(what):
        for name in words:
            if name not in cells.names:
                raise InvalidInput(
                    f"{listed([name])}: there is no such parameter (the names are {listed(cells.names)})"
                )
        return {name: cells.value(name, text) for name, text in words.items()}


def parse_context(space: Space | None, words: Sequence[str]) -> dict[str, Any] | None:
    """--context k=v ...; None where none is given."""
    if not words:
        return None
    said = parse_pairs(words, "--context")
    return dict(said) if space is None else parse_params(space, said, "context ")
