"""What a person changed in a table that was exported: in the row of a trial that is here, found by its number and the
time at which it was asked.

An empty cell says nothing, and neither does a value that the trial had before: the table may be older than what was
recorded since. A number may have lost digits on its way through a spreadsheet: one that has at least six digits, and is
the trial's own rounded to them, is no change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from belated import Trial
from belated.cli.io.cells import format_time
from belated.cli.io.files import ERRORS_SHOWN
from belated.cli.io.rows import TrialRow
from belated.errors import InvalidInput, UnexplainedEdits
from belated.record.events import Amended, Asked, Converted, Event, Failed, Told
from belated.settings import OutcomeKind
from belated.validation import format_value
from belated.wording import join_words

DIGITS = 6  # of a number that may be a rounded one
SOON = 0.001  # seconds: a workbook keeps times to the millisecond


@dataclass(frozen=True, kw_only=True)
class Edit:
    """What a row says otherwise than the record; print it."""

    line: int
    number: int  # of the trial
    changes: Mapping[str, Any]  # as Study.amend takes them
    sentence: str

    def __str__(self) -> str:
        return f"trial {self.number}: {self.sentence}"


def refuse_edits(source: Path | str, edits: Sequence[Edit]) -> NoReturn:
    """Raise one error that names every row that differs."""
    rows = "a row differs" if len(edits) == 1 else f"{len(edits)} rows differ"
    lines = [f"  {source}:{edit.line}: {edit}" for edit in edits[:ERRORS_SHOWN]]
    if len(edits) > ERRORS_SHOWN:
        lines.append(f"  ... and {len(edits) - ERRORS_SHOWN} more")
    remedy = "--amend REASON records it as an amendment"
    raise UnexplainedEdits("\n".join([f"nothing was recorded: {rows} from the record; {remedy}", *lines]))


@dataclass(frozen=True)
class PastValues:
    """Everything that a trial was ever said to be."""

    params: list[Mapping[str, Any]] = field(default_factory=list)
    outcomes: list[tuple[float, float | None]] = field(default_factory=list)  # with their noise
    times: list[float] = field(default_factory=list)  # when the outcome came
    failures: list[str] = field(default_factory=list)


def collect_past(events: Iterable[Event]) -> dict[int, PastValues]:
    """What each trial was said to be, by its number."""
    past: dict[int, PastValues] = {}
    for event in events:
        if not isinstance(event, Asked | Told | Converted | Failed | Amended) or event.number is None:
            continue
        known = past.setdefault(event.number, PastValues())
        params = None if isinstance(event, Converted | Failed) else event.params
        known.params.extend([] if params is None else [dict(params)])
        if isinstance(event, Told | Converted | Amended) and event.value is not None:
            known.outcomes.append((event.value, None if isinstance(event, Converted) else event.noise))
        if isinstance(event, Told | Converted):
            known.times.append(event.at)
        if isinstance(event, Amended):
            known.times.extend([] if event.told_at is None else [event.told_at])
            known.failures.extend([] if event.failure is None else [event.failure])
        if isinstance(event, Failed):
            known.failures.append(event.kind)
    return past


def is_same_trial(row: TrialRow, trial: Trial) -> bool:
    """Whether a row has the number of a trial, and the time at which it was asked."""
    return row.number == trial.number and row.asked_at is not None and abs(row.asked_at - trial.asked_at) < SOON


def has_ended(row: TrialRow, trial: Trial, outcomes: OutcomeKind) -> bool:
    """Whether a trial has ended, so that a row which says otherwise is an edit. Of a conversion and a 0 both may be
    told, in any order."""
    if row.failure is not None:
        return trial.outcome is not None or trial.failure is not None
    both = (row.outcome, trial.outcome)
    return None not in both and not (outcomes == "conversion" and 0.0 in both)


def find_edits(row: TrialRow, trial: Trial, past: PastValues, ended: bool) -> list[Edit]:
    """What a row says otherwise than the record of its trial: one edit, or none.

    ended  whether it says how the trial has ended"""
    if _restore(row.context or {}, trial.context or {}) != (trial.context or {}):
        asked = format_value(trial.context)
        raise InvalidInput(f"trial {trial.number} was asked in the context {asked}, which cannot be amended")
    changes: dict[str, Any] = {}
    words: list[str] = []
    if not any(_restore(row.params, before) == before for before in past.params):
        run = _restore(row.params, trial.params)
        changed = {name: value for name, value in run.items() if value != trial.params[name]}
        changes["params"] = changed
        words += [f"{name} is {value!r}, not {trial.params[name]!r}" for name, value in changed.items()]
    if ended and row.failure is not None:
        if row.failure not in (*past.failures, trial.failure):
            changes["failure"] = row.failure
            words.append(f"it ended as {row.failure}, not {trial.failure or f'with {trial.outcome!r}'}")
    elif ended and trial.outcome is not None:
        other, said = _compare_outcomes(row, trial, trial.outcome, past)
        changes, words = changes | other, words + said
    if not changes:
        return []
    return [Edit(line=row.line, number=trial.number, changes=changes, sentence=join_words(words))]


def _compare_outcomes(
    row: TrialRow, trial: Trial, outcome: float, past: PastValues
) -> tuple[dict[str, Any], list[str]]:
    """What is changed of an outcome, and in words."""
    changes: dict[str, Any] = {}
    words: list[str] = []
    here = {"outcome": outcome, "noise": trial.noise}
    there = _restore(
        {name: getattr(row, name) if getattr(row, name) is not None else here[name] for name in here}, here
    )
    known = any(is_rounded(there["outcome"], y) and is_rounded(there["noise"], noise) for y, noise in past.outcomes)
    if not known:
        changes |= {"value": there["outcome"], "noise": there["noise"]}
        words += [f"the {name} is {there[name]!r}, not {here[name]!r}" for name in here if there[name] != here[name]]
    if row.told_at is not None and not any(abs(row.told_at - at) < SOON for at in (*past.times, trial.told_at or 0.0)):
        changes["at"] = row.told_at
        words.append(f"it came at {format_time(row.told_at)}, not at {format_time(trial.told_at or 0.0)}")
    return changes, words


def _restore(written: Mapping[str, Any], exact: Mapping[str, Any]) -> dict[str, Any]:
    """Values as they were written, with the digits that a spreadsheet took away."""
    return {
        name: exact[name] if name in exact and is_rounded(value, exact[name]) else value
        for name, value in written.items()
    }


def is_rounded(written: object, exact: object) -> bool:
    """Whether a number is another one, or that one rounded to at least six digits.

    >>> from belated.cli.io.edits import is_rounded
    >>> is_rounded(0.123457, 0.12345678), is_rounded(75.0, 75.2), is_rounded(0.123456, 0.12345678)
    (True, False, False)
    """
    if not isinstance(written, float) or not isinstance(exact, float):
        return written == exact
    if math.isclose(written, exact, rel_tol=1e-9):
        return True
    digits = len(repr(written).split("e")[0].replace(".", "").strip("-0"))
    return digits >= DIGITS and float(f"{exact:.{digits}g}") == written
