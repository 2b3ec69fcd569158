"""Many rows at once, all or nothing: tried on a copy of the study in memory, then written in one transaction."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from belated import Study
from belated.cli.io.cells import parse_decimal, parse_integer, parse_time
from belated.cli.io.files import LineErrors, read_csv
from belated.cli.io.rows import list_columns
from belated.errors import AlreadyEnded, InvalidInput, Taken, UnknownStudy
from belated.record.events import Event, Told
from belated.record.ledger import Ledger, store
from belated.record.ledger.memory import MemoryLedger
from belated.settings import Settings
from belated.validation import listed, shown

Result = TypeVar("Result")


Events = Sequence[Event]


def find_ledger(url: str, name: str) -> tuple[Settings, Ledger]:
    """The settings and the ledger of a study that exists."""
    place = store(url)
    spec = place.spec(name)
    if spec is None:
        raise UnknownStudy(f"there is no study {shown(name)}; there are {listed(place.names()) or 'none'}")
    return Settings.of(spec), place.ledger(name)


def copy_study(url: str, name: str) -> tuple[Study, Events]:
    """A copy of a study in memory, and the events that it is made of."""
    settings, ledger = find_ledger(url, name)
    events = list(ledger.read())
    return Study(settings, MemoryLedger(list(events)), name, time.time), events


def apply_at_once(
    url: str, name: str, work: Callable[[Study, Events], Result], *, asks: bool = False, dry: bool = False
) -> Result:
    """Do to a study what `work` does to a copy of it in memory, in one transaction; again, if others were first.

    work  is given the copy, and the events that it is made of
    asks  the work makes trials: asks of others wait for it, as they do for each other
    dry   leave it at the copy
    """
    settings, ledger = find_ledger(url, name)
    while True:
        with ledger.asking() if asks and not dry else nullcontext(ledger) as turn:
            before = list(turn.read())
            memory = MemoryLedger(list(before))
            result = work(Study(settings, memory, name, time.time), before)
            new = memory.events[len(before) :]
            if not new or dry:
                return result
            try:
                last = turn.append(new)
            except Taken:
                continue
            _check_first(turn, len(before), last - len(new), new)
            return result


def _check_first(ledger: Ledger, known: int, written: int, new: Sequence[Event]) -> None:
    """An outcome that we told counts, unless someone else ended its trial after we had looked and before we wrote."""
    told = {event.number for event in new if isinstance(event, Told)}
    between = list(ledger.read(known))[: written - known]
    for event in between:
        number = getattr(event, "number", None)
        if number in told and getattr(event, "kind", None) in ("infeasible", "withdrawn"):
            raise AlreadyEnded(f"trial {number} was ended by someone else meanwhile; its outcome does not count")


@dataclass(frozen=True, kw_only=True)
class TellCounts:
    """What became of a file of outcomes."""

    told: int  # now, the late ones included
    late: int
    duplicate: int
    empty: int
    flags: tuple[str, ...]  # what is worse than the floor


def tell_csv(url: str, name: str, path: Path) -> TellCounts:
    """Tell the outcomes of a CSV with the columns number, value (or outcome), and maybe at (or told_at) and noise."""
    return apply_at_once(url, name, lambda study, _: _tell_rows(study, path))


def _tell_rows(study: Study, path: Path) -> TellCounts:
    aliases = {"outcome": "value", "told_at": "at"}
    known = ["number", "value", "at", *list_columns(study)]
    counts, flags, faults = Counter[str](), [], LineErrors(path)
    records = read_csv(path, faults, required=("number", "value|outcome"), known=known)
    for record in records:
        with faults.at(record.line):
            cells = {aliases.get(title, title): text for title, text in record.cells.items()}
            if "number" not in cells:
                raise InvalidInput("number is missing")
            number = study.trial(parse_integer(cells["number"], "number")).number
            if "value" not in cells:
                counts["empty"] += 1
                continue
            when = parse_time(cells["at"]) if "at" in cells else None
            sigma = parse_decimal(cells["noise"], "noise") if "noise" in cells else None
            receipt = study.tell(number, parse_decimal(cells["value"]), at=when, noise=sigma)
            counts[receipt.status] += 1
            if receipt.note and receipt.status != "duplicate":
                flags.append(f"trial {number}: {receipt.note}")
    faults.refuse()
    return TellCounts(
        told=counts["heard"] + counts["late"],
        late=counts["late"],
        duplicate=counts["duplicate"],
        empty=counts["empty"],
        flags=tuple(flags),
    )
