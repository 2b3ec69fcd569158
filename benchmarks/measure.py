"""Run the jobs of a comparison that are not kept yet, and keep each as soon as it is over."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from benchmarks.progress import run_and_say
from benchmarks.regret.entrants import Entrant
from benchmarks.rows import append_row

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class EntrantJob(Protocol):
    """A run that is to be done; equal jobs are the same run."""

    @property
    def entrant(self) -> str: ...


class EntrantRun(Protocol):
    """What came of a job."""

    @property
    def job(self) -> Any: ...


J = TypeVar("J", bound=EntrantJob)
D = TypeVar("D", bound=EntrantRun)
D_contra = TypeVar("D_contra", bound=EntrantRun, contravariant=True)
R = TypeVar("R", bound="DataclassInstance")


class Keeping(Protocol[J, D_contra, R]):
    """How a comparison keeps its runs: its module `kept`."""

    def read(self, path: Path, /) -> list[R]: ...

    def usable(self, rows: Iterable[R], everybody: Mapping[str, Entrant], /) -> dict[J, R]: ...

    def row_of(self, run: D_contra, who: Entrant, /) -> R: ...

    def write(self, rows: Iterable[R], path: Path, /) -> None: ...


def measure(
    jobs: Sequence[J],
    run: Callable[[J], D],
    everybody: Mapping[str, Entrant],
    kept: Keeping[J, D, R],
    out: Path,
    workers: int,
    describe: Callable[[D], str],
    executor: Executor | None,
) -> list[R]:
    """The rows of the jobs; those that are not kept are run, and written as they come."""
    known = kept.usable(kept.read(out), everybody)
    todo = [job for job in jobs if job not in known and not everybody[job.entrant].missing]
    print(f"{len(jobs)} runs: {len(jobs) - len(todo)} kept or absent, {len(todo)} to do ({out})", file=sys.stderr)

    def keep(result: D) -> str:
        append_row(kept.row_of(result, everybody[result.job.entrant]), out)
        return describe(result)

    run_and_say(run, todo, workers, keep, executor)
    rows = kept.read(out)  # as written: the tables are the same when nothing is run again
    kept.write(rows, out)
    known = kept.usable(rows, everybody)
    return [known[job] for job in jobs if job in known]
