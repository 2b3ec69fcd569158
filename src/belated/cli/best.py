"""`belated best`: the trial with the best outcome so far."""

from __future__ import annotations

from dataclasses import asdict

import click

from belated.cli._common import json_option, open_study, print_result, split_name, study_arguments
from belated.cli._format import format_query, format_value
from belated.cli.io.cells import parse_context


@click.command()
@study_arguments("[NAME]")
@click.option("--context", multiple=True, metavar="K=V", help="The best in this context only.")
@json_option
def best(words: tuple[str, ...], url: str, in_json: bool, context: tuple[str, ...]) -> None:
    """Show the trial with the best outcome so far.

    \b
    Example:
      $ belated best catalyst
    """
    name, _ = split_name(words, 0, "[NAME]")
    study = open_study(url, name)
    trial = study.best(parse_context(study.settings.context, context))
    print_result(
        asdict(trial),
        in_json,
        lambda: f"Trial {trial.number}: {format_value(trial.outcome)}\n{format_query(trial)}",
    )
