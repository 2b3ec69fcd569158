"""The failures of a CSV file, recorded all or nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from belated import Study
from belated.cli.io.columns import StudyColumns, open_sheet
from belated.cli.io.files import LineErrors
from belated.cli.io.rows import parse_failure
from belated.cli.io.tell_csv import find_trial, list_keys
from belated.cli.io.transaction import apply_at_once


@dataclass(frozen=True, kw_only=True)
class FailCounts:
    """What became of the rows of a file."""

    failed: int
    known: int  # ended before, in the same way
    empty: int  # rows without a failure
    left_out: tuple[str, ...] = ()  # columns that mean nothing here


def fail_csv(url: str, name: str, path: Path, reason: str | None, by: str | None) -> FailCounts:
    """End the trials of a CSV: the columns number or key, failure, and maybe reason, which is otherwise `reason`."""
    return apply_at_once(url, name, lambda study: _fail_rows(study, path, reason, by))


def _fail_rows(study: Study, path: Path, reason: str | None, by: str | None) -> FailCounts:
    columns = StudyColumns.of(study, ["number", "key", "failure", "reason"])
    counts, errors, keys = Counter[str](), LineErrors(path), list_keys(study.events())
    sheet = open_sheet(path, errors, columns, required=("number|key", "failure"))
    for row in sheet.rows:
        with errors.collect(row.line):
            number, failure = find_trial(study, keys, row.cells), parse_failure(row.cells.get("failure"))
            if failure is None:
                counts["empty"] += 1
                continue
            before = len(study.events())
            study.fail(number, failure, reason=row.cells.get("reason", reason), by=by)
            counts["failed" if len(study.events()) > before else "known"] += 1
    errors.refuse()
    return FailCounts(failed=counts["failed"], known=counts["known"], empty=counts["empty"], left_out=sheet.extra)
