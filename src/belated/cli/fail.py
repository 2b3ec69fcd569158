"""`belated fail`: a trial that will have no outcome."""

from __future__ import annotations

from dataclasses import asdict

import click

from belated.cli._common import (
    SignedCommand,
    json_option,
    open_study,
    parse_trial_number,
    print_result,
    split_trial,
    study_arguments,
)
from belated.errors import InvalidInput
from belated.results import FAILURES


@click.command(cls=SignedCommand)
@study_arguments("[NAME] NUMBER KIND")
@json_option
def fail(words: tuple[str, ...], url: str, in_json: bool) -> None:
    """End a trial without an outcome.

    \b
    KIND  lost        no information; an outcome may still be told
          infeasible  the query caused it: counts as the floor
          withdrawn   it will not be tried

    \b
    Example:
      $ belated fail catalyst 5 lost
    """
    name, which, kind = split_trial(words, "fail", "KIND", "lost", f"[NAME] NUMBER {'|'.join(FAILURES)}")
    number = parse_trial_number(which)
    chosen = next((word for word in FAILURES if word == kind), None)
    if chosen is None:
        raise InvalidInput(f"KIND must be one of {', '.join(FAILURES)} (got {kind!r})")
    trial = open_study(url, name).fail(number, chosen)
    print_result(asdict(trial), in_json, lambda: f"Trial {trial.number}: {trial.failure}")
