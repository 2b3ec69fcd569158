"""A study at a glance, for notebooks: where it stands, its answer, its newest trials, and a small picture."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

from belated.errors import Unavailable
from belated.plotting.study.view import StudyView, read_study_view
from belated.report.charts import draw_progress_chart
from belated.report.content import ReportedStudy, describe_best, describe_stand, list_params, tabulate_trials

NEWEST = 5  # trials
# Colours are the notebook's own. A picture is drawn on white; in the dark it is turned over, and keeps its hues.
STYLE = """
.belated-glance { max-width: 40rem; line-height: 1.45 }
.belated-glance table { border-collapse: collapse; margin: .5rem 0; font-size: .9em }
.belated-glance th, .belated-glance td { padding: .15rem .7rem .15rem 0; text-align: left }
.belated-glance img { width: 100% }
[data-jp-theme-light="false"] .belated-glance img, .vscode-dark .belated-glance img {
  filter: invert(.9) hue-rotate(180deg) }
"""


def render_glance(study: ReportedStudy) -> str:
    """The glance as a piece of HTML that needs nothing besides itself; without matplotlib it has no picture."""
    view = read_study_view(study, None)
    parts = [
        f"<strong>{escape(view.name)}</strong>",
        *([f"<div>{escape(study.settings.about)}</div>"] if study.settings.about else []),
        f"<div>{escape(describe_stand(view, study.closed, study.locked))}</div>",
        *(f"<div>{escape(line)}</div>" for line in list_answers(view)),
    ]
    if view.trials:
        newest = tabulate_trials(view)
        parts += [render_table(newest.titles, newest.rows[:NEWEST]), render_picture(view)]
    return f'<div class="belated-glance"><style>{STYLE}</style>{"".join(parts)}</div>'


def list_answers(view: StudyView) -> list[str]:
    """The best query so far and the recommended one, each in a line; neither before anything was heard."""
    settings, answers = view.study.settings, []
    if view.best is not None:
        params = list_params(settings.space, view.best.params)
        answers.append(f"Best so far: {describe_best(settings, view.best)} with {format_params(params)}")
    if view.recommended is not None:
        params = list_params(settings.space, view.recommended.params)
        answers.append(f"Recommended: {format_params(params)}, {view.expected}")
    return answers


def format_params(params: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {value}" for name, value in params)


def render_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def render_picture(view: StudyView) -> str:
    """The outcomes over time, as an image of its own: several in a notebook do not get into each other's way."""
    try:
        svg = draw_progress_chart(view)
    except Unavailable:  # no matplotlib
        return ""
    inside = base64.b64encode(svg.encode()).decode()
    return f'<img alt="Outcomes over time" src="data:image/svg+xml;base64,{inside}">'
