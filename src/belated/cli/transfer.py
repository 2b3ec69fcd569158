"""`belated export` and `belated import`: trials to and from CSV and JSON lines."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from belated import Study
from belated.cli.bulk import at_once
from belated.cli.found import as_json, name_of, opened, say, taken, verb, warn
from belated.cli.looks import counted
from belated.cli.records import Faults, written
from belated.cli.rows import Place, Row, as_csv, as_json_lines, key_of_row, place_of, records_of, row_of

FORMATS = ("csv", "jsonl")


@click.command()
@verb("[NAME]")
@click.option("--format", "kind", type=click.Choice(FORMATS), help="[default: as --out ends, else csv]")
@click.option("--out", type=click.Path(path_type=Path), help="A file to write.  [default: standard output]")
def export(words: tuple[str, ...], url: str, kind: str | None, out: Path | None) -> None:
    """Write every trial as CSV or JSON lines. Importing that into a study of the same space gives the same trials.

    \b
    Examples:
      $ belated export catalyst --out trials.csv
      $ belated export catalyst --format jsonl
    """
    name, _ = taken(words, 0, "[NAME]")
    study = opened(url, name)
    chosen = kind or ("jsonl" if out is not None and out.suffix.lower() in (".jsonl", ".ndjson") else "csv")
    trials = study.trials()
    pieces: Iterator[str] = as_csv(study, trials) if chosen == "csv" else as_json_lines(trials)
    if out is None:
        for piece in pieces:
            click.echo(piece, nl=False)
    else:
        written(out, pieces)
        click.echo(f"Wrote {counted(len(trials), 'trial')} to {out}", err=True)


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What became of a file."""

    rows: int
    new: int  # trials
    known: int  # rows that were here before
    told: int  # outcomes that are heard now
    failed: int
    pending_before: int  # queries that were out, and are older by `new` rounds now
    aged: bool  # whether that matters: patience counts rounds, or nothing does


@click.command("import")
@verb("[NAME] FILE")
@click.option("--dry-run", is_flag=True, help="Say what would happen, and change nothing.")
@as_json
def import_(words: tuple[str, ...], url: str, in_json: bool, dry_run: bool) -> None:
    """Take in trials from a .csv or .jsonl file: past experiments, or what belated export wrote.

    All of it or nothing; importing the same again changes nothing. A CSV has a column for every parameter (a context's
    are context.NAME) and, as far as known, outcome, noise, asked_at, told_at, failure. Rows with the same content are
    the same experiment, unless they stand in one file twice or a column key tells them apart.

    \b
    Example:
      $ belated import catalyst past.csv
    """
    name, (file,) = taken(words, 1, "[NAME] FILE")
    path = Path(file)
    done = at_once(url, name_of(url, name), lambda study: take_in(study, path), asks=True, dry=dry_run)
    if done.new and done.pending_before and done.aged:
        would = "would be" if dry_run else "is" if done.pending_before == 1 else "are"
        queries = counted(done.pending_before, "pending query", "pending queries")
        warn(f"{queries} {would} {counted(done.new, 'round')} older by the imported rows; import before asking")
    parts = [counted(done.new, "new trial"), f"{done.known} here before", counted(done.told, "outcome")]
    if done.failed:
        parts.append(f"{done.failed} failed")
    verb_ = "Would import" if dry_run else "Imported"
    say(asdict(done), in_json, lambda: f"{verb_} {counted(done.rows, 'row')}: {', '.join(parts)}")


def take_in(study: Study, path: Path) -> Imported:
    """Every row of a file as a trial of the study, each outcome told in the round in which it was heard."""
    faults = Faults(path)
    rows: list[Row] = []
    for record in records_of(study, path, faults):
        with faults.at(record.line):
            rows.append(row_of(study, record, nested=path.suffix.lower() != ".csv"))
    faults.refuse()
    if all(row.number is not None for row in rows):
        rows.sort(key=lambda row: row.number or 0)
    trials = study.trials()
    here: dict[Place, list[int]] = {}
    for trial in trials:
        here.setdefault(place_of(trial), []).append(trial.number)
    counts = Counter(pending=sum(trial.status == "pending" for trial in trials))
    seen: Counter[str] = Counter()
    last = len(trials)
    coming: list[tuple[int, float, int, Row]] = []  # (the round that can know its end, when, trial, row)

    def end_before(t: float) -> None:
        while coming and coming[0][0] <= t:
            _, _, number, row = heapq.heappop(coming)
            with faults.at(row.line):
                counts.update(end(study, number, row))

    for row in rows:
        end_before(last + 1)
        with faults.at(row.line):
            same = here.get(place_of(row))
            number = same.pop(0) if same else enter(study, row, key_of_row(row, seen))
            due = number + row.rounds if number > last else 0
            counts["known"] += number <= last
            last = max(last, number)
            if row.outcome is not None or row.failure is not None:
                heapq.heappush(coming, (due, row.told_at or 0.0, number, row))
    end_before(math.inf)
    faults.refuse()
    return Imported(
        rows=len(rows),
        new=last - len(trials),
        known=counts["known"],
        told=counts["told"],
        failed=counts["failed"],
        pending_before=counts["pending"],
        aged=not study.settings.patience.by_clock,
    )


def enter(study: Study, row: Row, key: str) -> int:
    """The row's trial, by its number; the same as before, if it was imported before."""
    at = row.told_at if row.asked_at is None else row.asked_at
    return study.add(row.params, context=row.context, at=at, key=key).number


def end(study: Study, number: int, row: Row) -> dict[str, int]:
    """What ended the row's trial, and what of it is news."""
    before = study.trial(number)
    if row.failure is not None:
        return {"failed": study.fail(number, row.failure).failure != before.failure}
    if row.outcome is None:
        return {}
    at = before.asked_at if row.told_at is None else row.told_at
    return {"told": study.tell(number, row.outcome, noise=row.noise, at=at).status != "duplicate"}
