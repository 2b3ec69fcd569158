"""`belated demo`: the paper's synthetic problem, its six algorithms and the default; a table and a picture.

The picture of the README is made by
    belated demo --out docs/images/demo.png --dpi 100
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import click

from belated.cli._common import json_option, require_at_least
from belated.cli._picture import check_picture, choose_path, picture_options, print_with_picture
from belated.comparison.demo import MEANING, DemoResult, SyntheticProblem, run_demo
from belated.comparison.statistics import Summary
from belated.execution.parallel import count_cores
from belated.learner.arrays import Array
from belated.plotting.demo import draw_demo
from belated.wording import align_columns

WIDTH = 80  # of a line of text


@click.command()
@click.option(
    "--seeds", default=10, show_default=True, help="How many functions; every algorithm optimises all of them."
)
@click.option("--rounds", default=100, show_default=True, help="Queries per function.")
@click.option("--points", default=1000, show_default=True, help="Equally spaced points of [0, 1] to choose from.")
@click.option("--workers", type=int, help="How many processes to use.  [default: one per core]")
@picture_options(default="belated-demo.png; none with --json")
@json_option
def demo(seeds: int, rounds: int, points: int, workers: int | None, out: Path | None, dpi: int, in_json: bool) -> None:
    """Compare the paper's six algorithms and the default on functions whose values are heard late.

    The paper's synthetic problem: f drawn from a Gaussian process on 1000 points, outcomes Poisson(10) rounds late.
    Every algorithm gets the same functions, noise and delays. Prints a table and writes a picture; takes less than a
    minute on two cores.

    \b
    Examples:
      $ belated demo
      $ belated demo --seeds 3 --rounds 50 --json
    """
    workers = count_cores() if workers is None else workers
    require_at_least("--seeds", seeds, 1)
    require_at_least("--rounds", rounds, 1)
    require_at_least("--points", points, 10)
    require_at_least("--workers", workers, 1)
    path = choose_path(out, "belated-demo.png", in_json)
    check_picture(path, dpi)
    result = run_demo(SyntheticProblem(points=points, rounds=rounds), range(seeds), workers, progress=not in_json)
    print_with_picture(
        result.to_dict(),
        in_json,
        lambda: print_table(result),
        asked=out,
        out=path,
        draw=lambda path: draw_demo(result, path, dpi),
    )


def print_table(result: DemoResult) -> None:
    """The table, what its words mean, and what the numbers say."""
    problem, n = result.problem, len(result.seeds)
    what = "Regret of one seed" if n == 1 else f"Regret, mean ± standard error of {n} seeds"
    click.echo(f"{click.style(what, bold=True)}: {problem.points} points, Poisson({problem.mean_delay:g}) delays\n")
    click.echo("\n".join(format_methods(result)))
    words = [*(f"{silence}: {meaning}." for silence, meaning in MEANING.items()), "CPU: per ask, fits included."]
    click.echo("\n" + click.style("\n".join("  ".join(words[i : i + 2]) for i in (0, 2)), dim=True))
    click.echo(f"\n{textwrap.fill(result.conclusion, WIDTH)}\n")


def format_methods(result: DemoResult) -> list[str]:
    """A line per method, the best of each column in bold."""
    T, milestones = result.problem.rounds, result.problem.milestones
    numbers = [
        *(bold_least([format_cell(m.simple, t, 4 if t == T else 3) for m in result.methods]) for t in milestones),
        bold_least([format_cell(m.cumulative, T, 1) for m in result.methods]),
        bold_least([f"{1e3 * m.cpu:.1f}" for m in result.methods]),
    ]
    titles = [
        ["", "", *("simple" for _ in milestones), "cumulative", "CPU"],
        ["algorithm", "silence", *(f"round {t}" for t in milestones), f"round {T}", "ms"],
    ]
    rows = [
        [m.method.algorithm, m.method.silence, *(column[i] for column in numbers)] for i, m in enumerate(result.methods)
    ]
    lines = align_columns([*titles, *rows], numbers=range(2, len(titles[0])))
    return [*lines[:2], "─" * len(lines[1]), *lines[2:]]


def format_cell(summary: Summary[Array], t: int, digits: int) -> str:
    mean, error = summary.mean[t - 1], summary.error[t - 1]
    return f"{mean:.{digits}f}" + ("" if error != error else f"±{error:.{digits}f}")


def bold_least(cells: list[str]) -> list[str]:
    """The same cells, the least number in bold; all of them where several read the same."""
    means = [float(text.split("±")[0]) for text in cells]
    return [
        click.style(text, bold=True) if mean == min(means) else text for text, mean in zip(cells, means, strict=True)
    ]
