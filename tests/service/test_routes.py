"""The API: the study's verbs over HTTP, with the study's sentences."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from urllib.parse import quote

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from belated import Real, Study
from belated.service.routes import join_pieces
from tests.support.servers import Reply, Running, run_server

SPACE = {"x": {"kind": "real", "low": 0, "high": 1}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    store = f"sqlite:///{tmp_path_factory.mktemp('api')}/lab.db"
    with run_server(store) as running:
        yield running


@pytest.fixture
def lab(server: Running, request: pytest.FixtureRequest) -> str:
    """The address of a new study."""
    name = request.node.name
    made = server.call("POST", "/api/studies", {"name": name, "space": SPACE, "silence": "unknown", "seed": 0})
    assert made.status == 200, made.body
    return f"/api/studies/{name}"


def test_ask_tell_and_look(server: Running, lab: str) -> None:
    trial = server.call("POST", f"{lab}/ask", {}).json
    assert (trial["number"], trial["status"]) == (1, "pending")
    assert server.call("POST", f"{lab}/tell", {"trial": 1, "value": 0.5}).json["status"] == "heard"
    assert server.call("POST", f"{lab}/tell", {"trial": 1, "value": 0.5}).json["status"] == "duplicate"
    assert server.call("GET", f"{lab}/best").json["value"] == 0.5
    page = server.call("GET", f"{lab}/trials").json
    assert (page["total"], page["trials"][0]["params"]) == (1, trial["params"])
    assert [each["event"]["event"] for each in server.call("GET", f"{lab}/events").json["events"]] == ["asked", "told"]


def test_an_error_has_a_code_the_sentence_and_the_field(server: Running, lab: str) -> None:
    server.call("POST", f"{lab}/ask", {})
    server.call("POST", f"{lab}/tell", {"trial": 1, "value": 0.5})
    refused = server.call("POST", f"{lab}/tell", {"trial": 1, "value": "0.5"})
    assert refused.status == 400
    assert refused.json == {
        "error": {"code": "invalid_input", "message": "value must be a number (got '0.5')", "field": "value"}
    }
    conflict = server.call("POST", f"{lab}/tell", {"trial": 1, "value": 0.7})
    assert (conflict.status, conflict.json["error"]["code"]) == (409, "already_told")


def test_an_error_in_an_address_has_its_field_too(server: Running, lab: str) -> None:
    for path, field in (
        ("trials?limit=0", "limit"), ("trials?status=here", "status"), ("trials?skip=-1", "skip"),
        ("trials?order=up", "order"), ("trials/first", "number"), ("events?event=sold", "event"),
        ("export?format=xml", "format"), ("stream?after=x", "after"), ("chart?chart=pie", "chart"),
    ):  # fmt: skip
        error = server.call("GET", f"{lab}/{path}").json["error"]
        assert (error["code"], error["field"]) == ("invalid_input", field)


def test_of_many_who_tell_at_the_same_time_each_is_answered_for_itself(server: Running, lab: str) -> None:
    """News are news, of those who contradict each other about one trial one is heard, and nonsense is refused."""
    server.call("POST", f"{lab}/ask", {"n": 9})
    own = [{"trial": number, "value": number / 10, "by": f"client {number}"} for number in range(1, 9)]
    against = [{"trial": 9, "value": number / 10} for number in range(8)]
    nonsense: list[dict[str, object]] = [{"trial": 10, "value": 0.5}, {"trial": 1, "value": "0.5"}, {"nothing": 0}]
    with ThreadPoolExecutor(19) as clients:
        told = partial(server.call, "POST", f"{lab}/tell")
        replies = [reply.result(60) for reply in [clients.submit(told, body) for body in (*own, *against, *nonsense)]]
    assert [(reply.json["number"], reply.json["status"]) for reply in replies[:8]] == [
        (number, "heard") for number in range(1, 9)
    ]
    assert Counter(reply.status for reply in replies[8:16]) == {200: 1, 409: 7}
    assert [reply.status for reply in replies[16:]] == [404, 400, 400]
    outcomes = {t["number"]: t["outcome"] for t in server.call("GET", f"{lab}/trials").json["trials"]}
    heard = next(body["value"] for body, reply in zip(against, replies[8:16], strict=True) if reply.status == 200)
    assert outcomes == {**{body["trial"]: body["value"] for body in own}, 9: heard}
    told_by = [each["event"] for each in server.call("GET", f"{lab}/events").json["events"] if each["event"].get("by")]
    assert {each["by"] for each in told_by} == {f"client {each['number']}" for each in told_by}
    assert len(told_by) == 8


def test_a_retry_with_the_same_key_is_done_once(server: Running, lab: str) -> None:
    key = {"Idempotency-Key": "one call"}
    first = server.call("POST", f"{lab}/ask", {}, headers=key).json
    assert server.call("POST", f"{lab}/ask", {}, headers=key).json == first
    key = {"Idempotency-Key": "another call"}
    told = server.call("POST", f"{lab}/tell", {"trial": 1, "value": 1.0}, headers=key).json
    assert server.call("POST", f"{lab}/tell", {"trial": 1, "value": 1.0}, headers=key).json == told
    server.call("POST", f"{lab}/ask", {"n": 3})
    key, body = {"Idempotency-Key": "many"}, {"rows": [{"trial": 2, "value": 0.1}, {"trial": 4, "value": 0.2}]}
    many = server.call("POST", f"{lab}/tell_many", body, headers=key).json
    assert server.call("POST", f"{lab}/tell_many", body, headers=key).json == many
    assert [each["status"] for each in many] == ["heard", "heard"]
    assert [each["status"] for each in server.call("POST", f"{lab}/tell_many", body).json] == ["duplicate"] * 2
    body["rows"][0]["value"] = 0.7
    assert server.call("POST", f"{lab}/tell_many", body, headers=key).json["error"]["code"] == "key_taken"
    key, body = {"Idempotency-Key": "a correction"}, {"trial": 1, "take_back": True, "reason": "another flask's"}
    amended = server.call("POST", f"{lab}/amend", body, headers=key).json
    assert server.call("POST", f"{lab}/amend", body, headers=key).json == amended
    assert amended["status"] == "pending"
    key = {"Idempotency-Key": "an undo"}
    undone = server.call("POST", f"{lab}/undo", {}, headers=key).json
    assert server.call("POST", f"{lab}/undo", {}, headers=key).json == undone
    assert [each["event"]["event"] for each in server.call("GET", f"{lab}/events").json["events"]] == [
        *("asked", "told", "asked", "asked", "asked", "told", "told", "amended", "undone")
    ]


def test_what_is_the_same_is_not_sent_again(server: Running, lab: str) -> None:
    for path in (lab, f"{lab}/trials", f"{lab}/events", f"{lab}/trials/1"):
        server.call("POST", f"{lab}/ask", {"key": "once"})
        tag = server.call("GET", path).headers["etag"]
        again = server.call("GET", path, headers={"If-None-Match": tag})
        assert (again.status, again.body) == (304, b"")
    server.call("POST", f"{lab}/tell", {"trial": 1, "value": 0.5})
    assert server.call("GET", lab, headers={"If-None-Match": tag}).status == 200


def test_a_study_is_found_by_its_id_after_a_rename(server: Running, lab: str) -> None:
    identity = server.call("GET", lab).json["id"]
    assert server.call("POST", f"{lab}/rename", {"name": f"{identity}-new"}).json is None
    assert server.call("GET", lab).status == 404
    assert server.call("GET", f"/api/studies/id:{identity}").json["name"] == f"{identity}-new"
    assert Study.open(server.store, f"{identity}-new").rounds == 0


def test_events_are_filtered_and_paged(server: Running, lab: str) -> None:
    server.call("POST", f"{lab}/ask", {"n": 3, "by": "robot"})
    for number in (2, 1, 3):
        server.call("POST", f"{lab}/tell", {"trial": number, "value": number / 4, "by": "anna"})

    def read(query: str) -> list[int]:
        return [each["position"] for each in server.call("GET", f"{lab}/events?{query}").json["events"]]

    assert read("") == [1, 2, 3, 4, 5, 6]
    assert read("by=anna") == [4, 5, 6]
    assert read("by=anna&limit=2") == [4, 5]
    assert read("by=anna&limit=2&after=5") == [6]
    assert read("trial=2") == [2, 4]
    assert read("event=told&trial=1") == [5]
    assert read("by=eve") == []
    every = server.call("GET", f"{lab}/events").json["events"]
    assert server.call("GET", f"{lab}/events?event=asked").json["events"] == every[:3]
    assert server.call("GET", f"{lab}/events?event=lost").json["error"]["message"].startswith("event must be one of ")


def test_names_may_have_letters_of_any_script(server: Running) -> None:
    for name in ("катализ", "Größe"):
        with Study.create(server.store, name, space={"x": Real(0, 1)}, silence="unknown", seed=0) as study:
            study.ask()
        for written in (name, unicodedata.normalize("NFD", name)):
            sent = server.call("GET", f"/api/studies/{quote(written)}/export")
            assert sent.status == 200
            assert sent.headers["content-disposition"] == f"attachment; filename*=UTF-8''{quote(name)}.csv"


CSV = b"x,outcome\n0.5,0.7\n0.25,0.1\n"


def send(server: Running, lab: str, query: str, body: bytes, token: str | None = None) -> Reply:
    kind = {"Content-Type": "application/octet-stream"}
    return server.call("POST", f"{lab}/import?{query}", body, token=token, headers=kind)


def test_a_file_is_sent_as_it_is_tried_and_imported_once(server: Running, lab: str) -> None:
    would = send(server, lab, "name=past.csv&dry_run=true", CSV).json
    assert would["sentence"] == "Would import 2 rows: 2 new trials, 0 here before, 2 outcomes"
    assert server.call("GET", f"{lab}/trials").json["total"] == 0
    assert send(server, lab, "name=past.csv", CSV).json["new"] == 2
    assert send(server, lab, "name=past.csv", CSV).json["known"] == 2
    mapped = send(server, lab, "name=a.csv&map=y%3Doutcome&map=who%3D", b"x,y,who\n0.75,0.2,anna\n").json
    assert (mapped["told"], mapped["left_out"], mapped["remarks"]) == (1, ["who"], [])
    lines = b'{"params": {"x": 0.125}, "outcome": 0.3}\n'
    assert send(server, lab, "name=more.jsonl", lines).json["told"] == 1
    assert server.call("GET", f"{lab}/trials").json["total"] == 4


def test_a_wrong_file_is_refused_by_the_name_that_its_sender_gave(server: Running, lab: str) -> None:
    refused = send(server, lab, "name=past.csv", b"x,outcome\n0.5,0.7\n0.5,high\n")
    assert (refused.status, refused.json["error"]["code"]) == (400, "invalid_input")
    assert refused.json["error"]["message"].splitlines() == [
        "nothing was recorded: a line is wrong",
        "  past.csv:3: outcome must be a number (got 'high')",
    ]
    said = send(server, lab, "name=past.txt", CSV).json["error"]["message"]
    assert said == "FILE must end in .csv, .xlsx or .jsonl (got past.txt)"
    assert send(server, lab, "", CSV).json["error"]["message"] == "name must be given"
    assert server.call("POST", f"{lab}/import?name=a.csv&file=/etc/passwd", CSV).status == 400  # it is no field
    assert server.call("GET", f"{lab}/trials").json["total"] == 0


def test_an_edited_export_needs_a_reason(server: Running, lab: str) -> None:
    server.call("POST", f"{lab}/ask", {})
    server.call("POST", f"{lab}/tell", {"trial": 1, "value": 0.5})
    edited = server.call("GET", f"{lab}/export").body.replace(b",0.5,", b",0.75,")
    refused = send(server, lab, "name=lab.csv", edited)
    assert (refused.status, refused.json["error"]["code"]) == (400, "unexplained_edits")
    assert "lab.csv:2: trial 1: the outcome is 0.75, not 0.5" in refused.json["error"]["message"]
    assert send(server, lab, "name=lab.csv&amend=a%20typo", edited).json["amended"] == 1
    assert server.call("GET", f"{lab}/trials/1").json["outcome"] == 0.75


def test_a_file_is_sent_in_pieces_that_are_not_too_small() -> None:
    assert list(join_pieces(["ab", "cd", "e", "", "fgh", "i"], least=3)) == ["abcd", "efgh", "i"]
    assert list(join_pieces([])) == []
