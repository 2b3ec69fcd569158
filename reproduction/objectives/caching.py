"""Objectives that are evaluated once for every input."""

from __future__ import annotations

from belated.execution.evaluate import ObjectiveFunction
from belated.validation import Params, freeze


def cache_values(f: ObjectiveFunction) -> ObjectiveFunction:
    """f with a memory: the objectives here are deterministic, and measuring regret evaluates every query again."""
    known: dict[object, float] = {}

    def g(params: Params, context: Params | None = None) -> float:
        key = freeze(params), freeze(context)
        if key not in known:
            known[key] = f(params) if context is None else f(params, context)
        return known[key]

    return g
