"""Many processes, one study: sixteen ask and tell at once, on a SQLite file and on PostgreSQL."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

import pytest

import belated
from belated import Real, Study
from belated.record.events import Asked, Failed, Refused, Told
from tests.support import processes as work
from tests.support.processes import SIZE, Crowd

NAME = "lab"


@pytest.fixture(scope="module")
def crowd() -> Iterator[Crowd]:
    with work.gathered() as gathered:
        yield gathered


def create(url: str, **said: object) -> Study:
    words: dict[str, object] = {"space": {"x": Real(0, 1)}, "silence": "unknown", "seed": 3, **said}
    return Study.create(url, NAME, **words)  # type: ignore[arg-type]


def check_asks(study: Study, count: int) -> None:
    """Numbers without gap or repeat; every choice knew all earlier trials, and is what its knowledge implies."""
    happened = study.events()
    asked = [(position, e) for position, e in enumerate(happened, start=1) if isinstance(e, Asked)]
    assert [e.number for _, e in asked] == list(range(1, count + 1))  # in the order of writing, too
    before = 0
    for position, e in asked:
        assert e.knew_trials == e.number - 1
        assert before <= e.knew < position or e.part > 0
        before = position
    for trial in study.trials():
        assert trial.knew_trials == trial.number - 1


def ask_and_tell_at_once(crowd: Crowd, study: Study, url: str, rounds: int) -> None:
    done = crowd.all(work.ask_and_tell, [(url, NAME, rounds)] * SIZE)
    each = [one for own in done for one in own]
    count = SIZE * rounds
    assert sorted(number for number, *_ in each) == list(range(1, count + 1))
    assert {status for *_, status in each} == {"heard"}
    trials = {trial.number: trial for trial in study.trials()}
    for number, params, knew, _ in each:
        assert trials[number].params == params
        assert knew == number - 1
        assert trials[number].outcome == work.outcome(params)
    check_asks(study, count)
    assert len(study.events()) == 2 * count
    wrong = [s for s in range(1, count + 1) if not study.replay(s).same]
    assert wrong == []


def test_all_ask_and_tell_at_once(crowd: Crowd, url: str) -> None:
    study = create(url, initial=6)
    ask_and_tell_at_once(crowd, study, url, 3)
    assert any(isinstance(e, Asked) and e.fitted is not None for e in study.events())


def test_all_ask_and_tell_at_once_and_often(crowd: Crowd, url: str) -> None:
    ask_and_tell_at_once(crowd, create(url, initial=10**6), url, 12)


@pytest.mark.long
def test_all_ask_and_tell_at_once_for_long(crowd: Crowd, url: str) -> None:
    ask_and_tell_at_once(crowd, create(url), url, 20)


def test_all_create_the_study_at_once(crowd: Crowd, url: str) -> None:
    """On a store that is not there yet: one of them makes it, and the seed is drawn once."""
    made = crowd.all(work.create, [(url, NAME)] * SIZE)
    assert len({seed for seed, _ in made}) == 1
    assert sorted(number for _, number in made) == list(range(1, SIZE + 1))
    assert belated.studies(url) == [NAME]
    check_asks(Study.open(url, NAME), SIZE)


def test_the_same_tell_from_all(crowd: Crowd, url: str) -> None:
    study = create(url)
    for _ in range(3):
        trial = study.ask()
        told = crowd.all(work.tell, [(url, NAME, trial.number, 0.5)] * SIZE)
        assert Counter(told) == {"heard": 1, "duplicate": SIZE - 1}
    assert sum(isinstance(e, Told) for e in study.events()) == 3
    assert not any(isinstance(e, Refused) for e in study.events())


def test_the_same_tell_with_the_same_key_from_all(crowd: Crowd, url: str) -> None:
    study = create(url)
    study.ask()
    told = crowd.all(work.tell, [(url, NAME, 1, 0.5, "k")] * SIZE)
    assert told == ["heard"] * SIZE  # each is a retry of the one call
    assert sum(isinstance(e, Told) for e in study.events()) == 1


def test_another_tell_from_each(crowd: Crowd, url: str) -> None:
    study = create(url)
    for _ in range(3):
        trial = study.ask()
        told = crowd.all(work.tell, [(url, NAME, trial.number, i / 100) for i in range(SIZE)])
        assert Counter(told) == {"heard": 1, "AlreadyTold": SIZE - 1}
        winner = told.index("heard") / 100
        assert study.trial(trial.number).outcome == winner
        refused = [e.value for e in study.events() if isinstance(e, Refused) and e.number == trial.number]
        assert sorted(refused) == [i / 100 for i in range(SIZE) if i / 100 != winner]


def test_tells_and_failures_of_one_trial(crowd: Crowd, url: str) -> None:
    """Whichever was first counts, for everybody."""
    study = create(url, initial=10**6)
    for _ in range(4):
        trial = study.ask()
        kinds = [None if i % 2 else "withdrawn" for i in range(SIZE)]
        said = crowd.all(work.tell_or_fail, [(url, NAME, trial.number, kind) for kind in kinds])
        tells, fails = Counter(said[1::2]), Counter(said[::2])
        if study.trial(trial.number).status == "heard":
            assert tells == {"heard": 1, "duplicate": SIZE // 2 - 1}
            assert fails == {"AlreadyTold": SIZE // 2}
        else:
            assert tells == {"AlreadyEnded": SIZE // 2}
            assert fails == {"failed": SIZE // 2}
    assert sum(isinstance(e, Told) for e in study.events()) <= 4
    assert sum(isinstance(e, Failed) for e in study.events()) <= 4


@pytest.mark.parametrize("n", [1, 3])
def test_the_same_key_from_all(crowd: Crowd, url: str, n: int) -> None:
    study = create(url)
    asked = crowd.all(work.ask_with_key, [(url, NAME, "k", n)] * SIZE)
    assert asked == [[(trial.number, trial.params) for trial in study.trials()]] * SIZE
    check_asks(study, n)


def test_tells_do_not_wait_for_an_ask_and_asks_do(crowd: Crowd, url: str) -> None:
    study = create(url)
    study.ask(n=SIZE)
    crowd.start(0, work.hold, url, NAME)
    assert crowd.answer(0) == "asking"
    for i in range(1, 5):
        crowd.start(i, work.tell_alone, url, NAME, i, 0.5)
        status, took = crowd.answer(i, patience=20)
        assert status == "heard"
        assert took < 5
    assert study.tell(6, 0.5).status == "heard"
    crowd.start(5, work.ask_alone, url, NAME)
    with pytest.raises(TimeoutError):
        crowd.answer(5, patience=1)
    crowd.pipes[0].send("enough")
    assert crowd.answer(0) == "let go"
    assert crowd.answer(5) == (SIZE + 1, SIZE)


def test_an_ask_of_a_process_that_died_does_not_block_the_others(crowd: Crowd, url: str) -> None:
    """Its lock dies with it. (A process of its own: the crowd is still needed.)"""
    study = create(url)
    study.ask()
    lone = work.multiprocessing.get_context("spawn")
    mine, theirs = lone.Pipe()
    process = lone.Process(target=work.live, args=(theirs, None), daemon=True)
    process.start()
    mine.send((work.hold, (url, NAME)))
    assert mine.poll(work.PATIENCE)
    assert mine.recv() == ("done", "asking")
    crowd.start(1, work.ask_alone, url, NAME)
    with pytest.raises(TimeoutError):
        crowd.answer(1, patience=0.5)
    process.kill()
    process.join()
    assert crowd.answer(1, patience=20) == (2, 1)
    mine.close()
    theirs.close()
    process.close()


def test_a_slow_ask_is_not_starved_by_tells(crowd: Crowd, url: str) -> None:
    """It is computed once, though others tell all the while; and they do not wait for it."""
    rounds, each = 5, 40
    study = create(url, initial=10**6)
    first = len(study.ask(n=(SIZE - 1) * each))
    begun = time.monotonic()
    crowd.start(0, work.ask_slowly, url, NAME, rounds)
    for i in range(1, SIZE):
        crowd.start(i, work.tell_many, url, NAME, list(range((i - 1) * each + 1, i * each + 1)))
    read, took = crowd.answer(0)
    tells = [one for i in range(1, SIZE) for one in crowd.answer(i)]
    assert read == read[:1] * rounds  # as often as the one before the others began: nothing was computed twice
    assert {status for status, _ in tells} == {"heard"}
    assert max(took) < 20
    check_asks(study, first + rounds)
    # tells came in while a choice was computed: written before it, and not known to it
    between = [
        position - 1 - e.knew
        for position, e in enumerate(study.events(), start=1)
        if isinstance(e, Asked) and e.number > first
    ]
    assert max(between) > 0
    for number in range(first + 1, first + rounds + 1):
        assert study.replay(number).same
    assert time.monotonic() - begun < 100
