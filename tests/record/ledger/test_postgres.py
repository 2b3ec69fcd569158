"""The ledger in a PostgreSQL database, against the contract; and its turns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import belated
from belated import Real, Study, check
from belated.errors import Unreachable, Unreadable
from belated.record.ledger import open_store
from tests.contracts.ledger import Handles, LedgerContract, asked, everything, open_handles
from tests.support.postgres import Server
from tests.support.refusals import refusal

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install belated[postgres]")


@pytest.fixture(scope="module")
def database(postgres: Server) -> Iterator[str]:
    """One database for the whole contract: every test has a study of its own in it."""
    with postgres.database() as url:
        yield url


class TestPostgres(LedgerContract):
    @pytest.fixture
    def handles(self, database: str) -> Iterator[Handles]:
        with open_handles(database) as handles:
            yield handles


@pytest.mark.parametrize("statement", ["READ", "APPEND_AND_LEAVE", "LEAVE"])
def test_a_turn_that_goes_wrong_leaves_no_lock_behind(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    """A statement may fail though its connection lives on, and would keep the lock."""
    from belated.record.ledger import postgres

    one, two = open_store(postgres_url), open_store(postgres_url)
    one.create("a", {})
    with one.ledger("a").lock_asks() as turn:
        held: Any = turn
        execute = held.connection.execute

        def fails(query: str, *words: object) -> Any:
            if query == getattr(postgres, statement):
                raise psycopg.errors.QueryCanceled("canceling statement due to statement timeout")
            return execute(query, *words)

        monkeypatch.setattr(held.connection, "execute", fails)
        assert everything(turn) == []
        if statement != "LEAVE":
            assert turn.append([asked(1)]).position == 1
    with two.ledger("a").lock_asks() as turn:
        assert turn.append([asked(2)]).position == (1 if statement == "LEAVE" else 2)
    for each in (one, two):
        each.close()


def test_a_newer_schema(postgres_url: str) -> None:
    open_store(postgres_url).close()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("UPDATE belated_schema SET version = 99")
    for call in (
        lambda: Study.open(postgres_url, "lab"),
        lambda: Study.create(postgres_url, "lab", space={"x": Real(0, 1)}, silence="unknown"),
    ):
        assert "was written by a newer belated (schema 99, this one knows 5)" in refusal(Unreadable, call)


def test_a_server_that_is_not_there() -> None:
    text = refusal(Unreachable, lambda: Study.open("postgresql://ann:s3cret@127.0.0.1:1/lab", "lab"))
    assert text.startswith("the server of postgresql://ann:***@127.0.0.1:1/lab cannot be reached (")


@pytest.mark.parametrize(("stated", "limit"), [("", 2), ("?connect_timeout=7", None)])
def test_a_server_that_does_not_answer_is_not_waited_for_long(
    monkeypatch: pytest.MonkeyPatch, stated: str, limit: int | None
) -> None:
    """Unless the url says so: not much longer than two seconds, of which one attempt to connect may take all."""
    slept, asked_for = list[float](), list[Any]()

    def connect(url: str, **words: Any) -> Any:
        asked_for.append(words.get("connect_timeout"))
        raise psycopg.OperationalError("no answer")

    monkeypatch.setattr(psycopg, "connect", connect)
    monkeypatch.setattr("belated.record.ledger.postgres.time.sleep", slept.append)
    text = refusal(Unreachable, lambda: belated.studies(f"postgresql://ann:s3cret@h/lab{stated}"))
    assert text == f"the server of postgresql://ann:***@h/lab{stated} cannot be reached (no answer)"
    assert set(asked_for) == {limit}
    assert 0 < sum(slept) <= 2


@pytest.mark.parametrize(
    ("kind", "name", "more"),
    [
        ("index", "belated_events_once", ""),
        ("index", "belated_events_tokens", ""),
        ("index", "belated_studies_identity", ""),
        ("table", "belated_snapshots", ""),
        ("function", "belated_turn", "(INTEGER, INTEGER, INTEGER, TEXT, TEXT, BIGINT)"),
    ],
)
def test_what_is_missing_of_the_schema_is_found(postgres_url: str, kind: str, name: str, more: str) -> None:
    open_store(postgres_url).close()
    assert check(postgres_url).ok
    with psycopg.connect(postgres_url) as connection:
        connection.execute(f"DROP {kind} {name}{more}".encode())
    findings = check(postgres_url).findings
    assert [finding.sentence for finding in findings] == [f"the {kind} {name} is missing"]
