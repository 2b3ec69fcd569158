"""`belated serve`: what it refuses. That it serves is tested with servers, in tests/faults."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from tests.cli.shell import run

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--workers", "0"], "--workers must be at least 1 (got 0)"),
        (["--open", "--host", "0.0.0.0"], "--open is for this machine only; leave --host out (got 0.0.0.0)"),  # noqa: S104
        (["--store", "https://lab.example.org"], "a server serves a store: a SQLite file or PostgreSQL"),
        (["--store", "lab.db"], "url must start with sqlite:///"),
        (["--port", "99999"], "--port must be 0 to 65535 (got 99999)"),
        (["--behind", "localhost"], "--behind must be an IP address such as 127.0.0.1, or several (got localhost)"),
        (["--behind", "10.0.0.7, *"], "--behind must be an IP address such as 127.0.0.1, or several (got *)"),
    ],
)
def test_bad_input_gets_one_sentence(args: list[str], sentence: str) -> None:
    ran = run("serve", *args)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert sentence in ran.stderr


def test_a_port_in_use_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ran = run("serve", "--port", str(taken.getsockname()[1]))
    assert ran.exit_code == 2
    assert "cannot be listened on (Address already in use)" in ran.stderr


@pytest.mark.parametrize(
    ("args", "serving", "link"),
    [
        ([], "http://127.0.0.1:", "http://127.0.0.1:"),
        (["--host", "0.0.0.0"], "http://0.0.0.0:", "http://127.0.0.1:"),  # noqa: S104
        (["--host", "0.0.0.0", "--behind", "10.0.0.7"], "http://0.0.0.0:", "http://127.0.0.1:"),  # noqa: S104
    ],
)
def test_the_link_opens_on_this_machine_and_tokens_without_tls_are_warned_of(
    args: list[str], serving: str, link: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def announce(app: Any, sock: socket.socket, *, proxies: str, started: Callable[[], None]) -> None:
        started()
        sock.close()
        app.state.service.close()

    monkeypatch.setattr("belated.service.run.serve", announce)
    ran = run("serve", "--port", "0", *args)
    first, second = ran.stdout.splitlines()
    assert first.startswith(f"Serving {serving}")
    assert second.startswith(f"Sign in, once, within five minutes: {link}")
    warned = "Warning: without TLS tokens travel unencrypted; let a proxy do that, and name its address with --behind\n"
    assert ran.stderr == (warned if args[1:] == ["0.0.0.0"] else "")  # noqa: S104
