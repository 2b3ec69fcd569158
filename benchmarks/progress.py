"""Run many jobs on several cores or on an executor, and say after each how far it is."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, TypeVar

from belated.execution.parallel import count_cores, run_in_parallel

if TYPE_CHECKING:
    from argparse import ArgumentParser

J = TypeVar("J")
D = TypeVar("D")


def add_where_to_run(parser: ArgumentParser, workers: int | None = None) -> None:
    """The options that say where runs take place; by default one at a time on each core, or so many as `workers`."""
    parser.add_argument(
        "--workers", type=int, default=workers or count_cores(), metavar="N", help="runs at a time (%(default)s)"
    )
    parser.add_argument(
        "--executor",
        metavar="MODULE:NAME",
        help="a concurrent.futures.Executor, or a function that makes one, for runs on other machines",
    )


def run_and_say(
    run: Callable[[J], D],
    jobs: Sequence[J],
    workers: int,
    keep: Callable[[D], str],
    executor: Executor | None = None,
) -> None:
    """Run every job; `keep` is given each result as it comes, and returns the words that it is announced with."""
    began, count = time.perf_counter(), 0

    def done(result: D) -> None:
        nonlocal count
        count += 1
        words = keep(result)
        print(f"{count} of {len(jobs)}, {time.perf_counter() - began:.0f} s: {words}", file=sys.stderr, flush=True)

    os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch reads it when a worker imports it
    run_in_parallel(run, jobs, max(1, min(workers, len(jobs))), done, executor)
