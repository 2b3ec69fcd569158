"""What a server costs: tells, asks and pages over HTTP, beside bare appends and Optuna's gRPC storage proxy.

    python -m benchmarks.service [--quick] [--folder FOLDER] [--no-postgres] [--no-optuna]
    python -m benchmarks.service --soak 300 [--no-postgres]

pairs/s     ask + tell pairs of all clients together, in four processes at most, all on one study
calls/s     of all clients together, each in a thread of this process
p50, p99    of the time that one call takes, seen by the client
first paint how long chromium waits for the first words of a study's page, in a new window with nothing cached
of appends  pairs/s as a share of bare appends of the same events, in the same run: no server, no reading, no choice

Pairs are of space-filling queries, so that they measure the service. "ask, n = 100" is the default algorithm on a study
with 100 outcomes. A soak is many clients at once that ask, tell, read and follow for so many seconds; then the record
is compared with what they did. Everything is on one machine: clients and server share its cores.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np

import belated
from belated.record.check import find_faults
from belated.record.ledger import open_store
from belated.record.ledger.calls import ServerConnection
from benchmarks.ledger import (
    SPACE,
    Goal,
    Line,
    Place,
    System,
    Work,
    brief,
    client,
    fill,
    pairs,
    postgres_in,
    prepare,
    sqlite_in,
    summary,
    table,
)

MOST_PROCESSES = 4  # of clients
FULL = "full"  # the study with outcomes
TELLS_WITHIN, MORE = 2.0, 1.0  # multiples of a bare append, and ms
OF_APPENDS, P99_WHILE_ASKING = 0.5, 100.0


@dataclass(frozen=True)
class ServicePlan:
    """How much to measure."""

    clients: tuple[int, ...] = (1, 16, 64)
    seconds: float = 10.0
    outcomes: int = 100
    trials: int = 1000  # of the study whose pages are read
    painted: tuple[int, ...] = (100, 10_000)  # trials of the studies whose pages are painted
    paints: int = 9
    postgres: bool = True
    optuna: bool = True


QUICK = ServicePlan(clients=(1, 4), seconds=1.0, outcomes=20, trials=100, painted=(100,), paints=3)


@contextmanager
def serve(store: str) -> Iterator[str]:
    """`belated serve` in a process of its own; its url."""
    words = [sys.executable, "-c", "from belated.cli import main; main()", "serve", "--open", "--port", "0"]
    process = subprocess.Popen([*words, "--store", store], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[1]
    finally:
        process.terminate()
        process.communicate(timeout=30)


def run_proxy(url: str, port: int) -> None:
    import optuna

    storage = optuna.storages.RDBStorage(url)
    optuna.storages.run_grpc_proxy_server(storage, host="127.0.0.1", port=port)


@contextmanager
def serve_optuna(url: str) -> Iterator[str]:
    """Optuna's storage proxy in a process of its own; its url, as benchmarks.ledger reads it."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    process = multiprocessing.get_context("spawn").Process(target=run_proxy, args=(url, port), daemon=True)
    process.start()
    try:
        for _ in range(400):
            with socket.socket() as sock:
                if sock.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"grpc://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.join()


class Gathered:
    """What the threads of one process did."""

    def __init__(self) -> None:
        self.works = list[Work]()
        self._lock = threading.Lock()

    def send(self, work: Work) -> None:
        with self._lock:
            self.works.append(work)


