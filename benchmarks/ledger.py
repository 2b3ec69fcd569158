"""What a ledger costs: ask + tell pairs from one and sixteen processes, beside Optuna; many events; many trials.

    python -m benchmarks.ledger [--quick] [--csv [FILE]] [--folder FOLDER]

pairs/s     ask + tell pairs of all clients together, each client in a process of its own, all on one study
p50, p99    of the time that one ask, or one tell, takes
slowest / fastest   pairs of the client that did least, as a share of those of the one that did most
of Optuna   our pairs/s in multiples of Optuna's, on the same disk in the same run
of appends  our pairs/s as a share of bare appends of the same events, hashes included: no queue, no reading, no choice

Only storage is compared: ours with space-filling queries, Optuna's with its random sampler, both ask and tell four real
parameters. PostgreSQL is started on a folder of its own beside the SQLite files, and stopped at the end; every server
setting is the default, and what that means for durability is printed, read from the open connections.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import multiprocessing
import os
import pwd
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

import belated
from belated.learner.blas import describe_versions, use_one_thread
from belated.record.events import Asked, Event, Told
from belated.record.ledger import Ledger, open_store
from belated.record.ledger.memory import MemoryLedger
from benchmarks.table import align_numbers, numbers, sections

NAMES = ("x0", "x1", "x2", "x3")
SPACE = {name: belated.Real(0, 1) for name in NAMES}
FILLING = 10**9  # space-filling queries: more than anyone asks
STUDY = "load"
CHUNK = 5000  # events written at once when a study is filled
PRELOAD = ("belated.record.ledger.sqlite", "belated.record.ledger.postgres", "scipy.linalg", "scipy.spatial.distance")
LIMIT = 900.0  # seconds that a reopened study is waited for

FASTER = {1: 5.0, 16: 20.0}  # multiples of Optuna, by clients
P99, SHARE, GROWN, REOPENED = 500.0, 1 / 3, 1.5, 60.0
OF_APPENDS = 0.8  # from many clients

System = Literal["belated", "Optuna", "bare appends"]


@dataclass(frozen=True)
class Plan:
    """How much to measure."""

    clients: tuple[int, ...] = (1, 16)
    seconds: float = 10.0  # of each load
    events: int = 100_000  # of the study whose tells are compared with an empty one's
    tells: int = 500
    trials: tuple[int, ...] = (1000, 3000, 10_000)  # of the studies that are reopened
    postgres: bool = True
    optuna: bool = True

    @property
    def systems(self) -> tuple[System, ...]:
        return ("Optuna", "bare appends", "belated") if self.optuna else ("bare appends", "belated")


QUICK = Plan(clients=(1, 2), seconds=0.3, events=2000, tells=20, trials=(60,))


@dataclass(frozen=True)
class Goal:
    """A number to build for: cells[column] is at most, or at least, the bound."""

    column: str
    sense: Literal["<=", ">="]
    bound: float

    def met(self, cells: Mapping[str, float]) -> bool:
        value = cells[self.column]
        return value <= self.bound if self.sense == "<=" else value >= self.bound

    def __str__(self) -> str:
        return f"{self.column} {self.sense} {self.bound:.3g}"


@dataclass(frozen=True)
class Line:
    """One line of the table: measured numbers by column, and what to build for."""

    section: str
    subject: str
    cells: Mapping[str, float]
    goals: tuple[Goal, ...] = ()
    remark: str = ""


# Where it is kept ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """A fresh store of either system: its name in the table, and the url that each system has for it."""

    title: str
    ours: Callable[[str], str]  # of a word that makes it a new one
    optunas: Callable[[str], str]

    def url(self, system: System, word: str) -> str:
        return self.optunas(word) if system == "Optuna" else self.ours(f"{system.replace(' ', '-')}-{word}")


def sqlite_in(folder: Path) -> Place:
    return Place(
        "SQLite",
        lambda word: f"sqlite:///{folder}/belated-{word}.db",
        lambda word: f"sqlite:///{folder}/optuna-{word}.db",
    )


@contextmanager
def postgres_in(folder: Path) -> Iterator[Place]:
    """A PostgreSQL server on a folder, reached by a unix socket only; each word is a new database in it."""
    import psycopg

    home, socket = folder / "postgres", Path(tempfile.mkdtemp(prefix="belated-"))  # a socket's path must be short
    home.mkdir()
    user: dict[str, Any] = {}
    if os.getuid() == 0:  # the server refuses to run as root
        other = pwd.getpwnam("postgres")
        user = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}
        for path in (home, socket):
            os.chown(path, other.pw_uid, other.pw_gid)
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": home, **user}
    words = ["-D", str(home / "data"), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C"]
    subprocess.run([program("initdb"), *words], check=True, **quiet)
    words = ["-D", str(home / "data"), "-k", str(socket), "-c", "listen_addresses="]
    server = subprocess.Popen([program("postgres"), *words], **quiet)
    server_url = f"host={socket} user=postgres dbname=postgres"
    made: set[str] = set()

    def database(word: str) -> str:
        if word not in made:
            with psycopg.connect(server_url, autocommit=True) as connection:
                connection.execute(f'CREATE DATABASE "{word}"'.encode())
            made.add(word)
        return f"postgres@/{word}?host={socket}"

    try:
        for _ in range(200):
            try:
                psycopg.connect(server_url).close()
                break
            except psycopg.OperationalError:
                if server.poll() is not None:
                    raise
                time.sleep(0.05)
        yield Place(
            "PostgreSQL",
            lambda word: f"postgresql://{database(f'belated-{word}')}",
            lambda word: f"postgresql+psycopg://{database(f'optuna-{word}')}",
        )
    finally:
        server.send_signal(signal.SIGINT)  # "fast": clients are told to go
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(socket, ignore_errors=True)


def program(name: str) -> str:
    """A program of PostgreSQL's, on the PATH or where Debian keeps it."""
    found = shutil.which(name) or next(map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    if found is None:
        raise SystemExit(f"{name} is not on the PATH; install PostgreSQL, or leave it out with --no-postgres")
    return found


# Both systems --------------------------------------------------------------------------------------------------------


def prepare(system: System, url: str) -> str:
    """Make an empty study, and say what its connection promises about durability."""
    if system != "Optuna":
        with belated.Study.create(url, STUDY, space=SPACE, silence="unknown", initial=FILLING, seed=0):  # in use
            ours: Any = open_store(url)
            if url.startswith("sqlite"):
                return sqlite_promise(lambda query: ours.connection.execute(query).fetchone()[0])
            return postgres_promise(lambda query: ours.run(lambda c: c.execute(query).fetchone()[0]))
    import optuna
    from sqlalchemy import text

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = optuna.storages.RDBStorage(url)
    optuna.create_study(storage=storage, study_name=STUDY, direction="maximize")
    with storage.engine.connect() as connection:
        promise = sqlite_promise if url.startswith("sqlite") else postgres_promise
        said = promise(lambda query: connection.execute(text(query)).scalar())
    storage.engine.dispose()
    return said


def sqlite_promise(ask: Callable[[str], object]) -> str:
    levels = {0: "OFF", 1: "NORMAL", 2: "FULL", 3: "EXTRA"}
    return f"journal_mode={ask('PRAGMA journal_mode')}, synchronous={levels[int(str(ask('PRAGMA synchronous')))]}"


def postgres_promise(ask: Callable[[str], object]) -> str:
    said = [f"{name}={ask(f'SHOW {name}')}" for name in ("fsync", "synchronous_commit", "full_page_writes")]
    return f"{', '.join(said)}, {ask('SHOW default_transaction_isolation')}"


def pair_of(system: System, url: str) -> tuple[Callable[[], Any], Callable[[Any], object]]:
    """How one client of a system asks and tells."""
    if system == "belated":
        study = belated.Study.open(url, STUDY)
        return study.ask, lambda trial: study.tell(trial, sum(trial.params.values()))
    if system == "bare appends":
        return append_pairs(open_store(url).ledger(STUDY))
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage: Any
    if url.startswith("grpc://"):  # its storage proxy, of benchmarks.service
        host, port = url.removeprefix("grpc://").split(":")
        storage = optuna.storages.GrpcStorageProxy(host=host, port=int(port))
    else:
        storage = optuna.storages.RDBStorage(url)
    theirs = optuna.load_study(study_name=STUDY, storage=storage, sampler=optuna.samplers.RandomSampler())
    reals: dict[str, Any] = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in NAMES}
    return lambda: theirs.ask(reals), lambda trial: theirs.tell(trial, sum(trial.params.values()))


