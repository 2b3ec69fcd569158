"""Run many jobs on several cores, and say after each how far it is."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from belated.execution.parallel import run_in_parallel

J = TypeVar("J")
D = TypeVar("D")


def run_and_say(run: Callable[[J], D], jobs: Sequence[J], workers: int, keep: Callable[[D], str]) -> None:
    """Run every job; `keep` is given each result as it comes, and returns the words that it is announced with."""
    began, count = time.perf_counter(), 0

    def done(result: D) -> None:
        nonlocal count
        count += 1
        words = keep(result)
        print(f"{count} of {len(jobs)}, {time.perf_counter() - began:.0f} s: {words}", file=sys.stderr, flush=True)

    os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch reads it when a worker imports it
    run_in_parallel(run, jobs, max(1, min(workers, len(jobs))), done)
