"""Words and tables that people read: counts, durations, lists, columns."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

STYLE = re.compile(r"\x1b\[[0-9;]*m")  # bold and colours, which take no room
UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def format_count(n: int, noun: str, plural: str = "") -> str:
    """1 trial, 2 trials."""
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


def format_value(value: object) -> str:
    """A value in six digits; a string that is empty or not printable in quotes."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, str) and not (value.strip() and value.isprintable()):
        return json.dumps(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def format_duration(seconds: float) -> str:
    """2d 3h, 5m 20s, 0s: the two largest units."""
    rest = round(min(max(0.0, seconds), 1e18))
    parts: list[str] = []
    for unit, size in UNITS:
        count, rest = divmod(rest, size)
        if count or parts:
            parts.append(f"{count}{unit}")
    return " ".join([part for part in parts[:2] if not part.startswith("0")]) or "0s"


def format_share(share: float) -> str:
    """A share in whole percent; less than one percent in two digits.

    >>> from belated.wording import format_share
    >>> format_share(0.0435), format_share(0.00352), format_share(0.0)
    ('4 %', '0.35 %', '0 %')
    """
    percent = 100 * share
    return f"{percent:.2g} %" if 0 < percent < 1 else f"{percent:.0f} %"


def join_words(words: Sequence[str], last: str = " and ") -> str:
    """a, b and c; "none" of nothing."""
    if not words:
        return "none"
    return last.join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def align_columns(rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = (), indent: str = "") -> list[str]:
    """Each row as a line, its columns as wide as their widest cell: words to the left, `numbers` to the right."""
    widths = [max(_measure(row[c]) for row in rows) for c in range(len(rows[0]))]

    def pad(c: int, cell: str) -> str:
        room = " " * (widths[c] - _measure(cell))
        return room + cell if c in numbers else cell + room

    return [indent + "  ".join(pad(c, cell) for c, cell in enumerate(row)).rstrip() for row in rows]


def _measure(cell: str) -> int:
    """How many letters of a cell are seen."""
    return len(STYLE.sub("", cell))


def format_table(titles: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A line of titles and the rows under it."""
    return "\n".join(align_columns([titles, *rows], numbers=numbers))
