"""`belated export` and `belated import`: trials to and from CSV and JSON lines."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click

from belated import Study
from belated.cli._common import find_name, json_option, print_result, print_warning, split_name, study_arguments
from belated.cli.io.bulk import apply_at_once, copy_study
from belated.cli.io.files import LineErrors, write_file
from belated.cli.io.history import HistoryStep, collect_steps, find_missing, find_untold, repeat_event
from belated.cli.io.rows import (
    TrialIdentity,
    TrialRow,
    format_csv,
    format_json_lines,
    identify,
    make_key,
    parse_row,
    read_file_rows,
)
from belated.record.events import NAMES, Event
from belated.wording import format_count

FORMATS = ("csv", "jsonl")


@click.command()
@study_arguments("[NAME]")
@click.option("--format", "kind", type=click.Choice(FORMATS), help="[default: as --out ends, else csv]")
@click.option("--out", type=click.Path(path_type=Path), help="A file to write.  [default: standard output]")
def export(words: tuple[str, ...], url: str, kind: str | None, out: Path | None) -> None:
    """Write every trial as CSV or JSON lines. Importing that into a study of the same space gives the same trials.

    JSON lines carry all that happened to a trial: its outcome, and what was told, refused, failed and amended on the
    way, with times and reasons. A CSV is a sheet for people: the outcome in effect, or how the trial failed.

    Not carried: what belongs to the study (its settings, an amended floor or limits, each patience that it chose for
    itself, whether it is closed: see belated new) and to its choices (notes, hyperparameters, keys). Imported trials
    are given by hand.

    \b
    Examples:
      $ belated export catalyst --out trials.csv
      $ belated export catalyst --format jsonl
    """
    name, _ = split_name(words, 0, "[NAME]")
    study, events = copy_study(url, find_name(url, name))
    chosen = kind or ("jsonl" if out is not None and out.suffix.lower() in (".jsonl", ".ndjson") else "csv")
    trials = study.trials()
    pieces: Iterator[str] = (
        format_csv(study, trials) if chosen == "csv" else format_json_lines(trials, collect_steps(events))
    )
    if out is None:
        for piece in pieces:
            click.echo(piece, nl=False)
    else:
        write_file(out, pieces)
        click.echo(f"Wrote {format_count(len(trials), 'trial')} to {out}", err=True)


@dataclass(frozen=True, kw_only=True)
class ImportCounts:
    """What became of a file."""

    rows: int
    new: int  # trials
    known: int  # rows that were here before
    told: int  # outcomes that are heard now
    failed: int
    refused: int  # tells that had been refused, on record now
    amended: int
    pending_before: int  # queries that were out, and are older by `new` rounds now
    aged: bool  # whether that matters: patience counts rounds, or nothing does


@click.command("import")
@study_arguments("[NAME] FILE")
@click.option("--dry-run", is_flag=True, help="Say what would happen, and change nothing.")
@json_option
def import_(words: tuple[str, ...], url: str, in_json: bool, dry_run: bool) -> None:
    """Take in trials from a .csv or .jsonl file: past experiments, or what belated export wrote.

    All of it or nothing; importing the same again changes nothing. A CSV has a column for every parameter (a context's
    are context.NAME) and, as far as known, outcome, noise, asked_at, told_at, failure. Rows with the same content are
    the same experiment, unless they stand in one file twice or a column key tells them apart.

    \b
    Example:
      $ belated import catalyst past.csv
    """
    name, (file,) = split_name(words, 1, "[NAME] FILE")
    path = Path(file)
    done = apply_at_once(
        url, find_name(url, name), lambda study, events: import_rows(study, events, path), asks=True, dry=dry_run
    )
    if done.new and done.pending_before and done.aged:
        would = "would be" if dry_run else "is" if done.pending_before == 1 else "are"
        queries = format_count(done.pending_before, "pending query", "pending queries")
        print_warning(
            f"{queries} {would} {format_count(done.new, 'round')} older by the imported rows; import before asking"
        )
    parts = [format_count(done.new, "new trial"), f"{done.known} here before", format_count(done.told, "outcome")]
    parts += [f"{n} {what}" for what in ("failed", "refused", "amended") if (n := getattr(done, what))]
    verb_ = "Would import" if dry_run else "Imported"
    print_result(asdict(done), in_json, lambda: f"{verb_} {format_count(done.rows, 'row')}: {', '.join(parts)}")


@dataclass(frozen=True, order=True)
class PendingStep:
    """What is still to happen to a trial, in this order; the first of it before the choice of this round."""

    round: int
    at: float
    number: int
    steps: Sequence[HistoryStep] = field(compare=False)
    row: TrialRow = field(compare=False)


class StepQueue:
    """Things that happened to trials, done again round by round."""

    def __init__(self, study: Study, faults: LineErrors) -> None:
        self.study, self.faults = study, faults
        self.counts: Counter[str] = Counter()
        self._due: list[PendingStep] = []

    def add(self, row: TrialRow, number: int, steps: Sequence[HistoryStep], least: int = 0) -> None:
        """The next step is due when it could be known; one of a trial that was here before at once."""
        if steps:
            at_round = max(least, number + row.rounds(steps[0])) if least else 0
            heapq.heappush(self._due, PendingStep(at_round, steps[0].event.at, number, steps, row))

    def until(self, t: float) -> None:
        """Let happen what the choice of round t can know."""
        while self._due and self._due[0].round <= t:
            due = heapq.heappop(self._due)
            with self.faults.at(due.row.line):
                event = due.steps[0].event
                self.counts[NAMES[type(event)]] += repeat_event(self.study, due.number, event)
                self.add(due.row, due.number, due.steps[1:], due.round)


def import_rows(study: Study, events: Sequence[Event], path: Path) -> ImportCounts:
    """Every row of a file as a trial of the study, each thing that happened in the round in which it did."""
    faults = LineErrors(path)
    rows: list[TrialRow] = []
    for record in read_file_rows(study, path, faults):
        with faults.at(record.line):
            rows.append(parse_row(study, record, nested=path.suffix.lower() != ".csv"))
    faults.refuse()
    if all(row.number is not None for row in rows):
        rows.sort(key=lambda row: row.number or 0)
    trials, before, agenda = study.trials(), collect_steps(events), StepQueue(study, faults)
    here: dict[TrialIdentity, list[int]] = {}
    for trial in trials:
        here.setdefault(identify(trial), []).append(trial.number)
    seen: Counter[str] = Counter()
    last, known, now = len(trials), 0, study.clock()
    for row in rows:
        agenda.until(last + 1)
        with faults.at(row.line):
            same = here.get(identify(row))
            number = same.pop(0) if same else add_row(study, row, make_key(row, seen))
            steps = row.steps(study.trial(number).asked_at, now)
            if number <= last:
                known += 1
                agenda.add(row, number, (find_missing if row.history else find_untold)(before.get(number, []), steps))
            else:
                last = number
                agenda.add(row, number, steps, least=number + 1)
    agenda.until(math.inf)
    faults.refuse()
    counts = agenda.counts
    return ImportCounts(
        rows=len(rows),
        new=last - len(trials),
        known=known,
        told=counts["told"],
        failed=counts["failed"],
        refused=counts["refused"],
        amended=counts["amended"],
        pending_before=sum(trial.status == "pending" for trial in trials),
        aged=not study.settings.patience.by_clock,
    )


def add_row(study: Study, row: TrialRow, key: str) -> int:
    """The row's trial, by its number; the same as before, if it was imported before."""
    at = row.told_at if row.asked_at is None else row.asked_at
    return study.add(row.params, context=row.context, at=at, key=key).number
