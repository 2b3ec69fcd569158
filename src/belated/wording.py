"""Words and tables that people read: counts, lists, columns."""

from __future__ import annotations

from collections.abc import Sequence


def format_count(n: int, noun: str, plural: str = "") -> str:
    """1 trial, 2 trials."""
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


def join_words(words: Sequence[str], last: str = " and ") -> str:
    """a, b and c; "none" of nothing."""
    if not words:
        return "none"
    return last.join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def align_columns(rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = (), indent: str = "") -> list[str]:
    """Each row as a line, its columns as wide as their widest cell: words to the left, `numbers` to the right."""
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    puts = [str.rjust if c in numbers else str.ljust for c in range(len(widths))]
    return [
        indent + "  ".join(put(cell, width) for put, cell, width in zip(puts, row, widths, strict=True)).rstrip()
        for row in rows
    ]


def format_table(titles: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A line of titles and the rows under it."""
    return "\n".join(align_columns([titles, *rows], numbers=numbers))
