"""Processes that choose: asks, fits and heavy looks run in them, so that tells and pages never wait for one.

Jobs wait in lanes: a study has one for what asks and one for what looks. In a lane jobs are done one after the other,
in order, and asks that wait at the same time are written with one commit; lanes take turns. A study stays with the
process that had it last, as long as that one is free, because the factor of its belief is kept there. A process that
dies is replaced, and its job fails with WorkerLost: the same call may be made again, with the same key.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import math
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from belated.errors import BelatedError, ServerFault, TooBusy, WorkerLost
from belated.record.signing import PERSON
from belated.service.served import NotTogether, ServedStudies
from belated.wording import format_count

LaneKind = Literal["ask", "look"]
LOST = "the process that computed this has ended; try again: the same key gives the same result"
FULL = "{} of this study {} waiting, and more are not taken; try again in a moment"
SLOW = "calls of this study wait for some {:.0f} s now, and more are not taken (at most {:g} s); try again in a moment"
AT_ONCE = 16  # jobs that are done together
STOPPING = "the server is stopping; try again in a moment"


@dataclass(frozen=True)
class Job:
    """Something to do with a study, in another process: the name of a verb, and its arguments."""

    study: str  # its id
    verb: str
    arguments: Mapping[str, Any]
    key: str | None = None
    file: Path | None = None  # the path of a file that came with it


DoJob = Callable[[ServedStudies, Job], Any]
Queued = tuple[Job, Future[Any]]


@dataclass(frozen=True)
class Together:
    """How some jobs of a lane are done at once, which costs less than one after the other; functions of a module.

    may_share  whether a job may be done together with others that may
    do         their answers; NotTogether, and nothing was done, where each has to be done by itself"""

    may_share: Callable[[Job], bool]
    do: Callable[[ServedStudies, Sequence[Job]], list[Any]]


@dataclass(eq=False)
class Lane:
    """The jobs of one kind that wait for one study."""

    name: tuple[str, LaneKind]
    jobs: deque[Queued] = field(default_factory=deque)
    busy: bool = False
    last: int | None = None  # the process that did the last one
    seconds: float = 0.0  # that a job takes, of late

    @property
    def wait(self) -> float:
        """How long one more would wait, as far as one can tell."""
        return (len(self.jobs) + self.busy) * self.seconds

    def note_time(self, seconds: float) -> None:
        self.seconds = seconds if not self.seconds else 0.7 * self.seconds + 0.3 * seconds


class WorkerPool:
    """Some processes, and what waits for them."""

    def __init__(
        self,
        studies: ServedStudies,
        count: int,
        do: DoJob,
        most_waiting: int,
        longest_wait: float = math.inf,
        together: Together | None = None,
    ) -> None:
        """count         of processes; 0: none, and the server's own threads do it
        do            what is done with a job and the studies of a process; it must be a function of a module
        most_waiting  jobs of one lane
        longest_wait  seconds that a job may wait behind others: who calls would have given up by then
        together      how some that wait are done at once; None: each by itself"""
        self._studies, self._do, self._most, self._longest = studies, do, most_waiting, longest_wait
        self._together = together
        self._lanes: dict[tuple[str, LaneKind], Lane] = {}
        self._ready = threading.Condition()
        self._closed = False
        self._looking = 0  # processes that look
        self._at_work: set[int] = set()
        self._own = None if count else ThreadPoolExecutor(4)
        self._count = count
        self._processes: dict[int, Any] = {}
        self._threads = [threading.Thread(target=self._serve, args=(i,), daemon=True) for i in range(count)]
        for thread in self._threads:
            thread.start()
        atexit.register(self.close)  # before multiprocessing waits for processes that heed no signal

    def submit(self, job: Job, kind: LaneKind) -> Future[Any]:
        """Do a job as soon as its turn comes; TooBusy where too many wait."""
        future: Future[Any] = Future()
        with self._ready:
            if self._closed:
                raise TooBusy(STOPPING)
            if self._own is not None:
                return self._own.submit(self._do, self._studies, job)
            lane = self._lanes.setdefault((job.study, kind), Lane((job.study, kind)))
            if len(lane.jobs) >= self._most:
                waiting = FULL.format(format_count(self._most, "call"), "is" if self._most == 1 else "are")
                raise TooBusy(waiting, wait=lane.wait)
            if lane.jobs and lane.wait > self._longest:
                raise TooBusy(SLOW.format(lane.wait, self._longest), wait=lane.wait)
            lane.jobs.append((job, future))
            self._ready.notify_all()
        return future

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        with self._ready:
            return sum(len(lane.jobs) for lane in self._lanes.values())

    @property
    def running(self) -> int:
        """How many jobs are being done."""
        with self._ready:
            return len(self._at_work)

    def list_processes(self) -> list[int]:
        """The ids of the processes that run."""
        return [process.pid for process in list(self._processes.values()) if process.is_alive()]

    def close(self, patience: float = 1.0) -> None:
        """Take nothing more, finish what runs, and end; what still runs after some seconds is given up."""
        atexit.unregister(self.close)
        with self._ready:
            self._closed = True
            waiting = [entry for lane in self._lanes.values() for entry in lane.jobs]
            for lane in self._lanes.values():
                lane.jobs.clear()
            self._ready.notify_all()
        for _, future in waiting:
            future.set_exception(TooBusy(STOPPING))
        if self._own is not None:
            self._own.shutdown()
        until = time.monotonic() + patience
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        for process in self._processes.values():
            end_process(process)

    # Inside -----------------------------------------------------------------------------------------------------------

    def _serve(self, me: int) -> None:
        """The life of a thread that hands jobs to a process of its own."""
        pipe: Connection | None = None
        with contextlib.suppress(Exception):
            pipe = self._start(me)  # before somebody waits for it
        while (found := self._take(me)) is not None:
            lane, waiting = found
            begun = time.monotonic()
            try:
                waiting = [each for each in waiting if each[1].set_running_or_notify_cancel()]
                if waiting:
                    if pipe is None or not self._processes[me].is_alive():
                        pipe = self._start(me)
                        begun = time.monotonic()
                    if not _give(waiting, pipe):
                        pipe = None
                        end_process(self._processes[me])  # it may be about to end
            except BaseException as error:
                for _, future in waiting:
                    if not future.done():
                        future.set_exception(error)
                pipe = None
            finally:
                self._finish(me, lane, (time.monotonic() - begun) / max(1, len(waiting)))
        if pipe is not None:
            pipe.close()

    def _take(self, me: int) -> tuple[Lane, list[Queued]] | None:
        """The next job for this process, or some that are done together; None: there will be none."""
        with self._ready:
            while True:
                if self._closed:
                    return None
                lane = self._choose(me)
                if lane is not None:
                    taken = [lane.jobs.popleft()]
                    may = self._together.may_share if self._together is not None else refuse_all
                    while may(taken[-1][0]) and lane.jobs and may(lane.jobs[0][0]) and len(taken) < AT_ONCE:
                        taken.append(lane.jobs.popleft())
                    lane.busy, lane.last = True, me
                    self._at_work.add(me)
                    self._looking += lane.name[1] == "look"
                    return lane, taken
                self._ready.wait()

    def _choose(self, me: int) -> Lane | None:
        """The lane whose turn it is, of those whose process is this one, or is at work; the first has waited longest.

        One process is left for those who ask, if there is more than one."""
        may_look = self._looking < max(1, self._count - 1)
        free = (lane for lane in self._lanes.values() if lane.jobs and not lane.busy)
        ours = (lane for lane in free if lane.last in (None, me) or lane.last in self._at_work)
        return next((lane for lane in ours if may_look or lane.name[1] == "ask"), None)

    def _finish(self, me: int, lane: Lane, seconds: float) -> None:
        with self._ready:
            lane.busy = False
            lane.note_time(seconds)
            self._at_work.discard(me)
            self._looking -= lane.name[1] == "look"
            del self._lanes[lane.name]  # to the end of the row
            self._lanes[lane.name] = lane
            if len(self._lanes) > 10_000:
                idle = [name for name, each in self._lanes.items() if not each.jobs and not each.busy]
                for name in itertools.islice(idle, 5_000):
                    del self._lanes[name]
            self._ready.notify_all()

    def _start(self, me: int) -> Connection:
        """A new process. It is not forked, because this one has threads and an open database."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(
            target=run_jobs, args=(theirs, self._studies.url, self._do, self._together), daemon=True
        )
        process.start()
        theirs.close()
        self._processes[me] = process
        try:
            ours.recv()  # it has started
        except (EOFError, OSError):
            end_process(process)
            raise WorkerLost(LOST) from None
        return ours


