"""Rows of a file, or of another library's study, as trials of a study.

Everything happens again in the round in which it happened."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from belated import Study, Trial
from belated.cli.io.count_rows import counts_people, import_counts
from belated.cli.io.edits import Edit, collect_past, find_edits, has_ended, is_same_trial, refuse_edits
from belated.cli.io.files import FileRow, LineErrors
from belated.cli.io.history import HistoryStep, collect_steps, find_missing, find_untold, repeat_event
from belated.cli.io.rows import IMPORTED, TABLES, TrialIdentity, TrialRow, identify, make_key, open_rows, parse_row
from belated.errors import InvalidInput
from belated.record.events import NAMES, Asked
from belated.record.signing import NOBODY, Signature
from belated.record.state import OUTSIDE
from belated.validation import format_names
from belated.wording import format_count

DRY = "a dry run"  # the reason of amendments that are not recorded


@dataclass(frozen=True, kw_only=True)
class ImportCounts:
    """What became of the rows."""

    rows: int = 0
    new: int = 0  # trials
    known: int = 0  # rows that were in the study before
    told: int = 0  # outcomes that are new
    failed: int = 0
    refused: int = 0  # tells that were refused when they happened, on record now
    amended: int = 0
    pending_before: int = 0  # queries that were pending before the import; they are `new` rounds older now
    aged: bool  # whether that matters: it does not where patience is a time
    days: int = 0  # of the new trials: those that count people
    restated: int = 0  # counts of days that were here before
    fewer: int = 0  # of these: fewer people or conversions than were counted before
    nobody: int = 0  # rows without anybody shown, left out
    left_out: tuple[str, ...] = ()  # columns that --map leaves out
    remarks: tuple[str, ...] = ()  # columns that are kept as remarks of new trials
    edits: tuple[str, ...] = ()  # what rows say otherwise than the record: amended now
    early: int = 0  # rows whose outcome came before they were asked
    outside: int = 0  # of the trials that are new or changed: those that lie outside the ranges


def describe_import(counts: ImportCounts, *, dry: bool) -> str:
    """What became of the rows, or would, in one sentence."""
    parts = [format_count(counts.new, "new trial"), f"{counts.known} here before"]
    if counts.told or not (counts.days or counts.restated):
        parts.append(format_count(counts.told, "outcome"))
    parts += [f"{n} {end}" for end in ("failed", "refused", "amended") if (n := getattr(counts, end))]
    if counts.restated:
        less = f" ({counts.fewer} with fewer than before)" if counts.fewer else ""
        parts.append(f"{format_count(counts.restated, 'day')} counted anew{less}")
    if counts.nobody:
        parts.append(f"{format_count(counts.nobody, 'row')} without anybody shown left out")
    kept = f"; kept as remarks: {format_names(counts.remarks)}" if counts.remarks else ""
    far = f"; {counts.outside} {'lies' if counts.outside == 1 else 'lie'} {OUTSIDE}" if counts.outside else ""
    return f"{'Would import' if dry else 'Imported'} {format_count(counts.rows, 'row')}: {', '.join(parts)}{kept}{far}"


def describe_early(counts: ImportCounts) -> str:
    """A warning about outcomes that came before their query; empty where there are none."""
    came = "outcome came" if counts.early == 1 else "outcomes came"
    return f"{counts.early} {came} before the query was asked, which counts as a delay of 0" if counts.early else ""


def describe_untold(counts: ImportCounts) -> str:
    """A warning where nothing says how new trials ended, and another column may have their outcomes; else empty."""
    if not counts.new or not counts.remarks or counts.told or counts.failed or counts.days:
        return ""
    titles = format_names(counts.remarks)
    return f"no new trial has an outcome; if one of these columns has them, say --map TITLE=outcome: {titles}"


def describe_aging(counts: ImportCounts, *, dry: bool) -> str:
    """A warning where pending queries grow older by the import; empty where they do not."""
    if not (counts.new and counts.pending_before and counts.aged):
        return ""
    are = "would be" if dry else "is now" if counts.pending_before == 1 else "are now"
    queries = format_count(counts.pending_before, "pending query", "pending queries")
    older = f"{queries} {are} {format_count(counts.new, 'round')} older"
    return f"{older}, because every imported row counts as a round; import before you ask"


def import_file(
    study: Study,
    path: Path,
    as_of: float | datetime | None = None,
    mapped: Sequence[str] = (),
    signature: Signature = NOBODY,
    reason: str | None = None,
) -> ImportCounts:
    """Make every row of a file a trial of the study, or the counts of one.

    as_of      until when people are counted, where the rows do not say it; None: now
    mapped     what titles mean, as title=column
    signature  who tells what is new: of a table everything, of JSON lines, which say it themselves, what has no history
    reason     why rows differ from the record, which is amended then; None: they are refused"""
    errors, nested = LineErrors(path), path.suffix.lower() not in TABLES
    sheet = open_rows(study, path, errors, mapped)
    people: list[FileRow] = []
    rows: list[TrialRow] = []
    for file_row in sheet.rows:
        if counts_people(study, file_row):
            people.append(file_row)
            continue
        with errors.collect(file_row.line):
            rows.append(parse_row(study, file_row, nested))
    refuse_repeated_numbers(rows, errors)
    pending, far = study.counts()["pending"], count_outside(study)
    by = None if nested else signature.by
    totals = import_counts(study, people, errors, as_of, nested=nested, by=by)
    counts = import_rows(study, rows, errors, signature, reason, by)
    ended = {**asdict(totals), "failed": counts.failed + totals.failed}
    return replace(
        counts,
        rows=len(rows) + len(people),
        left_out=sheet.left_out,
        remarks=sheet.extra,
        early=sum(r.asked_at is not None and r.told_at is not None and r.told_at < r.asked_at for r in rows),
        new=counts.new + totals.days,
        known=counts.known + len(people) - totals.days - totals.nobody,
        pending_before=pending,
        outside=count_outside(study) - far,
        **ended,
    )


def import_rows(
    study: Study,
    rows: list[TrialRow],
    errors: LineErrors,
    signature: Signature = NOBODY,
    reason: str | None = None,
    by: str | None = None,
) -> ImportCounts:
    """Make every row a trial of the study, or none where anything is wrong.

    by  who tells how the new trials ended; None: as the rows say it themselves"""
    errors.refuse()
    if not rows:
        return ImportCounts(aged=not study.settings.patience.by_clock)
    if all(row.number is not None for row in rows):
        rows.sort(key=lambda row: row.number or 0)
    elif all(row.number is None and row.asked_at is not None for row in rows):
        rows.sort(key=lambda row: row.asked_at or 0.0)
    times = np.array([math.inf if row.asked_at is None else row.asked_at for row in rows])
    events = study.events()
    trials, before, queue = study.trials(), collect_steps(events), StepQueue(study, errors)
    imported = {event.key: event.number for event in events if isinstance(event, Asked) and event.key is not None}
    here = TrialsHere(trials, imported if any(row.key for row in rows) else {})
    repeats, edits, past = Counter[str](), list[Edit](), collect_past(events)
    last, known, now, far = len(trials), 0, study.clock(), count_outside(study)
    for i, row in enumerate(rows):
        queue.run_until(last + 1)
        with errors.collect(row.line):
            number = here.find(row)
            if number is None:
                number = find_or_add(study, row, make_key(row, repeats), imported, by)
            if number <= last:
                known += 1
                trial = trials[number - 1]
                if row.history:
                    queue.add(Arrival(row, number, 0), find_missing(before.get(number, []), row.steps(now)))
                    continue
                ended = has_ended(row, trial, study.settings.outcomes)
                edits += find_edits(row, trial, past[number], ended)
                untold = [] if ended else find_untold(before.get(number, []), row.steps(now))
                own = [replace(step, event=signature.sign(step.event)) for step in untold]
                queue.add(Arrival(row, number, 0), own)
                continue
            last, steps = number, row.steps(now)
            if row.undelayed is not None:  # it was added with its outcome
                queue.counts["told"] += 1
                steps = steps[1:]
            if steps and by is not None:
                steps = [replace(step, event=replace(step.event, by=by)) for step in steps]
            if steps:
                queue.add(Arrival(row, number, number + row.rounds(steps[0], times[i:])), steps)
    queue.run_until(math.inf)
    errors.refuse()
    if edits and reason is None:
        refuse_edits(errors.source, edits)
    for edit in edits:
        with errors.collect(edit.line):
            study.amend(edit.number, reason=reason or "", by=signature.by, **edit.changes)
    errors.refuse()
    return ImportCounts(
        rows=len(rows),
        new=last - len(trials),
        known=known,
        told=queue.counts["told"],
        failed=queue.counts["failed"],
        refused=queue.counts["refused"],
        amended=queue.counts["amended"] + len(edits),
        edits=tuple(map(str, edits)),
        pending_before=sum(trial.status == "pending" for trial in trials),
        aged=not study.settings.patience.by_clock,
        outside=count_outside(study) - far,
    )


def count_outside(study: Study) -> int:
    """How many trials lie outside the ranges of today."""
    return sum(not study.settings.space.holds(trial.params) for trial in study.trials())


def refuse_repeated_numbers(rows: Sequence[TrialRow], errors: LineErrors) -> None:
    """Two rows of a file are two trials: they cannot have one number."""
    first: dict[int, int] = {}
    for row in rows:
        if row.number is not None and first.setdefault(row.number, row.line) != row.line:
            with errors.collect(row.line):
                raise InvalidInput(f"number must be there once (got {row.number}, as in line {first[row.number]})")


def list_identities(trial: Trial) -> list[TrialIdentity]:
    """How a row may name a trial: a table has what was run, JSON lines also what was asked."""
    return [identify(trial, params) for params in (trial.params, trial.asked_params) if params is not None]


class TrialsHere:
    """The trials that rows may be about, each by what was asked and when: the next one of those that are alike."""

    def __init__(self, trials: Sequence[Trial], imported: Mapping[str, int]) -> None:
        self.trials, self.imported = trials, imported
        self._found: set[int] = set()
        self._alike: dict[TrialIdentity, list[int]] = {}
        for trial in reversed(trials):
            for identity in list_identities(trial):
                self._alike.setdefault(identity, []).append(trial.number)
        keys = {number: key for key, number in imported.items()}
        self._without_key = {
            identity: leave_out_keyed([trials[number - 1] for number in numbers], keys)
            for identity, numbers in (self._alike if imported else {}).items()
        }

    def find(self, row: TrialRow) -> int | None:
        """The number of the trial that a row is about, if it is here: by its key, by its number and when it was asked,
        else by what was asked and when. A row with a key is never about a trial that came with another one."""
        number = self._find_number(row)
        if number is not None:
            self._found.add(number)
        return number

    def _find_number(self, row: TrialRow) -> int | None:
        if row.key and (known := self.imported.get(f"{IMPORTED}{row.key}")) is not None:
            trial = self.trials[known - 1]
            return known if (trial.params, trial.context) == (row.params, row.context) else None
        number = row.number
        if number is not None and number <= len(self.trials) and is_same_trial(row, self.trials[number - 1]):
            return number
        same = (self._without_key if row.key and self.imported else self._alike).get(identify(row), [])
        while same:
            if (found := same.pop()) not in self._found:
                return found
        return None


def leave_out_keyed(alike: Sequence[Trial], keys: Mapping[int, str]) -> list[int]:
    """The numbers of those that were not imported with the key of a row; one that was made of its content is none."""
    made: set[str] = set()
    repeats = Counter[str]()
    if any(trial.number in keys for trial in alike):
        for trial in alike:
            row = TrialRow(line=0, params=trial.params, context=trial.context, asked_at=trial.asked_at)
            made.add(make_key(row, repeats))
    return [n for n in (trial.number for trial in alike) if not keys.get(n, "").startswith(IMPORTED) or keys[n] in made]


def find_or_add(study: Study, row: TrialRow, key: str, imported: Mapping[str, int], by: str | None) -> int:
    """The number of the row's trial: the one it had before, if the row was imported before."""
    if key in imported:
        trial = study.trial(imported[key])
        if (trial.params, trial.context) == (row.params, row.context):
            return trial.number
    at = row.told_at if row.asked_at is None else row.asked_at
    told = row.undelayed
    value, noise = (None, None) if told is None else (told.value, told.noise)
    said = row.remark or None
    teller = by if told is None else told.by or by
    words: dict[str, Any] = {"noise": noise, "context": row.context, "at": at, "key": key, "remark": said, "by": teller}
    return study.add(row.params, value, **words).number


