"""`belated check`: whether a study's record is whole."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from belated.cli._common import find_name, json_option, print_result, split_name, study_arguments
from belated.errors import InvalidInput
from belated.execution.terminal import show_progress
from belated.record.check import check as check_record


@click.command()
@study_arguments("[NAME]")
@click.option("--all", "every", is_flag=True, help="Every study of the store.")
@click.option(
    "--repair",
    "new",
    type=click.Path(path_type=Path),
    metavar="NEW",
    help="Keep what is sound of every study in this new file, and say what is left out; the old store stays as it is.",
)
@json_option
def check(words: tuple[str, ...], url: str, in_json: bool, every: bool, new: Path | None) -> None:
    """Check the record of a study: whether everything that belated promises about it is true. Exit code 1 if not.

    The head (position and hash of the last event) stands for the whole record: kept elsewhere, it also finds a record
    that was written anew as a whole.

    \b
    Examples:
      $ belated check catalyst
      $ belated check --repair sound.db
    """
    name, _ = split_name(words, 0, "[NAME]")
    if new is not None:
        if every or name is not None:
            raise InvalidInput("--repair is for the whole store; leave out --all and the name")
        from belated.record.repair import repair

        done = repair(url, new)
        print_result(asdict(done), in_json, lambda: str(done))
        return
    if every and name is not None:
        raise InvalidInput(f"name a study or say --all, not both (got {name})")
    chosen = None if every else find_name(url, name)
    with show_progress(100, shown=not in_json) as show:
        report = check_record(url, chosen, progress=lambda done, total: show(100 * done // total, lambda: "percent"))
    print_result({**asdict(report), "ok": report.ok}, in_json, lambda: str(report))
    if not report.ok:
        raise click.exceptions.Exit(1)
