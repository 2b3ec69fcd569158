"""Stores of schema 1 open as before: their chain begins with what they have, and the check says so."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from belated import Study
from belated.record.check import check
from belated.record.events import parse_event
from belated.record.ledger.schema import read_migrations

SAMPLE = Path(__file__).with_name("schema_1.db")  # written by the code of 0.1 and of early 0.2


def read_sample() -> tuple[list[tuple[str, str]], dict[str, list[tuple[object, ...]]]]:
    """The studies of the sample, with their settings, and the events of each."""
    connection = sqlite3.connect(f"file:{SAMPLE}?mode=ro&immutable=1", uri=True)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    studies = connection.execute("SELECT name, spec FROM studies ORDER BY id").fetchall()
    query = "SELECT position, kind, number, key, part, body FROM events JOIN studies ON id = study WHERE name = ?"
    events = {name: connection.execute(f"{query} ORDER BY position", (name,)).fetchall() for name, _ in studies}
    connection.close()
    return studies, events


def put_sample(url: str) -> None:
    if url.startswith("sqlite"):
        shutil.copy(SAMPLE, url.removeprefix("sqlite:///"))
        return
    import psycopg

    studies, events = read_sample()
    with psycopg.connect(url) as connection:
        connection.execute(read_migrations("postgres.sql")[1].encode())
        connection.execute("INSERT INTO belated_schema VALUES (1)")
        for study, (name, spec) in enumerate(studies, start=1):
            words = (name, spec, len(events[name]))
            connection.execute("INSERT INTO belated_studies (name, spec, position) VALUES (%s, %s, %s)", words)
            for event in events[name]:
                connection.execute(
                    "INSERT INTO belated_events (study, position, kind, number, key, part, body, token) "
                    "VALUES (%s, %s, %s, %s, %s, %s, %s, 'one')",
                    (study, *event),
                )


def test_a_store_of_schema_1_opens_with_every_event(url: str) -> None:
    put_sample(url)
    studies, events = read_sample()
    assert any('"objective": "simple"' in spec for _, spec in studies)  # a setting by its old name
    assert any("GP-UCB-SDF" in spec and "fitted_to" not in spec for _, spec in studies)
    for name, _ in studies:
        study = Study.open(url, name)
        assert study.events() == [parse_event(str(event[-1])) for event in events[name]]
        assert study.settings.regret == "simple"
        assert study.ask().number == study.rounds
        study.disconnect()
    report = check(url)
    assert report.ok, str(report)
    assert report.remarks == tuple(
        f"{name}: its chain of hashes began after event {len(events[name])}; "
        "earlier events are chained as they were found then"
        for name, _ in studies
    )


@pytest.mark.parametrize("name", ["flasks", "paper"])
def test_its_events_are_guarded_from_then_on(tmp_path: Path, name: str) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    put_sample(url)
    Study.open(url, name).disconnect()
    with sqlite3.connect(tmp_path / "lab.db") as connection:
        connection.execute("UPDATE events SET body = replace(body, '0.5', '0.25') WHERE position = 2")
    connection.close()
    assert "event 2: it is not as it was written" in str(check(url, name))
