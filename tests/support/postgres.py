"""A PostgreSQL server for tests: on a folder of its own, under another user when root, gone when the tests are."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

USER = "belated"  # the superuser of the throw-away cluster; nobody needs a password
PATIENCE = 60.0  # seconds for the server to come up, or to go


class NoPostgres(Exception):
    """PostgreSQL cannot be run here; the message says why."""


def find_binary(name: str) -> str:
    """A program of PostgreSQL's: on the PATH, or where Debian keeps it."""
    kept = [str(folder) for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), *kept]))
    if found is None:
        raise NoPostgres(f"PostgreSQL is not installed: there is no {name} on the PATH")
    return found


def find_user() -> str | None:
    """The user to run as: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise NoPostgres("PostgreSQL refuses to run as root, and there is no user postgres or nobody")


@dataclass
class Server:
    """One cluster. It listens on a socket in its folder, and at its addresses when it has a port."""

    folder: Path
    user: str | None
    port: int | None = None
    addresses: str = "127.0.0.1"  # where it listens when it has a port
    _running: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @classmethod
    def make(cls, port: int | None = None, addresses: str = "127.0.0.1") -> Server:
        """A new cluster, not started yet."""
        if find_spec("psycopg") is None:
            raise NoPostgres("psycopg is not installed: pip install belated[postgres]")
        user, initdb = find_user(), find_binary("initdb")
        folder = Path(tempfile.mkdtemp(prefix="belated-pg-"))
        if user is not None:
            shutil.chown(folder, user)
        words = [initdb, "-D", str(folder / "cluster"), "-U", USER, "--auth=trust", "--no-sync", "-E", "UTF8"]
        made = subprocess.run([*words, "--locale=C"], capture_output=True, user=user, cwd=folder, check=False)
        if made.returncode:
            shutil.rmtree(folder)
            raise NoPostgres(f"initdb failed: {made.stderr.decode(errors='replace').strip()}")
        return cls(folder, user, port, addresses)

    @property
    def pid(self) -> int:
        assert self._running is not None
        return self._running.pid

    def start(self) -> None:
        """Start it, and wait until it answers."""
        import psycopg

        words = [find_binary("postgres"), "-D", str(self.folder / "cluster"), "-k", str(self.folder)]
        said = {
            "listen_addresses": "" if self.port is None else self.addresses,
            "port": str(self.port or 5432),
            "max_connections": "100",
            "fsync": "off",  # the tests crash the server, never the machine
        }
        for name, value in said.items():
            words += ["-c", f"{name}={value}"]
        with (self.folder / "log").open("ab") as log:
            self._running = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, user=self.user, cwd=self.folder,
                start_new_session=True,  # Ctrl-C is for the tests, which then stop the server
            )  # fmt: skip
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.url()).close()
                return
            except psycopg.OperationalError as error:
                ended = self._running.poll() is not None
                if ended or time.monotonic() > deadline:
                    self.stop("immediate")
                    log_tail = (self.folder / "log").read_text(errors="replace")[-2000:]
                    raise NoPostgres(f"PostgreSQL did not come up ({error}): {log_tail}") from None
                time.sleep(0.05)

    def stop(self, mode: str = "fast") -> None:
        """As `pg_ctl stop -m`: "fast" closes in order, "immediate" is a crash that the next start recovers from."""
        running, self._running = self._running, None
        if running is None:
            return
        if running.poll() is None:
            running.send_signal({"fast": signal.SIGINT, "immediate": signal.SIGQUIT}[mode])
        try:
            running.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()

    def remove(self) -> None:
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str = "postgres") -> str:
        """Through the socket."""
        return f"postgresql://{USER}@/{database}?host={self.folder}&port={self.port or 5432}"

    def execute(self, statement: str) -> None:
        """One statement in the server's own database."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement.encode())

    @contextmanager
    def database(self) -> Iterator[str]:
        """The url of a new, empty database, dropped afterwards."""
        name = f"test_{secrets.token_hex(8)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        try:
            yield self.url(name)
        finally:
            self.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def serve(port: int | None = None, addresses: str = "127.0.0.1") -> Iterator[Server]:
    """A server that is running, and removed afterwards."""
    server = Server.make(port, addresses)
    try:
        server.start()
        yield server
    finally:
        server.remove()
