"""`belated delays`: how long outcomes take, and what that depends on."""

from __future__ import annotations

import click

from belated.cli._common import json_option, open_study, print_result, split_name, study_arguments
from belated.delays.report import SHARES, DelayReport
from belated.wording import format_table


@click.command()
@study_arguments("[NAME]")
@click.option("--by", metavar="SCALE", help="rounds or clock.  [default: as the study's patience is]")
@json_option
def delays(words: tuple[str, ...], url: str, in_json: bool, by: str | None) -> None:
    """Say how long outcomes take: after how long which share has come, how many come in time, how many never.

    Once ten were heard, also how many are still to come, and whether delays depend on the query, the context or the
    outcome. Last, marked !, what is wrong with counting silence as the floor, where something is.

    \b
    Examples:
      $ belated delays catalyst
      $ belated delays catalyst --by clock --json
    """
    name, _ = split_name(words, 0, "[NAME]")
    report = open_study(url, name).delays(by)  # type: ignore[arg-type]  # refused there, in words, if it is neither
    print_result(report.plain(), in_json, lambda: format_report(report))


def format_report(report: DelayReport) -> str:
    """The counts, the quantiles, and what follows from them, a sentence to a line."""
    flag = [f"! {report.warning}"] if report.warning else []
    said = [*report.foretold, *(f"{finding.words}." for finding in report.depends), *flag]
    blocks = ["\n".join(report.counted), format_quantiles(report) if report.heard else "", "\n".join(said)]
    return "\n\n".join(filter(None, blocks))


def format_quantiles(report: DelayReport) -> str:
    times = [report.quantile(share) for share in SHARES]
    rows = [
        [f"{100 * share:.0f} %", "not yet" if t is None else report.spelled(t)]
        for share, t in zip(SHARES, times, strict=True)
    ]
    return format_table(["share", "has come within"], rows)
