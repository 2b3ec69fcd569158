"""`belated tell`, `fail` and `amend`: what came of a trial, that nothing will, and putting right what was said."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from belated import Receipt, Study
from belated.cli._common import (
    SignedCommand,
    add_remedy,
    find_name,
    json_option,
    open_study,
    parse_trial_number,
    print_result,
    split_name,
    split_trial,
    study_arguments,
)
from belated.cli._format import format_value, lasted, plain_trial
from belated.cli.io.bulk import TellCounts, tell_csv
from belated.cli.io.cells import parse_decimal, parse_time
from belated.errors import AlreadyTold, InvalidInput
from belated.results import FAILURES
from belated.wording import format_count


@click.command(cls=SignedCommand)
@study_arguments("[NAME] NUMBER VALUE")
@click.option("--at", metavar="TIME", help="When it came: 2026-03-01T14:30, or seconds since 1970.  [default: now]")
@click.option("--noise", metavar="STD", help="Standard deviation of this outcome's noise, if known.")
@click.option("--key", help="The same key again gives the same receipt, so a retry is harmless.")
@click.option(
    "--csv", "file", type=click.Path(path_type=Path), help="Many outcomes: columns number, value[, at, noise]."
)
@json_option
def tell(
    words: tuple[str, ...],
    url: str,
    in_json: bool,
    at: str | None,
    noise: str | None,
    key: str | None,
    file: Path | None,
) -> None:
    """Tell what came of a trial. The same again is harmless; another value is refused (see belated amend).

    A CSV is taken whole or not at all. Rows without a value are left for later, so that the file of belated export can
    be filled in and told.

    \b
    Examples:
      $ belated tell catalyst 3 0.82
      $ belated tell catalyst 4 0.79 --at 2026-03-01T14:30 --noise 0.02
      $ belated tell catalyst --csv results.csv
    """
    if file is not None:
        if at is not None or noise is not None or key is not None:
            raise InvalidInput("--csv says everything itself; leave --at, --noise and --key out")
        name, _ = split_name(words, 0, "[NAME] with --csv")
        told = tell_csv(url, find_name(url, name), file)
        print_result(asdict(told), in_json, lambda: format_counts(told))
        return
    name, which, value = split_trial(words, "tell", "VALUE", "0.82", "[NAME] NUMBER VALUE")
    study = open_study(url, name)
    number, y = parse_trial_number(which), parse_decimal(value)
    when = None if at is None else parse_time(at, "--at")
    sigma = None if noise is None else parse_decimal(noise, "noise")
    try:
        receipt = study.tell(number, y, at=when, noise=sigma, key=key)
    except AlreadyTold as error:
        raise add_remedy(error, study, number, y) from None
    print_result(asdict(receipt), in_json, lambda: format_receipt(study, receipt))


def format_receipt(study: Study, receipt: Receipt) -> str:
    trial = study.trial(receipt.number)
    after = lasted((trial.told_at or 0.0) - trial.asked_at)
    words = {
        "heard": f"heard, {after} after it was asked",
        "late": f"late, {after} after it was asked" + ("; the model uses it" if receipt.used else ""),
        "duplicate": "told before, with the same value; nothing changed",
    }[receipt.status]
    note = f"\n  ({receipt.note})" if receipt.note else ""
    return f"Trial {receipt.number}: {format_value(trial.outcome)}, {words}{note}"


def format_counts(told: TellCounts) -> str:
    parts = [format_count(told.told, "outcome")]
    if told.late:
        parts.append(f"{told.late} of them late")
    if told.duplicate:
        parts.append(f"{told.duplicate} told before")
    if told.empty:
        parts.append(f"{format_count(told.empty, 'row')} without a value")
    return "\n".join([f"Told {', '.join(parts)}", *(f"  ({flag})" for flag in told.flags)])


@click.command(cls=SignedCommand)
@study_arguments("[NAME] NUMBER KIND")
@json_option
def fail(words: tuple[str, ...], url: str, in_json: bool) -> None:
    """End a trial without an outcome.

    \b
    KIND  lost        nobody's fault: no information, and a later outcome is still taken
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
    print_result(plain_trial(trial), in_json, lambda: f"Trial {trial.number}: {trial.failure}")


@click.command(cls=SignedCommand)
@study_arguments("[NAME] [NUMBER VALUE]")
@click.option("--reason", required=True, help="Why; kept beside what was there before.")
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
    """Put right an outcome that was told wrongly, or the study's floor or limits.

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
        outcome = study.settings.outcome
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
        flag = f"\n  ({trial.note})" if trial.note else ""
        print_result(
            plain_trial(trial),
            in_json,
            lambda: f"Trial {trial.number}: {format_value(trial.outcome)} from now on{flag}",
        )
