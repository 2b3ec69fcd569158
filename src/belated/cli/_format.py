"""Values and trials as a person reads them: aligned, in six digits. Scripts get every digit from --json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from belated.results import BestQuery, Trial
from belated.wording import format_value


def format_params(params: Mapping[str, Any], indent: str = "  ") -> str:
    """One name and value per line."""
    width = max(map(len, params), default=0)
    return "\n".join(f"{indent}{name:<{width}}  {format_value(value)}" for name, value in params.items())


def format_query(query: Trial | BestQuery) -> str:
    """The params of a query, and its context under them."""
    return format_place(query.params, query.context)


def format_place(params: Mapping[str, Any], context: Mapping[str, Any] | None) -> str:
    """Params, and the context under them."""
    text = format_params(params)
    return text if context is None else f"{text}\n  in the context\n{format_params(context, '    ')}"


def format_best(best: BestQuery) -> str:
    """What a query is worth, and its params under that."""
    worth = best.describe_value()
    return f"{worth[0].upper()}{worth[1:]}\n{format_query(best)}"


def format_note(note: str) -> str:
    """A note on a line of its own; nothing where there is none."""
    return f"\n  ({note})" if note else ""
