"""`belated posterior`: what the study believes at a query."""

from __future__ import annotations

import click

from belated.cli._common import json_option, open_study, print_result, study_arguments
from belated.cli._format import format_place
from belated.cli.io.cells import parse_context, parse_pairs, parse_params
from belated.errors import InvalidInput


@click.command()
@study_arguments("[NAME] K=V ...")
@click.option("--context", multiple=True, metavar="K=V", help="The context; once for each of its names.")
@click.option("--pending", is_flag=True, help="As the next choice sees it: what is pending counts too.")
@json_option
def posterior(words: tuple[str, ...], url: str, in_json: bool, context: tuple[str, ...], pending: bool) -> None:
    """Show what the study believes of the true value at a query: its mean, standard deviation and 90 % interval.

    \b
    Example:
      $ belated posterior catalyst temperature=60 stages=3 solvent=water
    """
    named = bool(words) and "=" not in words[0]
    study = open_study(url, words[0] if named else None)
    params = parse_params(study.settings.space, parse_pairs(words[1:] if named else words, "the query"))
    if not params:
        raise InvalidInput("name a query: one K=V for each parameter; for example: belated posterior x=0.5")
    around = parse_context(study.settings.context, context)
    found = study.posterior([params], around, pending=pending)
    mean, std, low, high = (float(each[0]) for each in found)
    quantity = "Rate" if study.settings.outcomes == "conversion" else "Mean"
    lines = [
        f"{quantity} {mean:.4g}, std {std:.4g} (90 %: {low:.4g} to {high:.4g})",
        format_place(params, around),
        study.fit_note,
    ]
    where = {"params": params} if around is None else {"params": params, "context": around}
    print_result(
        {**where, "mean": mean, "std": std, "low": low, "high": high, "fit_note": study.fit_note},
        in_json,
        lambda: "\n".join(filter(None, lines)),
    )
