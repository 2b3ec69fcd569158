"""`belated delete`: a study that is no longer wanted."""

from __future__ import annotations

import click

from belated.cli._common import by_option, json_option, open_study, print_result, refuse_arguments, study_arguments
from belated.wording import format_count


@click.command()
@study_arguments("NAME")
@click.option("--reason", required=True, help="Why; stored with its name and the hash of its head.")
@click.option("--confirm", metavar="NAME", help="Its name once more, in place of the question.")
@by_option
@json_option
def delete(words: tuple[str, ...], url: str, in_json: bool, reason: str, confirm: str | None, by: str | None) -> None:
    """Delete a study with all that is known of it, after asking for its name. A backup still has it.

    \b
    Example:
      $ belated delete practice --reason "it was to learn the commands"
    """
    if len(words) != 1:
        refuse_arguments(words, "NAME")
    study = open_study(url, words[0])
    if confirm is None:
        trials = format_count(study.rounds, "trial")
        confirm = click.prompt(f"Study {study.name} has {trials}. To delete it, type its name", err=True)
    study.delete(str(confirm), reason=reason, by=by)
    print_result({"study": study.name, "deleted": True}, in_json, lambda: f"Study {study.name} is deleted")