class Arrival(NamedTuple):
    """A row that has become a trial, and the round in which what happened to it could be known first; 0: at once."""

    row: TrialRow
    number: int
    round: int


@dataclass(frozen=True, order=True)
class DueSteps:
    """What is still to happen to a trial, in this order. The first step happens before the choice of `round`."""

    round: int
    at: float
    number: int
    steps: Sequence[HistoryStep] = field(compare=False)
    row: TrialRow = field(compare=False)


class StepQueue:
    """What happened to trials, done again round by round."""

    def __init__(self, study: Study, errors: LineErrors) -> None:
        self.study, self.errors = study, errors
        self.counts: Counter[str] = Counter()
        self._due: list[DueSteps] = []

    def add(self, arrival: Arrival, steps: Sequence[HistoryStep]) -> None:
        """The first of these steps is due in the round of the arrival."""
        if steps:
            row, number, round_ = arrival
            heapq.heappush(self._due, DueSteps(round_, steps[0].event.at, number, steps, row))

    def run_until(self, t: float) -> None:
        """Do all that the choice of round t can know."""
        while self._due and self._due[0].round <= t:
            due = heapq.heappop(self._due)
            with self.errors.collect(due.row.line):
                event = due.steps[0].event
                self.counts[NAMES[type(event)]] += repeat_event(self.study, due.number, event)
                self._add_rest(due)

    def _add_rest(self, due: DueSteps) -> None:
        """The steps after the first: each when it could be known, and none before the one that it follows."""
        rest = due.steps[1:]
        if rest:
            at_round = max(due.round, due.number + due.row.rounds(rest[0], np.empty(0))) if due.round else 0
            self.add(Arrival(due.row, due.number, at_round), rest)
