"""A study as one page for those who were not there: no scripts, nothing outside the file."""

from __future__ import annotations

from importlib.resources import files

from belated.errors import Unavailable
from belated.plotting.study.page import list_thinned
from belated.plotting.study.pair import find_strongest_pair
from belated.plotting.study.view import read_study_view
from belated.report.charts import draw_belief_charts, draw_delays_chart, draw_pair_chart, draw_progress_chart
from belated.report.content import (
    ReportedStudy,
    describe_best,
    describe_delays,
    describe_people_out,
    describe_question,
    describe_silence,
    describe_stand,
    describe_trials,
    format_date,
    list_params,
    list_versions,
    tabulate_corrections,
    tabulate_failures,
    tabulate_space,
    tabulate_trials,
    tabulate_unheard,
)
from belated.validation import Params
from belated.version import __version__


def render_report(study: ReportedStudy, context: Params | None = None) -> str:
    """The report as HTML. The belief is in `context`; without one, in the context of the newest trial."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise Unavailable('the report needs Jinja2: pip install "belated[report]"') from error
    view, events, settings = read_study_view(study, context), study.events(), study.settings
    pair, best = find_strongest_pair(view), view.best
    page = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True).from_string(
        (files("belated.report") / "page.html").read_text(encoding="utf-8")
    )
    rendered: str = page.render(
        name=view.name,
        about=(settings.about or "").splitlines(),
        stand=describe_stand(view, study.closed, study.locked),
        question=describe_question(settings),
        expected=view.expected,
        recommended=None if view.recommended is None else list_params(settings.space, view.recommended.params),
        context=None
        if view.context is None or settings.context is None
        else list_params(settings.context, view.context),
        best=best,
        best_worth="" if best is None else describe_best(settings, best),
        best_note="" if best is None else describe_trials(best),
        best_params=[] if best is None else list_params(settings.space, best.params),
        outlook="" if view.outlook is None else str(view.outlook),
        space=tabulate_space(settings.space),
        around=None if settings.context is None else tabulate_space(settings.context),
        silence=describe_silence(view),
        progress=draw_progress_chart(view),
        thinned="".join(f" {note}" for note in list_thinned(view)),
        beliefs=draw_belief_charts(view),
        pair=None if pair is None else draw_pair_chart(view, pair),
        pair_names=[] if pair is None else [pair.across.label, pair.up.label],
        left_out=view.left_out,
        delays=draw_delays_chart(view),
        delay_words=describe_delays(study),
        unheard=tabulate_unheard(view),
        people_out=describe_people_out(view),
        failures=tabulate_failures(view, events),
        corrections=tabulate_corrections(view, events, study.original_settings),
        trials=tabulate_trials(view),
        versions=list_versions(events),
        algorithm=settings.algorithm.name,
        seed=settings.seed,
        head=study.head,
        version=__version__,
        made=format_date(view, view.start + view.seconds),
        dated=view.has_calendar,
        conversions=view.conversions,
    )
    return rendered
