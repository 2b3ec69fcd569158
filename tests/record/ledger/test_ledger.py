"""The ledgers that there are, each against the contract; and what the durable ones promise of a store."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import belated.record.ledger.postgres
from belated.record.ledger import Store, store
from belated.record.ledger.memory import MemoryLedger
from belated.record.ledger.sqlite import locked
from tests.contracts.ledger import Handles, LedgerContract, asked, everything, told
from tests.postgres import Server

SPEC = {"space": {"x": [0.1, -0.0, 1e300, 5e-324]}, "name": "ß\u0000\ud800", "n": 10**30, "none": None, "yes": True}


class TestMemory(LedgerContract):
    @pytest.fixture
    def handles(self) -> Handles:
        ledger = MemoryLedger()
        return lambda: ledger

    def test_events_given_to_begin_with_count_as_written(self) -> None:
        ledger = MemoryLedger([asked(1), told(1)])
        assert ledger.append([asked(2)]) == 3
        assert everything(MemoryLedger(everything(ledger))) == [asked(1), told(1), asked(2)]


def opened(url: str, kept: list[Store]) -> Handles:
    """Handles on a new study. Each has a store, and so a connection, of its own."""
    first = store(url, create=True)
    name = f"study-{len(first.names())}"
    assert first.create(name, {})
    if first.create("another", {}):
        first.ledger("another").append([asked(1, key="k"), told(1)])  # which must not be in the way

    def handle() -> Any:
        kept.append(store(url))
        return kept[-1].ledger(name)

    kept.append(first)
    return handle


class TestSQLite(LedgerContract):
    @pytest.fixture
    def handles(self, tmp_path: Path) -> Iterator[Handles]:
        kept: list[Store] = []
        yield opened(f"sqlite:///{tmp_path}/lab.db", kept)
        for one in kept:
            one.close()


@pytest.fixture(scope="module")
def database(postgres: Server) -> Iterator[str]:
    """One database for the whole contract: every test has a study of its own in it."""
    with postgres.database() as url:
        yield url


class TestPostgres(LedgerContract):
    @pytest.fixture
    def handles(self, database: str) -> Iterator[Handles]:
        kept: list[Store] = []
        yield opened(database, kept)
        for one in kept:
            one.close()


# Stores ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/lab.db"
    given: str = request.getfixturevalue("postgres_url")
    return given


def test_names_and_specs(url: str) -> None:
    one = store(url, create=True)
    assert one.names() == []
    assert one.spec("b") is None
    assert one.create("b", SPEC)
    assert one.create("a", {"v": 1})
    two = store(url)
    assert two.names() == one.names() == ["a", "b"]
    assert repr(two.spec("b")) == repr(SPEC)
    assert not two.create("b", {"v": 2})  # what is there stays
    assert repr(one.spec("b")) == repr(SPEC)
    with pytest.raises(LookupError):
        one.ledger("c")
    for each in (one, two):
        each.close()


def test_names_are_kept_to_the_letter(url: str) -> None:
    one = store(url, create=True)
    for name in ("Lab", "lab", "l.ab", "l-ab", "l_ab", "x" * 128):
        assert one.create(name, {"name": name})
    assert len(one.names()) == 6
    assert one.spec("lab") == {"name": "lab"}
    assert one.spec("LAB") is None
    one.close()


def test_studies_of_one_store_do_not_meet(url: str) -> None:
    one = store(url, create=True)
    for name in ("a", "b"):
        one.create(name, {})
    a, b = one.ledger("a"), one.ledger("b")
    for ledger in (a, b):
        assert ledger.append([asked(1, key="k"), told(1)]) == 2
    a.append([asked(2)])
    assert len(everything(a)) == 3
    assert len(everything(b)) == 2
    other = store(url).ledger("b")
    with a.asking():  # asks of one study do not queue behind those of another
        taken = threading.Event()

        def ask() -> None:
            with other.asking():
                taken.set()

        thread = threading.Thread(target=ask)
        thread.start()
        assert taken.wait(10)
        thread.join()
    other.close()
    one.close()


def test_making_the_same_store_at_once(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    for url in (f"sqlite:///{tmp_path}/lab.db", request.getfixturevalue("postgres_url")):
        start, wrong, made = threading.Barrier(8), [], []

        def make(url: str = url, start: Any = start, made: list[bool] = made, wrong: list[Any] = wrong) -> None:
            start.wait()
            try:
                one = store(url, create=True)
                made.append(one.create("a", {}))
                one.close()
            except Exception as error:
                wrong.append(error)

        threads = [threading.Thread(target=make) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert sorted(made) == [False] * 7 + [True]


@pytest.mark.parametrize("statement", ["READ", "APPEND_AND_LEAVE", "LEAVE"])
def test_a_turn_that_goes_wrong_leaves_no_lock_behind(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    """A statement may fail though its connection lives on, and would keep the lock."""
    one, two = store(postgres_url), store(postgres_url)
    one.create("a", {})
    with one.ledger("a").asking() as turn:
        held: Any = turn
        execute = held.connection.execute

        def fails(query: str, *words: object) -> Any:
            if query == getattr(belated.record.ledger.postgres, statement):
                raise psycopg.errors.QueryCanceled("canceling statement due to statement timeout")
            return execute(query, *words)

        monkeypatch.setattr(held.connection, "execute", fails)
        assert everything(turn) == []
        if statement != "LEAVE":
            assert turn.append([asked(1)]) == 1
    with two.ledger("a").asking() as turn:
        assert turn.append([asked(2)]) == (1 if statement == "LEAVE" else 2)
    for each in (one, two):
        each.close()


# Forks ----------------------------------------------------------------------------------------------------------------


def child(work: Callable[[], None]) -> int:
    """Run some work in a forked process, and give its id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)


def ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_handle_may_be_carried_over_a_fork(url: str) -> None:
    """The parent lets go while the child goes on: nothing that the child wrote is lost."""
    one = store(url, create=True)
    one.create("a", {})
    ledger = one.ledger("a")
    ledger.append([asked(1)])
    wrote_in, wrote_out = os.pipe()
    left_in, left_out = os.pipe()

    def work() -> None:
        ledger.append([asked(2)])
        os.write(wrote_out, b".")
        os.read(left_in, 1)
        for s in range(3, 8):
            ledger.append([asked(s)])

    pid = child(work)
    os.read(wrote_in, 1)
    assert len(everything(ledger)) == 2
    one.close()
    os.write(left_out, b".")
    assert ended(pid) == 0
    assert [event.number for event in everything(ledger) if event == asked(event.number)] == list(range(1, 8))  # type: ignore[union-attr,arg-type]
    one.close()
    for fd in (wrote_in, wrote_out, left_in, left_out):
        os.close(fd)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_while_others_write(url: str) -> None:
    """Threads write while processes are forked: every process goes on, and no event is lost."""
    one = store(url, create=True)
    one.create("a", {})
    ledger, numbers = one.ledger("a"), iter(range(1, 10**6))
    lock, stop, wrong, own = threading.Lock(), threading.Event(), [], []

    def write() -> None:
        try:
            while not stop.is_set():
                with lock:
                    s = next(numbers)
                    ledger.append([asked(s)])
                    own.append(s)
        except Exception as error:
            wrong.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    for i in range(6):
        first = 10**6 + 10 * i
        with lock:  # the fork itself is at a quiet moment of ours, not of the other processes
            pid = child(lambda first=first: [ledger.append([asked(first + k)]) for k in range(10)] and None)  # type: ignore[misc]
        assert ended(pid) == 0
        own += range(first, first + 10)
    stop.set()
    thread.join()
    assert wrong == []
    assert sorted(event.number for event in everything(ledger)) == sorted(own)  # type: ignore[union-attr,type-var]
    one.close()


def test_a_lock_is_let_go_though_a_fork_has_a_copy(tmp_path: Path) -> None:
    path, got = tmp_path / "lock", threading.Event()

    def sleep() -> None:
        time.sleep(60)

    with locked(path):
        pid = child(sleep)

    def take() -> None:
        with locked(path):
            got.set()

    thread = threading.Thread(target=take)
    thread.start()
    free = got.wait(5)
    os.kill(pid, signal.SIGKILL)
    assert ended(pid) == -signal.SIGKILL
    thread.join()
    assert free


def test_the_asking_lock_dies_with_its_process(url: str) -> None:
    one = store(url, create=True)
    one.create("a", {})
    ready_in, ready_out = os.pipe()

    def hold() -> None:
        other = store(url)
        with other.ledger("a").asking():
            os.write(ready_out, b".")
            time.sleep(60)

    pid = child(hold)
    os.read(ready_in, 1)
    got = threading.Event()
    mine = store(url)

    def take() -> None:
        with mine.ledger("a").asking():
            got.set()

    thread = threading.Thread(target=take)
    thread.start()
    assert not got.wait(0.3)
    os.kill(pid, signal.SIGKILL)
    assert ended(pid) == -signal.SIGKILL
    assert got.wait(10)
    thread.join()
    for each in (one, mine):
        each.close()
    os.close(ready_in)
    os.close(ready_out)
