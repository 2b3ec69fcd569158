"""`belated replay`: choices computed again."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import click

from belated import Replay, Study
from belated.cli._common import (
    json_option,
    open_study,
    parse_trial_number,
    print_result,
    refuse_arguments,
    study_arguments,
)

USAGE = "[NAME] [NUMBER]"


@click.command()
@study_arguments(USAGE)
@json_option
def replay(words: tuple[str, ...], url: str, in_json: bool) -> None:
    """Compute a trial's choice again, only from what it knew, and compare; without NUMBER, every choice.

    The exit code is 1 if a choice is not the recorded one and nothing explains it.

    \b
    Examples:
      $ belated replay catalyst 12
      $ belated replay catalyst
    """
    if len(words) > 2:
        refuse_arguments(words, USAGE)
    number = words[-1] if words and words[-1].isascii() and words[-1].isdigit() else None
    names = words if number is None else words[:-1]
    if len(names) > 1:
        refuse_arguments(words, USAGE)
    study = open_study(url, names[0] if names else None)
    numbers = list_chosen(study) if number is None else [parse_trial_number(number)]
    found = [study.replay(each) for each in numbers]
    print_result(
        [describe_replay(each) for each in found],
        in_json,
        lambda: "\n".join(map(str, found)) or "No query was chosen yet.",
    )
    if not all(each.ok for each in found):
        raise click.exceptions.Exit(1)


def list_chosen(study: Study) -> list[int]:
    """The trials whose query the study chose."""
    return [trial.number for trial in study.trials() if not trial.by_hand]


def describe_replay(found: Replay) -> dict[str, Any]:
    """A replay for JSON."""
    return {**asdict(found), "gap": found.gap if math.isfinite(found.gap) else None, "ok": found.ok}
