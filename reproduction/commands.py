"""`python -m reproduction`: list the paper's experiments, run them or unpack the kept runs, and write the report.

One folder holds everything of one reproduction: the ledger with a study for every run, the curves measured in them, and
what they cost. It is safe to stop at any time; the same command goes on where it stopped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from belated.errors import BelatedError, InvalidInput
from belated.execution.named import open_executor
from belated.execution.parallel import count_cores
from belated.execution.terminal import show_progress
from belated.wording import format_count, format_table
from reproduction.curves import PUBLISHED
from reproduction.panels import BEYOND, PANELS, PERMUTED, READINGS, Panel, select_panels
from reproduction.run_costs import format_seconds

if TYPE_CHECKING:
    from reproduction.archive import Archive

Job = TypeVar("Job")
Row = TypeVar("Row")
PROGRAM = "python -m reproduction"
FOLDER, KEPT = Path("paper-runs"), Path("reproduction/results")
QUICK_RUNS = 3
THEORY, REPLAY = "theory", "replay"


class OneSentenceError(click.ClickException):
    """Bad input; the message is one sentence."""

    exit_code = 2


@contextmanager
def _shorten_errors() -> Iterator[None]:
    """Bad input as one sentence with exit code 2; Ctrl-C as exit code 130."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        raise OneSentenceError(error.format_message()) from error
    except BelatedError as error:
        raise OneSentenceError(str(error)) from error
    except KeyboardInterrupt:
        click.echo("Stopped. The same command goes on from here.", err=True)
        raise click.exceptions.Exit(130) from None


class CommandGroup(click.Group):
    """A group that lists its commands in the order of use, and answers bad input with one sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _shorten_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _shorten_errors():
            return super().invoke(ctx)


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Run the paper's experiments again: 22 panels, with a verdict on each claim.

    \b
    Examples:
      $ python -m reproduction list
      $ python -m reproduction run fig1a --quick
      $ python -m reproduction run all
      $ python -m reproduction report
    """


# list ---------------------------------------------------------------------------------------------------------------


@main.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for a script.")
def list_panels(as_json: bool) -> None:
    """List all panels: what each shows, how long it is, and its curves.

    \b
    Example:
      $ python -m reproduction list
    """
    panels = [*PANELS.values(), *PERMUTED.values(), *BEYOND.values()]
    if as_json:
        click.echo(json.dumps([_describe_panel(panel) for panel in panels]))
        return
    titles = ["panel", "what it shows", "iterations", "runs", "curves"]
    for words, group in (
        ("", PANELS),
        ("\nNot in the paper, the order of the tasks drawn by the seed:", PERMUTED),
        ("\nNot in the paper, real data, delays in seconds, hours or weeks:", BEYOND),
    ):
        if words:
            click.echo(words)
        click.echo(format_table(titles, [_make_row(panel) for panel in group.values()], numbers=[2]))
    click.echo(
        "\nWhat `run` takes: a panel (fig2a), a figure (fig2), all (the 22 panels of the paper), permuted, beyond,\n"
        "theory (experiments about the theorems), replay (the authors' published queries, for `released`).\n"
        "Runs are of each curve, by reading:"
    )
    for reading, meaning in READINGS.items():
        click.echo(f"  {reading:<10}{meaning}")


def _make_row(panel: Panel) -> list[str]:
    curves = ", ".join(curve.key for curve in panel.curves)
    runs = ", ".join(f"{count} {reading}" for reading, count in panel.runs.items())
    return [panel.name, panel.title, str(panel.iterations), runs, curves]


def _describe_panel(panel: Panel) -> dict[str, object]:
    return {
        "panel": panel.name,
        "title": panel.title,
        "iterations": panel.iterations,
        "measure": panel.measure,
        "runs": dict(panel.runs),
        "curves": [curve.key for curve in panel.curves],
        "claim": None if panel.claim is None else panel.claim.text,
    }


# run ----------------------------------------------------------------------------------------------------------------


def _add_folder_option(function: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "--folder",
        type=click.Path(path_type=Path, file_okay=False),
        default=FOLDER,
        show_default=True,
        help="The folder of the runs.",
    )(function)


