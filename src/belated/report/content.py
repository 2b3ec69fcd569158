"""What a report says: values and sentences, read from a study; the page shows them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from belated.delays.report import DelayReport
from belated.errors import SilenceWarning
from belated.learner.blas import describe_versions
from belated.plotting.study.marks import choose_unit, describe_patience
from belated.plotting.study.view import StudyView, ViewedStudy, format_expected
from belated.record.events import Adjusted, Amended, Asked, Event, Failed, Told, Undone
from belated.record.log import describe_event
from belated.results import BestQuery, Trial
from belated.settings import Settings
from belated.space.encoding import Space
from belated.space.parameters import Choice, Parameter
from belated.space.points import Points
from belated.validation import Params
from belated.wording import format_count

MOST_ROWS = 100  # of a table; the newest, or the longest out
SILENCE = {
    "floor": "An outcome that has not come counts as the worst value ({floor}) until it comes.",
    "unknown": "An outcome that has not come is on its way: it says nothing about how good it will be. "
    "After patience the query counts as never asked.",
    "waiting": "An outcome that has not come counts as the worst value ({floor}) while it may still come in time. "
    "After patience the query counts as never asked.",
    "fading": "An outcome that has not come counts between the worst value ({floor}) and what is expected of it: "
    "the longer it is out, the less likely it is to come, and the nearer to the worst value.",
    "ignored": "An outcome that has not come is left out, as if it had not been asked for.",
    "nearest": "An outcome that has not come counts as what is expected at the nearest queries that were answered.",
}


class ReportedStudy(ViewedStudy, Protocol):
    """What a report reads of a study, besides what a picture shows."""

    @property
    def head(self) -> str: ...
    def delays(self) -> DelayReport: ...


@dataclass(frozen=True)
class ReportTable:
    """Columns with titles; `numbers` are the columns that are aligned to the right."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[int] = frozenset()
    left_out: int = 0  # rows that are not shown


def format_number(value: object) -> str:
    """A value as people read it: four digits."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def format_outcome(settings: Settings, value: float | None) -> str:
    """An outcome with its unit."""
    return "" if value is None else f"{format_number(value)}{'' if settings.unit is None else f' {settings.unit}'}"


def describe_best(settings: Settings, best: BestQuery) -> str:
    """The best outcome as told; the rate of conversions with its interval."""
    return format_outcome(settings, best.value) if best.trial is not None else format_expected(best, settings.unit)


def describe_trials(best: BestQuery) -> str:
    """Which trial it was, or how often it was tried."""
    if best.trial is not None:
        return f"Trial {best.trial.number}."
    return f"Asked {format_count(best.asked, 'time')}, heard {format_count(best.heard, 'time')}."


def describe_question(settings: Settings) -> list[str]:
    """What is looked for, in sentences."""
    objective, name = settings.objective, settings.outcome_label
    verb = "Make" if settings.outcome_name else "Make the"
    sentences = [f"{verb} {name} as {'large' if objective.goal == 'maximize' else 'small'} as possible."]
    for word, value in (("worst", objective.floor), ("best", objective.ceiling)):
        if value is not None:
            sentences.append(f"The {word} possible value is {format_outcome(settings, value)}.")
    if objective.limits is not None:
        low, high = (format_outcome(settings, end) for end in objective.limits)
        sentences.append(f"Outcomes outside {low} to {high} are refused.")
    return sentences


def describe_silence(view: StudyView) -> list[str]:
    """What an outcome that has not come counts as, how long it is waited for, and what late ones are worth."""
    settings, floor = view.study.settings, view.floor
    worst = str(floor).replace("floor ", "", 1) if floor.stated else str(floor)
    meaning = SILENCE.get(settings.silence.name, f"An outcome that has not come counts by the rule {settings.silence}.")
    patience = settings.patience
    if math.isinf(patience.m):
        return [meaning.format(floor=worst), "Nothing is ever late: there is no patience."]
    late = "Late outcomes are used too." if settings.late == "use" else "Late outcomes are kept, and not used."
    return [
        meaning.format(floor=worst),
        f"Patience is {describe_patience(patience)}: what comes after it is late.",
        late,
    ]


def tabulate_space(space: Space) -> ReportTable:
    """The parameters with their ranges."""
    if isinstance(space.parameters, Points):
        return ReportTable(
            [*space.names], [[format_number(v) for v in row] for row in space.parameters.rows[:MOST_ROWS]]
        )
    kinds = zip(space.names, space.parameters, strict=True)
    return ReportTable(
        ["parameter", "values", "unit"], [[name, describe_range(p), space.units.get(name, "")] for name, p in kinds]
    )


def describe_range(parameter: Parameter) -> str:
    if isinstance(parameter, Choice):
        return ", ".join(map(str, parameter.options))
    low, high = (format_number(end) for end in (parameter.low, parameter.high))
    kind = "" if isinstance(parameter.low, float) else "whole numbers "
    return f"{kind}{low} to {high}{', evenly by logarithm' if parameter.log else ''}"


def list_params(space: Space, params: Params) -> list[tuple[str, str]]:
    """Names and values with units."""
    return [(name, f"{format_number(params[name])} {space.units.get(name, '')}".strip()) for name in space.names]


def format_date(view: StudyView, at: float) -> str:
    """A time of the study's clock: a date with its time in UTC, or seconds where the clock has no calendar."""
    if not view.has_calendar:
        return f"{format_number(float(at))} s"
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"


