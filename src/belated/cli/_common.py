"""What every verb shares: where its study is, how its arguments are read, and how it speaks.

A study is found in the store that --store or BELATED_STORE names. Its own name comes first among the arguments, and may
be left out where the store holds one study only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from belated import Study, studies
from belated.cli.io.cells import NUMBER
from belated.errors import AlreadyTold, BelatedError, InvalidInput, UnknownStudy
from belated.record.ledger.passwords import masked
from belated.study import NAME
from belated.validation import listed, shown

STORE = "sqlite:///belated.db"
NEGATIVE = re.compile(r"-(\d|\.\d|inf|nan)", re.ASCII | re.IGNORECASE)
Function = TypeVar("Function", bound=Callable[..., Any])


def study_arguments(arguments: str = "") -> Callable[[Function], Callable[..., Any]]:
    """The options that every verb has, and its arguments as they are, `words`; usage calls them `arguments`."""

    def wrap(function: Function) -> Callable[..., Any]:
        at = click.argument("words", nargs=-1, metavar=arguments, type=click.UNPROCESSED)
        where = click.option(
            "--store",
            "url",
            envvar="BELATED_STORE",
            default=STORE,
            metavar="URL",
            help=f"Where the study is kept; or set BELATED_STORE.  [default: {STORE}]",
        )
        wrapped: Callable[..., Any] = at(where(function))
        return wrapped

    return wrap


def json_option(function: Function) -> Function:
    return click.option("--json", "in_json", is_flag=True, help="Print JSON, for a script.")(function)


class SignedCommand(click.Command):
    """A command among whose arguments -0.5 is a number and no option."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["context_settings"] = {"ignore_unknown_options": True, **(kwargs.get("context_settings") or {})}
        super().__init__(*args, **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        for word in ctx.params["words"]:
            if word.startswith("-") and NEGATIVE.match(word) is None:
                raise click.NoSuchOption(word.split("=")[0], ctx=ctx)
        return rest


def split_name(words: Sequence[str], count: int, usage: str) -> tuple[str | None, Sequence[str]]:
    """The study's name, if it is said, and the `count` other arguments."""
    if len(words) == count:
        return None, words
    if len(words) == count + 1:
        return words[0], words[1:]
    raise misused(words, usage)


def split_trial(words: Sequence[str], command: str, last: str, such_as: str, usage: str) -> tuple[str | None, str, str]:
    """The study's name, if it is said, a trial's number and the argument after it; where one is missing, which one."""
    named = len(words) > 0 and NAME.fullmatch(words[0]) is not None and NUMBER.fullmatch(words[0]) is None
    rest = words[1:] if named else words
    if len(rest) == 1:
        counts = rest[0].isascii() and rest[0].isdigit()
        typed = " ".join([command, *words[:named], rest[0] if counts else "1", such_as])
        what = last if counts else "NUMBER"
        raise InvalidInput(f"{what} is missing; for example: belated {typed} (got {_join_words(words)})")
    name, (which, value) = split_name(words, 2, usage)
    return name, which, value


def misused(words: Sequence[str], usage: str) -> InvalidInput:
    return InvalidInput(f"the arguments must be {usage} (got {_join_words(words)})")


def _join_words(words: Sequence[str]) -> str:
    said = " ".join(" ".join(words).split()) or "nothing"
    return said if len(said) <= 80 else said[:77] + "..."


def find_name(url: str, name: str | None) -> str:
    """The study's name; the only one there is, where none is said."""
    if name is not None:
        return name
    names = studies(url)
    if len(names) == 1:
        return names[0]
    if not names:
        raise UnknownStudy(f"there is no study in {masked(url)}; make one with belated new")
    raise InvalidInput(f"name the study: there are {listed(names)}")


def open_study(url: str, name: str | None) -> Study:
    return Study.open(url, find_name(url, name))


def suggest_command(study: Study, url: str, command: str) -> str:
    """The next command that a person may type, `{}` in it being this study."""
    typed = click.get_current_context().get_parameter_source("url") is click.core.ParameterSource.COMMANDLINE
    return f"belated {command.format(study.name)}" + (f" --store {masked(url)}" if typed else "")


def print_result(plain: Any, in_json: bool, words: Callable[[], str]) -> None:
    """Print for a script or for a person."""
    click.echo(json.dumps(plain, allow_nan=False) if in_json else words())


def print_warning(sentence: str) -> None:
    click.echo(f"Warning: {sentence}", err=True)


def parse_trial_number(text: str) -> int:
    """A trial's number as it was typed."""
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    raise InvalidInput(f"NUMBER must be a trial's number: 1, 2, 3, ... (got {shown(text)})")


def add_remedy(error: BelatedError, study: Study, number: int, value: float) -> BelatedError:
    """A conflict, with the command that resolves it."""
    if not isinstance(error, AlreadyTold):
        return error
    remedy = f'belated amend {study.name} {number} {value!r} --reason "..."'
    return type(error)(f"{error}. If this one is right: {remedy}")
