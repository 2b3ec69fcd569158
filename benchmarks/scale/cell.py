"""One entrant in one world at one size, measured in processes of its own: python -m benchmarks.scale.cell.

A stage is a process, so that its peak memory is its own. It prints what it measures as it goes, a line of JSON each:
what a limit cuts off leaves what came before.

fill      a new study in a SQLite file: half of the trials (100,000 at most) are told in bulk, the others added
open      the study is opened, and reads all events; it leaves a snapshot where there are very many
reopen    the same again
ask       opened again: a fit ahead of time, the first ask, then asks and tells in turn, ten outcomes out at any time
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, TypeVar

from belated import Study
from benchmarks.scale.exact import keep_exact
from benchmarks.scale.peers import PEERS
from benchmarks.scale.worlds import STUDY, WORLDS, Outcomes, ScaleWorld

Stage = Literal["fill", "open", "reopen", "ask"]
STAGES: dict[str, tuple[Stage, ...]] = {"belated": ("fill", "open", "reopen", "ask"), "exact": ("fill", "ask")}
PENDING, ASKS, BULK = 10, 20, 10
ENOUGH = 15.0  # CPU seconds after which no further ask is measured
OVER = 77  # the exit status of a process that has used up its CPU time
PART = 5000  # rows that are written at once
MOST_TOLD = 100_000  # of the trials that are told in bulk
T = TypeVar("T")


def find_stages(entrant: str) -> tuple[Stage, ...]:
    """The processes that an entrant is measured in."""
    return STAGES.get(entrant, ("ask",))


def measure_stage(world: ScaleWorld, n: int, entrant: str, stage: Stage, folder: Path) -> Iterator[tuple[str, float]]:
    """What is measured, and how much, as it comes."""
    url = f"sqlite:///{folder}/many.db"
    if entrant in PEERS:
        yield from ask_peer(world, n, entrant)
    elif stage == "fill":
        yield from fill(url, world, n)
    elif stage == "ask":
        with ExitStack() as stack:
            if entrant == "exact":
                stack.enter_context(keep_exact())
            yield from ask_study(url, world, n)
    else:
        took, study = time_call(lambda: Study.open(url, STUDY))
        assert study.rounds == n
        yield f"{stage} s", took
    yield f"{stage} MiB", find_peak()


def time_call(call: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds of this process, and what the call gave."""
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def find_peak() -> float:
    """The largest memory of this process, in MiB. Linux counts in ru_maxrss what the parent had, too."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fill(url: str, world: ScaleWorld, n: int) -> Iterator[tuple[str, float]]:
    """A study with n trials, all of them heard: CPU milliseconds for each that is added, and told, in bulk."""
    study = Study.create(
        url, STUDY, space=world.space, context=world.context, silence="unknown", regret="cumulative", seed=0
    )
    trials, told = world.draw(n), min(n // 2, MOST_TOLD)
    spent = {"add": 0.0, "tell": 0.0}
    for start in range(0, told, PART):
        rows = [list_row(world, trials, i) for i in range(start, min(start + PART, told))]
        study.add_many(rows)
    for start in range(0, told, PART):
        part = [{"trial": i + 1, "value": float(trials.y[i])} for i in range(start, min(start + PART, told))]
        spent["tell"] += time_call(lambda part=part: study.tell_many(part))[0]  # type: ignore[misc]
    for start in range(told, n, PART):
        rows = [list_row(world, trials, i) | {"value": float(trials.y[i])} for i in range(start, min(start + PART, n))]
        spent["add"] += time_call(lambda rows=rows: study.add_many(rows))[0]  # type: ignore[misc]
    yield "tell in bulk ms", 1e3 * spent["tell"] / told
    yield "add in bulk ms", 1e3 * spent["add"] / (n - told)
    study.disconnect()


def list_row(world: ScaleWorld, trials: Outcomes, i: int) -> dict[str, Any]:
    context = world.context_at(trials.Z[i])
    return {"params": world.params(trials.X[i])} | ({} if context is None else {"context": context})


def ask_study(url: str, world: ScaleWorld, n: int) -> Iterator[tuple[str, float]]:
    """A fit, the first ask and the mean of the later ones, tells, and asks in bulk."""
    study, more = Study.open(url, STUDY), world.draw(PENDING + 2 * (ASKS + BULK), seed=1)
    took, found = time_call(study.refit)
    if found is None:
        raise MemoryError  # everything else would have been an error
    yield "refit s", took
    yield "centres", float(len(found.centres))
    contexts = [world.context_at(z) for z in more.Z]
    pending = deque(study.add(world.params(more.X[i]), context=contexts[i]).number for i in range(PENDING))
    values = iter(more.y.tolist())

    def ask(context: Mapping[str, Any] | None) -> float:
        took, trial = time_call(lambda: study.ask(context=context))
        if "fell back" in trial.note:
            raise MemoryError(trial.note)
        pending.append(trial.number)
        return took

    def tell() -> float:
        number, value = pending.popleft(), next(values)
        return time_call(lambda: study.tell(number, value))[0]

    yield "first ask s", ask(contexts[0])
    tell()
    asks, tells = list[float](), list[float]()
    while len(asks) < ASKS and sum(asks) + sum(tells) < ENOUGH:
        asks.append(ask(contexts[len(asks)]))
        tells.append(tell())
    yield "ask ms", 1e3 * sum(asks) / len(asks)
    yield "tell ms", 1e3 * sum(tells) / len(tells)
    several = [each for each in contexts[:BULK] if each is not None]
    took, _ = time_call(lambda: study.ask(contexts=several) if several else study.ask(n=BULK))
    yield "ask in bulk ms", 1e3 * took / BULK


def ask_peer(world: ScaleWorld, n: int, entrant: str) -> Iterator[tuple[str, float]]:
    """The same of another package: a fit where it has one apart from asks, asks and tells."""
    peer = PEERS[entrant][1](world, world.draw(n))
    more = world.draw(PENDING + ASKS, seed=1)
    yield "refit s", time_call(peer.fit)[0]
    asks, tells = list[float](), list[float]()
    while len(asks) <= ASKS and sum(asks) < ENOUGH:
        took, asked = time_call(lambda: peer.ask(more.Z[len(asks)]))
        tells.append(time_call(lambda asked=asked: peer.tell(asked, float(more.y[len(asks)])))[0])  # type: ignore[misc]
        asks.append(took)
        if len(asks) == 1:
            yield "first ask s", took
    later = asks[1:] or asks
    yield "ask ms", 1e3 * sum(later) / len(later)
    yield "tell ms", 1e3 * sum(tells) / len(tells)


def limit_process(seconds: float, gib: float) -> None:
    """End this process after some CPU time, and give it no more than some memory.

    The system's own limit of CPU time is not used: under it Linux moves the clock of CPU time in ticks of milliseconds,
    and most calls that are shorter take no time at all."""
    if resource.getrlimit(resource.RLIMIT_CPU)[0] != resource.RLIM_INFINITY:
        raise SystemExit("a limit of CPU time (ulimit -t) makes its clock too coarse to measure with")
    resource.setrlimit(resource.RLIMIT_DATA, (int(gib * 2**30),) * 2)

    def watch() -> None:
        while time.process_time() < seconds:
            time.sleep(0.2)
        os._exit(OVER)

    threading.Thread(target=watch, daemon=True).start()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.cell")
    parser.add_argument("world", choices=list(WORLDS))
    parser.add_argument("n", type=int)
    parser.add_argument("entrant", choices=[*STAGES, *PEERS])
    parser.add_argument("stage", choices=STAGES["belated"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--gib", type=float, required=True)
    chosen = parser.parse_args(arguments)
    limit_process(chosen.seconds, chosen.gib)
    for measure, value in measure_stage(WORLDS[chosen.world], chosen.n, chosen.entrant, chosen.stage, chosen.folder):
        print(json.dumps([measure, value]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
