"""Docstrings as Markdown: examples become blocks of code, and aligned columns become tables."""

import ast
import re
import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import TypeAlias

Row: TypeAlias = tuple[str, str]  # a name, and words about it
ROW = re.compile(r"(\w[\w, =\".]*?)\s{2,}(\S.*)")


def write_markdown(docstring: str, fields: Sequence[Row] = ()) -> str:
    """The docstring, paragraph by paragraph, in Markdown; a table of fields stands before its first example."""
    groups = groupby(docstring.splitlines(), key=lambda line: bool(line.strip()))
    parts = [list(lines) for words, lines in groups if words]
    written = [_write_paragraph(lines) for lines in parts]
    if fields:
        first = next((i for i, lines in enumerate(parts) if lines[0].startswith(">>> ")), len(parts))
        written.insert(first, _write_table(fields))
    return "\n\n".join(written)


def read_fields(source: str, docstring: str) -> list[Row]:
    """What the comments behind the fields of a class say; what its docstring says already is left out."""
    lines = [line.encode() for line in source.splitlines()]  # places in a line are counted in bytes
    (body,) = [each.body for each in ast.parse(source).body if isinstance(each, ast.ClassDef)]
    fields = [each for each in body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]
    rows = []
    for each in fields:
        name = ast.unparse(each.target)
        _, mark, words = lines[(each.end_lineno or 1) - 1][each.end_col_offset :].decode().partition("# ")
        if mark and not re.search(rf"^{name}\b.*\s{{2}}", docstring, re.MULTILINE):
            rows.append((name, words))
    return rows


def _write_paragraph(lines: list[str]) -> str:
    for at, line in enumerate(lines):
        if line.lstrip().startswith(">>> "):
            above = [_write_paragraph(lines[:at])] if at else []
            example = textwrap.dedent("\n".join(lines[at:]))
            return "\n\n".join([*above, f"```pycon\n{example}\n```"])
    rows = _read_rows(lines)
    return _write_table(rows) if rows else "\n".join(lines)


def _write_table(rows: Sequence[Row]) -> str:
    return "\n".join(["| | |", "|---|---|", *(f"| `{name}` | {_escape(words)} |" for name, words in rows)])


def _read_rows(lines: list[str]) -> list[Row]:
    """(name, words) of lines in two aligned columns; none where the paragraph is only text."""
    rows: list[Row] = []
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
