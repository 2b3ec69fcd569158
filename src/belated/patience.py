"""Patience: how long to wait for an outcome, in rounds (Section 3.1) or by the clock (App. A.4)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import timedelta

from belated.errors import InvalidInput
from belated.validation import format_value, is_number, require_number, unwrap

SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "w": 604800.0}
AUTO = {"auto": False, "auto-clock": True}  # -> by the clock
NEVER = "none"
ALLOWED = 'a number of rounds such as 20, a time such as "2h" or "14d", "auto", "auto-clock" or "none"'
WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(ms|[smhdw])\s*", re.ASCII)


def parse_duration(value: str | timedelta | int | float, what: str = "duration") -> float:
    """Seconds of "14d", "1.5h", "15m", "90s", "500ms", "2w", a timedelta, or a number of seconds; more than 0."""
    seconds = _parse_seconds(value, what)
    if not 0 < seconds < math.inf:
        raise InvalidInput(f"{what} must be more than 0 and finite (got {format_value(value)})")
    return seconds


def _parse_seconds(value: object, what: str) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if not isinstance(value, str):
        if not is_number(unwrap(value)):
            raise InvalidInput(
                f'{what} must be a timedelta, seconds, or a string such as "90s" (got {format_value(value)})'
            )
        return require_number(value, what)
    written = WRITTEN.fullmatch(value)
    if written is None:
        raise InvalidInput(
            f'{what} must be a number and a unit such as "14d", "1h", "15m", "90s" (got {format_value(value)})'
        )
    amount, unit = float(written[1]), written[2]
    return amount / 1000 if unit == "ms" else amount * SECONDS[unit]


@dataclass(frozen=True)
class Patience:
    """m: after so many rounds, or seconds by the clock, an outcome counts as late; inf when it never does.

    With `auto` the study chooses m from its delays, and m is its present choice: inf before the first.

    >>> from belated import Patience
    >>> str(Patience.of("36h")), Patience.of(20).m, Patience.of("90s").by_clock
    ('36h', 20.0, True)
    """

    m: float = math.inf
    by_clock: bool = False
    auto: bool = False

    def __post_init__(self) -> None:
        if not self.m > 0:
            raise InvalidInput(f"patience must be more than 0 (got {self.m:g})")
        if not self.by_clock and math.isfinite(self.m) and self.m != int(self.m):
            raise InvalidInput(f"patience in rounds must be a whole number (got {self.m:g})")

    @classmethod
    def of(cls, value: int | float | str | timedelta | Patience | None) -> Patience:
        """None, or "none", never expires; a number counts rounds; "14d", "90s" or a timedelta is measured by the clock;
        "auto" is chosen in rounds, "auto-clock" by the clock."""
        if value is None or (isinstance(value, str) and value == NEVER):
            return cls()
        if isinstance(value, Patience):
            return value
        if isinstance(value, str) and value in AUTO:
            return cls(by_clock=AUTO[value], auto=True)
        if isinstance(value, str) and WRITTEN.fullmatch(value) is None:
            raise InvalidInput(f"patience must be {ALLOWED} (got {format_value(value)})")
        if isinstance(value, str | timedelta):
            return cls(parse_duration(value, "patience"), by_clock=True)
        if not is_number(unwrap(value)):
            raise InvalidInput(f"patience must be {ALLOWED} (got {format_value(value)})")
        return cls(require_number(value, "patience"))

    def __str__(self) -> str:
        """ "20 rounds", "14d", "none", "auto" or "auto, now 20 rounds"; the text of a duration reads back as it."""
        if self.auto:
            word = next(word for word, by_clock in AUTO.items() if by_clock == self.by_clock)
            return word if math.isinf(self.m) else f"{word}, now {describe_chosen(self.m, self.by_clock)}"
        if math.isinf(self.m):
            return NEVER
        if not self.by_clock:
            return f"{int(self.m)} round{'' if self.m == 1 else 's'}"
        texts = [f"{self.m / size:.0f}{unit}" for unit, size in SECONDS.items() if unit != "w"]
        texts.append(f"{self.m / 0.001:.0f}ms")
        short = [text for text in texts if len(text) < 12 and "inf" not in text]
        return next((text for text in short if _parse_seconds(text, "patience") == self.m), f"{self.m!r}s")


def describe_chosen(m: float, by_clock: bool) -> str:
    """A patience that the study chose by itself, for people: a time in three digits, in a unit that reads well.

    >>> from belated.patience import describe_chosen
    >>> describe_chosen(1.5384929180145264, True), describe_chosen(349601.0, True), describe_chosen(20.0, False)
    ('1.54s', '4.05d', '20 rounds')
    """
    if not by_clock or math.isinf(m):
        return str(Patience(m, by_clock))
    unit = next((unit for unit in ("d", "h", "m", "s") if m >= 2 * SECONDS[unit]), "s" if m >= 1 else "ms")
    return f"{m / SECONDS.get(unit, 0.001):.3g}{unit}"
