"""Worlds that go wrong: a lab's file, and clients in processes of their own under strace."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import belated
from belated import Study
from belated.record.check import CheckReport, check
from tests.faults.client import NAME, fill

ROOT = Path(__file__).resolve().parents[2]
CLIENT = Path(__file__).with_name("client.py")
ENV = {
    **os.environ,
    "PYTHONPATH": str(Path(belated.__file__).parents[1]),
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def straced() -> str:
    """Where strace is; the test is skipped without it, in CI it fails."""
    found = shutil.which("strace")
    reason = "strace is not installed"
    if found is not None:
        tried = subprocess.run([found, "-qq", "-o", os.devnull, "true"], capture_output=True, check=False)
        if tried.returncode == 0:
            return found
        reason = f"strace may not trace here: {tried.stderr.decode(errors='replace').strip()}"
    if os.environ.get("CI"):
        pytest.fail(f"CI must run the fault tests: {reason}")
    pytest.skip(reason)


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[None]:
    """A filesystem of this size at a folder; where nothing may be mounted the test is skipped, in CI it fails."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    reason = "there is no mount"
    if mount is not None and umount is not None:
        words = [mount, "-t", "tmpfs", "-o", f"size={kilobytes}k", "belated-test", str(folder)]
        tried = subprocess.run(words, capture_output=True, check=False)
        if tried.returncode == 0:
            try:
                yield
            finally:
                subprocess.run([umount, "--lazy", str(folder)], check=True)
            return
        reason = f"nothing may be mounted here: {tried.stderr.decode(errors='replace').strip()}"
    if os.environ.get("CI"):
        pytest.fail(f"CI must run the fault tests: {reason}")
    pytest.skip(reason)


@dataclass(frozen=True)
class Lab:
    """A SQLite store in a folder of its own."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "lab.db"

    @property
    def url(self) -> str:
        return f"sqlite:///{self.path}"

    def copy(self, to: Path) -> Lab:
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.folder, to)
        return Lab(to)

    def open(self, **words: Any) -> Study:
        return Study.open(self.url, NAME, **words)


def lab(folder: Path, *, closed: bool) -> Lab:
    """A lab in the middle of its life; unless it was closed in order, its newest rows are in the WAL only."""
    place = Lab(folder)
    folder.mkdir()
    if closed:
        fill(place.url).disconnect()
        assert not place.path.with_name("lab.db-wal").exists()
    else:
        script = f"from tests.faults.client import fill; import os; kept = fill({place.url!r}); os._exit(0)"
        subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT, env=ENV)
        assert place.path.with_name("lab.db-wal").stat().st_size > 0
    return place


@dataclass(frozen=True)
class Answer:
    """What a client said before it ended."""

    status: int  # negative: killed by this signal
    lines: list[Any]
    trace: str = ""  # its system calls, if they were looked at

    @property
    def acknowledged(self) -> bool:
        return self.status == 0

    @property
    def last(self) -> Any:
        return self.lines[-1]


@cache
def _server() -> subprocess.Popen[str]:
    """A process that forks clients; it ends when this one does, since its input does."""
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", str(CLIENT)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENV, cwd=ROOT,
    )  # fmt: skip


@contextmanager
def running(url: str, verb: str, *words: str) -> Iterator[Client]:
    """A client that is ready, and waits for go(); awaited at the end, killed if need be."""
    with tempfile.TemporaryDirectory(prefix="belated-client-") as folder:
        out = Path(folder) / "out"
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps([url, verb, words, str(out)]) + "\n")
        server.stdin.flush()
        made = Client(int(server.stdout.readline()), out)
        try:
            made.wait_for("ready")
            yield made
        except BaseException:
            made.kill()
            raise
        finally:
            made.status = int(server.stdout.readline())
            made.said = out.read_text() if out.exists() else ""


@dataclass
class Client:
    """A client that runs."""

    pid: int
    out: Path
    status: int = 0
    said: str = ""
    trace: str = ""

    def wait_for(self, word: str) -> None:
        deadline = time.monotonic() + 60
        while json.dumps(word) + "\n" not in (self.out.read_text() if self.out.exists() else ""):
            assert time.monotonic() < deadline, f"the client never said {word!r}: {self.out.read_text()}"
            time.sleep(0.002)

    def go(self) -> None:
        os.kill(self.pid, signal.SIGUSR1)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def answer(self) -> Answer:
        return Answer(self.status, [json.loads(line) for line in self.said.splitlines()], self.trace)


@contextmanager
def tracing(pid: int, *words: str) -> Iterator[None]:
    """strace attached to a process, until that ends."""
    command = [straced(), "-f", "-y", "-s", "0", "-p", str(pid), *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        assert "attached" in tracer.stderr.readline()
        yield
        tracer.stderr.read()


def client(url: str, verb: str, *words: str, trace: str = "", inject: str = "") -> Answer:
    """Run a client to its end.

    trace   system calls to look at
    inject  what strace does to one of them, as `pwrite64:signal=SIGKILL:when=3`"""
    if inject:
        trace = inject.split(":", 1)[0]
    with running(url, verb, *words) as made:
        seen = made.out.with_name("trace")
        injected = ["-e", f"inject={inject}"] if inject else []
        with tracing(made.pid, "-e", f"trace={trace}", *injected, "-o", str(seen)) if trace else nullcontext():
            made.go()
        made.trace = seen.read_text() if trace else ""
    return made.answer()


def sound(url: str) -> CheckReport:
    """The check of a store that must be whole."""
    report = check(url)
    assert report.ok, str(report)
    return report
