"""Many runs, and the folder that keeps their curves and costs; no run is computed twice."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from belated.errors import InvalidInput
from belated.execution.parallel import run_in_parallel
from reproduction.curves import CurveKey, CurveRun, Curves, Series, group_runs, read_curves, write_curves
from reproduction.panel_run import RunJob, RunResult, run_job
from reproduction.run_costs import RunCost, read_costs, write_costs

COSTS = "costs.csv"
HELD = "running"  # a file that is locked while runs are made


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Keep others from making runs in the same folder: two processes in one study would mix their rounds."""
    with (folder / HELD).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidInput(f"another process is making runs in {folder}; wait for it, or use --workers") from None
        yield


def locate_curve(folder: Path, key: CurveKey, seed: int) -> Path:
    """Where the curve of a run is kept."""
    return folder / "curves" / f"{'.'.join(key)}.{seed}.csv"


def find_missing(folder: Path, wanted: Iterable[RunJob]) -> list[RunJob]:
    """The jobs whose curves are not there yet, or not that far."""
    return [job for job in wanted if _read_last_iteration(locate_curve(folder, job.key, job.seed)) < job.iterations]


def _read_last_iteration(place: Path) -> int:
    """The last iteration of a curve that is kept; 0 when none is."""
    lines = read_curves(place).values() if place.exists() else ()
    return min((int(line.iterations[-1]) for line in lines), default=0)


def run_jobs(
    wanted: Sequence[RunJob],
    folder: Path,
    url: str,
    workers: int,
    done: Callable[[RunResult], None],
    executor: Executor | None = None,
) -> None:
    """Do all jobs, and keep every curve and every cost as soon as it is there."""

    def keep(result: RunResult) -> None:
        run = result.run
        write_curves(locate_curve(folder, run.key, run.seed), group_runs([run]))
        write_costs(folder / COSTS, [*read_run_costs(folder), result.cost])
        done(result)

    run_in_parallel(partial(run_job, url), wanted, workers, keep, executor)


def read_run_costs(folder: Path) -> list[RunCost]:
    """What the runs of a folder took; a run that was interrupted has several entries."""
    return read_costs(folder / COSTS) if (folder / COSTS).exists() else []


def unpack_runs(folder: Path, curves: Curves, costs: Iterable[RunCost]) -> int:
    """Put recorded runs into a folder, as if they had been made there, and say how many.

    A run that is there and goes as far stays as it is."""
    placed = 0
    for key, line in curves.items():
        for run in _split_runs(key, line):
            place = locate_curve(folder, key, run.seed)
            if _read_last_iteration(place) < run.iterations[-1]:
                write_curves(place, group_runs([run]))
                placed += 1
    write_costs(folder / COSTS, {*read_run_costs(folder), *costs})
    return placed


def collect_curves(folder: Path) -> Curves:
    """All curves of a folder; the runs of a line as far as the shortest of them goes."""
    lines: dict[CurveKey, list[CurveRun]] = {}
    for place in sorted((folder / "curves").glob("*.csv")):
        for key, line in read_curves(place).items():
            lines.setdefault(key, []).extend(_split_runs(key, line))
    return group_runs(run for runs in lines.values() for run in _cut_to_shortest(runs))


def _split_runs(key: CurveKey, line: Series) -> Iterator[CurveRun]:
    for i, seed in enumerate(line.seeds):
        yield CurveRun(
            key=key,
            seed=seed,
            iterations=line.iterations,
            simple=line.simple[i],
            late=line.late[i],
            cumulative=line.cumulative[i],
        )


def _cut_to_shortest(runs: Sequence[CurveRun]) -> Iterator[CurveRun]:
    last = min(int(run.iterations[-1]) for run in runs)
    for run in runs:
        kept = run.iterations <= last
        yield replace(
            run,
            iterations=run.iterations[kept],
            simple=run.simple[kept],
            late=run.late[kept],
            cumulative=run.cumulative[kept],
        )
