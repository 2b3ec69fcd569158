"""The ledger in memory, against the contract."""

from __future__ import annotations

import pytest

from belated.record.ledger.memory import MemoryLedger
from tests.contracts.ledger import Handles, LedgerContract, asked, everything, told


class TestMemory(LedgerContract):
    @pytest.fixture
    def handles(self) -> Handles:
        ledger = MemoryLedger()
        return lambda: ledger

    def test_events_given_to_begin_with_count_as_written(self) -> None:
        ledger = MemoryLedger([asked(1), told(1)])
        assert ledger.append([asked(2)]).position == 3
        assert everything(MemoryLedger(everything(ledger))) == [asked(1), told(1), asked(2)]
