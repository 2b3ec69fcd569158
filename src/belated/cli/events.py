"""`belated events`: everything that happened to a study."""

from __future__ import annotations

import json

import click

from belated.cli._common import open_study, split_name, study_arguments
from belated.record.events import event_to_dict


@click.command()
@study_arguments("[NAME]")
def events(words: tuple[str, ...], url: str) -> None:
    """List everything that happened to a study, in order: one JSON object per line, for a script.

    \b
    Example:
      $ belated events catalyst
    """
    name, _ = split_name(words, 0, "[NAME]")
    for event in open_study(url, name).events():
        click.echo(json.dumps(event_to_dict(event), allow_nan=False))
