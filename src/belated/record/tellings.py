"""What `Study.tell` and `Study.tell_many` take, and the events that it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from belated.errors import AlreadyEnded, AlreadyTold, InvalidInput, UnknownTrial
from belated.record.events import Amended, Asked, Converted, Told
from belated.record.state import State
from belated.record.trial_record import Judgement, TrialRecord
from belated.results import Trial
from belated.validation import format_value, freeze
from belated.wording import format_count

OutcomeEvent = Told | Converted | Amended
OUTCOME = ("trial", "key", "value", "at", "noise")
TOLD_AGAIN = "told again after it was taken back"


@dataclass(frozen=True, kw_only=True)
class OutcomeRow:
    """The outcome of a trial, which is named by itself, its number or its key."""

    trial: Trial | int | None = None
    key: str | None = None
    value: float
    at: float | datetime | None = None
    noise: float | None = None


def read_outcome(row: object) -> OutcomeRow:
    """A row of `tell_many`, checked as far as that needs no study."""
    if not isinstance(row, Mapping):
        raise InvalidInput(f"a row must be a dictionary such as {{'trial': 3, 'value': 0.5}} (got {format_value(row)})")
    for name in row:
        if name not in OUTCOME:
            raise InvalidInput(f"a row has {', '.join(OUTCOME)}, and no {format_value(name)}")
    if row.get("trial") is None and row.get("key") is None:
        raise InvalidInput("a row needs its trial, or the key that it was asked with")
    if row.get("value") is None:
        raise InvalidInput("a row needs its value")
    return OutcomeRow(**row)


def find_by_key(state: State, key: object, given: int | None) -> int:
    """The number of the trial that was asked or added with a key; of a batch, the one that was given."""
    before = state.table.keys.get(key) if isinstance(key, str) else None
    asked = None if before is None else before.event
    if not isinstance(asked, Asked):
        raise UnknownTrial(f"there is no trial with the key {format_value(key)}")
    numbers = range(asked.number, asked.number + asked.parts)
    if given is not None and given not in numbers:
        raise InvalidInput(f"trial {given} does not have the key {format_value(key)}; trial {asked.number} has it")
    if given is None and len(numbers) > 1:
        raise InvalidInput(f"key {format_value(key)} is of {format_count(len(numbers), 'trial')}; give the trial too")
    return asked.number if given is None else given


class Outcome(NamedTuple):
    """An outcome that is told: its own noise if that is known, when it came, and what was run if that was said."""

    number: int
    value: float
    noise: float | None
    at: float
    run: Mapping[str, Any] | None = None

    @property
    def call(self) -> tuple[object, ...]:
        """The user's call that told it (record/keyed_calls.py)."""
        return ("tell", self.number, self.value, self.noise, freeze(self.run))

    def judge(self, state: State, told: Told | None = None) -> Judgement:
        """What it is after a state, and after another outcome of the same trial, if there is one."""
        if told is None and state.table.takes_outcome(self.number - 1):
            return "new"
        record = state.rows[self.number - 1]
        record.told = told or record.told
        conversions = state.settings.objective.conversions
        return record.judge_outcome(self.value, self.noise, self.run, conversions=conversions)

    def make_told(self, key: str | None = None) -> Told:
        return Told(number=self.number, value=self.value, noise=self.noise, at=self.at, key=key, params=self.run)

    def make_news(self, state: State, now: float, key: str | None = None) -> Told | Amended:
        """The event of an outcome that is new. A ledger holds one Told of a trial; the next is an amendment.

        now  the clock's reading"""
        if not state.table.column("told_once")[self.number - 1]:
            return self.make_told(key)
        return Amended(
            number=self.number,
            reason=TOLD_AGAIN,
            at=now,
            value=self.value,
            noise=self.noise,
            told_at=self.at,
            params=self.run,
            again=True,
            key=key,
        )

    def make_conversion(self, key: str | None = None) -> Converted:
        """The event of a conversion after a 0."""
        return Converted(number=self.number, value=self.value, at=self.at, key=key)

    def explain_conflict(self, row: TrialRecord) -> AlreadyTold | AlreadyEnded:
        """The error for an outcome that contradicts how its trial ended."""
        if row.told is not None:
            before = _format_outcome(row.told.value, row.told.noise)
            return AlreadyTold(
                f"trial {self.number} was told before, with {before}; feedback is never overwritten "
                f"(got {_format_outcome(self.value, self.noise)})"
            )
        kind = row.failed.kind if row.failed is not None else "failed"
        return AlreadyEnded(
            f"trial {self.number} ended as {kind}; an outcome is accepted only after lost (got {self.value!r})"
        )


def _format_outcome(value: float, noise: float | None) -> str:
    return repr(value) if noise is None else f"{value!r} (noise {noise!r})"


class Telling(NamedTuple):
    """An outcome, and the event that it comes to; None: it was told before."""

    outcome: Outcome
    event: OutcomeEvent | None


class TellPlan:
    """The events that outcomes come to after a state, told one after the other.

    key  of all of them; each has its own, KEY/0, KEY/1, ..."""

    def __init__(self, state: State, now: float, key: str | None = None) -> None:
        self.state, self.now, self.key = state, now, key
        self.tellings: list[Telling] = []
        self._told: dict[int, Told] = {}  # by a row before

    @property
    def events(self) -> list[OutcomeEvent]:
        return [telling.event for telling in self.tellings if telling.event is not None]

    def tell(self, outcome: Outcome) -> None:
        """The next outcome. One that contradicts what was told before is refused."""
        refuse_counted(self.state, outcome.number)
        self.state.settings.objective.accept(outcome.value)
        told = self._told.get(outcome.number)
        key = None if self.key is None else f"{self.key}/{len(self.tellings)}"
        event: OutcomeEvent | None = None
        match outcome.judge(self.state, told):
            case "new":
                event = outcome.make_news(self.state, self.now, key)
            case "conversion":
                event = outcome.make_conversion(key)
            case "conflict":
                record = self.state.rows[outcome.number - 1]
                record.told = told or record.told
                raise outcome.explain_conflict(record)
        if event is not None:
            self._told[outcome.number] = outcome.make_told()
        self.tellings.append(Telling(outcome, event))


def refuse_counted(state: State, number: int) -> None:
    """A trial that counts people has no outcome of its own."""
    if not np.isnan(state.table.column("shown_over")[number - 1]):
        raise InvalidInput(f"trial {number} counts people; state its counts again with add_many or import")
