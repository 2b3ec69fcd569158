"""`belated amend`: correct an outcome, or the study's floor or limits."""

from __future__ import annotations

from dataclasses import asdict

import click

from belated.cli._common import (
    SignedCommand,
    json_option,
    open_study,
    parse_trial_number,
    print_result,
    split_name,
    split_trial,
    study_arguments,
)
from belated.cli._format import format_note, format_value
from belated.cli.io.cells import parse_decimal
from belated.errors import InvalidInput


@click.command(cls=SignedCommand)
@study_arguments("[NAME] [NUMBER VALUE]")
@click.option("--reason", required=True, help="Why; stored with the old value.")
@click.option("--noise", metavar="STD", help="Standard deviation of the outcome's noise, if known.")
@click.option("--floor", metavar="VALUE", help="The study's floor from now on.")
@click.option("--limits", nargs=2, metavar="LO HI", help="The study's limits from now on.")
@json_option
def amend(
    words: tuple[str, ...],
    url: str,
    in_json: bool,
    reason: str,
    noise: str | None,
    floor: str | None,
    limits: tuple[str, str] | None,
) -> None:
    """Correct an outcome that was told wrongly, or the study's floor or limits.

    \b
    Examples:
      $ belated amend catalyst 3 0.28 --reason "digits swapped"
      $ belated amend catalyst --limits 0 2 --reason "the new sensor reads up to 2"
    """
    if floor is not None or limits is not None:
        name, _ = split_name(words, 0, "[NAME] with --floor or --limits")
        if noise is not None:
            raise InvalidInput("--noise belongs to an outcome; leave it out with --floor and --limits")
        study = open_study(url, name)
        bounds = None if limits is None else (parse_decimal(limits[0], "limits"), parse_decimal(limits[1], "limits"))
        study.amend(reason=reason, floor=None if floor is None else parse_decimal(floor, "floor"), limits=bounds)
        outcome = study.settings.objective
        plain = {"study": study.name, "floor": outcome.floor, "limits": outcome.limits}
        between = "none" if outcome.limits is None else " to ".join(map(format_value, outcome.limits))
        worst = "none" if outcome.floor is None else format_value(outcome.floor)
        print_result(plain, in_json, lambda: f"Study {study.name}: floor {worst}, limits {between}")
        return
    usage = "[NAME] NUMBER VALUE, or [NAME] with --floor or --limits"
    name, which, value = split_trial(words, "amend", "VALUE", '0.28 --reason "..."', usage)
    study = open_study(url, name)
    sigma = None if noise is None else parse_decimal(noise, "noise")
    trial = study.amend(parse_trial_number(which), parse_decimal(value), reason=reason, noise=sigma)
    if trial is not None:
        print_result(
            asdict(trial),
            in_json,
            lambda: f"Trial {trial.number}: {format_value(trial.outcome)} from now on{format_note(trial.note)}",
        )
