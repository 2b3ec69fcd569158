"""Forks, and sixteen real processes that do something with a study at the same moment."""

from __future__ import annotations

import math
import multiprocessing
import os
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for_any
from typing import Any

from belated import BelatedError, Real, Study
from belated.record.ledger import open_store

SIZE = 16
PATIENCE = 120.0  # seconds for any answer
Work = Callable[..., Any]


@dataclass
class Member:
    """What the work of one process may use: the pipe to the test, and the moment at which all begin."""

    pipe: Connection
    barrier: Any

    def together(self) -> None:
        self.barrier.wait(PATIENCE)


def live(pipe: Connection, barrier: Any) -> None:
    """The life of a process: work, answer, and again."""
    warnings.simplefilter("error")
    while (call := pipe.recv()) is not None:
        work, words = call
        try:
            pipe.send(("done", work(Member(pipe, barrier), *words)))
        except BaseException:
            pipe.send(("failed", traceback.format_exc()))


class Crowd:
    """Processes that live as long as the tests that need them: starting one costs more than most work."""

    def __init__(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self.barrier = spawn.Barrier(SIZE)
        self.pipes, self.processes = [], []
        for _ in range(SIZE):
            mine, theirs = spawn.Pipe()
            process = spawn.Process(target=live, args=(theirs, self.barrier), daemon=True)
            process.start()
            theirs.close()
            self.pipes.append(mine)
            self.processes.append(process)

    def start(self, i: int, work: Work, *words: Any) -> None:
        self.pipes[i].send((work, words))

    def answer(self, i: int, patience: float = PATIENCE) -> Any:
        """What the work returned; an error in it is an error here."""
        if not self.pipes[i].poll(patience):
            raise TimeoutError(f"process {i} has not answered within {patience} seconds")
        how, what = self.pipes[i].recv()
        assert how != "failed", f"in process {i}: {what}"
        return what

    def all(self, work: Work, words: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The same work by every process, each with its own words."""
        assert len(words) == SIZE
        for i, each in enumerate(words):
            self.start(i, work, *each)
        said: dict[int, Any] = {}
        while missing := [i for i in range(SIZE) if i not in said]:
            ready = wait_for_any([self.pipes[i] for i in missing], PATIENCE)
            assert ready, f"processes {missing} have not answered within {PATIENCE} seconds"
            said |= {
                i: self.answer(i) for i in missing if self.pipes[i] in ready
            }  # an error is raised as soon as it comes
        return [said[i] for i in range(SIZE)]

    def stop(self) -> None:
        for pipe, process in zip(self.pipes, self.processes, strict=True):
            if process.is_alive():
                pipe.send(None)
        for pipe, process in zip(self.pipes, self.processes, strict=True):
            process.join(10)
            if process.is_alive():
                process.kill()
                process.join()
            pipe.close()
            process.close()


@contextmanager
def gathered() -> Iterator[Crowd]:
    crowd = Crowd()
    try:
        yield crowd
    finally:
        crowd.stop()


# Forks ----------------------------------------------------------------------------------------------------------------


def fork(work: Callable[[], object]) -> int:
    """Run some work in a forked process, and give its id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)


def wait(pid: int) -> int:
    """The exit status of a forked process, once it has ended; negative: killed by this signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


# What they do ---------------------------------------------------------------------------------------------------------


def outcome(params: Any) -> float:
    return math.sin(5 * float(params["x"]))


def answered(call: Callable[[], Any]) -> str:
    """What became of a call: the status it returned, or the error that the user sees."""
    try:
        return str(call().status)
    except BelatedError as error:
        return type(error).__name__


def create(member: Member, url: str, name: str) -> tuple[int, int]:
    """Make the study, unless another was first, and ask."""
    member.together()
    study = Study.create(url, name, space={"x": Real(0, 1)}, silence="unknown", initial=10**6)
    return study.seed, study.ask().number


def ask_and_tell(member: Member, url: str, name: str, rounds: int) -> list[tuple[int, Any, int, str]]:
    study = Study.open(url, name)
    member.together()
    done = []
    for _ in range(rounds):
        trial = study.ask()
        done.append((trial.number, trial.params, trial.knew_trials, study.tell(trial, outcome(trial.params)).status))
    return done


def ask_with_key(member: Member, url: str, name: str, key: str, n: int) -> list[tuple[int, Any]]:
    study = Study.open(url, name)
    member.together()
    return [(trial.number, trial.params) for trial in study.ask(n=n, key=key)]


def tell(member: Member, url: str, name: str, number: int, value: float, key: str | None = None) -> str:
    study = Study.open(url, name)
    member.together()
    return answered(lambda: study.tell(number, value, key=key))


def tell_or_fail(member: Member, url: str, name: str, number: int, kind: Any) -> str:
    study = Study.open(url, name)
    member.together()
    return answered(lambda: study.tell(number, 1.0) if kind is None else study.fail(number, kind))


def tell_alone(member: Member, url: str, name: str, number: int, value: float) -> tuple[str, float]:
    """And how long it took, the opening not counted."""
    study = Study.open(url, name)
    begun = time.monotonic()
    return answered(lambda: study.tell(number, value)), time.monotonic() - begun


def ask_alone(member: Member, url: str, name: str) -> tuple[int, int]:
    trial = Study.open(url, name).ask()
    return trial.number, trial.knew_trials


def hold(member: Member, url: str, name: str) -> str:
    """Be in the middle of an ask until told otherwise."""
    with open_store(url).ledger(name).lock_asks():
        member.pipe.send(("done", "asking"))
        assert member.pipe.recv() == "enough"
    return "let go"


def ask_slowly(member: Member, url: str, name: str, rounds: int) -> tuple[list[int], list[float]]:
    """Asks that take their time, one before the others begin; how often each read the clock, and how long it took.

    A choice reads the clock when it begins and when it is made; the clock is slow, as a large refit would be."""
    readings = 0

    def read_slowly() -> float:
        nonlocal readings
        readings += 1
        time.sleep(0.1)
        return time.time()

    study, read, took = Study.open(url, name, clock=read_slowly), [], []
    for i in range(rounds):
        if i == 1:
            member.together()
        before, begun = readings, time.monotonic()
        study.ask()
        read.append(readings - before)
        took.append(time.monotonic() - begun)
    return read, took


def tell_many(member: Member, url: str, name: str, numbers: list[int]) -> list[tuple[str, float]]:
    study, done = Study.open(url, name), []
    member.together()
    for number in numbers:
        begun = time.monotonic()
        done.append((answered(lambda s=number: study.tell(s, s / 100)), time.monotonic() - begun))  # type: ignore[misc]
        time.sleep(0.02)
    return done
