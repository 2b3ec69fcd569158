"""Docstrings as Markdown: examples become blocks of code, and aligned columns become tables."""

import re
import textwrap
from itertools import groupby

ROW = re.compile(r"(\w[\w, =\".]*?)\s{2,}(\S.*)")


def write_markdown(docstring: str) -> str:
    """The docstring, paragraph by paragraph, in Markdown."""
    groups = groupby(docstring.splitlines(), key=lambda line: bool(line.strip()))
    parts = [list(lines) for words, lines in groups if words]
    return "\n\n".join(_write_paragraph(lines) for lines in parts)


def _write_paragraph(lines: list[str]) -> str:
    for at, line in enumerate(lines):
        if line.lstrip().startswith(">>> "):
            above = [_write_paragraph(lines[:at])] if at else []
            example = textwrap.dedent("\n".join(lines[at:]))
            return "\n\n".join([*above, f"```pycon\n{example}\n```"])
    rows = _read_rows(lines)
    if rows:
        return "\n".join(["| | |", "|---|---|", *(f"| `{name}` | {_escape(words)} |" for name, words in rows)])
    return "\n".join(lines)


def _read_rows(lines: list[str]) -> list[tuple[str, str]]:
    """(name, words) of lines in two aligned columns; none where the paragraph is only text."""
    rows: list[tuple[str, str]] = []
    for line in lines:
        row = ROW.fullmatch(line)
        if row is not None:
            rows.append((row[1], row[2]))
        elif rows and line.startswith("  "):
            name, words = rows[-1]
            rows[-1] = name, f"{words} {line.strip()}"
        else:
            return []
    return rows


def _escape(words: str) -> str:
    return words.replace("|", "\\|").replace("<", "&lt;").replace("_", "\\_").replace("*", "\\*")
