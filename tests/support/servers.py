"""A server of belated's for tests: uvicorn on loopback, in a thread of this process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("jinja2")
uvicorn = pytest.importorskip("uvicorn")

from belated.service.app import make_app  # noqa: E402
from belated.service.core import Service  # noqa: E402
from belated.service.limits import Limits  # noqa: E402
from belated.service.run import listen  # noqa: E402


@dataclass
class Reply:
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body, parse_constant=pytest.fail)


@dataclass
class Running:
    """A server that runs."""

    url: str
    service: Service
    store: str

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Reply:
        """One call; a body that is not bytes is sent as JSON."""
        said = dict(headers or {})
        if token is not None:
            said["Authorization"] = f"Bearer {token}"
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            said.setdefault("Content-Type", "application/json")
        connection = HTTPConnection(self.url.removeprefix("http://"), timeout=30)
        try:
            connection.request(method, path, body, said)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, answer.read())
        finally:
            connection.close()


@contextmanager
def run_server(
    store: str,
    *,
    workers: int = 0,
    open_to_all: bool = True,
    limits: Limits | None = None,
    clock: Callable[[], float] = time.time,
) -> Iterator[Running]:
    """A server on a free port of 127.0.0.1, until the end of the block."""
    service = Service(store, workers=workers, open_to_all=open_to_all, limits=limits, clock=clock)
    sock = listen("127.0.0.1", 0)
    config = uvicorn.Config(make_app(service), log_level="critical", access_log=False, timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([sock],), daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.005)
    assert server.started
    try:
        yield Running(f"http://127.0.0.1:{sock.getsockname()[1]}", service, store)
    finally:
        service.streams.stop()
        server.should_exit = True
        thread.join(20)


@dataclass
class ServerProcess:
    """`belated serve` in a process of its own."""

    process: subprocess.Popen[str]
    url: str
    said: list[str]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(20)

    def stop(self, *, group: bool = False) -> float:
        """SIGTERM, to the server alone or to all of its processes; how long it takes to end."""
        begun = time.monotonic()
        if group:
            os.killpg(self.process.pid, signal.SIGTERM)
        else:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        return time.monotonic() - begun

    @property
    def workers(self) -> list[int]:
        """Its processes that choose, also when it has ended itself."""
        words = ["/usr/bin/pgrep", "-g", str(self.process.pid), "-f", "spawn_main"]
        found = subprocess.run(words, capture_output=True, text=True, check=False)
        return [int(word) for word in found.stdout.split()]


@contextmanager
def start_server(store: str, *options: str, port: int = 0) -> Iterator[ServerProcess]:
    """`belated serve`, which is killed at the end of the block if it still runs."""
    words = [sys.executable, "-c", "from belated.cli import main; main()", "serve", "--store", store]
    process = subprocess.Popen(
        [*words, "--port", str(port), *options], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        said = [process.stdout.readline()]
        assert said[0].startswith("Serving "), said
        if "--open" not in options:
            said.append(process.stdout.readline())
        yield ServerProcess(process, said[0].split()[1], said)
    finally:
        process.kill()
        process.wait(20)
        if process.stdout is not None:
            process.stdout.close()
