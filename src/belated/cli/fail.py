"""`belated fail`: trials that will have no outcome."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from belated.cli._common import (
    SignedCommand,
    by_option,
    find_name,
    json_option,
    open_study,
    parse_trial_number,
    print_result,
    split_name,
    split_trial,
    study_arguments,
    warn_of_cut_line,
    warn_of_left_out,
)
from belated.cli.io.fail_csv import fail_csv
from belated.errors import AlreadyEnded, AlreadyTold, InvalidInput
from belated.results import FAILURES
from belated.wording import format_count


@click.command(cls=SignedCommand)
@study_arguments("[NAME] NUMBER ... KIND")
@click.option("--reason", metavar="TEXT", help="Why.")
@click.option("--csv", "file", type=click.Path(path_type=Path), help="Many: columns number or key, failure[, reason].")
@by_option
@json_option
def fail(
    words: tuple[str, ...], url: str, in_json: bool, reason: str | None, file: Path | None, by: str | None
) -> None:
    """End trials without an outcome: all that are named, or none.

    \b
    KIND  lost        no information; an outcome may still be told
          infeasible  the query caused it: counts as the floor
          withdrawn   it will not be tried

    \b
    Examples:
      $ belated fail catalyst 5 lost
      $ belated fail catalyst 5 6 9 withdrawn --reason "the power was off"
      $ belated fail catalyst --csv broken.csv
    """
    if file is not None:
        name, _ = split_name(words, 0, "[NAME] with --csv")
        counts = fail_csv(url, find_name(url, name), file, reason, by)
        warn_of_cut_line(file)
        warn_of_left_out(counts.left_out)
        before = f", {counts.known} ended so before" if counts.known else ""
        skipped = f", {format_count(counts.empty, 'row')} without a failure" if counts.empty else ""
        print_result(asdict(counts), in_json, lambda: f"Ended {format_count(counts.failed, 'trial')}{before}{skipped}")
        return
    name, numbers, kind = split_trials(words)
    chosen = next((word for word in FAILURES if word == kind), None)
    if chosen is None:
        raise InvalidInput(f"KIND must be one of {', '.join(FAILURES)} (got {kind!r})")
    study = open_study(url, name)
    try:
        trials = study.fail(numbers, chosen, reason=reason, by=by)
    except (AlreadyTold, AlreadyEnded) as error:
        remedy = f'belated amend {study.name} NUMBER --failure {chosen} --reason "..."'
        raise type(error)(f"{error}. If it was {chosen}: {remedy}") from None
    plain = [asdict(trial) for trial in trials]
    lines = [f"Trial {trial.number}: {trial.failure}" for trial in trials]
    print_result(plain[0] if len(plain) == 1 else plain, in_json, lambda: "\n".join(lines))


def split_trials(words: tuple[str, ...]) -> tuple[str | None, list[int], str]:
    """The study's name, if it was typed, the numbers of trials, and the kind."""
    usage = f"[NAME] NUMBER ... {'|'.join(FAILURES)}"
    many = [word for word in words[:-1] if word.isascii() and word.isdigit()]
    if len(many) < 2:
        name, which, kind = split_trial(words, "fail", "KIND", "lost", usage)
        return name, [parse_trial_number(which)], kind
    first = words[0] if len(words) - 1 > len(many) else None
    name, _ = split_name([word for word in words[:-1] if word not in many], 0, usage)
    return name if first is not None else None, [parse_trial_number(word) for word in many], words[-1]
