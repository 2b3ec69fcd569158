"""A study as it is declared in the shell: a TOML file, options, or both (an option outweighs the file)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from belated import Choice, Integer, Points, Real
from belated.cli.io.cells import parse_decimal, parse_integer, parse_option
from belated.cli.io.files import LineErrors, read_csv, read_toml
from belated.errors import InvalidInput
from belated.space.parameters import Parameter
from belated.validation import about, listed, shown

SETTINGS = (
    *("goal", "floor", "ceiling", "limits", "silence", "patience"),
    *("late", "algorithm", "repeats", "objective", "initial", "seed"),
)
Declared = dict[str, Parameter] | Points
Function = TypeVar("Function", bound=Callable[..., Any])

TYPED = "belated.typed"  # in click's context: the names of the options, in the order in which they were typed
PARSERS: dict[str, Callable[..., Parameter]] = {
    "real": lambda low, high: Real(parse_decimal(low, "low"), parse_decimal(high, "high")),
    "real_log": lambda low, high: Real(parse_decimal(low, "low"), parse_decimal(high, "high"), log=True),
    "integer": lambda low, high: Integer(parse_integer(low, "low"), parse_integer(high, "high")),
    "integer_log": lambda low, high: Integer(parse_integer(low, "low"), parse_integer(high, "high"), log=True),
    "choice": lambda options: Choice(*map(parse_option, options.split(","))),
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
        for kind in reversed(HELP):
            function = click.option(
                f"--{prefix}{kind.replace('_', '-')}",
                type=(str, str, str),
                multiple=True,
                metavar="NAME LOW HIGH",
                help="The same for the context." if prefix else HELP[kind],
            )(function)
    return function


class OrderedCommand(click.Command):
    """A command that knows in which order its options were typed, those of different kinds among each other too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            opts, _, order = self.make_parser(ctx).parse_args(list(args))
        except click.BadOptionUsage as error:
            option = next(param for param in self.params if error.option_name in param.opts)
            raise click.UsageError(f"{error.option_name} must be followed by {option.metavar}", ctx) from None
        ctx.meta[TYPED] = [param.name for param in order]
        for param in self.params:
            said = opts.get(param.name or "", []) if param.nargs > 1 else []
            for words in said if getattr(param, "multiple", False) else [said]:
                if any(word.startswith("--") for word in words):  # click takes whatever comes next
                    got = f"must be followed by {param.metavar} (got {' '.join(words)})"
                    raise click.UsageError(f"{param.opts[0]} {got}", ctx)
        return super().parse_args(ctx, args)


def read_options(said: Mapping[str, Any], prefix: str = "") -> dict[str, Parameter]:
    """The parameters that options declare, in the order in which they were typed."""
    found: dict[str, Parameter] = {}
    kinds = {f"{prefix}{kind}": made for kind, made in PARSERS.items()}
    left = {kind: iter(said[kind]) for kind in kinds}
    for kind in click.get_current_context().meta[TYPED]:
        if kind not in kinds:
            continue
        name, *bounds = next(left[kind])
        if name in found:
            raise InvalidInput(f"names must differ (got {shown(name)} twice)")
        with about(f"{name}: "):
            found[name] = kinds[kind](*bounds)
    return found


def read_settings(path: Path) -> dict[str, Any]:
    """What a TOML file declares: space, context (each a space or missing), and settings by their names."""
    given = read_toml(path)
    known = ("space", "points", "context", *SETTINGS)
    for name in given:
        if name not in known:
            raise InvalidInput(f"{path}: there is no setting {shown(name)} (there are {listed(known)})")
    found: dict[str, Any] = {name: given[name] for name in SETTINGS if name in given}
    with about(f"{path}: "):
        if "space" in given and "points" in given:
            raise InvalidInput("give space or points, not both")
        if "space" in given:
            found["space"] = _parse_parameters(given["space"], "space")
        if "points" in given:
            found["space"] = Points(given["points"])
        if "context" in given:
            found["context"] = _parse_parameters(given["context"], "context")
    return found


def _parse_parameters(given: object, what: Literal["space", "context"]) -> dict[str, Parameter]:
    if not isinstance(given, dict):
        raise InvalidInput(f"{what} must be a table of parameters (got {shown(given)})")
    found = {}
    for name, said in given.items():
        with about(f"{name}: "):
            found[name] = _parse_parameter(said)
    return found


def _parse_parameter(said: Any) -> Parameter:
    match said:
        case {"real": [low, high], **rest} if set(rest) <= {"log"}:
            return Real(low, high, said.get("log", False))
        case {"integer": [low, high], **rest} if set(rest) <= {"log"}:
            return Integer(low, high, said.get("log", False))
        case {"choice": [*options], **rest} if not rest:
            return Choice(*options)
    kinds = "{ real = [low, high] }, { integer = [low, high] } (either with log = true) or { choice = [...] }"
    raise InvalidInput(f"must be {kinds} (got {shown(said)})")


def read_points(path: Path) -> Points:
    """A finite set of queries, a row for each."""
    faults = LineErrors(path)
    records = read_csv(path, faults)
    names = max((list(record.cells) for record in records), key=len, default=[])
    for record in records:
        with faults.at(record.line):
            if len(record.cells) < len(names):
                raise InvalidInput(f"there must be a value for each of {listed(names)} (got {listed(record.cells)})")
    faults.refuse()
    with about(f"{path}: "):
        return Points([{name: parse_option(text) for name, text in record.cells.items()} for record in records])


def choose_one(what: str, parts: Iterable[tuple[str, Any]]) -> Any:
    """The one part that is given; parameters from a file and from options are not mixed."""
    given = [(where, part) for where, part in parts if part]
    if len(given) > 1:
        raise InvalidInput(f"declare the {what} once: by {' or by '.join(where for where, _ in given)}, not both")
    return given[0][1] if given else None
