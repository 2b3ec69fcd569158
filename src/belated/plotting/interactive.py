"""The pictures of `belated plot` as figures of Plotly, to point at and zoom into.

It needs Plotly: `pip install "belated[interactive]"`.

>>> from belated import Real, Study
>>> from belated.plotting.interactive import draw_beliefs, draw_delays, draw_outcomes
>>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
>>> for trial in study.ask(n=4):
...     _ = study.tell(trial, 1 - trial.params["x"] ** 2)
>>> [trace.name for trace in draw_outcomes(study).data]
['best so far', 'heard']
>>> [trace.name for trace in draw_delays(study).data]
['± 2 standard errors', 'share heard']
>>> [trace.name for trace in draw_beliefs(study).data]
['90 % interval', 'mean', 'outcome', 'recommended']
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from belated.learner.arrays import Array
from belated.plotting.study.delays import compute_shares
from belated.plotting.study.marks import BLUE, GREY, ORANGE, VERMILLION, choose_unit, format_value
from belated.plotting.study.outcomes import compute_progress, find_lanes, list_outcomes, name_progress
from belated.plotting.study.view import BeliefSlice, StudyView, ViewedStudy, read_study_view
from belated.results import Trial
from belated.validation import Params

BAND = "rgba(0,114,178,0.2)"  # BLUE, faint
LAYOUT: dict[str, Any] = {  # no colours behind it: the page's own show through
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "font": {"color": GREY},
    "hovermode": "closest",
}
AXIS: dict[str, Any] = {"gridcolor": "rgba(128,128,128,0.25)", "zeroline": False}
ACROSS = 3  # coordinates in a row


def draw_outcomes(study: ViewedStudy) -> go.Figure:
    """Each outcome when it was heard, the best so far, and below the trials without an outcome.

    >>> from belated import Real, Study
    >>> from belated.plotting.interactive import draw_outcomes
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    >>> _ = study.tell(study.ask(n=2)[1], 0.4)
    >>> [trace.name for trace in draw_outcomes(study).data]
    ['best so far', 'heard', 'pending']
    """
    view = read_study_view(study)
    lanes, y = find_lanes(view), list_outcomes(view)
    unit, name = choose_unit(view.now) if view.dated else (1.0, "rounds")
    rows = 2 if lanes else 1
    figure = make_subplots(
        rows=rows, cols=1, shared_xaxes=True, vertical_spacing=0.04, row_heights=[0.8, 0.2] if lanes else [1.0]
    )
    if np.any(np.isfinite(view.told)):
        at, line = compute_progress(view, y)
        best = go.Scatter(
            x=np.append(at, view.now) / unit,
            y=np.append(line, line[-1]),
            name=name_progress(view),
            mode="lines",
            line={"shape": "hv", "color": BLUE},
        )
        figure.add_trace(best, row=1, col=1)
    late = np.array([trial.status == "late" for trial in view.trials], dtype=bool)
    for mask, status, colour in ((np.isfinite(view.told) & ~late, "heard", GREY), (late, "late", ORANGE)):
        if np.any(mask):
            figure.add_trace(mark_trials(view, mask, view.told / unit, y, status, colour), row=1, col=1)
    kinds = np.array([trial.failure or trial.status for trial in view.trials])
    for lane, _ in lanes:
        mask = kinds == lane
        level = np.full(len(view.trials), lane, dtype=object)
        figure.add_trace(mark_trials(view, mask, view.asked / unit, level, lane, VERMILLION), row=2, col=1)
    figure.update_layout(**LAYOUT, title=view.title)
    figure.update_xaxes(**AXIS).update_yaxes(**AXIS)
    figure.update_xaxes(title=f"{name} since the first query" if view.dated else name, row=rows, col=1)
    return figure


def mark_trials(view: StudyView, mask: Array, x: Array, y: Array, name: str, colour: str) -> go.Scatter:
    """A mark for each of these trials; pointing at one shows its number and params."""
    chosen = [trial for trial, there in zip(view.trials, mask, strict=True) if there]
    return go.Scatter(
        x=x[mask],
        y=y[mask],
        name=name,
        mode="markers",
        marker={"color": colour, "size": 8},
        text=[describe_trial(trial) for trial in chosen],
        hovertemplate="%{text}<br>%{y}<extra></extra>",
    )


def describe_trial(trial: Trial) -> str:
    params = {**trial.params, **(trial.context or {})}
    lines = [f"trial {trial.number}", *(f"{name} {format_value(value)}" for name, value in params.items())]
    return "<br>".join(escape(line) for line in lines)


def draw_delays(study: ViewedStudy) -> go.Figure:
    """The share heard by how long they waited; those still out are censored. Of conversions, of those that come.

    >>> from belated import Real, Study
    >>> from belated.plotting.interactive import draw_delays
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", patience=5, seed=0)
    >>> _ = study.tell(study.ask(), 0.4)
    >>> draw_delays(study).layout.xaxis.title.text
    'rounds waited'
    """
    view = read_study_view(study)
    figure = go.Figure()
    if view.coming is not None:
        waited, share = view.coming
        unit, name = choose_unit(waited[-1]) if view.by_clock else (1.0, "rounds")
        figure.add_trace(go.Scatter(x=waited / unit, y=share, name="share of those that come", line={"color": BLUE}))
    else:
        waited, share, low, high = compute_shares(view)
        unit, name = choose_unit(waited[-1] or 1.0) if view.by_clock else (1.0, "rounds")
        if view.survival.n:
            figure.add_trace(draw_band(waited / unit, low, high, "± 2 standard errors", shape="hv"))
            line = {"color": BLUE, "shape": "hv"}
            figure.add_trace(go.Scatter(x=waited / unit, y=share, name="share heard", mode="lines", line=line))
        m = view.study.settings.patience.m
        if math.isfinite(m):
            figure.add_vline(x=m / unit, line={"color": VERMILLION, "dash": "dash"}, annotation_text="patience")
    figure.update_layout(**LAYOUT, title="Delays seen so far")
    figure.update_xaxes(**AXIS, title=f"{name} waited").update_yaxes(**AXIS, tickformat=".0%", range=[0, 1.03])
    return figure


def draw_band(x: Sequence[Any] | Array, low: Array, high: Array, name: str, shape: str = "linear") -> go.Scatter:
    """A faint area between two curves: along the upper one and back along the lower one."""
    if shape == "hv":  # steps, written out: a filled outline has no steps of its own
        x, low, high = np.repeat(x, 2)[1:], np.repeat(low, 2)[:-1], np.repeat(high, 2)[:-1]
    outline = {"x": [*x, *x[::-1]], "y": [*high, *low[::-1]]}
    return go.Scatter(**outline, name=name, fill="toself", fillcolor=BAND, mode="none", hoverinfo="skip")


def draw_beliefs(study: ViewedStudy, context: Params | None = None) -> go.Figure:
    """The belief along each coordinate, through the recommended point; in `context`, or that of the newest trial.

    >>> from belated import Choice, Real, Study
    >>> from belated.plotting.interactive import draw_beliefs
    >>> space = {"heat": Real(20, 90, unit="°C"), "solvent": Choice("water", "ethanol")}
    >>> study = Study.create(space=space, silence="unknown", seed=0)
    >>> for trial in study.ask(n=3):
    ...     _ = study.tell(trial, trial.params["heat"] / 90)
    >>> figure = draw_beliefs(study)
    >>> figure.layout.xaxis.title.text, figure.layout.xaxis2.title.text
    ('heat (°C)', 'solvent')
    """
    view = read_study_view(study, context)
    across = min(ACROSS, max(1, len(view.slices)))
    down = max(1, math.ceil(len(view.slices) / across))
    figure = make_subplots(rows=down, cols=across, shared_yaxes=True)
    for i, along in enumerate(view.slices):
        place = {"row": i // across + 1, "col": i % across + 1}
        for trace in list_belief_traces(along):
            figure.add_trace(trace.update(showlegend=i == 0), **place)
        figure.update_xaxes(**AXIS, title=along.label, type="log" if along.log else None, **place)
        if along.options is not None:
            figure.update_xaxes(tickvals=list(along.x), ticktext=list(along.options), **place)
    figure.update_yaxes(**AXIS)
    figure.update_layout(**LAYOUT, title=f"Belief: {view.expected}" if view.expected else "Nothing is believed yet")
    return figure


def list_belief_traces(along: BeliefSlice) -> list[go.Scatter]:
    """The interval, the mean, the outcomes and the recommended point, in that order."""
    mean: dict[str, Any] = {"x": along.x, "y": along.mean, "name": "mean"}
    if along.dots:
        up, down = along.high - along.mean, along.mean - along.low
        bars = {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "color": BLUE}
        believed = [go.Scatter(**mean, mode="markers", marker={"color": BLUE}, error_y=bars)]
    else:
        band = draw_band(along.x, along.low, along.high, "90 % interval")
        believed = [band, go.Scatter(**mean, mode="lines", line={"color": BLUE})]
    outcomes = {"x": along.heard[:, 0], "y": along.heard[:, 1], "opacity": 0.7, "marker": {"color": GREY, "size": 6}}
    star = {"color": VERMILLION, "symbol": "star", "size": 13}
    return [
        *believed,
        go.Scatter(**outcomes, name="outcome", mode="markers"),
        go.Scatter(x=along.here[:1], y=along.here[1:], name="recommended", mode="markers", marker=star),
    ]
