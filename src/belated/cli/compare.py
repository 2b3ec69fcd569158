"""`belated compare`: which algorithm, silence and patience would have served a study best."""

from __future__ import annotations

import json
from pathlib import Path

import click

from belated.cli._common import json_option, open_study, split_name, study_arguments
from belated.cli.demo import require_at_least, require_writable
from belated.comparison.candidates import Wait
from belated.comparison.compare import compare as compared
from belated.errors import InvalidInput, Unavailable
from belated.execution.parallel import cores
from belated.plotting.comparison import draw_comparison


@click.command()
@study_arguments("[NAME]")
@click.option("--algorithms", metavar="LIST", help="Names, by commas.  [default: default and the paper's six]")
@click.option(
    "--silences",
    metavar="LIST",
    help="For an algorithm that implies none.  [default: floor,unknown,waiting,fading]",
)
@click.option(
    "--patience",
    metavar="LIST",
    help="For those who know one: 10,20 or 1h,2d; none, auto.  [default: half, 80 % and 95 % of the delays seen]",
)
@click.option("--rounds", type=int, help="Queries per run.  [default: as many as the study has, from 30 to 200]")
@click.option("--seeds", default=10, show_default=True, help="How many worlds; every candidate meets them all.")
@click.option("--seed", default=0, show_default=True, help="Of the first world.")
@click.option("--workers", type=int, help="Processes to run in.  [default: one per core]")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Where to write the picture (.png, .pdf, .svg).  [default: NAME-compared.png; none with --json]",
)
@click.option("--dpi", default=150, show_default=True, help="Dots per inch of the picture, which is 12 inches wide.")
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
    """Say which algorithm, silence and patience would have served a study best.

    Worlds are made of the study: functions drawn from what it believes, the noise it has found, the delays it has seen.
    Every candidate runs in all of them, what the study uses among them. The answer is as good as that belief is.
    Nothing of it changes the study.

    \b
    Examples:
      $ belated compare catalyst
      $ belated compare catalyst --algorithms default,GP-BTS --patience 7d,14d
    """
    name, _ = split_name(words, 0, "[NAME]")
    crew = cores() if workers is None else workers
    require_at_least("workers", crew, 1)
    require_at_least("dpi", dpi, 30)
    if out is not None:
        require_writable(out)
    study = open_study(url, name)
    wanted = out if in_json or out is not None else Path(f"{study.name}-compared.png")
    if wanted is not None:
        require_writable(wanted)
    found = compared(
        study,
        algorithms=split_list(algorithms),
        silences=split_list(silences),
        patience=None if patience is None else [parse_patience(word) for word in split_list(patience) or []],
        rounds=rounds,
        seeds=seeds,
        seed=seed,
        workers=crew,
        progress=not in_json,
    )
    if not in_json:
        click.echo(str(found))
    missing = None
    if wanted is not None:
        try:
            draw_comparison(found, study.name or "", wanted, dpi)
        except Unavailable as error:
            missing = error
        except OSError as error:
            raise InvalidInput(f"--out must be a file that can be written (got {wanted}: {error.strerror})") from error
    if in_json:
        picture = None if missing or wanted is None else str(wanted)
        click.echo(json.dumps({**found.plain(), "picture": picture}, allow_nan=False))
    if missing is not None and out is not None:
        raise missing
    if missing is not None:
        click.echo(f"No picture: {missing}", err=True)
    elif not in_json:
        click.echo(f"\nThe picture: {wanted}")


def split_list(text: str | None) -> list[str] | None:
    """Words between commas."""
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def parse_patience(word: str) -> Wait:
    """A patience as it was typed: 20, 14d, auto, none."""
    if word == "none":
        return None
    return int(word) if word.isascii() and word.isdigit() and len(word) < 19 else word
