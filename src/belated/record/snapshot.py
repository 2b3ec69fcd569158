"""Snapshots: a study as its events have come to, so that whoever opens it need not read all of them.

A snapshot names the head that it stands for. It is never trusted over the events: it is used only if it is whole, of
this format, and its head is still in the ledger; anything else is as if there were none. What follows it is read and
verified as always, and a check goes from event 1. It is made and thrown away freely, and is no part of backups.

digest   SHA-256 over all that follows
header   JSON: the format, the head, all that is no array, and the name, kind and shape of each array
arrays   one after the other, as they lie in memory
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from belated.errors import BelatedError
from belated.learner.arrays import Array
from belated.record.events import Event
from belated.record.ledger import Ledger
from belated.record.ledger.chain import Head
from belated.record.state import State
from belated.record.trials import COLUMNS
from belated.settings import Settings

FORMAT = 2
EVERY = 20_000  # events that are read before a snapshot is made; of many events, a tenth of them
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, BelatedError)
DIGEST, LENGTH = 32, 8  # bytes


def write_snapshot(state: State, head: Head) -> bytes:
    """A state as bytes. The same events give the same bytes."""
    plain, arrays = state.dump()
    header = {
        "format": FORMAT,
        "columns": list(COLUMNS),
        "head": [head.position, head.hash.hex()],
        "state": plain,
        "arrays": [(name, array.dtype.str, array.shape) for name, array in arrays.items()],
    }
    text = json.dumps(header).encode()
    body = b"".join([len(text).to_bytes(LENGTH, "big"), text, *(array.tobytes() for array in arrays.values())])
    return hashlib.sha256(body).digest() + body


def read_snapshot(snapshot: bytes, created: Settings, ledger: Ledger) -> tuple[State, Head]:
    """The state that was written, and the head that it stands for; ValueError, or another of DAMAGE, where it is not
    sound."""
    whole = memoryview(snapshot)
    if hashlib.sha256(whole[DIGEST:]).digest() != whole[:DIGEST]:
        raise ValueError("it is not whole")
    start = DIGEST + LENGTH + int.from_bytes(whole[DIGEST : DIGEST + LENGTH], "big")
    header = json.loads(bytes(whole[DIGEST + LENGTH : start]))
    if header["format"] != FORMAT or header["columns"] != list(COLUMNS):
        raise ValueError("it has another format")
    head = Head(header["head"][0], bytes.fromhex(header["head"][1]))
    if [entry.head for entry in ledger.read_at(head.position, head.position)] != [head]:
        raise ValueError("its head is not in the ledger")
    arrays: dict[str, Array] = {}
    for name, kind, shape in header["arrays"]:
        arrays[name] = np.frombuffer(whole, kind, math.prod(shape), start).reshape(shape)
        start += arrays[name].nbytes
    state = State.load(created, header["state"], arrays, ledger.read_at)
    if state.position != head.position:
        raise ValueError("it is of another position")
    return state, head


def find_snapshot(ledger: Ledger, created: Settings) -> tuple[State, Head] | None:
    """The newest snapshot that is sound, and the head that it stands for."""
    with suppress(BelatedError):  # what is wrong with the store is said by whoever reads its events
        for snapshot in ledger.load_snapshots():
            with suppress(*DAMAGE):
                return read_snapshot(snapshot, created, ledger)
    return None


def keep_snapshot(ledger: Ledger, state: State, head: Head, before: int) -> None:
    """Make a snapshot, if very many events were read since the one before, which may be at position 0. Where it cannot
    be written there is none."""
    if state.position - before >= max(EVERY, state.position // 10):
        with suppress(BelatedError):
            ledger.save_snapshot(head.position, write_snapshot(state, head))


def is_true(found: tuple[State, Head], events: Sequence[Event], state: State) -> bool:
    """Whether a snapshot that was found, with the events after it, is the state that all events come to."""
    kept, head = found
    try:
        for event in events[head.position :]:
            kept.apply(event)
    except BelatedError:
        return False
    return write_snapshot(kept, head) == write_snapshot(state, head)
