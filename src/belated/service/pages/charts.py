"""The charts of the pages: figures of belated.plotting.interactive with their text alternatives, as plain values."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import plotly.graph_objects as go

from belated.cli.io.files import parse_json
from belated.delays.wording import format_time
from belated.errors import InvalidInput
from belated.outlook.result import find_outlook
from belated.plotting.interactive import (
    AXIS,
    describe_delay_marks,
    draw_slice,
    find_out,
    find_pair,
    show_delays,
    show_outcomes,
    show_pair,
    show_pending,
)
from belated.plotting.study.outcomes import list_outcomes
from belated.plotting.study.pair import find_strongest_pair
from belated.plotting.study.view import BeliefSlice, HistoryView, StudyView, read_belief_view, read_history_view
from belated.record.ledger.chain import Head
from belated.report.content import describe_delays, format_outcome
from belated.service.served import ServedStudy
from belated.space.points import Points
from belated.validation import Spec, format_names, format_value
from belated.wording import format_count

FRESH = 5.0  # seconds for which ages are as good as new
_views: WeakKeyDictionary[ServedStudy, tuple[Head, float, HistoryView]] = WeakKeyDictionary()


def draw_charts(study: ServedStudy, arguments: Spec) -> dict[str, Any]:
    """The charts of one kind, and what else belongs beside them."""
    kind = str(arguments.get("chart"))
    if kind not in CHARTS:
        raise InvalidInput(f"chart must be one of {format_names(CHARTS)} (got {format_value(kind)})")
    found = CHARTS[kind](study, arguments)
    return {name: keep_units(each) if isinstance(each, str) else each for name, each in found.items()}


def keep_units(words: str) -> str:
    """Words in which no line begins with the % of a number before it."""
    return words.replace(" %", "\u00a0%")


def read_history(study: ServedStudy) -> HistoryView:
    """What happened; the charts of one page share it."""
    head, now = study.read_head(), study.clock()
    known = _views.get(study)
    if known is None or known[0] != head or not 0 <= now - known[1] < FRESH:
        known = _views[study] = head, now, read_history_view(study)
    return known[2]


def write_chart(figure: go.Figure, words: str, *, named: bool = True) -> Spec:
    """A figure and its words; it is without Plotly's own colours: the page has them.

    named  by a legend; else the page says what is drawn"""
    notes = figure.layout.annotations  # names of lines, and what is not drawn: a phone is too narrow for that
    words = " ".join([words, *(f"{note.text}." for note in notes if note.xref == "paper")])
    figure.layout.annotations = [note for note in notes if note.xref != "paper"]
    above = 34 if named else 10 + 12 * min(2, len(figure.layout.annotations))  # a legend, or names of lines
    figure.update_layout(
        template="none",
        title=None,
        showlegend=named,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        margin={"l": 8, "r": 12, "t": above, "b": 8},
        dragmode=False,
    )
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(automargin=True, ticks="", linecolor=AXIS["gridcolor"])
    return {"figure": json.loads(figure.to_json()), "words": keep_units(words)}


def draw_progress_chart(study: ServedStudy, arguments: Spec) -> dict[str, Any]:
    by = arguments.get("by")
    if by not in (None, "trial", "time"):
        raise InvalidInput(f"by must be trial or time (got {format_value(by)})")
    view = read_history(study)
    figure = show_outcomes(view, by)
    if figure.data and not np.any(np.isfinite(view.told)):  # lanes alone
        figure.layout.height = 100 + 30 * len(figure.data)
    return {"charts": [write_chart(figure, describe_progress(view))]}


def describe_progress(view: HistoryView) -> str:
    """What the chart of outcomes shows, in words."""
    y = list_outcomes(view)
    heard = np.isfinite(y)
    if not np.any(heard):
        return f"{format_count(len(view.trials), 'trial')}, and nothing heard yet."
    settings = view.study.settings
    if view.conversions:
        people = sum(1 if t.shown is None else t.shown for t in view.trials if t.failure is None)
        came = sum(bool(t.outcome) if t.converted is None else t.converted for t in view.trials)
        return f"{came:,} of {people:,} converted."
    said = f"{np.sum(heard):,} of {format_count(len(y), 'trial')} {'has' if np.sum(heard) == 1 else 'have'} an outcome"
    row = int(np.nanargmax(settings.objective.sign * y))
    newest = int(np.flatnonzero(heard)[np.argmax(view.told[heard])])
    best = f"the best is {format_outcome(settings, float(y[row]))}, of trial {row + 1}"
    return f"{said}; {best}; the newest is {format_outcome(settings, float(y[newest]))}, of trial {newest + 1}."


def draw_pending_chart(study: ServedStudy, arguments: Spec) -> dict[str, Any]:
    view = read_history(study)
    out, marks = find_out(view), describe_delay_marks(view)
    scale: Any = "clock" if view.by_clock else "rounds"
    words = "Nothing is out"
    if out:
        oldest, age = out[0]
        words = f"{len(out):,} out; the oldest, trial {oldest.number}, for {format_time(age, scale)}"
    figure = show_pending(view)
    if figure.data:
        figure.layout.height = max(136, 88 + 24 * len(figure.data[0].y))
    return {"charts": [write_chart(figure, f"{words}{f' ({marks})' if marks else ''}.", named=False)]}


def draw_delay_chart(study: ServedStudy, arguments: Spec) -> dict[str, Any]:
    advice, report = study.advise(), study.delays()
    rho = report.in_time if report.heard else None
    unknown = "" if math.isinf(study.settings.patience.m) else "nothing heard yet"
    figure = show_delays(read_history(study)) if report.heard else go.Figure()  # of nothing heard, no empty axes
    return {
        "charts": [write_chart(figure, describe_delays(study), named=False)],
        "rho": "–" if rho is None else f"{100 * rho.estimate:.0f} %",
        "rho_band": unknown if rho is None else f"95 % confidence: {100 * rho.low:.0f} to {100 * rho.high:.0f} %",
        "advice": advice.reason,
        "meaning": advice.meaning,
        "warning": advice.warning,
    }


def draw_belief_charts(study: ServedStudy, arguments: Spec) -> dict[str, Any]:
    """The recommended query, a chart along each coordinate, and a heat map of two of them."""
    view = read_belief_view(study, arguments.get("context"))
    if view.recommended is None:
        return {"charts": [], "sentence": "Nothing was heard yet, so nothing is believed.", "pair": None}
    return {
        "sentence": f"Recommended: {view.recommended}.",
        "charts": [write_chart(draw_slice(along), describe_slice(view, along), named=False) for along in view.slices],
        "left_out": view.left_out,
        "pair": draw_pair_chart(view, arguments.get("pair")),
    }


def describe_outlook(study: ServedStudy, arguments: Spec) -> dict[str, Any]:
    """What more queries may bring, in words; it comes after the charts of the belief."""
    trials = study.read_trials([study.rounds]) if study.rounds else []
    context = arguments.get("context") or (trials[0].context if trials else None)
    outlook = find_outlook(study, context)
    return {"charts": [], "outlook": "" if outlook is None else str(outlook)}


def draw_pair_chart(view: StudyView, names: str | None) -> Spec | None:
    """The heat map of the pair that somebody chose, or of the one that matters most; None where there is no pair."""
    pair = None
    if names is None:
        pair = find_strongest_pair(view)
    elif not isinstance(view.study.settings.space.parameters, Points):
        there = [along.name for along in view.slices if not along.context]
        chosen = parse_json(names)
        two = isinstance(chosen, list) and len(chosen) == 2 and chosen[0] != chosen[1]
        if not two or not all(name in there for name in chosen):
            raise InvalidInput(f"pair must be two different names of {format_names(there)} (got {format_value(names)})")
        pair = find_pair(view, *chosen)
    if pair is None:
        return None
    low, high = float(np.min(pair.mean)), float(np.max(pair.mean))
    settings = view.study.settings
    words = f"Over {pair.across.label} and {pair.up.label} the mean goes from {format_outcome(settings, low)} to "
    words += f"{format_outcome(settings, high)}; the star is the recommended query."
    chart = write_chart(show_pair(pair), words, named=False)
    return {**chart, "names": [pair.across.name, pair.up.name]}


def describe_slice(view: StudyView, along: BeliefSlice) -> str:
    """Where the mean is best and worst along a coordinate, in words."""
    settings = view.study.settings
    order = np.argsort(settings.objective.sign * along.mean, kind="stable")
    worst, best = int(order[0]), int(order[-1])

    def place(row: int) -> str:
        at = float(along.x[row])
        return along.options[round(at)] if along.options is not None else f"{at:.4g}"

    top, least = (format_outcome(settings, float(along.mean[row])) for row in (best, worst))
    interval = f"90 % interval {along.low[best]:.4g} to {along.high[best]:.4g}"
    if math.isclose(along.mean[best], along.mean[worst]):
        return f"Along {along.label} the mean is the same everywhere: {along.mean[best]:.4g}."
    return (
        f"Along {along.label} the mean is best at {place(best)}: {top} ({interval}), worst at {place(worst)}: {least}."
    )


CHARTS: Mapping[str, Callable[[ServedStudy, Spec], dict[str, Any]]] = {
    "progress": draw_progress_chart,
    "pending": draw_pending_chart,
    "delays": draw_delay_chart,
    "belief": draw_belief_charts,
    "outlook": describe_outlook,
}
