"""A server whose processes are killed, that is stopped in the middle, and that shares its store with another."""

from __future__ import annotations

import itertools
import json
import os
import signal
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

import belated
from belated import Real, Study
from belated.errors import NotSignedIn, Unreachable
from belated.record.check import check_acknowledged
from belated.record.ledger import open_store
from belated.service.limits import Limits
from belated.service.tokens import TokenTable
from tests.support.postgres import serve as serve_postgres
from tests.support.servers import ServerProcess, run_server, start_server

SPACE = {"x": Real(0, 1), "y": Real(0, 1)}


def measure(params: dict[str, float]) -> float:
    time.sleep(0.01)
    return float(params["x"] * (1 - params["y"]))


def make(url: str, name: str = "lab") -> Study:
    return Study.create(url, name, space=SPACE, silence="unknown", seed=0)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/lab.db"
    return str(request.getfixturevalue("postgres_url"))


def test_a_worker_that_is_killed_is_replaced_and_no_ask_is_lost(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BELATED_SERVER_TIMEOUT", "60s")
    with start_server(store, "--open") as server:
        study = make(server.url)
        trials = [study.ask()]
        for pause in (0.0, 0.003, 0.01, 0.03):
            asking = threading.Thread(target=lambda: trials.append(study.ask()))
            asking.start()
            while not (workers := server.workers):
                time.sleep(0.01)
            time.sleep(pause)
            for pid in workers:
                with suppress(ProcessLookupError):  # one that was killed before may be listed until it is buried
                    os.kill(pid, signal.SIGKILL)
            asking.join()
        assert [trial.number for trial in trials] == [1, 2, 3, 4, 5]
        assert check_acknowledged(store, "lab", [(None, trial) for trial in trials], complete=True).ok


def test_optimize_loses_nothing_when_the_server_is_killed_and_comes_back(store: str) -> None:
    with start_server(store, "--open") as server:
        port = urlsplit(server.url).port or 0
        study = make(server.url)
        study.ask()
        done: list[belated.Run] = []
        calls, half, killed = itertools.count(1), threading.Event(), threading.Event()

        def wait_for_the_kill(params: dict[str, float]) -> float:
            if next(calls) > 30:  # the others go on: there are asks and tells under way
                half.set()
                assert killed.wait(60)
            return measure(params)

        def work() -> None:
            with ThreadPoolExecutor(4) as threads:
                done.append(study.optimize(wait_for_the_kill, rounds=60, executor=threads, progress=False))

        run = threading.Thread(target=work)
        run.start()
        assert half.wait(60)
        server.kill()
        killed.set()
        time.sleep(0.5)  # so that calls find no server
        assert run.is_alive()
    with start_server(store, "--open", port=port):
        run.join(120)
        assert not run.is_alive()
    assert (done[0].asked + done[0].resumed, done[0].told) == (60, 60)
    with Study.open(store, "lab") as kept:
        assert [trial.status for trial in kept.trials()] == ["heard"] * 60
    assert belated.check(store).ok


def test_two_servers_on_one_database_are_equal(postgres_url: str) -> None:
    with start_server(postgres_url, "--open") as one, start_server(postgres_url, "--open") as two:
        make(one.url)
        urls = [one.url, two.url]

        def use(i: int) -> list[int]:
            study = Study.open(urls[i % 2], "lab")
            other = Study.open(urls[(i + 1) % 2], "lab")
            numbers = []
            for _ in range(5):
                trial = study.ask()
                other.tell(trial, measure(dict(trial.params)))
                numbers.append(trial.number)
            return numbers

        with ThreadPoolExecutor(6) as threads:
            numbers = sorted(number for found in threads.map(use, range(6)) for number in found)
        assert numbers == list(range(1, 31))
        assert belated.check(two.url).ok
    assert belated.check(postgres_url).ok


def fill(study: Study, count: int) -> None:
    study.add_many([{"params": {"x": i * 0.618 % 1, "y": i * 0.414 % 1}, "value": i * 0.377 % 1} for i in range(count)])


@pytest.mark.parametrize("group", [False, True], ids=["the server alone", "the whole group, as systemd does"])
def test_sigterm_ends_streams_and_finishes_what_is_under_way(tmp_path: Path, group: bool) -> None:
    store = f"sqlite:///{tmp_path}/lab.db"
    with start_server(store, "--open") as server:
        study = make(server.url)
        fill(study, 150)
        study.ask()
        stream = HTTPConnection(server.url.removeprefix("http://"), timeout=60)
        stream.request("GET", "/api/studies/lab/stream?after=0")
        answer = stream.getresponse()
        answer.readline()
        asked = list[list[belated.Trial]]()
        asking = threading.Thread(target=lambda: asked.append(study.ask(n=100)))
        asking.start()
        wait_until_busy(server)
        assert server.stop(group=group) < 10
        answer.read()  # to its end: the stream was ended
        stream.close()
        asking.join(30)
        assert server.process.returncode == -signal.SIGTERM
    assert [trial.number for trial in asked[0]] == list(range(152, 252))
    with Study.open(store, "lab") as kept:
        assert kept.rounds == 251
    assert belated.check(store).ok


def test_sigterm_gives_up_what_takes_longer_than_ten_seconds(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/lab.db"
    with start_server(store, "--open") as server:
        study = make(server.url)
        fill(study, 400)
        failed = list[Exception]()

        def ask() -> None:
            try:
                study.ask(n=1000)
            except belated.Unreachable as error:
                failed.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        wait_until_busy(server)
        assert server.stop() < 10
        asking.join(30)
        assert not server.workers
    assert "it may have been done" in str(failed[0])
    with Study.open(store, "lab") as kept:
        assert kept.rounds == 400  # a batch is there as a whole or not at all
    assert belated.check(store).ok


def wait_until_busy(server: ServerProcess) -> None:
    """Until one of its processes is at work on an ask."""
    metrics = HTTPConnection(server.url.removeprefix("http://"), timeout=60)
    for _ in range(2000):
        metrics.request("GET", "/metrics")
        if b"belated_jobs_running 1" in metrics.getresponse().read():
            break
        time.sleep(0.01)
    else:
        pytest.fail("nothing began")
    metrics.close()


def test_a_queue_that_is_too_long_answers_at_once_and_clients_get_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BELATED_SERVER_TIMEOUT", "120s")
    with run_server(f"sqlite:///{tmp_path}/lab.db", workers=1, limits=Limits(waiting=1)) as server:
        study = make(server.url)
        fill(study, 150)
        study.ask()
        with ThreadPoolExecutor(6) as clients:
            many = [clients.submit(server.call, "POST", "/api/studies/lab/ask", {"n": 60}) for _ in range(6)]
            answers = [each.result(120) for each in many]
        refused = [answer for answer in answers if answer.status == 503]
        assert len(refused) >= 3  # one is done, one waits, and perhaps one more came when the first was done
        assert {answer.status for answer in answers} == {200, 503}
        for answer in refused:
            assert answer.json["error"]["code"] == "too_busy"
            assert answer.json["error"]["message"].startswith("1 call of this study is waiting")
            assert int(answer.headers["retry-after"]) >= 1
        rounds = study.rounds
        with ThreadPoolExecutor(6) as clients:
            numbers = sorted(clients.map(lambda _: Study.open(server.url, "lab").ask().number, range(6)))
        assert numbers == list(range(rounds + 1, rounds + 7))


def sign_in_through(server: ServerProcess, **headers: str) -> str:
    """The cookie that a proxy's client gets."""
    code = server.said[1].partition("#")[2].strip()
    connection = HTTPConnection(server.url.removeprefix("http://"), timeout=60)
    said = {"Content-Type": "application/json", **headers}
    connection.request("POST", "/sign-in", json.dumps({"code": code}), said)
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    cookie = answer.headers["Set-Cookie"]
    connection.close()
    return str(cookie)


@pytest.mark.parametrize("proxy", ["127.0.0.1", "10.0.0.7", None])
def test_forwarded_headers_are_believed_of_the_proxy_alone(tmp_path: Path, proxy: str | None) -> None:
    """By TLS at the proxy, the cookie is for TLS alone; and failures are counted by whoever is behind the proxy."""
    forwarded = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "198.51.100.7"}
    with start_server(f"sqlite:///{tmp_path}/lab.db", *(() if proxy is None else ("--behind", proxy))) as server:
        believed = proxy == "127.0.0.1"
        assert ("secure" in sign_in_through(server, **forwarded).lower().split("; ")) == believed
        connection = HTTPConnection(server.url.removeprefix("http://"), timeout=60)

        def fail(address: str) -> int:
            headers = {"Authorization": "Bearer wrong", "X-Forwarded-For": address}
            connection.request("GET", "/api/studies", headers=headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status

        assert [fail("198.51.100.7") for _ in range(6)][5] == 429
        assert fail("198.51.100.8") == (401 if believed else 429)
        connection.close()


def test_a_server_that_is_killed_again_and_again_keeps_every_promise(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients write, many with one commit, and the server is killed in the middle of it: I1 to I14 hold, seen through
    HTTP."""
    monkeypatch.setenv("BELATED_SERVER_TIMEOUT", "120s")
    asks, tells = list[tuple[str | None, belated.Trial]](), list[tuple[int, float, str]]()
    port, done = 0, threading.Event()

    def use(client: int) -> None:
        study = Study.open(f"http://127.0.0.1:{port}", "lab")
        for i in range(1000):
            if done.is_set():
                return
            key, value = f"{client}-{i}", (i * 0.377 + client) % 1
            trial = study.ask(key=key)
            asks.append((key, trial))
            if i % 5 == 3:
                study.fail(trial, "lost", reason="dropped")
                continue
            receipt = study.tell(trial, value)
            tells.append((trial.number, value, receipt.status))
            if i % 5 == 4:
                study.amend(trial, value / 2, reason="halved")
                study.undo(trial)

    with ThreadPoolExecutor(8) as clients, ExitStack() as last:
        running: list[Future[None]] = []
        for pause in (1.0, 0.7, 1.3, 0.9, 1.1):
            with start_server(store, "--open", "--workers", "1", port=port) as server:
                if not running:
                    port = urlsplit(server.url).port or 0
                    make(server.url)
                    running += [clients.submit(use, client) for client in range(8)]
                before = len(tells)
                while len(tells) < before + 8:  # it is in use
                    time.sleep(0.01)
                    assert not any(client.done() for client in running), [client.result(0) for client in running]
                time.sleep(pause)
                server.kill()
        last.enter_context(start_server(store, "--open", port=port))
        done.set()
        for client in running:
            client.result(120)
        report = belated.check(f"http://127.0.0.1:{port}", "lab")
        assert report.ok, report
        far = Study.open(f"http://127.0.0.1:{port}", "lab")
        near = Study.open(store, "lab")
        assert [*far.trials()] == [*near.trials()]
        assert far.recommend() == near.recommend()
        assert [trial.number for trial in near.trials()] == sorted(trial.number for _, trial in asks)
    assert check_acknowledged(store, "lab", asks, tells, complete=True).ok


@pytest.mark.usefixtures("postgres")
def test_a_server_whose_database_goes_away_says_so_and_goes_on_when_it_is_back() -> None:
    with serve_postgres() as database, start_server(database.url(), "--open") as server:
        study = make(server.url)
        study.ask()
        database.stop("immediate")
        assert (look_at(server, "/healthz"), look_at(server, "/readyz")) == (200, 503)
        database.start()
        until = time.monotonic() + 60
        while look_at(server, "/readyz") != 200:
            assert time.monotonic() < until
            time.sleep(0.1)
        assert study.ask().number == 2
        assert belated.check(server.url).ok


def look_at(server: ServerProcess, path: str) -> int:
    connection = HTTPConnection(server.url.removeprefix("http://"), timeout=60)
    connection.request("GET", path)
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_server_that_is_not_there_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BELATED_SERVER_TIMEOUT", "500ms")
    with start_server(f"sqlite:///{tmp_path}/lab.db", "--open") as server:
        server.kill()
        begun = time.monotonic()
        with pytest.raises(Unreachable, match=r"gave no answer in 0.5 s .*; it may have been done"):
            make(server.url)
        assert time.monotonic() - begun < 5


def test_tokens_and_the_sign_in_link(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/lab.db"
    make(store).disconnect()
    place = open_store(store)
    token, _ = TokenTable(place).make("anna", "ask")
    place.close()
    with start_server(store) as server:
        assert "/sign-in#belated_" in server.said[1]
        with pytest.raises(NotSignedIn):
            Study.open(server.url, "lab")
        study = Study.open(server.url, "lab", token=token)
        assert study.ask().asked_by == "anna"
        belated.backup(store, tmp_path / "copy.db")
    assert token.split("_")[1].encode() in (tmp_path / "lab.db").read_bytes()
    assert token.split("_")[1].encode() not in (tmp_path / "copy.db").read_bytes()
    assert belated.check(f"sqlite:///{tmp_path}/copy.db").ok
