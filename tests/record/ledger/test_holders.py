"""Who holds a lock, in words."""

from __future__ import annotations

import os

import pytest

from belated.record.ledger import holders
from belated.record.ledger.holders import Holder, name_client


def test_a_process_of_this_machine_is_known_by_its_name_on_the_server() -> None:
    assert Holder(7, 1.0, name_client(), "").process == os.getpid()


@pytest.mark.parametrize(
    "client", ["", "psql", "belated, process 12 on elsewhere", "belated, process 12 on ", "belated"]
)
def test_a_process_of_another_machine_or_program_is_not(client: str) -> None:
    holder = Holder(7, 1.0, client, "10.0.0.5")
    assert holder.process is None
    assert holder.longest == holders.MOST_HELD
    assert str(holder.explain("for asks")) == (
        f"{client or 'a client'}, 10.0.0.5, session 7 has held the lock for asks for 300 s and may be stopped; "
        "let it go on, or end it"
    )


def test_a_long_name_is_cut_where_the_server_would_cut_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("belated.record.ledger.holders.socket.gethostname", lambda: "a" * 100)
    assert len(name_client()) == 63
    assert Holder(7, 1.0, name_client(), "").process == os.getpid()


def test_a_process_that_is_at_work_is_waited_for_without_end() -> None:
    assert Holder(7, 1.0, name_client(), "").longest == float("inf")
