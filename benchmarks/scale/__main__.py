"""What very many trials cost: CPU of asks and tells, opening, memory, and how each grows, beside other packages.

    python -m benchmarks.scale [--quick] [--worlds NAME ...] [--entrants NAME ...] [--again ENTRANT ...]

ask           the mean of the later asks, ten outcomes out at any time; in bulk: ten at once, each of them
amortised     an ask, and its share of a fit and of the first ask after it, once for every n / 10 asks
tell, add     one at a time; in bulk: each of parts of 5,000 rows
open, reopen  a SQLite file, without a snapshot and then with one (below 10,000 trials there is none)
MiB           the largest memory of the process that opens, and of the process that asks
centres       queries around which the others are summarised; 0: the belief is exact
exponent      p of cost ~ n^p, over the sizes that were reached

Times are CPU time of one process on one thread. A process has a limit of CPU time and of memory: what it has not
measured by then is said in words, and larger sizes are then not tried. Each number is kept in the CSV as soon as its
cell is done.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.rows import append_row
from benchmarks.scale import kept
from benchmarks.scale.cell import OVER, STAGES, Stage, find_stages
from benchmarks.scale.kept import ENTRANTS, CellJob, ScaleRow, find_version
from benchmarks.scale.report import format_markdown, format_table, list_lines
from benchmarks.scale.worlds import WORLDS

HERE = Path(__file__).parent
OUT, QUICK_OUT = HERE / "scale.csv", HERE.parents[1] / "build" / "scale-quick.csv"
SIZES, QUICK_SIZES = (1000, 10_000, 100_000, 1_000_000), (1000, 10_000)
LIMIT, OWN_LIMIT, GIB = 120.0, 1800.0, 8.0  # CPU seconds of a process of peers and the exact model, and of ours; memory
WHOLE = "all"  # what a row without a number is about, where nothing was measured


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description="What very many trials cost.")
    parser.add_argument("--quick", action="store_true", help="up to 10,000 trials")
    parser.add_argument("--worlds", nargs="+", choices=list(WORLDS), default=list(WORLDS), metavar="NAME")
    parser.add_argument("--entrants", nargs="+", choices=ENTRANTS, default=ENTRANTS, metavar="NAME")
    parser.add_argument("--sizes", nargs="+", type=int, metavar="N", help="numbers of trials")
    parser.add_argument("--again", nargs="+", choices=ENTRANTS, default=[], metavar="NAME", help="whom to measure anew")
    parser.add_argument("--limit", type=float, default=LIMIT, help="CPU s of a process of a peer's (%(default)s)")
    parser.add_argument("--own-limit", type=float, default=OWN_LIMIT, help="CPU s of a process of ours (%(default)s)")
    parser.add_argument("--folder", type=Path, help="where the SQLite files are made (some 1 GB)")
    parser.add_argument("--out", type=Path, help="the CSV, which is the cache; the picture is beside it")
    parser.add_argument("--markdown", action="store_true", help="print the README's table from the CSV, and no more")
    chosen = parser.parse_args(arguments)
    chosen.sizes = chosen.sizes or (QUICK_SIZES if chosen.quick else SIZES)
    chosen.out = chosen.out or (QUICK_OUT if chosen.quick else OUT)
    return chosen


def measure_cell(job: CellJob, seconds: float, folder: Path) -> list[ScaleRow]:
    """All stages of a cell, each in a process; where one does not end, a row says why."""
    place = Path(tempfile.mkdtemp(dir=folder))
    rows = []
    try:
        for stage in find_stages(job.entrant):
            measured, note = run_stage(job, stage, seconds, place)
            rows += [make_row(job, measure, value) for measure, value in measured]
            if note:
                rows.append(make_row(job, f"{stage} {WHOLE}", math.nan, note))
                break
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return rows


def make_row(job: CellJob, measure: str, value: float, note: str = "") -> ScaleRow:
    version = find_version(job.entrant)
    return ScaleRow(
        world=job.world, n=job.n, entrant=job.entrant, measure=measure, value=value, note=note, version=version
    )


def run_stage(job: CellJob, stage: Stage, seconds: float, place: Path) -> tuple[list[tuple[str, float]], str]:
    """What a process measured, and why it did not end by itself, if so."""
    words = [job.world, str(job.n), job.entrant, stage, str(place), "--seconds", str(seconds), "--gib", str(GIB)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.scale.cell", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    measured = [(measure, value) for measure, value in map(json.loads, done.stdout.splitlines())]
    return measured, explain_end(stage, done.returncode, done.stderr, seconds)


def explain_end(stage: Stage, code: int, errors: str, seconds: float) -> str:
    """Why a process did not end by itself; "" where it did."""
    if code == 0:
        return ""
    if code == OVER:
        return f"{stage}: over {seconds:g} CPU s"
    last = errors.strip().splitlines()[-1] if errors.strip() else f"exit {code}"
    short = "memory" in last.lower() or "alloc" in last.lower()
    return f"{stage}: over {GIB:g} GiB" if short else f"{stage}: {last[:80]}"


def measure_all(
    jobs: Sequence[CellJob], out: Path, limits: Callable[[str], float], folder: Path, again: Sequence[str]
) -> list[ScaleRow]:
    """The rows of the jobs; those that are not kept are measured, and written as they come."""
    for i, job in enumerate(jobs, start=1):
        rows = kept.read(out)
        if job.entrant not in again and any(row.job == job for row in rows):
            continue
        if not find_version(job.entrant):
            print(f"{job.entrant} is not installed", file=sys.stderr)
            continue
        ended = find_ended(rows, job)
        print(f"{i} of {len(jobs)}: {job.world}, {job.n:,}, {job.entrant}", file=sys.stderr, flush=True)
        if ended:
            new = [make_row(job, WHOLE, math.nan, f"not tried: n = {ended:,} was too many")]
        else:
            new = measure_cell(job, limits(job.entrant), folder)
        if any(row.job == job for row in rows):
            kept.write([row for row in rows if row.job != job], out)
        for row in new:
            append_row(row, out)
    rows = kept.read(out)
    kept.write(rows, out)
    return rows


def find_ended(rows: Sequence[ScaleRow], job: CellJob) -> int:
    """The smallest size below this one at which an entrant did not get through its asks; 0: none."""
    own = [row for row in rows if (row.world, row.entrant) == (job.world, job.entrant) and row.n < job.n]
    reached = {row.n for row in own if row.measure == "ask ms"}
    return min({row.n for row in own} - reached, default=0)


def list_jobs(worlds: Sequence[str], sizes: Sequence[int], entrants: Sequence[str]) -> list[CellJob]:
    """Size by size, so that an interrupted run has whole columns."""
    return [CellJob(world, n, entrant) for n in sizes for world in worlds for entrant in entrants]


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = parse(arguments)
    jobs = list_jobs(chosen.worlds, chosen.sizes, chosen.entrants)
    if chosen.markdown:
        print(format_markdown(kept.read(chosen.out)))
        return 0
    folder = Path(tempfile.mkdtemp(prefix="belated-scale-", dir=chosen.folder))
    own = {entrant: chosen.own_limit for entrant in STAGES if entrant != "exact"}
    try:
        rows = measure_all(jobs, chosen.out, lambda entrant: own.get(entrant, chosen.limit), folder, chosen.again)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(format_table(list_lines(rows)))
    if stale := kept.find_stale(rows):
        print(f"\nMeasured with other code than there is now: {', '.join(stale)} (--again measures anew).")
    if rows:
        from benchmarks.scale.picture import draw

        draw(rows, chosen.out.with_suffix(".png"))
        print(f"\nWritten: {chosen.out}, {chosen.out.with_suffix('.png')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
