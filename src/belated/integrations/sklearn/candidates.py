"""Ask, score, tell: several candidates at once on an executor. None waits for another."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any, TypeVar

from joblib.externals.loky import get_reusable_executor

from belated import Study, Trial
from belated.errors import Exhausted

Scored = TypeVar("Scored")


class InlineExecutor(Executor):
    """Evaluates at once, in the thread that submits."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def find_executor(given: Executor | None, jobs: int) -> Executor:
    """The user's; else this process for one job, or joblib's processes, which stay for the next search."""
    if given is not None:
        return given
    return InlineExecutor() if jobs == 1 else get_reusable_executor(max_workers=jobs)


def try_candidates(
    study: Study,
    score: Callable[[Mapping[str, Any]], Scored],
    read_outcome: Callable[[Scored], float],
    executor: Executor,
    rounds: int,
    jobs: int,
) -> list[Scored]:
    """What every trial of the study scored, in the order of asking."""
    scored: dict[int, Scored] = {}
    running: dict[Future[Scored], Trial] = {}
    try:
        while True:
            while len(running) < jobs and (trial := _ask(study, rounds)) is not None:
                running[executor.submit(score, trial.params)] = trial
            if not running:
                return [scored[number] for number in sorted(scored)]
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=lambda future: running[future].number):
                trial = running.pop(future)
                scored[trial.number] = future.result()
                _tell(study, trial, read_outcome(scored[trial.number]))
    finally:
        for future in running:
            future.cancel()


def _ask(study: Study, rounds: int) -> Trial | None:
    """The next trial; None when there are enough, or no query is left."""
    try:
        return study.ask() if study.rounds < rounds else None
    except Exhausted:
        return None


def _tell(study: Study, trial: Trial, outcome: float) -> None:
    if math.isfinite(outcome):
        study.tell(trial, outcome)
    else:
        study.fail(trial, "infeasible")  # the estimator cannot be fitted with these params
