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
from belated.patience import describe_chosen
from belated.plotting.study.marks import choose_unit
from belated.plotting.study.view import StudyView, ViewedStudy, format_expected
from belated.record.events import Adjusted, Amended, Asked, Event, Failed, Reopened, Undone, event_to_dict
from belated.record.log import describe_event
from belated.record.state import State
from belated.record.trial_record import TrialRecord
from belated.record.undoing import find_number
from belated.results import BestQuery, Trial, list_awaited
from belated.settings import Settings, read_amendment
from belated.space.encoding import Space
from belated.space.parameters import Choice, Parameter
from belated.space.points import Points
from belated.validation import Params
from belated.wording import format_count

Correction = Adjusted | Amended | Reopened | Undone
NONE: frozenset[int] = frozenset()
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
    @property
    def locked(self) -> bool: ...
    @property
    def original_settings(self) -> Settings: ...
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
    came = "converted" if best.quantity == "rate" else "heard"
    return f"Asked {format_count(best.asked, 'time')}, {came} {format_count(best.heard, 'time')}."


def describe_goal(settings: Settings) -> str:
    """What is to be made large or small, in a sentence."""
    what = settings.outcome_label if settings.outcome_name else f"the {settings.outcome_label}"
    if settings.objective.conversions:
        what = f"the rate of {settings.outcome_name or 'conversions'}"
    return f"Make {what} as {'large' if settings.objective.goal == 'maximize' else 'small'} as possible."


def describe_question(settings: Settings) -> list[str]:
    """What is looked for, in sentences."""
    objective, sentences = settings.objective, [describe_goal(settings)]
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
        f"Patience is {patience}: what comes after it is late.",
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
    awaited = list_awaited(view.study.settings.objective.conversions)
    trials = [trial for trial in view.trials if trial.status in awaited]
    now = view.start + view.seconds
    size, unit = choose_unit(max([0.0, *(now - trial.asked_at for trial in trials)]))
    if view.by_clock:
        ends = [[f"{(now - trial.asked_at) / size:.1f}"] for trial in trials]
    else:
        unit, ends = "rounds", [[str(len(view.trials) + 1 - trial.number)] for trial in trials]
    return tabulate_queries(view, trials, [f"out for ({unit})"], ends)


def describe_people_out(view: StudyView) -> str:
    """How many of the people who were counted by day have not converted; empty where nobody was counted."""
    days = [trial for trial in view.trials if trial.status == "counted"]
    shown, converted = (sum(getattr(trial, name) or 0 for trial in days) for name in ("shown", "converted"))
    return f"{shown - converted} of {shown} people who were counted by day have not converted." if days else ""


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
    """The trials that failed, with what was said, or else what such an end means."""
    kinds = {
        "lost": "no outcome, which says nothing about the query",
        "infeasible": "the query cannot work",
        "withdrawn": "taken back",
    }
    ended = {e.number: e.at for e in events if isinstance(e, Failed | Amended | Undone)}
    rows = [
        [
            str(trial.number),
            trial.failure,
            trial.remark or kinds[trial.failure],
            trial.ended_by or "",
            format_date(view, ended[trial.number]),
        ]
        for trial in view.trials
        if trial.failure is not None
    ]
    return keep_newest(["trial", "ended as", "why", "by", "on"], rows, frozenset({0}))


def tabulate_corrections(view: StudyView, events: Sequence[Event], created: Settings) -> ReportTable:
    """Everything that was put right: what was there before, who did it and why."""
    state, rows = State(created), list[list[str]]()
    for event in events[: 1 + max((i for i, e in enumerate(events) if isinstance(e, Correction)), default=-1)]:
        if isinstance(event, Correction):
            number = find_number(event)
            what = "the study" if number is None else f"trial {number}"
            change = describe_correction(view, state, event, events)
            rows.append([what, change, event.reason, event.by or "", format_date(view, event.at)])
        state.apply(event)
    return keep_newest(["what", f"change ({view.study.settings.outcome_label})", "reason", "by", "on"], rows)


