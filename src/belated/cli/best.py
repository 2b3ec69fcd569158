"""`belated best`: the best query so far."""

from __future__ import annotations

from dataclasses import asdict

import click

from belated.cli._common import json_option, open_study, print_result, split_name, study_arguments
from belated.cli._format import format_best
from belated.cli.io.cells import parse_context


@click.command()
@study_arguments("[NAME]")
@click.option("--context", multiple=True, metavar="K=V", help="The best in this context only.")
@json_option
def best(words: tuple[str, ...], url: str, in_json: bool, context: tuple[str, ...]) -> None:
    """Show the query with the best outcome so far, and its trial; of conversions, the query with the best rate.

    Of noisy outcomes, and of rates, also the interval that holds the true value with a probability of 90 %.

    \b
    Example:
      $ belated best catalyst
    """
    name, _ = split_name(words, 0, "[NAME]")
    study = open_study(url, name)
    found = study.best(parse_context(study.settings.context, context))
    print_result(asdict(found), in_json, lambda: format_best(found))