def append_pairs(ledger: Ledger) -> tuple[Callable[[], int], Callable[[int], object]]:
    """Write what an ask and a tell write, with numbers of this thread alone."""
    numbers = itertools.count(threading.get_native_id() * 10**6)

    def ask() -> int:
        number, now = next(numbers), time.time()
        params = {name: (number % 997 + i) / 1001 for i, name in enumerate(NAMES)}
        event = Asked(number=number, params=params, context=None, knew=2 * number, considered_at=now, asked_at=now,
                      knew_trials=number - 1)  # fmt: skip
        ledger.append([event])
        return number

    def tell(number: int) -> object:
        return ledger.append([Told(number=number, value=number / 1001, noise=None, at=time.time())])

    return ask, tell


# Load ----------------------------------------------------------------------------------------------------------------


@dataclass
class Work:
    """What one client did."""

    asks: list[float] = field(default_factory=list)
    tells: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    began: float = 0.0
    ended: float = 0.0
    cpu: float = 0.0


def client(system: System, url: str, seconds: float, start: Any, answer: Any) -> None:
    """Ask and tell until the time is over; an error is counted, and work goes on."""
    work = Work()
    try:
        ask, tell = pair_of(system, url)
        tell(ask())  # the first one imports and connects
    except Exception as error:
        work.errors[brief(error)] += 1
    start.wait()
    work.began, cpu = time.perf_counter(), time.process_time()
    while (before := time.perf_counter()) < work.began + seconds:
        try:
            trial = ask()
            between = time.perf_counter()
            tell(trial)
            after = time.perf_counter()
        except Exception as error:
            work.errors[brief(error)] += 1
            continue
        work.asks.append(between - before)
        work.tells.append(after - between)
    work.ended, work.cpu = time.perf_counter(), time.process_time() - cpu
    answer.send(work)


