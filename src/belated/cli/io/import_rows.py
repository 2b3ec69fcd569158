"""Rows of a file as trials of a study. Everything happens again in the round in which it happened."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from belated import Study
from belated.cli.io.files import LineErrors
from belated.cli.io.history import HistoryStep, collect_steps, find_missing, find_untold, repeat_event
from belated.cli.io.rows import TrialIdentity, TrialRow, identify, make_key, parse_row, read_file_rows
from belated.record.events import NAMES


@dataclass(frozen=True, kw_only=True)
class ImportCounts:
    """What became of the rows of a file."""

    rows: int
    new: int  # trials
    known: int  # rows that were in the study before
    told: int  # outcomes that are new
    failed: int
    refused: int  # tells that were refused when they happened, on record now
    amended: int
    pending_before: int  # queries that were pending before the import; they are `new` rounds older now
    aged: bool  # whether that matters: it does not where patience is a time


def import_rows(study: Study, path: Path) -> ImportCounts:
    """Make every row of a file a trial of the study."""
    errors = LineErrors(path)
    rows: list[TrialRow] = []
    for file_row in read_file_rows(study, path, errors):
        with errors.collect(file_row.line):
            rows.append(parse_row(study, file_row, nested=path.suffix.lower() != ".csv"))
    errors.refuse()
    if all(row.number is not None for row in rows):
        rows.sort(key=lambda row: row.number or 0)
    trials, before, queue = study.trials(), collect_steps(study.events()), StepQueue(study, errors)
    here: dict[TrialIdentity, list[int]] = {}
    for trial in trials:
        here.setdefault(identify(trial), []).append(trial.number)
    repeats: Counter[str] = Counter()
    last, known, now = len(trials), 0, study.clock()
    for row in rows:
        queue.run_until(last + 1)
        with errors.collect(row.line):
            same = here.get(identify(row))
            number = same.pop(0) if same else add_trial(study, row, make_key(row, repeats))
            steps = row.steps(study.trial(number).asked_at, now)
            if number <= last:
                known += 1
                queue.add(row, number, (find_missing if row.history else find_untold)(before.get(number, []), steps))
            else:
                last = number
                queue.add(row, number, steps, least=number + 1)
    queue.run_until(math.inf)
    errors.refuse()
    return ImportCounts(
        rows=len(rows),
        new=last - len(trials),
        known=known,
        told=queue.counts["told"],
        failed=queue.counts["failed"],
        refused=queue.counts["refused"],
        amended=queue.counts["amended"],
        pending_before=sum(trial.status == "pending" for trial in trials),
        aged=not study.settings.patience.by_clock,
    )


def add_trial(study: Study, row: TrialRow, key: str) -> int:
    """The number of the row's trial; the same as before if the row was imported before."""
    at = row.told_at if row.asked_at is None else row.asked_at
    return study.add(row.params, context=row.context, at=at, key=key).number


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

    def add(self, row: TrialRow, number: int, steps: Sequence[HistoryStep], least: int = 0) -> None:
        """The next step is due when it could be known; for a trial that was here before (least = 0), at once."""
        if steps:
            at_round = max(least, number + row.rounds(steps[0])) if least else 0
            heapq.heappush(self._due, DueSteps(at_round, steps[0].event.at, number, steps, row))

    def run_until(self, t: float) -> None:
        """Do all that the choice of round t can know."""
        while self._due and self._due[0].round <= t:
            due = heapq.heappop(self._due)
            with self.errors.collect(due.row.line):
                event = due.steps[0].event
                self.counts[NAMES[type(event)]] += repeat_event(self.study, due.number, event)
                self.add(due.row, due.number, due.steps[1:], due.round)
