"""A worker vanishes, or takes its time, in the middle of an ask: its lock goes with it, and tells never wait for it."""

from __future__ import annotations

import time
from dataclasses import replace
from threading import Thread

import pytest

from belated import Study
from belated.errors import AlreadyTold, Taken
from belated.record.events import Asked, Told
from belated.record.ledger import open_store
from tests.faults.client import NAME, fill
from tests.faults.world import running, sound


def test_a_worker_that_is_killed_in_mid_ask(url: str) -> None:
    """It held the lock; nobody waits for it any more, and no number is burnt."""
    study = fill(url)
    with running(url, "slow", "600") as worker:
        worker.go()
        worker.wait_for("asking")
        started = time.monotonic()
        worker.kill()
        assert study.ask().number == 13
        assert time.monotonic() - started < 20
    assert study.ask(key="the-ask").number == 14  # its retry, by someone else
    assert sound(url).trials == 14


def test_a_slow_ask_is_not_starved_and_keeps_no_tell_waiting(url: str) -> None:
    """Asks queue: the first gets the next number though others ask faster. Tells do not queue."""
    study = fill(url)
    numbers: list[int] = []
    others = [Thread(target=lambda: numbers.append(Study.open(url, NAME).ask().number)) for _ in range(2)]
    with running(url, "slow", "4") as worker:
        worker.go()
        worker.wait_for("asking")
        for other in others:
            other.start()
        assert study.tell(4, 0.5).number == 4
        assert study.rounds == 12  # nobody's ask is done yet
        for other in others:
            other.join()
    answer = worker.answer()
    assert answer.acknowledged, answer
    assert answer.last["number"] == 13
    assert sorted(numbers) == [14, 15]
    assert sound(url).trials == 15


def test_conflicting_tells_at_once(url: str) -> None:
    """Clients that all looked before any of them wrote: one wins, the rest are told so, all are on record."""
    studies = [fill(url), *(Study.open(url, NAME) for _ in range(5))]
    heard: list[float] = []
    refused: list[float] = []

    def tell(study: Study, value: float) -> None:
        try:
            study.tell(4, value)
            heard.append(value)
        except AlreadyTold:
            refused.append(value)

    tellers = [Thread(target=tell, args=(study, 0.1 * i)) for i, study in enumerate(studies)]
    for teller in tellers:
        teller.start()
    for teller in tellers:
        teller.join()
    assert (len(heard), len(refused)) == (1, 5)
    assert studies[-1].trial(4).outcome == heard[0]
    assert sound(url).refused == 5


def test_one_number_and_one_outcome_whoever_writes(url: str) -> None:
    """What two clients made of the same state: the ledger takes one of them, also without any lock."""
    fill(url)
    ledgers = [open_store(url).ledger(NAME) for _ in range(2)]
    asked = Asked(
        number=13, params={"x": 0.5, "n": 2, "kind": "a"}, context=None, knew=21, considered_at=1.0, asked_at=1.0,
        knew_trials=12, by_hand=True, key="mine",
    )  # fmt: skip
    for event in (asked, Told(number=4, value=1.0, noise=None, at=1.0, key="yours")):
        ledgers[0].append([event])
        with pytest.raises(Taken):
            ledgers[1].append([event])
    with pytest.raises(Taken):
        ledgers[1].append([replace(asked, number=14)])  # another number with a key that is taken
    for ledger in ledgers:
        ledger.close()
    assert sound(url).trials == 13
