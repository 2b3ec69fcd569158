"""Where an objective is evaluated: our own processes, an executor that the user gives, or an event loop.

An answer is a small plain value. Whatever f does, even an exception, comes back as one. So a failed future means that
the worker failed, never f.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from belated.errors import InvalidInput, NoWorkers
from belated.execution.evaluate import (
    CoroutineFunction,
    Evaluation,
    ObjectiveFunction,
    evaluate,
    evaluate_coroutine,
    format_error,
)
from belated.execution.interrupts import block_interrupts
from belated.validation import Params, format_value

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

GRACE = 2.0  # seconds that a worker has to end before it is killed
PENDING = "trials without an outcome stay pending, and the next run evaluates them first"
REMEDY = "define it at the top level of a module, or hand in executor=ThreadPoolExecutor(4)"


class Workers(Protocol):
    """The workers that evaluate f."""

    def begin(self) -> None:
        """Check that f can be evaluated; raise an error that says why if not."""

    def submit(self, params: Params, context: Params | None) -> Future[Evaluation]:
        """Evaluate f on a worker."""

    def explain(self, future: Future[Evaluation], *, worked: bool) -> str:
        """Why a future failed; raises NoWorkers if others would fail as well. worked: whether any has succeeded."""

    def end(self) -> None:
        """Stop; do not wait for evaluations that are still running."""


# An executor that the user gives --------------------------------------------------------------------------------------


@dataclass
class ExecutorWorkers:
    """Any concurrent.futures.Executor. It stays the user's: it is not shut down."""

    f: ObjectiveFunction
    executor: Executor
    futures: list[Future[Evaluation]] = field(default_factory=list)

    def begin(self) -> None:
        """There is nothing to start."""

    def submit(self, params: Params, context: Params | None) -> Future[Evaluation]:
        try:
            future = self.executor.submit(evaluate, self.f, params, context)
        except RuntimeError as error:  # shut down, or broken
            raise NoWorkers(f"the executor takes no more work ({format_error(error)}); {PENDING}") from None
        self.futures = [out for out in self.futures if not out.done()] + [future]
        return future

    def explain(self, future: Future[Evaluation], *, worked: bool) -> str:
        if future.cancelled():
            return "its evaluation was cancelled"
        error = future.exception()
        reason = "" if error is None else format_error(error)
        if isinstance(error, BrokenExecutor) or not worked:
            raise NoWorkers(f"the executor could not evaluate f ({reason}); {PENDING}")
        return reason

    def end(self) -> None:
        for future in self.futures:
            future.cancel()


# Coroutines -----------------------------------------------------------------------------------------------------------


@dataclass
class CoroutineWorkers:
    """Tasks of an event loop. They are submitted from another thread, which `stop` does not belong to."""

    f: CoroutineFunction
    loop: asyncio.AbstractEventLoop
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    stopped: bool = False

    def begin(self) -> None:
        """There is nothing to start."""

    def submit(self, params: Params, context: Params | None) -> Future[Evaluation]:
        if self.stopped:
            raise NoWorkers(f"the run was cancelled; {PENDING}")
        return asyncio.run_coroutine_threadsafe(self._evaluate(params, context), self.loop)

    def explain(self, future: Future[Evaluation], *, worked: bool) -> str:
        if self.stopped:
            raise NoWorkers(f"the run was cancelled; {PENDING}")
        return "its evaluation was cancelled"

    def end(self) -> None:
        self.loop.call_soon_threadsafe(self.stop)

    def stop(self) -> None:
        """Cancel the evaluations. One that is done keeps its answer: its task can no longer be cancelled."""
        self.stopped = True
        for task in self.tasks:
            task.cancel()

    async def wait_for_tasks(self) -> None:
        if self.tasks:
            await asyncio.wait(self.tasks)

    async def _evaluate(self, params: Params, context: Params | None) -> Evaluation:
        task: Any = asyncio.current_task()
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        if self.stopped:  # before it began
            raise asyncio.CancelledError
        return await evaluate_coroutine(self.f, params, context)


# Our own processes ----------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class WorkerProcess:
    """A pool of one process, so that a killed process affects no other."""

    pool: ProcessPoolExecutor
    ready: Future[str]  # what is wrong with f in that process; empty when nothing is
    last: Future[Evaluation] | None = None

    @property
    def idle(self) -> bool:
        return self.ready.done() and (self.last is None or self.last.done())


@dataclass
class ProcessWorkers:
    """Local processes, started by spawn when one is needed and none is idle."""

    f: ObjectiveFunction
    workers: list[WorkerProcess] = field(default_factory=list)
    _blob: bytes = b""

    def begin(self) -> None:
        from multiprocessing.reduction import ForkingPickler

        try:
            self._blob = bytes(ForkingPickler.dumps(self.f))
        except Exception as error:
            raise InvalidInput(
                f"f cannot be sent to a worker process ({format_error(error)}); {REMEDY} (got {format_value(self.f)})"
            ) from None
        self._check(self._start())

    def submit(self, params: Params, context: Params | None) -> Future[Evaluation]:
        worker = next((worker for worker in self.workers if worker.idle), None) or self._start()
        try:
            worker.last = worker.pool.submit(call_function, params, context)
        except BrokenExecutor as error:  # it died while idle
            worker.last = Future()
            worker.last.set_exception(error)
        return worker.last

    def explain(self, future: Future[Evaluation], *, worked: bool) -> str:
        worker = next((worker for worker in self.workers if worker.last is future), None)
        if worker is not None:  # otherwise it has newer work, and ends when that fails
            self._check(worker)
            self.workers.remove(worker)
            worker.pool.shutdown(wait=False)
        return "its worker process died (killed, or out of memory)"

    def end(self) -> None:
        """End all processes: idle ones by themselves, the others by signal."""
        processes = [
            process
            for worker in self.workers
            for process in (getattr(worker.pool, "_processes", None) or {}).values()
            if not worker.idle
        ]
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + GRACE
        for process in processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
        for worker in self.workers:
            worker.pool.shutdown(wait=True, cancel_futures=True)
        self.workers.clear()

    def _start(self) -> WorkerProcess:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=set_up_worker)
        with block_interrupts():  # the new process inherits it, until set_up_worker
            worker = WorkerProcess(pool, pool.submit(receive_function, self._blob))
        self.workers.append(worker)
        return worker

    def _check(self, worker: WorkerProcess) -> None:
        """Raise an error unless the worker has started and received f."""
        try:
            wrong = worker.ready.result()
        except BrokenExecutor:
            raise NoWorkers(
                'a worker process died while it started; a script must call optimize under if __name__ == "__main__":, '
                f"and {PENDING}"
            ) from None
        if wrong:
            raise InvalidInput(
                f"f cannot be found in a worker process ({wrong}); {REMEDY} (got {format_value(self.f)})"
            )


# In the worker process ------------------------------------------------------------------------------------------------

HERE: dict[str, ObjectiveFunction] = {}  # f, after it was received


def set_up_worker() -> None:
    """Leave Ctrl-C to the parent, and end with it. SIGINT does nothing here, but processes that f starts receive it."""
    signal.signal(signal.SIGINT, lambda *_: None)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    from multiprocessing import connection, parent_process

    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def receive_function(blob: bytes) -> str:
    """Keep f for later calls; returns what is wrong with it, or an empty string."""
    from multiprocessing.reduction import ForkingPickler

    try:
        HERE["f"] = ForkingPickler.loads(blob)
    except Exception as error:
        return format_error(error)
    return ""


def call_function(params: Params, context: Params | None) -> Evaluation:
    return evaluate(HERE["f"], params, context)
