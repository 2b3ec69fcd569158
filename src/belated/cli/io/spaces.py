"""The space and the settings of a new study: from a TOML file, from options, or both (options win)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from belated import Choice, Integer, Points, Real
from belated.cli.io.cells import parse_decimal, parse_integer, parse_option, parse_pairs
from belated.cli.io.columns import AnyColumns, open_sheet
from belated.cli.io.files import LineErrors, read_toml
from belated.errors import InvalidInput
from belated.space.parameters import Parameter
from belated.validation import format_names, format_value, prefix_errors

SETTINGS = (
    *("goal", "floor", "ceiling", "limits", "silence", "patience"),
    *("late", "algorithm", "repeats", "regret", "outcomes", "initial", "seed"),
    *("about", "outcome_name", "unit"),
)
Function = TypeVar("Function", bound=Callable[..., Any])

TYPED = "belated.typed"  # where click's context holds the names of the options, in the order in which they were typed


def split_options(text: str) -> list[str]:
    """The options between commas."""
    options = text.split(",")
    if not all(option.strip() for option in options):
        raise InvalidInput(f'an option must not be empty; write "" for an empty text (got {format_value(text)})')
    return options


PARSERS: dict[str, Callable[..., Parameter]] = {
    "real": lambda low, high: Real(parse_decimal(low, "low"), parse_decimal(high, "high")),
    "real_log": lambda low, high: Real(parse_decimal(low, "low"), parse_decimal(high, "high"), log=True),
    "integer": lambda low, high: Integer(parse_integer(low, "low"), parse_integer(high, "high")),
    "integer_log": lambda low, high: Integer(parse_integer(low, "low"), parse_integer(high, "high"), log=True),
    "choice": lambda options: Choice(*map(parse_option, split_options(options))),
}
HELP = {
    "real": "A number from LOW to HIGH.",
    "real_log": "A number from LOW to HIGH, on a log scale.",
    "integer": "A whole number from LOW to HIGH.",
    "integer_log": "A whole number from LOW to HIGH, on a log scale.",
}


def parameter_options(function: Function) -> Function:
    """--real, --real-log, --integer, --integer-log, --choice, and the same for the context."""
    for prefix in ("context-", ""):
        of = " Part of the context." if prefix else ""
        function = click.option(
            f"--{prefix}choice",
            type=(str, str),
            multiple=True,
            metavar="NAME A,B,...",
            help=f"One of several options, without order: numbers, true, false, null or words.{of}",
        )(function)
        for kind in reversed(HELP):
            function = click.option(
                f"--{prefix}{kind.replace('_', '-')}",
                type=(str, str, str),
                multiple=True,
                metavar="NAME LOW HIGH",
                help=f"{HELP[kind]}{of}",
            )(function)
    return function


class OrderedCommand(click.Command):
    """A command that knows in which order its options were typed, also across different options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            opts, _, order = self.make_parser(ctx).parse_args(list(args))
        except click.BadOptionUsage as error:
            option = next(param for param in self.params if error.option_name in param.opts)
            raise click.UsageError(f"{error.option_name} must be followed by {option.metavar}", ctx) from None
        ctx.meta[TYPED] = [param.name for param in order]
        for param in self.params:
            typed = opts.get(param.name or "", []) if param.nargs > 1 else []
            for words in typed if getattr(param, "multiple", False) else [typed]:
                if any(word.startswith("--") for word in words):  # click takes whatever comes next
                    got = f"must be followed by {param.metavar} (got {' '.join(words)})"
                    raise click.UsageError(f"{param.opts[0]} {got}", ctx)
        return super().parse_args(ctx, args)


def read_options(options: Mapping[str, Any], prefix: str = "") -> dict[str, Parameter]:
    """The parameters that options declare, in the order in which they were typed."""
    found: dict[str, Parameter] = {}
    kinds = {f"{prefix}{kind}": parse for kind, parse in PARSERS.items()}
    left = {kind: iter(options[kind]) for kind in kinds}
    for kind in click.get_current_context().meta[TYPED]:
        if kind not in kinds:
            continue
        name, *bounds = next(left[kind])
        if name in found:
            raise InvalidInput(f"names must differ (got {format_value(name)} twice)")
        with prefix_errors(f"{name}: "):
            found[name] = kinds[kind](*bounds)
    return found


def set_units(
    typed: Sequence[str], space: Mapping[str, Parameter] | Points, context: Mapping[str, Parameter] | None
) -> tuple[Mapping[str, Parameter] | Points, Mapping[str, Parameter] | None]:
    """The space and the context with the units of --parameter-unit NAME=UNIT."""
    units, found = parse_pairs(typed, "--parameter-unit"), set[str]()

    def add(declared: Mapping[str, Parameter]) -> dict[str, Parameter]:
        made = dict(declared)
        for name, unit in units.items():
            kind = declared.get(name)
            if isinstance(kind, Real | Integer):
                found.add(name)
                with prefix_errors(f"{name}: "):
                    made[name] = replace(kind, unit=unit)
        return made

    with_units = space if isinstance(space, Points) else add(space)
    around = None if context is None else add(context)
    for name in units:
        if name not in found:
            raise InvalidInput(f"--parameter-unit must name a number of the space or the context (got {name})")
    return with_units, around


def read_settings(path: Path) -> dict[str, Any]:
    """What a TOML file declares: space, context (each a space or missing), and settings by their names."""
    given = read_toml(path)
    known = ("space", "points", "context", *SETTINGS)
    for name in given:
        if name not in known:
            raise InvalidInput(f"{path}: there is no setting {format_value(name)} (there are {format_names(known)})")
    found: dict[str, Any] = {name: given[name] for name in SETTINGS if name in given}
    with prefix_errors(f"{path}: "):
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
        raise InvalidInput(f"{what} must be a table of parameters (got {format_value(given)})")
    found = {}
    for name, declared in given.items():
        with prefix_errors(f"{name}: "):
            found[name] = _parse_parameter(declared)
    return found


def _parse_parameter(given: Any) -> Parameter:
    match given:
        case {"real": [low, high], **rest} if set(rest) <= {"log", "unit"}:
            return Real(low, high, given.get("log", False), unit=given.get("unit"))
        case {"integer": [low, high], **rest} if set(rest) <= {"log", "unit"}:
            return Integer(low, high, given.get("log", False), unit=given.get("unit"))
        case {"choice": [*options], **rest} if not rest:
            return Choice(*options)
    kinds = "{ real = [low, high] }, { integer = [low, high] } (either with log or unit) or { choice = [...] }"
    raise InvalidInput(f"must be {kinds} (got {format_value(given)})")


def read_points(path: Path) -> Points:
    """A finite set of queries, a row for each."""
    errors = LineErrors(path)
    rows = list(open_sheet(path, errors, AnyColumns()).rows)
    names = max((list(row.cells) for row in rows), key=len, default=[])
    for row in rows:
        with errors.collect(row.line):
            if len(row.cells) < len(names):
                raise InvalidInput(
                    f"there must be a value for each of {format_names(names)} (got {format_names(row.cells)})"
                )
    errors.refuse()
    with prefix_errors(f"{path}: "):
        return Points([{name: parse_option(text) for name, text in row.cells.items()} for row in rows])


def choose_one(what: str, parts: Iterable[tuple[str, Any]]) -> Any:
    """The one part that is given. Parameters of a file and of options are not mixed."""
    given = [(where, part) for where, part in parts if part]
    if len(given) > 1:
        raise InvalidInput(f"declare the {what} once: by {' or by '.join(where for where, _ in given)}, not both")
    return given[0][1] if given else None
