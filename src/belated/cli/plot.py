"""`belated plot`: a study as a picture."""

from __future__ import annotations

from pathlib import Path

import click

from belated.cli._common import json_option, open_study, print_result, split_name, study_arguments
from belated.cli.demo import require_at_least, require_writable
from belated.cli.io.cells import parse_context
from belated.errors import InvalidInput
from belated.plotting.portrait import read_study_view
from belated.plotting.study import draw_study


@click.command()
@study_arguments("[NAME]")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Where to write the picture (.png, .pdf, .svg).  [default: NAME.png]",
)
@click.option(
    "--context", "contexts", multiple=True, metavar="K=V", help="The context of the belief; once for each name."
)
@click.option("--dpi", default=150, show_default=True, help="Dots per inch of the picture, which is 12 inches wide.")
@json_option
def plot(
    words: tuple[str, ...], url: str, out: Path | None, contexts: tuple[str, ...], dpi: int, in_json: bool
) -> None:
    """Draw a study: its outcomes over time, the delays seen so far, and what it believes of each coordinate.

    What is pending, late, expired or failed is marked. The belief is shown through the recommended point; with a
    context in the one of the newest trial, unless --context names another.

    \b
    Example:
      belated plot catalyst --out catalyst.png
    """
    name, _ = split_name(words, 0, "[NAME]")
    require_at_least("dpi", dpi, 30)
    if out is not None:
        require_writable(out)
    study = open_study(url, name)
    wanted = Path(f"{study.name}.png") if out is None else out
    require_writable(wanted)
    seen = read_study_view(study, parse_context(study.settings.context, contexts))
    try:
        draw_study(seen, wanted, dpi)
    except OSError as error:
        raise InvalidInput(f"--out must be a file that can be written (got {wanted}: {error.strerror})") from error
    counts = {status: seen.count(status) for status in ("heard", "late", "pending", "expired", "failed")}
    plain = {"picture": str(wanted), "recommended": seen.recommended, "context": seen.context, "trials": counts}
    print_result(plain, in_json, lambda: f"The picture: {wanted}")
