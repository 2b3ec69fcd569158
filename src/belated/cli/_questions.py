"""A new study, asked for step by step on a terminal. What cannot be used is said, and asked again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import click

from belated.cli.io.spaces import PARSERS
from belated.errors import BelatedError, InvalidInput
from belated.patience import Patience
from belated.space.encoding import Space
from belated.space.parameters import Parameter

Answer = TypeVar("Answer")
KINDS = ("number", "whole number", "choice")
SILENCES = (
    ("unknown", "it is coming, and merely late"),
    ("floor", "no news is the worst news"),
    ("waiting", "the worst while it may still come, then nothing"),
    ("fading", "it could be either: the delays will tell"),
)


def is_terminal() -> bool:
    """Whether somebody can answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def ask_study(parse_patience: Callable[[str], Any]) -> tuple[dict[str, Parameter], dict[str, Any]]:
    """The space, and the settings that cannot be left out or seldom are."""
    space: dict[str, Parameter] = {}
    while not space or click.confirm("Is there another parameter?", default=False):
        space |= repeat(partial(ask_parameter, dict(space)))
    goal = choose("Should the outcome be large or small?", ("large", "small"))
    click.echo("What does it mean that an outcome has not come yet?")
    for word, means in SILENCES:
        click.echo(f"  {word:<8} {means}")
    silence = choose("Silence means", [word for word, _ in SILENCES])
    patience = repeat(lambda: ask_patience(parse_patience))
    return space, {"goal": "maximize" if goal == "large" else "minimize", "silence": silence, "patience": patience}


def ask_parameter(others: dict[str, Parameter]) -> dict[str, Parameter]:
    """One more parameter: its name, its kind and its range."""
    name = click.prompt("The name of a parameter that you can set").strip()
    if name in others:
        raise InvalidInput(f"names must differ (got {name} twice)")
    kind = choose(f"{name}: what kind of value?", KINDS)
    if kind == "choice":
        made = PARSERS["choice"](click.prompt(f"{name}: the options, separated by commas"))
    else:
        low, high = (click.prompt(f"{name}: the {end} value").strip() for end in ("least", "largest"))
        made = PARSERS["real" if kind == "number" else "integer"](low, high)
    Space.of({**others, name: made})  # refuses what cannot be a name
    return {name: made}


def ask_patience(parse: Callable[[str], Any]) -> Any:
    """After what time an outcome is late."""
    text = click.prompt("After how long is an outcome late? (14d, 12h, 20 for rounds, none: never)", default="none")
    patience = parse(text)
    Patience.of(None if patience == "none" else patience)
    return patience


def choose(question: str, options: tuple[str, ...] | list[str]) -> str:
    """One of some words; the first is the default."""
    answer: str = click.prompt(question, type=click.Choice(options, case_sensitive=False), default=options[0])
    return answer


def repeat(ask: Callable[[], Answer]) -> Answer:
    """An answer that can be used."""
    while True:
        try:
            return ask()
        except BelatedError as error:
            click.echo(f"That cannot be: {error}.")
