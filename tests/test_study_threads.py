"""One handle used by several threads: a tell waits for no ask, and an ask knows what it knew when it began."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

import belated.record.choices
from belated import Study
from belated.record.events import Asked
from tests.support.studies import Place

SOON = 60.0  # seconds after which a call counts as stuck


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as made:
        yield made


def filled(place: Place, rounds: int = 8, **said: Any) -> Study:
    """A study that has heard all but the last two of its trials."""
    study = place.create(**said)
    for trial in study.ask(n=rounds):
        if trial.number <= rounds - 2:
            study.tell(trial, trial.params["x"] * (1 - trial.params["x"]))
    return study


@contextmanager
def computing(monkeypatch: pytest.MonkeyPatch, call: Future[Any] | Any) -> Iterator[Future[Any]]:
    """A call whose choice is being computed until the block ends; later choices are not held up."""
    begun, enough, decide = threading.Event(), threading.Event(), belated.record.choices.decide
    first = iter([True])

    def held(*words: Any) -> Any:
        if next(first, False):
            begun.set()
            assert enough.wait(SOON)
        return decide(*words)

    monkeypatch.setattr(belated.record.choices, "decide", held)
    answer = call()
    try:
        assert begun.wait(SOON)
        yield answer
        assert not answer.done()
    finally:
        enough.set()


def test_nothing_but_asks_waits_for_an_ask(
    place: Place, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = filled(place, rounds=8)
    with computing(monkeypatch, lambda: pool.submit(study.ask)) as asking:
        assert pool.submit(study.tell, 7, 0.3).result(SOON).status == "heard"
        assert pool.submit(study.tell, 7, 0.3).result(SOON).status == "duplicate"
        assert pool.submit(study.fail, 8, "lost").result(SOON).failure == "lost"
        assert pool.submit(study.amend, 1, 0.5, reason="a typing error").result(SOON).outcome == 0.5
        assert len(pool.submit(study.trials).result(SOON)) == 8
        assert pool.submit(study.best).result(SOON).trial.number == 1
        assert pool.submit(study.replay, 8).result(SOON).same
        also = pool.submit(study.ask)
    assert sorted(answer.result(SOON).number for answer in (asking, also)) == [9, 10]
    assert place.another(study).trials() == study.trials()
    assert all(study.replay(number).same for number in (9, 10))


def test_a_tell_goes_through_while_an_ask_waits_for_its_turn(place: Place, pool: ThreadPoolExecutor) -> None:
    study = filled(place, rounds=4)
    with place.ledger(study).lock_asks():
        asking = pool.submit(study.ask)
        assert pool.submit(study.tell, 3, 0.3).result(SOON).status == "heard"
        assert not asking.done()
    assert asking.result(SOON).number == 5


def test_a_choice_knows_what_was_known_when_it_began(
    place: Place, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, twin = filled(place, rounds=8), filled(Place(None), rounds=8)
    with computing(monkeypatch, lambda: pool.submit(study.ask)) as asking:
        study.tell(7, 5.0)
        study.amend(2, -3.0, reason="a typing error")
        study.fail(8, "infeasible")
    trial = asking.result(SOON)
    assert trial.params == twin.ask().params
    asked = [event for event in study.events() if isinstance(event, Asked)][-1]
    assert asked.knew == 8 + 6
    for handle in (study, place.another(study)):
        assert handle.trial(7).known_from == 10  # 9 was being chosen, and did not know it
        assert handle.trial(7).delay == 2.0  # by the order of the record, as its receipt said
        assert handle.trial(6).known_from == 9
        assert handle.replay(9).same
    study.ask()
    assert study.trial(7).known_from == 10


@pytest.mark.parametrize("n", [None, 2])
def test_what_is_told_while_the_clock_is_read_is_known_or_not(
    place: Place, pool: ThreadPoolExecutor, n: int | None
) -> None:
    """The event says which: from what it says that it knew, the same choice follows."""
    study = filled(place, rounds=8)
    tells = iter([lambda: study.tell(7, 5.0), lambda: study.tell(8, -5.0)])

    def clock() -> float:
        if threading.current_thread() is threading.main_thread() and (tell := next(tells, None)):
            pool.submit(tell).result(SOON)
        return 1000.0

    study.clock = clock
    study.ask(n=n)
    assert all(study.replay(trial.number).same for trial in study.trials()[8:])


def test_a_batch_knows_what_was_known_when_it_began(
    place: Place, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, twin = filled(place, rounds=8), filled(Place(None), rounds=8)
    with computing(monkeypatch, lambda: pool.submit(study.ask, n=3)) as asking:
        study.tell(7, 5.0)
        assert study.trial(7).known_from == 9  # nothing has been asked since
    assert [trial.params for trial in asking.result(SOON)] == [trial.params for trial in twin.ask(n=3)]
    assert study.trial(7).known_from == place.another(study).trial(7).known_from == 12
    study.add({"x": 0.5})  # was not chosen: it is nothing to what choices knew
    study.tell(8, 1.0)
    assert (study.trial(7).known_from, study.trial(8).known_from) == (12, 13)


def test_many_threads_on_one_handle(place: Place, pool: ThreadPoolExecutor) -> None:
    study = place.create(initial=1000)

    def work(_: int) -> list[str]:
        return [study.tell(study.ask(), 0.5).status for _ in range(6)]

    assert list(pool.map(work, range(4))) == [["heard"] * 6] * 4
    assert [trial.number for trial in study.trials()] == list(range(1, 25))
    assert place.another(study).trials() == study.trials()


def test_a_study_lets_go_of_its_files_and_connections(place: Place) -> None:
    with place.create() as study:
        study.tell(study.ask(), 0.5)
    assert study.ask().number == 2  # it opens them again
    study.disconnect()
    study.disconnect()
    assert len(study.trials()) == 2
    assert not study.closed
