"""`belated show`, `best`, `check` and `close`: looking at a study, and ending it."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from belated import Study, Trial, Worst, studies
from belated.cli._common import find_name, json_option, open_study, print_result, split_name, study_arguments
from belated.cli._format import format_query, format_value, lasted, plain_trial
from belated.cli.io.cells import parse_context
from belated.cli.io.history import PatienceChange, list_patience_changes
from belated.errors import InvalidInput, NothingHeard
from belated.patience import duration
from belated.results import Status
from belated.wording import format_count, format_table

STATUSES: tuple[Status, ...] = ("pending", "heard", "late", "expired", "failed")


@click.command()
@study_arguments("[NAME]")
@click.option("--pending", is_flag=True, help="Only queries that wait for an outcome.")
@click.option("--older-than", metavar="TIME", help="Only queries asked longer ago than this: 2d, 12h, 90s.")
@json_option
def show(words: tuple[str, ...], url: str, in_json: bool, pending: bool, older_than: str | None) -> None:
    """Show a study: what is pending and for how long, heard, late, expired or failed, and what is below the floor.

    Also what stands in for a floor that nobody stated, and each patience that the study chose for itself.
    Where there are several studies and none is named, they are listed.

    \b
    Examples:
      $ belated show catalyst
      $ belated show catalyst --pending --older-than 2d
    """
    name, _ = split_name(words, 0, "[NAME]")
    if name is None and len(names := studies(url)) > 1:
        every = [summarize_study(Study.open(url, each)) for each in names]
        print_result({"studies": every}, in_json, lambda: format_studies(every))
        return
    study, now = open_study(url, name), time.time()
    oldest = 0.0 if older_than is None else duration(older_than, "--older-than")
    everything = study.trials()
    trials = [
        trial
        for trial in everything
        if (not pending or trial.status in ("pending", "expired")) and now - trial.asked_at >= oldest
    ]
    chosen = list_patience_changes(study._ledger.read()) if study.settings.patience.auto else []
    seen = {
        **summarize_study(study, everything),
        "patience_changes": [change.plain() for change in chosen],
        "trials": [add_age(trial, now, len(everything)) for trial in trials],
    }
    print_result(
        seen,
        in_json,
        lambda: "\n".join(
            [
                format_headline(study, seen),
                *format_patience_changes(chosen),
                *format_trials(study, trials, now, len(everything)),
            ],
        ),
    )


def summarize_study(study: Study, trials: list[Trial] | None = None) -> dict[str, Any]:
    """A study in a few numbers."""
    listed = study.trials() if trials is None else trials
    counts = Counter(trial.status for trial in listed)
    try:
        best: int | None = study.best().number
    except NothingHeard:
        best = None
    return {
        "study": study.name,
        "goal": study.settings.outcome.goal,
        "floor": asdict(study.floor),
        "silence": study.settings.silence.spec()["silence"],
        "patience": str(study.settings.patience),
        "algorithm": study.settings.algorithm.name,
        "counts": {status: counts[status] for status in STATUSES},
        "best": best,
        "closed": study.closed,
    }


def format_studies(every: list[dict[str, Any]]) -> str:
    rows = [[each["study"], *(str(each["counts"][status]) for status in STATUSES)] for each in every]
    return format_table(["study", *STATUSES], rows)


def add_age(trial: Trial, now: float, last: int) -> dict[str, Any]:
    """A trial for JSON; while it is unheard, its age by the clock and in rounds."""
    waits = trial.outcome is None and trial.failure is None
    age = {"age": max(0.0, now - trial.asked_at), "age_rounds": last + 1 - trial.number} if waits else {}
    return {**plain_trial(trial), **age}


def format_headline(study: Study, seen: dict[str, Any]) -> str:
    counts = [f"{count} {status}" for status, count in seen["counts"].items() if count]
    patience = study.settings.patience
    yet = " (none in force yet)" if patience.auto and math.isinf(patience.m) else ""
    counting = ", every query counts" if study.settings.objective == "cumulative" else ""
    return (
        f"Study {study.name}: {seen['goal']}{format_floor(Worst(**seen['floor']))}, silence {seen['silence']}, "
        f"patience {seen['patience']}{yet}{counting}\n"
        f"{', '.join(counts) or 'No trials yet'}"
        + (f"; best is trial {seen['best']}" if seen["best"] else "")
        + ("; closed" if seen["closed"] else "")
    )


def format_floor(floor: Worst) -> str:
    """The floor, or what stands in for one where it is needed."""
    if floor.stated:
        return f", {floor}"
    return f" ({floor})" if floor.used else ""


def format_patience_changes(chosen: Sequence[PatienceChange]) -> list[str]:
    """The patience in force since when, and those before it, in one line."""
    if not chosen:
        return []
    *before, last = chosen
    since = ", ".join(f"{change.patience} since {change.trial}" for change in reversed(before))
    return [f"patience: {last.patience} since trial {last.trial}" + (f" (before: {since})" if before else "")]


def format_trials(study: Study, trials: list[Trial], now: float, last: int) -> list[str]:
    """The table, what its marks mean, and nothing when there are no trials."""
    if not trials:
        return []
    names = study.settings.space.names
    around = () if study.settings.context is None else study.settings.context.names
    rounds = not study.settings.patience.by_clock
    rows, flags = [], []
    for trial in trials:
        flag = "" if trial.outcome is None else study.settings.outcome.flag(trial.outcome)
        if flag:
            flags.append(f"! trial {trial.number}: {flag}")
        waited = (now if trial.told_at is None else trial.told_at) - trial.asked_at
        ended = trial.failure is not None
        in_rounds = (trial.known_from or last + 1) - trial.number
        rows.append(
            [
                str(trial.number),
                trial.failure or trial.status,
                "" if ended else lasted(waited),
                *([] if not rounds else [""] if ended else [str(in_rounds)]),
                "" if trial.outcome is None else format_value(trial.outcome) + (" !" if flag else ""),
                *(format_value(trial.params[name]) for name in names),
                *(format_value((trial.context or {}).get(name)) for name in around),
            ]
        )
    titles = ["trial", "status", "waited", *(["rounds"] if rounds else []), "outcome", *names, *around]
    return ["", format_table(titles, rows), *flags]


@click.command()
@study_arguments("[NAME]")
@click.option("--context", multiple=True, metavar="K=V", help="The best in this context only.")
@json_option
def best(words: tuple[str, ...], url: str, in_json: bool, context: tuple[str, ...]) -> None:
    """Show the trial with the best outcome so far.

    \b
    Example:
      $ belated best catalyst
    """
    name, _ = split_name(words, 0, "[NAME]")
    study = open_study(url, name)
    trial = study.best(parse_context(study.settings.context, context))
    print_result(
        plain_trial(trial),
        in_json,
        lambda: f"Trial {trial.number}: {format_value(trial.outcome)}\n{format_query(trial)}",
    )


@click.command()
@study_arguments("[NAME]")
@json_option
def close(words: tuple[str, ...], url: str, in_json: bool) -> None:
    """Ask no more. Outcomes of what is still out are taken as before.

    \b
    Example:
      $ belated close catalyst
    """
    name, _ = split_name(words, 0, "[NAME]")
    study = open_study(url, name)
    study.close()
    waiting = sum(trial.status in ("pending", "expired") for trial in study.trials())
    still = f"; outcomes of the {format_count(waiting, 'query', 'queries')} still out are taken" if waiting else ""
    print_result(
        {"study": study.name, "closed": True, "out": waiting}, in_json, lambda: f"Study {study.name} is closed{still}"
    )


@click.command()
@study_arguments("[NAME]")
@click.option("--all", "every", is_flag=True, help="Every study of the store.")
@json_option
def check(words: tuple[str, ...], url: str, in_json: bool, every: bool) -> None:
    """Check that a study's record is whole: every promise that belated makes about it. Exit code 1 if it is not.

    \b
    Example:
      $ belated check catalyst
    """
    from belated.record.check import check as checked

    name, _ = split_name(words, 0, "[NAME]")
    if every and name is not None:
        raise InvalidInput(f"name a study or say --all, not both (got {name})")
    report = checked(url, None if every else find_name(url, name))
    print_result({**asdict(report), "ok": report.ok}, in_json, lambda: str(report))
    if not report.ok:
        raise click.exceptions.Exit(1)
