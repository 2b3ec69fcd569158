"""Outcomes of several callers with one write."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from belated import Real, Study
from belated.errors import AlreadyTold
from belated.record.events import Ended, Event, Told
from belated.record.handle import Handle
from belated.record.ledger.chain import Head, Written
from belated.record.ledger.memory import MemoryLedger
from belated.record.signing import Signature
from belated.results import Receipt
from belated.verbs.telling import TellCall, tell, tell_news


class BusyLedger(MemoryLedger):
    """A ledger whose writes are counted; just before the next one, another process may write something."""

    def __init__(self, events: Sequence[Event]) -> None:
        super().__init__()
        super().append(events)
        self.writes = list[int]()  # how many events each had
        self.first: Event | None = None  # what somebody else is about to write

    def append(self, events: Sequence[Event], seen: Head | None = None, about: int | None = None) -> Written:
        if self.first is not None:
            other, self.first = self.first, None
            super().append([other])
        written = super().append(events, seen, about)
        self.writes.append(len(events))
        return written


def begin(trials: int = 6) -> tuple[Handle, BusyLedger]:
    """A study with some trials that are out."""
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0, clock=lambda: 1000.0)
    study.ask(n=trials)
    ledger = BusyLedger(study.events())
    return Handle(study.original_settings, ledger, "lab", study.clock), ledger


def show(answers: Sequence[object]) -> list[object]:
    return [
        (answer.number, answer.status) if isinstance(answer, Receipt) else type(answer).__name__ for answer in answers
    ]


def test_news_are_written_at_once_and_each_has_its_receipt_key_and_person() -> None:
    handle, ledger = begin()
    calls = [
        TellCall(trial=3, value=0.5, key="a", signature=Signature("anna", "blue")),
        TellCall(trial=1, value=0.25, at=900.0),
        TellCall(trial=6, value=1.0, noise=0.5, key="b", signature=Signature("ben")),
    ]
    assert show(tell_news(handle, calls)) == [(3, "heard"), (1, "heard"), (6, "heard")]
    assert ledger.writes == [3]
    told = [event for event in ledger.events if isinstance(event, Told)]
    assert [(each.number, each.value, each.noise, each.key, each.by, each.remark) for each in told] == [
        (3, 0.5, None, "a", "anna", "blue"), (1, 0.25, None, None, None, ""), (6, 1.0, 0.5, "b", "ben", ""),
    ]  # fmt: skip
    assert [each.recorded_at for each in told] == [None, 1000.0, None]


@pytest.mark.parametrize(
    "no_news",
    [
        TellCall(trial=1, value=0.5),  # as a call before it
        TellCall(trial=2, value=0.75),  # as it was told before
        TellCall(trial=2, value=0.5),
        TellCall(trial=4, value=0.5, key="a"),
        TellCall(trial=4, value=0.5, key="used"),
        TellCall(trial=4, value=0.5, key=""),
        TellCall(trial=4, value=0.5, params={"x": 0.5}),
        TellCall(trial=4, value=0.5, noise=-1.0),
        TellCall(trial=4, value=float("nan")),
        TellCall(trial=4, value=None),  # type: ignore[arg-type]
        TellCall(trial=4, value=0.5, at="noon"),  # type: ignore[arg-type]
        TellCall(trial=7, value=0.5),
        TellCall(trial="4", value=0.5),  # type: ignore[arg-type]
    ],
)
def test_only_those_before_the_first_that_is_no_news_are_told(no_news: TellCall) -> None:
    handle, ledger = begin()
    tell(handle, TellCall(trial=2, value=0.75, key="used"))
    last = TellCall(trial=5, value=1.0)
    news = [TellCall(trial=1, value=0.5, key="a"), TellCall(trial=3, value=0.5)]
    assert show(tell_news(handle, [*news, no_news, last])) == [(1, "heard"), (3, "heard")]
    assert ledger.writes == [1, 2]
    assert tell_news(handle, [no_news, last, last]) == []
    assert tell_news(handle, [last]) == []
    assert ledger.writes == [1, 2]


def test_what_another_process_tells_meanwhile_stands_and_the_rest_is_told() -> None:
    handle, ledger = begin()
    calls = [TellCall(trial=number, value=0.5, key=f"key {number}") for number in (1, 2, 3, 4)]
    ledger.first = Told(number=3, value=0.25, noise=None, at=1000.0)
    assert show(tell_news(handle, calls)) == [(1, "heard"), (2, "heard")]
    assert tell_news(handle, calls[2:]) == []
    with pytest.raises(AlreadyTold, match=r"trial 3 was told before, with 0\.25"):
        tell(handle, calls[2])
    assert ledger.writes == [2, 1]
    ledger.first = Told(number=5, value=0.25, noise=None, at=1000.0)
    assert show(tell_news(handle, [calls[3], TellCall(trial=5, value=0.5)])) == []  # one alone is told by itself
    assert handle.state.table.told.tolist() == [True, True, True, False, True, False]


def test_each_is_answered_by_what_the_record_says_in_the_end() -> None:
    handle, ledger = begin()
    ledger.first = Ended(at=1000.0, locked=True)
    assert show(tell_news(handle, [TellCall(trial=number, value=0.5) for number in (1, 2)])) == ["Locked", "Locked"]
    assert not handle.state.table.told.any()
