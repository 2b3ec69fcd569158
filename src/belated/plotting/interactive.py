"""The pictures of `belated plot` as figures of Plotly, to point at and zoom into.

It needs Plotly: `pip install "belated[interactive]"`. A figure has 2,000 marks at most; where there are more trials, it
shows the newest, the best and an even choice of the others, and says so.

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
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from belated.delays.wording import format_time
from belated.errors import InvalidInput
from belated.learner.arrays import Array, Mask
from belated.learner.delays.survival import spread_evenly
from belated.plotting.study.delays import compute_shares
from belated.plotting.study.marks import BLUE, GREY, ORANGE, VERMILLION, choose_unit, clip_text, format_value
from belated.plotting.study.outcomes import (
    compute_progress,
    find_drawn_outcomes,
    find_lanes,
    list_outcomes,
    name_progress,
)
from belated.plotting.study.pair import FINE, BeliefPair, read_pair
from belated.plotting.study.thinning import choose_near, find_drawn
from belated.plotting.study.ticks import list_log_ticks, write_numbers
from belated.plotting.study.view import (
    BeliefSlice,
    HistoryView,
    StudyView,
    ViewedStudy,
    read_history_view,
    read_study_view,
)
from belated.results import Trial, list_awaited
from belated.space.points import Points
from belated.validation import Params, format_names

__all__ = ["draw_beliefs", "draw_delays", "draw_outcomes", "draw_pair", "draw_pending"]

BAND = "rgba(0,114,178,0.2)"  # BLUE, faint
LAYOUT: dict[str, Any] = {  # no colours behind it: the page's own show through
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "font": {"color": GREY},
    "hovermode": "closest",
}
AXIS: dict[str, Any] = {"gridcolor": "rgba(128,128,128,0.25)", "zeroline": False}
LATE = {"color": ORANGE, "symbol": "diamond"}  # marks as on paper: colour and form say the same
FAILED = {"color": VERMILLION, "symbol": "cross"}
UNHEARD = {"pending": {"color": BLUE, "symbol": "triangle-down-open"}, "expired": {"color": GREY, "symbol": "x"}}
COLOURS = [[0.0, "rgba(0,114,178,0.06)"], [1.0, "rgba(0,114,178,0.9)"]]  # of a mean, on any background
ACROSS = 3  # coordinates in a row
MOST_UNHEARD, MOST_STEPS = 500, 250  # marks of a figure
MOST_BARS = 40  # of trials that are out
MOST_TICKS = 7  # of a log axis
FEW = 8  # trials or rounds: each has a tick
QUANTILES = (0.5, 0.9)  # of the delays, beside the trials that are out

OutcomeAxis = Literal["trial", "time"]


class AxisPlaces(NamedTuple):
    """Where trials stand along an axis."""

    asked: Array  # (n,)
    told: Array  # NaN while unheard
    now: float
    title: str
    whole: bool  # counted: trials or rounds


def draw_outcomes(study: ViewedStudy, by: OutcomeAxis | None = None) -> go.Figure:
    """Each outcome when it was heard, the best so far, and below the trials without an outcome.

    by  "trial": by their numbers; "time": by the clock; None: as patience counts

    >>> from belated import Real, Study
    >>> from belated.plotting.interactive import draw_outcomes
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    >>> _ = study.tell(study.ask(n=2)[1], 0.4)
    >>> [trace.name for trace in draw_outcomes(study).data]
    ['best so far', 'heard', 'pending']
    >>> [trace.x.tolist() for trace in draw_outcomes(study, "trial").data[1:]]
    [[2.0], [1.0]]
    """
    return show_outcomes(read_history_view(study), by)


def show_outcomes(view: HistoryView, by: OutcomeAxis | None = None) -> go.Figure:
    """`draw_outcomes` of what was read before."""
    kinds = np.array([trial.failure or trial.status for trial in view.trials], dtype=str)
    alone = view.conversions & np.isin(kinds, ("heard", "late"))  # one conversion is no rate: it stands in a lane
    came = [name for name in ("heard", "late") if np.any(alone & (kinds == name))]
    lanes, y, places = [name for name, _ in find_lanes(view)] + came, list_outcomes(view), place_trials(view, by)
    there, below = np.isfinite(view.told), 0.05 + 0.08 * len(lanes)  # of the height
    heights = [1 - below, below] if lanes and np.any(there) else [1.0]
    rows = len(heights)  # of nothing but lanes, one
    figure = make_subplots(rows=rows, cols=1, shared_xaxes=True, vertical_spacing=0.04, row_heights=heights)
    if np.any(there):
        at, line = compute_progress(view, y, places.asked, places.told)
        kept = find_steps(line, MOST_STEPS)
        best = go.Scatter(
            x=np.append(at[kept], places.now),
            y=np.append(line[kept], line[-1]),
            name=name_progress(view),
            mode="lines",
            line={"shape": "hv", "color": BLUE},
        )
        figure.add_trace(best, row=1, col=1)
    late = np.array([trial.status == "late" for trial in view.trials], dtype=bool)
    drawn = find_drawn_outcomes(view, y)
    marks = {"heard": (drawn & ~late, {"color": GREY}), "late": (drawn & late, LATE)}
    for status, (every, mark) in marks.items():
        mask = every & ~alone
        if np.any(mask):
            figure.add_trace(mark_trials(view, mask, places.told, y, status, mark), row=1, col=1)
    silent = np.isin(kinds, lanes) & ~alone
    shown = find_drawn(silent, np.full(len(kinds), np.nan), MOST_UNHEARD)
    for lane in lanes:
        level = np.full(len(view.trials), lane, dtype=object)
        if lane in came:
            mask, mark = marks[lane]
            traced = mark_trials(view, mask & alone, places.told, level, lane, mark)
        else:
            mark = UNHEARD.get(lane, FAILED)
            traced = mark_trials(view, shown & (kinds == lane), places.asked, level, lane, mark)
        figure.add_trace(traced.update(showlegend=False), row=rows, col=1)  # its lane has its name
    figure.update_layout(**LAYOUT, title=escape_text(view.title))
    figure.update_xaxes(**AXIS).update_yaxes(**AXIS)
    figure.update_xaxes(dtick=choose_step(places.now, places.whole)).update_xaxes(title=places.title, row=rows, col=1)
    if lanes:
        figure.update_yaxes(dtick=1, row=rows, col=1)  # every lane has its name, however low it is
    note_thinning(figure, [("outcomes", drawn, there), ("without an outcome", shown, silent)])
    return figure


def place_trials(view: HistoryView, by: OutcomeAxis | None) -> AxisPlaces:
    """Where each trial stands along the axis of a chart."""
    if by == "trial":
        numbers = np.array([float(trial.number) for trial in view.trials])
        return AxisPlaces(
            numbers, np.where(np.isfinite(view.told), numbers, np.nan), float(len(numbers)), "trial", True
        )
    if by == "time" and not view.dated:
        asked = np.array([trial.asked_at - view.start for trial in view.trials])
        heard = [t.told_at if t.counted_at is None else t.asked_at for t in view.trials]
        told = np.array([math.nan if at is None else at - view.start for at in heard])
        seconds, dated = view.seconds, True
    else:
        asked, told, seconds, dated = view.asked, view.told, view.now, view.dated
    unit, name = choose_unit(seconds) if dated else (1.0, "rounds")
    title = f"{name} since the first query" if dated else name
    return AxisPlaces(asked / unit, told / unit, seconds / unit, title, not dated)


def choose_step(last: float, whole: bool) -> float | None:
    """The distance of ticks along a short axis of trials or rounds, where Plotly puts halves; else None: its own."""
    return 1 if whole and last <= FEW else None


def find_steps(line: Array, most: int) -> Array:
    """The points of a curve at which it changes, and its first; at most so many."""
    changes = np.flatnonzero(np.append(True, np.diff(line) != 0))
    return np.asarray(changes[spread_evenly(len(changes), most)])


def note_thinning(figure: go.Figure, counts: Sequence[tuple[str, Mask, Mask]]) -> None:
    """Say above the chart what is not drawn; nothing where everything is."""
    thinned = [(what, np.sum(drawn), np.sum(every)) for what, drawn, every in counts if np.any(drawn != every)]
    if thinned:
        words = ", ".join(f"{drawn:,} of {every:,} {what}" for what, drawn, every in thinned)
        note = f"Shown: {words}: the newest, the best, and an even choice of the others"
        place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "yanchor": "bottom", "xanchor": "left"}
        figure.add_annotation(text=note, showarrow=False, font={"size": 11}, **place)


def mark_trials(view: HistoryView, mask: Array, x: Array, y: Array, name: str, mark: Mapping[str, Any]) -> go.Scatter:
    """A mark for each of these trials; pointing at one shows its number and params."""
    chosen = [trial for trial, there in zip(view.trials, mask, strict=True) if there]
    return go.Scatter(
        x=x[mask],
        y=y[mask],
        name=name,
        mode="markers",
        marker={"size": 8, **mark},
        text=[describe_trial(trial) for trial in chosen],
        hovertemplate="%{text}<br>%{y}<extra></extra>",
    )


def describe_trial(trial: Trial) -> str:
    params = {**trial.params, **(trial.context or {})}
    lines = [f"trial {trial.number}", *(f"{name} {format_value(value)}" for name, value in params.items())]
    return "<br>".join(escape_text(line) for line in lines)


def escape_text(text: str) -> str:
    """Text as Plotly shows it letter by letter: it reads tags, and knows no entity for quotes."""
    return escape(text, quote=False)


def draw_pending(study: ViewedStudy) -> go.Figure:
    """How long each trial without an outcome has been out, the oldest first, beside patience and the delays so far.

    >>> from belated import Real, Study
    >>> from belated.plotting.interactive import draw_pending
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", patience=5, seed=0)
    >>> _ = study.tell(study.ask(n=3)[0], 0.4)
    >>> bars = draw_pending(study).data[0]
    >>> list(bars.y), list(bars.x)
    (['trial 3', 'trial 2'], [1.0, 2.0])
    """
    return show_pending(read_history_view(study))


def show_pending(view: HistoryView) -> go.Figure:
    """`draw_pending` of what was read before."""
    out = find_out(view)
    lines = list_delay_marks(view)
    longest = max([0.0, *(age for _, age in out), *(at for _, at in lines)])
    unit, name = choose_unit(longest) if view.by_clock else (1.0, "rounds")
    figure = go.Figure()
    shown, m = out[:MOST_BARS][::-1], view.study.settings.patience.m
    slow = max((at for what, at in lines if what != "patience"), default=math.inf)
    colours = [VERMILLION if age > m else ORANGE if age > slow else BLUE for _, age in shown]
    bars = go.Bar(
        x=[age / unit for _, age in shown],
        y=[f"trial {trial.number}" for trial, _ in shown],
        orientation="h",
        name="out for",
        marker={"color": colours},
        text=[describe_trial(trial) for trial, _ in shown],
        textposition="none",
        hovertemplate=f"%{{text}}<br>out for %{{x:.3g}} {name}<extra></extra>",
    )
    if shown:
        figure.add_trace(bars)
    for i, (what, at) in enumerate(sorted(lines, key=lambda line: line[1])):
        mark_time(figure, at / unit, what, rows=i % 2)
    figure.update_layout(**LAYOUT, title="Out now", showlegend=False, bargap=0.35)
    figure.update_xaxes(**AXIS, title=f"{name} out", range=[0, 1.08 * longest / unit or 1.0])
    figure.update_xaxes(dtick=choose_step(longest, not view.by_clock))
    figure.update_yaxes(type="category", showgrid=False)
    if len(out) > MOST_BARS:
        place = {"xref": "paper", "yref": "paper", "x": 1, "y": 0, "yanchor": "top", "xanchor": "right", "yshift": -24}
        figure.add_annotation(text=f"Shown: the oldest {MOST_BARS} of {len(out):,}", showarrow=False, **place)
    return figure


def mark_time(figure: go.Figure, x: float, what: str, rows: int = 0) -> None:
    """A vertical line with its name above it, so many rows up: names may be longer than lines are apart."""
    colour, dash = (VERMILLION, "dash") if what == "patience" else (GREY, "dot")
    figure.add_vline(x=x, line={"color": colour, "dash": dash, "width": 1.5})
    place = {"xref": "x", "yref": "paper", "x": x, "y": 1, "yanchor": "bottom", "yshift": 13 * rows, "showarrow": False}
    figure.add_annotation(text=what, font={"color": colour, "size": 11}, **place)


def find_out(view: HistoryView) -> list[tuple[Trial, float]]:
    """The trials that are out, each with how long (rounds, or seconds by the clock), the oldest first."""
    now, last = view.start + view.seconds, len(view.trials)
    out = [trial for trial in view.trials if trial.status in list_awaited(view.conversions)]
    aged = [(t, max(now - t.asked_at, 0.0) if view.by_clock else float(last + 1 - t.number)) for t in out]
    return sorted(aged, key=lambda each: -each[1])


def list_delay_marks(view: HistoryView) -> list[tuple[str, float]]:
    """Patience, and how long half and most of the delays took so far; what is not known is left out."""
    m, survival = view.study.settings.patience.m, view.survival
    marks = [("patience", m)] if math.isfinite(m) else []
    for q in QUANTILES:
        come = np.flatnonzero(1.0 - survival.over(survival.times) >= q) if survival.n else np.array([])
        if len(come):
            marks.append((f"{100 * q:.0f} % came", float(survival.times[come[0]])))
    return marks


def draw_delays(study: ViewedStudy) -> go.Figure:
    """The share heard by how long they waited; those still out are censored. Of conversions, of those that come.

    >>> from belated import Real, Study
    >>> from belated.plotting.interactive import draw_delays
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", patience=5, seed=0)
    >>> _ = study.tell(study.ask(), 0.4)
    >>> draw_delays(study).layout.xaxis.title.text
    'rounds waited'
    """
    return show_delays(read_history_view(study))


def show_delays(view: HistoryView) -> go.Figure:
    """`draw_delays` of what was read before."""
    figure = go.Figure()
    if view.coming is not None:
        waited, share = view.coming
        unit, name = choose_unit(waited[-1]) if view.by_clock else (1.0, "rounds")
        figure.add_trace(go.Scatter(x=waited / unit, y=share, name="share of those that come", line={"color": BLUE}))
    else:
        waited, share, low, high = (c[spread_evenly(len(c), MOST_STEPS)] for c in compute_shares(view))
        m = view.study.settings.patience.m
        longest = max(float(waited[-1]), m if math.isfinite(m) else 0.0)
        unit, name = choose_unit(longest or 1.0) if view.by_clock else (1.0, "rounds")
        if view.survival.n:
            figure.add_trace(draw_band(waited / unit, low, high, "± 2 standard errors", shape="hv"))
            line = {"color": BLUE, "shape": "hv"}
            figure.add_trace(go.Scatter(x=waited / unit, y=share, name="share heard", mode="lines", line=line))
        if math.isfinite(m):
            mark_time(figure, m / unit, "patience")
    figure.update_layout(**LAYOUT, title="Delays seen so far")
    figure.update_xaxes(**AXIS, title=f"{name} waited", dtick=choose_step(float(waited[-1]), not view.by_clock))
    figure.update_yaxes(**AXIS, title="share heard", tickformat=".0%", range=[0, 1.03])
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
        figure.update_xaxes(**describe_axis(along), **place)
    figure.update_yaxes(**AXIS)
    figure.update_layout(**LAYOUT, title=f"Belief: {view.expected}" if view.expected else "Nothing is believed yet")
    return figure


def draw_slice(along: BeliefSlice) -> go.Figure:
    """The belief along one coordinate, of the `slices` of a view."""
    figure = go.Figure(list_belief_traces(along))
    figure.update_xaxes(**describe_axis(along)).update_yaxes(**AXIS)
    return figure.update_layout(**LAYOUT, title=escape_text(along.label))


def describe_axis(along: BeliefSlice) -> dict[str, Any]:
    """The axis of a coordinate: its name and unit, by logarithm where it is, options by name."""
    axis = {**AXIS, "title": escape_text(along.label), "type": "log" if along.log else None}
    if along.options is not None:
        axis |= {"tickvals": list(range(len(along.options))), "ticktext": list_options(along)}
    elif along.log and np.log10(along.x[-1]) - np.log10(along.x[0]) >= 1:  # Plotly's own are crowded there
        sets = list_log_ticks(float(np.log10(along.x[0])), float(np.log10(along.x[-1])))
        ticks = next(ticks for ticks in sets if len(ticks) <= MOST_TICKS)
        axis |= {"tickvals": ticks, "ticktext": write_numbers(ticks, log=True)}
    return axis


def list_options(along: BeliefSlice) -> list[str]:
    return [escape_text(clip_text(option, 24)) for option in along.options or ()]


def list_belief_traces(along: BeliefSlice) -> list[go.Scatter]:
    """The interval, the mean, the outcomes and the recommended point, in that order."""
    rows = spread_evenly(len(along.x), MOST_UNHEARD)
    x, low, high = along.x[rows], along.low[rows], along.high[rows]
    mean: dict[str, Any] = {"x": x, "y": along.mean[rows], "name": "mean", "zorder": 1}  # over the outcomes
    if along.dots:
        up, down = high - mean["y"], mean["y"] - low
        bars = {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "color": BLUE}
        believed = [go.Scatter(**mean, mode="markers", marker={"color": BLUE}, error_y=bars)]
    else:
        band = draw_band(x, low, high, "90 % interval")
        believed = [band, go.Scatter(**mean, mode="lines", line={"color": BLUE})]
    near = along.heard[choose_near(along.heard[:, 2])]
    outcomes = {"x": near[:, 0], "y": near[:, 1], "opacity": 0.7, "marker": {"color": GREY, "size": 6}}
    star = {"color": VERMILLION, "symbol": "star", "size": 13}
    return [
        *believed,
        go.Scatter(**outcomes, name="outcome", mode="markers"),
        go.Scatter(x=along.here[:1], y=along.here[1:], name="recommended", mode="markers", marker=star, zorder=2),
    ]


def draw_pair(study: ViewedStudy, across: str, up: str, context: Params | None = None) -> go.Figure:
    """The mean over two parameters around the recommended point, with the outcomes and the pending queries.

    >>> from belated import Real, Study
    >>> from belated.plotting.interactive import draw_pair
    >>> study = Study.create(space={"a": Real(0, 1), "b": Real(0, 1)}, silence="unknown", seed=0)
    >>> for trial in study.ask(n=3):
    ...     _ = study.tell(trial, trial.params["a"] - trial.params["b"])
    >>> [trace.name for trace in draw_pair(study, "a", "b").data]
    ['mean', 'outcome', 'recommended']
    """
    view = read_study_view(study, context)
    if isinstance(study.settings.space.parameters, Points):
        raise InvalidInput("a pair must be two parameters of a space; this study has a list of queries (Points)")
    names = [along.name for along in view.slices if not along.context]
    if across == up or not {across, up} <= set(names):
        raise InvalidInput(f"a pair must be two different names of {format_names(names)} (got {across!r}, {up!r})")
    return show_pair(find_pair(view, across, up))


def show_pair(pair: BeliefPair) -> go.Figure:
    """`draw_pair` of what was read before."""
    across, up = pair.across, pair.up
    figure = go.Figure(
        go.Heatmap(x=pair.x, y=pair.y, z=pair.mean, name="mean", colorscale=COLOURS, colorbar={"thickness": 12})
    )
    kept = choose_near(across.heard[:, 2])
    waiting = spread_evenly(len(across.pending), MOST_UNHEARD)
    out = {"color": ORANGE, "symbol": "triangle-down", "size": 9}
    for name, x, y, marker in (
        ("outcome", across.heard[kept, 0], up.heard[kept, 0], {"color": GREY, "size": 6}),
        ("pending", across.pending[waiting], up.pending[waiting], out),
        ("recommended", across.here[:1], up.here[:1], {"color": VERMILLION, "symbol": "star", "size": 14}),
    ):
        if len(x):
            ring = {"line": {"color": "white", "width": 1.2}}  # on any blue
            figure.add_trace(go.Scatter(x=x, y=y, name=name, mode="markers", marker={**ring, **marker}))
    figure.update_xaxes(**describe_axis(across), range=find_edges(pair.x, across.log))
    figure.update_yaxes(**describe_axis(up), range=find_edges(pair.y, up.log))
    title = escape_text(f"{across.label} and {up.label}")
    return figure.update_layout(**LAYOUT, title=title)


def find_edges(middles: Array, log: bool) -> list[float]:
    """Where the first cell of a heat map begins and the last one ends; of a log axis, its exponents."""
    at = np.log10(middles) if log else np.asarray(middles, dtype=float)
    half = (at[-1] - at[0]) / (2 * (len(at) - 1)) if len(at) > 1 else 0.5
    return [float(at[0] - half), float(at[-1] + half)]


def find_pair(view: StudyView, across: str, up: str) -> BeliefPair:
    """The mean over two coordinates of the query that somebody names."""
    slices = {piece.name: piece for piece in view.slices if not piece.context}
    return read_pair(view, (across, up), slices, FINE)


def describe_delay_marks(view: HistoryView) -> str:
    """Patience and the delays so far, in words."""
    scale: Literal["rounds", "clock"] = "clock" if view.by_clock else "rounds"
    return ", ".join(f"{what} {format_time(at, scale)}" for what, at in list_delay_marks(view))