def brief(error: Exception) -> str:
    """An error in a few words."""
    words = str(getattr(error, "orig", None) or error).splitlines() or [""]
    return f"{type(error).__name__}: {words[0][:80]}"


def load(system: System, url: str, clients: int, seconds: float) -> list[Work]:
    """What the clients did, all of them at once, each in a process of its own."""
    context = multiprocessing.get_context("forkserver")
    start = context.Barrier(clients)
    pipes, children = [], []
    for _ in range(clients):
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=client, args=(system, url, seconds, start, sender))
        child.start()
        sender.close()
        pipes.append(receiver)
        children.append(child)
    works: list[Work] = [pipe.recv() for pipe in pipes]
    for child in children:
        child.join()
    return works


def summary(works: Sequence[Work]) -> tuple[dict[str, float], str]:
    """The cells of a load, and its commonest error."""
    errors = sum((work.errors for work in works), Counter[str]())
    pairs = [len(work.asks) for work in works]
    took = max(work.ended for work in works) - min(work.began for work in works)
    cells = {"pairs/s": sum(pairs) / took}
    for word, times in (("ask", [t for w in works for t in w.asks]), ("tell", [t for w in works for t in w.tells])):
        for share in (50, 99):
            cells[f"{word} p{share} ms"] = 1e3 * float(np.quantile(times, share / 100)) if times else math.nan
    cells["slowest / fastest"] = min(pairs) / max(max(pairs), 1)
    cells["CPU ms/pair"] = 1e3 * sum(work.cpu for work in works) / max(sum(pairs), 1)
    cells["errors"] = float(sum(errors.values()))
    return cells, "" if not errors else f"{errors.most_common(1)[0][1]} x {errors.most_common(1)[0][0]}"


