"""`belated delays`: how long outcomes take, and what that depends on."""

from __future__ import annotations

import click

from belated.cli._common import json_option, open_study, print_result, split_name, study_arguments
from belated.delays.report import SHARES, DelayReport
from belated.delays.wording import describe_counts, describe_forecast, format_time
from belated.wording import format_table


@click.command()
@study_arguments("[NAME]")
@click.option("--by", metavar="SCALE", help="rounds or clock.  [default: the scale of the study's patience]")
@json_option
def delays(words: tuple[str, ...], url: str, in_json: bool, by: str | None) -> None:
    """Say how long outcomes take: when which share has come, how many come in time, how many never come.

    Once ten outcomes were heard, also how many are still to come, and whether delays depend on the query, the context
    or the outcome. A last line marked ! warns where silence should not count as the floor.

    \b
    Examples:
      $ belated delays catalyst
      $ belated delays catalyst --by clock --json
    """
    name, _ = split_name(words, 0, "[NAME]")
    report = open_study(url, name).delays(by)  # type: ignore[arg-type]  # the study refuses other words
    print_result(report.to_dict(), in_json, lambda: format_report(report))


def format_report(report: DelayReport) -> str:
    """The counts, the quantiles, and what follows from them, one sentence per line."""
    flag = [f"! {report.warning}"] if report.warning else []
    findings = [*describe_forecast(report), *(f"{finding.words}." for finding in report.depends), *flag]
    blocks = ["\n".join(describe_counts(report)), format_quantiles(report) if report.heard else "", "\n".join(findings)]
    return "\n\n".join(filter(None, blocks))


def format_quantiles(report: DelayReport) -> str:
    times = [report.quantile(share) for share in SHARES]
    rows = [
        [f"{100 * share:.0f} %", "not yet" if t is None else format_time(t, report.scale)]
        for share, t in zip(SHARES, times, strict=True)
    ]
    of = "of those that come" if report.conversions else "share"
    return format_table([of, "has come within"], rows)
