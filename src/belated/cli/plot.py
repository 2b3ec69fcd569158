"""`belated plot`: a study as a picture."""

from __future__ import annotations

from pathlib import Path

import click

from belated.cli._common import as_json, opened, say, taken, verb
from belated.cli.demo import at_least, writable
from belated.cli.io.cells import context_of
from belated.errors import InvalidInput
from belated.plotting.portrait import portrait
from belated.plotting.study import draw


@click.command()
@verb("[NAME]")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Where to write the picture (.png, .pdf, .svg).  [default: NAME.png]",
)
@click.option(
    "--context", "contexts", multiple=True, metavar="K=V", help="The context of the belief; once for each name."
)
@click.option("--dpi", default=150, show_default=True, help="Dots per inch of the picture, which is 12 inches wide.")
@as_json
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
    name, _ = taken(words, 0, "[NAME]")
    at_least("dpi", dpi, 30)
    if out is not None:
        writable(out)
    study = opened(url, name)
    wanted = Path(f"{study.name}.png") if out is None else out
    writable(wanted)
    seen = portrait(study, context_of(study.settings.context, contexts))
    try:
        draw(seen, wanted, dpi)
    except OSError as error:
        raise InvalidInput(f"--out must be a file that can be written (got {wanted}: {error.strerror})") from error
    counts = {status: seen.count(status) for status in ("heard", "late", "pending", "expired", "failed")}
    plain = {"picture": str(wanted), "recommended": seen.recommended, "context": seen.context, "trials": counts}
    say(plain, in_json, lambda: f"The picture: {wanted}")
