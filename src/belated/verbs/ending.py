"""To end: trials that have no outcome, and the study itself; and to go on with it."""

from __future__ import annotations

from collections.abc import Sequence

from belated.errors import AlreadyEnded, AlreadyTold, InvalidInput
from belated.record.events import Amended, Ended, Failed, Renamed, Reopened
from belated.record.handle import Handle
from belated.record.signing import Signature
from belated.results import FAILURES, Failure, Trial
from belated.validation import format_value, read_name, require_bool
from belated.verbs.reading import read_number

FAILED_AGAIN = "failed again after that was taken back"


def fail(
    handle: Handle, trials: Sequence[Trial | int], kind: Failure, reason: str, signature: Signature
) -> list[Trial]:
    """End all of the trials, or none."""
    if kind not in FAILURES:
        raise InvalidInput(f"kind must be one of {', '.join(FAILURES)} (got {format_value(kind)})")
    with handle.hold_newest() as state:
        numbers = list(dict.fromkeys(read_number(state, each) for each in trials))

        def events() -> list[Failed | Amended]:
            made = [event for number in numbers for event in make_failure(handle, number, kind, reason)]
            if made:
                handle.state.require_unlocked()
            return made

        handle.write(events, signature)
        if any(handle.state.rows[number - 1].failed is None for number in numbers):
            events()  # an outcome came in between: raise the error
        return [handle.read_trial(number) for number in numbers]


def make_failure(handle: Handle, number: int, kind: Failure, reason: str) -> list[Failed | Amended]:
    """The event that ends a trial; none if it has ended so before."""
    row, at = handle.state.rows[number - 1], handle.read_clock()
    if row.told is not None:
        told = row.told.value
        raise AlreadyTold(f"trial {number} was told {told!r} before; it cannot fail any more (got {kind!r})")
    if row.failed is not None and row.failed.kind != kind:
        raise AlreadyEnded(f"trial {number} ended as {row.failed.kind} before (got {kind!r})")
    if row.failed is not None:
        return []
    if handle.state.table.column("failed_once")[number - 1]:
        return [Amended(number=number, reason=reason or FAILED_AGAIN, at=at, failure=kind, again=True)]
    return [Failed(number=number, kind=kind, at=at, reason=reason)]


def close(handle: Handle, signature: Signature, *, lock: bool) -> None:
    """Stop asking; with a lock also everything else that writes."""
    lock = require_bool(lock, "lock")
    with handle.hold_newest():

        def events() -> list[Ended]:
            done = handle.state.locked if lock else handle.state.closed
            return [] if done else [Ended(at=handle.read_clock(), locked=lock)]

        handle.write(events, signature)


def reopen(handle: Handle, reason: str, signature: Signature) -> None:
    """Go on with a study that was closed or locked."""
    with handle.hold_newest():

        def events() -> list[Reopened]:
            return [Reopened(at=handle.read_clock(), reason=reason)] if handle.state.closed else []

        handle.write(events, signature)


def rename(handle: Handle, name: str, reason: str, signature: Signature) -> None:
    """Give the study another name."""
    with handle.hold_newest():
        if name != handle.name:
            event = Renamed(before=handle.name or "", name=name, at=handle.read_clock(), reason=reason)
            handle.ledger.rename(signature.sign(event))
            handle.sync()


def delete(handle: Handle, name: str, reason: str, person: str | None) -> None:
    """Put a tombstone in the place of the study, if this is its name."""
    with handle.hold_newest():
        if handle.name is None or read_name(name) != handle.name:
            raise InvalidInput(f"to delete study {handle.name}, give its name (got {format_value(name)})")
        handle.ledger.delete(handle.name, person, handle.read_clock(), reason)
