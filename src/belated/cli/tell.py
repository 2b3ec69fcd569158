"""`belated tell`: what came of a trial, or of many."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from belated import Receipt, Study
from belated.cli._common import (
    SignedCommand,
    by_option,
    find_name,
    json_option,
    open_study,
    parse_run,
    parse_trial_number,
    print_result,
    remark_option,
    split_name,
    split_trial,
    study_arguments,
    warn_of_cut_line,
    warn_of_left_out,
)
from belated.cli._format import format_note
from belated.cli.io.cells import parse_decimal, parse_time
from belated.cli.io.tell_csv import TellCounts, tell_csv
from belated.errors import AlreadyEnded, AlreadyTold, InvalidInput
from belated.record.signing import Signature
from belated.wording import format_count, format_duration, format_value


@click.command(cls=SignedCommand)
@study_arguments("[NAME] NUMBER VALUE")
@click.option("--at", metavar="TIME", help="When it came: 2026-03-01T14:30, or seconds since 1970.  [default: now]")
@click.option("--noise", metavar="STD", help="Standard deviation of this outcome's noise, if known.")
@click.option("--run", multiple=True, metavar="K=V", help="What was run, where that is not what was asked.")
@click.option("--key", help="The same key again gives the same receipt, so a retry is harmless.")
@click.option(
    "--csv",
    "file",
    type=click.Path(path_type=Path),
    help="Many outcomes: columns number or key, value[, at, noise] or failure.",
)
@click.option("--map", "mapped", multiple=True, metavar="TITLE=COLUMN", help="With --csv: what a title means.")
@by_option
@remark_option
@json_option
def tell(
    words: tuple[str, ...],
    url: str,
    in_json: bool,
    at: str | None,
    noise: str | None,
    run: tuple[str, ...],
    key: str | None,
    file: Path | None,
    mapped: tuple[str, ...],
    by: str | None,
    remark: str | None,
) -> None:
    """Tell the outcome of a trial. Telling the same again is harmless; another value is refused (see belated amend).

    A CSV is recorded completely or not at all. A row names its trial by number, or by the key that it was asked, added
    or imported with. Rows without a value or a failure are skipped: the file that belated export writes can be filled
    in and told.

    \b
    Examples:
      $ belated tell catalyst 3 0.82
      $ belated tell catalyst 3 0.82 --run temperature=75 --remark "the knob has steps"
      $ belated tell catalyst 4 0.79 --at 2026-03-01T14:30 --noise 0.02
      $ belated tell catalyst --csv results.csv
      $ belated tell catalyst --csv Ergebnisse.csv --map Ausbeute=outcome
    """
    if file is not None:
        if at is not None or noise is not None or key is not None or run:
            raise InvalidInput("with --csv the file says everything; leave --at, --noise, --run and --key out")
        name, _ = split_name(words, 0, "[NAME] with --csv")
        counts = tell_csv(url, find_name(url, name), file, Signature.of(by, remark), mapped)
        warn_of_cut_line(file)
        warn_of_left_out(counts.left_out)
        print_result(asdict(counts), in_json, lambda: format_counts(counts))
        return
    if mapped:
        raise InvalidInput("--map belongs to --csv")
    name, which, value = split_trial(words, "tell", "VALUE", "0.82", "[NAME] NUMBER VALUE")
    study = open_study(url, name)
    number, y = parse_trial_number(which), parse_decimal(value)
    when = None if at is None else parse_time(at, "--at")
    sigma = None if noise is None else parse_decimal(noise, "noise")
    try:
        receipt = study.tell(
            number, y, at=when, noise=sigma, params=parse_run(study, run), key=key, by=by, remark=remark
        )
    except AlreadyTold as error:
        remedy = f'belated amend {study.name} {number} {y!r} --reason "..."'
        raise AlreadyTold(f"{error}. If this one is right: {remedy}") from None
    except AlreadyEnded as error:
        remedy = f'belated amend {study.name} {number} --take-back --reason "..."'
        raise AlreadyEnded(f"{error}. If that end was wrong: {remedy}") from None
    print_result(asdict(receipt), in_json, lambda: format_receipt(study, receipt))


def format_receipt(study: Study, receipt: Receipt) -> str:
    trial = study.trial(receipt.number)
    after = format_duration((trial.told_at or 0.0) - trial.asked_at)
    words = {
        "heard": f"heard, {after} after it was asked",
        "late": f"late, {after} after it was asked" + ("; the model uses it" if receipt.used else ""),
        "duplicate": "told before, with the same value; nothing changed" if not receipt.note else "nothing changed",
    }[receipt.status]
    return f"Trial {receipt.number}: {format_value(trial.outcome)}, {words}{format_note(receipt.note)}"


def format_counts(counts: TellCounts) -> str:
    parts = [format_count(counts.told, "outcome")]
    if counts.late:
        parts.append(f"{counts.late} of them late")
    if counts.failed:
        parts.append(f"{counts.failed} failed")
    if counts.duplicate:
        parts.append(f"{counts.duplicate} told before")
    if counts.empty:
        parts.append(f"{format_count(counts.empty, 'row')} without a value")
    return "\n".join([f"Told {', '.join(parts)}", *(f"  ({flag})" for flag in counts.flags)])
