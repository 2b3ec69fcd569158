"""A soak: sixteen workers on one store, some killed, some interrupted, and backups taken and opened meanwhile.

`python -m tests.faults.soak SECONDS` does so on a SQLite file and on a PostgreSQL server, one after the other, compares
what the workers were answered with the record, and prints the counts. Exit code 1 if anything is lost or unsound.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from belated import backup
from tests.faults.soak_history import History
from tests.faults.soak_worker import Worker
from tests.support.postgres import NoPostgres, serve
from tests.support.processes import fork, wait

WORKERS = 16
KILLS, INTERRUPTS, BACKUPS = 0.5, 0.1, 4.0  # mean seconds between two of them
HANGING = 120.0  # seconds after the end in which every worker must have ended


@dataclass
class Soak:
    """What happened in a soak, and what was found."""

    seconds: float
    history: History = field(default_factory=History)
    kills: int = 0
    backups: int = 0
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.lost and not self.wrong

    def __str__(self) -> str:
        counts = {
            "studies": len(self.history.studies),
            "asks": self.history.count("asks"),
            "tells": self.history.count("tells"),
            "amendments": self.history.count("amendments"),
            "kills": self.kills,
            "interrupts": self.history.interrupts,
            "backups": self.backups,
            "lost": len(self.lost),
        }
        said = ", ".join(f"{name}: {count}" for name, count in counts.items())
        verdict = "ok" if self.ok else "NOT ok"
        return "\n".join([*self.lost, *self.wrong, f"{WORKERS} workers, {self.seconds:g} s; {said}; {verdict}"])


def soak(url: str, folder: Path, seconds: float, seed: int = 0) -> Soak:
    """Let workers use a store, and disturb them; then compare.

    folder  for the logs and the backups"""
    done, rng = Soak(seconds), random.Random(seed)  # noqa: S311 - repeatable, guards no secret
    end = time.monotonic() + seconds
    logs = [folder / f"worker-{i}.log" for i in range(WORKERS)]
    running = [_start(url, log, end) for log in logs]
    try:
        next_kill, next_backup = time.monotonic() + KILLS, time.monotonic() + BACKUPS / 2
        while (now := time.monotonic()) < end:
            time.sleep(min(rng.expovariate(1 / INTERRUPTS), max(0.0, end - now)))
            os.kill(rng.choice(running), signal.SIGINT)
            if now > next_kill:
                i = rng.randrange(WORKERS)
                os.kill(running[i], signal.SIGKILL)
                done.kills += wait(running[i]) == -signal.SIGKILL
                running[i] = _start(url, logs[i], end)
                next_kill = now + rng.expovariate(1 / KILLS)
            if now > next_backup and (before := History.of(logs)).studies:
                _take_backup(url, folder / "backup.db", before, done)
                next_backup = now + BACKUPS + 3 * (time.monotonic() - now)
    finally:
        done.wrong += _end(running)
    done.history = History.of(logs)
    done.wrong += [f"{times} workers ended with: {error}" for error, times in done.history.errors.items()]
    for name in done.history.studies:
        _compare(done.history, url, name, done)
    return done


def _start(url: str, log: Path, end: float) -> int:
    """The id of a new process for this log. It is not interrupted before it is ready for that."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return fork(Worker(url, log.stem, log, end).run)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _end(running: list[int]) -> list[str]:
    """Wait for every worker; who hangs is killed and named."""
    wrong, last = [], time.monotonic() + HANGING
    while running:
        running = [pid for pid in running if os.waitpid(pid, os.WNOHANG) == (0, 0)]
        if running and time.monotonic() > last:
            for pid in running:
                os.kill(pid, signal.SIGKILL)
                wait(pid)
            wrong, running = [f"{len(running)} workers hang"], []
        time.sleep(0.05)
    return wrong


def _take_backup(url: str, file: Path, before: History, done: Soak) -> None:
    """What was acknowledged before a backup is in it, of the newest study."""
    backup(url, file)
    newest = max(before.studies, key=lambda name: int(name.partition("-")[2]))
    _compare(before, f"sqlite:///{file}", newest, done)
    for path in file.parent.glob(f"{file.name}*"):
        path.unlink()
    done.backups += 1


def _compare(history: History, url: str, name: str, done: Soak) -> None:
    lost, wrong = history.find_losses(url, name)
    done.lost += lost
    done.wrong += wrong


def main(seconds: float) -> int:
    """Both stores; the exit code."""
    with tempfile.TemporaryDirectory(prefix="belated-soak-") as folder:
        here = Path(folder)
        ok = _run("sqlite", f"sqlite:///{here}/lab.db", here / "sqlite", seconds)
        try:
            with serve() as server, server.database() as url:
                ok &= _run("postgresql", url, here / "postgresql", seconds)
        except NoPostgres as error:
            sys.stdout.write(f"postgresql: not run ({error})\n")
            ok = False
    return 0 if ok else 1


def _run(kind: str, url: str, folder: Path, seconds: float) -> bool:
    folder.mkdir()
    done = soak(url, folder, seconds)
    sys.stdout.write(f"{kind}: {done}\n")
    sys.stdout.flush()
    return done.ok


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