def tabulate_unheard(view: StudyView) -> ReportTable:
    """The queries without an outcome, and how long each has been out."""
    trials = [trial for trial in view.trials if trial.status in ("pending", "expired")]
    now = view.start + view.seconds
    size, unit = choose_unit(max([0.0, *(now - trial.asked_at for trial in trials)]))
    if view.by_clock:
        ends = [[f"{(now - trial.asked_at) / size:.1f}"] for trial in trials]
    else:
        unit, ends = "rounds", [[str(len(view.trials) + 1 - trial.number)] for trial in trials]
    return tabulate_queries(view, trials, [f"out for ({unit})"], ends)


def tabulate_trials(view: StudyView) -> ReportTable:
    """Every trial, the newest first, and how it ended."""
    trials = view.trials[::-1]
    ends = [[trial.failure or trial.status, format_end(trial)] for trial in trials]
    return tabulate_queries(view, trials, ["status", view.study.settings.outcome_label], ends)


def format_end(trial: Trial) -> str:
    """The outcome, or the people it counts; empty where there is none."""
    if trial.counted_at is not None:
        return f"{trial.converted} of {trial.shown}"
    return "" if trial.outcome is None else format_number(trial.outcome)


def tabulate_queries(
    view: StudyView, trials: Sequence[Trial], titles: Sequence[str], ends: Sequence[Sequence[str]]
) -> ReportTable:
    """Trials with their params and the time at which they were asked; `ends` has the last columns, one row each."""
    settings, rows = view.study.settings, []
    spaces = [settings.space, *([] if settings.context is None else [settings.context])]
    for trial, end in list(zip(trials, ends, strict=True))[:MOST_ROWS]:
        values = [format_number(v) for part in (trial.params, trial.context or {}) for v in part.values()]
        rows.append([str(trial.number), *values, format_date(view, trial.asked_at), *end])
    names = [space.format_label(name) for space in spaces for name in space.names]
    every = ["trial", *names, "asked", *titles]
    numeric = {i for i in range(1, len(names) + 1) if all(_is_numeral(row[i]) for row in rows)}
    return ReportTable(every, rows, frozenset({0, len(every) - 1, *numeric}), max(0, len(trials) - MOST_ROWS))


