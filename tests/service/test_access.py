"""Who may do what: every address, with every scope, for a study that is one's own and for another."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from belated import Real, Study
from belated.service.sign_in import make_code
from belated.service.tokens import SCOPES
from belated.service.verbs import VERBS
from tests.support.servers import Running, run_server

READING = ("study", "trials", "trial", "events", "stream", "to_dataframe", "list_studies")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    store = f"sqlite:///{tmp_path_factory.mktemp('access')}/lab.db"
    for name in ("mine", "other"):
        with Study.create(store, name, space={"x": Real(0, 1)}, silence="unknown", seed=0) as study:
            study.tell(study.ask(), 0.5)
    with run_server(store, open_to_all=False) as running:
        yield running


@pytest.fixture(scope="module")
def tokens(server: Running) -> dict[str, str]:
    """A token of each scope, for one study."""
    mine = server.service.studies.find_identity("mine")
    return {scope: server.service.tokens.make(scope, scope, study=mine)[0] for scope in SCOPES}


@pytest.fixture(scope="module")
def routes(server: Running) -> list[tuple[str, str, str]]:
    """(name, method, path) of every address of the API."""
    key, _ = server.service.tokens.make("reader", "read")
    paths = server.call("GET", "/api/openapi.json", token=key).json["paths"]
    return [(said["operationId"], method.upper(), path) for path in paths for method, said in paths[path].items()]


def needs(name: str) -> str:
    return "read" if name in READING else "own" if name == "create" else VERBS[name].scope


def body_of(name: str, method: str) -> object:
    return None if method == "GET" else {"no such field": 1}  # nothing is done


def fill(path: str, study: str) -> str:
    return path.replace("{study}", study).replace("{number}", "1") + "?no-such-word=1"


def test_without_a_token_nothing_is_there(server: Running, routes: list[tuple[str, str, str]]) -> None:
    assert len(routes) > 30
    for name, method, path in routes:
        refused = server.call(method, fill(path, "mine"), body_of(name, method))
        assert (refused.status, refused.json["error"]["code"]) == (401, "not_signed_in"), path
        assert refused.headers["www-authenticate"] == "Bearer"


def test_scope_and_study_are_checked_at_every_address(
    server: Running, routes: list[tuple[str, str, str]], tokens: dict[str, str]
) -> None:
    for name, method, path in routes:
        for scope in SCOPES:
            enough = SCOPES.index(scope) >= SCOPES.index(needs(name))
            got = server.call(method, fill(path, "mine"), body_of(name, method), token=tokens[scope])
            if name == "create":
                assert got.status == 403  # these tokens are for one study
            else:
                assert (got.status == 403) == (not enough), (path, scope, got.body)
                assert got.status == (400 if enough else 403), (path, scope, got.body)
            if "{study}" in path:
                other = server.call(method, fill(path, "other"), body_of(name, method), token=tokens[scope])
                gone = server.call(method, fill(path, "gone"), body_of(name, method), token=tokens[scope])
                assert other.status == gone.status == 404, (path, scope)
                assert other.json["error"]["message"].replace("other", "gone") == gone.json["error"]["message"]


def test_a_token_sees_its_own_study_alone(server: Running, tokens: dict[str, str]) -> None:
    seen = server.call("GET", "/api/studies", token=tokens["own"]).json["studies"]
    assert [each["name"] for each in seen] == ["mine"]
    assert server.call("GET", "/metrics", token=tokens["own"]).status == 403


def test_a_token_signs_and_only_an_owner_signs_for_others(server: Running, tokens: dict[str, str]) -> None:
    asked = server.call("POST", "/api/studies/mine/ask", {}, token=tokens["ask"]).json
    assert asked["asked_by"] == "ask"
    refused = server.call("POST", "/api/studies/mine/ask", {"by": "anna"}, token=tokens["ask"])
    assert (refused.status, refused.json["error"]["code"]) == (403, "not_allowed")
    assert server.call("POST", "/api/studies/mine/ask", {"by": "anna"}, token=tokens["own"]).json["asked_by"] == "anna"


def test_a_revoked_and_an_expired_token_are_unknown(server: Running) -> None:
    text, row = server.service.tokens.make("short", "read", lasts=1e-6)
    assert server.call("GET", "/api/studies", token=text).status == 401
    text, row = server.service.tokens.make("gone", "read")
    assert server.call("GET", "/api/studies", token=text).status == 200
    assert row.hash not in text
    assert text.rsplit("_", 1)[1] not in repr(row)
    assert server.service.tokens.revoke("gone") == 1
    server.service.access.forget()
    assert server.call("GET", "/api/studies", token=text).status == 401


def sign_in(server: Running, code: str) -> tuple[str, str]:
    """The cookie and the CSRF word of a new session."""
    entered = server.call("POST", "/sign-in", {"code": code})
    assert entered.status == 200, entered.body
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    return cookie.split(";")[0], entered.json["csrf"]


def test_a_code_works_once_and_its_cookie_needs_the_page(server: Running) -> None:
    code = make_code(server.service.access, "owner")
    cookie, csrf = sign_in(server, code)
    assert server.call("POST", "/sign-in", {"code": code}).status == 401
    assert server.call("GET", "/api/studies", token=code).status == 401
    assert server.call("GET", "/api/studies/mine", headers={"Cookie": cookie}).status == 200
    own = {"Cookie": cookie, "Origin": server.url, "Belated-CSRF": csrf}
    for wrong in ({"Belated-CSRF": "0" * 64}, {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert server.call("POST", "/api/studies/mine/ask", {}, headers={**own, **wrong}).status == 403
    without = {name: each for name, each in own.items() if name != "Origin"}
    assert server.call("POST", "/api/studies/mine/ask", {}, headers=without).status == 403
    assert server.call("POST", "/api/studies/mine/ask", {}, headers=own).json["asked_by"] == "owner"
    assert server.call("POST", "/sign-out", {}, headers=own).status == 200
    assert server.call("GET", "/api/studies/mine", headers={"Cookie": cookie}).status == 401


def test_a_session_ends_with_the_token_that_it_was_made_from(server: Running) -> None:
    text, _ = server.service.tokens.make("visitor", "tell")
    cookie, _ = sign_in(server, text)
    assert server.call("GET", "/api/studies/mine", headers={"Cookie": cookie}).status == 200
    server.service.tokens.revoke("visitor")
    server.service.access.forget()
    assert server.call("GET", "/api/studies/mine", headers={"Cookie": cookie}).status == 401


def test_a_session_that_is_over_is_forgotten_and_is_no_attempt_again_and_again(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    store = f"sqlite:///{tmp_path_factory.mktemp('over')}/lab.db"
    with run_server(store, open_to_all=False) as over:
        text, _ = over.service.tokens.make("visitor", "read")
        cookie, _ = sign_in(over, text)
        over.service.tokens.revoke("visitor")
        over.service.access.forget()
        for path, status in (("/api/studies", 401), ("/", 303)):
            refused = over.call("GET", path, headers={"Cookie": cookie})
            assert refused.status == status
            gone = refused.headers["set-cookie"]
            assert gone.startswith(f'{cookie.split("=")[0]}=""; ')
            assert "Max-Age=0" in gone
        assert "set-cookie" not in over.call("GET", "/").headers


def test_two_servers_of_one_machine_have_cookies_of_their_own(
    server: Running, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A browser keeps cookies by the name of the machine, whatever the port."""
    with run_server(f"sqlite:///{tmp_path_factory.mktemp('two')}/lab.db", open_to_all=False) as two:
        cookies = [sign_in(each, make_code(each.service.access, "owner"))[0] for each in (server, two)]
        both = {"Cookie": "; ".join(cookies)}
        assert len({cookie.split("=")[0] for cookie in cookies}) == 2
        assert [each.call("GET", "/api/studies", headers=both).status for each in (server, two)] == [200, 200]
    behind = server.call("POST", "/sign-in", {"code": make_code(server.service.access, "owner")},
                         headers={"Host": "lab.example.org", "Origin": "https://lab.example.org"})  # fmt: skip
    assert behind.headers["set-cookie"].startswith("belated=")


