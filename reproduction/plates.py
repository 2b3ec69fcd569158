"""A page of axes one above the other, as wide as a panel's picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from belated.plotting.style import FAINT, make_page
from reproduction.pictures import (
    ABOVE,
    AXES_HEIGHT,
    AXES_WIDTH,
    BELOW,
    HEAD,
    LEFT,
    WIDTH,
    Look,
    caption,
    headed,
    name_the_ends,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plate(title: str, count: int) -> tuple[Figure, list[Axes]]:
    """The page with its title, and its axes from the top down."""
    height = HEAD + count * (ABOVE + AXES_HEIGHT + BELOW)
    page = make_page(WIDTH, height)
    headed(page, title, 1 - 0.5 * HEAD / height)
    bottoms = [height - HEAD - (i + 1) * (ABOVE + AXES_HEIGHT) - i * BELOW for i in range(count)]
    frames = [(LEFT / WIDTH, bottom / height, AXES_WIDTH / WIDTH, AXES_HEIGHT / height) for bottom in bottoms]
    return page, [page.add_axes(frame) for frame in frames]


def framed(axes: Axes, x: str, y: str, text: str, ends: Sequence[tuple[str, float, Look]] = ()) -> None:
    """What the axes say, a line above them, and the names at the ends of the lines; the limits must be set before."""
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_xlabel(x, labelpad=2)
    axes.set_ylabel(y, labelpad=4)
    caption(axes, text, "")
    if ends:
        name_the_ends(axes, sorted(ends, key=lambda end: end[1]))