def loads(plan: Plan, place: Place) -> Iterator[Line]:
    """Optuna and belated by turns, from few clients and from many."""
    for clients in plan.clients:
        theirs, bare = None, math.nan
        for system in plan.systems:
            url = place.url(system, f"load-{clients}")
            promise = prepare(system, url)
            cells, error = summary(load(system, url, clients, plan.seconds))
            goals: tuple[Goal, ...] = ()
            if system == "Optuna":
                theirs = cells["pairs/s"]
            elif system == "bare appends":
                bare = cells["pairs/s"]
            else:
                cells["of appends"] = cells["pairs/s"] / bare
                goals = tuple(Goal(f"{verb} p99 ms", "<=", P99) for verb in ("ask", "tell"))
                goals += (Goal("errors", "<=", 0),)
                if clients > 1:
                    goals += (Goal("slowest / fastest", ">=", SHARE), Goal("of appends", ">=", OF_APPENDS))
                if theirs is not None:
                    cells["of Optuna"] = cells["pairs/s"] / theirs if theirs else math.inf
                    goals += (Goal("of Optuna", ">=", FASTER.get(clients, FASTER[1])),)
            who = f"{system}, {clients} client{'' if clients == 1 else 's'}"
            remark = f"{promise}{'; ' if error else ''}{error}"
            yield Line(f"ask + tell, {place.title}", who, cells, goals, remark)


# Many events ---------------------------------------------------------------------------------------------------------


def fill(ledger: Ledger, events: Iterator[Event]) -> None:
    """Write many events at once, as an import would."""
    chunk: list[Event] = []
    for event in events:
        chunk.append(event)
        if len(chunk) >= CHUNK:
            ledger.append(chunk)
            chunk = []
    if chunk:
        ledger.append(chunk)


def pairs(count: int, fitted: Callable[[int], Mapping[str, Any] | None] = lambda t: None) -> Iterator[Event]:
    """Trials asked and told by turns, as a study that heard each before the next ask would have written them."""
    rng = np.random.default_rng(0)
    for t in range(1, count + 1):
        x = rng.random(len(NAMES))
        yield Asked(
            number=t,
            params=dict(zip(NAMES, x.tolist(), strict=True)),
            context=None,
            knew=2 * (t - 1),
            considered_at=float(t),
            asked_at=float(t),
            fitted=fitted(t),
            knew_trials=t - 1,
            versions=describe_versions() if t == 1 else None,
        )
        y = math.exp(-4.0 * float(np.sum(np.square(x - 0.4)))) + 0.05 * float(rng.standard_normal())
        yield Told(number=t, value=y, noise=None, at=float(t) + 0.5)


