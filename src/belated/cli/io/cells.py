"""Values as text: in k=v arguments and in the cells of a CSV. Reading a written value gives exactly the same value.

A number is written with all its digits; true, false and null as in JSON. A string option is written as it is, and in
quotes only where it could be read as something else, or run by a spreadsheet.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from belated.errors import InvalidInput, Outside
from belated.space.encoding import Space
from belated.space.parameters import Choice, Integer, Real
from belated.validation import Scalar, format_names, format_value, is_number, make_key, prefix_errors

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
WITH_COMMA = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?", re.ASCII)
EXACT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{7,})(Z|[+-]\d\d:\d\d|)", re.ASCII)  # beyond microseconds
EIGHT_DIGITS = re.compile(r"(19|20)\d{6}", re.ASCII)
DAY_FIRST = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})( \d\d:\d\d(?::\d\d)?)?", re.ASCII)
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
FORMULAS = tuple("=+-@＝＋－＠")  # a spreadsheet runs a text that begins with one of these
DIGITS = 400  # a longer integer overflows anyway


def parse_decimal(text: str, what: str = "value") -> float:
    """A finite number: sign, digits, point and exponent, and nothing else."""
    text = text.strip()
    if text.lstrip("+-").lower() in ("nan", "inf", "infinity"):
        raise InvalidInput(f"{what} must be a finite number (got {text})")
    if NUMBER.fullmatch(text) is None:
        rule = "a number; decimals begin with a point" if WITH_COMMA.fullmatch(text) else "a number"
        raise InvalidInput(f"{what} must be {rule} (got {format_value(text)})")
    x = float(text)
    if not math.isfinite(x):
        raise InvalidInput(f"{what} must be a finite number (got {text if len(text) < 40 else text[:37] + '...'})")
    return x


def parse_integer(text: str, what: str = "value") -> int:
    text = text.strip()
    if WHOLE.fullmatch(text) is None or len(text) > DIGITS:
        raise InvalidInput(f"{what} must be an integer (got {format_value(text)})")
    return int(text)


def parse_whole(text: str, what: str = "value") -> int:
    """An integer as a spreadsheet may write it: 2 or 2.0."""
    whole, point, zeros = text.strip().partition(".")
    return parse_integer(whole if point and zeros and not zeros.strip("0") else text, what)


def format_time(at: float) -> str:
    """A time in UTC that `parse_time` reads as exactly the same; as seconds where no calendar has it."""
    seconds = math.floor(at)
    if seconds + (at - seconds) != at:  # a moment before 1970
        return repr(at)
    try:
        text = datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return repr(at)
    for exact in (at, at - seconds):  # the fewest digits that are enough, as a rule
        decimals = f"{Decimal(repr(exact)):f}".partition(".")[2].rstrip("0")
        if seconds + float(f"0.{decimals}") == at:
            break
    return text.replace("+", f".{decimals}+") if decimals else text


def parse_time(text: str, what: str = "at") -> float | datetime:
    """2026-03-01T14:30 or 1.3.2026 14:30 (local time if it has no zone), or seconds since 1970."""
    text = text.strip()
    if NUMBER.fullmatch(text):
        return parse_decimal(text, what)
    exact = EXACT.fullmatch(text)
    day_first = DAY_FIRST.fullmatch(text)
    try:
        if exact:
            return datetime.fromisoformat(exact[1] + exact[3]).timestamp() + float(f"0.{exact[2]}")
        if day_first:
            day, month, year, rest = day_first.groups()
            return datetime.fromisoformat(f"{year}-{int(month):02}-{int(day):02}{rest or ''}")
        return datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        rule = "a time such as 2026-03-01T14:30, or seconds since 1970"
        raise InvalidInput(f"{what} must be {rule} (got {format_value(text)})") from None


def parse_day(text: str, what: str) -> float | datetime:
    """2026-03-01, 1.3.2026 or 20260301, or a time. Eight digits are a date, not seconds in the year 1970."""
    try:
        if EIGHT_DIGITS.fullmatch(text.strip()):
            return datetime.fromisoformat(text.strip())
        return parse_time(text, what)
    except (InvalidInput, ValueError):
        raise InvalidInput(f"{what} must be a date such as 2026-03-01, or a time (got {format_value(text)})") from None


def parse_option(text: str) -> Scalar:
    """An option of a choice: a number, true, false, null, a string in quotes, or else the text itself."""
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
            raise InvalidInput(f"an option in quotes must be a JSON string (got {format_value(text)})") from None
    return text


def format_text(text: str) -> str:
    """Words as they are; in quotes where a spreadsheet would run them, or where they are in quotes themselves."""
    return json.dumps(text, ensure_ascii=False) if text.startswith(('"', *FORMULAS)) else text


def parse_text(text: str) -> str:
    """The words that `format_text` wrote, or a person."""
    try:
        return str(json.loads(text)) if text.startswith('"') else text
    except ValueError:
        return text


def write_options(options: Iterable[Scalar]) -> dict[str, Scalar]:
    """Each option under the text that it is written as; no two texts are the same."""
    every = list(options)

    def write(option: Scalar) -> str:
        return option if isinstance(option, str) else json.dumps(option)

    strings = [option for option in every if isinstance(option, str)]
    odd = any(not o or o != o.strip() or not o.isprintable() or o.startswith(('"', *FORMULAS)) for o in strings)
    quoted = odd or len({write(option) for option in every}) < len(every)
    return {json.dumps(option) if quoted else write(option): option for option in every}


class ParameterTexts:
    """Reads and writes the parameters of a space as text."""

    def __init__(self, space: Space) -> None:
        self.names = space.names
        self._kinds: dict[str, Real | Integer | Mapping[str, Scalar]] = {}
        for i, name in enumerate(space.names):
            if isinstance(space.parameters, tuple):
                kind = space.parameters[i]
                self._kinds[name] = write_options(kind.options) if isinstance(kind, Choice) else kind
            else:
                column = {make_key(row[i]): row[i] for row in space.parameters.rows}
                self._kinds[name] = write_options(column.values())

    def parse(self, name: str, text: str) -> Scalar:
        """The value of a parameter; the space itself checks its bounds."""
        kind = self._kinds[name]
        with prefix_errors(f"{name}: "):
            if isinstance(kind, Real):
                return parse_decimal(text)
            if isinstance(kind, Integer):
                return parse_whole(text)
            if text in kind:
                return kind[text]
            typed = parse_option(text)
            for option in kind.values():
                if make_key(option) == make_key(typed) or (is_number(typed) and is_number(option) and typed == option):
                    return option
            raise Outside(f"value must be one of {format_names(kind)} (got {format_value(text)})")

    def format(self, name: str, value: Scalar) -> str:
        """The text that `parse` reads as exactly this value."""
        kind = self._kinds[name]
        if isinstance(kind, Real | Integer):
            return repr(value)
        return next(text for text, option in kind.items() if make_key(option) == make_key(value))


def parse_pairs(words: Sequence[str], what: str) -> dict[str, str]:
    """x=1 act=relu as a dictionary of texts."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise InvalidInput(f"{what} must be name=value (got {format_value(word)})")
        if name in found:
            raise InvalidInput(f"{what} must be given once for each name (got {format_value(name)} twice)")
        found[name] = text
    return found


def parse_params(space: Space, words: Mapping[str, str], what: str = "") -> dict[str, Any]:
    """Texts by name as values by name."""
    texts = ParameterTexts(space)
    with prefix_errors(what):
        for name in words:
            if name not in texts.names:
                raise InvalidInput(
                    f"{format_names([name])}: there is no such parameter (the names are {format_names(texts.names)})"
                )
        return {name: texts.parse(name, text) for name, text in words.items()}


def parse_context(space: Space | None, words: Sequence[str]) -> dict[str, Any] | None:
    """The context of --context k=v ...; None where there is none."""
    if not words:
        return None
    texts = parse_pairs(words, "--context")
    return dict(texts) if space is None else parse_params(space, texts, "context ")  # the study refuses one it has not
