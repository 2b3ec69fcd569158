"""Many changes to a study, all or nothing: kept in memory first, then written in one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import takewhile
from typing import TypeVar

from belated import Study
from belated.errors import AlreadyEnded, UnknownStudy
from belated.record.events import Asked, Event, Failed, Told
from belated.record.ledger import Ledger, open_store
from belated.record.ledger.chain import Head
from belated.record.ledger.staged import StagedLedger
from belated.record.signing import NOBODY, Signature, date
from belated.record.writes import write_in_turn
from belated.results import takes_outcome
from belated.settings import Settings
from belated.validation import format_names, format_value

Result = TypeVar("Result")


def copy_study(url: str, name: str) -> Study:
    """A study as it is at this moment; nothing that happens to it is written."""
    settings, ledger = _open_ledger(url, name)
    return Study(settings, StagedLedger(ledger), name, time.time)


def apply_at_once(
    url: str,
    name: str,
    work: Callable[[Study], Result],
    *,
    signature: Signature = NOBODY,
    asks: bool = False,
    dry: bool = False,
) -> Result:
    """Do to a study what `work` does to it, in one transaction.

    If another process wrote something in between that does not fit, start again with what is there then.

    signature  who adds the trials that the work adds
    asks       the work adds trials: asks of other processes wait until it is done
    dry        change nothing
    """
    settings, ledger = _open_ledger(url, name)
    staged = StagedLedger(ledger)

    def attempt() -> Result:
        nonlocal staged
        with ledger.lock_asks() if asks and not dry else nullcontext(ledger) as turn:
            staged = StagedLedger(turn)
            result = work(Study(settings, staged, name, time.time))
            signed = [_sign(event, signature) if isinstance(event, Asked) else event for event in staged.new]
            new = [date(event, time.time) for event in signed]
            if new and not dry:
                last = turn.append(new, staged.seen)
                _check_none_ended(turn, staged.seen, last.position - len(new), new)
            return result

    return write_in_turn(attempt, lambda: any(True for _ in ledger.read(staged.seen)))


def _sign(event: Asked, signature: Signature) -> Asked:
    """The event with its signature, and with what it says itself."""
    said = "; ".join(filter(None, [event.remark, signature.remark]))
    return replace(signature, remark=said).sign(event)


def _open_ledger(url: str, name: str) -> tuple[Settings, Ledger]:
    """The settings and the ledger of a study that exists."""
    place = open_store(url)
    spec = place.spec(name)
    if spec is None:
        raise UnknownStudy(f"there is no study {format_value(name)}; there are {format_names(place.names()) or 'none'}")
    return Settings.of(spec), place.ledger(name)


def _check_none_ended(ledger: Ledger, known: Head | None, written: int, new: Sequence[Event]) -> None:
    """Refuse if another process ended a trial, between our reading and our writing, whose outcome we told."""
    told = {event.number for event in new if isinstance(event, Told)}
    between = takewhile(lambda entry: entry.position <= written, ledger.read(known))
    for event in (entry.event for entry in between):
        if isinstance(event, Failed) and event.number in told and not takes_outcome(False, event.kind):
            raise AlreadyEnded(f"trial {event.number} was ended by someone else meanwhile; its outcome does not count")
