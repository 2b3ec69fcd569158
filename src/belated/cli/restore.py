"""`belated restore`: the studies of a backup into a store."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from belated.cli._common import json_option, print_result, split_name, study_arguments
from belated.cli.io.files import check_path
from belated.record.backup import restore as restore_backup


@click.command()
@study_arguments("[NAME] FILE")
@click.option("--as", "new_name", metavar="NEW", help="What the study is called in the store; for one study.")
@json_option
def restore(words: tuple[str, ...], url: str, in_json: bool, new_name: str | None) -> None:
    """Put the studies of a backup, or one of them, into a store: all of them, or none.

    A study that is there already gets the events that it lacks, and keeps those that it has. Another study of the same
    name, or one that went another way since the backup, is refused.

    \b
    Examples:
      $ belated restore monday.db
      $ belated restore catalyst monday.db --as catalyst-monday --store postgresql://user@host/database
    """
    name, (word,) = split_name(words, 1, "[NAME] FILE")
    file = Path(word)
    check_path(file)
    done = restore_backup(file, url, name, new_name=new_name)
    print_result(asdict(done), in_json, lambda: str(done))
