"""A server that crashes, connections that drop, a COMMIT whose answer is lost: every write happens once."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from belated import Study, Trial
from belated.errors import Unreachable
from belated.record.check import check_acknowledged
from tests.faults.client import NAME, VERBS, create, fill
from tests.faults.proxy import Cut, Proxy, proxying
from tests.faults.world import CLIENT, ENV, client, running, small_disk, sound
from tests.support.postgres import USER, Server, serve


@pytest.fixture(scope="module")
def server(postgres: Server) -> Iterator[Server]:
    """A server of these tests' own, to be crashed, that listens on loopback too."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with serve(port) as own:
        yield own


@pytest.fixture
def url(server: Server) -> Iterator[str]:
    with server.database() as made:
        yield made


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    assert server.port is not None
    with proxying(server.port) as made:
        yield made


def through(proxy: Proxy, url: str) -> str:
    return f"postgresql://{USER}@127.0.0.1:{proxy.port}{urlsplit(url).path}?sslmode=disable&gssencmode=disable"


def drop_everyone(server: Server, url: str) -> None:
    """Terminate every backend of a database."""
    database = urlsplit(url).path.lstrip("/")
    assert re.fullmatch(r"\w+", database)
    server.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")  # noqa: S608


# The server crashes under load


def crash_under_load(server: Server, url: str, folder: Path, writers: int, rounds: int, crashes: int) -> None:
    create(url)
    outs = [folder / f"writer-{who}" for who in range(writers)]
    with ExitStack() as opened:
        started = []
        for who, out in enumerate(outs):
            words = [sys.executable, str(CLIENT), url, "write", str(who), str(rounds)]
            started.append(subprocess.Popen(words, stdout=opened.enter_context(out.open("w")), env=ENV))
            opened.callback(started[-1].wait)
            opened.callback(started[-1].kill)
        for crash in range(1, crashes + 1):
            while sum(len(out.read_text().splitlines()) for out in outs) < 2 * writers * rounds * crash / (crashes + 1):
                assert any(worker.poll() is None for worker in started)
                time.sleep(0.01)
            server.stop("immediate")
            server.start()
        assert [worker.wait(240) for worker in started] == [0] * writers
    lines = [json.loads(line) for out in outs for line in out.read_text().splitlines()]
    assert lines.count("done") == writers
    asks = [
        (key, Trial(number=number, params=params, asked_at=0.0, status="pending"))
        for kind, key, number, params in (line for line in lines if line[0] == "ask")
    ]
    tells = [(number, value, status) for _, number, value, status in (line for line in lines if line[0] == "tell")]
    report = check_acknowledged(url, NAME, asks, tells, complete=True)
    assert report.ok, str(report)
    assert (report.trials, report.outcomes) == (writers * rounds, writers * rounds)


def test_the_server_crashes_under_load(server: Server, url: str, tmp_path: Path) -> None:
    crash_under_load(server, url, tmp_path, writers=3, rounds=25, crashes=2)


@pytest.mark.long
def test_the_server_crashes_again_and_again_under_load(server: Server, url: str, tmp_path: Path) -> None:
    crash_under_load(server, url, tmp_path, writers=8, rounds=40, crashes=8)


@pytest.fixture
def small_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Server, Path]]:
    """A server whose files are on a small disk, and where that is."""
    with tempfile.TemporaryDirectory(prefix="belated-disk-") as folder, small_disk(Path(folder), kilobytes=160_000):
        Path(folder).chmod(0o755)  # the server is another user
        monkeypatch.setattr(tempfile, "tempdir", folder)
        with serve() as own:
            monkeypatch.undo()
            yield own, Path(folder)


def test_the_server_s_disk_is_really_full(small_server: tuple[Server, Path]) -> None:
    """One sentence; and with room again, and the server up again if it gave up, what was acknowledged is there."""
    server, disk = small_server
    asks, tells = [], []
    with server.database() as url:
        study = fill(url)
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(shutil.disk_usage(disk).free))

        def go_on() -> None:
            for i in range(10_000):
                asks.append((f"more-{i}", study.ask(params={"x": 0.5}, key=f"more-{i}")))
                tells.append((asks[-1][1].number, 0.5, study.tell(asks[-1][1], 0.5).status))

        with pytest.raises(Unreachable) as refused:
            go_on()
        assert "\n" not in str(refused.value)
        ballast.unlink()
        server.stop("immediate")
        server.start()
        again = Study.open(url, NAME)
        assert [again.ask(params={"x": 0.5}, key=key).params for key, _ in asks] == [trial.params for _, trial in asks]
        assert again.ask().number > 12 + len(asks)
        report = check_acknowledged(url, NAME, asks, tells)
        assert report.ok, str(report)


def test_a_server_that_is_gone_for_good(server: Server, url: str) -> None:
    """One sentence, and when it is back the same study goes on."""
    study = fill(url)
    server.stop("immediate")
    try:
        with pytest.raises(Unreachable, match="cannot be reached") as refused:
            study.ask(key="the-ask")
        assert "\n" not in str(refused.value)
    finally:
        server.start()
    assert study.ask(key="the-ask").number == 13
    assert sound(url).trials == 13


# Connections drop


@pytest.mark.parametrize("verb", ["ask", "batch", "tell", "add", "fail"])
def test_dropped_between_calls(server: Server, url: str, verb: str) -> None:
    study = fill(url)
    before = sound(url)
    drop_everyone(server, url)
    answer = VERBS[verb](study)
    drop_everyone(server, url)
    assert VERBS[verb](study) == answer
    assert len(study.trials()) == before.trials + {"ask": 1, "batch": 3, "add": 1}.get(verb, 0)
    sound(url)


