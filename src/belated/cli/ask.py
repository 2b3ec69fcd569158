"""`belated ask`: what to try next."""

from __future__ import annotations

from dataclasses import asdict

import click

from belated import Study, Trial
from belated.cli._common import (
    by_option,
    json_option,
    open_study,
    print_result,
    remark_option,
    split_name,
    study_arguments,
    suggest_command,
)
from belated.cli._format import format_note, format_query
from belated.cli._questions import is_terminal
from belated.cli.io.cells import parse_context, parse_integer, parse_pairs, parse_params
from belated.errors import InvalidInput
from belated.wording import format_table, format_value

MANY = 1000  # queries at once; more are hardly meant


@click.command()
@study_arguments("[NAME]")
@click.option("-n", "count", metavar="N", help="Ask for a batch of N; each knows those before it.")
@click.option("--yes", is_flag=True, help=f"Do not ask first where N is more than {MANY}.")
@click.option("--context", multiple=True, metavar="K=V", help="The context; once for each of its names.")
@click.option("--fix", multiple=True, metavar="K=V", help="Fix a parameter; belated chooses the others.")
@click.option("--key", help="The same key again gives the same trial, so a retry is harmless.")
@by_option
@remark_option
@json_option
def ask(
    words: tuple[str, ...],
    url: str,
    in_json: bool,
    count: str | None,
    yes: bool,
    context: tuple[str, ...],
    fix: tuple[str, ...],
    key: str | None,
    by: str | None,
    remark: str | None,
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
        trial = study.ask(context=where, params=fixed, key=key, by=by, remark=remark)
        print_result(asdict(trial), in_json, lambda: format_trial(study, trial, url))
    else:
        n = parse_integer(count, "-n")
        if n > MANY and not yes:
            confirm_many(n)
        trials = study.ask(context=where, params=fixed, key=key, n=n, by=by, remark=remark)
        print_result([asdict(trial) for trial in trials], in_json, lambda: format_batch(study, trials, url))


def confirm_many(n: int) -> None:
    """Ask whether so many are meant; where nobody can answer, refuse."""
    if not is_terminal():
        raise InvalidInput(f"-n {n} takes long, as each query is chosen in view of those before it; say --yes")
    click.confirm(f"Ask for {n} queries? Each is chosen in view of those before it, which takes long.", abort=True)


def format_trial(study: Study, trial: Trial, url: str) -> str:
    tell = suggest_command(study, url, f"tell {{}} {trial.number} VALUE")
    return f"Trial {trial.number}\n{format_query(trial)}{format_note(trial.note)}\nWhen its outcome comes: {tell}"


def format_batch(study: Study, trials: list[Trial], url: str) -> str:
    names = study.settings.space.names
    rows = [[str(trial.number), *(format_value(trial.params[name]) for name in names)] for trial in trials]
    tell = suggest_command(study, url, "tell {} NUMBER VALUE")
    return f"{format_table(['trial', *names], rows)}\nWhen an outcome comes: {tell}"
