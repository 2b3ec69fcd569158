"""`belated amend`: correct what was recorded wrongly, of a trial or of the study."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import click

from belated import Integer, Real, Study, Trial
from belated.cli._common import (
    SignedCommand,
    by_option,
    json_option,
    open_study,
    parse_run,
    parse_trial_number,
    print_result,
    print_warning,
    split_name,
    split_trial,
    study_arguments,
)
from belated.cli._format import format_note, format_params
from belated.cli.io.cells import parse_decimal, parse_time
from belated.cli.new import parse_setting
from belated.errors import InvalidInput
from belated.wording import format_value

OF_STUDY = "--floor, --limits, --patience and --range"


@click.command(cls=SignedCommand)
@study_arguments("[NAME] [NUMBER [VALUE]]")
@click.option("--reason", required=True, help="Why; stored with what it was before.")
@click.option("--noise", metavar="STD", help="Standard deviation of the outcome's noise, if known.")
@click.option("--at", metavar="TIME", help="When the outcome came: 2026-03-01T14:30, or seconds since 1970.")
@click.option("--run", multiple=True, metavar="K=V", help="What was run; what was asked stays in the record.")
@click.option("--failure", metavar="KIND", help="It ended so: lost, infeasible or withdrawn.")
@click.option("--take-back", is_flag=True, help="Its outcome or failure never was: it is pending again.")
@click.option("--floor", metavar="VALUE", help="The study's floor from now on.")
@click.option("--limits", nargs=2, metavar="LO HI", help="The study's limits from now on.")
@click.option("--patience", metavar="WAIT", help="The study's patience, by which all outcomes are judged.")
@click.option(
    "--range", "ranges", nargs=3, multiple=True, metavar="NAME LO HI", help="The range of a parameter from now on."
)
@by_option
@json_option
def amend(
    words: tuple[str, ...],
    url: str,
    in_json: bool,
    reason: str,
    noise: str | None,
    at: str | None,
    run: tuple[str, ...],
    failure: str | None,
    take_back: bool,
    by: str | None,
    **settings: Any,
) -> None:
    """Correct what was recorded wrongly, of a trial or of the study. See belated undo for what was done last.

    \b
    Examples:
      $ belated amend catalyst 3 0.28 --reason "digits swapped"
      $ belated amend catalyst 3 --run temperature=75 --reason "ran at 75, not at 75.61"
      $ belated amend catalyst 4 --take-back --reason "it was the outcome of trial 5"
      $ belated amend catalyst 6 --failure lost --reason "the flask broke; the query was fine"
      $ belated amend catalyst --range temperature 20 120 --reason "the best is at the edge"
    """
    changed = parse_settings(**settings)
    of_trial = noise is not None or at is not None or bool(run) or failure is not None or take_back
    if changed:
        name, _ = split_name(words, 0, "[NAME] with --floor, --limits, --patience or --range")
        if of_trial:
            raise InvalidInput(f"{OF_STUDY} are of the study; leave out what is about a trial")
        study = open_study(url, name)
        study.amend(reason=reason, by=by, **changed)
        for beyond in list_beyond(study) if "limits" in changed else []:
            print_warning(f"trial {beyond.number} was told {beyond.outcome!r}, outside the limits; it stays in use")
        print_result(describe_study(study), in_json, lambda: format_study(study))
        return
    if (take_back or failure is not None or at is not None or run) and not has_value(words):
        name, (which,) = split_name(words, 1, "[NAME] NUMBER")
        value = None
    else:
        usage = f"[NAME] NUMBER VALUE, or [NAME] with {OF_STUDY.replace('and', 'or')}"
        name, which, value = split_trial(words, "amend", "VALUE", '0.28 --reason "..."', usage)
    study = open_study(url, name)
    said: dict[str, Any] = {"failure": failure}  # the study refuses another kind
    trial = study.amend(
        parse_trial_number(which),
        None if value is None else parse_decimal(value),
        reason=reason,
        noise=None if noise is None else parse_decimal(noise, "noise"),
        at=None if at is None else parse_time(at, "--at"),
        params=parse_run(study, run),
        take_back=take_back,
        by=by,
        **said,
    )
    if trial is not None:
        print_result(asdict(trial), in_json, lambda: format_amended(trial))


def has_value(words: tuple[str, ...]) -> bool:
    """Whether a value was typed after the trial's number."""
    return len(words) == 3 or (len(words) == 2 and words[0].isdigit())


def parse_settings(
    floor: str | None, limits: tuple[str, str] | None, patience: str | None, ranges: tuple[tuple[str, str, str], ...]
) -> dict[str, Any]:
    """The settings that were typed."""
    given = {"floor": floor, "limits": limits, "patience": patience}
    changed = {name: parse_setting(name, text) for name, text in given.items() if text is not None}
    if ranges:
        changed["ranges"] = {name: (parse_end(low), parse_end(high)) for name, low, high in ranges}
    return changed


def parse_end(text: str) -> float:
    """An end of a range; whole numbers as such, because an integer has no other."""
    end = parse_decimal(text, "an end of the range")
    return int(end) if end == int(end) else end


def list_beyond(study: Study) -> list[Trial]:
    """The trials whose outcomes lie outside the limits of now."""
    low, high = study.settings.objective.limits or (-math.inf, math.inf)
    return [trial for trial in study.trials() if trial.outcome is not None and not low <= trial.outcome <= high]


def describe_study(study: Study) -> dict[str, Any]:
    outcome, space = study.settings.objective, study.settings.space
    kinds = zip(space.names, space.parameters, strict=False) if isinstance(space.parameters, tuple) else ()
    ranges = {name: [kind.low, kind.high] for name, kind in kinds if isinstance(kind, Real | Integer)}
    return {
        "study": study.name,
        "floor": outcome.floor,
        "limits": outcome.limits,
        "patience": str(study.settings.patience),
        "ranges": ranges,
    }


def format_study(study: Study) -> str:
    plain = describe_study(study)
    between = "none" if plain["limits"] is None else " to ".join(map(format_value, plain["limits"]))
    worst = "none" if plain["floor"] is None else format_value(plain["floor"])
    ranges = [f"{name} {format_value(low)} to {format_value(high)}" for name, (low, high) in plain["ranges"].items()]
    return f"Study {study.name}: floor {worst}, limits {between}, patience {plain['patience']}" + "".join(
        f"; {each}" for each in ranges
    )


def format_amended(trial: Trial) -> str:
    state = trial.failure or trial.status if trial.outcome is None else format_value(trial.outcome)
    run = "" if trial.asked_params is None else f", run at\n{format_params(trial.params)}"
    return f"Trial {trial.number}: {state} from now on{run}{format_note(trial.note)}"
