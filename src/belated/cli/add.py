"""`belated add`: a query that was tried before or elsewhere."""

from __future__ import annotations

from dataclasses import asdict

import click

from belated.cli._common import by_option, json_option, open_study, print_result, remark_option, study_arguments
from belated.cli._format import format_note, format_query
from belated.cli.io.cells import parse_context, parse_decimal, parse_pairs, parse_params, parse_time
from belated.errors import InvalidInput
from belated.wording import format_value


@click.command()
@study_arguments("[NAME] K=V ...")
@click.option("--value", help="Its outcome; without one it is pending.")
@click.option("--context", multiple=True, metavar="K=V", help="Its context; once for each of its names.")
@click.option("--at", metavar="TIME", help="When: 2026-03-01T14:30, or seconds since 1970.  [default: now]")
@click.option("--noise", metavar="STD", help="Standard deviation of the outcome's noise, if known.")
@click.option("--key", help="The same key again adds nothing, so a retry is harmless.")
@by_option
@remark_option
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
    by: str | None,
    remark: str | None,
) -> None:
    """Add a query that was tried before or elsewhere. It gets the next number.

    \b
    Example:
      $ belated add catalyst temperature=65 stages=3 solvent=water --value 0.71
    """
    name, pairs = (words[0], words[1:]) if words and "=" not in words[0] else (None, words)
    if not pairs:
        raise InvalidInput("the arguments must be [NAME] K=V ..., a value for every parameter (got none)")
    texts = parse_pairs(pairs, "an argument")
    study = open_study(url, name)
    trial = study.add(
        parse_params(study.settings.space, texts),
        None if value is None else parse_decimal(value, "--value"),
        context=parse_context(study.settings.context, context),
        at=None if at is None else parse_time(at, "--at"),
        noise=None if noise is None else parse_decimal(noise, "noise"),
        key=key,
        by=by,
        remark=remark,
    )
    state = "pending" if trial.outcome is None else f"outcome {format_value(trial.outcome)}"
    print_result(
        asdict(trial),
        in_json,
        lambda: f"Trial {trial.number}, {state}\n{format_query(trial)}{format_note(trial.note)}",
    )
