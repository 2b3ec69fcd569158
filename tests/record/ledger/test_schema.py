"""Stores of older schemas open as before. The chain of those of schema 1 begins with what they have, and the check says
so."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from belated import Study, Unreadable, studies
from belated.record.check import check
from belated.record.events import parse_event
from belated.record.ledger.schema import read_migrations
from tests.support.refusals import refusal

HERE = Path(__file__).parent
SAMPLES = {1: 1, 2: 2, 3: 3, 4: 3}  # by schema; PostgreSQL's schema 4 has the tables of SQLite's 3
TABLES = {  # by schema, those that are new in it
    1: {"studies": ("name", "spec"), "events": ("study", "position", "kind", "number", "key", "part", "body")},
    2: {"studies": ("identity", "position", "hash", "sealed"), "events": ("hash",)},
    3: {"tombstones": ("identity", "name", "position", "hash", "person", "at", "reason")},
}
# Written by the code of 0.1 and of 0.2 on its way: schema_1.db by that of 0.1, and so on.
ON_SQLITE, ON_POSTGRES = (1, 2, 3), (1, 2, 3, 4)


class Sample(NamedTuple):
    """A store of an older schema."""

    url: str
    schema: int

    @property
    def names(self) -> list[str]:
        return {1: ["flasks", "paper"], 2: ["flasks", "paper"], 3: ["flasks", "the-paper"]}[SAMPLES[self.schema]]

    def read(self, query: str) -> list[Any]:
        """From the sample as it was written."""
        with closing(open_sample(self.schema)) as connection:
            return connection.execute(query).fetchall()

    def read_bodies(self, name: str) -> list[str]:
        query = f"SELECT body FROM events JOIN studies ON id = study WHERE name = '{name}' ORDER BY events.position"  # noqa: S608
        return [body for (body,) in self.read(query)]

    def execute(self, statement: str) -> list[Any]:
        """In the store itself; its tables are called as SQLite's are."""
        if self.url.startswith("sqlite"):
            with closing(sqlite3.connect(self.url.removeprefix("sqlite:///"))) as connection, connection:
                return connection.execute(statement).fetchall()
        import psycopg

        for table in ("studies", "events", "tombstones", "snapshots"):
            statement = statement.replace(f" {table}", f" belated_{table}")
        with psycopg.connect(self.url, autocommit=True) as connection:
            done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []

    def read_version(self) -> int:
        if self.url.startswith("sqlite"):
            return int(self.execute("PRAGMA user_version")[0][0])
        return int(self.execute("SELECT version FROM belated_schema")[0][0])


def open_sample(schema: int) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{HERE}/schema_{SAMPLES[schema]}.db?mode=ro&immutable=1", uri=True)


def put_on_postgres(url: str, schema: int) -> None:
    """The tables as this schema made them, with the rows of the sample."""
    import psycopg

    with psycopg.connect(url) as connection, closing(open_sample(schema)) as sample:
        for step in range(1, schema + 1):
            connection.execute(read_migrations("postgres.sql")[step].encode())
        connection.execute("INSERT INTO belated_schema VALUES (%s)", (schema,))
        columns: dict[str, list[str]] = {}
        for since, tables in TABLES.items():
            for table, names in tables.items():
                columns.setdefault(table, []).extend(names if since <= schema else ())
        for table, names in columns.items():
            there = ", ".join(names)
            rows = [] if not names else sample.execute(f"SELECT {there} FROM {table}").fetchall()  # noqa: S608
            for place, row in enumerate(rows):
                words = dict(zip(names, row, strict=True)) | ({"token": f"{place}"} if table == "events" else {})
                marks = ", ".join(f"%({name})s" for name in words)
                connection.execute(f"INSERT INTO belated_{table} ({', '.join(words)}) VALUES ({marks})".encode(), words)  # noqa: S608
        if schema == 1:
            connection.execute(
                "UPDATE belated_studies SET position = (SELECT count(*) FROM belated_events WHERE study = id)"
            )


