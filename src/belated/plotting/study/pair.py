"""The belief over two coordinates at once: those over which its mean varies most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from belated.learner.arrays import Array
from belated.plotting.study.beliefs import clip_options
from belated.plotting.study.marks import HEARD, HERE, PENDING, Box, StudyPage, clip_text
from belated.plotting.study.thinning import choose_near
from belated.plotting.study.ticks import fit_ticks, list_even_ticks, list_log_ticks, to_axis, write_numbers
from belated.plotting.study.view import BeliefSlice, StudyView, list_values, place_options
from belated.space.points import Points
from belated.validation import make_key

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COARSE, FINE = 9, 25  # values along a coordinate: to find the pair, and to draw it
STRONGEST = 5  # coordinates among which the pair is looked for
BAR, ASIDE = 0.14, 0.75  # the width of the scale of colours, and of what is beside the drawing


@dataclass(frozen=True)
class BeliefPair:
    """The mean over two coordinates; the others are those of the recommended point."""

    across: BeliefSlice
    up: BeliefSlice
    x: Array  # (n,)
    y: Array  # (m,)
    mean: Array  # (m, n)


def find_strongest_pair(view: StudyView) -> BeliefPair | None:
    """The two coordinates of the query over which the mean varies most; None where there are no two to vary."""
    slices = {piece.name: piece for piece in view.slices if not piece.context}
    if view.recommended is None or isinstance(view.study.settings.space.parameters, Points) or len(slices) < 2:
        return None
    strongest = sorted(slices, key=lambda name: -float(np.ptp(slices[name].mean)))[:STRONGEST]
    pairs = combinations([name for name in slices if name in strongest], 2)
    a, b = max(pairs, key=lambda pair: float(np.std(read_pair(view, pair, slices, COARSE).mean)))
    return read_pair(view, (a, b), slices, FINE)


def read_pair(view: StudyView, pair: tuple[str, str], slices: dict[str, BeliefSlice], most: int) -> BeliefPair:
    """The mean at up to `most` values of each of two coordinates."""
    here = {} if view.recommended is None else dict(view.recommended.params)
    (xs, x), (ys, y) = (list_places(view, name, most) for name in pair)
    points = [{**here, pair[0]: across, pair[1]: up} for up, across in product(ys, xs)]
    mean = view.study.posterior(points, view.context).mean.reshape(len(ys), len(xs))
    return BeliefPair(slices[pair[0]], slices[pair[1]], x, y, mean)


def list_places(view: StudyView, name: str, most: int) -> tuple[list[Any], Array]:
    """At most so many values of a coordinate, evenly chosen, and where they stand on its axis."""
    space = view.study.settings.space
    kind = space.find_parameter(name)
    every = list_values(kind)
    rows = np.unique(np.linspace(0, len(every) - 1, min(most, len(every))).round().astype(int))
    places = place_options(kind, every)
    values = [every[row] for row in rows]
    return values, np.array([float(v) if places is None else float(places[make_key(v)]) for v in values])


def draw_pair(page: StudyPage, box: Box, view: StudyView, pair: BeliefPair) -> None:
    """The mean as colours, with the outcomes, the pending queries and the recommended point."""
    from matplotlib.colors import LinearSegmentedColormap

    wide = box.wide - ASIDE
    axes, across, up = page.axes(box.left, box.top, wide, box.high), pair.across, pair.up
    x, y = to_axis(pair.x, across.log), to_axis(pair.y, up.log)
    colours = LinearSegmentedColormap.from_list("belief", ["#FFFFFF", "#A9CFE5", "#2E86B8"])
    if across.dots or up.dots:
        drawn: Any = axes.pcolormesh(x, y, pair.mean, cmap=colours, shading="nearest", edgecolors="face", linewidth=0.4)
    else:
        drawn = axes.contourf(x, y, pair.mean, levels=10, cmap=colours)
    kept = choose_near(across.heard[:, 2])
    for marks, rows in (
        (HEARD, (across.heard[kept, 0], up.heard[kept, 0])),
        ({**PENDING, "markersize": 5}, (across.pending, up.pending)),
        ({**HERE, "zorder": 6}, ([across.here[0]], [up.here[0]])),
    ):
        axes.plot(to_axis(rows[0], across.log), to_axis(rows[1], up.log), **marks)
    if across.options is None:
        fit_ticks(axes, wide, log=across.log, whole=across.dots)
    else:
        axes.set_xticks(range(len(across.options)), clip_options(across.options), fontsize=9)
    label_upward(axes, up)
    axes.set_xlabel(clip_text(across.label, 40))
    axes.set_ylabel(clip_text(up.label, 24))
    scale = page.axes(box.left + wide + 0.12, box.top, BAR, box.high)
    page.figure.colorbar(drawn, cax=scale)
    low, high = sorted(scale.get_ylim())
    ticks = next(list_even_ticks(low, high))
    scale.set_yticks(ticks, write_numbers(ticks), fontsize=9)


def label_upward(axes: Axes, piece: BeliefSlice) -> None:
    """Ticks along the y axis of a pair: options by name, numbers as on any axis."""
    if piece.options is not None:
        axes.set_yticks(range(len(piece.options)), clip_options(piece.options), fontsize=9)
        return
    low, high = sorted(axes.get_ylim())
    sets: Sequence[list[float]] = [
        *(list_log_ticks(low, high) if piece.log else list_even_ticks(low, high, whole=piece.dots))
    ]
    few = [values for values in sets if len(values) <= 6]
    ticks = next((values for values in few if len(values) >= 3), max(few, key=len, default=[]))
    axes.set_yticks(to_axis(ticks, piece.log), write_numbers(ticks, log=piece.log), fontsize=9)
    axes.minorticks_off()
