"""What the commands that draw share: the options --out and --dpi, and how a picture is written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from belated.cli._common import print_warning
from belated.cli.io.files import check_path, replace_file
from belated.errors import InvalidInput, Unavailable
from belated.plotting.style import FORMATS, find_boxes
from belated.validation import format_value

LEAST_DPI, MOST_DPI = 30, 600  # at 600 a picture has up to a hundred million dots
Function = TypeVar("Function", bound=Callable[..., Any])


def picture_options(default: str) -> Callable[[Function], Function]:
    """--out and --dpi; `default` says where the picture is written without --out."""

    def wrap(function: Function) -> Function:
        formats = ", ".join(FORMATS)
        dpi = click.option(
            "--dpi", default=150, show_default=True, help="Dots per inch; the picture is 12 inches wide."
        )
        out = click.option(
            "--out",
            type=click.Path(path_type=Path),
            help=f"Where to write the picture ({formats}).  [default: {default}]",
        )
        return out(dpi(function))

    return wrap


def check_picture(out: Path | None, dpi: int) -> None:
    """Refuse a picture that could not be written, before the work and not after it."""
    if not LEAST_DPI <= dpi <= MOST_DPI:
        raise InvalidInput(f"--dpi must be between {LEAST_DPI} and {MOST_DPI} (got {format_value(dpi)})")
    if out is None:
        return
    check_path(out)
    if out.suffix.lower() not in FORMATS:
        raise InvalidInput(f"--out must end in {', '.join(FORMATS)} (got {out})")
    try:
        there = out.exists()  # raises where a name is too long
    except OSError as error:
        raise InvalidInput(f"--out must be a file that can be written (got {out}: {error.strerror})") from None
    if not out.parent.is_dir():
        raise InvalidInput(f"--out must be in a folder that exists (got {out})")
    if out.is_dir() or not os.access(out if there else out.parent, os.W_OK):
        raise InvalidInput(f"--out must be a file that can be written (got {out})")


def write_picture(out: Path, draw: Callable[[Path], None]) -> None:
    with replace_file(out) as beside:
        draw(beside)


def warn_of_boxes(texts: Iterable[str]) -> None:
    """Name the letters that no font here can draw."""
    letters = find_boxes(texts)
    if letters:
        print_warning(f"no font here has {letters[:20]}: drawn as boxes; install one that does, such as Noto Sans")


def print_with_picture(
    plain: Mapping[str, Any],
    in_json: bool,
    print_words: Callable[[], None],
    *,
    asked: Path | None,
    out: Path | None,
    draw: Callable[[Path], None],
) -> None:
    """Print an answer and write its picture to `out`, if there is to be one.

    The answer is printed even where matplotlib is missing. That is an error only if a picture was `asked` for by --out.
    """
    if not in_json:
        print_words()
    missing = None
    if out is not None:
        try:
            write_picture(out, draw)
        except Unavailable as error:
            missing = error
    if in_json:
        picture = None if missing or out is None else str(out)
        click.echo(json.dumps({**plain, "picture": picture}, allow_nan=False))
    if missing is not None and asked is not None:
        raise missing
    if missing is not None:
        click.echo(f"No picture: {missing}", err=True)
    elif not in_json:
        click.echo(f"The picture: {out}")


def choose_path(asked: Path | None, default: str, in_json: bool) -> Path | None:
    """Where the picture goes: where it was asked for; else the default, and nowhere with --json."""
    return asked if asked is not None or in_json else Path(default)
