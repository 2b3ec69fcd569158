"""The pages, as a server sends them: for every kind of study, to those who may see them, and nothing inline."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("plotly")

from belated import Choice, Integer, Real, Study
from tests.cli import shell
from tests.plotting import studies
from tests.support.servers import Running, run_server

PATHS = ("", "/belief", "/delays", "/trials", "/trials/1", "/history", "/undo", "/add", "/manage")
CHARTS = ("progress", "progress&by=time", "pending", "delays", "belief", "outlook")
LARGE = {"x": Real(0, 1), "n": Integer(1, 9), "kind": Choice("a", "b", "c")}
SCRIPT = "<script>alert(1)</script>"
KINDS = (studies.make_contextual, studies.make_listed, studies.make_by_the_clock, studies.make_only_asked)
OTHERS = tuple(make for make in (studies.make_lab, *studies.STUDIES) if make not in KINDS)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with run_server(f"sqlite:///{tmp_path_factory.mktemp('pages')}/lab.db", open_to_all=False) as running:
        yield running


@pytest.fixture(scope="module")
def owner(server: Running) -> str:
    return server.service.tokens.make("anna", "own")[0]


def keep_study(make: Callable[[], Study], url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make a study in a store instead of in memory; its name."""
    create, kept = Study.create, list[str]()

    def create_there(*_: object, name: str | None = None, **settings: Any) -> Study:
        kept.append(f"{make.__name__}-{name or ''}"[:128])
        return create(url, kept[-1], **settings)

    monkeypatch.setattr(Study, "create", create_there)
    getattr(make, "__wrapped__", make)()
    monkeypatch.undo()
    return kept[-1]


