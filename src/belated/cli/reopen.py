"""`belated reopen`: go on with a closed study."""

from __future__ import annotations

import click

from belated.cli._common import by_option, json_option, open_study, print_result, split_name, study_arguments


@click.command()
@study_arguments("[NAME]")
@click.option("--reason", required=True, help="Why; stored.")
@by_option
@json_option
def reopen(words: tuple[str, ...], url: str, in_json: bool, reason: str, by: str | None) -> None:
    """Go on with a study that was closed or locked.

    \b
    Example:
      $ belated reopen catalyst --reason "the reviewers want two more"
    """
    name, _ = split_name(words, 0, "[NAME]")
    study = open_study(url, name)
    study.reopen(reason=reason, by=by)
    print_result({"study": study.name, "closed": False}, in_json, lambda: f"Study {study.name} is open")
