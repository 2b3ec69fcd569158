"""python -m benchmarks.regret: run what is not kept yet, print the tables, write the CSV and the picture."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

from belated.execution.named import open_executor
from benchmarks.measure import measure
from benchmarks.progress import add_where_to_run
from benchmarks.regret import kept, ranks
from benchmarks.regret.entrants import Entrant, entrants
from benchmarks.regret.peers.ours import CANDIDATE, FORMER
from benchmarks.regret.picture import draw
from benchmarks.regret.report import difference_rows, markdown, report, standing_rows, summary_rows
from benchmarks.regret.tasks import BEDS
from benchmarks.regret.world import Job, Run, run

HERE = Path(__file__).parent
OUT, QUICK_OUT = HERE / "regret.csv", HERE.parents[1] / "build" / "regret-quick.csv"
SEEDS, QUICK_SEEDS = 6, 3  # 5.3 h of CPU time, so some 2.7 hours on two idle cores; 6 minutes: nearly all BoTorch
QUICK_SHARE = 0.4  # of the rounds


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.regret", description="A test bed for late outcomes: our algorithms and their peers."
    )
    parser.add_argument("--quick", action="store_true", help="half of the tasks, 40 %% of the rounds, three seeds")
    parser.add_argument("--tasks", nargs="+", choices=list(BEDS), metavar="NAME", help=f"of {', '.join(BEDS)}")
    known = list(entrants())
    parser.add_argument("--entrants", nargs="+", choices=known, metavar="NAME", help=f"of {', '.join(known)}")
    parser.add_argument("--seeds", type=int, metavar="N", help=f"seeds 0 … N-1 ({SEEDS}; quick: {QUICK_SEEDS})")
    parser.add_argument("--share", type=float, metavar="P", help="of every task's rounds (1; quick: 0.4)")
    add_where_to_run(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="the CSV, which is the cache; the picture is beside it"
    )
    parser.add_argument("--markdown", action="store_true", help="print the summary as the README has it, and no more")
    chosen = parser.parse_args(arguments)
    chosen.tasks = chosen.tasks or [name for name, bed in BEDS.items() if bed.quick or not chosen.quick]
    chosen.entrants = chosen.entrants or known
    chosen.seeds = chosen.seeds or (QUICK_SEEDS if chosen.quick else SEEDS)
    chosen.share = chosen.share or (QUICK_SHARE if chosen.quick else 1.0)
    chosen.out = chosen.out or (QUICK_OUT if chosen.quick else OUT)
    return chosen


def jobs_of(tasks: Sequence[str], who: Sequence[Entrant], seeds: int, share: float) -> list[Job]:
    """Seed by seed, so that an interrupted comparison has whole seeds."""
    return [
        Job(task, one.name, seed, round(share * BEDS[task].rounds))
        for seed in range(seeds)
        for task in tasks
        for one in who
    ]


def measure_all(jobs: Sequence[Job], out: Path, workers: int, executor: Executor | None = None) -> list[kept.Row]:
    """The rows of the jobs."""
    return measure(jobs, run, entrants(), kept, out, workers, describe, executor)


def describe(result: Run) -> str:
    job = result.job
    return f"{job.task}, {job.entrant}, seed {job.seed} {result.note}"


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = parsed(arguments)
    everybody = entrants()
    who = [everybody[name] for name in chosen.entrants]
    jobs = jobs_of(chosen.tasks, who, chosen.seeds, chosen.share)
    with open_executor(chosen.executor) as executor:
        rows = measure_all(jobs, chosen.out, chosen.workers, executor)
    found = ranks.cells(rows)
    peers = [one.name for one in who if not one.own]
    standings = ranks.standings(found, CANDIDATE, peers)
    differences = ranks.rank_differences(found, CANDIDATE, [*FORMER, "default in Optuna"])
    if chosen.markdown:
        tables = summary_rows(found), standing_rows(standings), difference_rows(differences)
        print("\n\n".join(markdown(table) for table in tables))
        return 0
    print(report(found, standings, differences, who))
    if found:
        picture = chosen.out.with_suffix(".png")
        draw(found, {one.name for one in who if one.own}, CANDIDATE, picture)
        print(f"\nWritten: {chosen.out}, {picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
