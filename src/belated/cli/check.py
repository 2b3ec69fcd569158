"""`belated check`: whether a study's record is whole."""

from __future__ import annotations

from dataclasses import asdict

import click

from belated.cli._common import find_name, json_option, print_result, split_name, study_arguments
from belated.errors import InvalidInput
from belated.record.check import check as check_record


@click.command()
@study_arguments("[NAME]")
@click.option("--all", "every", is_flag=True, help="Every study of the store.")
@json_option
def check(words: tuple[str, ...], url: str, in_json: bool, every: bool) -> None:
    """Check the record of a study: whether everything that belated promises about it is true. Exit code 1 if not.

    \b
    Example:
      $ belated check catalyst
    """
    name, _ = split_name(words, 0, "[NAME]")
    if every and name is not None:
        raise InvalidInput(f"name a study or say --all, not both (got {name})")
    report = check_record(url, None if every else find_name(url, name))
    print_result({**asdict(report), "ok": report.ok}, in_json, lambda: str(report))
    if not report.ok:
        raise click.exceptions.Exit(1)
