"""`belated paper`: the experiments of the paper, listed, run, and reported on.

Everything of one reproduction is in one folder: the ledger with a study for every run, the curves taken from them, and
what they cost. Stopping is safe anywhere; running again goes on.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from pathlib import Path

import click

from belated.errors import BelatedError, InvalidInput
from belated.execution.parallel import cores
from belated.wording import format_count, format_duration, format_table
from reproduction.panels import BEYOND, PANELS, READINGS, Panel, chosen

FOLDER = Path("belated-paper")
RUNS, QUICK_RUNS = 10, 3
THEORY, THEORY_ROWS = "theory", "theory.csv.gz"


@click.group()
def paper() -> None:
    """Reproduce the paper's experiments: 22 panels, with a verdict on each claim.

    \b
    Examples:
      $ belated paper list
      $ belated paper run fig1c fig2 --runs 10 --workers 2
      $ belated paper run all --quick
      $ belated paper report
    """


@paper.command(name="list")
@click.option("--json", "in_json", is_flag=True, help="Print JSON, for a script.")
def list_(in_json: bool) -> None:
    """Name all panels, and what each needs.

    \b
    Example:
      $ belated paper list
    """
    panels = [*PANELS.values(), *BEYOND.values()]
    if in_json:
        click.echo(json.dumps([_plain(panel) for panel in panels]))
        return
    titles = ["panel", "what", "T", "readings", "curves"]
    rows = [_row(panel) for panel in panels]
    click.echo(format_table(titles, rows[: len(PANELS)]))
    click.echo("\nBeyond the paper's figures, by the clock, on data it did not have:")
    click.echo(format_table(titles, rows[len(PANELS) :]))
    click.echo(
        '\nA figure names all of its panels ("fig2"), all the 22, beyond the last three; theory is run by its own name.'
    )


def _row(panel: Panel) -> list[str]:
    curves = ", ".join(curve.key for curve in panel.curves)
    return [panel.name, panel.title, str(panel.iterations), ", ".join(panel.readings), curves]


def _plain(panel: Panel) -> dict[str, object]:
    return {
        "panel": panel.name,
        "title": panel.title,
        "iterations": panel.iterations,
        "measure": panel.measure,
        "readings": list(panel.readings),
        "curves": [curve.key for curve in panel.curves],
        "claim": None if panel.claim is None else panel.claim.text,
    }


def folder_option(function: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "--folder",
        type=click.Path(path_type=Path, file_okay=False),
        default=FOLDER,
        show_default=True,
        help="Where the runs are kept.",
    )(function)


@paper.command()
@click.argument("names", nargs=-1, required=True, metavar="PANEL...")
@click.option("--runs", type=int, help=f"Seeds per curve.  [default: {RUNS}; {QUICK_RUNS} with --quick]")
@click.option("--workers", type=int, help="Processes to run in.  [default: one per core]")
@click.option("--quick", is_flag=True, help="Fewer runs and shorter horizons: everything in minutes.")
@click.option(
    "--reading",
    "readings",
    type=click.Choice(READINGS),
    multiple=True,
    help="What the paper says, or what its released program does (SVM panels).  [default: both]",
)
@folder_option
@click.option("--store", "url", metavar="URL", help="The ledger of the runs.  [default: runs.db in the folder]")
@click.option(
    "--executor",
    metavar="MODULE:NAME",
    help="An Executor of concurrent.futures, or what makes one: runs go to its workers, which must reach --store.",
)
def run(
    names: Sequence[str],
    runs: int | None,
    workers: int | None,
    quick: bool,
    readings: Sequence[str],
    folder: Path,
    url: str | None,
    executor: str | None,
) -> None:
    """Run panels; what is there is not run again.

    \b
    Examples:
      $ belated paper run fig1c fig2 --runs 10 --workers 2
      $ belated paper run all --quick
      $ belated paper run beyond theory
      $ belated paper run all --store postgresql://host/paper --executor mycluster:pool

    Ctrl-C is safe: the same command goes on. A study is named panel.curve.reading.seed, so that any curve can be looked
    into: belated show fig1c.GP-UCB-SDF.text.3 --store sqlite:///belated-paper/runs.db
    """
    count = (QUICK_RUNS if quick else RUNS) if runs is None else runs
    at_once = cores() if workers is None else workers
    for name, value in (("runs", count), ("workers", at_once)):
        if value < 1:
            raise InvalidInput(f"--{name} must be at least 1 (got {value})")
    panels = chosen([name for name in names if name != THEORY])
    wanted = tuple(readings) or READINGS
    if panels and not any(reading in wanted for panel in panels for reading in panel.readings):
        raise InvalidInput(f"none of these panels has a {wanted[0]} reading; fig2a, fig2b, fig2c and fig2d have")
    folder.mkdir(parents=True, exist_ok=True)
    with _executor(executor) as pool:
        if panels:
            place = f"sqlite:///{folder}/runs.db" if url is None else url
            _run_panels(panels, range(count), wanted, quick, folder, place, at_once, pool)
        if THEORY in names:
            _run_theory(quick, folder, at_once, pool)
    said = [*(["--quick"] if quick else []), *(["--runs", str(runs)] if runs else [])]
    _note_how(
        folder, ["belated paper run", *names, *said, *(word for each in readings for word in ("--reading", each))]
    )
    click.echo(f"Next: belated paper report{'' if folder == FOLDER else f' --folder {folder}'}")


def _note_how(folder: Path, words: Sequence[str]) -> None:
    """Keep by which commands, and with which versions, the runs of a folder were made."""
    from reproduction.kept import MADE, Made

    place, command = folder / MADE, " ".join(words)
    before = Made.read(place).commands if place.exists() else ()
    Made.here(*before, *([command] if command not in before else [])).write(place)


def _run_panels(
    panels: Sequence[Panel],
    seeds: Sequence[int],
    readings: Sequence[str],
    quick: bool,
    folder: Path,
    url: str,
    workers: int,
    pool: Executor | None,
) -> None:
    from reproduction.runs import Done, carry_out, jobs, missing

    wanted = jobs(panels, seeds, readings, quick)
    left = missing(folder, wanted)
    if len(left) < len(wanted):
        click.echo(f"{format_count(len(wanted) - len(left), 'run')} of {len(wanted)} are there already.")
    learner = objective = 0.0
    with progress(len(left)) as step:

        def done(result: Done) -> None:
            nonlocal learner, objective
            learner, objective = learner + result.cost.learner_s, objective + result.cost.objective_s
            step(f"{'.'.join(result.run.key)}.{result.run.seed}")

        carry_out(left, folder, url, workers, done, pool)
    if left:
        spent = learner + objective
        share = 100 * learner / max(spent, 1e-9)
        click.echo(
            f"{format_count(len(left), 'run')} of {format_count(len(panels), 'panel')}: "
            f"{format_duration(spent)} of CPU time, "
            f"{share:.0f} % in the learner and {100 - share:.0f} % in the objectives."
        )


def _run_theory(quick: bool, folder: Path, workers: int, pool: Executor | None) -> None:
    from belated.execution.parallel import in_parallel
    from reproduction import theory

    wanted = theory.jobs(quick)
    with progress(len(wanted)) as step:
        found = in_parallel(theory.perform, wanted, workers, lambda rows: step(THEORY), pool)
    theory.write(folder / THEORY_ROWS, [row for rows in found for row in rows])
    click.echo(f"{format_count(len(wanted), 'experiment')} about the theorems.")


def _executor(name: str | None) -> AbstractContextManager[Executor | None]:
    """The executor that MODULE:NAME names, to be shut down at the end; none without a name."""
    if name is None:
        return nullcontext()
    module, _, attribute = name.partition(":")
    try:
        found = getattr(import_module(module), attribute)
        made = found if isinstance(found, Executor) else found()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"--executor must be MODULE:NAME of an Executor, or of a function that makes one ({error})"
        ) from None
    if not isinstance(made, Executor):
        raise InvalidInput(f"--executor must give a concurrent.futures.Executor (got {type(made).__name__})")
    return made


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """A bar on stderr; to be called with what was done."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.description}"), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)
        yield lambda what: bar.update(task, advance=1, description=what)


