"""`belated undo`: take back what a person did last."""

from __future__ import annotations

from dataclasses import asdict

import click

from belated.cli._common import by_option, json_option, open_study, print_result, split_name, study_arguments
from belated.errors import InvalidInput
from belated.record.events import Undone
from belated.record.log import describe_event


@click.command()
@study_arguments("[NAME]")
@click.option("--reason", metavar="TEXT", help="Why.")
@click.option("--yes", is_flag=True, help="Do not ask first.")
@by_option
@json_option
def undo(words: tuple[str, ...], url: str, in_json: bool, reason: str | None, yes: bool, by: str | None) -> None:
    """Take back what you did last, if nothing has happened to the same trial since. It is shown first.

    A tell that is undone leaves its trial pending; an ask is withdrawn, a batch as a whole.

    \b
    Example:
      $ belated undo catalyst --reason "the wrong flask"
    """
    name, _ = split_name(words, 0, "[NAME]")
    study = open_study(url, name)
    found = [describe_event(*past) for past in study.find_undo(by=by)]
    if not yes:
        if in_json:
            raise InvalidInput("with --json nobody is asked; say --yes")
        own = [event for event in study.events() if event.by == by]
        if isinstance(own[-1], Undone):
            click.echo("An undo cannot be undone; this goes further back. What was taken back can be told again.")
        for entry in found:
            click.echo(entry)
        if not click.confirm("Take this back?" if len(found) == 1 else "Take these back?"):
            click.echo("Nothing changed")
            return
    undone = [describe_event(*past) for past in study.undo(by=by, reason=reason, only=found[0].position)]
    lines = [f"Took back: {entry.sentence}" for entry in undone]
    print_result([asdict(entry) for entry in undone], in_json, lambda: "\n".join(lines))
