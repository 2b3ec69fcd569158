"""Damaged rows: one sentence that names the store and the event, the same on SQLite and PostgreSQL; exit code 2."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from click.testing import CliRunner

from belated import Real, Study, Unreadable, check
from belated.cli import main
from belated.record.ledger.chain import begin_chain, extend_chain, hash_content
from tests.support.refusals import refusal


def lived(url: str) -> Study:
    study = Study.create(url, "lab", space={"x": Real(0, 1)}, silence="unknown", seed=0)
    study.ask(n=2)
    study.tell(1, 0.5)
    return study


def fetch(url: str, statement: str, *words: object) -> list[Any]:
    """Use the tables behind belated's back; they are called studies and events here, and ? stands for a value."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
            return connection.execute(statement, words).fetchall()
    import psycopg

    for table in ("studies", "events"):
        statement = statement.replace(table, f"belated_{table}")
    with psycopg.connect(url, autocommit=True) as connection:
        done = connection.execute(statement.replace("?", "%s").encode(), words)
        return done.fetchall() if done.description else []


def execute(url: str, statement: str, *words: object) -> None:
    """Change them."""
    fetch(url, statement, *words)


def chain_again(url: str) -> None:
    """Compute the hashes anew, as somebody would who changes a record on purpose."""
    found = fetch(url, "SELECT position, kind, number, key, part, body FROM events ORDER BY position")
    head = begin_chain(*fetch(url, "SELECT identity, spec FROM studies")[0])
    for position, *columns in found:
        (head,) = extend_chain(head, [hash_content(tuple(columns))])
        execute(url, "UPDATE events SET hash = ? WHERE position = ?", head.hash, position)
    execute(url, "UPDATE studies SET hash = ?", head.hash)


BODIES = {
    "no JSON": "{",
    "null": "null",
    "a list": "[1]",
    "an unknown event": '{"event": "sang"}',
    "no event": "{}",
    "a field too few": '{"event": "told", "number": 1}',
    "a field too many": '{"event": "closed", "at": 1.0, "why": "?"}',
    "deep": "[" * 100_000,
}


def check_refused(url: str, words: str) -> None:
    """Opening it, and every command that reads it."""
    assert words in refusal(Unreadable, lambda: Study.open(url, "lab"))
    for args in (["show"], ["tell", "2", "0.5"], ["export"], ["ask"]):
        ran = CliRunner().invoke(main, [*args, "--store", url], catch_exceptions=False)
        assert (ran.exit_code, ran.stdout) == (2, "")
        assert words in ran.stderr
        assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize("body", BODIES)
def test_an_event_that_cannot_be_decoded(url: str, body: str) -> None:
    live = lived(url)
    execute(url, "UPDATE events SET body = ? WHERE position = 3", BODIES[body])
    check_refused(url, "is damaged (event 3: ")
    assert live.rounds == 2  # a handle that has read it before goes on
    report = check(url)
    assert [finding.invariant for finding in report.findings] == ["I14"]
    assert CliRunner().invoke(main, ["check", "--store", url]).exit_code == 1


MISFITS = {
    "of a trial that is not there": '{"event": "told", "number": 99, "value": 1.0, "noise": null, "at": 1.0}',
    "of a number that is none": '{"event": "told", "number": "one", "value": 1.0, "noise": null, "at": 1.0}',
    "of a value that is none": '{"event": "told", "number": 1, "value": "high", "noise": null, "at": 1.0}',
    "outside the space": (
        '{"event": "asked", "number": 3, "params": {"y": 1}, "context": null, "knew": 2, '
        '"considered_at": 1.0, "asked_at": 1.0}'
    ),
    "of a query that is none": (
        '{"event": "asked", "number": 3, "params": null, "context": null, "knew": 2, '
        '"considered_at": 1.0, "asked_at": 1.0}'
    ),
}


@pytest.mark.parametrize("misfit", MISFITS)
def test_an_event_that_cannot_have_happened(url: str, misfit: str) -> None:
    lived(url)
    execute(url, "UPDATE events SET body = ? WHERE position = 3", MISFITS[misfit])
    check_refused(url, "is damaged (event 3: it is not as it was written")
    chain_again(url)
    check_refused(url, "the record is damaged (event 3 does not fit those before it (")


def test_an_event_that_is_missing(url: str) -> None:
    lived(url)
    execute(url, "DELETE FROM events WHERE position = 2")
    check_refused(url, "is damaged (event 2: it is missing)")


SPECS: dict[str, Callable[[dict[str, object]], object]] = {
    "null": lambda spec: None,
    "a list": lambda spec: [spec],
    "nothing": lambda spec: {},
    "without its space": lambda spec: {k: v for k, v in spec.items() if k != "space"},
    "an unknown algorithm": lambda spec: {**spec, "algorithm": {"algorithm": "guess"}},
    "an unknown silence": lambda spec: {**spec, "silence": {"silence": "loud"}},
    "a goal that is none": lambda spec: {**spec, "goal": "win"},
    "a space that is none": lambda spec: {**spec, "space": {"kind": "parameters", "names": ["x"], "parameters": [1]}},
    "a patience that is none": lambda spec: {**spec, "patience": -1},
    "a regret that is none": lambda spec: {**spec, "regret": "deep"},
    "a seed that is none": lambda spec: {**spec, "seed": "7"},
}


@pytest.mark.parametrize("what", SPECS)
def test_damaged_settings(url: str, what: str) -> None:
    settings = lived(url).settings
    execute(url, "UPDATE studies SET spec = ?", json.dumps(SPECS[what](settings.spec())))
    check_refused(url, "damaged (")
    again = {"space": settings.space, "silence": "unknown", "seed": 0}
    refusal(Unreadable, lambda: Study.create(url, "lab", **again))  # type: ignore[arg-type]
    assert not check(url).ok


def test_settings_that_are_no_json(url: str) -> None:
    lived(url)
    execute(url, "UPDATE studies SET spec = ?", '{"space": ')
    check_refused(url, "is damaged (event 1: it is not as it was written")


def test_a_table_that_is_gone(url: str) -> None:
    study = lived(url)
    execute(url, "DROP TABLE events")
    for call in (study.ask, lambda: study.tell(2, 0.5), study.trials, lambda: Study.open(url, "lab")):
        refusal(Unreadable, call)
    assert CliRunner().invoke(main, ["show", "--store", url]).exit_code == 2
