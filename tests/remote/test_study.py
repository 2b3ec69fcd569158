"""A study at a server has the methods, results and errors of a local one."""

from __future__ import annotations

import contextlib
import inspect
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

import belated
from belated import InvalidInput, Points, Real, Study, Unreachable
from belated.remote.study import RemoteStudy
from tests.support.losing import lose_answers
from tests.support.servers import Running, run_server

LINE = {"x": Real(0, 1)}
PUBLIC = [name for name in vars(Study) if not name.startswith("_")]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with run_server(f"sqlite:///{tmp_path}/lab.db") as running:
        yield running


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_signature_is_the_same(name: str) -> None:
    ours, theirs = inspect.getattr_static(Study, name), inspect.getattr_static(RemoteStudy, name)
    assert isinstance(theirs, property) == isinstance(ours, property)
    if not isinstance(ours, property):
        assert inspect.signature(getattr(RemoteStudy, name)) == inspect.signature(getattr(Study, name))


def count_calls(server: Running, route: str) -> int:
    found = re.findall(
        rf'belated_calls_total{{route="{route}",status="200"}} (\d+)', server.call("GET", "/metrics").body.decode()
    )
    return sum(map(int, found))


def test_who_only_asks_and_tells_never_reads_the_history(server: Running) -> None:
    study = Study.create(server.url, "lab", space=LINE, silence="unknown", seed=0)
    for _ in range(3):
        study.tell(study.ask(), 0.5)
    assert count_calls(server, "events") == 0
    assert study.rounds == 3
    assert count_calls(server, "events") == 1


def play(study: Study) -> list[object]:
    """Every verb, and what it answers."""
    found: list[object] = []
    first, second, third = study.ask(n=3)
    found.append(study.tell(second, 0.25, at=datetime(2026, 1, 2, tzinfo=UTC), by="anna").status)
    found.append(study.tell(first, 0.5, noise=0.1, params={"x": 0.125}, remark="the knob").used)
    found.append(study.fail(third, "lost", reason="dropped").failure)
    found.append([t.number for t in study.add_many([{"params": {"x": 0.75}, "value": 0.6}, {"params": {"x": 0.5}}])])
    found.append([(each.number, each.status) for each in study.tell_many([{"trial": 5, "value": 0.3}])])
    found.append(study.add({"x": 0.9}, 0.1, by="anna").asked_by)
    found.append(study.amend(1, 0.55, reason="a typing error").outcome)
    found.append(study.amend(ranges={"x": (0, 2)}, patience=timedelta(days=3), reason="wider"))
    found.append([past.event.value for past in study.undo(1)])
    found += [study.best().params, study.settings.patience, study.settings.space, study.recommend().params]
    found.append([(t.number, dict(t.params), t.status, t.outcome, t.asked_by, t.remark) for t in study.trials()])
    found.append([entry.sentence for entry in study.log()])
    study.close(by="anna")
    found.append(study.closed)
    study.reopen(reason="two more")
    found.append((study.closed, study.refit(), study.replay(3).same, study.ask().params))
    return found


SAID: dict[str, Any] = {"space": LINE, "silence": "unknown", "patience": "14d", "seed": 3}


def test_a_script_gives_the_same_as_in_memory(server: Running) -> None:
    assert play(Study.create(server.url, "lab", **SAID)) == play(Study.create(None, "lab", **SAID))


def test_a_script_gives_the_same_where_every_first_answer_is_lost(server: Running) -> None:
    """Each call is made twice, and done once; the client hears what it would have heard at once."""
    with lose_answers(server.url) as (url, lost):
        found = play(Study.create(url, "lab", **SAID))
    assert found == play(Study.create(None, "lab", **SAID))
    done = {path.rpartition("/")[2] for path in lost}
    assert done == {
        "studies",
        *["ask", "tell", "tell_many", "fail", "add", "add_many", "amend", "undo", "close", "reopen", "refit"],
    }
    assert belated.check(server.store).ok


@dataclass(frozen=True)
class Odd:
    """A silence of somebody's own."""

    name = "odd"
    fills, forgets, uses_floor = "floor", False, False

    def fill(self, history: object) -> object:
        raise NotImplementedError