def _is_numeral(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def tabulate_failures(view: StudyView, events: Sequence[Event]) -> ReportTable:
    """The trials that failed, with the reason, or else what such an end means."""
    kinds = {
        "lost": "no outcome, which says nothing about the query",
        "infeasible": "the query cannot work",
        "withdrawn": "taken back",
    }
    failed = [e for e in events if isinstance(e, Failed) and view.trials[e.number - 1].failure == e.kind]
    rows = [[str(e.number), e.kind, e.reason or kinds[e.kind], format_date(view, e.at)] for e in failed]
    return ReportTable(
        ["trial", "ended as", "why", "on"], rows[-MOST_ROWS:], frozenset({0}), max(0, len(rows) - MOST_ROWS)
    )


def tabulate_amendments(view: StudyView, events: Sequence[Event]) -> ReportTable:
    """Everything that was put right, with its reason: outcomes, the floor, the limits, and patience."""
    settings, rows = view.study.settings, list[list[str]]()
    known: dict[int, float] = {}
    for position, event in enumerate(events, start=1):
        if isinstance(event, Told):
            known.setdefault(event.number, event.value)
        elif isinstance(event, Amended) and event.number is not None and event.value is not None:
            before, known[event.number] = known.get(event.number), event.value
            change = f"{format_number(before)} → {format_number(event.value)}"
            rows.append([f"trial {event.number}", change, event.reason, format_date(view, event.at)])
        elif isinstance(event, Amended) and event.number is None:
            words = ", ".join(list_amended(event))
            rows.append(["the study", words, event.reason, format_date(view, event.at)])
        elif isinstance(event, Amended | Undone):
            what = "the study" if event.number is None else f"trial {event.number}"
            sentence = describe_event(position, event).sentence
            rows.append([what, sentence, event.reason, format_date(view, event.at)])
        elif isinstance(event, Adjusted):
            rows.append(["patience", describe_wait(event.m, event.by_clock), event.reason, format_date(view, event.at)])
    return ReportTable(
        ["what", f"change ({settings.outcome_label})", "reason", "on"],
        rows[-MOST_ROWS:],
        left_out=max(0, len(rows) - MOST_ROWS),
    )


def list_amended(event: Amended) -> list[str]:
    """The settings that an amendment changed, in words."""
    words = [] if event.floor is None else [f"floor {format_number(event.floor)}"]
    if event.limits is not None:
        words.append(f"limits {format_number(event.limits[0])} to {format_number(event.limits[1])}")
    if isinstance(event.patience, str):
        words.append(f"patience {event.patience}")
    elif event.patience is not None:
        words.append(f"patience {describe_wait(event.patience, event.by_clock)}")
    ranges = (event.ranges or {}).items()
    return words + [f"{name} {format_number(low)} to {format_number(high)}" for name, (low, high) in ranges]


def describe_wait(m: float, by_clock: bool) -> str:
    if not by_clock:
        return format_count(int(m), "round")
    size, unit = choose_unit(m)
    return f"{m / size:.3g} {unit}"


def describe_stand(view: StudyView, closed: bool) -> str:
    """How many trials there are of each status, and whether the belief is up to date."""
    listed = ", ".join(f"{count} {status}" for status, count in view.counts.items()) or "none asked yet"
    words = [f"{format_count(len(view.trials), 'trial')}: {listed}.", "The study is closed." if closed else ""]
    return " ".join(filter(None, [*words, f"Belief: {view.fit_note}." if view.fit_note else ""]))


def describe_delays(study: ReportedStudy) -> str:
    """The delays in sentences; its warning is one of them."""
    with warnings.catch_warnings(action="ignore", category=SilenceWarning):
        return str(study.delays())


def list_versions(events: Sequence[Event]) -> dict[str, str]:
    """The versions that made the newest choice; those of today where none was made."""
    made = [event.versions for event in events if isinstance(event, Asked) and event.versions is not None]
    return dict(made[-1] if made else describe_versions())
