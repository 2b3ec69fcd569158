"""`belated log`: what happened to a study, in sentences."""

from __future__ import annotations

from dataclasses import asdict

import click

from belated.cli._common import json_option, open_study, parse_trial_number, print_result, split_name, study_arguments
from belated.cli.io.cells import parse_time


@click.command()
@study_arguments("[NAME]")
@click.option("--trial", metavar="NUMBER", help="Of one trial only.")
@click.option("--by", metavar="NAME", help="Of one person only.")
@click.option("--since", metavar="TIME", help="From this time on: 2026-03-01, or 2026-03-01T14:30.")
@click.option("--until", metavar="TIME", help="Up to this time.")
@json_option
def log(
    words: tuple[str, ...],
    url: str,
    in_json: bool,
    trial: str | None,
    by: str | None,
    since: str | None,
    until: str | None,
) -> None:
    """Say what happened to a study, the newest last: its number in the record, when, who, what, and why.

    \b
    Examples:
      $ belated log catalyst
      $ belated log catalyst --trial 3
      $ belated log catalyst --by Anna --since 2026-03-01
    """
    name, _ = split_name(words, 0, "[NAME]")
    study = open_study(url, name)
    entries = study.log(
        None if trial is None else parse_trial_number(trial),
        by=by,
        since=None if since is None else parse_time(since, "--since"),
        until=None if until is None else parse_time(until, "--until"),
    )
    digits = max((len(str(entry.position)) for entry in entries), default=0)
    lines = [entry.format(digits) for entry in entries]
    print_result([asdict(entry) for entry in entries], in_json, lambda: "\n".join(lines) or "Nothing happened")