def keep_newest(titles: Sequence[str], rows: Sequence[Sequence[str]], numbers: frozenset[int] = NONE) -> ReportTable:
    """The newest rows, which come last; without the column "by" where nobody signed."""
    by = titles.index("by")
    if not any(row[by] for row in rows):
        titles, rows = [*titles[:by], *titles[by + 1 :]], [[*row[:by], *row[by + 1 :]] for row in rows]
    return ReportTable(titles, rows[-MOST_ROWS:], numbers, max(0, len(rows) - MOST_ROWS))


def describe_correction(view: StudyView, before: State, event: Correction, events: Sequence[Event]) -> str:
    """What an event changed: what was there before, and what is there since."""
    match event:
        case Reopened():
            return f"{'locked' if before.locked else 'closed'} → open"
        case Adjusted():
            chosen = [describe_chosen(m, event.by_clock) for m in (before.settings.patience.m, event.m)]
            return f"patience {' → '.join(chosen)}"
        case Undone():
            return f"undone: {describe_event(event.position, events[event.position - 1]).sentence}"
    if event.number is None:
        return "; ".join(compare_settings(before.settings, read_amendment(before.settings, event_to_dict(event))))
    return "; ".join(compare_trial(view, before.rows[event.number - 1], event))


def compare_settings(before: Settings, after: Settings) -> list[str]:
    """The settings that an amendment changed."""
    found = [
        (word, format_setting(old), format_setting(new))
        for word, old, new in (
            ("floor", before.objective.floor, after.objective.floor),
            ("limits", before.objective.limits, after.objective.limits),
            ("patience", str(before.patience), str(after.patience)),
        )
    ]
    if not isinstance(before.space.parameters, Points) and not isinstance(after.space.parameters, Points):
        parameters = zip(before.space.names, before.space.parameters, after.space.parameters, strict=True)
        found += [(name, describe_range(old), describe_range(new)) for name, old, new in parameters]
    return [f"{word} {old} → {new}" for word, old, new in found if old != new] or ["as it was before"]


def format_setting(value: object) -> str:
    if isinstance(value, tuple):
        return " to ".join(format_number(end) for end in value)
    return "none" if value is None else format_number(value)


def compare_trial(view: StudyView, before: TrialRecord, event: Amended) -> list[str]:
    """What an amendment changed of a trial."""
    told, changes = before.told, list[str]()
    end = format_number(told.value) if told else before.failed.kind if before.failed else "pending"
    now = (
        "pending"
        if event.taken_back
        else event.failure or (None if event.value is None else format_number(event.value))
    )
    if now is not None:
        changes.append(f"{end} → {now}")
    if event.noise is not None and told is not None and event.noise != told.noise:
        changes.append(f"noise {format_setting(told.noise)} → {format_number(event.noise)}")
    if event.told_at is not None and told is not None and event.told_at != told.at:
        changes.append(f"came {format_date(view, told.at)} → {format_date(view, event.told_at)}")
    for name, value in (event.params or {}).items():
        if value != before.params[name]:
            changes.append(f"{name} {format_number(before.params[name])} → {format_number(value)}")
    return changes or ["as it was before"]


def describe_stand(view: StudyView, closed: bool, locked: bool) -> str:
    """How many trials there are of each status, and whether the belief is up to date."""
    listed = ", ".join(f"{count} {status}" for status, count in view.counts.items()) or "none asked yet"
    shut = "The study is locked." if locked else "The study is closed." if closed else ""
    words = [f"{format_count(len(view.trials), 'trial')}: {listed}.", shut]
    return " ".join(filter(None, [*words, f"Belief: {view.fit_note}." if view.fit_note else ""]))


def describe_delays(study: ReportedStudy) -> str:
    """The delays in sentences; its warning is one of them."""
    with warnings.catch_warnings(action="ignore", category=SilenceWarning):
        return str(study.delays())


def list_versions(events: Sequence[Event]) -> dict[str, str]:
    """The versions that made the newest choice; those of today where none was made."""
    made = [event.versions for event in events if isinstance(event, Asked) and event.versions is not None]
    return dict(made[-1] if made else describe_versions())
