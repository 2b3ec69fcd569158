"""`belated demo`: the paper's synthetic problem, its six algorithms and the default; a table and a picture.

The picture of the README is made by
    belated demo --out docs/images/demo.png --dpi 100
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from belated.errors import InvalidInput, Unavailable
from belated.execution.parallel import cores
from belated.plotting.demo import draw_demo
from belated.plotting.style import FORMATS
from belated.simulation.contest import METHODS, DemoResult, Summary, SyntheticProblem, run_demo
from belated.wording import format_count

if TYPE_CHECKING:
    from rich.table import Table

MEANINGS = (
    "floor: no news is the worst news.  unknown: it is coming, it is merely late.\n"
    "ignored: what is not heard is not there.  CPU: per ask, fits included."
)


@click.command()
@click.option("--seeds", default=10, show_default=True, help="How many functions to optimise; each algorithm gets all.")
@click.option("--rounds", default=100, show_default=True, help="Queries per function.")
@click.option("--points", default=1000, show_default=True, help="Equally spaced points of [0, 1] to choose from.")
@click.option("--workers", type=int, help="Processes to run in.  [default: one per core]")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Where to write the picture (.png, .pdf, .svg).  [default: belated-demo.png; none with --json]",
)
@click.option("--dpi", default=150, show_default=True, help="Dots per inch of the picture, which is 12 inches wide.")
@click.option("--json", "as_json", is_flag=True, help="Print every number as JSON instead of the table.")
def demo(seeds: int, rounds: int, points: int, workers: int | None, out: Path | None, dpi: int, as_json: bool) -> None:
    """Race the paper's six algorithms and the default on functions whose values are heard late.

    The paper's synthetic problem: f drawn from a Gaussian process on 1000 points, outcomes Poisson(10) rounds late.
    Every algorithm gets the same functions, noise and delays. Ends in a table and a picture; takes well under a minute
    on two cores.
    """
    workers = cores() if workers is None else workers
    require_at_least("seeds", seeds, 1)
    require_at_least("rounds", rounds, 1)
    require_at_least("points", points, 10)
    require_at_least("workers", workers, 1)
    require_at_least("dpi", dpi, 30)
    wanted = out if as_json or out is not None else Path("belated-demo.png")
    if wanted is not None:
        require_writable(wanted)
    task = SyntheticProblem(points=points, rounds=rounds)
    with progress(seeds * len(METHODS), hidden=as_json) as done:
        contest = run_demo(task, range(seeds), workers, done)
    if not as_json:
        print_result(contest)
    missing = None if wanted is None else save(contest, wanted, dpi)
    if as_json:
        click.echo(json.dumps({**contest.plain(), "picture": str(wanted) if wanted and not missing else None}))
    if missing is not None and out is not None:
        raise missing
    if missing is not None:
        click.echo(f"No picture: {missing}", err=True)
    elif not as_json:
        click.echo(f"The picture: {wanted}")


def require_at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise InvalidInput(f"--{name} must be at least {least} (got {value})")


def require_writable(out: Path) -> None:
    """Refuse a picture that could not be written, before the work and not after it."""
    if out.suffix.lower() not in FORMATS:
        raise InvalidInput(f"--out must end in {', '.join(FORMATS)} (got {out})")
    if not out.parent.is_dir():
        raise InvalidInput(f"--out must be in a folder that exists (got {out})")
    if out.is_dir() or not os.access(out if out.exists() else out.parent, os.W_OK):
        raise InvalidInput(f"--out must be a file that can be written (got {out})")


def save(contest: DemoResult, out: Path, dpi: int) -> Unavailable | None:
    """Write the picture, or say what is not installed."""
    try:
        draw_demo(contest, out, dpi)
    except Unavailable as missing:
        return missing
    except OSError as error:
        raise InvalidInput(f"--out must be a file that can be written (got {out}: {error.strerror})") from error
    return None


@contextmanager
def progress(runs: int, hidden: bool) -> Iterator[Callable[[], None]]:
    """A bar on stderr; what it gives is to be called after each run."""
    if hidden:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        racing = bar.add_task(f"{len(METHODS)} algorithms, {format_count(runs // len(METHODS), 'seed')}", total=runs)
        yield lambda: bar.advance(racing)


def print_result(contest: DemoResult) -> None:
    """The table, what its words mean, and what is seen."""
    from rich.console import Console

    console = Console(highlight=False)
    task, n = contest.task, len(contest.seeds)
    what = "Regret of one seed" if n == 1 else f"Regret, mean ± standard error of {n} seeds"
    console.print(f"[bold]{what}[/bold]: {task.points} points, Poisson({task.mean_delay:g}) delays\n")
    console.print(build_table(contest))
    console.print(f"\n{MEANINGS}", style="dim")
    console.print(f"\n{contest.seen()}\n")


def build_table(contest: DemoResult) -> Table:
    """One row per algorithm; the best of each column in bold."""
    from rich import box
    from rich.table import Table

    T = contest.task.rounds
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    made.add_column("algorithm", no_wrap=True)
    made.add_column("silence", no_wrap=True)
    for t in contest.milestones:
        made.add_column(f"simple\nround {t}", justify="right", no_wrap=True)
    made.add_column(f"cumulative\nround {T}", justify="right", no_wrap=True)
    made.add_column("CPU\nms", justify="right", no_wrap=True)
    columns = [
        *(
            bold_best([format_cell(s.simple, t, 4 if t == T else 3) for s in contest.standings])
            for t in contest.milestones
        ),
        bold_best([format_cell(s.cumulative, T, 1) for s in contest.standings]),
        bold_best([f"{1e3 * s.cpu:.1f}" for s in contest.standings]),
    ]
    for row, standing in enumerate(contest.standings):
        made.add_row(standing.entrant.algorithm, standing.entrant.silence, *(column[row] for column in columns))
    return made


def format_cell(summary: Summary, t: int, digits: int) -> str:
    mean, error = summary.mean[t - 1], summary.error[t - 1]
    return f"{mean:.{digits}f}" + ("" if error != error else f"±{error:.{digits}f}")


def bold_best(cells: list[str]) -> list[str]:
    """The same, the least in bold (all of them where several read the same)."""
    least = min(float(text.split("±")[0]) for text in cells)
    return [f"[bold]{text}[/bold]" if float(text.split("±")[0]) == least else text for text in cells]
