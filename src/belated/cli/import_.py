"""`belated import`: trials from a CSV or JSON lines."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from belated.cli._common import (
    find_name,
    json_option,
    print_result,
    print_warning,
    split_name,
    study_arguments,
    warn_of_cut_line,
)
from belated.cli.io.import_rows import import_rows
from belated.cli.io.transaction import apply_at_once
from belated.wording import format_count


@click.command("import")
@study_arguments("[NAME] FILE")
@click.option("--dry-run", is_flag=True, help="Say what would happen, and change nothing.")
@json_option
def import_(words: tuple[str, ...], url: str, in_json: bool, dry_run: bool) -> None:
    """Add the trials of a .csv or .jsonl file: past experiments, or what belated export wrote.

    The file is imported completely or not at all; importing it again changes nothing. A CSV has a column for every
    parameter (context.NAME for a context's) and, where known, outcome (or value), noise, asked_at (or at), told_at,
    failure. An outcome without both times has no delay. Rows of two files with the same content are one experiment,
    unless a column key tells them apart; within one file they are two.

    \b
    Example:
      $ belated import catalyst past.csv
    """
    name, (file,) = split_name(words, 1, "[NAME] FILE")
    path = Path(file)
    counts = apply_at_once(url, find_name(url, name), lambda study: import_rows(study, path), asks=True, dry=dry_run)
    warn_of_cut_line(path)
    if counts.new and counts.pending_before and counts.aged:
        are = "would be" if dry_run else "is now" if counts.pending_before == 1 else "are now"
        queries = format_count(counts.pending_before, "pending query", "pending queries")
        older = f"{queries} {are} {format_count(counts.new, 'round')} older"
        print_warning(f"{older}, because every imported row counts as a round; import before you ask")
    parts = [format_count(counts.new, "new trial"), f"{counts.known} here before", format_count(counts.told, "outcome")]
    parts += [f"{n} {end}" for end in ("failed", "refused", "amended") if (n := getattr(counts, end))]
    what = "Would import" if dry_run else "Imported"
    print_result(asdict(counts), in_json, lambda: f"{what} {format_count(counts.rows, 'row')}: {', '.join(parts)}")
