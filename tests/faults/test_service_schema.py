"""Whatever the OpenAPI document allows, and much that it does not: no server error, no undocumented answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("schemathesis")

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from belated import Real, Study
from tests.support.servers import Running, run_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    store = f"sqlite:///{tmp_path_factory.mktemp('schema')}/lab.db"
    with Study.create(store, "catalyst", space={"x": Real(0, 1)}, silence="unknown", seed=0) as study:
        for i in range(4):
            study.tell(study.ask(), i / 4)
        study.ask()
    with run_server(store) as running:
        yield running


DRAWN = ("/report", "/plot")  # pictures take their time
MANY, FEW = 8, 2  # examples of each address
SEEN = settings(
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)


@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_no_call_is_answered_with_a_fault_or_with_what_is_not_documented(server: Running, mode: str) -> None:
    schemathesis.engine  # noqa: B018  (loads the checks)
    document = schemathesis.openapi.from_url(f"{server.url}/api/openapi.json")
    checks = [schemathesis.checks.CHECKS.get_one(name) for name in CHECKS]
    tried = 0
    for found in document.get_all_operations():
        operation = found.ok()
        if operation.path.endswith("/stream"):
            continue  # it has no end; the test below reads its beginning

        @settings(SEEN, max_examples=FEW if operation.path.endswith(DRAWN) else MANY)
        @given(case=operation.as_strategy(generation_mode=schemathesis.GenerationMode[mode]))
        def call(case: Any) -> None:
            case.validate_response(case.call(timeout=20), checks=checks)

        try:
            call()
            tried += 1
        except Unsatisfiable:
            assert mode == "NEGATIVE"  # nothing about it can be wrong
    assert tried > 20


def test_pictures_and_reports_are_answered_as_documented(server: Running) -> None:
    document = server.call("GET", "/api/openapi.json").json["paths"]
    for path in ("report", "plot?format=svg", "plot?format=png&dpi=40"):
        answer = server.call("GET", f"/api/studies/catalyst/{path}")
        said = document[f"/api/studies/{{study}}/{path.partition('?')[0]}"]["get"]["responses"]["200"]["content"]
        assert (answer.status, list(said)) == (200, [answer.headers["content-type"]])
        assert isinstance(answer.json, dict)
    assert server.call("GET", "/api/studies/catalyst/plot?format=gif").status == 400


STREAMS = {
    "?after=0": (200, "text/event-stream; charset=utf-8"),
    "?after=99999": (200, "text/event-stream; charset=utf-8"),
    "?after=-1": (400, "application/json"),
    "?after=one": (400, "application/json"),
    "?since=1": (400, "application/json"),
    "?after=1&after=2": (400, "application/json"),
}


@pytest.mark.parametrize("query", STREAMS)
def test_a_stream_begins_as_documented(server: Running, query: str) -> None:
    said = server.call("GET", "/api/openapi.json").json["paths"]["/api/studies/{study}/stream"]["get"]["responses"]
    connection = HTTPConnection(server.url.removeprefix("http://"), timeout=20)
    connection.request("GET", f"/api/studies/catalyst/stream{query}")
    answer = connection.getresponse()
    kind = answer.headers["Content-Type"]
    assert (answer.status, kind) == STREAMS[query]
    assert kind.partition(";")[0] in said[str(answer.status)]["content"]
    if answer.status == 200:
        assert answer.readline() == b"retry: 2000\n"
    else:
        assert set(json.loads(answer.read())["error"]) == {"code", "message", "field"}
    connection.close()
