"""What every command shares: where its study is, how its arguments are read, and how it prints.

A study is found in the store that --store or BELATED_STORE names. Its own name comes first among the arguments. It may
be left out where the store holds one study only.
"""

from __future__ import annotations

import getpass
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from belated import Study, studies
from belated.cli.io.cells import NUMBER, parse_pairs, parse_params
from belated.cli.io.columns import describe_left_out
from belated.cli.io.files import find_cut_line
from belated.errors import BelatedError, InvalidInput, UnknownStudy
from belated.record.ledger import is_server
from belated.record.ledger.calls import TOKEN
from belated.record.ledger.passwords import mask_password
from belated.record.signing import PERSON
from belated.validation import format_names, format_value, is_name

STORE = "sqlite:///belated.db"
NEGATIVE = re.compile(r"-(\d|\.\d|inf|nan)", re.ASCII | re.IGNORECASE)
LONGEST = 80  # characters of the arguments that a message repeats
Function = TypeVar("Function", bound=Callable[..., Any])


# Options and arguments ------------------------------------------------------------------------------------------------


def study_arguments(usage: str) -> Callable[[Function], Callable[..., Any]]:
    """The option --store, and the arguments as they were typed, `words`; the help calls them `usage`."""

    def wrap(function: Function) -> Callable[..., Any]:
        arguments = click.argument(
            "words", nargs=-1, metavar=usage, type=click.UNPROCESSED, shell_complete=complete_name
        )
        store = click.option(
            "--store",
            "url",
            envvar="BELATED_STORE",
            default=STORE,
            metavar="URL",
            callback=warn_of_password,
            is_eager=True,  # --by looks at it
            help=f"Where the study is stored; or set BELATED_STORE.  [default: {STORE}]",
        )
        wrapped: Callable[..., Any] = arguments(store(function))
        return wrapped

    return wrap


def complete_name(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The studies whose names begin so, where a name comes next; none where the store cannot be read."""
    if ctx.params.get("words"):
        return []
    try:
        return [name for name in studies(ctx.params.get("url") or STORE) if name.startswith(incomplete)]
    except BelatedError:
        return []


def warn_of_password(ctx: click.Context, param: click.Parameter, url: str) -> str:
    """Warn of a password that was typed: as an argument, everybody on the machine can read it."""
    typed = ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE
    if typed and url.startswith("postgres") and mask_password(url) != url:
        print_warning("ps shows the password in --store to others; use PGPASSFILE, PGPASSWORD or BELATED_STORE instead")
    return url


def json_option(function: Function) -> Function:
    return click.option("--json", "in_json", is_flag=True, help="Print JSON, for a script.")(function)


def by_option(function: Function) -> Function:
    """The option --by: who does it."""
    return click.option(
        "--by",
        envvar=PERSON,
        callback=find_signer,
        metavar="NAME",
        help=f"Who does it; or set {PERSON}.  [default: the user's name]",
    )(function)


def find_signer(ctx: click.Context, param: click.Parameter, by: str | None) -> str | None:
    """Who was named; else whose token it is, at a server that needs one; else the user of this shell."""
    signed = is_server(ctx.params.get("url")) and os.environ.get(TOKEN)
    return by if by is not None or signed else find_user()


def remark_option(function: Function) -> Function:
    return click.option("--remark", metavar="TEXT", help="Something to keep with it.")(function)


def find_user() -> str | None:
    """The name of the user whose shell this is; None where the system has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return None


class SignedCommand(click.Command):
    """A command that reads -0.5 as a number, not as an option."""

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
    """The study's name, if it was typed, and the `count` other arguments."""
    if len(words) == count:
        return None, words
    if len(words) == count + 1:
        return words[0], words[1:]
    refuse_arguments(words, usage)


def split_trial(words: Sequence[str], command: str, last: str, example: str, usage: str) -> tuple[str | None, str, str]:
    """The study's name, if it was typed, a trial's number, and the argument after it.

    Where one of these is missing, the message says which one. last is what the usage calls the last argument, example
    is a text that it could be.
    """
    named = len(words) > 0 and is_name(words[0]) and NUMBER.fullmatch(words[0]) is None
    rest = words[1:] if named else words
    if len(rest) == 1:
        is_number = rest[0].isascii() and rest[0].isdigit()
        typed = " ".join([command, *words[:named], rest[0] if is_number else "1", example])
        what = last if is_number else "NUMBER"
        raise InvalidInput(f"{what} is missing; for example: belated {typed} (got {_join_words(words)})")
    name, (number, value) = split_name(words, 2, usage)
    return name, number, value


def refuse_arguments(words: Sequence[str], usage: str) -> NoReturn:
    raise InvalidInput(f"the arguments must be {usage} (got {_join_words(words)})")


def _join_words(words: Sequence[str]) -> str:
    text = " ".join(" ".join(words).split()) or "nothing"
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def parse_trial_number(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    raise InvalidInput(f"NUMBER must be a trial's number: 1, 2, 3, ... (got {format_value(text)})")


def parse_run(study: Study, pairs: Sequence[str]) -> dict[str, Any] | None:
    """What was run, of --run k=v ...; None where nothing is said."""
    return parse_params(study.settings.space, parse_pairs(pairs, "--run"), "--run ") if pairs else None


def require_at_least(option: str, value: int, least: int) -> None:
    if value < least:
        raise InvalidInput(f"{option} must be at least {least} (got {value})")


# The study ------------------------------------------------------------------------------------------------------------


def find_name(url: str, name: str | None) -> str:
    """The study's name; where none was typed, that of the only study there is."""
    if name is not None:
        return name
    names = studies(url)
    if len(names) == 1:
        return names[0]
    if not names:
        raise UnknownStudy(f"there is no study in {mask_password(url)}; make one with belated new")
    raise InvalidInput(f"name the study: there are {format_names(names)}")


def open_study(url: str, name: str | None) -> Study:
    return Study.open(url, find_name(url, name))


# Printing -------------------------------------------------------------------------------------------------------------


def print_result(plain: Any, in_json: bool, format_words: Callable[[], str]) -> None:
    """Print for a script or for a person."""
    click.echo(json.dumps(plain, allow_nan=False) if in_json else format_words())


def warn_of_cut_line(path: Path) -> None:
    """Name the last line of a CSV if it has no newline: a number at its end may have lost digits."""
    line = find_cut_line(path) if path.suffix.lower() == ".csv" else None
    if line is not None:
        print_warning(f"{path}:{line}: this last line has no newline; check that the file is not cut off")


def warn_of_left_out(titles: Sequence[str]) -> None:
    """Name the columns of a table that mean nothing here."""
    if words := describe_left_out(titles):
        print_warning(words)


def print_warning(sentence: str) -> None:
    click.echo(f"Warning: {sentence}", err=True)


def suggest_command(study: Study, url: str, command: str) -> str:
    """A command that a person may type next; {} in it is replaced by the study's name."""
    typed = click.get_current_context().get_parameter_source("url") is click.core.ParameterSource.COMMANDLINE
    return f"belated {command.format(study.name)}" + (f" --store {mask_password(url)}" if typed else "")