def test_another_site_cannot_sign_anybody_in(server: Running) -> None:
    body = {"code": make_code(server.service.access, "owner")}
    for evil in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert server.call("POST", "/sign-in", body, headers=evil).status == 403
    assert server.call("POST", "/sign-in", body, headers={"Origin": server.url}).status == 200


@pytest.mark.parametrize("host", ["[", "a:b", "evil.example", "127.0.0.1.evil.example", ""])
def test_an_open_server_answers_to_its_own_name_alone(tmp_path_factory: pytest.TempPathFactory, host: str) -> None:
    store = f"sqlite:///{tmp_path_factory.mktemp('host')}/lab.db"
    with run_server(store) as free:
        assert free.call("GET", "/api/studies", headers={"Host": host}).status == 403


def test_failed_attempts_are_slowed_down_and_good_tokens_are_not(tmp_path_factory: pytest.TempPathFactory) -> None:
    store = f"sqlite:///{tmp_path_factory.mktemp('slow')}/lab.db"
    with run_server(store, open_to_all=False) as slow:
        good, _ = slow.service.tokens.make("anna", "read")
        wrong = good[:-4] + "AAAA"
        answers = [slow.call("GET", "/api/studies", token=wrong).status for _ in range(8)]
        assert answers[:5] == [401] * 5
        while answers[-1] != 429:  # a slow machine may wait long enough by itself, until it has to wait for a minute
            answers.append(slow.call("GET", "/api/studies", token=wrong).status)
            assert len(answers) < 20
        refused = slow.call("POST", "/sign-in", {"code": "nothing"})
        while refused.status != 429:
            answers.append(refused.status)
            assert len(answers) < 20
            refused = slow.call("POST", "/sign-in", {"code": "nothing"})
        seconds = int(re.search(r"try again in (\d+) s", refused.json["error"]["message"])[1])  # type: ignore[index]
        assert refused.headers["retry-after"] == str(seconds)
        assert slow.call("GET", "/api/studies", token=good).status == 200


def test_an_open_server_is_for_this_machine_and_its_own_pages(tmp_path_factory: pytest.TempPathFactory) -> None:
    store = f"sqlite:///{tmp_path_factory.mktemp('open')}/lab.db"
    with run_server(store) as free:
        assert free.call("GET", "/api/studies").status == 200
        assert free.call("GET", "/api/studies", headers={"Host": "evil.example"}).status == 403
        evil = {"Origin": "http://evil.example"}
        assert free.call("POST", "/api/studies", {"name": "a"}, headers=evil).status == 403
