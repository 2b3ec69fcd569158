"""Passwords for PostgreSQL that no url has: from the environment, or from a file that PGPASSFILE names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from belated import Unreachable, studies
from tests.support.postgres import NoPostgres, Server, serve
from tests.support.refusals import refusal


@pytest.fixture(scope="module")
def guarded() -> Iterator[Server]:
    """A server that asks ann for her password."""
    try:
        with serve() as server:
            rules = server.folder / "cluster" / "pg_hba.conf"
            rules.write_text("local all ann scram-sha-256\n" + rules.read_text())
            server.execute("CREATE ROLE ann LOGIN SUPERUSER PASSWORD 's3cret'")
            server.execute("SELECT pg_reload_conf()")
            yield server
    except NoPostgres as error:
        pytest.skip(str(error))


@pytest.fixture
def url(guarded: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("PGPASSWORD", "PGPASSFILE"):
        monkeypatch.delenv(name, raising=False)
    return guarded.url().replace("belated@", "ann@")


def test_without_a_password(url: str) -> None:
    assert "password" in refusal(Unreachable, lambda: studies(url))


def test_from_the_environment(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "s3cret")
    assert studies(url) == []
    monkeypatch.setenv("PGPASSWORD", "wr0ng")
    text = refusal(Unreachable, lambda: studies(url))
    assert "password authentication failed" in text
    assert "wr0ng" not in text


def test_from_a_file(url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "pgpass"
    file.write_text("*:*:*:ann:s3cret\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    assert studies(url) == []