def test_dropped_in_mid_ask(server: Server, url: str) -> None:
    """Its lock is gone with the connection, so another may be first: then it chooses again, knowing the other."""
    study = fill(url)
    with running(url, "slow", "1.5") as worker:
        worker.go()
        worker.wait_for("asking")
        drop_everyone(server, url)
        assert study.ask().number == 13
    answer = worker.answer()
    assert answer.acknowledged, answer
    assert answer.last["number"] == 14
    assert study.trial(14).knew_trials == 13
    assert sound(url).trials == 14


# The client is killed at every message that it sends


@pytest.mark.parametrize("verb", ["batch", "tell", *(pytest.param(v, marks=pytest.mark.long) for v in ("ask", "add"))])
def test_killed_at_every_message(url: str, verb: str) -> None:
    """All of it or nothing, whatever was sent; the retry finds out which."""
    fill(url)
    killed = 0
    for when in range(1, 100):
        before = sound(url)
        answer = client(url, verb, inject=f"sendto:signal=SIGKILL:when={when}")
        left = sound(url)
        assert left.events in (before.events, before.events + EVENTS[verb])
        sent = len(re.findall(r"^\d+ +sendto\(", answer.trace, re.MULTILINE))
        if answer.acknowledged:  # it takes no more messages than that
            assert sent < when
            break
        assert (answer.status, sent) == (-signal.SIGKILL, when)
        killed += 1
        if left.events > before.events:  # it happened: from here on it is found by its key
            break
    assert killed >= (2 if verb == "tell" else 3)  # a tell reads nothing first
    assert client(url, verb).acknowledged
    assert sound(url).events == left.events


# The answer to a write is lost

EVENTS = {"ask": 1, "batch": 3, "tell": 1, "add": 2, "fail": 1}
WORDS = {"ask": b"asked", "batch": b"asked", "tell": b"told", "add": b"asked", "fail": b"failed"}


@pytest.mark.parametrize("heard", [True, False], ids=["committed", "never-arrived"])
@pytest.mark.parametrize("verb", EVENTS)
def test_a_lost_answer(url: str, proxy: Proxy, verb: str, heard: bool) -> None:
    """The retry finds its own write, or writes it: one of it either way."""
    fill(url)
    before = sound(url)
    study = Study.open(through(proxy, url), NAME)
    proxy.cuts = [Cut(WORDS[verb], heard), Cut(b"COMMIT", heard)]  # the first try, and the second
    answer = VERBS[verb](study)
    assert not proxy.cuts
    assert sound(url).events == before.events + EVENTS[verb]
    assert VERBS[verb](Study.open(url, NAME)) == answer
    assert sound(url).events == before.events + EVENTS[verb]


def test_lost_answers_without_a_key(url: str, proxy: Proxy) -> None:
    """Also a client that gives no key gets one trial per ask, and its tells are no duplicates."""
    study = create(through(proxy, url))
    for number in range(1, 5):
        proxy.cuts = [Cut(b"asked"), Cut(b"COMMIT")][: number % 3]
        trial = study.ask()
        assert trial.number == number
        proxy.cuts = [Cut(b"told"), Cut(b"COMMIT")][: number % 2]
        assert study.tell(trial, 0.5).status == "heard"
        assert not proxy.cuts
    report = sound(url)
    assert (report.events, report.trials, report.outcomes) == (8, 4, 4)


@pytest.mark.parametrize("key", ["mine", None])
def test_a_commit_that_is_still_on_its_way(url: str, proxy: Proxy, key: str | None) -> None:
    """The connection is gone, and the old COMMIT arrives after the retry began: still one trial and one outcome."""
    fill(url)
    study = Study.open(through(proxy, url), NAME)
    proxy.cuts = [Cut(b"asked", heard=False), Cut(b"COMMIT", late=0.7)]
    assert study.ask(key=key).number == 13
    assert not proxy.cuts
    proxy.cuts = [Cut(b"told", late=0.7), Cut(b"COMMIT", late=0.7)]
    assert study.tell(13, 0.5).status == "heard"
    assert (sound(url).trials, sound(url).outcomes) == (13, 10)


def test_a_commit_that_is_never_answered(url: str, proxy: Proxy) -> None:
    """After some attempts it says so; what happened, happened once, and the key finds it."""
    fill(url)
    study = Study.open(through(proxy, url), NAME)
    proxy.cuts = [Cut(b"belated_")] * 1000  # whatever it is that is read or written
    with pytest.raises(Unreachable, match="cannot be reached"):
        study.ask(key="the-ask")
    proxy.cuts = []
    assert study.ask(key="the-ask").number == 13
    assert sound(url).trials == 13


@pytest.mark.parametrize("word", [b"INSERT INTO belated_studies", b"CREATE TABLE belated_events", b"COMMIT"])
@pytest.mark.parametrize("heard", [True, False], ids=["done", "never-arrived"])
def test_cut_off_while_a_study_is_created(url: str, proxy: Proxy, word: bytes, heard: bool) -> None:
    proxy.cuts = [Cut(word, heard)]
    study = create(through(proxy, url))
    assert not proxy.cuts
    assert study.ask().number == 1
    assert sound(url).studies == 1
