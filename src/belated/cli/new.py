"""`belated new`: declare a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from belated import Study, studies
from belated.cli._common import by_option, json_option, print_result, refuse_arguments, study_arguments, suggest_command
from belated.cli._questions import ask_study, is_terminal
from belated.cli.io.cells import parse_decimal, parse_integer
from belated.cli.io.spaces import (
    SETTINGS,
    OrderedCommand,
    choose_one,
    parameter_options,
    read_options,
    read_points,
    read_settings,
    set_units,
)
from belated.errors import InvalidInput, Unreachable, Unreadable
from belated.learner.algorithms import PAPER
from belated.learner.silence import SILENCES


@click.command(cls=OrderedCommand)
@study_arguments("NAME")
@click.option(
    "--space", "file", type=click.Path(path_type=Path), help="A TOML file with the space and the settings, as above."
)
@click.option("--points", type=click.Path(path_type=Path), help="A CSV file with all possible queries, one per row.")
@parameter_options
@click.option("--goal", metavar="GOAL", help="maximize or minimize.  [default: maximize]")
@click.option("--floor", metavar="VALUE", help="The worst possible value, without noise.")
@click.option("--ceiling", metavar="VALUE", help="The best possible value.")
@click.option("--limits", nargs=2, metavar="LO HI", help="Outcomes outside are refused.")
@click.option("--silence", metavar="WORD", help=f"{', '.join(SILENCES)}: see above.")
@click.option(
    "--patience",
    metavar="WAIT",
    help="Rounds (20) or a time (14d, 90s) after which an outcome is late. auto or auto-clock: as belated advise says. "
    "none: never late.  [default: none]",
)
@click.option("--late", metavar="WORD", help="use or ignore: whether the model uses late outcomes.")
@click.option("--algorithm", metavar="NAME", help=f"default, {', '.join(PAPER)}.")
@click.option("--repeats", metavar="WORD", help="always, heard or never: when a query may be asked again.")
@click.option("--regret", metavar="WORD", help="simple: only the best query counts; cumulative: every query counts.")
@click.option("--outcomes", metavar="WORD", help="real: numbers; conversion: 1 or an amount, if and when it happens.")
@click.option("--initial", metavar="N", help="How many queries to spread over the space first.")
@click.option("--seed", metavar="N", help="Makes every choice repeatable.  [default: random]")
@click.option("--about", metavar="TEXT", help="The question that the study answers, for reports.")
@click.option("--outcome-name", metavar="TEXT", help="What the outcome is called, for pictures, reports and exports.")
@click.option("--unit", metavar="UNIT", help="The unit of the outcome.")
@click.option("--parameter-unit", "units", multiple=True, metavar="NAME=UNIT", help="The unit of a parameter.")
@by_option
@json_option
def new(
    words: tuple[str, ...],
    url: str,
    in_json: bool,
    file: Path | None,
    points: Path | None,
    units: tuple[str, ...],
    by: str | None,
    **options: Any,
) -> None:
    """Make a study. The same command again is harmless; other settings for a study that exists are refused.

    \b
    Example:
      $ belated new catalyst --real temperature 20 90 --integer stages 1 8 \\
          --choice solvent water,ethanol --silence unknown --patience 14d

    The same from a file, belated new catalyst --space space.toml:

    \b
      silence = "unknown"
      patience = "14d"      # every option may be in the file instead
      [space]
      temperature = { real = [20, 90], unit = "°C" }
      rate = { real = [1e-6, 1], log = true }
      stages = { integer = [1, 8] }
      solvent = { choice = ["water", "ethanol"] }
      [context]             # only where every ask comes with a context
      humidity = { real = [0, 100] }

    On a terminal, belated new catalyst alone asks for all of it, step by step.

    Where only certain queries are possible: --points queries.csv, or [[points]] tables in the file.

    \b
    What an outcome that has not come yet counts as, --silence:
      floor    the worst value, also after patience is over
      unknown  what the model expects; nothing after patience
      waiting  the worst value; nothing after patience
      fading   between floor and unknown: how likely it is to come still
      ignored  nothing
      nearest  what the model expects at the nearest heard queries
    """
    if not words:
        raise InvalidInput("NAME is missing; for example: belated new catalyst --real stages 1 8 --silence unknown")
    if len(words) > 1:
        refuse_arguments(words, "NAME")
    declared = {} if file is None else read_settings(file)
    space = choose_one(
        "space",
        [
            ("--space", declared.pop("space", None)),
            ("--points", None if points is None else read_points(points)),
            ("options", read_options(options)),
        ],
    )
    context = choose_one(
        "context", [("--space", declared.pop("context", None)), ("options", read_options(options, "context_"))]
    )
    if space is None and not declared and is_terminal():
        space, declared = ask_study(lambda text: parse_setting("patience", text))
    if space is None:
        raise InvalidInput("declare a space: --space space.toml, --points queries.csv, or options such as --real x 0 1")
    space, context = set_units(units, space, context)
    settings = {
        **declared,
        **{name: parse_setting(name, options[name]) for name in SETTINGS if options[name] is not None},
    }
    before = list_existing(url)
    study = Study.create(url, words[0], space=space, context=context, by=by, **settings)
    created, settled = words[0] not in before, study.settings
    plain = {"study": study.name, "created": created, "settings": settled.spec()}
    what = f"Made study {study.name}" if created else f"Study {study.name} exists with these settings"
    print_result(
        plain,
        in_json,
        lambda: (
            f"{what}: {settled.objective.goal} over {', '.join(settled.space.names)}; silence means "
            f"{settled.silence.name}, patience {settled.patience}, algorithm {settled.algorithm.name}.\n"
            f"Ask what to try first: {suggest_command(study, url, 'ask {}')}"
        ),
    )


def list_existing(url: str) -> list[str]:
    """The names of the studies in the store; none where its file does not exist yet."""
    try:
        return studies(url)
    except (Unreachable, Unreadable):
        if not url.startswith("sqlite:"):
            raise
        return []  # Study.create makes the file, or says what is wrong


def parse_setting(name: str, text: Any) -> Any:
    """The value of a setting that was typed as text."""
    if name == "limits":
        return parse_decimal(text[0], "limits"), parse_decimal(text[1], "limits")
    if name in ("floor", "ceiling"):
        return parse_decimal(text, name)
    if name in ("initial", "seed"):
        return parse_integer(text, name)
    if name == "patience" and text.strip().lstrip("+-").replace(".", "", 1).isdigit():
        return parse_integer(text, "patience in rounds")
    return text