@contextmanager
def sample_at(kind: str, schema: int, request: pytest.FixtureRequest, folder: Path) -> Iterator[Sample]:
    if kind == "sqlite":
        shutil.copy(HERE / f"schema_{schema}.db", folder / "lab.db")
        yield Sample(f"sqlite:///{folder}/lab.db", schema)
        return
    url = str(request.getfixturevalue("postgres_url"))
    put_on_postgres(url, schema)
    yield Sample(url, schema)


PLACES = [pytest.param(("sqlite", one), id=f"sqlite-{one}") for one in ON_SQLITE] + [
    pytest.param(("postgresql", one), id=f"postgresql-{one}", marks=pytest.mark.faults) for one in ON_POSTGRES
]


@pytest.fixture(params=PLACES)
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sample]:
    with sample_at(*request.param, request, tmp_path) as found:
        yield found


def test_a_store_of_an_older_schema_opens_with_every_event(sample: Sample) -> None:
    assert sample.read_version() == sample.schema
    counts = {name: len(sample.read_bodies(name)) for name in sample.names}
    assert all(count >= 7 for count in counts.values())
    assert studies(sample.url) == sample.names
    assert sample.read_version() == (4 if sample.url.startswith("sqlite") else 5)
    for name in sample.names:
        study = Study.open(sample.url, name)
        assert study.events() == [parse_event(body) for body in sample.read_bodies(name)]
        if study.closed:
            study.reopen(reason="there is more to find")
        assert study.ask().number == study.rounds
        study.disconnect()
    report = check(sample.url)
    assert report.ok, str(report)
    sealed = "its chain of hashes began after event {}; earlier events are chained as they were found then"
    if sample.schema == 1:
        assert report.remarks == tuple(f"{name}: {sealed.format(count)}" for name, count in counts.items())
    elif sample.schema == 2:
        assert report.remarks == ()
    else:
        assert [remark[:24] for remark in report.remarks] == ["gone was deleted by Anna"]


def test_its_chain_is_the_one_that_was_written(sample: Sample) -> None:
    studies(sample.url)
    heads = sample.execute("SELECT name, identity, position, hash FROM studies ORDER BY name")
    if sample.schema == 1:
        assert [len(identity) for _, identity, *_ in heads] == [32, 32]
    else:
        assert heads == sample.read("SELECT name, identity, position, hash FROM studies ORDER BY name")


def test_old_names_of_settings_are_understood(tmp_path: Path) -> None:
    shutil.copy(HERE / "schema_1.db", tmp_path / "lab.db")
    specs = Sample("", 1).read("SELECT spec FROM studies")
    assert any('"objective": "simple"' in spec for (spec,) in specs)
    assert any("GP-UCB-SDF" in spec and "fitted_to" not in spec for (spec,) in specs)
    for name in ("flasks", "paper"):
        assert Study.open(f"sqlite:///{tmp_path}/lab.db", name).settings.regret == "simple"


def test_a_migration_happens_completely_or_not_at_all(sample: Sample) -> None:
    """The last step fails, because somebody has a table of that name; then the steps before it have not happened."""
    tables = "SELECT * FROM studies"
    before, body = sample.execute(tables), sample.execute("SELECT * FROM events ORDER BY study, position")
    sample.execute("CREATE TABLE snapshots (mine INTEGER)")
    assert "snapshots" in refusal(Unreadable, lambda: studies(sample.url))
    assert sample.read_version() == sample.schema
    assert sample.execute(tables) == before
    assert sample.execute("SELECT * FROM events ORDER BY study, position") == body
    sample.execute("DROP TABLE snapshots")
    assert studies(sample.url) == sample.names
    assert check(sample.url).ok


@pytest.mark.parametrize("name", ["flasks", "paper"])
def test_events_without_a_chain_are_guarded_from_then_on(tmp_path: Path, name: str) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    shutil.copy(HERE / "schema_1.db", tmp_path / "lab.db")
    Study.open(url, name).disconnect()
    with sqlite3.connect(tmp_path / "lab.db") as connection:
        connection.execute("UPDATE events SET body = replace(body, '0.5', '0.25') WHERE position = 2")
    connection.close()
    assert "event 2: it is not as it was written" in str(check(url, name))
