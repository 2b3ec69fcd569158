"""The outcomes and failures of a CSV file, told all or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from belated import Receipt, Study, Trial
from belated.cli.io.cells import parse_decimal, parse_time, parse_whole
from belated.cli.io.columns import StudyColumns, open_sheet
from belated.cli.io.files import LineErrors
from belated.cli.io.rows import IMPORTED, parse_failure
from belated.cli.io.transaction import apply_at_once
from belated.errors import BelatedError, InvalidInput, UnknownTrial
from belated.record.bulk import PART
from belated.record.events import Asked, Event
from belated.record.signing import Signature
from belated.results import Failure
from belated.validation import format_value
from belated.wording import format_count

ALIASES = {"outcome": "value", "told_at": "at"}  # so that a file of `belated export` can be told


@dataclass(frozen=True, kw_only=True)
class TellCounts:
    """What became of the rows of a file."""

    told: int  # the late ones included
    late: int
    failed: int
    duplicate: int  # told or failed before, in the same way
    empty: int  # rows without a value and a failure
    flags: tuple[str, ...]  # outcomes that are worse than the floor
    left_out: tuple[str, ...] = ()  # columns that mean nothing here


def tell_csv(url: str, name: str, path: Path, signature: Signature, mapped: Sequence[str] = ()) -> TellCounts:
    """Tell a CSV: the columns number or key, value (or outcome) or failure, and maybe at (or told_at) and noise.

    mapped  what titles mean, as title=column"""
    return apply_at_once(url, name, lambda study: _tell_rows(study, path, signature, mapped))


class OutcomeLine(NamedTuple):
    """An outcome, and the line of the file that has it."""

    line: int
    row: Mapping[str, Any]  # as tell_many takes it


def _tell_rows(study: Study, path: Path, signature: Signature, mapped: Sequence[str]) -> TellCounts:
    columns = StudyColumns.of(study, ["number", "value", "at", "key"], mapped)
    counts, flags, errors = Counter[str](), list[str](), LineErrors(path)
    waiting, keys = list[OutcomeLine](), dict[str, list[int]]()
    sheet = open_sheet(path, errors, columns, required=("number|key", "value|outcome|failure"))

    def tell_waiting() -> None:
        for receipt in _tell_part(study, waiting, signature, errors):
            counts[receipt.status] += 1
            if receipt.note and receipt.status != "duplicate":
                flags.append(f"trial {receipt.number}: {receipt.note}")
        waiting.clear()

    for row in sheet.rows:
        with errors.collect(row.line):
            cells = {ALIASES.get(title, title): text for title, text in row.cells.items()}
            keys = keys or (list_keys(study.events()) if "key" in cells else {})
            number, failure = find_trial(study, keys, cells), parse_failure(cells.get("failure"))
            if "value" in cells and failure is not None:
                raise InvalidInput("a row has an outcome or a failure, not both")
            if failure is not None:
                tell_waiting()
                counts[_fail(study, number, failure, signature)] += 1
            elif "value" in cells:
                waiting.append(OutcomeLine(row.line, _read_outcome(number, cells)))
            else:
                refuse_new_counts(study.trial(number), cells)
                counts["empty"] += 1
        if len(waiting) == PART:
            tell_waiting()
    tell_waiting()
    errors.refuse()
    return TellCounts(
        told=counts["heard"] + counts["late"],
        late=counts["late"],
        failed=counts["failed"],
        duplicate=counts["duplicate"],
        empty=counts["empty"],
        flags=tuple(flags),
        left_out=sheet.extra,
    )


def refuse_new_counts(trial: Trial, cells: Mapping[str, str]) -> None:
    """Refuse counts of people that are not those on record: they are no outcome."""
    told = tuple(cells.get(name) for name in ("shown", "converted"))
    if told not in ((None, None), (str(trial.shown), str(trial.converted))):
        raise InvalidInput("counts of people are stated by belated import, not told")


def _read_outcome(number: int, cells: Mapping[str, str]) -> dict[str, Any]:
    """An outcome as tell_many takes it."""
    row: dict[str, Any] = {"trial": number, "value": parse_decimal(cells["value"])}
    if "at" in cells:
        row["at"] = parse_time(cells["at"])
    if "noise" in cells:
        row["noise"] = parse_decimal(cells["noise"], "noise")
    return row


def _tell_part(study: Study, part: Sequence[OutcomeLine], signature: Signature, errors: LineErrors) -> list[Receipt]:
    """Tell some rows at once; where any is wrong, one by one, so that every wrong line is named."""
    said: dict[str, Any] = {"by": signature.by, "remark": signature.remark or None}
    try:
        return study.tell_many([row for _, row in part], **said)
    except BelatedError:
        receipts = list[Receipt]()
        for line, row in part:
            with errors.collect(line):
                receipts += study.tell_many([row], **said)
        return receipts


def _fail(study: Study, number: int, failure: Failure, signature: Signature) -> str:
    before = study.trial(number).failure
    study.fail(number, failure, reason=signature.remark or None, by=signature.by)
    return "failed" if before is None else "duplicate"


def list_keys(events: Iterable[Event]) -> dict[str, list[int]]:
    """The numbers of the trials that were asked or added with each key; of an import, the key of its row."""
    keys: dict[str, list[int]] = {}
    for event in events:
        if isinstance(event, Asked) and event.key is not None:
            keys.setdefault(event.key.removeprefix(IMPORTED), []).append(event.number)
    return keys


def find_trial(study: Study, keys: Mapping[str, list[int]], cells: Mapping[str, str]) -> int:
    """The number of the trial that a row means, by its number or its key."""
    if "number" not in cells and "key" not in cells:
        raise InvalidInput("number and key are missing")
    named = [study.trial(parse_whole(cells["number"], "number")).number] if "number" in cells else []
    if "key" not in cells:
        return named[0]
    key = cells["key"]
    if key not in keys:
        raise UnknownTrial(f"there is no trial with the key {format_value(key)}")
    meant = keys[key]
    if named and named[0] not in meant:
        raise InvalidInput(f"trial {named[0]} does not have the key {format_value(key)}; trial {meant[0]} has it")
    if not named and len(meant) > 1:
        raise InvalidInput(f"key {format_value(key)} is of {format_count(len(meant), 'trial')}; give the number too")
    return (named or meant)[0]
