"""`belated rename`: another name for a study."""

from __future__ import annotations

import click

from belated.cli._common import by_option, json_option, open_study, print_result, split_name, study_arguments


@click.command()
@study_arguments("[NAME] NEW")
@click.option("--reason", metavar="TEXT", help="Why.")
@by_option
@json_option
def rename(words: tuple[str, ...], url: str, in_json: bool, reason: str | None, by: str | None) -> None:
    """Give a study another name. What is running goes on with it.

    \b
    Example:
      $ belated rename catalst catalyst
    """
    name, (new,) = split_name(words, 1, "[NAME] NEW")
    study = open_study(url, name)
    before = study.name
    study.rename(new, reason=reason, by=by)
    print_result({"study": new, "before": before}, in_json, lambda: f"Study {before} is called {new} now")