@paper.command()
@folder_option
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, exists=True),
    help="Rebuild from recorded curves (curves.csv.gz, or a folder that holds it) instead of a folder of runs.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where to write REPRODUCTION.md and report.html.  [default: the folder of the runs; needed with --from]",
)
@click.option(
    "--pictures", default="pictures", show_default=True, help="The folder of pictures and curves, inside --out."
)
def report(folder: Path, source: Path | None, out: Path | None, pictures: str) -> None:
    """Write the report, as one HTML page and as REPRODUCTION.md.

    \b
    Examples:
      $ belated paper report
      $ belated paper report --from docs/paper --out . --pictures docs/paper
    """
    from reproduction import theory
    from reproduction.kept import keep, kept
    from reproduction.report import sections, write

    if source is not None and out is None:
        raise InvalidInput("--from needs --out: say where to write the report")
    place = folder if out is None else out
    if source is None:
        source = _gathered(folder, place / pictures)
    curves, costs, made = kept(source)
    rows = (source if source.is_dir() else source.parent) / THEORY_ROWS
    blocks = sections(
        list(PANELS.values()),
        curves,
        costs,
        made,
        beyond=list(BEYOND.values()),
        theory=theory.page(theory.read(rows)) if rows.exists() else (),
        place=pictures,
    )
    written = write(place, blocks, pictures)
    keep(place / pictures, curves, costs, made)
    if rows.exists() and rows.resolve() != (place / pictures / THEORY_ROWS).resolve():
        shutil.copyfile(rows, place / pictures / THEORY_ROWS)
    for path in written:
        if path.suffix != ".png":
            click.echo(path)
    click.echo(f"{format_count(sum(path.suffix == '.png' for path in written), 'picture')} in {place / pictures}")


def _gathered(folder: Path, place: Path) -> Path:
    """What the runs of a folder come to, brought together in `place`."""
    from reproduction.curves import published
    from reproduction.data import path
    from reproduction.kept import MADE, Made, keep
    from reproduction.runs import collected, costs_of

    curves = dict(collected(folder))
    if not curves:
        raise InvalidInput(f"there are no runs in {folder}; begin with belated paper run")
    try:
        curves |= published(path("svm_reference_runs.csv"))
    except BelatedError as missing:
        click.echo(f"Without the published SVM results: {missing}", err=True)
    keep(place, curves, costs_of(folder), Made.read(folder / MADE) if (folder / MADE).exists() else Made())
    if (folder / THEORY_ROWS).exists():
        shutil.copyfile(folder / THEORY_ROWS, place / THEORY_ROWS)
    return place
