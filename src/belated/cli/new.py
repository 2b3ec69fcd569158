"""`belated new`: declare a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from belated import Study, studies
from belated.cli._common import json_option, misused, print_result, study_arguments, suggest_command
from belated.cli.io.cells import parse_decimal, parse_integer
from belated.cli.io.spaces import (
    SETTINGS,
    OrderedCommand,
    choose_one,
    parameter_options,
    read_options,
    read_points,
    read_settings,
)
from belated.errors import InvalidInput, Unreachable, Unreadable
from belated.learner.algorithms import PAPER
from belated.learner.silence import SILENCES


@click.command(cls=OrderedCommand)
@study_arguments("NAME")
@click.option("--space", "file", type=click.Path(path_type=Path), help="A TOML file, as above.")
@click.option("--points", type=click.Path(path_type=Path), help="A CSV: the only queries there are, one to a row.")
@parameter_options
@click.option("--goal", metavar="GOAL", help="maximize or minimize.  [default: maximize]")
@click.option("--floor", metavar="VALUE", help="The worst value of the noise-free objective.")
@click.option("--ceiling", metavar="VALUE", help="The best value.")
@click.option("--limits", nargs=2, metavar="LO HI", help="Outcomes outside are refused.")
@click.option("--silence", metavar="WORD", help=f"What an unheard outcome means: {', '.join(SILENCES)}.")
@click.option(
    "--patience",
    help="Rounds (20) or a time (14d, 90s): after it an outcome is late; auto or auto-clock: as belated advise says; "
    "none: never.  [default: none]",
)
@click.option("--late", metavar="WORD", help="use late outcomes in the model, or ignore them.")
@click.option("--algorithm", metavar="NAME", help=f"default, {', '.join(PAPER)}.")
@click.option("--repeats", metavar="WORD", help="always, heard or never ask a query again.")
@click.option("--objective", metavar="WORD", help="simple: the best query counts; cumulative: every one does.")
@click.option("--initial", metavar="N", help="Space-filling queries to begin with.")
@click.option("--seed", metavar="N", help="Makes every choice repeatable.  [default: drawn]")
@json_option
def new(words: tuple[str, ...], url: str, in_json: bool, file: Path | None, points: Path | None, **said: Any) -> None:
    """Make a study. Saying the same again is harmless; saying something else about it is refused.

    \b
    Example:
      $ belated new catalyst --real temperature 20 90 --integer stages 1 8 \\
          --choice solvent water,ethanol --silence unknown --patience 14d

    The same from a file, belated new catalyst --space space.toml:

    \b
      silence = "unknown"
      patience = "14d"      # every setting may stand in the file or be an option
      [space]
      temperature = { real = [20, 90] }
      rate = { real = [1e-6, 1], log = true }
      stages = { integer = [1, 8] }
      solvent = { choice = ["water", "ethanol"] }
      [context]             # only where every ask comes with a context
      humidity = { real = [0, 100] }

    A finite set of queries is --points queries.csv, or [[points]] tables in the file.
    """
    if len(words) != 1:
        raise misused(words, "NAME")
    declared = {} if file is None else read_settings(file)
    space = choose_one(
        "space",
        [
            ("--space", declared.pop("space", None)),
            ("--points", None if points is None else read_points(points)),
            ("options", read_options(said)),
        ],
    )
    context = choose_one(
        "context", [("--space", declared.pop("context", None)), ("options", read_options(said, "context_"))]
    )
    if space is None:
        raise InvalidInput("declare a space: --space space.toml, --points queries.csv, or options such as --real x 0 1")
    settings = {**declared, **{name: parse_setting(name, said[name]) for name in SETTINGS if said[name] is not None}}
    before = list_existing(url)
    study = Study.create(url, words[0], space=space, context=context, **settings)
    made = words[0] not in before
    settled = study.settings
    plain = {"study": study.name, "created": made, "settings": settled.spec()}
    what = f"Made study {study.name}" if made else f"Study {study.name} exists, with these settings"
    print_result(
        plain,
        in_json,
        lambda: (
            f"{what}: {settled.outcome.goal} over {', '.join(settled.space.names)}; silence means "
            f"{settled.silence.spec()['silence']}, patience {settled.patience}, algorithm {settled.algorithm.name}.\n"
            f"Ask what to try first: {suggest_command(study, url, 'ask {}')}"
        ),
    )


def list_existing(url: str) -> list[str]:
    """The studies that are there before; a file that is not there yet has none."""
    try:
        return studies(url)
    except (Unreachable, Unreadable):
        if not url.startswith("sqlite:"):
            raise
        return []  # Study.create makes the file, or says what is wrong


def parse_setting(name: str, text: Any) -> Any:
    """A setting from the shell as the study takes it."""
    if name == "limits":
        return parse_decimal(text[0], "limits"), parse_decimal(text[1], "limits")
    if name in ("floor", "ceiling"):
        return parse_decimal(text, name)
    if name in ("initial", "seed"):
        return parse_integer(text, name)
    if name == "patience" and text.strip().lstrip("+-").replace(".", "", 1).isdigit():
        return parse_integer(text, "patience in rounds")
    return text