def telling(plan: Plan, place: Place) -> Iterator[Line]:
    """A tell at many events, by turns with one at none: through a study that is open, and through one opened for it."""
    section = f"a tell, {place.title}"
    made: dict[str, tuple[str, belated.Study]] = {}
    for word, count in (("none", 0), ("many", plan.events // 2)):
        url = place.ours(f"events-{word}")
        study = belated.Study.create(url, STUDY, space=SPACE, silence="unknown", initial=FILLING, seed=0)
        fill(open_store(url).ledger(STUDY), pairs(count))
        study.ask(n=plan.tells + 5)
        made[word] = url, study
    first = {word: len(study.trials()) - plan.tells - 4 for word, (_, study) in made.items()}
    took: dict[str, list[float]] = {word: [] for word in made}
    for i in range(plan.tells):
        for word, (_, study) in made.items():
            before = time.perf_counter()
            study.tell(first[word] + i, 0.5)
            took[word].append(time.perf_counter() - before)
    opened: dict[str, float] = {}
    for word, (url, _) in made.items():
        times = []
        for i in range(3):
            before = time.perf_counter()
            belated.Study.open(url, STUDY).tell(first[word] + plan.tells + i, 0.5)
            times.append(time.perf_counter() - before)
        opened[word] = float(np.median(times))
    middle = {word: float(np.median(times)) for word, times in took.items()}
    p99 = {word: float(np.quantile(times, 0.99)) for word, times in took.items()}
    for word, events in (("none", 0), ("many", plan.events)):
        cells = {"p50 ms": 1e3 * middle[word], "p99 ms": 1e3 * p99[word], "opened for it, ms": 1e3 * opened[word]}
        goals: tuple[Goal, ...] = ()
        if word == "many":
            cells |= {"of an empty study's": middle[word] / middle["none"]}
            goals = (Goal("of an empty study's", "<=", GROWN),)
        yield Line(section, f"at {events:,} events", cells, goals)


# Many trials ---------------------------------------------------------------------------------------------------------


def hyperparameters() -> Mapping[str, Any]:
    """Found by a real fit, to some hundreds of the outcomes that the reopened studies hold."""
    ledger = MemoryLedger()
    fill(ledger, pairs(200))
    settings = belated.Study.create(space=SPACE, silence="unknown", seed=0).settings
    study = belated.Study(settings, ledger, None, time.time)
    study.ask()
    return study.hyperparameters()[-1].to_dict()


def fit_due(study: belated.Study, t: int, last: int | None) -> bool:
    """Whether query t is chosen after a fit, in a study that has heard everything before it."""
    schedule = study.settings.algorithm.fitting.schedule
    return t > study.settings.initial and schedule.is_due(t, t - 1, last, 0 if last is None else last - 1, t - 1)


def aged(url: str, trials: int) -> int:
    """A study of so many heard trials, with a fit recorded wherever the schedule had one due; the number of them.

    A few trials more, if a fit were due at the very next ask: that one the ledger could not hold."""
    study = belated.Study.create(url, STUDY, space=SPACE, silence="unknown", seed=0)
    found, at = hyperparameters(), dict[int, Mapping[str, Any]]()
    last: int | None = None
    t = 1
    while t <= trials or fit_due(study, t, last):
        if fit_due(study, t, last):
            at[t] = {**found, "number": t, "heard": t - 1}
            last = t
        t += 1
    fill(open_store(url).ledger(STUDY), pairs(t - 1, at.get))
    return t - 1


def reopen(url: str, answer: Any) -> None:
    """Open a study and ask twice: seconds of each, and the fits that were made for the two choices."""
    clock = [time.perf_counter()]
    study = belated.Study.open(url, STUDY)
    clock.append(time.perf_counter())
    before = len(study.hyperparameters())
    for _ in range(2):
        study.ask()
        clock.append(time.perf_counter())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    answer.send((*np.diff(clock).tolist(), len(study.hyperparameters()) - before, peak))


def reopened(plan: Plan, place: Place) -> Iterator[Line]:
    """A process that has never seen the study opens it and asks, with the default algorithm."""
    context = multiprocessing.get_context("forkserver")
    for trials in plan.trials:
        url = place.ours(f"trials-{trials}")
        heard = aged(url, trials)
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=reopen, args=(url, sender))
        child.start()
        sender.close()
        if receiver.poll(LIMIT):
            opening, asking, again, fits, peak = receiver.recv()
        else:
            child.kill()
            opening, asking, again, fits, peak = math.nan, LIMIT, math.nan, math.nan, math.nan
        child.join()
        cells = {
            "open s": opening,
            "first ask s": asking,
            "open + ask s": opening + asking if opening == opening else LIMIT,
            "next ask s": again,
            "refits": float(fits),
            "peak MiB": peak,
        }
        goals = (Goal("open + ask s", "<=", REOPENED), Goal("refits", "<=", 0))
        yield Line(f"reopened, {place.title}", f"{heard:,} heard trials", cells, goals)


def measure(plan: Plan, folder: Path, say: Callable[[str], None] = lambda words: None) -> list[Line]:
    """Every line of the table; `say` hears about each as it comes."""
    lines: list[Line] = []

    def take(new: Iterator[Line]) -> None:
        for line in new:
            say(f"{line.section}: {line.subject}")
            lines.append(line)

    multiprocessing.get_context("forkserver").set_forkserver_preload(
        ["__main__", *PRELOAD, *(["optuna"] * plan.optuna)]
    )
    with use_one_thread():
        file = sqlite_in(folder)
        take(loads(plan, file))
        take(telling(plan, file))
        if plan.postgres:
            with postgres_in(folder) as server:
                take(loads(plan, server))
                take(telling(plan, server))
        take(reopened(plan, file))
    return lines


# Showing -------------------------------------------------------------------------------------------------------------


def table(lines: Sequence[Line]) -> str:
    """Sections of aligned columns, the numbers to build for under each line that has any."""
    out: list[str] = []
    for section, rows, columns in sections(lines):
        head, *texts = align_numbers([[section, *columns], *([row.subject, *numbers(row, columns)] for row in rows)])
        out.append(head)
        for line, text in zip(rows, texts, strict=True):
            out.append(text)
            out += [f"    {line.remark}"] if line.remark else []
            out += [f"    build for {goal}: {'met' if goal.met(line.cells) else 'MISSED'}" for goal in line.goals]
        out.append("")
    return "\n".join(out)


def write(lines: Sequence[Line], path: Path) -> None:
    """One measured number per row."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["section", "subject", "measured", "value", "build_for", "met", "remark"])
        for line in lines:
            goals = {goal.column: goal for goal in line.goals}
            for column, value in line.cells.items():
                goal = goals.get(column)
                verdict = ("", "") if goal is None else (f"{goal.sense} {goal.bound:.6g}", yes(goal.met(line.cells)))
                rows.writerow([line.section, line.subject, column, f"{value:.6g}", *verdict, line.remark])


def yes(met: bool) -> str:
    return "yes" if met else "no"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ledger", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the smallest sizes, to see that it runs")
    parser.add_argument("--no-postgres", action="store_true", help="SQLite only")
    parser.add_argument("--no-optuna", action="store_true", help="without Optuna beside it")
    parser.add_argument(
        "--folder", type=Path, help="a folder on the disk to measure; a new one is made in it, and removed"
    )
    parser.add_argument(
        "--csv",
        nargs="?",
        type=Path,
        const=Path(__file__).with_suffix(".csv"),
        metavar="FILE",
        help="write the numbers to FILE (benchmarks/ledger.csv)",
    )
    chosen = parser.parse_args(arguments)
    plan = replace(QUICK if chosen.quick else Plan(), postgres=not chosen.no_postgres, optuna=not chosen.no_optuna)
    if plan.optuna and find_spec("optuna") is None:
        parser.error('Optuna is not installed: pip install "belated[bench]", or leave it out with --no-optuna')
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of the clients: sixteen times two threads would fight
    began = time.perf_counter()

    def say(words: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{words}", end="", file=sys.stderr, flush=True)

    folder = Path(tempfile.mkdtemp(prefix="belated-ledger-", dir=chosen.folder))
    folder.chmod(0o755)  # PostgreSQL's user passes through it
    try:
        lines = measure(plan, folder, say)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    say("")
    print(table(lines))
    goals = [goal.met(line.cells) for line in lines for goal in line.goals]
    print(f"{goals.count(False)} of {len(goals)} numbers to build for are missed.")
    took = time.perf_counter() - began
    print(f"{os.cpu_count()} cores; everything on the disk of {folder.parent}; {took:.0f} s in all.")
    if chosen.csv is not None:
        write(lines, chosen.csv)
        print(f"Written: {chosen.csv}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
