"""The sentences of a delay report and of an advice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from belated.learner.delays.dependence import Trend, Verdict
from belated.learner.delays.survival import ENOUGH, Band
from belated.patience import Patience
from belated.settings import Settings
from belated.space.encoding import Space
from belated.space.parameters import Choice
from belated.validation import format_value
from belated.wording import format_count, format_share, join_words

if TYPE_CHECKING:
    from belated.delays.report import DelayReport

LEVEL = 0.05  # of a test of one parameter
FLOOR_WARNING = (
    'With silence="floor" slow queries count as bad ones. If silence here does not mean a bad outcome, '
    'use silence="unknown", or silence="waiting" with a patience.'
)
CONVERSION_WARNING = (
    "All queries share one law of delays: while they are young, the rates of slow queries are believed to be lower "
    "than they will be."
)

# Delays ---------------------------------------------------------------------------------------------------------------


def describe_delays(report: DelayReport) -> str:
    """The whole report, in sentences."""
    return " ".join(_list_sentences(report))


def _list_sentences(report: DelayReport) -> Iterator[str]:
    yield from describe_counts(report)
    if report.heard:
        yield _describe_quantiles(report)
    yield from describe_forecast(report)
    yield from (f"{found.words}." for found in report.depends if found.found)
    if report.depends and not any(found.found for found in report.depends):
        tested = join_words([found.on for found in report.depends], " or the ")
        yield f"No sign that delays depend on the {tested}."
    if report.warning:
        yield report.warning


def describe_rho(rho: Band) -> str:
    """The share that comes, and its confidence limits."""
    return f"{format_share(rho.estimate)} ({format_share(rho.low).removesuffix(' %')}–{format_share(rho.high)})"


def describe_counts(report: DelayReport) -> list[str]:
    """How many were heard, are pending, failed or were added, in sentences."""
    expired = f" ({report.expired} of them past patience)" if report.expired else ""
    failed = f", {report.failed} failed" if report.failed else ""
    none = f", {report.none} told to be 0" if report.none else ""
    people = f"; {format_count(report.people, 'person', 'people')} counted by day among them" if report.people else ""
    sentences = [f"{report.heard} heard, {report.pending} pending{expired}{none}{failed}{people}."]
    if report.added:
        many = report.added != 1
        came = f"{format_count(report.added, 'trial')} came with {'their outcomes' if many else 'its outcome'}"
        sentences.append(f"{came} and {'have' if many else 'has'} no delay.")
    return sentences


def describe_forecast(report: DelayReport) -> list[str]:
    """The forecast, in sentences: within patience, never, and of the pending."""
    if report.heard < ENOUGH:
        too_few = "Fewer than ten were heard: too few for a forecast."
        return [too_few] if report.heard or report.pending else []
    sentences = []
    if (rho := report.in_time) is not None:
        within = f"Within patience ({report.settings.patience})"
        band = f"between {format_share(rho.low).removesuffix(' %')} and {format_share(rho.high)}"
        sentences.append(f"{within} {format_share(rho.estimate)} arrive (95 % confidence: {band}).")
    sentences.append(
        f"About {100 * report.never:.0f} % never come."
        if report.settled
        else "It is too early to say whether some never come: none was silent for much longer than the longest delay."
    )
    if report.pending and report.still_to_come is not None:
        coming, soon = report.still_to_come * report.pending, _describe_soon(report)
        sentences.append(f"Of the pending about {coming:.1f} are still to come, {soon}.")
    return sentences


def _describe_soon(report: DelayReport) -> str:
    """How many come soon; how long soon is depends on the delays."""
    if report.scale == "rounds":
        return f"{report.expected(rounds=10):.1f} within 10 rounds"
    half = report.quantile(0.5) or 0.0
    time, words = next(
        (time, words)
        for least, time, words in ((2 * 86400.0, "7d", "a week"), (2 * 3600.0, "1d", "a day"), (0.0, "1h", "an hour"))
        if half >= least
    )
    return f"{report.expected(time):.1f} within {words}"


def _describe_quantiles(report: DelayReport) -> str:
    half, most = report.quantile(0.5), report.quantile(0.9)
    if half is None:
        return "Half of all have not come yet."
    if report.conversions:
        times = f"half within {format_time(half, report.scale)}"
        more = "" if most is None else f", 90 % within {format_time(most, report.scale)}"
        return f"Of the conversions that come within patience, {times}{more} (those that never come are left out)."
    if most == half:
        return f"90 % arrive within {format_time(half, report.scale)}."
    within = f"Half arrive within {format_time(half, report.scale)}"
    return f"{within}." if most is None else f"{within}, 90 % within {format_time(most, report.scale)}."


def format_time(t: float, scale: Literal["rounds", "clock"]) -> str:
    """A time of this scale in words."""
    if scale == "rounds":
        return f"{t:g} round{'' if t == 1 else 's'}"
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if t >= 2 * size:
            return f"{t / size:.3g} {unit}"
    return f"{t:.3g} seconds"


def describe_dependence(
    report: DelayReport, on: Literal["query", "context", "outcome"], verdict: Verdict, found: bool
) -> str:
    """Whether delays depend on it, and where they are longer."""
    if not found:
        return f"No sign that delays depend on the {on} (p = {verdict.p:.3g})"
    start = f"Delays seem to depend on the {on} (p = {verdict.p:.3g})"
    if on == "outcome":
        trend = verdict.trends[0]
        if abs(trend.bow) > abs(trend.rise):
            return f"{start}: {'medium' if trend.bow > 0 else 'extreme'} outcomes come later"
        return f"{start}: {'better' if trend.rise > 0 else 'worse'} outcomes come later"
    space = report.settings.context if on == "context" else report.settings.space
    places = [
        _describe_place(space, name, trend)
        for (name, _), trend in zip(report.parts[on], verdict.trends, strict=True)
        if trend.p <= LEVEL
    ]
    return f"{start}: slower {join_words(places)}" if places else f"{start}, by no parameter alone"


def warn_about_outcome(others: Sequence[str]) -> str:
    """A warning where delays depend on the outcome, and on other things that may explain it."""
    return f"the {' and the '.join(others)} alone may explain that"


def _describe_place(space: Space | None, name: str, trend: Trend) -> str:
    if trend.options:
        return f"where {name} is {_list_options(space, name)[int(np.argmax(trend.options))]}"
    if abs(trend.bow) > abs(trend.rise):
        return f"{'in the middle' if trend.bow > 0 else 'towards the ends'} of the range of {name}"
    return f"where {name} is {'large' if trend.rise > 0 else 'small'}"


def _list_options(space: Space | None, name: str) -> list[str]:
    """The options of a coordinate without order, in the order of its columns."""
    if space is None:
        return []
    i = space.names.index(name)
    if isinstance(space.parameters, tuple):
        parameter = space.parameters[i]
        return [format_value(option) for option in parameter.options] if isinstance(parameter, Choice) else []
    return [format_value(value) for value in dict.fromkeys(row[i] for row in space.parameters.rows)]


# Advice ---------------------------------------------------------------------------------------------------------------

LEGEND = (
    "interval: β + Σ σ over the queries of the last m, in units of β; cost: interval / lower limit of what arrives."
)


def format_patience(m: float, scale: Literal["rounds", "clock"]) -> str:
    """A patience as the user types it (20 rounds, 14d), or in words where that would be too many digits."""
    text = str(Patience(m, scale == "clock")) if m > 0 else "0"
    return text if scale == "rounds" or len(text) <= 6 else format_time(m, scale)


def describe_patience(settings: Settings) -> str:
    """What happens to a query that is not heard within patience."""
    silence, conversions = settings.silence, settings.outcomes == "conversion"
    later = f"{'a conversion' if conversions else 'an outcome'} that comes later"
    after = f"{later} is still used" if settings.late == "use" else f"{later} is recorded, and not used"
    if conversions and silence.fills == "floor":
        return f"Silence counts as no conversion, before m and after; {after}."
    if conversions and silence.fills == "between":
        return f"After m, silence counts as no conversion; before, what is still to come is reckoned with; {after}."
    if silence.fills == "nothing":
        return f"The model ignores silence, within patience and after; {after}."
    if silence.forgets:
        return f"After patience, a query that was not heard counts as never asked; {after}."
    if silence.fills == "floor":
        return f"After patience, silence counts as an outcome, the floor; {after}."
    if silence.fills == "between":
        weight = "less weight where its outcome is more likely to come"
        return f"After patience, silence counts as the floor, with {weight}; {after}."
    return f"After patience, silence counts as {silence!r} fills it; {after}."
