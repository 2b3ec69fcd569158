"""Processes that choose: lanes in order, studies that stay where they were, and processes that die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from belated import TooBusy
from belated.errors import WorkerLost
from belated.service.served import ServedStudies
from belated.service.workers import Job, WorkerPool

pytestmark = pytest.mark.faults  # processes are started and killed


def do_something(studies: ServedStudies, job: Job) -> Any:
    """What a process does here: wait, die, or say who it is."""
    if job.verb == "wait":
        time.sleep(job.arguments["seconds"])
    if job.verb == "stop":
        os.kill(os.getpid(), signal.SIGTERM)
    if job.verb == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[WorkerPool]:
    studies = ServedStudies(f"sqlite:///{tmp_path}/lab.db")
    made = WorkerPool(studies, 2, do_something, most_waiting=3)
    yield made
    made.close()
    studies.close()


def wait(study: str, seconds: float) -> Job:
    return Job(study, "wait", {"seconds": seconds})


def wait_until(said: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not said():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_study_stays_with_its_process_as_long_as_that_is_free(pool: WorkerPool) -> None:
    who = Job("a", "who", {})
    first = pool.submit(who, "ask").result(60)
    assert [pool.submit(who, "ask").result(60) for _ in range(10)] == [first] * 10
    busy = pool.submit(wait("b", 0.5), "ask")
    other = pool.submit(wait("c", 0.5), "ask")
    assert {busy.result(60), other.result(60)} <= set(pool.list_processes())


def test_asks_of_one_study_are_done_in_order_and_too_many_are_refused(pool: WorkerPool) -> None:
    pool.submit(Job("a", "who", {}), "ask").result(60)
    done = list[int]()
    first = pool.submit(wait("a", 2.0), "ask")
    wait_until(first.running)
    futures = [pool.submit(wait("a", 0.0), "ask") for _ in range(3)]
    for i, future in enumerate(futures):
        future.add_done_callback(lambda _, i=i: done.append(i))  # type: ignore[misc]
    with pytest.raises(TooBusy, match="3 calls of this study are waiting"):
        pool.submit(wait("a", 0.0), "ask")
    assert pool.submit(wait("b", 0.0), "ask").result(60)  # another study does not wait for them
    for future in futures:
        future.result(60)
    assert done == [0, 1, 2]


def test_who_looks_leaves_a_process_to_those_who_ask(pool: WorkerPool) -> None:
    pool.submit(Job("a", "who", {}), "ask").result(60)
    looks = [pool.submit(wait(name, 1.0), "look") for name in ("a", "b", "c")]
    begun = time.monotonic()
    pool.submit(wait("d", 0.0), "ask").result(60)
    assert not all(look.done() for look in looks)
    assert time.monotonic() - begun < 30
    for look in looks:
        look.result(60)


def test_a_process_that_dies_is_replaced_and_its_job_may_be_done_again(pool: WorkerPool) -> None:
    before = pool.submit(Job("a", "who", {}), "ask").result(60)
    with pytest.raises(WorkerLost, match="try again: the same key gives the same result"):
        pool.submit(Job("a", "die", {}), "ask").result(60)
    assert pool.submit(Job("a", "who", {}), "ask").result(60) != before


def test_closing_refuses_what_waits_and_finishes_what_runs(pool: WorkerPool) -> None:
    pool.submit(Job("a", "who", {}), "ask").result(60)
    running = pool.submit(wait("a", 0.5), "ask")
    wait_until(running.running)
    waiting = pool.submit(wait("a", 0.0), "ask")
    closing = threading.Thread(target=pool.close)
    closing.start()
    with pytest.raises(TooBusy, match="the server is stopping"):
        waiting.result(60)
    assert running.result(60)
    closing.join()
    with pytest.raises(TooBusy):
        pool.submit(wait("a", 0.0), "ask")


def test_a_signal_to_the_whole_group_leaves_it_to_the_server_to_end_its_processes(pool: WorkerPool) -> None:
    """systemd sends SIGTERM to every process of a service; what is under way is finished all the same."""
    assert pool.submit(Job("a", "stop", {}), "ask").result(60) in pool.list_processes()


def test_closing_does_not_wait_for_what_takes_long(pool: WorkerPool) -> None:
    pool.submit(Job("a", "who", {}), "ask").result(60)
    lost = [pool.submit(wait(name, 60.0), "ask") for name in ("a", "b")]
    wait_until(lambda: all(future.running() for future in lost))
    processes = pool.list_processes()
    begun = time.monotonic()
    pool.close()
    assert time.monotonic() - begun < 20
    for future in lost:
        with pytest.raises(WorkerLost):
            future.result(60)
    assert not any(map(is_alive, processes))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_who_would_wait_too_long_is_refused_at_once(tmp_path: Path) -> None:
    """Instead of an answer that comes when its caller has given up."""
    studies = ServedStudies(f"sqlite:///{tmp_path}/lab.db")
    slow = WorkerPool(studies, 1, do_something, most_waiting=64, longest_wait=1.5)
    slow.submit(wait("a", 1.0), "ask").result(60)
    taken = [slow.submit(wait("a", 1.0), "ask")]
    wait_until(taken[0].running)
    taken.append(slow.submit(wait("a", 0.0), "ask"))  # some second behind the first
    with pytest.raises(TooBusy, match=r"calls of this study wait for some \d+ s now") as no:
        slow.submit(wait("a", 0.0), "ask")
    assert no.value.wait > 1.5
    assert slow.submit(Job("b", "who", {}), "ask").result(60)  # another study
    for future in taken:
        future.result(60)
    slow.close()
    studies.close()


def test_a_process_that_ends_without_closing_ends(tmp_path: Path) -> None:
    """Its processes heed no signal, and multiprocessing would wait for them."""
    words = f"""
if __name__ == "__main__":
    from belated.service.served import ServedStudies
    from belated.service.workers import Job, WorkerPool
    from tests.service.test_workers import do_something
    pool = WorkerPool(ServedStudies("sqlite:///{tmp_path}/lab.db"), 1, do_something, 3)
    print(pool.submit(Job("a", "who", {{}}), "ask").result(60) > 0)
"""
    script = tmp_path / "script.py"
    script.write_text(words)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    said = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=100, check=True, env=environment
    )
    assert said.stdout == "True\n"