def run_group(system: System, url: str, threads: int, seconds: float, start: Any, answer: Any) -> None:
    """Some clients in one process."""
    gathered = Gathered()
    clients = [threading.Thread(target=client, args=(system, url, seconds, start, gathered)) for _ in range(threads)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    answer.send([replace(work, cpu=work.cpu / threads) for work in gathered.works])  # each has counted all of them


def load_groups(system: System, url: str, clients: int, seconds: float) -> list[Work]:
    """What the clients did, all of them at once, in a few processes."""
    groups = min(clients, MOST_PROCESSES)
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(clients)
    pipes, children = [], []
    for i in range(groups):
        receiver, sender = context.Pipe(duplex=False)
        threads = clients // groups + (i < clients % groups)
        child = context.Process(target=run_group, args=(system, url, threads, seconds, start, sender))
        child.start()
        sender.close()
        pipes.append(receiver)
        children.append(child)
    works = [work for pipe in pipes for work in pipe.recv()]
    for child in children:
        child.join()
    return works


def measure_pairs(plan: ServicePlan, place: Place) -> Iterator[Line]:
    """Pairs from few clients and from many: bare appends, Optuna's proxy, and the server, one after the other."""
    section = f"ask + tell, {place.title}"
    for clients in plan.clients:
        who = f"{clients} client{'' if clients == 1 else 's'}"
        url = place.url("bare appends", f"service-{clients}")
        prepare("bare appends", url)
        bare, error = summary(load_groups("bare appends", url, clients, plan.seconds))
        yield Line(section, f"bare appends, {who}", bare, (), error)
        if plan.optuna:
            url = place.url("Optuna", f"service-{clients}")
            prepare("Optuna", url)
            with serve_optuna(url) as proxy:
                cells, error = summary(load_groups("Optuna", proxy, clients, plan.seconds))
            yield Line(section, f"Optuna's gRPC proxy, {who}", cells, (), error)
        url = place.url("belated", f"service-{clients}")
        prepare("belated", url)
        with serve(url) as server:
            cells, error = summary(load_groups("belated", server, clients, plan.seconds))
        cells["of appends"] = cells["pairs/s"] / bare["pairs/s"]
        goals: tuple[Goal, ...] = (Goal("errors", "<=", 0),)
        if clients == 1:
            goals += (Goal("tell p50 ms", "<=", TELLS_WITHIN * bare["tell p50 ms"] + MORE),)
        if clients == 16:
            goals += (Goal("of appends", ">=", OF_APPENDS),)
        yield Line(section, f"belated serve, {who}", cells, goals, error)


def call_often(make: Callable[[], Callable[[], object]], clients: int, seconds: float) -> tuple[dict[str, float], str]:
    """How long the calls of some threads take, and how many there were."""
    took, errors, lock = list[float](), Counter[str](), threading.Lock()
    start = threading.Barrier(clients)

    def work() -> None:
        mine, call = list[float](), make()
        try:
            call()
        except Exception as error:
            with lock:
                errors[brief(error)] += 1
        start.wait()
        until = time.perf_counter() + seconds
        while (before := time.perf_counter()) < until:
            try:
                call()
            except Exception as error:
                with lock:
                    errors[brief(error)] += 1
                continue
            mine.append(time.perf_counter() - before)
        with lock:
            took.extend(mine)

    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    quantiles = {
        f"p{share} ms": 1e3 * float(np.quantile(took, share / 100)) if took else math.nan for share in (50, 99)
    }
    cells = {"calls/s": len(took) / seconds, **quantiles, "errors": float(sum(errors.values()))}
    return cells, "" if not errors else f"{errors.most_common(1)[0][1]} x {errors.most_common(1)[0][0]}"


def fill_study(url: str, name: str, trials: int) -> None:
    with belated.Study.create(url, name, space=SPACE, silence="unknown", seed=0):
        fill(open_store(url).ledger(name), pairs(trials))


def measure_calls(plan: ServicePlan, place: Place) -> Iterator[Line]:
    """Asks of a study with outcomes, pages of one with many trials, and tells while others ask."""
    store = place.url("belated", "service-calls")
    fill_study(store, FULL, plan.outcomes)
    fill_study(store, "pages", plan.trials)
    none = (Goal("errors", "<=", 0),)
    with serve(store) as url:
        for clients in plan.clients:
            who = f"{clients} client{'' if clients == 1 else 's'}"
            name = f"asked-{clients}"
            fill_study(store, name, plan.outcomes)
            cells, error = call_often(lambda name=name: belated.Study.open(url, name).ask, clients, plan.seconds)  # type: ignore[misc]
            yield Line(f"ask, n = {plan.outcomes}, {place.title}", who, cells, none, error)
            cells, error = call_often(lambda: read_page(url), clients, plan.seconds)
            yield Line(f"a page of 100 trials of {plan.trials}, {place.title}", who, cells, none, error)
        cells, error = tell_while_asking(store, url, plan)
        goals = (*none, Goal("p99 ms", "<=", P99_WHILE_ASKING))
        yield Line(f"a tell while 4 clients ask, {place.title}", "1 client", cells, goals, error)


def read_page(url: str) -> Callable[[], object]:
    """How one client reads the newest trials."""
    connection = ServerConnection(url)
    return lambda: connection.get("/api/studies/pages/trials", order="-number", limit=100)


def tell_while_asking(store: str, url: str, plan: ServicePlan) -> tuple[dict[str, float], str]:
    """Tells of one study, while four clients ask in another."""
    with belated.Study.create(store, "told", space=SPACE, silence="unknown", initial=10**9, seed=0) as study:
        study.ask(n=5000)
    done = threading.Event()

    def ask() -> None:
        asking = belated.Study.open(url, FULL)
        while not done.is_set():
            asking.ask()

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for thread in askers:
        thread.start()
    numbers = iter(range(1, 5000))

    def make() -> Callable[[], object]:
        told = belated.Study.open(url, "told")
        return lambda: told.tell(next(numbers), 0.5)

    try:
        return call_often(make, 1, plan.seconds)
    finally:
        done.set()
        for thread in askers:
            thread.join()


# First paint ----------------------------------------------------------------------------------------------------------


WAIT_FOR_PAINT = """() => new Promise(done => {
  const look = list => list.getEntriesByName("first-contentful-paint").forEach(found => done(found.startTime));
  new PerformanceObserver(look).observe({ type: "paint", buffered: true });
})"""


def can_paint() -> bool:
    return find_spec("playwright") is not None and shutil.which("chromium") is not None


def measure_paint(plan: ServicePlan, place: Place) -> Iterator[Line]:
    """How long a study's page takes until something is seen, alone and while others read it all the time.

    A first visit is not counted."""
    if not can_paint():
        return
    from playwright.sync_api import sync_playwright

    store = place.url("belated", "service-paint")
    for trials in plan.painted:
        fill_study(store, f"painted-{trials}", trials)
    first, *larger = plan.painted
    rows = [(first, clients) for clients in plan.clients] + [(trials, 1) for trials in larger]
    with serve(store) as url, sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for trials, clients in rows:
            path = f"/studies/painted-{trials}"
            with keep_reading(url, path, clients - 1):
                took = [paint(chromium, f"{url}{path}") for _ in range(plan.paints + 1)][1:]
            cells = {"p50 ms": float(np.median(took)), "p99 ms": float(np.quantile(took, 0.99)), "errors": 0.0}
            who = f"{trials} trials, {clients} client{'' if clients == 1 else 's'}"
            yield Line(f"first paint of a study's page, {place.title}", who, cells)
        chromium.close()


@contextmanager
def keep_reading(url: str, path: str, clients: int) -> Iterator[None]:
    """Let others read a page all the time, in this block."""
    done = threading.Event()

    def read() -> None:
        connection = ServerConnection(url)
        while not done.is_set():
            connection.get(path)

    readers = [threading.Thread(target=read) for _ in range(clients)]
    for reader in readers:
        reader.start()
    try:
        yield
    finally:
        done.set()
        for reader in readers:
            reader.join()


def paint(chromium: Any, address: str) -> float:
    """Milliseconds until the first words are seen, in a new window."""
    window = chromium.new_context()
    try:
        page = window.new_page()
        page.goto(address, wait_until="commit")
        return float(page.evaluate(WAIT_FOR_PAINT))
    finally:
        window.close()


# A soak ---------------------------------------------------------------------------------------------------------------


def soak(place: Place, seconds: float, clients: int = 4) -> Iterator[Line]:
    """Clients that ask, tell, read and follow all the time; each kind has its line, and the record has the last one."""
    store, section = place.url("belated", "service-soak"), f"a soak of {seconds:g} s, {place.title}"
    fill_study(store, FULL, 100)
    with belated.Study.create(store, "pairs", space=SPACE, silence="unknown", initial=10**9, seed=0):
        pass
    told = list[int]()  # numbers of the trials whose outcome was taken
    with serve(store) as url:
        wait_for_workers(url, "pairs")
        kinds: dict[str, Callable[[], Callable[[], object]]] = {
            "ask + tell": lambda: make_pair(url, "pairs", told),
            f"ask, n >= 100, {clients} clients": lambda: belated.Study.open(url, FULL).ask,
            "a page of trials": lambda: make_get(url, f"/api/studies/{FULL}/trials?limit=100"),
            "the dashboard": lambda: make_get(url, f"/studies/{FULL}"),
            "a stream, its beginning": lambda: make_stream(url, "pairs"),
            "an export": lambda: make_get(url, "/api/studies/pairs/export"),
        }
        found: dict[str, tuple[dict[str, float], str]] = {}

        def run(kind: str) -> None:
            found[kind] = call_often(kinds[kind], clients if kind.startswith("ask") else 1, seconds)

        threads = [threading.Thread(target=run, args=(kind,)) for kind in kinds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    none = (Goal("errors", "<=", 0),)
    for kind in kinds:
        cells, error = found[kind]
        yield Line(section, kind, {"calls": cells["calls/s"] * seconds, **cells}, none, error)
    with belated.Study.open(store, "pairs") as study:
        lost = [number for number in told if study.trial(number).outcome is None]
        twice = len(told) - len(set(told))
        faults = find_faults(study.original_settings, study.events())
    cells = {"calls": float(len(told)), "errors": float(len(lost) + twice + len(faults))}
    yield Line(section, "the record: every pair is there, nothing is wrong", cells, none, "; ".join(faults[:1]))


def wait_for_workers(url: str, name: str) -> None:
    """Ask until the processes that choose have started."""
    for _ in range(20):
        with suppress(belated.Unreachable):
            belated.Study.open(url, name).ask()
            return


def make_pair(url: str, name: str, told: list[int]) -> Callable[[], object]:
    study = belated.Study.open(url, name)
    return lambda: told.append(study.tell(study.ask(), 0.5).number)


def make_get(url: str, path: str) -> Callable[[], object]:
    connection = ServerConnection(url)
    return lambda: connection.get(path)


def make_stream(url: str, name: str) -> Callable[[], object]:
    """How one client follows a study, and leaves after the first words."""

    def follow() -> None:
        with urlopen(f"{url}/api/studies/{name}/stream", timeout=30) as answer:  # noqa: S310
            if not answer.readline().startswith(b"retry:"):
                raise ValueError("this is no stream")

    return follow


def measure(plan: ServicePlan, folder: Path, say: Callable[[str], None] = lambda words: None) -> list[Line]:
    """Every line of the table."""
    parts = (measure_pairs, measure_calls, measure_paint)
    return measure_places(lambda place: (line for part in parts for line in part(plan, place)), plan, folder, say)


def measure_places(
    measure_one: Callable[[Place], Iterable[Line]], plan: ServicePlan, folder: Path, say: Callable[[str], None]
) -> list[Line]:
    """The lines of each place, one after the other."""
    lines = list[Line]()

    def at(place: Place) -> None:
        for line in measure_one(place):
            lines.append(line)
            say(f"{line.section}: {line.subject}")

    at(sqlite_in(folder))
    if plan.postgres:
        with postgres_in(folder) as place:
            at(place)
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the smallest sizes, to see that it runs")
    parser.add_argument("--no-postgres", action="store_true", help="SQLite only")
    parser.add_argument("--no-optuna", action="store_true", help="without Optuna's proxy beside it")
    parser.add_argument("--soak", type=float, metavar="SECONDS", help="nothing but a soak of so long")
    parser.add_argument("--seconds", type=float, help="of each measurement")
    parser.add_argument(
        "--folder", type=Path, help="a folder on the disk to measure; a new one is made in it, and removed"
    )
    chosen = parser.parse_args(arguments)
    plan = replace(
        QUICK if chosen.quick else ServicePlan(), postgres=not chosen.no_postgres, optuna=not chosen.no_optuna
    )
    if chosen.seconds is not None:
        plan = replace(plan, seconds=chosen.seconds)
    if plan.optuna and not all(map(find_spec, ("optuna", "grpc", "google"))):
        print("Optuna's proxy is left out: pip install optuna grpcio protobuf")
        plan = replace(plan, optuna=False)
    if not can_paint():
        print("First paint is left out: pip install playwright, apt install chromium")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    folder = Path(tempfile.mkdtemp(prefix="belated-service-", dir=chosen.folder))
    folder.chmod(0o755)  # PostgreSQL's user passes through it
    began = time.perf_counter()
    try:
        say = partial(print, file=sys.stderr)
        if chosen.soak is not None:
            lines = measure_places(lambda place: soak(place, chosen.soak), plan, folder, say)
        else:
            lines = measure(plan, folder, say)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(table(lines))
    goals = [goal.met(line.cells) for line in lines for goal in line.goals]
    print(f"{goals.count(False)} of {len(goals)} numbers to build for are missed.")
    took = time.perf_counter() - began
    print(f"{os.cpu_count()} cores; everything on the disk of {folder.parent}; {took:.0f} s in all.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
