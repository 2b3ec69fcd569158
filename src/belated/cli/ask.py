"""`belated ask` and `belated add`: queries that are chosen, and queries that are given."""

from __future__ import annotations

import click

from belated import Study, Trial
from belated.cli._common import as_json, following, opened, say, taken, verb
from belated.cli._format import described, plain_trial, short
from belated.cli.io.cells import context_of, decimal, integer, moment, pairs, params_of
from belated.errors import InvalidInput
from belated.wording import format_table


@click.command()
@verb("[NAME]")
@click.option("-n", "count", metavar="N", help="Ask for a batch of N, each knowing those before it.")
@click.option("--context", multiple=True, metavar="K=V", help="The context, a coordinate at a time.")
@click.option("--fix", multiple=True, metavar="K=V", help="A coordinate that is not for belated to choose.")
@click.option("--key", help="The same key again gives the same trial, so a retry is harmless.")
@as_json
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
    name, _ = taken(words, 0, "[NAME]")
    study = opened(url, name)
    settings = study.settings
    where = context_of(settings.context, context)
    fixed = params_of(settings.space, pairs(fix, "--fix"), "--fix ") if fix else None
    if count is None:
        trial = study.ask(context=where, params=fixed, key=key)
        say(plain_trial(trial), in_json, lambda: one(study, trial, url))
    else:
        trials = study.ask(context=where, params=fixed, key=key, n=integer(count, "-n"))
        say([plain_trial(trial) for trial in trials], in_json, lambda: several(study, trials, url))


def one(study: Study, trial: Trial, url: str) -> str:
    note = f"\n  ({trial.note})" if trial.note else ""
    told = following(study, url, f"tell {{}} {trial.number} VALUE")
    return f"Trial {trial.number}\n{described(trial)}{note}\nWhen its outcome comes: {told}"


def several(study: Study, trials: list[Trial], url: str) -> str:
    names = study.settings.space.names
    rows = [[str(trial.number), *(short(trial.params[name]) for name in names)] for trial in trials]
    told = following(study, url, "tell {} NUMBER VALUE")
    return f"{format_table(['trial', *names], rows)}\nWhen an outcome comes: {told}"


@click.command()
@verb("[NAME] K=V ...")
@click.option("--value", help="Its outcome; without one it is pending.")
@click.option("--context", multiple=True, metavar="K=V", help="Its context, a coordinate at a time.")
@click.option("--at", metavar="TIME", help="When: 2026-03-01T14:30, or seconds since 1970.  [default: now]")
@click.option("--noise", metavar="STD", help="Standard deviation of the outcome's noise, if known.")
@click.option("--key", help="The same key again adds nothing, so a retry is harmless.")
@as_json
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
    texts = pairs(said, "an argument")
    study = opened(url, name)
    trial = study.add(
        params_of(study.settings.space, texts),
        None if value is None else decimal(value, "--value"),
        context=context_of(study.settings.context, context),
        at=None if at is None else moment(at, "--at"),
        noise=None if noise is None else decimal(noise, "noise"),
        key=key,
    )
    state = "pending" if trial.outcome is None else f"outcome {short(trial.outcome)}"
    flag = f"\n  ({trial.note})" if trial.note else ""
    say(plain_trial(trial), in_json, lambda: f"Trial {trial.number}, {state}\n{described(trial)}{flag}")
