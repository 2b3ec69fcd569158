"""`belated ask` and `belated add`: queries that are chosen, and queries that are given."""

from __future__ import annotations

import click

from belated import Study, Trial
from belated.cli._common import json_option, open_study, print_result, split_name, study_arguments, suggest_command
from belated.cli._format import format_query, format_value, plain_trial
from belated.cli.io.cells import parse_context, parse_decimal, parse_integer, parse_pairs, parse_params, parse_time
from belated.errors import InvalidInput
from belated.wording import format_table


@click.command()
@study_arguments("[NAME]")
@click.option("-n", "count", metavar="N", help="Ask for a batch of N, each knowing those before it.")
@click.option("--context", multiple=True, metavar="K=V", help="The context, a coordinate at a time.")
@click.option("--fix", multiple=True, metavar="K=V", help="A coordinate that is not for belated to choose.")
@click.option("--key", help="The same key again gives the same trial, so a retry is harmless.")
@json_option
def ask(
    words: tuple[str, ...],
    url: str,
    in_json: bool,
    count: str | None,
    context: tuple[str, ...],
    fix: tuple[str, ...],
    key: str | None,
) -> None:
    """Ask what to try next.

    \b
    Examples:
      $ belated ask catalyst
      $ belated ask catalyst -n 4 --fix solvent=water --json
    """
    name, _ = split_name(words, 0, "[NAME]")
    study = open_study(url, name)
    settings = study.settings
    where = parse_context(settings.context, context)
    fixed = parse_params(settings.space, parse_pairs(fix, "--fix"), "--fix ") if fix else None
    if count is None:
        trial = study.ask(context=where, params=fixed, key=key)
        print_result(plain_trial(trial), in_json, lambda: format_trial(study, trial, url))
    else:
        trials = study.ask(context=where, params=fixed, key=key, n=parse_integer(count, "-n"))
        print_result([plain_trial(trial) for trial in trials], in_json, lambda: format_trials(study, trials, url))


def format_trial(study: Study, trial: Trial, url: str) -> str:
    note = f"\n  ({trial.note})" if trial.note else ""
    told = suggest_command(study, url, f"tell {{}} {trial.number} VALUE")
    return f"Trial {trial.number}\n{format_query(trial)}{note}\nWhen its outcome comes: {told}"


def format_trials(study: Study, trials: list[Trial], url: str) -> str:
    names = study.settings.space.names
    rows = [[str(trial.number), *(format_value(trial.params[name]) for name in names)] for trial in trials]
    told = suggest_command(study, url, "tell {} NUMBER VALUE")
    return f"{format_table(['trial', *names], rows)}\nWhen an outcome comes: {told}"


@click.command()
@study_arguments("[NAME] K=V ...")
@click.option("--value", help="Its outcome; without one it is pending.")
@click.option("--context", multiple=True, metavar="K=V", help="Its context, a coordinate at a time.")
@click.option("--at", metavar="TIME", help="When: 2026-03-01T14:30, or seconds since 1970.  [default: now]")
@click.option("--noise", metavar="STD", help="Standard deviation of the outcome's noise, if known.")
@click.option("--key", help="The same key again adds nothing, so a retry is harmless.")
@json_option
def add(
    words: tuple[str, ...],
    url: str,
    in_json: bool,
    value: str | None,
    context: tuple[str, ...],
    at: str | None,
    noise: str | None,
    key: str | None,
) -> None:
    """Add a query that was tried before or elsewhere. It takes the next number.

    \b
    Example:
      $ belated add catalyst temperature=65 stages=3 solvent=water --value 0.71
    """
    name, said = (words[0], words[1:]) if words and "=" not in words[0] else (None, words)
    if not said:
        raise InvalidInput("the arguments must be [NAME] K=V ..., a value for every parameter (got none)")
    texts = parse_pairs(said, "an argument")
    study = open_study(url, name)
    trial = study.add(
        parse_params(study.settings.space, texts),
        None if value is None else parse_decimal(value, "--value"),
        context=parse_context(study.settings.context, context),
        at=None if at is None else parse_time(at, "--at"),
        noise=None if noise is None else parse_decimal(noise, "noise"),
        key=key,
    )
    state = "pending" if trial.outcome is None else f"outcome {format_value(trial.outcome)}"
    flag = f"\n  ({trial.note})" if trial.note else ""
    print_result(plain_trial(trial), in_json, lambda: f"Trial {trial.number}, {state}\n{format_query(trial)}{flag}")