@pytest.mark.parametrize(
    "make",
    [*KINDS, *(pytest.param(make, marks=pytest.mark.long) for make in OTHERS)],
    ids=lambda make: make.__name__,
)
def test_every_kind_of_study_is_shown(
    server: Running, owner: str, make: Callable[[], Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = keep_study(make, server.store, monkeypatch)
    empty = not Study.open(server.store, name).rounds
    for path in PATHS:
        page = server.call("GET", f"/studies/{name}{path}", token=owner)
        assert page.status == (404 if empty and path == "/trials/1" else 200), page.body
        assert len(page.body) < 300_000
    for chart in CHARTS:
        answer = server.call("GET", f"/api/studies/{name}/chart?chart={chart}", token=owner)
        assert answer.status == 200, answer.body
        pair = answer.json.get("pair")
        for each in [*answer.json["charts"], *([pair] if pair else [])]:
            assert count_marks(each["figure"]) <= 2000
            assert each["words"].endswith(".")
    assert name.encode() in server.call("GET", "/", token=owner).body


@pytest.mark.long
def test_ten_thousand_trials_make_small_pages_and_few_marks(server: Running, owner: str) -> None:
    now = time.time()
    study = Study.create(server.store, "large", space=LARGE, silence="unknown", patience="9d", floor=0.0, seed=1)
    rows: list[dict[str, Any]] = [
        {
            "params": {"x": 0.618 * i % 1, "n": i % 9 + 1, "kind": "abc"[i % 3]},
            "value": None if i % 5 == 0 else 0.377 * i % 1,
            "at": now - 60.0 * (10_000 - i),
        }
        for i in range(10_000)
    ]
    study.add_many(rows)
    for number in range(1, 8000, 5):
        study.tell(number, 0.5, at=rows[number - 1]["at"] + number)
    for path in ("", "?by=time", "/belief", "/delays", "/trials?order=-outcome", "/trials/7", "/history", "/add"):
        page = server.call("GET", f"/studies/large{path}", token=owner)
        assert page.status == 200
        assert len(page.body) < 300_000, path
    for chart in CHARTS:
        answer = server.call("GET", f"/api/studies/large/chart?chart={chart}", token=owner).json
        for each in [*answer["charts"], *([answer["pair"]] if "pair" in answer else [])]:
            assert 0 < count_marks(each["figure"]) <= 2000, chart
            assert len(json.dumps(each)) < 300_000
    chart = server.call("GET", "/api/studies/large/chart?chart=progress", token=owner).json["charts"][0]
    assert chart["words"].startswith("9,600 of 10,000 trials have an outcome; ")
    assert " Shown: 1,200 of 9,600 outcomes" in chart["words"]
    assert not chart["figure"]["layout"].get("annotations")


def test_of_conversions_the_page_says_how_many_came(server: Running, owner: str) -> None:
    settings: dict[str, Any] = {"outcomes": "conversion", "silence": "fading", "patience": 2, "seed": 1}
    study = Study.create(server.store, "shop", space={"x": Real(0, 1)}, **settings)
    study.tell(study.ask(n=4)[1], 1)
    study.ask(n=1)
    page = server.call("GET", "/studies/shop", token=owner).body.decode()
    assert "<dt>Converted</dt><dd><b>20 %</b><span" in page
    assert "Make the rate of conversions as large as possible." in page
    assert ">2 were silent</a> for longer than patience, and count as not converted." in page
    assert re.findall('id="tell-([0-9]+)"', page) == ["4", "5"]
    words = server.call("GET", "/api/studies/shop/chart?chart=progress", token=owner).json["charts"][0]["words"]
    assert words == "1 of 5 converted."


def test_what_a_chart_of_what_is_out_leaves_out_stands_below_it(server: Running, owner: str) -> None:
    study = Study.create(server.store, "waiting", space={"x": Real(0, 1)}, silence="unknown", patience=9, seed=1)
    study.ask(n=45)
    (chart,) = server.call("GET", "/api/studies/waiting/chart?chart=pending", token=owner).json["charts"]
    assert chart["words"].endswith(" Shown: the oldest 40 of 45.")
    assert [note["text"] for note in chart["figure"]["layout"]["annotations"]] == ["patience"]
    assert chart["figure"]["layout"]["height"] == 88 + 40 * 24


def test_while_nothing_is_heard_no_share_is_stated_and_no_axis_is_empty(server: Running, owner: str) -> None:
    study = Study.create(server.store, "silent", space={"x": Real(0, 1)}, silence="unknown", patience="5d", seed=1)
    trials = study.ask(n=3)

    def draw(kind: str) -> dict[str, Any]:
        return server.call("GET", f"/api/studies/silent/chart?chart={kind}", token=owner).json

    delays = draw("delays")
    assert delays["charts"][0]["figure"]["data"] == []
    assert (delays["rho"], delays["rho_band"]) == ("–", "nothing heard yet")
    assert draw("progress")["charts"][0]["figure"]["layout"]["height"] == 130  # the lane of what is out, alone
    study.tell(trials[0], 1.0)
    assert "height" not in draw("progress")["charts"][0]["figure"]["layout"]
    delays = draw("delays")
    assert len(delays["charts"][0]["figure"]["data"]) == 2
    assert delays["rho"].endswith("\u00a0%")
    assert " %" not in delays["charts"][0]["words"] + delays["rho_band"] + delays["advice"]  # no line begins with it


def test_forms_offer_what_a_study_can_have(server: Running, owner: str) -> None:
    settings: dict[str, Any] = {"silence": "floor", "patience": 9, "seed": 1}
    space = {"x": Real(0, 1), "n": Integer(1, 9)}
    Study.create(server.store, "plain", space=space, **settings)
    Study.create(server.store, "sales", space=space, outcomes="conversion", **settings)
    plain, sales = ({path: server.call("GET", f"/studies/{name}/{path}", token=owner).body.decode()
                     for path in ("trials", "belief", "manage")} for name in ("plain", "sales"))  # fmt: skip
    assert 'value="counted"' not in plain["trials"]
    assert 'value="counted"' in sales["trials"]
    assert '<p class="key"><span class="line">mean</span> <span class="area">' in plain["belief"]
    assert '<span class="dot">outcome</span> <span class="star">' in plain["belief"]
    assert '<span class="dot">outcome</span> <span class="star">' not in sales["belief"]
    assert 'placeholder="now 1 to 9"' in plain["manage"]
    assert 'placeholder="such as 0 to 100"' in plain["manage"]


def test_the_columns_of_a_file_are_named_as_an_import_reads_them(server: Running, owner: str) -> None:
    space = {"x": Real(0, 1), "key": Integer(1, 9)}
    context = {"segment": Choice("new", "loyal")}
    study = Study.create(
        server.store, "columns", space=space, context=context, silence="unknown", patience="9d", seed=1
    )
    page = server.call("GET", "/studies/columns/add", token=owner).body.decode()
    named = re.findall(r"A column for each parameter \((.*?)\)", page)
    assert named == ["x, params.key, context.segment"]
    file = f"{named[0].replace(', ', ',')},outcome,asked_at,told_at\n0.5,3,new,0.7,2026-03-01,2026-03-02\n".encode()
    sent = server.call(
        "POST",
        "/api/studies/columns/import?name=past.csv",
        file,
        token=owner,
        headers={"Content-Type": "application/octet-stream"},
    )
    assert sent.status == 200
    (trial,) = study.trials()
    assert (trial.params, trial.context, trial.delay) == ({"x": 0.5, "key": 3}, {"segment": "new"}, 86400.0)


def count_marks(figure: dict[str, Any]) -> int:
    """The points and cells that a figure draws."""
    return sum(count_numbers(trace["z" if "z" in trace else "x"]) for trace in figure["data"])


def count_numbers(values: Any) -> int:
    if isinstance(values, dict):  # base64, as Plotly writes arrays
        return len(values["bdata"]) * 3 // 4 // int(values["dtype"][-1])
    return sum(map(count_numbers, values)) if isinstance(values, list) else 1


@pytest.fixture(scope="module")
def tagged(server: Running) -> str:
    """A study whose words are all scripts."""
    study = Study.create(
        server.store,
        "tagged",
        about=SCRIPT,
        outcome_name=SCRIPT,
        unit="<i>",
        space={SCRIPT: Choice(SCRIPT, "b"), "x": Real(0, 1, unit="<u>")},
        context={"who <b>": Choice(SCRIPT, "c")},
        silence="unknown",
        seed=0,
    )
    for _ in range(2):
        trial = study.ask(context={"who <b>": SCRIPT}, by=SCRIPT, remark=SCRIPT)
        study.tell(trial, 0.5, by=SCRIPT, remark=SCRIPT)
    study.ask(context={"who <b>": SCRIPT}, by=SCRIPT)
    study.amend(1, 0.25, reason=SCRIPT, by=SCRIPT)
    return "tagged"


def test_words_of_the_users_are_text_everywhere(server: Running, owner: str, tagged: str) -> None:
    for path in ("/", *(f"/studies/{tagged}{path}" for path in PATHS), f"/studies/{tagged}/history?by=%3Cscript%3E"):
        html = server.call("GET", path, token=owner).body.decode()
        assert "alert(1)" in html or path.endswith(("/delays", "/undo"))
        for written in ("<script>", "<u>", "who <b>", "0.5 <i>"):
            assert written not in html, path
        assert len(re.findall(r"<script\b", html)) == len(re.findall(r'<script src="/assets/[\w.]+/[\w.]+"', html))
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", html)
    for chart in CHARTS[:5]:
        figures = server.call("GET", f"/api/studies/{tagged}/chart?chart={chart}", token=owner).json["charts"]
        for text in find_texts([each["figure"] for each in figures]):
            assert not re.search(r"<(?!br>|extra>|/extra>)", text), text


def find_texts(plain: Any) -> Iterator[str]:
    """Every text of a figure; Plotly reads tags in them."""
    if isinstance(plain, str):
        yield plain
    elif isinstance(plain, dict):
        for each in plain.values():
            yield from find_texts(each)
    elif isinstance(plain, list):
        for each in plain:
            yield from find_texts(each)


def test_pages_have_a_policy_without_inline_scripts(server: Running, owner: str, tagged: str) -> None:
    for path in ("/", f"/studies/{tagged}", "/sign-in", "/studies/none"):
        reply = server.call("GET", path, token=None if path == "/sign-in" else owner)
        policy = dict(each.strip().split(" ", 1) for each in reply.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"


def test_the_command_of_the_empty_page_makes_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with run_server(f"sqlite:///{tmp_path}/belated.db") as empty:
        shown = re.search(r"<pre>belated (.*)</pre>", empty.call("GET", "/").body.decode())
        assert shown is not None
        shell.invoke(*shlex.split(shown[1]))
        assert 'href="/studies/catalyst"' in empty.call("GET", "/").body.decode()


def test_what_somebody_may_not_see_is_not_there(server: Running, tagged: str) -> None:
    study = Study.create(server.store, "mine", space={"x": Real(0, 1)}, silence="unknown", seed=0)
    study.ask()
    identity = server.service.studies.find_identity("mine")
    token, _ = server.service.tokens.make("eve", "tell", study=identity)
    home = server.call("GET", "/", token=token).body.decode()
    assert "/studies/mine" in home
    assert tagged not in home
    hidden, absent = (server.call("GET", f"/studies/{name}", token=token) for name in (tagged, "absent"))
    assert (hidden.status, absent.status) == (404, 404)
    assert hidden.body.decode().replace(tagged, "absent") == absent.body.decode()
    page = server.call("GET", "/studies/mine", token=token).body.decode()
    assert 'data-verb="tell"' in page
    assert 'data-verb="ask"' not in page
    assert "/manage" not in page
    for path, status in (("/add", 403), ("/manage", 403), ("/undo", 200), ("/nothing", 404), ("/trials/9", 404)):
        assert server.call("GET", f"/studies/mine{path}", token=token).status == status


def test_who_is_not_known_is_asked_to_sign_in(server: Running) -> None:
    reply = server.call("GET", "/studies/mine/trials")
    assert (reply.status, reply.headers["location"]) == (303, "/sign-in?next=%2Fstudies%2Fmine%2Ftrials")
    page = server.call("GET", "/sign-in?next=//evil.example").body.decode()
    assert 'data-next="/"' in page


def test_an_address_that_is_not_there_is_a_page_for_people_and_json_for_programs(server: Running) -> None:
    page = server.call("GET", "/nowhere", headers={"Accept": "text/html"})
    assert (page.status, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert b"<p>There is nothing at this address.</p>" in page.body
    assert server.call("GET", "/nowhere").json["error"]["code"] == "unknown_address"


def test_trials_are_sorted_filtered_and_paged(server: Running, owner: str) -> None:
    study = Study.create(server.store, "many", space={"x": Real(0, 1)}, silence="unknown", seed=0)
    study.add_many({"params": {"x": i / 60}, "value": None if i % 6 == 5 else float(i * 7 % 60)} for i in range(60))

    def read(query: str) -> list[int]:
        html = server.call("GET", f"/studies/many/trials?{query}", token=owner).body.decode()
        return [int(number) for number in re.findall(r'<th scope="row".*?/trials/(\d+)"', html)]

    assert read("") == list(range(60, 35, -1))
    assert read("order=number&skip=50") == list(range(51, 61))
    assert read("status=pending&order=number") == list(range(6, 61, 6))
    best = sorted((t for t in study.trials() if t.outcome is not None), key=lambda t: -(t.outcome or 0.0))
    assert read("order=-outcome&status=heard") == [trial.number for trial in best[:25]]
    assert server.call("GET", "/studies/many/trials?status=lost", token=owner).status == 400
    history = server.call("GET", "/studies/many/history?trial=6", token=owner).body.decode()
    assert re.findall(r'data-title="Event">(\d+)', history) == ["11"]


def test_a_pair_that_is_none_is_refused(server: Running, owner: str, tagged: str) -> None:
    for pair in ("x", "[1]", '["x","x"]', '[["x"],"x"]', '["x","y"]'):
        answer = server.call("GET", f"/api/studies/{tagged}/chart?chart=belief&pair={pair}", token=owner)
        assert answer.status == 400, pair