def refuse_all(job: Job) -> bool:
    """No job may be done together with others."""
    return False


def end_process(process: Any) -> None:
    """End a process, whatever it does."""
    process.kill()
    process.join(1.0)


def _give(waiting: Sequence[Queued], pipe: Connection) -> bool:
    """Let a process do some jobs, and pass its answers on; False if the process is lost."""
    try:
        pipe.send([job for job, _ in waiting])
        answers = pipe.recv()
    except (EOFError, OSError):
        for _, future in waiting:
            future.set_exception(WorkerLost(LOST))
        return False
    for (_, future), (what, answer) in zip(waiting, answers, strict=True):
        if what == "done":
            future.set_result(answer)
        else:
            future.set_exception(answer)
    return True


def run_jobs(pipe: Connection, url: str, do: DoJob, together: Together | None) -> None:
    """The life of a process: it ends when its server does."""
    for sent in (signal.SIGINT, signal.SIGTERM):  # to the whole group, as Ctrl-C and systemd do: the server ends this
        signal.signal(sent, signal.SIG_IGN)
    os.environ.pop(PERSON, None)
    studies = ServedStudies(url)
    with contextlib.suppress(EOFError, OSError):  # the server is gone
        pipe.send("ready")
        while True:
            jobs: list[Job] = pipe.recv()
            answers = answer_together(studies, jobs, together) if together is not None and len(jobs) > 1 else None
            pipe.send(answers or [answer_one(lambda: do(studies, job)) for job in jobs])  # noqa: B023
    studies.close()


def answer_together(studies: ServedStudies, jobs: Sequence[Job], together: Together) -> list[tuple[str, Any]] | None:
    """The answers of jobs that are done at once; None if that cannot be, and nothing was done."""
    try:
        what, answer = answer_one(lambda: together.do(studies, jobs))
    except NotTogether:
        return None
    return [(what, each) for each in (answer if what == "done" else [answer] * len(jobs))]


def answer_one(work: Callable[[], Any]) -> tuple[str, Any]:
    """What something comes to: done, refused or failed, and its answer or error."""
    try:
        return "done", work()
    except BelatedError as error:
        return "refused", error
    except NotTogether:
        raise
    except Exception as error:
        traceback.print_exc()
        return "failed", ServerFault(f"the server failed at this ({type(error).__name__}); its log says why")
