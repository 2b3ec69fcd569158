"""`belated report`: a study as one page for those who were not there."""

from __future__ import annotations

from pathlib import Path

import click

from belated.cli._common import json_option, open_study, print_result, split_name, study_arguments
from belated.cli.io.cells import parse_context
from belated.cli.io.files import write_file
from belated.errors import InvalidInput
from belated.report.page import render_report

ENDINGS = (".html", ".htm")


@click.command()
@study_arguments("[NAME]")
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the page (.html).  [default: NAME.html]")
@click.option("--context", multiple=True, metavar="K=V", help="The context of the belief; once for each of its names.")
@json_option
def report(words: tuple[str, ...], url: str, out: Path | None, context: tuple[str, ...], in_json: bool) -> None:
    """Write a study as one HTML page, for those who were not there.

    It says the question, what may be tried, what silence means, what is recommended and how sure that is, and shows
    progress, belief and delays, what is still out, what failed and what was put right, every trial, and how to check
    the record. The page has no scripts and needs nothing besides itself; it can be printed.

    \b
    Example:
      $ belated report catalyst --out catalyst.html
    """
    name, _ = split_name(words, 0, "[NAME]")
    if out is not None and out.suffix.lower() not in ENDINGS:
        raise InvalidInput(f"--out must end in .html (got {out})")
    study = open_study(url, name)
    path = Path(f"{study.name}.html") if out is None else out
    page = render_report(study, parse_context(study.settings.context, context))
    write_file(path, iter([page]))
    print_result({"report": str(path), "head": study.head}, in_json, lambda: f"The report: {path}")
