"""`belated outlook`: what more queries are likely to bring."""

from __future__ import annotations

import click

from belated.cli._common import json_option, open_study, print_result, split_name, study_arguments
from belated.cli.io.cells import parse_context, parse_decimal, parse_integer


@click.command()
@study_arguments("[NAME]")
@click.option("-n", "count", metavar="N", help="How many more queries.  [default: 10; of conversions, a tenth of all]")
@click.option("--margin", metavar="VALUE", help="How much better counts as better.  [default: a tenth of the spread]")
@click.option("--context", multiple=True, metavar="K=V", help="The context that it is for; once for each of its names.")
@json_option
def outlook(
    words: tuple[str, ...],
    url: str,
    in_json: bool,
    count: str | None,
    margin: str | None,
    context: tuple[str, ...],
) -> None:
    """Say what more queries are likely to bring: whether to go on, or to stop.

    The gain is the true value at the query that is recommended then, minus that at the one recommended now, with an
    interval that holds it with a probability of 80 %. Also the chance that something better than what is recommended
    now exists at all, and how many of the pending outcomes are expected by then.

    \b
    Example:
      $ belated outlook catalyst -n 20 --margin 0.5
    """
    name, _ = split_name(words, 0, "[NAME]")
    study = open_study(url, name)
    found = study.outlook(
        None if count is None else parse_integer(count, "-n"),
        parse_context(study.settings.context, context),
        margin=None if margin is None else parse_decimal(margin, "--margin"),
    )
    print_result(found.to_dict(), in_json, lambda: str(found))
