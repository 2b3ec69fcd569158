"""The law of snapshots: one of some events, and the events after it, are all events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from belated.learner.choice.problem import Cache
from belated.learner.history import History
from belated.record.choices import prepare_choice
from belated.record.events import Event
from belated.record.ledger.chain import Head
from belated.record.ledger.memory import MemoryLedger
from belated.record.snapshot import read_snapshot, write_snapshot
from belated.record.state import State
from belated.settings import Settings
from belated.validation import Params


def check_snapshot(
    settings: Settings, events: Sequence[Event], count: int, now: float, context: Params | None = None
) -> None:
    """A state from a snapshot of the first events and from the rest is the state after all of them, bit for bit."""
    ledger, end = MemoryLedger(list(events)), Head(len(events), b"")
    if not count:
        return  # there is no event that it could stand for
    snapshot = write_snapshot(State.after(settings, events[:count]), Head(count, b""))
    state, head = read_snapshot(snapshot, settings, ledger)
    assert head == Head(count, b"")
    assert write_snapshot(state, head) == snapshot
    for event in events[count:]:
        state.apply(event)
    whole = State.after(settings, events)
    assert write_snapshot(state, end) == write_snapshot(whole, end)
    assert (state.settings, state.fits, state.versions) == (whole.settings, whole.fits, whole.versions)
    numbers = range(1, whole.next_number)
    assert [state.trial(number, now) for number in numbers] == [whole.trial(number, now) for number in numbers]
    assert_same_history(state.history(now), whole.history(now))
    if not whole.closed:
        ours, theirs = (prepare_choice(each, now, context, None)(Cache()) for each in (state, whole))
        assert ours.x.tobytes() == theirs.x.tobytes()


def assert_same_history(one: History, other: History) -> None:
    for each in fields(one):
        ours, theirs = getattr(one, each.name), getattr(other, each.name)
        if isinstance(ours, np.ndarray):
            assert ours.tobytes() == theirs.tobytes(), each.name
        elif each.name != "counts":
            assert ours == theirs, each.name
    assert (one.counts is None) == (other.counts is None)
    if one.counts is not None and other.counts is not None:
        for each in fields(one.counts):
            assert np.array_equal(getattr(one.counts, each.name), getattr(other.counts, each.name)), each.name
