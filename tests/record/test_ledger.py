"""What the durable ledgers promise of a store: names, studies side by side, forks, locks that die with a process."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from belated.record.ledger import open_store
from tests.contracts.ledger import asked, everything, told
from tests.support.processes import fork, wait

SPEC = {"space": {"x": [0.1, -0.0, 1e300, 5e-324]}, "name": "ß\u0000\ud800", "n": 10**30, "none": None, "yes": True}


def test_names_and_specs(url: str) -> None:
    one = open_store(url, create=True)
    assert one.names() == []
    assert one.spec("b") is None
    assert one.create("b", SPEC)
    assert one.create("a", {"v": 1})
    two = open_store(url)
    assert two.names() == one.names() == ["a", "b"]
    assert repr(two.spec("b")) == repr(SPEC)
    assert not two.create("b", {"v": 2})  # what is there stays
    assert repr(one.spec("b")) == repr(SPEC)
    with pytest.raises(LookupError):
        one.ledger("c")
    for each in (one, two):
        each.close()


def test_names_are_kept_to_the_letter(url: str) -> None:
    one = open_store(url, create=True)
    for name in ("Lab", "lab", "l.ab", "l-ab", "l_ab", "x" * 128):
        assert one.create(name, {"name": name})
    assert len(one.names()) == 6
    assert one.spec("lab") == {"name": "lab"}
    assert one.spec("LAB") is None
    one.close()


def test_studies_of_one_store_do_not_meet(url: str) -> None:
    one = open_store(url, create=True)
    for name in ("a", "b"):
        one.create(name, {})
    a, b = one.ledger("a"), one.ledger("b")
    for ledger in (a, b):
        assert ledger.append([asked(1, key="k"), told(1)]).position == 2
    a.append([asked(2)])
    assert len(everything(a)) == 3
    assert len(everything(b)) == 2
    other = open_store(url).ledger("b")
    with a.lock_asks():  # asks of one study do not queue behind those of another
        taken = threading.Event()

        def ask() -> None:
            with other.lock_asks():
                taken.set()

        thread = threading.Thread(target=ask)
        thread.start()
        assert taken.wait(10)
        thread.join()
    other.close()
    one.close()


def test_making_the_same_store_at_once(url: str) -> None:
    start, wrong, made = threading.Barrier(8), [], []

    def make() -> None:
        start.wait()
        try:
            one = open_store(url, create=True)
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


# Forks ----------------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_handle_may_be_carried_over_a_fork(url: str) -> None:
    """The parent lets go while the child goes on: nothing that the child wrote is lost."""
    one = open_store(url, create=True)
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

    pid = fork(work)
    os.read(wrote_in, 1)
    assert len(everything(ledger)) == 2
    one.close()
    os.write(left_out, b".")
    assert wait(pid) == 0
    assert [event.number for event in everything(ledger) if event == asked(event.number)] == list(range(1, 8))  # type: ignore[union-attr,arg-type]
    one.close()
    for fd in (wrote_in, wrote_out, left_in, left_out):
        os.close(fd)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_while_others_write(url: str) -> None:
    """Threads write while processes are forked: every process goes on, and no event is lost."""
    one = open_store(url, create=True)
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
            pid = fork(lambda first=first: [ledger.append([asked(first + k)]) for k in range(10)] and None)  # type: ignore[misc]
        assert wait(pid) == 0
        own += range(first, first + 10)
    stop.set()
    thread.join()
    assert wrong == []
    assert sorted(event.number for event in everything(ledger)) == sorted(own)  # type: ignore[union-attr,type-var]
    one.close()


@pytest.mark.faults
def test_the_asking_lock_dies_with_its_process(url: str) -> None:
    one = open_store(url, create=True)
    one.create("a", {})
    ready_in, ready_out = os.pipe()

    def hold() -> None:
        other = open_store(url)
        with other.ledger("a").lock_asks():
            os.write(ready_out, b".")
            time.sleep(60)

    pid = fork(hold)
    os.read(ready_in, 1)
    got = threading.Event()
    mine = open_store(url)

    def take() -> None:
        with mine.ledger("a").lock_asks():
            got.set()

    thread = threading.Thread(target=take)
    thread.start()
    assert not got.wait(0.3)
    os.kill(pid, signal.SIGKILL)
    assert wait(pid) == -signal.SIGKILL
    assert got.wait(10)
    thread.join()
    for each in (one, mine):
        each.close()
    os.close(ready_in)
    os.close(ready_out)


def test_asks_of_different_studies_do_not_wait_for_each_other(url: str) -> None:
    """In this process and in another one."""
    store = open_store(url, create=True)
    store.create("slow", SPEC)
    store.create("quick", SPEC)

    def ask(number: int) -> None:
        other = open_store(url)
        with other.ledger("quick").lock_asks() as turn:
            turn.append([asked(number)])
        other.close()

    out, into = os.pipe()

    def hold() -> None:
        with open_store(url).ledger("slow").lock_asks():
            os.write(into, b"!")
            signal.pause()

    holder = fork(hold)
    try:
        os.read(out, 1)
        for number, work in ((1, ask), (2, lambda two: wait(fork(lambda: ask(two))))):
            thread = threading.Thread(target=work, args=(number,), daemon=True)
            thread.start()
            thread.join(30)
            assert not thread.is_alive()
    finally:
        os.kill(holder, signal.SIGKILL)
        wait(holder)
        os.close(out)
        os.close(into)
    assert len(everything(store.ledger("quick"))) == 2
    store.close()
