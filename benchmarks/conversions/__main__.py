"""python -m benchmarks.conversions: run what is not kept yet; print the tables, and write CSV, tables and picture."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

from belated.execution.named import open_executor
from benchmarks.conversions import kept
from benchmarks.conversions.campaign import Job, Run, run
from benchmarks.conversions.entrants import entrants
from benchmarks.conversions.picture import draw
from benchmarks.conversions.report import report
from benchmarks.conversions.standings import compare, pick_peer, sort_rows
from benchmarks.conversions.worlds import DAYS, WORLDS
from benchmarks.measure import measure
from benchmarks.progress import add_where_to_run

HERE = Path(__file__).parent
OUT, QUICK_OUT = HERE / "conversions.csv", HERE.parents[1] / "build" / "conversions-quick.csv"
PICKED = 10  # seeds from here on are those on which ours meets the best of the others
SEEDS, AFTER, LIMIT = 10, 20, 60.0  # at most 24 h of CPU time
QUICK_SEEDS, QUICK_AFTER, QUICK_DAYS, QUICK_LIMIT = 2, 3, 14, 6.0  # at most 12 minutes; measured: 6


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.conversions", description="Conversion campaigns: our default and its peers."
    )
    parser.add_argument("--quick", action="store_true", help="three worlds, 14 days, few seeds, 6 CPU seconds a run")
    parser.add_argument("--worlds", nargs="+", choices=list(WORLDS), metavar="NAME", help=f"of {', '.join(WORLDS)}")
    known = list(entrants())
    parser.add_argument("--entrants", nargs="+", choices=known, metavar="NAME", help=f"of {', '.join(known)}")
    parser.add_argument("--seeds", type=int, metavar="N", help=f"seeds 0 … N-1 for all, at most {PICKED} ({SEEDS})")
    parser.add_argument(
        "--after", type=int, metavar="N", help=f"seeds {PICKED} … for ours and the best other ({AFTER})"
    )
    parser.add_argument("--days", type=int, metavar="N", help=f"at most {DAYS} ({DAYS})")
    parser.add_argument("--limit", type=float, metavar="S", help=f"CPU seconds of a run ({LIMIT:g})")
    add_where_to_run(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="the CSV, which is the cache; tables and picture are beside it"
    )
    chosen = parser.parse_args(arguments)
    quick = chosen.quick
    chosen.worlds = chosen.worlds or [name for name, world in WORLDS.items() if world.quick or not quick]
    chosen.entrants = chosen.entrants or known
    chosen.seeds = chosen.seeds or (QUICK_SEEDS if quick else SEEDS)
    chosen.after = (QUICK_AFTER if quick else AFTER) if chosen.after is None else chosen.after
    chosen.days = chosen.days or (QUICK_DAYS if quick else DAYS)
    chosen.limit = chosen.limit or (QUICK_LIMIT if quick else LIMIT)
    chosen.out = chosen.out or (QUICK_OUT if quick else OUT)
    if not 1 <= chosen.seeds <= PICKED or not 1 <= chosen.days <= DAYS:
        parser.error(f"--seeds must lie between 1 and {PICKED}, and --days between 1 and {DAYS}")
    return chosen


def measure_all(jobs: Sequence[Job], out: Path, workers: int, executor: Executor | None = None) -> list[kept.Row]:
    """The rows of the jobs."""
    return measure(jobs, run, entrants(), kept, out, workers, describe, executor)


def describe(result: Run) -> str:
    job = result.job
    return f"{job.world}, {job.entrant}, seed {job.seed}: {result.share:.3f} {result.note}"


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = parsed(arguments)
    everybody = [entrants()[name] for name in chosen.entrants]
    own = [one.name for one in everybody if one.own]
    first, after = range(chosen.seeds), range(PICKED, PICKED + chosen.after)
    later = f", {after[0]} to {after[-1]} for ours and the best of the others" if after else ""

    def job(world: str, name: str, seed: int) -> Job:
        return Job(world, name, seed, chosen.days, chosen.limit)

    jobs = [job(world, name, seed) for seed in first for world in chosen.worlds for name in chosen.entrants]
    with open_executor(chosen.executor) as executor:
        rows = measure_all(jobs, chosen.out, chosen.workers, executor)
        met = {world: [*own, pick_peer(everyone, own, first)] for world, everyone in sort_rows(rows).items()}
        jobs = [job(world, name, seed) for seed in after for world, names in met.items() for name in names if name]
        found = sort_rows(rows + measure_all(jobs, chosen.out, chosen.workers, executor))
    protocol = (
        f"{len(chosen.worlds)} of {len(WORLDS)} worlds, {chosen.days} of {DAYS} days, seeds 0 to {first[-1]} for all"
        f"{later}; {chosen.limit:g} CPU seconds a run."
    )
    text = report(found, first, compare(found, own, first, after), everybody, protocol)
    print(text)
    if found:
        tables, picture = chosen.out.with_suffix(".md"), chosen.out.with_suffix(".png")
        tables.write_text(f"# Conversion campaigns\n\n{text}\n", encoding="utf-8")
        draw(found, own, first, picture)
        print(f"\nWritten: {chosen.out}, {tables}, {picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
