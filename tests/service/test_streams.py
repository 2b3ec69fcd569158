"""Server-sent events: what happens in a study, as it happens, whoever wrote it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from belated import Real, Study
from belated.service.limits import Limits
from tests.support.servers import Running, run_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    store = f"sqlite:///{tmp_path}/lab.db"
    Study.create(store, "lab", space={"x": Real(0, 1)}, silence="unknown", seed=0).disconnect()
    with run_server(store, limits=Limits(streams=2)) as running:
        yield running


def follow(server: Running, path: str, **headers: str) -> tuple[HTTPConnection, HTTPResponse]:
    connection = HTTPConnection(server.url.removeprefix("http://"), timeout=10)
    connection.request("GET", f"/api/studies/lab/stream{path}", headers=headers)
    return connection, connection.getresponse()


def read_events(answer: HTTPResponse, count: int) -> list[tuple[int, str, Any]]:
    """(position, kind, data) of the next events."""
    found, said = list[tuple[int, str, Any]](), dict[str, str]()
    while len(found) < count:
        line = answer.readline().decode().rstrip("\n")
        if line:
            name, _, text = line.partition(": ")
            said[name] = text
        elif "data" in said:
            found.append((int(said["id"]), said["event"], json.loads(said["data"])))
            said = {}
    return found


def test_a_stream_has_what_was_what_comes_and_what_others_write(server: Running) -> None:
    server.call("POST", "/api/studies/lab/ask", {})
    connection, answer = follow(server, "?after=0")
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    assert [each[:2] for each in read_events(answer, 1)] == [(1, "asked")]
    server.call("POST", "/api/studies/lab/tell", {"trial": 1, "value": 0.5})
    ((position, kind, data),) = read_events(answer, 1)
    assert (position, kind, data["event"]["value"]) == (2, "told", 0.5)
    with Study.open(server.store, "lab") as elsewhere:
        elsewhere.close()
    assert [each[:2] for each in read_events(answer, 1)] == [(3, "closed")]
    connection.close()


def test_a_stream_goes_on_where_it_was_lost(server: Running) -> None:
    for _ in range(3):
        server.call("POST", "/api/studies/lab/ask", {})
    connection, answer = follow(server, "", **{"Last-Event-ID": "2"})
    assert [each[0] for each in read_events(answer, 1)] == [3]
    connection.close()


def test_there_is_a_limit_to_streams(server: Running) -> None:
    kept = [follow(server, "?after=0") for _ in range(2)]
    for _, answer in kept:
        answer.readline()
    third, refused = follow(server, "")
    assert refused.status == 503
    assert json.loads(refused.read())["error"]["message"].startswith("2 streams are open")
    for connection in (third, *(each for each, _ in kept)):
        connection.close()


def test_a_stream_ends_when_its_token_is_revoked(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/lab.db"
    Study.create(store, "lab", space={"x": Real(0, 1)}, silence="unknown", seed=0).disconnect()
    with run_server(store, open_to_all=False) as server:
        eve, _ = server.service.tokens.make("eve", "read")
        connection, answer = follow(server, "?after=0", Authorization=f"Bearer {eve}")
        with Study.open(store, "lab") as study:
            study.ask()
            assert [each[:2] for each in read_events(answer, 1)] == [(1, "asked")]
            server.service.tokens.revoke("eve")
            server.service.access.forget()  # it is known for five seconds else
            study.ask()
        rest = answer.read().decode()  # to its end
        assert "event: refused" in rest
        assert "not_signed_in" in rest
        assert "asked" not in rest
        connection.close()
