"""Dask's Client.get_executor() is an executor for us."""

from collections.abc import Iterator
from concurrent.futures import Executor

import pytest

pytest.importorskip("distributed")

from distributed import Client, LocalCluster

from tests.contracts.executor import ExecutorContract

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own


class TestDask(ExecutorContract):
    @pytest.fixture(scope="class")
    def executor(self) -> Iterator[Executor]:
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
            Client(cluster) as client,
            client.get_executor() as executor,
        ):
            yield executor
