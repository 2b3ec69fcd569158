"""To add: queries that were tried before or elsewhere, and people counted by day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from belated.errors import Contradiction, InvalidInput
from belated.record.additions import AddedCounts, AddedQuery, AdditionPlan
from belated.record.bulk import explain_rows
from belated.record.events import Asked, Counted, Told
from belated.record.handle import Handle
from belated.record.keyed_calls import find_call
from belated.record.locks import hold
from belated.record.log import format_moment
from belated.record.signing import Signature
from belated.results import Trial
from belated.validation import require_number
from belated.verbs.reading import read_noise, read_time


def add_rows(
    handle: Handle, rows: Sequence[AddedQuery | AddedCounts], signature: Signature, first: int = 1
) -> list[Trial]:
    """Write all of the rows, or none; first is the number of the first one."""
    with handle.lock_asks() as turn, hold(handle.lock):
        ready = explain_rows(lambda row: check_row(handle, row), rows, first)
        plan = AdditionPlan(handle.state)

        def events() -> list[Asked | Told | Counted]:
            nonlocal plan
            plan = AdditionPlan(handle.state)
            for row in ready:
                if isinstance(row, AddedCounts):
                    plan.add_counts(row)
                else:
                    before = find_call(handle.state, row.key, row.call)
                    plan.add_query(row, None if before is None else before.event.number)
            if plan.events:
                handle.state.require_unlocked()
            return plan.events

        handle.write(events, signature, turn)
        return [handle.read_trial(number) for number in plan.numbers]


def check_row(handle: Handle, row: AddedQuery | AddedCounts) -> AddedQuery | AddedCounts:
    """The row as plain values."""
    return check_counts(handle, row) if isinstance(row, AddedCounts) else check_query(handle, row)


def check_query(handle: Handle, row: AddedQuery) -> AddedQuery:
    """The row as plain values."""
    settings = handle.state.settings
    words, _ = handle.state.encode_context(row.context)
    settings.space.encode_run(row.params)  # refuses what cannot have been run
    y = None if row.value is None else require_number(row.value)
    sigma = read_noise(settings, row.noise)
    if sigma is not None and y is None:
        raise InvalidInput("noise belongs to an outcome; give a value with it")
    given, when = settings.space.as_given(row.params), read_time(handle, row.at)
    return replace(row, params=given, context=words, value=y, noise=sigma, at=when)


def check_counts(handle: Handle, row: AddedCounts) -> AddedCounts:
    """The row as plain values."""
    settings = handle.state.settings
    if settings.outcomes != "conversion":
        raise Contradiction('people are counted in a study of conversions: create it with outcomes="conversion"')
    words, _ = handle.state.encode_context(row.context)
    settings.space.encode_run(row.params)
    until = read_time(handle, row.as_of, "as_of")
    if until < row.day or (until == row.day and settings.patience.by_clock):  # a round may take no time
        raise InvalidInput(
            f"as_of must be after the beginning of its day, {format_moment(row.day)} (got {format_moment(until)}): "
            "it says until when people are counted; a date is its first moment"
        )
    return replace(row, params=settings.space.as_given(row.params), context=words, as_of=until)
