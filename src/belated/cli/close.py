"""`belated close`: ask no more."""

from __future__ import annotations

import click

from belated.cli._common import json_option, open_study, print_result, split_name, study_arguments
from belated.wording import format_count


@click.command()
@study_arguments("[NAME]")
@json_option
def close(words: tuple[str, ...], url: str, in_json: bool) -> None:
    """Ask no more. Outcomes of pending queries can still be told.

    \b
    Example:
      $ belated close catalyst
    """
    name, _ = split_name(words, 0, "[NAME]")
    study = open_study(url, name)
    study.close()
    out = sum(trial.status in ("pending", "expired") for trial in study.trials())
    still = f"; {format_count(out, 'outcome')} can still be told" if out else ""
    print_result(
        {"study": study.name, "closed": True, "out": out}, in_json, lambda: f"Study {study.name} is closed{still}"
    )
