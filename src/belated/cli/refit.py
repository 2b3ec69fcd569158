"""`belated refit`: hyperparameters ahead of time."""

from __future__ import annotations

import time

import click

from belated import Study
from belated.cli._common import json_option, open_study, print_result, split_name, study_arguments
from belated.patience import parse_duration
from belated.wording import format_count


@click.command()
@study_arguments("[NAME]")
@click.option("--every", metavar="TIME", help="Again and again, after this time: 1h, 30m. Until it is stopped.")
@json_option
def refit(words: tuple[str, ...], url: str, in_json: bool, every: str | None) -> None:
    """Fit the hyperparameters now, and record them for the asks that follow.

    An ask fits by itself as long as that is quick. With many thousands of trials it keeps the last fit, and says so.

    \b
    Examples:
      $ belated refit catalyst
      $ belated refit catalyst --every 1h
    """
    name, _ = split_name(words, 0, "[NAME]")
    pause = None if every is None else parse_duration(every, "--every")
    study = open_study(url, name)
    print_fit(study, in_json)
    while pause is not None:
        time.sleep(pause)
        print_fit(study, in_json)


def print_fit(study: Study, in_json: bool) -> None:
    """Fit, and say what was found."""
    found = study.refit()
    plain = {"study": study.name, "fitted": None if found is None else found.to_dict()}
    if found is None:
        print_result(plain, in_json, lambda: f"Study {study.name}: too little was heard, or there is nothing to fit")
        return
    around = f", summarised around {len(found.centres)} queries" if found.centres else ""
    sentence = f"fitted to {format_count(found.heard, 'outcome')}{around}; used from trial {found.number} on"
    print_result(plain, in_json, lambda: f"Study {study.name}: {sentence}")
