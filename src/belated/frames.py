"""Trials as a data frame: of pandas where it is installed, else of polars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from belated.errors import Unavailable
from belated.results import Trial
from belated.settings import Settings

FIELDS = (
    *("status", "outcome", "noise", "delay", "asked_at", "told_at"),
    *("failure", "shown", "converted", "by_hand", "note"),
)


def make_frame(settings: Settings, trials: Sequence[Trial]) -> Any:
    """A row for each trial."""
    columns = list_columns(settings, trials)
    try:
        import pandas
    except ModuleNotFoundError:
        return _make_polars_frame(columns)
    return pandas.DataFrame(columns)


def _make_polars_frame(columns: dict[str, list[Any]]) -> Any:
    try:
        import polars
    except ModuleNotFoundError as error:
        raise Unavailable("a data frame needs pandas or polars: pip install pandas") from error
    return polars.DataFrame(columns, strict=False)


def list_columns(settings: Settings, trials: Sequence[Trial]) -> dict[str, list[Any]]:
    """The number, the params by their names, the context, and how the trial stands. A param that is called like one of
    the other columns is params.NAME."""
    reserved = {"number", *FIELDS}
    names = {name: f"params.{name}" if name in reserved else name for name in settings.space.names}
    around = () if settings.context is None else settings.context.names
    return {
        "number": [trial.number for trial in trials],
        **{column: [trial.params[name] for trial in trials] for name, column in names.items()},
        **{f"context.{name}": [(trial.context or {}).get(name) for trial in trials] for name in around},
        **{field: [getattr(trial, field) for trial in trials] for field in FIELDS},
    }
