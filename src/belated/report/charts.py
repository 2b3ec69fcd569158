"""The charts of a report: the drawings of `belated plot`, each alone, as SVG inside the page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace

from belated.plotting.study.beliefs import LEGEND, PanelGrid, draw_beliefs
from belated.plotting.study.delays import draw_delays, measure_patience
from belated.plotting.study.marks import Box, StudyPage
from belated.plotting.study.outcomes import draw_outcomes, measure_lanes
from belated.plotting.study.pair import BeliefPair, draw_pair
from belated.plotting.study.view import StudyView
from belated.plotting.style import make_page, use_style

WIDE, LEFT, RIGHT = 5.6, 0.95, 5.42  # inches
HEAD, FOOT = 0.62, 0.55  # above and below the axes
OVER, ROWS = 2.1, 0.3  # the height of the outcomes, and of their legend
PANELS, TOGETHER = 2, 4  # coordinates in a row, and in a chart
XML = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL)


def draw_progress_chart(view: StudyView) -> str:
    """The outcomes over time, and the trials without one."""
    tall = HEAD + OVER + measure_lanes(view) + FOOT + ROWS
    return render_chart(
        view, tall, "progress", lambda page: draw_outcomes(page, Box(LEFT, HEAD, RIGHT - LEFT, OVER), view)
    )


def draw_delays_chart(view: StudyView) -> str:
    """The share heard by how long they waited."""
    box = Box(LEFT, HEAD, RIGHT - LEFT, 1.8)
    tall = HEAD + 1.8 + FOOT + measure_patience(view)
    return render_chart(view, tall, "delays", lambda page: draw_delays(page, box, view))


def draw_belief_charts(view: StudyView) -> list[str]:
    """The belief along each coordinate; a few in each chart, so that a chart fits on a page."""
    parts = [view.slices[i : i + TOGETHER] for i in range(0, len(view.slices), TOGETHER)] or [[]]
    return [draw_some_beliefs(replace(view, slices=part, left_out=0), f"belief{i}") for i, part in enumerate(parts)]


def draw_some_beliefs(view: StudyView, name: str) -> str:
    grid = PanelGrid.of(view.slices, LEFT, RIGHT, 1.0, across=PANELS)
    return render_chart(view, grid.bottom + LEGEND + 0.65, name, lambda page: draw_beliefs(page, grid, view))


def draw_pair_chart(view: StudyView, pair: BeliefPair) -> str:
    """The belief over two coordinates."""
    box = Box(LEFT + 0.15, 0.15, RIGHT - LEFT - 0.1, 2.2)
    return render_chart(view, 0.15 + 2.2 + FOOT, "pair", lambda page: draw_pair(page, box, view, pair))


def render_chart(view: StudyView, tall: float, name: str, draw: Callable[[StudyPage], None]) -> str:
    """The drawing as an SVG element; its texts stay texts, and its ids begin with its name."""
    with use_style(view.list_texts()):
        import matplotlib  # use_style says what to install where it is missing

        matplotlib.rcParams["svg.fonttype"] = "none"
        page, text = StudyPage(make_page(WIDE, tall), WIDE, tall), io.StringIO()
        draw(page)
        page.figure.savefig(text, format="svg", metadata={"Date": None})
    svg = XML.sub("", text.getvalue()).strip()
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    return re.sub(r'<svg ([^>]*?)width="[^"]*"|(<svg [^>]*?)height="[^"]*"', r"<svg \1\2", svg)
