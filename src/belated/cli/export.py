"""`belated export`: trials to a CSV or JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from belated.cli._common import find_name, split_name, study_arguments
from belated.cli.io.files import write_file
from belated.cli.io.rows import format_csv, format_json_lines
from belated.cli.io.transaction import copy_study
from belated.errors import InvalidInput
from belated.wording import format_count

FORMATS = ("csv", "jsonl")
ENDINGS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


@click.command()
@study_arguments("[NAME]")
@click.option("--format", "kind", type=click.Choice(FORMATS), help="[default: by the ending of --out, else csv]")
@click.option("--out", type=click.Path(path_type=Path), help="A file to write.  [default: standard output]")
def export(words: tuple[str, ...], url: str, kind: str | None, out: Path | None) -> None:
    """Write every trial as CSV or JSON lines. Importing the file into a study of the same space gives the same trials.

    JSON lines have all that happened to a trial: what was told, refused, failed and amended, with times and reasons. A
    CSV is for people: the outcome in effect, or how the trial failed.

    Not written: what belongs to the study (its settings, an amended floor or limits, each patience that it chose by
    itself, whether it is closed: see belated new) and to its choices (notes, hyperparameters, keys). Imported trials
    count as added by hand.

    \b
    Examples:
      $ belated export catalyst --out trials.csv
      $ belated export catalyst --format jsonl
    """
    name, _ = split_name(words, 0, "[NAME]")
    chosen = kind or choose_format(out)
    study = copy_study(url, find_name(url, name))
    trials = study.trials()
    pieces: Iterator[str] = format_csv(study, trials) if chosen == "csv" else format_json_lines(trials, study.events())
    if out is None:
        for piece in pieces:
            click.echo(piece.encode(), nl=False)  # UTF-8, as in a file, whatever the terminal
    else:
        write_file(out, pieces)
        click.echo(f"Wrote {format_count(len(trials), 'trial')} to {out}", err=True)


def choose_format(out: Path | None) -> str:
    """By the ending of the file."""
    if out is None:
        return "csv"
    if out.suffix.lower() not in ENDINGS:
        raise InvalidInput(f"--out must end in {' or '.join(ENDINGS)}, unless --format says what it is (got {out})")
    return ENDINGS[out.suffix.lower()]
