"""The picture of a study: what was heard and when, how long it took, and what is believed of f."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from belated.errors import InvalidInput
from belated.outlook.result import describe_outlook
from belated.plotting.study.beliefs import PanelGrid, draw_beliefs
from belated.plotting.study.delays import draw_delays
from belated.plotting.study.marks import Box, StudyPage, clip_text, format_value
from belated.plotting.study.outcomes import draw_outcomes, measure_lanes
from belated.plotting.study.thinning import MOST_NEAR, MOST_OUTCOMES
from belated.plotting.study.view import StudyView, ViewedStudy, read_study_view
from belated.plotting.style import FORMATS, INK, SOFT, make_page, save_page, use_style
from belated.results import BestQuery
from belated.space.encoding import Space
from belated.validation import Params
from belated.validation import format_value as format_text
from belated.wording import format_count

WIDTH, LEFT, RIGHT = 12.0, 0.95, 11.8
ABOVE, OVER, BETWEEN, BELOW = 1.72, 2.5, 1.62, 0.9  # from top to bottom
LINE = 0.23  # of a sentence
TIMES, DELAYS = 7.1, 9.0  # the width of the outcomes, the left edge of the delays
LETTERS = 145  # of a sentence, across the page
SHOWN = 4  # notes on failed trials, and on amended ones


def plot_study(study: ViewedStudy, out: str | Path | None, context: Params | None, dpi: int) -> Path:
    """Write the picture of a study, and say where it is; without `out` in NAME.png."""
    path = Path(f"{study.name or 'study'}.png" if out is None else out)
    if path.suffix.lower() not in FORMATS:
        raise InvalidInput(f"out must end in {', '.join(FORMATS)} (got {format_text(str(path))})")
    draw_study(read_study_view(study, context), path, dpi)
    return path


def draw_study(view: StudyView, out: Path, dpi: int = 150) -> None:
    """Write the picture; the ending of the file name (FORMATS) says in which format."""
    above = ABOVE + LINE * (len(list_words(view)) - 2)
    over, notes = OVER + measure_lanes(view), list_notes(view)
    grid = PanelGrid.of(view.slices, LEFT, RIGHT, above + over + LINE * len(notes) + BETWEEN)
    tall = grid.bottom + BELOW
    with use_style(view.list_texts()):
        page = StudyPage(make_page(WIDTH, tall), WIDTH, tall)
        write_words(page, view)
        draw_outcomes(page, Box(LEFT, above, TIMES, OVER), view)
        draw_delays(page, Box(DELAYS, above, RIGHT - DELAYS, over), view)
        for i, note in enumerate(notes):
            page.text(LEFT, above + over + 0.68 + i * LINE, clip_text(note, LETTERS), fontsize=9.5, color=SOFT)
        draw_beliefs(page, grid, view)
        save_page(page.figure, out, dpi)


def write_words(page: StudyPage, view: StudyView) -> None:
    """The study's name, and sentences."""
    page.text(LEFT, 0.36, clip_text(view.name, 60), fontsize=17, weight="bold")
    *lines, setting = list_words(view)
    for i, line in enumerate([*lines, setting]):
        colour = SOFT if i == len(lines) else INK
        page.text(LEFT, 0.69 + i * LINE, clip_text(line, LETTERS), fontsize=10, color=colour)


def list_words(view: StudyView) -> list[str]:
    """The study's question, its counts, what is recommended, what more would bring, and its settings."""
    settings = view.study.settings
    patience = "no patience" if math.isinf(settings.patience.m) else f"patience {settings.patience}"
    setting = (
        f"{settings.objective.goal.capitalize()}; silence: {settings.silence.name}; {patience}; "
        f"late outcomes are {'used' if settings.late == 'use' else 'not used'}; algorithm: {settings.algorithm.name}."
    )
    about = [" ".join(settings.about.split())] if settings.about else []
    answer = [] if view.recommended is None else [describe_recommended(view, view.recommended)]
    future = [] if view.outlook is None else [describe_outlook(view.outlook)]
    return [*about, describe_stand(view), *answer, *future, setting]


def describe_recommended(view: StudyView, best: BestQuery) -> str:
    """The recommended point, and what is expected there."""
    settings = view.study.settings
    where = ""
    if settings.context is not None and view.context is not None:
        where = f", in the context {list_values(settings.context, view.context)}"
    return f"Recommended: {view.expected} at {list_values(settings.space, best.params)}{where}."


def list_values(space: Space, params: Params) -> str:
    """Names and values with units, in a line."""
    return ", ".join(f"{n} = {format_value(params[n])} {space.units.get(n, '')}".rstrip() for n in space.names)


def describe_stand(view: StudyView) -> str:
    """How many queries there are of each status, and the best outcome."""
    settings = view.study.settings
    listed = ", ".join(f"{count} {status}" for status, count in view.counts.items())
    stand = f"{format_count(len(view.trials), 'query', 'queries')}{': ' if listed else ''}{listed}."
    best = view.best
    if best is not None and best.trial is not None:
        unit = "" if settings.unit is None else f" {settings.unit}"
        name = settings.outcome_name or "outcome"
        stand += f"  Best {name}: {format_value(best.value)}{unit}, trial {best.trial.number}."
    elif best is not None:
        stand += f"  Best rate: {format_value(best.value)}, 90 %: {best.interval}."
    return stand


def list_notes(view: StudyView) -> list[str]:
    """What is not drawn, since when the belief is not up to date, which trials failed and were put right and why."""
    notes = list_thinned(view)
    notes += [f"Belief: {view.fit_note}."] if view.fit_note else []
    return [*notes, *shorten_list(list_failed(view), "failed"), *shorten_list(list_amended(view), "amended")]


def list_thinned(view: StudyView) -> list[str]:
    """How many outcomes are drawn, where it is not all of them."""
    heard, near = int(np.sum(np.isfinite(view.told))), max([0, *(len(piece.heard) for piece in view.slices)])
    drawn = [f"{MOST_OUTCOMES:,} of {heard:,} over time"] if heard > MOST_OUTCOMES and not view.conversions else []
    drawn += [f"{MOST_NEAR:,} of {near:,} beside the belief"] if near > MOST_NEAR else []
    words = f"Outcomes drawn: {' and '.join(drawn)}: the newest, the best or nearest, and some of the others."
    return [words] if drawn else []


def list_failed(view: StudyView) -> list[str]:
    """Which trials failed, in a sentence for each kind and reason."""
    failed: dict[tuple[str, str], list[str]] = {}
    for trial in view.trials:
        if trial.failure is not None:
            failed.setdefault((trial.failure, trial.remark), []).append(str(trial.number))
    return [
        f"{'Trials' if len(numbers) > 1 else 'Trial'} {', '.join(numbers)} {kind}{f': {why}' if why else ''}"
        for (kind, why), numbers in failed.items()
    ]


def list_amended(view: StudyView) -> list[str]:
    return [f"Trial {number} amended: {reason}" for number, reason in view.amended.items()]


def shorten_list(notes: list[str], what: str) -> list[str]:
    """The first notes, and how many more there are."""
    if len(notes) <= SHOWN:
        return notes
    return [*notes[: SHOWN - 1], f"{len(notes) - SHOWN + 1} more notes on {what} trials: see the report"]
