"""`belated backup`: every study of a store in a new file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from belated.cli._common import json_option, print_result, refuse_arguments, study_arguments
from belated.cli.io.files import check_path
from belated.record.backup import backup as write_backup


@click.command()
@study_arguments("FILE")
@json_option
def backup(words: tuple[str, ...], url: str, in_json: bool) -> None:
    """Write every study of a store into a new file, whole, as it is at one moment; others may go on meanwhile.

    The file is a SQLite store, from PostgreSQL too. Every event is verified. To bring studies back, or to move them to
    another store: belated restore.

    \b
    Examples:
      $ belated backup monday.db
      $ belated backup monday.db --store postgresql://user@host/database
    """
    if len(words) != 1:
        refuse_arguments(words, "FILE")
    file = Path(words[0])
    check_path(file)
    done = write_backup(url, file)
    print_result(asdict(done), in_json, lambda: str(done))
