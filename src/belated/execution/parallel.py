"""Run one function for many jobs, on several cores."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import TypeVar

from belated.errors import WorkerLost
from belated.execution.interrupts import block_interrupts

Job = TypeVar("Job")
Result = TypeVar("Result")
AHEAD = 32  # jobs that an executor has at a time, where results are used in order


def count_cores() -> int:
    """How many cores we may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_in_parallel(
    run: Callable[[Job], Result],
    jobs: Sequence[Job],
    workers: int,
    done: Callable[[Result], None] = lambda result: None,
    executor: Executor | None = None,
) -> list[Result]:
    """[run(job) for job in jobs], with `done` called after each; one BLAS thread per worker.

    With one worker they run in this process. With more they run in new processes, which an interrupt does not reach: we
    end them. An executor stays the user's: jobs that it has not begun when we stop are cancelled."""
    if not jobs:
        return []
    if executor is not None:
        futures = _submit(executor, run, jobs)
        try:
            return _collect(futures, done)
        finally:
            for future in futures:
                future.cancel()
    if workers == 1:
        results = []
        for job in jobs:
            results.append(_run_on_one_thread(run, job))
            done(results[-1])
        return results
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(min(workers, len(jobs)), multiprocessing.get_context("spawn")) as pool:
        try:
            with block_interrupts():  # the workers keep the block, so that Ctrl-C prints no traceback in each of them
                futures = _submit(pool, run, jobs)
            return _collect(futures, done)
        except BrokenProcessPool:
            raise WorkerLost from None
        except BaseException:
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            raise


def map_in_order(executor: Executor) -> Callable[[Callable[[Job], Result], Iterable[Job]], Iterator[Result]]:
    """A `map` whose calls run on an executor, one BLAS thread each. Results come in the order of the jobs; only some of
    them are computed ahead, so that many large ones need not lie in memory."""

    def run(do: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        left = iter(jobs)
        ahead = deque(_submit(executor, do, list(islice(left, AHEAD))))
        try:
            while ahead:
                yield ahead.popleft().result()
                ahead.extend(_submit(executor, do, list(islice(left, 1))))
        finally:
            for future in ahead:
                future.cancel()

    return run


def _submit(executor: Executor, run: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Future[Result]]:
    return [executor.submit(_run_on_one_thread, run, job) for job in jobs]


def _collect(futures: list[Future[Result]], done: Callable[[Result], None]) -> list[Result]:
    for future in as_completed(futures):
        done(future.result())
    return [future.result() for future in futures]


def _run_on_one_thread(run: Callable[[Job], Result], job: Job) -> Result:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        return run(job)
