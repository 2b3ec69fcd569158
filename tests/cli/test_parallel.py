"""Jobs on several cores: in order, counted, on one BLAS thread each, and a lost worker is said."""

import math
import operator
import os
from functools import partial

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from belated.cli.parallel import WorkerLost, cores, in_parallel


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_jobs(workers: int) -> None:
    calls: list[None] = []
    jobs = [16.0, 1.0, 9.0, 4.0]
    assert in_parallel(math.sqrt, jobs, workers, lambda: calls.append(None)) == [4.0, 1.0, 3.0, 2.0]
    assert len(calls) == len(jobs)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_a_job_is_raised(workers: int) -> None:
    with pytest.raises(ZeroDivisionError):
        in_parallel(partial(operator.truediv, 1.0), [1.0, 0.0, 4.0], workers)


def test_a_job_has_one_blas_thread() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))  # BLAS is loaded
    (found,) = in_parallel(lambda job: threadpool_info(), [None], 1)
    threads = [library["num_threads"] for library in found if library["user_api"] == "blas"]
    assert threads
    assert set(threads) == {1}


def test_a_lost_worker_is_said() -> None:
    with pytest.raises(WorkerLost, match="--workers 1"):
        in_parallel(os._exit, [1, 1], 2)


def test_there_is_a_core() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)
