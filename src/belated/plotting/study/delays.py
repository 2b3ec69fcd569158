"""The delays seen so far: the share heard by how long they waited."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from belated.delays.wording import format_time
from belated.learner.arrays import Array
from belated.plotting.study.marks import (
    ALONE,
    BLUE,
    CROWD,
    VERMILLION,
    Box,
    StudyPage,
    choose_unit,
    draw_density,
    write_note,
)
from belated.plotting.study.ticks import fit_ticks
from belated.plotting.study.view import HistoryView, StudyView
from belated.plotting.style import BAND, FAINT, write_headline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TICK = {**ALONE, "marker": "|", "color": BLUE, "markersize": 8, "markeredgewidth": 1.1}
PATIENCE: dict[str, Any] = {"color": VERMILLION, "linewidth": 1.1, "linestyle": (0, (4, 2))}


def draw_delays(page: StudyPage, box: Box, view: StudyView) -> None:
    """The share heard by how long they waited (Kaplan-Meier): those still pending are censored. Of conversions, the
    share of those that come."""
    axes = page.axes(box.left, box.top, box.wide, box.high)
    if view.coming is not None:
        draw_coming(axes, box, view, view.coming)
        return
    survival, waiting, m = view.survival, view.waiting, view.study.settings.patience.m
    longest = max([0.0, *survival.times, *waiting])
    reach = 1.04 * max(longest, m if m <= 4 * longest else 0.0) or 1.0
    unit, name = choose_unit(reach) if view.by_clock else (1.0, "rounds")
    crowd = len(waiting) > CROWD
    unheard = "; below: unheard" if crowd else "; ticks: unheard" if len(waiting) else ""
    write_headline(axes, "Delays seen so far", f"share heard (± 2 s.e.){unheard}")
    axes.set_ylim(0, 1.03)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlim(0, reach / unit)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_xlabel(f"{name} waited", labelpad=3)
    fit_ticks(axes, box.wide, whole=not view.by_clock)
    if not survival.n:
        axes.set_xticks([])
        axes.set_xlabel("")
        axes.grid(False)
        write_note(axes, "no delays seen yet")
        return
    t, share, low, high = compute_shares(view)
    axes.fill_between(t / unit, low, high, step="post", color=BLUE, **BAND)
    axes.plot(t / unit, share, color=BLUE, linewidth=1.7, drawstyle="steps-post")
    if crowd:
        draw_density(axes, waiting / unit, 0.0, reach / unit, 0.0, 0.07, axes.get_xaxis_transform())
    else:
        axes.plot(waiting / unit, 1.0 - survival.over(waiting), **TICK)
    if measure_patience(view):
        mark_patience(axes, view, m, longest, reach, unit)


def measure_patience(view: StudyView) -> float:
    """How high the words about patience are, in inches; they stand below the name of the axis."""
    said = view.coming is None and view.survival.n and math.isfinite(view.study.settings.patience.m)
    return 0.4 if said else 0.0


def compute_shares(view: HistoryView) -> tuple[Array, Array, Array, Array]:
    """Waits, the share heard within each of them (Kaplan-Meier), and two standard errors to both sides of it."""
    survival = view.survival
    t = np.array([0.0, *survival.times, max([0.0, *survival.times, *view.waiting])])
    share, error = 1.0 - survival.over(t), 2.0 * np.array([survival.error(float(at)) for at in t])
    return t, share, np.clip(share - error, 0, 1), np.clip(share + error, 0, 1)


def draw_coming(axes: Axes, box: Box, view: StudyView, coming: Array) -> None:
    """How long the conversions take that come within patience."""
    waited, share = coming
    unit, name = choose_unit(waited[-1]) if view.by_clock else (1.0, "rounds")
    write_headline(axes, "Delays", "of those that come, by estimate")
    axes.set_ylim(0, 1.03)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlim(0, waited[-1] / unit)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_xlabel(f"{name} waited, of {view.study.settings.patience}", labelpad=3)
    axes.plot(waited / unit, share, color=BLUE, linewidth=1.7)
    half = float(np.interp(0.5, share, waited))
    within = format_time(half, "clock") if view.by_clock else format_time(math.ceil(half), "rounds")
    axes.plot([half / unit], [0.5], color=VERMILLION, marker="o", markersize=4)
    axes.annotate(
        f"half within\n{within}",
        xy=(half / unit, 0.5),
        xytext=(8, -4),
        textcoords="offset points",
        va="top",
        fontsize=9,
        color=VERMILLION,
    )
    fit_ticks(axes, box.wide, whole=not view.by_clock)


def mark_patience(axes: Axes, view: StudyView, m: float, longest: float, reach: float, unit: float) -> None:
    """Where patience ends, and which share is heard by then, if that is known."""
    known = m <= longest or view.survival.at(longest) == 0
    within = f"{100 * view.survival.rho(m):.0f} % in time, by estimate" if known else "nothing has waited so long"
    beyond = "" if m <= reach else " (beyond this axis)"
    if m <= reach:
        axes.axvline(m / unit, **PATIENCE)
    axes.annotate(
        f"patience {view.study.settings.patience}{beyond}\n{within}",
        xy=(0, 0),
        xycoords="axes fraction",
        xytext=(0, -37),  # below the name of the axis
        textcoords="offset points",
        va="top",
        fontsize=9,
        color=VERMILLION,
        linespacing=1.35,
    )
