"""What a PostgreSQL server refuses: one sentence, the errors that SQLite has too, and exit code 2."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from belated import Real, Study, Unreachable, Unreadable, check, studies
from belated.cli import main
from tests.support.postgres import Server
from tests.support.refusals import refusal

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install belated[postgres]")


def create(url: str, name: str = "lab") -> Study:
    return Study.create(url, name, space={"x": Real(0, 1)}, silence="unknown", seed=0)


def execute(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def check_refused(url: str, *commands: str) -> None:
    for command in commands:
        ran = CliRunner().invoke(main, [*command.split(), "--store", url], catch_exceptions=False)
        assert (ran.exit_code, ran.stdout) == (2, ""), ran.output
        assert len(ran.stderr.splitlines()) == 1


@pytest.fixture
def lab(postgres_url: str) -> str:
    """A store with a study that has two trials, of which the first has an outcome."""
    with create(postgres_url) as study:
        study.ask(n=2)
        study.tell(1, 0.5)
    return postgres_url


def test_a_database_that_is_read_only(lab: str) -> None:
    """As on a replica: it can be read and checked, and not be written."""
    url = f"{lab}&options=-c%20default_transaction_read_only%3Don"
    study = Study.open(url, "lab")
    for call in (study.ask, lambda: study.tell(2, 0.5), study.close, lambda: create(url, "other")):
        text = refusal(Unreachable, call)
        assert "could not be used (cannot execute " in text
        assert "in a read-only transaction" in text
    assert study.trial(1).outcome == 0.5
    assert check(url).ok
    check_refused(url, "ask", "tell 2 0.5", "close")
    for command in ("show", "export", "check"):
        assert CliRunner().invoke(main, [command, "--store", url]).exit_code == 0
    assert Study.open(lab, "lab").rounds == 2


@pytest.fixture
def reader(postgres: Server, lab: str) -> Iterator[str]:
    """The same store, for a user who may do nothing yet."""
    postgres.execute("CREATE ROLE reader LOGIN")
    try:
        yield lab.replace("belated@", "reader@")
    finally:
        execute(lab, "DROP OWNED BY reader")
        postgres.execute("DROP ROLE reader")


def test_a_user_without_rights(reader: str, lab: str) -> None:
    assert "permission denied for table" in refusal(Unreachable, lambda: studies(reader))
    check_refused(reader, "show", "ask")
    execute(lab, "GRANT SELECT ON belated_schema, belated_studies, belated_events TO reader")
    study = Study.open(reader, "lab")
    assert study.trial(1).outcome == 0.5
    for call in (study.ask, lambda: study.tell(2, 0.5)):
        assert "permission denied for table" in refusal(Unreachable, call)
    check_refused(reader, "tell 2 0.5", "ask")
    assert Study.open(lab, "lab").rounds == 2
    assert Study.open(lab, "lab").ask().number == 3  # no lock was left behind


def test_a_user_who_may_not_make_the_tables(reader: str, lab: str) -> None:
    execute(lab, "DROP TABLE belated_events, belated_snapshots, belated_studies, belated_schema")
    assert "permission denied for schema public" in refusal(Unreachable, lambda: create(reader))


@pytest.mark.parametrize("statement", ["DROP TABLE belated_schema", "DELETE FROM belated_schema"])
def test_tables_without_their_version(lab: str, statement: str) -> None:
    execute(lab, statement)
    text = refusal(Unreadable, lambda: Study.open(lab, "lab"))
    assert "are not as belated made them (relation " in text
    assert "already exists)" in text
    check_refused(lab, "show", "ask")


def test_tables_of_somebody_else(postgres_url: str) -> None:
    execute(postgres_url, "CREATE TABLE belated_schema (colour TEXT)")
    assert 'column "version" does not exist' in refusal(Unreadable, lambda: create(postgres_url))
    check_refused(postgres_url, "show")


def test_a_negative_schema(lab: str) -> None:
    execute(lab, "UPDATE belated_schema SET version = -5")
    assert "is damaged (its schema is -5)" in refusal(Unreadable, lambda: Study.open(lab, "lab"))
