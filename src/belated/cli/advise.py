"""`belated advise`: how long to wait."""

from __future__ import annotations

import click

from belated.cli._common import json_option, open_study, print_result, split_name, study_arguments


@click.command()
@study_arguments("[NAME]")
@click.option("--by", metavar="SCALE", help="rounds or clock.  [default: the scale of the study's patience]")
@json_option
def advise(words: tuple[str, ...], url: str, in_json: bool, by: str | None) -> None:
    """Say how long to wait for an outcome: what each patience would cost, which one is advised, and why.

    For each patience: the share of outcomes that arrive in time (with a 95 % confidence interval), how many queries are
    open at a time, and how wide it makes the confidence interval of the model. Nothing is changed. A study made with
    belated new --patience auto follows the advice by itself.

    \b
    Examples:
      $ belated advise catalyst
      $ belated advise catalyst --by clock --json
    """
    name, _ = split_name(words, 0, "[NAME]")
    advice = open_study(url, name).advise(by)  # type: ignore[arg-type]  # the study refuses other words
    print_result(advice.to_dict(), in_json, lambda: str(advice))
