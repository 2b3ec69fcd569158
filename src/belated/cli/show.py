"""`belated show`: how a study stands."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click

from belated import BestQuery, Study, Trial, WorstValue, studies
from belated.cli._common import json_option, open_study, print_result, split_name, study_arguments
from belated.errors import InvalidInput, NothingHeard
from belated.outlook.result import describe_outlook, find_outlook
from belated.patience import describe_chosen, parse_duration
from belated.record.events import Adjusted, Asked, Event
from belated.record.log import format_moment
from belated.results import STATUSES, Status
from belated.wording import format_duration, format_table, format_value, join_words

SHOWN = 20  # trials, unless something else is said
UNHEARD: tuple[Status, ...] = ("pending", "expired")


@click.command()
@study_arguments("[NAME]")
@click.option("--pending", is_flag=True, help="Only trials without an outcome that have not failed.")
@click.option("--older-than", metavar="TIME", help="Only trials asked longer ago than this: 2d, 12h, 90s.")
@click.option(
    "--last", type=click.IntRange(1), metavar="N", help=f"The last N trials.  [default: {SHOWN}; --json: all]"
)
@click.option("--all", "every", is_flag=True, help="All trials.")
@json_option
def show(
    words: tuple[str, ...],
    url: str,
    in_json: bool,
    pending: bool,
    older_than: str | None,
    last: int | None,
    every: bool,
) -> None:
    """Show a study and its last trials: pending and for how long, heard, late, expired or failed, and below the floor.

    Also what more queries are likely to bring, what replaces a floor that was not stated, and each patience that the
    study chose by itself. Where there are several studies and none is named, they are listed; --pending, --older-than,
    --last and --all are for one study.

    \b
    Examples:
      $ belated show catalyst
      $ belated show catalyst --pending --older-than 2d
    """
    name, _ = split_name(words, 0, "[NAME]")
    if every and last is not None:
        raise InvalidInput(f"say --all or --last, not both (got --last {last})")
    chosen = pending or every or older_than is not None or last is not None
    if name is None and not chosen and len(names := studies(url)) > 1:
        summaries = [summarize_study(Study.open(url, each)) for each in names]
        print_result({"studies": summaries}, in_json, lambda: format_studies(summaries))
        return
    study, now = open_study(url, name), time.time()
    oldest = 0.0 if older_than is None else parse_duration(older_than, "--older-than")
    most = None if every or (in_json and last is None) else last or SHOWN
    wanted, summary = UNHEARD if pending else STATUSES, summarize_study(study) | count_people(study)
    if older_than is None:
        trials, found = study.trials(status=wanted, last=most), sum(summary["counts"][status] for status in wanted)
    else:
        older = [trial for trial in study.trials(status=wanted) if now - trial.asked_at >= oldest]
        trials, found = older[-(most or len(older)) :], len(older)
    changes = list_patience_changes(study.events()) if study.settings.patience.auto else []
    newest = study.trials(last=1)
    outlook = find_outlook(study, newest[0].context if newest else None)
    plain = {
        **summary,
        "outlook": None if outlook is None else outlook.to_dict(),
        "patience_changes": [change.to_dict() for change in changes],
        "trials": [add_age(trial, now, study.rounds) for trial in trials],
    }

    def format_words() -> str:
        more = [] if outlook is None else [describe_outlook(outlook, where=True)]
        more += [f"belief: {summary['fit_note']}"] if summary["fit_note"] else []
        origin = format_origin(summary)
        if len(trials) < found:
            origin.append(f"The last {len(trials)} of {found} trials; --all shows all of them:")
        table = format_trials(study, trials, now, study.rounds)
        return "\n".join([format_headline(study, summary), *format_patience_changes(changes), *more, *origin, *table])

    print_result(plain, in_json, format_words)


def summarize_study(study: Study) -> dict[str, Any]:
    """A study in a few numbers."""
    try:
        best: BestQuery | None = study.best()
    except NothingHeard:
        best = None
    return {
        "study": study.name,
        "goal": study.settings.objective.goal,
        "floor": asdict(study.floor),
        "silence": study.settings.silence.name,
        "patience": str(study.settings.patience),
        "algorithm": study.settings.algorithm.name,
        "counts": study.counts(),
        "fit_note": study.fit_note,
        "best": None if best is None else asdict(best),
        "closed": study.closed,
        "locked": study.locked,
        "created_at": study.settings.created_at,
        "created_by": study.settings.created_by,
        "writers": study.writers,
    }


def count_people(study: Study) -> dict[str, int]:
    """How many people were counted by day, and how many of them have converted; nothing where nobody was."""
    days = study.trials(status="counted")
    if not days:
        return {}
    return {"shown": sum(day.shown or 0 for day in days), "converted": sum(day.converted or 0 for day in days)}


def format_origin(summary: dict[str, Any]) -> list[str]:
    """When a study was made and who wrote into it, as far as that is known."""
    by = "" if summary["created_by"] is None else f" by {summary['created_by']}"
    made = [] if summary["created_at"] is None else [f"made {format_moment(summary['created_at'])}{by}"]
    wrote = [f"written by {join_words(summary['writers'])}"] if summary["writers"] else []
    return ["; ".join(made + wrote)] if made or wrote else []


def format_studies(every: list[dict[str, Any]]) -> str:
    shown = [status for status in STATUSES if status != "counted" or any(each["counts"][status] for each in every)]
    rows = [[each["study"], *(str(each["counts"][status]) for status in shown)] for each in every]
    return format_table(["study", *shown], rows)


def add_age(trial: Trial, now: float, last: int) -> dict[str, Any]:
    """A trial for JSON; while it is unheard, its age by the clock and in rounds."""
    waits = trial.outcome is None and trial.failure is None
    age = {"age": max(0.0, now - trial.asked_at), "age_rounds": last + 1 - trial.number} if waits else {}
    return {**asdict(trial), **age}


def format_headline(study: Study, summary: dict[str, Any]) -> str:
    counts = [f"{count} {status}" for status, count in summary["counts"].items() if count]
    counts += [f"{summary['converted']:,} of {summary['shown']:,} people converted"] if "shown" in summary else []
    patience = study.settings.patience
    yet = " (none in force yet)" if patience.auto and math.isinf(patience.m) else ""
    counting = ", every query counts" if study.settings.regret == "cumulative" else ""
    return (
        f"Study {study.name}: {summary['goal']}{format_floor(study.floor)}, silence {summary['silence']}, "
        f"patience {summary['patience']}{yet}{counting}\n"
        f"{', '.join(counts) or 'No trials yet'}"
        + (f"; {format_best_place(summary['best'])}" if summary["best"] else "")
        + ("; locked" if summary["locked"] else "; closed" if summary["closed"] else "")
    )


def format_best_place(best: dict[str, Any]) -> str:
    """Which trial is best, or the best rate."""
    if best["trial"] is not None:
        return f"best is trial {best['trial']['number']}"
    return f"the best rate is {best['value']:.4g} (90 %: {best['low']:.4g} to {best['high']:.4g}), see belated best"


def format_floor(floor: WorstValue) -> str:
    """The floor, or what replaces it where one is needed and none was stated."""
    if floor.stated:
        return f", {floor}"
    return f" ({floor})" if floor.used else ""


@dataclass(frozen=True, kw_only=True)
class PatienceChange:
    """A patience that the study chose by itself; in force after the choice of this trial."""

    trial: int
    m: float  # rounds or seconds
    patience: str  # in words
    reason: str

    def to_dict(self) -> dict[str, Any]:
        return {"trial": self.trial, "m": self.m, "patience": self.patience, "reason": self.reason}


def list_patience_changes(events: Iterable[Event]) -> list[PatienceChange]:
    """Every patience that the study chose by itself, in order."""
    changes: list[PatienceChange] = []
    asked = 0
    for event in events:
        asked += isinstance(event, Asked)
        if isinstance(event, Adjusted):
            words = describe_chosen(event.m, event.by_clock)
            changes.append(PatienceChange(trial=asked + 1, m=event.m, patience=words, reason=event.reason))
    return changes


def format_patience_changes(changes: Sequence[PatienceChange]) -> list[str]:
    """Since when the patience in force is in force, and those before it, in one line."""
    if not changes:
        return []
    *before, last = changes
    since = ", ".join(f"{change.patience} since {change.trial}" for change in reversed(before))
    return [f"patience: {last.patience} since trial {last.trial}" + (f" (before: {since})" if before else "")]


def format_trials(study: Study, trials: Sequence[Trial], now: float, last: int) -> list[str]:
    """The table, and what its marks mean; nothing where there are no trials."""
    if not trials:
        return []
    names = study.settings.space.names
    around = () if study.settings.context is None else study.settings.context.names
    rounds, by_day = not study.settings.patience.by_clock, any(trial.shown is not None for trial in trials)
    rows, flags = [], []
    for trial in trials:
        flag = "" if trial.outcome is None else study.settings.objective.flag(trial.outcome)
        if flag:
            flags.append(f"! trial {trial.number}: {flag}")
        waited = (now if trial.told_at is None else trial.told_at) - trial.asked_at
        waits = trial.failure is None and trial.has_delay
        in_rounds = (trial.known_from or last + 1) - trial.number
        rows.append(
            [
                str(trial.number),
                trial.failure or trial.status,
                format_duration(waited) if waits else "",
                *([] if not rounds else [str(in_rounds)] if waits else [""]),
                *([] if not by_day else [""] if trial.shown is None else [format_day(trial.asked_at)]),
                trial.describe_outcome() + (" !" if flag else ""),
                *(format_value(trial.params[name]) for name in names),
                *(format_value((trial.context or {}).get(name)) for name in around),
            ]
        )
    titles = ["trial", "status", "waited", *(["rounds"] if rounds else []), *(["day"] if by_day else [])]
    titles += ["outcome", *names, *around]
    return ["", format_table(titles, rows), *flags]


def format_day(at: float) -> str:
    """When a day began, for people: its date."""
    return format_moment(at).removesuffix(" 00:00")
