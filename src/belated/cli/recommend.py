"""`belated recommend`: where the belief is best."""

from __future__ import annotations

from dataclasses import asdict

import click

from belated.cli._common import json_option, open_study, print_result, split_name, study_arguments
from belated.cli._format import format_best
from belated.cli.io.cells import parse_context


@click.command()
@study_arguments("[NAME]")
@click.option("--context", multiple=True, metavar="K=V", help="The context that it is for; once for each of its names.")
@json_option
def recommend(words: tuple[str, ...], url: str, in_json: bool, context: tuple[str, ...]) -> None:
    """Show the query, of the whole space, whose outcome or rate is best by what the study believes.

    With it comes the interval that holds the true value with a probability of 90 %. It may never have been asked.

    \b
    Example:
      $ belated recommend catalyst
    """
    name, _ = split_name(words, 0, "[NAME]")
    study = open_study(url, name)
    found = study.recommend(parse_context(study.settings.context, context))
    note = study.fit_note
    lines = [format_best(found), note]
    print_result({**asdict(found), "fit_note": note}, in_json, lambda: "\n".join(filter(None, lines)))
