"""The ledger in a SQLite file, against the contract; and its locks."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from belated.record.ledger.file_locks import hold_first
from tests.contracts.ledger import Handles, LedgerContract, open_handles
from tests.support.processes import fork, wait


class TestSQLite(LedgerContract):
    @pytest.fixture
    def handles(self, tmp_path: Path) -> Iterator[Handles]:
        with open_handles(f"sqlite:///{tmp_path}/lab.db") as handles:
            yield handles


@pytest.mark.faults
def test_a_lock_is_let_go_though_a_fork_has_a_copy(tmp_path: Path) -> None:
    path, got = tmp_path / "lab.db", threading.Event()
    path.touch()

    def sleep() -> None:
        time.sleep(60)

    with hold_first(str(path), 0):
        pid = fork(sleep)

    def take() -> None:
        with hold_first(str(path), 0):
            got.set()

    thread = threading.Thread(target=take)
    thread.start()
    free = got.wait(5)
    os.kill(pid, signal.SIGKILL)
    assert wait(pid) == -signal.SIGKILL
    thread.join()
    assert free
