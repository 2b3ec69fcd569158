"""The table of bad input, through HTTP: one clear sentence, nothing stored."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from belated import Real, Study
from tests.support.servers import Running, run_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    store = f"sqlite:///{tmp_path_factory.mktemp('bodies')}/lab.db"
    with Study.create(store, "lab", space={"x": Real(0, 1)}, silence="unknown", limits=(-5, 5), seed=0) as study:
        study.ask()
    with run_server(store) as running:
        yield running


FINITE, NUMBER = "numbers must be finite", "value must be a number (got"
TELLS = {
    "NaN": (b'{"trial": 1, "value": NaN}', FINITE),
    "Infinity": (b'{"trial": 1, "value": -Infinity}', FINITE),
    "1e999": (b'{"trial": 1, "value": 1e999}', FINITE),
    "10**400": (
        b'{"trial": 1, "value": 1' + b"0" * 400 + b"}",
        "value must be a finite number (got an integer of about",
    ),
    "5000 digits": (b'{"trial": 1, "value": ' + b"7" * 5000 + b"}", "a number is too long"),
    "true": (b'{"trial": 1, "value": true}', NUMBER),
    "a string": (b'{"trial": 1, "value": "0.5"}', NUMBER),
    "a list": (b'{"trial": 1, "value": [0.5]}', NUMBER),
    "null": (b'{"trial": 1, "value": null}', NUMBER),
    "missing": (b'{"trial": 1}', NUMBER),
    "a key twice": (b'{"trial": 1, "value": 0.5, "value": 0.7}', "keys must differ (got 'value' twice)"),
    "nested": (b"[" * 100_000, "this JSON is nested too deeply"),
    "nested a little": (b'{"trial": 1, "value": ' + b"[" * 70 + b"]" * 70 + b"}", "this JSON is nested too deeply"),
    "not UTF-8": (b'{"trial": 1, "value": "\xff"}', "the body must be UTF-8 (byte 23 is not)"),
    "not JSON": (b"trial=1", "this is not JSON"),
    "no object": (b"[1, 0.5]", "the body must be a JSON object (got [1, 0.5])"),
    "another field": (b'{"trial": 1, "value": 0.5, "valeu": 1}', "valeu: there is no such field"),
    "outside its limits": (b'{"trial": 1, "value": 7}', "limits"),
    "trial 0": (b'{"trial": 0, "value": 0.5}', "there is no trial 0; only trial 1 exists"),
    "trial 1.5": (b'{"trial": 1.5, "value": 0.5}', "there is no trial 1.5"),
    "trial true": (b'{"trial": true, "value": 0.5}', "there is no trial True"),
    "of another study": (
        b'{"trial": {"number": 1, "params": {"x": 2}}, "value": 0.5}',
        "this is a trial of another one",
    ),
    "no such parameter": (b'{"trial": 1, "value": 0.5, "params": {"y": 1}}', "y: there is no such parameter"),
    "a moment": (b'{"trial": 1, "value": 0.5, "at": "yesterday"}', "at must be a time such as 2026-03-01T14:30"),
}


@pytest.mark.parametrize("wrong", TELLS)
def test_a_bad_tell_is_refused_in_a_sentence_and_nothing_is_stored(server: Running, wrong: str) -> None:
    body, sentence = TELLS[wrong]
    before = server.call("GET", "/api/studies/lab/events").body
    refused = server.call("POST", "/api/studies/lab/tell", body)
    assert refused.status in (400, 404)
    assert sentence in refused.json["error"]["message"]
    assert len(refused.json["error"]["message"]) < 400
    assert "Traceback" not in refused.body.decode()
    assert server.call("GET", "/api/studies/lab/events").body == before


SPACES = {
    "low above high": {"x": {"kind": "real", "low": 3, "high": 1}},
    "log of 0": {"x": {"kind": "real", "low": 0, "high": 1, "log": True}},
    "no parameters": {},
    "another kind": {"x": {"kind": "complex", "low": 0, "high": 1}},
    "no ends": {"x": {"kind": "real"}},
    "a number": {"x": 5},
    "a list": [1, 2],
    "the same option twice": {"x": {"kind": "choice", "options": ["a", "a"]}},
    "options that are lists": {"x": {"kind": "choice", "options": [[1]]}},
    "rows of other lengths": {"kind": "points", "names": ["a"], "rows": [[1], [1, 2]]},
}


@pytest.mark.parametrize("wrong", SPACES)
def test_a_bad_space_is_refused(server: Running, wrong: str) -> None:
    refused = server.call("POST", "/api/studies", {"name": "new", "space": SPACES[wrong], "silence": "unknown"})
    assert (refused.status, refused.json["error"]["code"]) in ((400, "invalid_input"), (400, "contradiction")), (
        refused.body
    )
    assert server.call("GET", "/api/studies/new").status == 404


def test_a_floor_beyond_the_limits_is_refused(server: Running) -> None:
    space = {"x": {"kind": "real", "low": 0, "high": 1}}
    wrong = {"name": "new", "space": space, "silence": "floor", "floor": -1, "limits": [0, 1]}
    refused = server.call("POST", "/api/studies", wrong)
    said = "floor must lie within the limits (got floor -1.0, limits 0.0 to 1.0)"
    assert (refused.status, refused.json["error"]["message"], refused.json["error"]["field"]) == (400, said, "floor")


@pytest.mark.parametrize("name", ["a/b", "..", "<script>", "a\x00b", "x" * 129, "\ud800", "", 5, None])
def test_a_bad_name_is_refused(server: Running, name: object) -> None:
    space = {"x": {"kind": "real", "low": 0, "high": 1}}
    refused = server.call("POST", "/api/studies", {"name": name, "space": space, "silence": "unknown"})
    assert refused.status == 400
    assert refused.json["error"]["message"].startswith("name must be")


def test_the_body_must_say_that_it_is_json(server: Running) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    refused = server.call("POST", "/api/studies/lab/tell", b"{}", headers=form)
    assert "Content-Type: application/json" in refused.json["error"]["message"]


def test_what_is_no_address_has_the_shape_of_an_error(server: Running) -> None:
    for method, path, status in (("GET", "/nowhere", 404), ("PUT", "/api/studies/lab/tell", 405)):
        refused = server.call(method, path)
        assert refused.status == status
        assert set(refused.json["error"]) == {"code", "message", "field"}
