"""`belated advise`: how long to wait."""

from __future__ import annotations

import click

from belated.cli._common import json_option, open_study, print_result, split_name, study_arguments


@click.command()
@study_arguments("[NAME]")
@click.option("--by", metavar="SCALE", help="rounds or clock.  [default: as the study's patience is]")
@json_option
def advise(words: tuple[str, ...], url: str, in_json: bool, by: str | None) -> None:
    """Say how long to wait: what each patience would cost, which one is advised, and why.

    For each, the share of outcomes that arrive within it (with 95 % confidence limits), how many queries it keeps open
    at a time, and how wide it makes the confidence interval. Nothing is changed: a study that is to follow the advice
    by itself is made with belated new --patience auto.

    \b
    Examples:
      $ belated advise catalyst
      $ belated advise catalyst --by clock --json
    """
    name, _ = split_name(words, 0, "[NAME]")
    advice = open_study(url, name).advise(by)  # type: ignore[arg-type]  # refused there, in words, if it is neither
    print_result(advice.plain(), in_json, lambda: str(advice))