def test_what_only_python_has_is_refused_in_a_sentence(server: Running, tmp_path: Path) -> None:
    for words, sentence in (
        ({"clock": lambda: 0.0}, "at a server its own clock counts; leave clock out"),
        ({"silence": Odd()}, "silence must be one that belated knows by name"),
        ({"silence": belated.silence.Fading(law=belated.delays.Fixed(3))}, "a server knows belated's own parts only"),
    ):
        with pytest.raises(InvalidInput, match=sentence):
            Study.create(server.url, "lab", **{"space": LINE, "silence": "unknown", **words})
    with pytest.raises(InvalidInput, match="token is for a server"):
        Study.create(f"sqlite:///{tmp_path}/other.db", "lab", space=LINE, silence="unknown", token="x")  # noqa: S106
    with pytest.raises(InvalidInput, match="a server's url has no user and no password"):
        Study.open("https://anna:secret@host", "lab")
    assert belated.studies(server.url) == []


@pytest.mark.parametrize(
    "wrong",
    [
        *(float("nan"), float("inf"), 10**400, 10**5000, True, "0.5", [0.5], None, object()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_bad_value_is_refused_with_the_same_sentence(server: Running, wrong: object) -> None:
    remote = Study.create(server.url, "lab", space=LINE, silence="unknown", seed=0)
    local = Study.create(None, "lab", space=LINE, silence="unknown", seed=0)
    said = []
    for study in (remote, local):
        study.ask()
        with pytest.raises(InvalidInput) as refused:
            study.tell(1, wrong)  # type: ignore[arg-type]
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert remote.trial(1).status == "pending"


def test_a_flag_that_is_text_is_refused_by_the_client_and_by_the_server(server: Running) -> None:
    study = Study.create(server.url, "lab", space=LINE, silence="unknown", seed=0)
    study.tell(study.ask(), 0.5)
    calls = {
        "lock": lambda: study.close(lock=wrong),  # type: ignore[arg-type]
        "take_back": lambda: study.amend(1, take_back=wrong, reason="why"),  # type: ignore[arg-type]
    }
    for wrong in ("", "false"):
        for name, call in calls.items():
            with pytest.raises(InvalidInput, match=f"{name} must be True or False .got '{wrong}'."):
                call()
    for verb, body in (("close", {"lock": "false"}), ("amend", {"trial": 1, "take_back": "false", "reason": "why"})):
        assert server.call("POST", f"/api/studies/lab/{verb}", body).status == 400
    assert (study.closed, study.trial(1).status) == (False, "heard")


def test_a_renamed_and_a_deleted_study_are_known_to_old_handles(server: Running) -> None:
    study = Study.create(server.url, "lab", space=Points([0.0, 0.5]), silence="unknown", seed=0)
    other = Study.open(server.url, "lab")
    study.rename("flask", reason="a better name")
    assert other.ask().number == 1
    assert (other.rounds, other.name) == (1, "flask")
    study.delete("flask", reason="enough")
    for call in (other.ask, other.trials, study.ask):
        with pytest.raises(belated.Deleted, match="flask was deleted"):
            call()


def test_an_executor_of_the_client_is_refused(server: Running) -> None:
    from concurrent.futures import ThreadPoolExecutor

    study = Study.create(server.url, "lab", space=LINE, silence="unknown", seed=0)
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(InvalidInput, match="in processes of its own"),
    ):
        study.refit(executor=executor)


def test_a_server_without_tls_is_known_at_once(server: Running) -> None:
    began = time.monotonic()
    url = server.url.replace("http://", "https://")
    with pytest.raises(Unreachable, match=r"does not speak TLS; is its address http://\.\.\.\?$"):
        Study.open(url, "lab")
    assert time.monotonic() - began < 5


def test_a_certificate_that_nobody_signed_is_refused_at_once(tmp_path: Path) -> None:
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=lab", "-days", "1"]
    key, signed = tmp_path / "lab.key", tmp_path / "lab.pem"
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    subprocess.run([*make, "-keyout", str(key), "-out", str(signed)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(signed, key)

    def greet(listening: socket.socket) -> None:
        with contextlib.suppress(OSError), context.wrap_socket(listening, server_side=True) as secure:
            secure.accept()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"https://127.0.0.1:{listening.getsockname()[1]}"
        thread = threading.Thread(target=greet, args=[listening], daemon=True)
        thread.start()
        with pytest.raises(Unreachable, match=r"the certificate of the server .* is not trusted \(self.signed"):
            Study.open(url, "lab")
        thread.join(10)
