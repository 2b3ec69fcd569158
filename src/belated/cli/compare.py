"""`belated compare`: which algorithm, silence and patience would have worked best for a study."""

from __future__ import annotations

from pathlib import Path

import click

from belated.cli._common import json_option, open_study, require_at_least, split_name, study_arguments
from belated.cli._picture import check_picture, choose_path, picture_options, print_with_picture
from belated.comparison.candidates import Wait
from belated.comparison.compare import compare as compare_settings
from belated.execution.parallel import count_cores
from belated.plotting.comparison import draw_comparison


@click.command()
@study_arguments("[NAME]")
@click.option(
    "--algorithms", metavar="LIST", help="Names, separated by commas.  [default: default and the paper's six]"
)
@click.option(
    "--silences",
    metavar="LIST",
    help="For algorithms that do not imply one.  [default: floor,unknown,waiting,fading]",
)
@click.option(
    "--patience",
    metavar="LIST",
    help="For algorithms that have one: 10,20 or 1h,2d; none, auto.  [default: what 50 %, 80 % and 95 % of the delays "
    "seen are within]",
)
@click.option(
    "--rounds",
    type=int,
    help="Queries per run.  [default: as many as the study has, or its delays need, from 30 to 200]",
)
@click.option("--seeds", default=10, show_default=True, help="How many worlds; every candidate runs in all of them.")
@click.option("--seed", default=0, show_default=True, help="The seed of the first world.")
@click.option("--workers", type=int, help="How many processes to use.  [default: one per core]")
@picture_options(default="NAME-compared.png; none with --json")
@json_option
def compare(
    words: tuple[str, ...],
    url: str,
    algorithms: str | None,
    silences: str | None,
    patience: str | None,
    rounds: int | None,
    seeds: int,
    seed: int,
    workers: int | None,
    out: Path | None,
    dpi: int,
    in_json: bool,
) -> None:
    """Say which algorithm, silence and patience would have worked best for a study.

    Worlds are made from the study: functions drawn from its belief, with the noise and the delays that it has seen so
    far. Every candidate runs in all of them, and so do the study's own settings. The answer is only as good as that
    belief. The study is not changed.

    \b
    Examples:
      $ belated compare catalyst
      $ belated compare catalyst --algorithms default,GP-BTS --patience 7d,14d
    """
    name, _ = split_name(words, 0, "[NAME]")
    processes = count_cores() if workers is None else workers
    require_at_least("--workers", processes, 1)
    check_picture(out, dpi)
    study = open_study(url, name)
    path = choose_path(out, f"{study.name}-compared.png", in_json)
    check_picture(path, dpi)
    comparison = compare_settings(
        study,
        algorithms=split_list(algorithms),
        silences=split_list(silences),
        patience=None if patience is None else [parse_patience(word) for word in split_list(patience) or []],
        rounds=rounds,
        seeds=seeds,
        seed=seed,
        workers=processes,
        progress=not in_json,
    )
    print_with_picture(
        comparison.to_dict(),
        in_json,
        lambda: click.echo(f"{comparison}\n"),
        asked=out,
        out=path,
        draw=lambda path: draw_comparison(comparison, study.name or "", path, dpi),
    )


def split_list(text: str | None) -> list[str] | None:
    """The words between commas."""
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def parse_patience(word: str) -> Wait:
    """A patience as it was typed: 20, 14d, auto, none."""
    if word == "none":
        return None
    return int(word) if word.isascii() and word.isdigit() and len(word) < 19 else word
