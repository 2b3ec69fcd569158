"""Trials as a person reads them (aligned columns, six digits, "2h 5m") and as a script does (plain values)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from belated.results import Trial

UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def plain_trial(trial: Trial) -> dict[str, Any]:
    """A trial for JSON: its fields by their names."""
    return asdict(trial)


def format_value(value: object) -> str:
    """A value in six digits; all of them are in --json."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, str) and not (value.strip() and value.isprintable()):
        return json.dumps(value)  # an option such as "" is seen too
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def lasted(seconds: float) -> str:
    """2d 3h, 5m 20s, 0s: the two largest units."""
    rest = max(0, round(seconds))
    parts: list[str] = []
    for unit, size in UNITS:
        count, rest = divmod(rest, size)
        if count or parts:
            parts.append(f"{count}{unit}")
    return " ".join([part for part in parts[:2] if not part.startswith("0")]) or "0s"


def format_params(params: Mapping[str, Any], indent: str = "  ") -> str:
    """One name and value to a line."""
    width = max(map(len, params), default=0)
    return "\n".join(f"{indent}{name:<{width}}  {format_value(value)}" for name, value in params.items())


def format_query(trial: Trial) -> str:
    """A trial's params, with its context under them."""
    text = format_params(trial.params)
    return text if trial.context is None else f"{text}\n  in the context\n{format_params(trial.context, '    ')}"
