"""A study as it is declared in the shell: a TOML file, options, or both (an option outweighs the file)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from belated import Choice, Integer, Points, Real
from belated.cli.cells import decimal, integer, scalar
from belated.cli.records import Faults, csv_of, toml_of
from belated.errors import InvalidInput
from belated.parameters import Parameter
from belated.plain import about, listed, shown

SETTINGS = (
    *("goal", "floor", "ceiling", "limits", "silence", "patience"),
    *("late", "algorithm", "repeats", "initial", "seed"),
)
Declared = dict[str, Parameter] | Points
Function = TypeVar("Function", bound=Callable[..., Any])

BOUNDS: dict[str, Callable[[str, str], Parameter]] = {
    "real": lambda low, high: Real(decimal(low, "low"), decimal(high, "high")),
    "real_log": lambda low, high: Real(decimal(low, "low"), decimal(high, "high"), log=True),
    "integer": lambda low, high: Integer(integer(low, "low"), integer(high, "high")),
    "integer_log": lambda low, high: Integer(integer(low, "low"), integer(high, "high"), log=True),
}
HELP = {
    "real": "A number from LOW to HIGH.",
    "real_log": "A number whose logarithm varies evenly.",
    "integer": "A whole number, both ends included.",
    "integer_log": "A whole number whose logarithm varies evenly.",
}


def parameter_options(function: Function) -> Function:
    """--real, --real-log, --integer, --integer-log, --choice, and the same for the context."""
    for prefix in ("context-", ""):
        of = " of the context" if prefix else ""
        function = click.option(
            f"--{prefix}choice",
            type=(str, str),
            multiple=True,
            metavar="NAME A,B,...",
            help=f"One of several options{of}, without order: numbers, true, false, null or words.",
        )(function)
        for kind in reversed(BOUNDS):
            function = click.option(
                f"--{prefix}{kind.replace('_', '-')}",
                type=(str, str, str),
                multiple=True,
                metavar="NAME LOW HIGH",
                help="The same for the context." if prefix else HELP[kind],
            )(function)
    return function


def from_options(said: Mapping[str, Any], prefix: str = "") -> dict[str, Parameter]:
    """The parameters that options declare."""
    found: dict[str, Parameter] = {}

    def declare(name: str, made: Callable[[], Parameter]) -> None:
        if name in found:
            raise InvalidInput(f"names must differ (got {shown(name)} twice)")
        with about(f"{name}: "):
            found[name] = made()

    for kind, made in BOUNDS.items():
        for name, low, high in said[f"{prefix}{kind}"]:
            declare(name, lambda made=made, low=low, high=high: made(low, high))  # type: ignore[misc]
    for name, options in said[f"{prefix}choice"]:
        declare(name, lambda options=options: Choice(*map(scalar, options.split(","))))  # type: ignore[misc]
    return found


def from_toml(path: Path) -> dict[str, Any]:
    """What a TOML file declares: space, context (each a space or missing), and settings by their names."""
    given = toml_of(path)
    known = ("space", "points", "context", *SETTINGS)
    for name in given:
        if name not in known:
            raise InvalidInput(f"{path}: there is no setting {shown(name)} (there are {listed(known)})")
    found: dict[str, Any] = {name: given[name] for name in SETTINGS if name in given}
    with about(f"{path}: "):
        if "space" in given and "points" in given:
            raise InvalidInput("give space or points, not both")
        if "space" in given:
            found["space"] = _parameters(given["space"], "space")
        if "points" in given:
            found["space"] = Points(given["points"])
        if "context" in given:
            found["context"] = _parameters(given["context"], "context")
    return found


def _parameters(given: object, what: Literal["space", "context"]) -> dict[str, Parameter]:
    if not isinstance(given, dict):
        raise InvalidInput(f"{what} must be a table of parameters (got {shown(given)})")
    found = {}
    for name, said in given.items():
        with about(f"{name}: "):
            found[name] = _parameter(said)
    return found


def _parameter(said: Any) -> Parameter:
    match said:
        case {"real": [low, high], **rest} if set(rest) <= {"log"}:
            return Real(low, high, said.get("log", False))
        case {"integer": [low, high], **rest} if set(rest) <= {"log"}:
            return Integer(low, high, said.get("log", False))
        case {"choice": [*options], **rest} if not rest:
            return Choice(*options)
    kinds = "{ real = [low, high] }, { integer = [low, high] } (either with log = true) or { choice = [...] }"
    raise InvalidInput(f"must be {kinds} (got {shown(said)})")


def from_csv(path: Path) -> Points:
    """A finite set of queries, a row for each."""
    faults = Faults(path)
    records = csv_of(path, faults)
    names = max((list(record.cells) for record in records), key=len, default=[])
    for record in records:
        with faults.at(record.line):
            if len(record.cells) < len(names):
                raise InvalidInput(f"there must be a value for each of {listed(names)} (got {listed(record.cells)})")
    faults.refuse()
    with about(f"{path}: "):
        return Points([{name: scalar(text) for name, text in record.cells.items()} for record in records])


def either(what: str, parts: Iterable[tuple[str, Any]]) -> Any:
    """The one part that is given; parameters from a file and from options are not mixed."""
    given = [(where, part) for where, part in parts if part]
    if len(given) > 1:
        raise InvalidInput(f"declare the {what} once: by {' or by '.join(where for where, _ in given)}, not both")
    return given[0][1] if given else None
