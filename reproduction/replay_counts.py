"""How many of the authors' published queries agree with the released reading: counted, and kept in a small file.

tries    fits of ours that are tried for every stretch of queries: one, or the best of 20
phase    what the GP of the method was like (published_queries.name_phase)
surface  steep, flat, or equal: all points equal but for rounding
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from reproduction.csv_files import read_csv, write_csv
from reproduction.download import find_dataset
from reproduction.published_queries import (
    REPLAYED,
    ReplayedQuery,
    fit_from_other_starts,
    name_phase,
    read_published_queries,
    replay_queries,
)

QUERIES = "svm_reference_queries.csv.gz"
TRIES, RUNS, SEED = (1, 20), 10, 0
TITLES = ("tries", "method", "phase", "surface", "queries", "agreeing", "near_maximum")


@dataclass(frozen=True, kw_only=True)
class ReplayJob:
    """One published run."""

    method: str
    run: int
    tries: int


class ReplayCount(NamedTuple):
    """Queries of one kind: how many there are, and how many agree by either measure."""

    tries: int
    method: str
    phase: str
    surface: str
    queries: int
    agreeing: int
    near_maximum: int


def list_jobs() -> list[ReplayJob]:
    """Every run that can be replayed, with one fit and with many."""
    return [
        ReplayJob(method=method, run=run, tries=tries) for tries in TRIES for method in REPLAYED for run in range(RUNS)
    ]


def run_job(job: ReplayJob) -> list[ReplayCount]:
    """The counts of one run."""
    runs = {(run.method, run.run): run for run in read_published_queries(find_dataset(QUERIES))}
    replayed = replay_queries(runs[job.method, job.run], fit_from_other_starts(SEED, job.tries))
    return count_queries(job.tries, job.method, replayed)


def count_queries(tries: int, method: str, replayed: Iterable[ReplayedQuery]) -> list[ReplayCount]:
    """The queries of a method by phase and surface."""
    return sum_counts(
        ReplayCount(
            tries, method, name_phase(method, query.n), name_surface(query), 1, query.agrees, query.near_maximum
        )
        for query in replayed
    )


def name_surface(query: ReplayedQuery) -> str:
    return "equal" if query.says_nothing else "flat" if query.flat else "steep"


def sum_counts(counts: Iterable[ReplayCount]) -> list[ReplayCount]:
    """Counts of the same kind added up, in a fixed order."""
    sums: dict[tuple[int, str, str, str], Counter[str]] = {}
    for count in counts:
        numbers = dict(zip(TITLES[4:], map(int, count[4:]), strict=True))
        sums.setdefault(count[:4], Counter()).update(numbers)
    return [ReplayCount(*kind, *(sums[kind][name] for name in TITLES[4:])) for kind in sorted(sums)]


def write_counts(path: Path, counts: Sequence[ReplayCount]) -> None:
    """A row per kind of query."""
    write_csv(path, TITLES, counts)


def read_counts(path: Path) -> list[ReplayCount]:
    """The counts of a file."""
    return [
        ReplayCount(
            row.parse_integer("tries"),
            row.parse_text("method"),
            row.parse_text("phase"),
            row.parse_text("surface"),
            *(row.parse_integer(name) for name in TITLES[4:]),
        )
        for row in read_csv(path, TITLES)
    ]
