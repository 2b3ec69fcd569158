"""`belated export`: trials to a CSV, JSON lines or a workbook."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from belated.cli._common import find_name, split_name, study_arguments
from belated.cli.io.files import write_file
from belated.cli.io.rows import format_csv, format_json_lines
from belated.cli.io.transaction import copy_study
from belated.cli.io.workbooks import write_workbook
from belated.errors import InvalidInput
from belated.wording import format_count

FORMATS = ("csv", "jsonl", "xlsx")
ENDINGS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".xlsx": "xlsx"}


@click.command()
@study_arguments("[NAME]")
@click.option("--format", "kind", type=click.Choice(FORMATS), help="[default: by the ending of --out, else csv]")
@click.option("--out", type=click.Path(path_type=Path), help="A file to write.  [default: standard output]")
def export(words: tuple[str, ...], url: str, kind: str | None, out: Path | None) -> None:
    """Write every trial as CSV, JSON lines or a workbook. Importing the file into a study of the same space gives the
    same trials.

    JSON lines have all that happened to a trial: what was told, refused, failed and amended, with times and reasons. A
    CSV or an .xlsx is for people: the outcome in effect, or how the trial failed, with units and times in UTC. A
    workbook keeps times to the millisecond.

    Not written: what belongs to the study (its settings, an amended floor or limits, each patience that it chose by
    itself, whether it is closed: see belated new) and to its choices (notes, hyperparameters, keys). Imported trials
    count as added by hand.

    \b
    Examples:
      $ belated export catalyst --out trials.csv
      $ belated export catalyst --out trials.xlsx
      $ belated export catalyst --format jsonl
    """
    name, _ = split_name(words, 0, "[NAME]")
    chosen = choose_format(kind, out)
    study = copy_study(url, find_name(url, name))
    trials = study.trials()
    if chosen == "xlsx" and out is not None:
        write_workbook(out, study, trials)
        click.echo(f"Wrote {format_count(len(trials), 'trial')} to {out}", err=True)
        return
    pieces: Iterator[str] = format_csv(study, trials) if chosen == "csv" else format_json_lines(trials, study.events())
    if out is None:
        for piece in pieces:
            click.echo(piece.encode(), nl=False)  # UTF-8, as in a file, whatever the terminal
    else:
        write_file(out, pieces)
        click.echo(f"Wrote {format_count(len(trials), 'trial')} to {out}", err=True)


def choose_format(kind: str | None, out: Path | None) -> str:
    """As --format says, or by the ending of the file; the two must not contradict each other."""
    if out is None:
        if kind == "xlsx":
            raise InvalidInput("a workbook is a file: name it with --out trials.xlsx")
        return kind or "csv"
    by_name = ENDINGS.get(out.suffix.lower())
    if kind is None and by_name is None:
        raise InvalidInput(f"--out must end in {' or '.join(ENDINGS)}, unless --format says what it is (got {out})")
    if kind is not None and kind != by_name and "xlsx" in (kind, by_name):
        raise InvalidInput(f"--format {kind} does not fit the name of the file (got {out})")
    return kind or by_name or "csv"
