"""A server whose processes are killed, that is stopped in the middle, and that shares its store with another."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
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
from belated.service.tokens import TokenTable
from tests.support.servers import start_server

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

        def work() -> None:
            with ThreadPoolExecutor(4) as threads:
                done.append(study.optimize(measure, rounds=60, executor=threads, progress=False))

        run = threading.Thread(target=work)
        run.start()
        time.sleep(1.0)
        server.kill()
        assert run.is_alive()
        time.sleep(0.5)
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


def test_sigterm_ends_streams_and_finishes_what_is_under_way(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/lab.db"
    with start_server(store, "--open") as server:
        study = make(server.url)
        for i in range(30):
            study.tell(study.ask(), i / 30)
        stream = HTTPConnection(server.url.removeprefix("http://"), timeout=20)
        stream.request("GET", "/api/studies/lab/stream?after=0")
        answer = stream.getresponse()
        answer.readline()
        asked = []
        asking = threading.Thread(target=lambda: asked.append(study.ask(n=20)))
        asking.start()
        time.sleep(0.05)
        assert server.stop() < 10
        answer.read()  # to its end: the stream was ended
        stream.close()
        asking.join(30)
        assert server.process.returncode == -signal.SIGTERM
    with Study.open(store, "lab") as kept:
        assert kept.rounds == 30 + (20 if asked else 0)
    assert belated.check(store).ok


def test_a_server_that_is_not_there_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BELATED_SERVER_TIMEOUT", "500ms")
    with start_server(f"sqlite:///{tmp_path}/lab.db", "--open") as server:
        study = make(server.url)
        server.kill()
        begun = time.monotonic()
        with pytest.raises(Unreachable, match=r"gave no answer in 0.5 s .*; it may have been done"):
            study.ask()
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
