"""What a server takes at once; every message names its limit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from belated import Real, Study
from belated.service.limits import Limits
from tests.support.servers import Running, run_server

SMALL = Limits(body=2_000, upload=4_000, rows=3, batch=2, page=2, streams=1, rate=10.0)
CHUNKED = {"Transfer-Encoding": "chunked"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    store = f"sqlite:///{tmp_path_factory.mktemp('limits')}/lab.db"
    Study.create(store, "lab", space={"x": Real(0, 1)}, silence="unknown", seed=0).disconnect()
    with run_server(store, limits=SMALL) as running:
        yield running


@pytest.mark.parametrize(
    ("verb", "body", "sentence"),
    [
        ("ask", {"n": 3}, "n may be 2 at most (got 3)"),
        ("ask", {"contexts": [{}, {}, {}]}, "contexts may be 2 at most (got 3)"),
        ("add_many", {"rows": [{"params": {"x": 0.5}}] * 4}, "rows may be 3 at most (got 4)"),
        ("posterior", {"points": [{"x": 0.5}] * 4}, "points may be 3 at most (got 4)"),
        ("fail", {"trial": [1, 2, 3, 4], "kind": "lost"}, "trial may be 3 at most (got 4)"),
        ("ask", {"remark": "x" * 2_000}, "a body may have 2000 bytes (got 2014)"),
    ],
)
def test_too_much_at_once_is_refused_with_the_limit(server: Running, verb: str, body: object, sentence: str) -> None:
    refused = server.call("POST", f"/api/studies/lab/{verb}", body)
    assert (refused.status, refused.json["error"]["code"]) == (413, "too_large")
    assert refused.json["error"]["message"] == sentence


def test_a_file_has_a_limit_whether_its_size_is_stated_or_not(server: Running) -> None:
    path, rows = "/api/studies/lab/import?name=past.csv", b"x,outcome\n" + b"0.5,1\n" * 1_000
    assert server.call("POST", path, rows).json["error"]["message"] == "a body may have 4000 bytes (got 6010)"
    connection = HTTPConnection(server.url.removeprefix("http://"), timeout=10)
    connection.request("POST", path, iter([rows[:3000], rows[3000:]]), encode_chunked=True, headers=CHUNKED)
    refused = connection.getresponse()
    assert json.loads(refused.read())["error"]["message"] == "a body may have 4000 bytes (got more)"
    connection.close()


def test_a_page_has_a_limit(server: Running) -> None:
    assert (
        server.call("GET", "/api/studies/lab/trials?limit=3").json["error"]["message"] == "limit must be 1 to 2 (got 3)"
    )


def test_too_often_is_refused_with_the_limit(server: Running) -> None:
    answers = [server.call("GET", "/api/studies/lab/trials/1") for _ in range(250)]
    refused = [each for each in answers if each.status == 429]
    assert refused
    assert "a token may make 10 calls in a second" in refused[0].json["error"]["message"]
    assert refused[0].headers["retry-after"] == "1"
