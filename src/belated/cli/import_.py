"""`belated import`: trials from a CSV or JSON lines, or from a study of Optuna's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from belated import Study
from belated.cli._common import (
    by_option,
    find_name,
    json_option,
    print_result,
    print_warning,
    remark_option,
    split_name,
    study_arguments,
    warn_of_cut_line,
)
from belated.cli._questions import is_terminal
from belated.cli.io.cells import parse_day
from belated.cli.io.files import LineErrors
from belated.cli.io.import_rows import (
    DRY,
    ImportCounts,
    describe_aging,
    describe_early,
    describe_import,
    describe_untold,
    import_file,
    import_rows,
)
from belated.cli.io.optuna_rows import list_optuna_rows, read_optuna_study
from belated.cli.io.transaction import apply_at_once
from belated.cli.io.uploads import send_file
from belated.cli.new import list_existing
from belated.errors import InvalidInput, UnexplainedEdits
from belated.record.ledger import is_server
from belated.record.signing import Signature, require_reason
from belated.validation import format_names


@click.command("import")
@study_arguments("[NAME] FILE")
@click.option(
    "--optuna", metavar="URL", help="Optuna's storage, such as sqlite:///old.db; FILE is a study's name in it."
)
@click.option("--silence", metavar="WORD", help="Of a study that --optuna makes.  [default: unknown]")
@click.option(
    "--as-of", metavar="TIME", help="Until when people are counted, where the rows do not say it.  [default: now]"
)
@click.option(
    "--map", "mapped", multiple=True, metavar="TITLE=COLUMN", help="What a title means: yield=outcome. Date=: left out."
)
@click.option("--amend", metavar="REASON", help="Why rows of an export were edited: they are recorded as amendments.")
@by_option
@remark_option
@click.option("--dry-run", is_flag=True, help="Say what would happen, and change nothing.")
@json_option
def import_(
    words: tuple[str, ...],
    url: str,
    in_json: bool,
    optuna: str | None,
    silence: str | None,
    as_of: str | None,
    mapped: tuple[str, ...],
    amend: str | None,
    by: str | None,
    remark: str | None,
    dry_run: bool,
) -> None:
    """Add the trials of a .csv, .xlsx or .jsonl file: past experiments, or what belated export wrote.

    The file is imported completely or not at all; importing it again changes nothing. A table has a column for every
    parameter (context.NAME for a context's) and, where known, outcome (or value), noise, asked_at (or at), told_at,
    failure. An outcome without both times has no delay. Rows of two files with the same content are one experiment,
    unless a column key tells them apart; within one file they are two.

    Experiments outside today's ranges are kept and used by the model, and never proposed; the last line says how many.

    Cells of a CSV are separated by commas, semicolons or tabs; in the latter two decimals may begin with a comma. Other
    columns are kept as remarks of new trials, and named. --map says what a title means.

    An export may be edited and imported again: exactly what was changed is offered as an amendment, on a terminal, or
    with --amend REASON; --dry-run shows it. Empty cells and values that a trial had before change nothing.

    In a study of conversions a row may count people: parameters, day (2026-03-01), shown and converted, and as_of. It
    is one trial. A later file states the same days again, and the difference is what came since.

    With --optuna, add the trials of a study of Optuna's, with their times. Where there is no study NAME (by default of
    the same name), it is made from the parameters that all its completed trials have. Trials that failed or were pruned
    count as the silence says of an outcome that never comes.

    \b
    Examples:
      $ belated import catalyst past.csv
      $ belated import catalyst Versuche.xlsx --map Ausbeute=outcome
      $ belated import catalyst trials.xlsx --amend "two digits were swapped"
      $ belated import campaign counts.csv --as-of 2026-03-08
      $ belated import --optuna sqlite:///old.db tuning
    """
    if optuna is not None and as_of is not None:
        raise InvalidInput("--as-of belongs to counts of people; leave it out with --optuna")
    if optuna is not None and amend is not None:
        raise InvalidInput("--amend belongs to an export that was edited; leave it out with --optuna")
    if optuna is not None and mapped:
        raise InvalidInput("--map belongs to a table; leave it out with --optuna")
    signature = Signature.of(by, remark)
    change = partial(apply_at_once, url, signature=signature, asks=True, dry=dry_run)
    if optuna is not None:
        counts = import_optuna(words, url, optuna, silence, change, dry_run=dry_run)
    elif silence is not None:
        raise InvalidInput("--silence belongs to --optuna; a study that exists has its own")
    else:
        name, (file,) = split_name(words, 1, "[NAME] FILE")
        path, until = Path(file), None if as_of is None else parse_day(as_of, "--as-of")
        name = find_name(url, name)

        def import_table(reason: str | None) -> ImportCounts:
            if is_server(url):
                return send_file(url, name, path, until, mapped, signature, reason, dry=dry_run)
            return change(name, lambda study: import_file(study, path, until, mapped, signature, reason))

        try:
            counts = import_table(DRY if dry_run else None if amend is None else require_reason(amend))
        except UnexplainedEdits as found:
            if in_json or not is_terminal():
                raise
            counts = import_table(ask_reason(found))
        warn_of_cut_line(path)
        for warning in filter(None, [describe_untold(counts), describe_early(counts)]):
            print_warning(warning)
    if older := describe_aging(counts, dry=dry_run):
        print_warning(older)
    for edit in [] if in_json else counts.edits:
        click.echo(f"{'Would amend' if dry_run else 'Amended'} {edit}")
    print_result(asdict(counts), in_json, lambda: describe_import(counts, dry=dry_run))


def ask_reason(found: UnexplainedEdits) -> str:
    """Show what was edited, and ask why."""
    _, *lines = str(found).splitlines()
    click.echo("\n".join(lines))
    what = "this as an amendment" if len(lines) == 1 else "these as amendments"
    click.confirm(f"Record {what}?", abort=True)
    return require_reason(click.prompt("Why?"))


Change = Callable[[str, Callable[[Study], ImportCounts]], ImportCounts]  # all of some work to a study, or none


def import_optuna(
    words: tuple[str, ...], url: str, storage: str, silence: str | None, change: Change, *, dry_run: bool
) -> ImportCounts:
    """Add the trials of a study of Optuna's to a study, which is made if it is not there."""
    name, (theirs,) = split_name(words, 1, "[NAME] STUDY")
    name, found = name or theirs, read_optuna_study(storage, theirs)
    if found.left_out:
        print_warning(f"left out, as not every trial has a choice of them: {format_names(found.left_out)}")

    def work(study: Study) -> ImportCounts:
        errors = LineErrors(theirs)
        return import_rows(study, list_optuna_rows(study, found, errors), errors)

    if name in list_existing(url):
        if silence not in (None, Study.open(url, name).settings.silence.name):
            raise InvalidInput(f"study {name} has another silence; leave --silence out (got {silence})")
        return change(name, work)
    says: dict[str, Any] = {"space": found.space, "goal": found.goal, "silence": silence or "unknown"}
    counts = work(Study.create(None, name, **says))  # in memory first: where anything is wrong, no study is made
    if dry_run:
        return counts
    Study.create(url, name, **says)
    return change(name, work)
