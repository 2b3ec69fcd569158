"""Jobs on several cores: in order, counted, on one BLAS thread each, and a lost worker is said."""

import math
import operator
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from belated.errors import WorkerLost
from belated.execution.parallel import AHEAD, count_cores, map_in_order, run_in_parallel


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_jobs(workers: int) -> None:
    heard: list[float] = []
    assert run_in_parallel(math.sqrt, [16.0, 1.0, 9.0, 4.0], workers, heard.append) == [4.0, 1.0, 3.0, 2.0]
    assert sorted(heard) == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("workers", [1, 2])
def test_no_jobs_are_done_at_once(workers: int) -> None:
    assert run_in_parallel(math.sqrt, [], workers) == []


def test_an_executor_that_is_handed_in_does_the_work_and_stays_open() -> None:
    heard: list[float] = []
    with ThreadPoolExecutor(1) as pool:
        assert run_in_parallel(math.sqrt, [16.0, 1.0], 4, heard.append, pool) == [4.0, 1.0]
        assert sorted(heard) == [1.0, 4.0]
        assert pool.submit(math.sqrt, 25.0).result() == 5.0


def test_what_an_executor_has_not_begun_is_cancelled_when_a_job_fails() -> None:
    begun: list[float] = []

    def job(x: float) -> float:
        begun.append(x)
        return 1.0 / x

    with ThreadPoolExecutor(1) as pool, pytest.raises(ZeroDivisionError):
        run_in_parallel(job, [0.0, *[1.0] * 1000], 1, lambda result: None, pool)
    assert len(begun) < 1000


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_a_job_is_raised(workers: int) -> None:
    with pytest.raises(ZeroDivisionError):
        run_in_parallel(partial(operator.truediv, 1.0), [1.0, 0.0, 4.0], workers)


def test_a_job_has_one_blas_thread() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))  # BLAS is loaded
    (found,) = run_in_parallel(lambda job: threadpool_info(), [None], 1)
    threads = [library["num_threads"] for library in found if library["user_api"] == "blas"]
    assert threads
    assert set(threads) == {1}


def test_a_lost_worker_is_said() -> None:
    with pytest.raises(WorkerLost, match="--workers 1"):
        run_in_parallel(os._exit, [1, 1], 2)


def test_there_is_a_core() -> None:
    assert 1 <= count_cores() <= (os.cpu_count() or 1)


def test_a_map_on_an_executor_is_in_order_and_computes_only_some_ahead() -> None:
    begun: list[int] = []

    def job(i: int) -> int:
        begun.append(i)
        return i * i

    with ThreadPoolExecutor(1) as pool:
        results = map_in_order(pool)(job, range(3 * AHEAD))
        assert next(results) == 0
        assert len(begun) <= AHEAD
        assert list(results) == [i * i for i in range(1, 3 * AHEAD)]


def test_a_map_that_is_left_early_cancels_what_has_not_begun() -> None:
    begun: list[int] = []

    def job(i: int) -> int:
        begun.append(i)
        return 1 // (1 - i)

    pool = ThreadPoolExecutor(1)
    pool.submit(lambda: None).result()
    with pytest.raises(ZeroDivisionError):
        list(map_in_order(pool)(job, range(2 * AHEAD)))
    pool.shutdown()
    assert len(begun) <= AHEAD + 1