@main.command(short_help="Run panels. What was run before is not run again.")
@click.argument("names", nargs=-1, required=True, metavar="PANEL...")
@click.option(
    "--runs",
    type=int,
    help=f"Runs of each curve, each with its own seed.  [default: as `list` says; {QUICK_RUNS} with --quick]",
)
@click.option("--workers", type=int, help="Processes that run at the same time.  [default: one per core]")
@click.option("--quick", is_flag=True, help="Fewer and shorter runs: all 22 panels in a few minutes.")
@click.option(
    "--reading",
    "readings",
    type=click.Choice(list(READINGS)),
    multiple=True,
    help=f"{'; '.join(f'{reading}: {meaning}' for reading, meaning in READINGS.items())}.  [default: text with "
    "--quick, all else]",
)
@_add_folder_option
@click.option("--store", "url", metavar="URL", help="Where to keep the studies.  [default: runs.db in the folder]")
@click.option(
    "--executor",
    metavar="MODULE:NAME",
    help="A concurrent.futures.Executor, or a function that makes one, for runs on other machines. "
    "Its workers must reach --store.",
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
    """Run panels. What was run before is not run again.

    PANEL is a panel (fig1c), a figure (fig2), all, permuted, beyond, theory or replay. `python -m reproduction list`
    names them all.

    \b
    Examples:
      $ python -m reproduction run fig1a --quick
      $ python -m reproduction run fig1c fig2 --runs 10 --workers 2
      $ python -m reproduction run all permuted beyond theory replay
      $ python -m reproduction run all --store postgresql://host/paper --executor mycluster:pool

    Ctrl-C is safe: the same command goes on where it stopped. Every run is a study named panel.curve.reading.seed, and
    you can look into it: belated show fig1c.GP-UCB-SDF.text.3 --store sqlite:///paper-runs/runs.db
    """
    from reproduction.runs_folder import hold_folder

    count = QUICK_RUNS if quick and runs is None else runs
    processes = count_cores() if workers is None else workers
    for name, value in (("runs", count), ("workers", processes)):
        if value is not None and value < 1:
            raise InvalidInput(f"--{name} must be at least 1 (got {value})")
    panels = select_panels([name for name in names if name not in (THEORY, REPLAY)])
    wanted = tuple(readings) or (("text",) if quick else tuple(READINGS))
    if panels and not any(reading in wanted for panel in panels for reading in panel.readings):
        raise InvalidInput(f"none of these panels has a {wanted[0]} reading; those of the paper have")
    folder.mkdir(parents=True, exist_ok=True)
    with hold_folder(folder), open_executor(executor) as pool:
        if panels:
            place = f"sqlite:///{folder}/runs.db" if url is None else url
            _run_panels(panels, count, wanted, quick, folder, place, processes, pool)
        if THEORY in names:
            _run_theory(quick, folder, processes, pool)
        if REPLAY in names:
            _run_replay(folder, processes, pool)
    options = [*(["--quick"] if quick else []), *(["--runs", str(runs)] if runs else [])]
    options += [word for reading in readings for word in ("--reading", reading)]
    _note_provenance(folder, " ".join([f"{PROGRAM} run", *names, *options]))
    click.echo(f"Next: {PROGRAM} report{'' if folder == FOLDER else f' --folder {folder}'}")


def _note_provenance(folder: Path, command: str) -> None:
    """Keep the commands, and the versions, that made the runs of a folder."""
    from reproduction.archive import PROVENANCE, Provenance, list_versions, read_provenance

    now = Provenance((command,), list_versions())
    read_provenance(folder).join(now).write(folder / PROVENANCE)


def _run_panels(
    panels: Sequence[Panel],
    runs: int | None,
    readings: Sequence[str],
    quick: bool,
    folder: Path,
    url: str,
    workers: int,
    pool: Executor | None,
) -> None:
    from reproduction.panel_run import RunResult, list_jobs
    from reproduction.runs_folder import find_missing, run_jobs

    wanted = list_jobs(panels, runs, readings, quick)
    left = find_missing(folder, wanted)
    if len(left) < len(wanted):
        click.echo(f"{format_count(len(wanted) - len(left), 'run')} of {len(wanted)} are there already.")
    results: list[RunResult] = []
    with show_progress(len(left), shown=True) as show:

        def note(result: RunResult) -> None:
            results.append(result)
            show(len(results), lambda: f"{'.'.join(result.run.key)}.{result.run.seed}")

        run_jobs(left, folder, url, workers, note, pool)
    if left:
        learner, objective = (sum(getattr(r.cost, name) for r in results) for name in ("learner_s", "objective_s"))
        share = 100 * learner / max(learner + objective, 1e-9)
        click.echo(
            f"{format_count(len(left), 'run')} of {format_count(len(panels), 'panel')}: "
            f"{format_seconds(learner + objective)} of CPU time, "
            f"{share:.0f} % for choosing queries and {100 - share:.0f} % for evaluating objectives."
        )


def _run_theory(quick: bool, folder: Path, workers: int, pool: Executor | None) -> None:
    from reproduction.archive import MEASUREMENTS
    from reproduction.theory import experiments
    from reproduction.theory.measurements import write_measurements

    jobs = experiments.list_jobs(quick)
    write_measurements(folder / MEASUREMENTS, _run_listed(THEORY, experiments.run_job, jobs, workers, pool))
    click.echo(f"{format_count(len(jobs), 'experiment')} about the theorems.")


def _run_replay(folder: Path, workers: int, pool: Executor | None) -> None:
    from reproduction import replay_counts
    from reproduction.archive import REPLAYED

    counts = replay_counts.sum_counts(
        _run_listed(REPLAY, replay_counts.run_job, replay_counts.list_jobs(), workers, pool)
    )
    replay_counts.write_counts(folder / REPLAYED, counts)
    queries = sum(count.queries for count in counts if count.tries == 1)
    click.echo(f"{queries:,} published queries replayed, with one fit and with the best of many.")


def _run_listed(
    name: str, run: Callable[[Job], list[Row]], jobs: Sequence[Job], workers: int, pool: Executor | None
) -> list[Row]:
    """What all jobs find, in no order that matters, with a progress bar."""
    from belated.execution.parallel import run_in_parallel

    rows: list[Row] = []
    with show_progress(len(jobs), shown=True) as show:
        done = 0

        def note(found: list[Row]) -> None:
            nonlocal done
            done += 1
            rows.extend(found)
            show(done, lambda: name)

        run_in_parallel(run, jobs, workers, note, pool)
    return rows


# unpack -------------------------------------------------------------------------------------------------------------


@main.command(short_help="Put the kept runs into a folder, so that more can be added to them.")
@_add_folder_option
def unpack(folder: Path) -> None:
    """Put the runs that are kept in reproduction/results into a folder, as if they had been made there.

    `run` makes only what is missing then, and `report` is about all of them. The ledger of the kept runs is not kept:
    their queries cannot be looked into.

    \b
    Example:
      $ python -m reproduction unpack
      $ python -m reproduction run fig4c --reading released
      $ python -m reproduction report --out reproduction
    """
    from reproduction.archive import (
        PROVENANCE,
        Archive,
        read_archive,
        read_measured_theory,
        read_provenance,
        read_replayed,
        write_measured,
    )
    from reproduction.runs_folder import hold_folder, unpack_runs

    if not KEPT.exists():
        raise InvalidInput(f"there are no kept runs in {KEPT}; go to a checkout of the repository")
    folder.mkdir(parents=True, exist_ok=True)
    with hold_folder(folder):
        archive = read_archive(KEPT)
        placed = unpack_runs(folder, archive.curves, archive.costs)
        archive.provenance.join(read_provenance(folder)).write(folder / PROVENANCE)
        measured = Archive(
            curves={},
            measurements=read_measured_theory(folder) or archive.measurements,
            replayed=read_replayed(folder) or archive.replayed,
        )
        write_measured(folder, measured)
    click.echo(f"{format_count(placed, 'run')} of {KEPT} put into {folder}")


# report -------------------------------------------------------------------------------------------------------------


@main.command(short_help="Write the report of what was run, with tables and pictures.")
@_add_folder_option
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, exists=True),
    help="Recorded curves to report on, instead of a folder of runs: curves.csv.gz, or the folder that holds it.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where to write the report.  [default: the folder of the runs; needed with --from]",
)
def report(folder: Path, source: Path | None, out: Path | None) -> None:
    """Write the report: REPORT.md, report.html, and a folder with its pictures and numbers.

    Without runs of your own, in a checkout, it is made of the curves that are kept in reproduction/results, and the
    same files are written again: reproduction/REPORT.md and its pictures.

    \b
    Examples:
      $ python -m reproduction report
      $ python -m reproduction report --from reproduction/results --out reproduction
    """
    from reproduction.archive import read_archive, write_archive
    from reproduction.report.report import RESULTS, make_report, write_report
    from reproduction.theory import experiments

    if source is not None and out is None:
        raise InvalidInput("--from needs --out: say where to write the report")
    if source is None and folder == FOLDER and not folder.exists() and KEPT.exists():
        source, folder = KEPT, KEPT.parent
    place = folder if out is None else out
    archive = _collect_results(folder) if source is None else read_archive(source)
    blocks = make_report(
        list(PANELS.values()),
        archive,
        beyond=list(BEYOND.values()),
        theory=experiments.make_section(archive.measurements),
        out=place.as_posix(),
    )
    written = write_report(place, blocks)
    write_archive(place / RESULTS, archive)
    for path in written:
        if path.suffix != ".png":
            click.echo(path)
    click.echo(f"{format_count(sum(path.suffix == '.png' for path in written), 'picture')} in {place / RESULTS}")


def _collect_results(folder: Path) -> Archive:
    """What was run in a folder, as an archive."""
    from reproduction.archive import Archive, read_measured_theory, read_provenance, read_replayed
    from reproduction.download import find_dataset
    from reproduction.published_runs import read_published_runs
    from reproduction.runs_folder import collect_curves, read_run_costs

    curves = dict(collect_curves(folder))
    if not curves:
        raise InvalidInput(f"there are no runs in {folder}; begin with {PROGRAM} run")
    try:
        curves |= read_published_runs(find_dataset("svm_reference_runs.csv"))
    except BelatedError as missing:
        if not any(key.reading == PUBLISHED for key in curves):
            click.echo(f"Without the authors' published SVM runs: {missing}", err=True)
    return Archive(
        curves=curves,
        costs=read_run_costs(folder),
        provenance=read_provenance(folder),
        measurements=read_measured_theory(folder),
        replayed=read_replayed(folder),
    )
