"""Schemas as SQL files, a part per version: `-- version 1 --`, then its statements."""

from __future__ import annotations

import re
from importlib.resources import files


def read_migrations(name: str) -> dict[int, list[str]]:
    """The statements that lead to each version of a schema."""
    text = files("belated.record.ledger").joinpath(name).read_text(encoding="utf-8")
    parts = re.split(r"^-- version (\d+) --$", text, flags=re.MULTILINE)
    return {
        int(version): [statement for statement in body.split(";\n") if statement.strip()]
        for version, body in zip(parts[1::2], parts[2::2], strict=True)
    }
