"""After an interrupt at any instruction, a study's handle answers, equals its ledger, and holds no lock."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

from belated import Study, Unreadable
from belated.errors import Taken
from belated.record.events import Event, Told
from belated.record.ledger.chain import Head, Written
from belated.record.ledger.memory import MemoryLedger
from tests.support.interrupts import interrupt_at, list_positions
from tests.support.studies import DURABLE, NEAR, Place, state_of


@pytest.fixture(params=NEAR)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Not at a server: an interrupt strikes instructions of this process."""
    with Place.at(request.param, request) as place:
        yield place


@pytest.fixture(params=DURABLE)
def durable(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Nor here: a server goes on with a call whose client was interrupted."""
    with Place.at(request.param, request) as place:
        yield place


# A connection that is in nobody's hands at that instant is closed when it is collected.
pytestmark = pytest.mark.filterwarnings("ignore:.*was deleted while still open.*:ResourceWarning")
FRESH = 40  # interrupts that one study goes through
SOON = 60.0  # seconds after which a call counts as stuck
CALLS: dict[str, Callable[[Study], object]] = {
    "ask": lambda study: study.ask(),
    "batch": lambda study: study.ask(n=3),
    "tell": lambda study: study.tell(study.rounds, 0.5),
    "amend": lambda study: study.amend(1, 0.25, reason="a typing error"),
    "sync": lambda study: study.rounds,
}
# In the default run every so-manieth instruction; all of them in the long one.
SOME = [pytest.param(97, id="some"), pytest.param(1, id="all", marks=[pytest.mark.long, pytest.mark.faults])]


def begin(place: Place, name: str = "lab") -> Study:
    study = place.create(name, initial=10**6)
    study.tell(study.ask(), 0.5)
    study.ask()
    return study


def prepare(study: Study, other: Study, call: str) -> None:
    """Something for the call to do: a trial without an outcome, and news from another handle."""
    if call in ("tell", "sync"):
        other.ask()


def check_handle(study: Study, other: Study, pool: ThreadPoolExecutor) -> None:
    """It answers, in another thread too, and so does another handle; and it knows what the ledger says."""
    trial = study.ask()
    assert pool.submit(study.tell, trial, 0.75).result(SOON).status == "heard"
    assert pool.submit(other.ask).result(SOON).number == trial.number + 1
    assert pool.submit(study.ask).result(SOON).number == trial.number + 2
    expected = state_of(study)
    assert study.trials() == [expected.trial(s, study.clock()) for s in range(1, expected.next_number)]
    assert study.settings == expected.settings


@pytest.mark.parametrize("every", SOME)
@pytest.mark.parametrize("call", CALLS)
def test_an_interrupt_at_any_instruction(place: Place, call: str, every: int) -> None:
    study = begin(place)
    other, struck = place.another(study), 0
    prepare(study, other, call)
    positions = list_positions(lambda: CALLS[call](study))
    assert len(positions) > 100
    with ThreadPoolExecutor(1) as pool:
        for i, position in enumerate(positions[::every]):
            if i % FRESH == 0:  # a study that grows makes the test slow
                place.disconnect()
                study = begin(place, f"lab-{i}")
                other = place.another(study)
            prepare(study, other, call)
            struck += interrupt_at(partial(CALLS[call], study), position)
            check_handle(study, other, pool)
    assert struck >= len(positions) / every / 4


@pytest.mark.long
@pytest.mark.faults
def test_an_interrupt_at_a_random_instant(durable: Place) -> None:
    """By a signal, wherever it strikes: 1,000 on each store."""
    rng, struck = np.random.default_rng(0), 0
    with ThreadPoolExecutor(1) as pool:
        for i in range(1000):
            if i % FRESH == 0:
                durable.disconnect()
                study = begin(durable, f"lab-{i}")
                other = durable.another(study)
            call = list(CALLS)[i % len(CALLS)]
            prepare(study, other, call)
            begun = time.perf_counter()
            CALLS[call](study)
            took = time.perf_counter() - begun
            prepare(study, other, call)
            try:
                signal.setitimer(signal.ITIMER_REAL, max(1e-5, rng.random() * took))
                try:
                    CALLS[call](study)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                struck += 1
            check_handle(study, other, pool)
    assert struck > 300


@pytest.fixture(autouse=True)
def alarms() -> object:
    """An alarm is Ctrl-C."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


# A refusal that nothing explains --------------------------------------------------------------------------------------


class Refusing(MemoryLedger):
    """A ledger that takes no outcome and does not say why."""

    def append(self, events: Sequence[Event], seen: Head | None = None, about: int | None = None) -> Written:
        if any(isinstance(event, Told) for event in events):
            raise Taken
        return super().append(events, seen, about)


def test_a_refusal_that_nothing_explains_is_an_error_and_no_loop(place: Place) -> None:
    like = place.create()
    study = Study(like.original_settings, Refusing(), "lab", like.clock)
    trial = study.ask()
    with pytest.raises(Unreadable, match="refuses"):
        study.tell(trial, 0.5)
    assert study.ask().number == 2
