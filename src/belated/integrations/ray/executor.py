"""Ray as a concurrent.futures.Executor: for study.optimize, belated.compare, and whatever else takes one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures import wait as wait_for
from typing import Any

import ray


class RayExecutor(Executor):
    """Each call is a task of Ray's, on whichever machine has room.

    options  those of a remote function of Ray's: num_cpus, num_gpus, resources, max_retries, ...

    Ray runs a task again whose worker died (max_retries times, 3 if nothing is said). To cancel a future cancels its
    task, if that has not begun.

    >>> import ray
    >>> from belated import Real, Study
    >>> from belated.integrations.ray import RayExecutor
    >>> _ = ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    >>> with RayExecutor() as executor:
    ...     study.optimize(lambda params: params["x"], rounds=4, workers=2, executor=executor).told
    4
    >>> ray.shutdown()
    """

    def __init__(self, **options: Any) -> None:
        self._call = ray.remote(call_function).options(**options) if options else ray.remote(call_function)
        self._running: set[Future[Any]] = set()
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Hand a call to Ray. What it is given and returns is pickled."""
        with self._lock:
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            task = self._call.remote(fn, args, kwargs)
            future: Future[Any] = Future()
            self._running.add(future)
        future.add_done_callback(self._running.discard)
        future.add_done_callback(lambda done: ray.cancel(task) if done.cancelled() else None)
        task.future().add_done_callback(lambda done: copy_result(done, future))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls. Ray itself goes on: it is the user's."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for future in running if cancel_futures else []:
            future.cancel()
        if wait:
            wait_for(running)


def call_function(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return fn(*args, **kwargs)


def copy_result(done: Future[Any], future: Future[Any]) -> None:
    """Give a future what the task's own has. One that was cancelled meanwhile stays so, and whoever waits is told."""
    if not future.set_running_or_notify_cancel():
        return
    error = done.exception()
    if error is None:
        future.set_result(done.result())
    else:
        future.set_exception(error)
