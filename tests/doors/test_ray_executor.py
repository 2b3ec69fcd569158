"""Ray is an executor for us."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

pytest.importorskip("ray")

import ray

from belated.integrations.ray import RayExecutor
from tests.contracts.executor import ExecutorContract

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own
SOON = 60.0  # seconds within which a machine under load does what it takes milliseconds to do


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


@pytest.fixture
def executor() -> Iterator[RayExecutor]:
    with RayExecutor() as executor:
        yield executor


class TestRay(ExecutorContract):
    """With the executor above."""


def test_calls_come_back_with_their_values_and_errors(executor: RayExecutor) -> None:
    def divide(a: float, *, by: float) -> float:
        return a / by

    assert executor.submit(divide, 3, by=4).result(SOON) == 0.75
    assert list(executor.map(lambda a, b: a + b, [1, 2], [3, 4])) == [4, 6]
    with pytest.raises(ZeroDivisionError):
        executor.submit(divide, 3, by=0).result(SOON)
    assert executor.submit(os.getpid).result(SOON) != os.getpid()


def test_a_call_that_has_not_begun_can_be_cancelled(tmp_path: Path) -> None:
    executor = RayExecutor(num_cpus=2)  # one at a time

    def wait(name: str) -> str:
        (tmp_path / name).touch()
        while not (tmp_path / "go").exists():
            time.sleep(0.01)
        return name

    first, second = executor.submit(wait, "first"), executor.submit(wait, "second")
    while not (tmp_path / "first").exists():
        time.sleep(0.01)
    assert second.cancel()
    with pytest.raises(CancelledError):
        second.result(SOON)
    (tmp_path / "go").touch()
    assert first.result(SOON) == "first"
    executor.shutdown()
    assert not (tmp_path / "second").exists()
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(wait, "third")


def test_the_executor_loads_ray_and_belated_alone() -> None:
    script = (
        "import sys, ray, belated; before = set(sys.modules)\n"
        "from belated.integrations.ray import RayExecutor\n"
        "print(*(name for name in set(sys.modules) - before if name.split('.')[0] not in sys.stdlib_module_names))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    loaded = ran.stdout.split()
    assert "belated.integrations.ray.executor" in loaded
    assert [name for name in loaded if not name.startswith("belated.")] == []
