"""A network that goes silent: every call is answered or reported within 30 s, a lost holder's lock is free in 60 s.

The promises are measured in a real network, between namespaces. Where those are not permitted, the settings that keep
the promises are still read back, from the server and from the socket."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from belated import Real, Study
from belated.record.ledger import open_store
from tests.faults.partition import Network, NoNamespaces, make_network
from tests.faults.world import sound
from tests.support.postgres import USER, Server, serve

REPORTED = 30.0  # seconds
FREE = 60.0

# Waits for a line with a verb, does it, and prints what came of it and how long it took.
CLIENT = """
import json, sys, time
from belated import Study, BelatedError
from belated.record.ledger import open_store
url = sys.argv[1]
study = Study.open(url, "lab")
verbs = {
    "tell": lambda: study.tell(1, 0.5, key="k").status,
    "ask": lambda: study.ask(key="a").number,
    "show": lambda: len(study.trials()),
}
print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "hold":
        with open_store(url).ledger("lab").lock_asks() as turn:
            print("held", flush=True)
            sys.stdin.readline()
            continue
    began = time.monotonic()
    try:
        answer = verbs[line.strip()]()
    except BelatedError as error:
        answer = type(error).__name__
    print(json.dumps([answer, time.monotonic() - began]), flush=True)
"""


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    try:
        with make_network() as made:
            yield made
    except NoNamespaces as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def server(network: Network, postgres: Server) -> Iterator[Server]:
    """A server that listens in the network too."""
    with socket.create_server((network.server, 0)) as free:
        port = free.getsockname()[1]
    with serve(port, f"127.0.0.1,{network.server}") as own:
        rules = own.folder / "cluster" / "pg_hba.conf"
        rules.write_text(rules.read_text() + f"host all all {network.prefix}.0/24 trust\n")
        own.execute("SELECT pg_reload_conf()")
        yield own


@pytest.fixture
def url(server: Server, network: Network) -> Iterator[str]:
    """A study with two trials, as this machine reaches it; whatever a test cuts is healed."""
    with server.database() as made:
        with Study.create(made, "lab", space={"x": Real(0, 1)}, silence="unknown", seed=0) as study:
            study.ask(n=2)
        try:
            yield made
        finally:
            network.heal()


@pytest.fixture
def worker(server: Server, network: Network, url: str) -> Iterator[subprocess.Popen[str]]:
    """The client, on the other side of the network."""
    database = url.removeprefix(f"postgresql://{USER}@/").partition("?")[0]
    with network.start(CLIENT, f"postgresql://{USER}@{network.server}:{server.port}/{database}") as ran:
        assert ran.stdout is not None
        assert ran.stdout.readline() == "ready\n"
        yield ran
        ran.kill()


def order(worker: subprocess.Popen[str], verb: str) -> None:
    assert worker.stdin is not None
    worker.stdin.write(f"{verb}\n")


def hear(worker: subprocess.Popen[str]) -> Any:
    assert worker.stdout is not None
    ready, _, _ = select.select([worker.stdout], [], [], REPORTED)
    assert ready, f"no answer in {REPORTED} s"
    return json.loads(worker.stdout.readline())


@pytest.mark.parametrize("verb", ["tell", "ask"])
def test_a_call_during_a_partition_is_reported(
    network: Network, url: str, worker: subprocess.Popen[str], verb: str
) -> None:
    network.cut()
    order(worker, verb)
    answer, seconds = hear(worker)
    assert answer == "Unreachable"
    assert seconds < REPORTED
    network.heal()
    order(worker, verb)  # the same call with its key, when the network is back
    answer, seconds = hear(worker)
    assert answer == {"tell": "heard", "ask": 3}[verb]
    assert seconds < REPORTED
    report = sound(url)
    assert (report.trials, report.outcomes) == {"tell": (2, 1), "ask": (3, 0)}[verb]


def test_a_short_partition_is_outlasted(network: Network, url: str, worker: subprocess.Popen[str]) -> None:
    network.cut()
    order(worker, "tell")
    time.sleep(3.0)
    network.heal()
    answer, seconds = hear(worker)
    assert answer == "heard"
    assert 2.0 < seconds < REPORTED
    assert sound(url).outcomes == 1


def check_others_get_their_turn(url: str, worker: subprocess.Popen[str], network: Network) -> None:
    """An ask by somebody else, who waits no longer than a minute."""

    def ask() -> int:
        with Study.open(url, "lab") as study:
            return study.ask().number

    with ThreadPoolExecutor(1) as pool:
        try:
            assert pool.submit(ask).result(timeout=FREE) == 3
        finally:  # so that the thread ends, whatever happened
            network.heal()
            worker.kill()


def test_the_lock_of_a_lost_holder_is_free(network: Network, url: str, worker: subprocess.Popen[str]) -> None:
    order(worker, "hold")
    assert worker.stdout is not None
    assert worker.stdout.readline() == "held\n"
    network.cut()
    check_others_get_their_turn(url, worker, network)


def test_the_turn_of_a_lost_waiter_passes_on(network: Network, url: str, worker: subprocess.Popen[str]) -> None:
    """It was next in the queue, so the server gives it the lock, and nobody takes that."""
    store: Any = open_store(url)
    with store.ledger("lab").lock_asks():
        order(worker, "ask")
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        deadline = time.monotonic() + REPORTED
        while store.run(lambda connection: connection.execute(waiting).fetchone()[0]) == 0:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        network.cut()
    store.close()
    check_others_get_their_turn(url, worker, network)


# The settings themselves: no namespaces needed ------------------------------------------------------------------------

CLIENT_SIDE = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 10_000}
SERVER_SIDE = {
    "tcp_keepalives_idle": "15",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "20000",
    "idle_in_transaction_session_timeout": "30s",
    "client_connection_check_interval": "5s",
}


@pytest.fixture(scope="module")
def local(postgres: Server) -> Iterator[str]:
    """The url of a server on loopback: a socket in the file system has no such settings."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with serve(port) as own:
        yield f"postgresql://{USER}@127.0.0.1:{own.port}/postgres"


def read_limits(url: str) -> tuple[dict[str, int], dict[str, str]]:
    """What the socket and the session have, of the connection that a store makes."""
    store: Any = open_store(url)

    def look(connection: Any) -> tuple[dict[str, int], dict[str, str]]:
        shown = {name: connection.execute(f"SHOW {name}".encode()).fetchone()[0] for name in SERVER_SIDE}
        with socket.socket(fileno=os.dup(connection.fileno())) as end:
            options = {name: getattr(socket, name) for name in CLIENT_SIDE}
            return {name: end.getsockopt(socket.IPPROTO_TCP, option) for name, option in options.items()}, shown

    try:
        limits: tuple[dict[str, int], dict[str, str]] = store.run(look)
        return limits
    finally:
        store.close()


def test_both_sides_watch_each_other(local: str) -> None:
    assert read_limits(local) == (CLIENT_SIDE, SERVER_SIDE)


def test_what_the_url_sets_is_left_alone(local: str) -> None:
    said = "keepalives_idle=77&tcp_user_timeout=12345&options=-c%20tcp_keepalives_idle%3D99"
    client, server = read_limits(f"{local}?{said}")
    assert client == {**CLIENT_SIDE, "TCP_KEEPIDLE": 77, "TCP_USER_TIMEOUT": 12345}
    assert server == {**SERVER_SIDE, "tcp_keepalives_idle": "99"}
