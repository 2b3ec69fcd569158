"""`belated plot`: a study as a picture."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from belated.cli._common import json_option, open_study, print_result, split_name, study_arguments
from belated.cli._picture import check_picture, picture_options, warn_of_boxes, write_picture
from belated.cli.io.cells import parse_context
from belated.plotting.study.page import draw_study
from belated.plotting.study.view import read_study_view


@click.command()
@study_arguments("[NAME]")
@picture_options(default="NAME.png")
@click.option("--context", multiple=True, metavar="K=V", help="The context of the belief; once for each of its names.")
@json_option
def plot(words: tuple[str, ...], url: str, out: Path | None, dpi: int, context: tuple[str, ...], in_json: bool) -> None:
    """Draw a study: its outcomes over time, the delays seen so far, and what it believes of each parameter.

    Pending, late, expired and failed trials are marked. The belief is shown around the recommended point. In a study
    with contexts it is the belief in the context of the newest trial, or in the one that --context names.

    \b
    Example:
      $ belated plot catalyst --out catalyst.png
    """
    name, _ = split_name(words, 0, "[NAME]")
    check_picture(out, dpi)
    study = open_study(url, name)
    path = Path(f"{study.name}.png") if out is None else out
    check_picture(path, dpi)
    view = read_study_view(study, parse_context(study.settings.context, context))
    write_picture(path, lambda path: draw_study(view, path, dpi))
    warn_of_boxes(view.list_texts())
    counts = {status: view.count(status) for status in ("heard", "late", "pending", "expired", "failed")}
    best = None if view.recommended is None else asdict(view.recommended)
    plain = {"picture": str(path), "recommended": best, "context": view.context, "trials": counts}
    print_result(plain, in_json, lambda: f"The picture: {path}")
