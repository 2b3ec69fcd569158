"""Schemas as SQL files, a part per version: `-- version 1 --`, then its statements."""

from __future__ import annotations

import re
from importlib.resources import files


def read_migrations(name: str) -> dict[int, str]:
    """The SQL that leads to each version of a schema."""
    text = files("belated.record.ledger").joinpath(name).read_text(encoding="utf-8")
    parts = re.split(r"^-- version (\d+) --$", text, flags=re.MULTILINE)
    return {int(version): body for version, body in zip(parts[1::2], parts[2::2], strict=True)}


def split_statements(sql: str) -> list[str]:
    """One statement after the other; each ends with its line."""
    return [statement for statement in sql.split(";\n") if statement.strip()]
