"""What is staged is read like the rest, and is not written."""

from __future__ import annotations

import pytest

from belated.errors import Taken
from belated.record.ledger import staged
from belated.record.ledger.chain import Head
from belated.record.ledger.memory import MemoryLedger
from belated.record.ledger.staged import StagedLedger
from tests.contracts.ledger import asked, told


def test_new_events_follow_those_below_as_they_were_at_the_first_reading() -> None:
    below = MemoryLedger([asked(1), told(1)])
    ledger = StagedLedger(below)
    assert [entry.event for entry in ledger.read()] == below.events
    assert ledger.append([asked(2), told(2)]).head == Head(4, b"")
    below.append([asked(2)])  # by somebody else
    assert [entry.position for entry in ledger.read()] == [1, 2, 3, 4]
    assert [entry.event for entry in ledger.read(Head(1, b""))] == [told(1), asked(2), told(2)]
    assert [entry.event for entry in ledger.read(Head(3, b""))] == [told(2)]
    assert [entry.event for entry in ledger.read_at(2, 3)] == [told(1), asked(2)]
    assert [entry.event for entry in ledger.read_at(1, 4, "asked")] == [asked(1), asked(2)]
    assert ledger.new == [asked(2), told(2)]
    assert len(below.events) == 3


def test_the_first_reading_may_begin_at_the_last_event() -> None:
    ledger = StagedLedger(MemoryLedger([asked(1), told(1)]))
    assert [entry.event for entry in ledger.read_at(2, 2)] == [told(1)]
    assert list(ledger.read(Head(2, b""))) == []
    assert ledger.append([asked(2)]).head == Head(3, b"")
    assert [entry.event for entry in ledger.read(Head(2, b""))] == [asked(2)]
    assert [entry.position for entry in ledger.read()] == [1, 2, 3]


def test_what_may_be_there_once_is_staged_once() -> None:
    ledger = StagedLedger(MemoryLedger([asked(1)]))
    assert len(list(ledger.read())) == 1
    ledger.append([told(1)])
    with pytest.raises(Taken):
        ledger.append([told(1, 2.0)])
    with pytest.raises(Taken):
        ledger.append([asked(2, key="a"), asked(3, key="a")])
    assert ledger.new == [told(1)]


def test_a_few_events_are_read_without_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = StagedLedger(MemoryLedger([asked(1)]))
    assert len(list(ledger.read())) == 1
    ledger.append([asked(number) for number in range(2, 102)])
    read: list[object] = []
    monkeypatch.setattr(staged, "event_to_dict", lambda event: read.append(event) or {"event": "asked"})
    assert [entry.event for entry in ledger.read_at(1, 3)] == [asked(1), asked(2), asked(3)]
    assert read == [asked(2), asked(3)]
