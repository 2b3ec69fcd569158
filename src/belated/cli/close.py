"""`belated close`: ask no more, or change nothing at all any more."""

from __future__ import annotations

import click

from belated.cli._common import (
    by_option,
    json_option,
    open_study,
    print_result,
    remark_option,
    split_name,
    study_arguments,
)
from belated.wording import format_count


@click.command()
@study_arguments("[NAME]")
@click.option("--lock", is_flag=True, help="Nothing may be told, amended or undone either.")
@by_option
@remark_option
@json_option
def close(words: tuple[str, ...], url: str, in_json: bool, lock: bool, by: str | None, remark: str | None) -> None:
    """Ask no more. Outcomes of pending queries can still be told, unless the study is locked. belated reopen ends it.

    \b
    Examples:
      $ belated close catalyst
      $ belated close catalyst --lock --remark "as sent to the reviewers"
    """
    name, _ = split_name(words, 0, "[NAME]")
    study = open_study(url, name)
    study.close(lock=lock, by=by, remark=remark)
    out = 0 if study.locked else sum(trial.status in ("pending", "expired") for trial in study.trials())
    still = f"; {format_count(out, 'outcome')} can still be told" if out else ""
    state = "locked" if study.locked else "closed"
    print_result(
        {"study": study.name, "closed": True, "locked": study.locked, "out": out},
        in_json,
        lambda: f"Study {study.name} is {state}{still}",
    )
