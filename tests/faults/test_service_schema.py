"""Whatever the OpenAPI document allows, and much that it does not: no server error, no undocumented answer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("schemathesis")

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from jsonschema import Draft202012Validator

from belated import Real, Study, studies
from belated.record.ledger import open_store
from tests.support.servers import Running, run_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    store = f"sqlite:///{tmp_path_factory.mktemp('schema')}/lab.db"
    make_study(store, "pictures")
    with run_server(store) as running:
        yield running


def make_study(store: str, name: str) -> str:
    """A study with four outcomes and a trial that is out; its id."""
    space = {"temperature": Real(20, 90)}
    with Study.create(store, name, space=space, silence="unknown", patience="14d", seed=0) as study:
        for i in range(4):
            study.tell(study.ask(), i / 4)
        study.ask()
    return str(open_store(store).find_origin(name).identity)


SLOW = ("/report", "/plot", "/outlook")
MANY, FEW = 12, 2  # examples of each address
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


def read_document(server: Running, name: str) -> dict[str, Any]:
    """The document; but whoever draws from it finds the study of one operation, and trials that are there."""
    document: dict[str, Any] = server.call("GET", "/api/openapi.json").json
    study = f"id:{make_study(server.store, name)}"  # which stays, whatever it is renamed to
    for said in (said for path in document["paths"].values() for said in path.values()):
        for parameter in said["parameters"]:
            if parameter["name"] == "study":
                parameter["schema"] = {"enum": [study]}
            elif parameter["name"] == "number":
                parameter["schema"] = {"type": "integer", "minimum": 1, "maximum": 6}
    return document


@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_no_call_is_answered_with_a_fault_or_with_what_is_not_documented(server: Running, mode: str) -> None:
    schemathesis.openapi.from_url(f"{server.url}/api/openapi.json")  # loads the checks
    checks = [schemathesis.checks.CHECKS.get_one(name) for name in CHECKS]
    paths = server.call("GET", "/api/openapi.json").json["paths"]
    statuses = Counter[int]()
    for path, method in [(path, method) for path, said in paths.items() for method in said]:
        if path.endswith("/stream"):
            continue  # it has no end; the test below reads its beginning
        name = paths[path][method]["operationId"]
        document = schemathesis.openapi.from_dict(read_document(server, f"{mode}-{name}"))
        document.config.update(base_url=server.url)
        operation = document[path][method]

        @settings(SEEN, max_examples=FEW if path.endswith(SLOW) else MANY)
        @given(case=operation.as_strategy(generation_mode=schemathesis.GenerationMode[mode]))
        def call(case: Any) -> None:
            answer = case.call(timeout=300)
            statuses[answer.status_code] += 1
            case.validate_response(answer, checks=checks)

        try:
            call()
        except Unsatisfiable:
            assert mode == "NEGATIVE"  # nothing about it can be wrong
    assert statuses.total() > 200
    wanted = range(200, 300) if mode == "POSITIVE" else range(400, 401)
    assert sum(statuses[status] for status in wanted) > 100, statuses  # it went into the verbs, not past them


def test_every_example_of_the_document_is_true(server: Running) -> None:
    """What the document shows may be sent as it stands, to a study that is as far as that needs."""
    document = server.call("GET", "/api/openapi.json").json
    for schema in find_schemas(document):
        if "example" in schema:
            Draft202012Validator(schema).validate(schema["example"])
    sent = 0
    for path, said in [(path, said) for path, methods in document["paths"].items() for said in methods.values()]:
        query = urlencode(
            {
                parameter["name"]: parameter["schema"]["example"]
                for parameter in said["parameters"]
                if parameter["in"] == "query" and parameter["required"] and "example" in parameter["schema"]
            }
        )
        for kind, each in said.get("requestBody", {}).get("content", {}).items():
            body = each["example"] if kind == "application/json" else each["example"].encode()
            answers = [
                server.call("POST", f"{path.replace('{study}', study)}?{query}", body, headers={"Content-Type": kind})
                for study in make_stages(server.store)
            ]
            done = 200 in [answer.status for answer in answers]
            assert done == (said["operationId"] != "append"), (path, answers)  # its hash is of one study
            sent += 1
    assert sent > 15


def find_schemas(plain: Any) -> Iterator[dict[str, Any]]:
    """Every schema that the document has."""
    if isinstance(plain, dict):
        if "type" in plain or "anyOf" in plain:
            yield plain
        for name, each in plain.items():
            if name != "example":
                yield from find_schemas(each)
    elif isinstance(plain, list):
        for each in plain:
            yield from find_schemas(each)


def make_stages(store: str) -> Iterator[str]:
    """Studies called catalyst whose trial is out, told, and that are closed: the document's examples are of one."""
    for stage in ("out", "told", "closed"):
        if "catalyst" in studies(store):
            Study.open(store, "catalyst").delete("catalyst", reason="for the next one")
        if "flask" in studies(store):
            Study.open(store, "flask").delete("flask", reason="for the next one")
        space = {"temperature": Real(20, 90)}
        with Study.create(store, "catalyst", space=space, silence="unknown", patience="14d", seed=0) as study:
            study.ask()
            if stage == "told":
                study.tell(1, 0.7)
            elif stage == "closed":
                study.close()
        yield "catalyst"


def test_pictures_and_reports_are_answered_as_documented(server: Running) -> None:
    document = server.call("GET", "/api/openapi.json").json["paths"]
    for path in ("report", "plot?format=svg", "plot?format=png&dpi=40"):
        answer = server.call("GET", f"/api/studies/pictures/{path}")
        said = document[f"/api/studies/{{study}}/{path.partition('?')[0]}"]["get"]["responses"]["200"]["content"]
        assert (answer.status, list(said)) == (200, [answer.headers["content-type"]])
        assert isinstance(answer.json, dict)
    assert server.call("GET", "/api/studies/pictures/plot?format=gif").status == 400


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
    connection.request("GET", f"/api/studies/pictures/stream{query}")
    answer = connection.getresponse()
    kind = answer.headers["Content-Type"]
    assert (answer.status, kind) == STREAMS[query]
    assert kind.partition(";")[0] in said[str(answer.status)]["content"]
    if answer.status == 200:
        assert answer.readline() == b"retry: 2000\n"
    else:
        assert set(json.loads(answer.read())["error"]) == {"code", "message", "field"}
    connection.close()
