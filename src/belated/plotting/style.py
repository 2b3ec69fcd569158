"""How our pictures look: colours, pages, files.

In every picture the colour says what silence means to an algorithm, and the line how it chooses.
"""

from __future__ import annotations

import io
import logging
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from belated.errors import Unavailable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind readers can tell apart; the lines also differ in dashes and marks.
COLOUR = {
    "floor": "#D55E00",
    "unknown": "#0072B2",
    "ignored": "#6F6F6F",
    "waiting": "#009E73",
    "nearest": "#CC79A7",
    "halfway": "#E69F00",
    "fading": "#56B4E9",
}
INK, SOFT, FAINT = "#1F1F1F", "#555555", "#E4E4E4"
FONT = "DejaVu Sans"  # comes with matplotlib
LAST = "Last Resort"  # a font of matplotlib's that has a box for every letter
STYLE: dict[Any, Any] = {
    "font.size": 10.5,
    "text.parse_math": False,  # a name may have dollars
    "text.hinting": "none",  # texts have the same width at any dpi
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#9A9A9A",
    "axes.labelcolor": INK,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.hashsalt": "belated",  # no random names
}
THREAD: dict[str, Any] = {"arrowstyle": "-", "linewidth": 0.7, "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 0}
DPI = 130
FORMATS = (".png", ".pdf", ".svg")
UNDATED: dict[str, Any] = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}  # so that files can be compared
MEAN: dict[str, Any] = {"linewidth": 1.7}
BAND: dict[str, Any] = {"alpha": 0.17, "linewidth": 0}
OPEN: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 1.8}
KEY: dict[str, Any] = {"frameon": False, "fontsize": 9.5, "handlelength": 1.4, "handletextpad": 0.5}  # of any legend
BARE: dict[str, Any] = {"borderaxespad": 0, "borderpad": 0}  # a legend that begins where its anchor is


def push_apart(ends: Sequence[float], gap: float, low: float) -> list[float]:
    """Ascending positions near the ascending `ends`, at least `gap` apart and none below `low`.

    Least squares under those constraints: neighbours that would collide are pooled around their mean."""
    pools: list[list[float]] = []
    for i, end in enumerate(ends):
        pools.append([end - i * gap])
        while len(pools) > 1 and np.mean(pools[-2]) >= np.mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    pooled = [max(float(np.mean(pool)), low) for pool in pools for _ in pool]
    return [value + i * gap for i, value in enumerate(pooled)]


@contextmanager
def use_style(texts: Iterable[str] = ()) -> Iterator[None]:
    """Inside, matplotlib draws in our style, whatever the user's own settings are.

    `texts` are those whose letters may need other fonts; letters that no font has are drawn as boxes."""
    matplotlib = _matplotlib()
    with matplotlib.rc_context(), warnings.catch_warnings(), _silence_fonts():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        matplotlib.rcParams["font.family"] = [FONT, *find_fonts(frozenset("".join(texts)))]
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # find_boxes says it in a sentence
        yield


@contextmanager
def _silence_fonts() -> Iterator[None]:
    """Inside, matplotlib does not log that a font has no bold letters."""
    log = logging.getLogger("matplotlib.font_manager")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


@cache
def find_fonts(letters: frozenset[str]) -> tuple[str, ...]:
    """Installed fonts for the letters that our own lacks: each time the one that has most of those still missing."""
    from matplotlib.font_manager import fontManager

    paths = {e.name: e.fname for e in fontManager.ttflist if e.style == "normal" and not e.name.startswith(LAST)}
    missing, found = find_missing(letters, paths[FONT]), []
    while missing:
        left = {name: find_missing(missing, path) for name, path in sorted(paths.items())}
        name = min(left, key=lambda one: len(left[one]))
        if left[name] == missing:
            break
        missing = left[name]
        found.append(name)
    return tuple(found)


def find_boxes(texts: Iterable[str]) -> str:
    """The letters that no installed font has; they are drawn as boxes."""
    _matplotlib()
    from matplotlib.font_manager import fontManager

    missing = frozenset("".join(texts))
    for name in (FONT, *find_fonts(missing)):
        missing = find_missing(missing, next(entry.fname for entry in fontManager.ttflist if entry.name == name))
    return "".join(sorted(missing))


@cache
def find_missing(letters: frozenset[str], path: str) -> frozenset[str]:
    """Those of the letters that the font in this file lacks."""
    from matplotlib.font_manager import get_font

    font = get_font(path)
    return frozenset(letter for letter in letters if letter.isprintable() and not font.get_char_index(ord(letter)))


SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def label_powers(axis: Axis) -> None:
    """Write the ticks of a logarithmic axis in plain letters: 0.01, 1, 100, 10⁴."""
    axis.set_major_formatter(lambda value, _place: write_power(value))


def write_power(value: float) -> str:
    """A power of ten as people write it; other values not at all."""
    exponent = math.log10(value) if value > 0 else math.nan
    if not math.isclose(exponent, round(exponent), abs_tol=1e-6):
        return ""
    short = -2 <= round(exponent) <= 3
    return f"{10.0 ** round(exponent):g}" if short else f"10{str(round(exponent)).translate(SUPERSCRIPTS)}"


def make_page(width: float, height: float) -> Figure:
    """A white page, in inches; no window is opened."""
    _matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), facecolor="white")


def render_png(page: Figure, dpi: int = DPI) -> bytes:
    """The page as a PNG of 256 colours: a third of the size, and the eye sees no difference."""
    from PIL import Image  # comes with matplotlib

    full, small = io.BytesIO(), io.BytesIO()
    page.savefig(full, format="png", dpi=dpi)
    image = Image.open(full).convert("RGB")
    image = image.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    image.save(small, format="PNG", optimize=True, dpi=(dpi, dpi))
    return small.getvalue()


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise Unavailable('the picture needs matplotlib: pip install "belated[plots]"') from error
    return matplotlib


def save_page(page: Figure, out: Path, dpi: int) -> None:
    """Write the page to a file; the same numbers give the same file."""
    if out.suffix.lower() == ".png":
        out.write_bytes(render_png(page, dpi))
    else:
        page.savefig(out, metadata=UNDATED[out.suffix.lower()])


def write_headline(axes: Axes, title: str, rest: str, colour: str = INK) -> None:
    """A bold title and a soft line under it, above the axes."""
    place: dict[str, Any] = {"xy": (0, 1), "xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
    axes.annotate(title, xytext=(0, 23), weight="bold", fontsize=11.5, color=colour, **place)
    axes.annotate(rest, xytext=(0, 9), fontsize=9.5, color=SOFT, **place)
