"""A network that can be cut in silence: this machine, a router and a client, the latter two in namespaces of their own.

server (here)  .1 ── .2  router  .5 ── .6  client

A cut makes the router forward nothing: packets vanish, and nobody is told. That is what a partition looks like; a link
that is taken down would be noticed at once."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass


class NoNamespaces(Exception):
    """Network namespaces cannot be made here; the message says why."""


def run(*words: str) -> None:
    subprocess.run(words, capture_output=True, text=True, check=True)


@dataclass(frozen=True)
class Network:
    """The names of the two namespaces, and the first three numbers of every address."""

    name: str
    prefix: str

    @property
    def server(self) -> str:
        """The address of this machine in it."""
        return f"{self.prefix}.1"

    @property
    def router(self) -> str:
        return f"{self.name}-r"

    @property
    def client(self) -> str:
        return f"{self.name}-c"

    def cut(self) -> None:
        self._forward("0")

    def heal(self) -> None:
        self._forward("1")

    def start(self, script: str, *args: str) -> subprocess.Popen[str]:
        """A Python script on the client."""
        words = ["ip", "netns", "exec", self.client, sys.executable, "-W", "error", "-c", script, *args]
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def _forward(self, whether: str) -> None:
        path = "/proc/sys/net/ipv4/ip_forward"  # of the namespace
        run("ip", "netns", "exec", self.router, "sh", "-c", f"echo {whether} > {path}")


@contextmanager
def make_network() -> Iterator[Network]:
    """The network, removed afterwards."""
    if shutil.which("ip") is None:
        raise NoNamespaces("network namespaces cannot be made here: there is no program ip (Debian: iproute2)")
    if os.geteuid() != 0:
        raise NoNamespaces("network namespaces can be made by root only")
    token = secrets.token_hex(3)
    number = int(token[:4], 16)
    made = Network(f"belated-{token}", f"198.{18 + number % 2}.{number // 2 % 256}")  # addresses for tests: RFC 2544
    here, there = f"b{token}s", f"b{token}c"
    try:
        try:
            for name in (made.router, made.client):
                run("ip", "netns", "add", name)
            for device, namespace in ((here, made.router), (there, made.client)):
                run("ip", "link", "add", device, "type", "veth", "peer", "name", "far", "netns", namespace)
            run("ip", "link", "set", there, "netns", made.router)
        except subprocess.CalledProcessError as error:
            raise NoNamespaces(f"network namespaces are not permitted here: {error.stderr.strip()}") from None
        run("ip", "addr", "add", f"{made.prefix}.1/30", "dev", here)
        run("ip", "link", "set", here, "up")
        for namespace, device, address in (
            (made.router, "far", f"{made.prefix}.2/30"),
            (made.router, there, f"{made.prefix}.5/30"),
            (made.client, "far", f"{made.prefix}.6/30"),
        ):
            run("ip", "-n", namespace, "addr", "add", address, "dev", device)
            run("ip", "-n", namespace, "link", "set", device, "up")
        run("ip", "route", "add", f"{made.prefix}.4/30", "via", f"{made.prefix}.2")
        run("ip", "-n", made.client, "route", "add", "default", "via", f"{made.prefix}.5")
        made.heal()
        yield made
    finally:
        for name in (made.router, made.client):  # with a namespace go its devices, their other ends and the route
            with suppress(subprocess.CalledProcessError):
                run("ip", "netns", "del", name)
