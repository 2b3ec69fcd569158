"""What the pictures of a study show: outcomes over time, the delays seen so far, and the belief along each coordinate.

`read_study_view` reads all of it from a study; the other modules of this folder draw it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from belated.delays.report import DelayReport
from belated.errors import NothingHeard, SilenceWarning
from belated.learner.arrays import Array, Mask
from belated.learner.choice.problem import Hyperparameters
from belated.learner.delays.survival import Survival, kaplan_meier
from belated.learner.gp.kernels import Kernel
from belated.outlook.result import ForeseenStudy, Outlook, find_outlook
from belated.record.events import Amended, Event, Undone
from belated.results import Belief, BestQuery, Trial, WorstValue
from belated.settings import Settings
from belated.space.encoding import Space
from belated.space.parameters import Choice, Integer, Parameter, Real
from belated.space.points import Points
from belated.validation import Params, freeze, make_key

GRID = 161  # points of a curve
DOTS = 12  # an integer with at most this many values is drawn as dots
COORDINATES = 12  # at most this many are drawn
STATUSES = ("heard", "late", "pending", "expired", "failed", "counted")  # in the order in which they are listed
SQUASHED = 0.6  # of an axis of time without any mark: then trials are counted instead
BLOCK = 256  # trials whose nearness is computed together
FEWEST = 6  # marks that can be squashed


class ViewedStudy(ForeseenStudy, Protocol):
    """What is read of a study."""

    @property
    def name(self) -> str | None: ...
    @property
    def clock(self) -> Callable[[], float]: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def floor(self) -> WorstValue: ...
    @property
    def fit_note(self) -> str: ...
    def trials(self) -> list[Trial]: ...
    def events(self) -> list[Event]: ...
    def delays(self) -> DelayReport: ...
    def hyperparameters(self) -> list[Hyperparameters]: ...
    def best(self) -> BestQuery: ...
    def recommend(self, context: Params | None = None) -> BestQuery: ...
    def posterior(self, points: Sequence[Params], context: Params | None = None) -> Belief: ...


@dataclass(frozen=True)
class BeliefSlice:
    """The belief along one coordinate; the others are those of the recommended point.

    Where queries are points of a list, every point is shown instead: `whole`."""

    name: str
    label: str  # the name with its unit
    x: Array  # along the coordinate; for options, their places in the list
    mean: Array
    low: Array  # the ends of the 90 % interval
    high: Array
    here: tuple[float, float]  # the recommended point and its mean
    heard: Array  # coordinate, outcome, nearness                         (k, 3)
    pending: Array  # coordinates                                          (p,)
    infeasible: Array  # coordinates                                       (i,)
    options: tuple[str, ...] | None = None  # of a choice
    dots: bool = False
    log: bool = False
    context: bool = False
    whole: bool = False

    @property
    def beside(self) -> bool:
        """Whether there is room to draw outcomes beside the belief at each place."""
        return self.dots and not self.whole

    @property
    def spacing(self) -> float:
        """The least distance from one dot to the next."""
        return float(np.min(np.diff(self.x))) if len(self.x) > 1 else 1.0


@dataclass(frozen=True)
class HistoryView:
    """What the pictures of outcomes and delays show, at one time: what happened, without any belief."""

    name: str
    study: ViewedStudy
    trials: Sequence[Trial]
    start: float  # when the first query was asked
    seconds: float  # from then to now
    dated: bool  # whether the axis of `asked` is time; else it counts rounds
    now: float  # on that axis
    asked: Array  # round, or seconds since the first query               (n,)
    told: Array  # likewise; NaN while unheard                            (n,)
    survival: Survival
    waiting: Array  # how long those not heard have waited                 (k,)
    coming: Array | None  # of conversions: waits, and the share of those that come that has come       (2, k)
    floor: WorstValue
    amended: Mapping[int, str]  # the trials whose outcome was put right, with the reason

    @property
    def outside(self) -> int:
        """Trials outside the ranges, which are not drawn beside the belief."""
        return sum(not self.study.settings.space.holds(trial.params) for trial in self.trials)

    @property
    def conversions(self) -> bool:
        """Whether what is believed are rates."""
        return self.study.settings.outcomes == "conversion"

    @property
    def by_clock(self) -> bool:
        return self.study.settings.patience.by_clock

    @property
    def has_calendar(self) -> bool:
        """Whether its clock shows dates; a test's or a simulation's does not."""
        return 1e8 <= self.start < 1e11

    @property
    def title(self) -> str:
        """Of the outcomes."""
        settings = self.study.settings
        return settings.outcome_label if settings.outcome_name or settings.unit else "Outcomes"

    @property
    def named(self) -> str:
        """What is believed about: f, or what the outcome is called; of conversions the rate."""
        settings = self.study.settings
        return settings.outcome_label if settings.outcome_name else "the rate" if self.conversions else "f"

    def count(self, status: str) -> int:
        return sum(trial.status == status for trial in self.trials)

    @property
    def counts(self) -> dict[str, int]:
        """How many trials there are of each status that there is."""
        return {status: n for status in STATUSES if (n := self.count(status))}

    def list_texts(self) -> list[str]:
        """Every text of the user's own; fonts must have their letters."""
        settings = self.study.settings
        spaces = [space for space in (settings.space, settings.context) if space is not None]
        options = [option for space in spaces for option in space.list_options() if isinstance(option, str)]
        labels = [space.format_label(name) for space in spaces for name in space.names]
        said = [trial.remark for trial in self.trials if trial.failure is not None]
        return [self.name, settings.about or "", self.title, *labels, *options, *self.amended.values(), *said]


@dataclass(frozen=True)
class StudyView(HistoryView):
    """What the picture of a study shows, at one time."""

    best: BestQuery | None
    recommended: BestQuery | None
    expected: str  # f at the recommended point, in words
    outlook: Outlook | None
    fit_note: str  # whether the hyperparameters are up to date; empty if they are
    context: Params | None
    slices: Sequence[BeliefSlice]
    left_out: int  # coordinates that are not drawn


def read_history_view(study: ViewedStudy) -> HistoryView:
    """What happened, as it is drawn; nothing is fitted for it."""
    trials = study.trials()
    clock, by_clock = study.clock(), study.settings.patience.by_clock
    start = min((trial.asked_at for trial in trials), default=clock)
    out = not trials or any(trial.status == "pending" for trial in trials)
    marks = [t for trial in trials for t in (trial.asked_at, trial.told_at, trial.counted_at) if t is not None]
    last = max([clock, *marks] if out else marks)  # where nothing is out, the axis ends with what happened last
    asked = np.array([trial.asked_at - start for trial in trials])
    heard_at = [t.told_at if t.counted_at is None else t.asked_at for t in trials]  # counts: by the day
    told = np.array(
        [math.nan if at is None else max(at, t.asked_at) - start for at, t in zip(heard_at, trials, strict=True)]
    )
    dated = by_clock and not is_squashed([*asked, *told[np.isfinite(told)], last - start])
    if not dated:
        asked = np.array([float(trial.number) for trial in trials])
        told = np.array(
            [
                float(t.known_from or t.number) if at is not None else math.nan
                for at, t in zip(heard_at, trials, strict=True)
            ]
        )
    # the delay of a trial that was added with its outcome is not known, and a failed one has none
    timed = [t for t in trials if t.has_delay and t.status != "failed"]
    ages = {t.number: max(clock - t.asked_at, 0.0) if by_clock else len(trials) + 1.0 - t.number for t in timed}
    waited = np.array([ages[t.number] if t.delay is None else t.delay for t in timed], dtype=float)
    arrived = np.array([t.delay is not None for t in timed], dtype=bool)
    return HistoryView(
        name=study.name or "a study",
        study=study,
        trials=trials,
        start=start,
        seconds=last - start,
        dated=dated,
        now=last - start if dated else float(len(trials) + 1),
        asked=asked,
        told=told,
        survival=kaplan_meier(waited, arrived),
        waiting=waited[~arrived],
        coming=read_coming(study) if study.settings.outcomes == "conversion" else None,
        floor=study.floor,
        amended=find_amended(study.events()),
    )


def read_study_view(study: ViewedStudy, context: Params | None = None) -> StudyView:
    """Everything that is drawn. The belief is in `context`; without one, in the context of the newest trial."""
    view = read_belief_view(study, context)
    return replace(view, outlook=find_outlook(study, view.context))


def read_belief_view(study: ViewedStudy, context: Params | None = None) -> StudyView:
    """The same without an outlook, which takes as long as all the rest."""
    history = read_history_view(study)
    trials = history.trials
    if study.settings.context is not None and context is None and trials:
        context = trials[-1].context
    best: BestQuery | None = None
    recommended: BestQuery | None = None
    with suppress(NothingHeard):
        best, recommended = study.best(), study.recommend(context)
    slices = [] if recommended is None else read_slices(study, trials, recommended.params, context)
    return StudyView(
        **vars(history),
        best=best,
        recommended=recommended,
        expected="" if recommended is None else format_expected(recommended, study.settings.unit),
        outlook=None,
        fit_note=study.fit_note,
        context=context,
        slices=slices[:COORDINATES],
        left_out=max(0, len(slices) - COORDINATES),
    )


def read_coming(study: ViewedStudy) -> Array | None:
    """How long the conversions take that come, by what was learned; None while there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SilenceWarning)  # it has been said before
        report = study.delays()
    if not report.heard:
        return None
    waited = np.linspace(0.0, study.settings.patience.m, 200)
    return np.vstack([waited, report.share_by(waited)])


def find_value(trial: Trial) -> float | None:
    """What was heard of a trial: its outcome, or the share of its people who converted."""
    if trial.shown is not None and trial.converted is not None:
        return trial.converted / trial.shown
    return trial.outcome


def is_squashed(times: Sequence[float]) -> bool:
    """Whether most of an axis with these marks would be one empty stretch: some dates lie far from the others."""
    if len(times) < FEWEST:
        return False
    ordered = np.sort(times)
    return bool(np.max(np.diff(ordered)) > SQUASHED * (ordered[-1] - ordered[0]))


def format_expected(best: BestQuery, unit: str | None = None) -> str:
    """A value with its 90 % interval: 83.1 ± 3.6 where both sides are alike, else 0.34 (0.22 to 0.52)."""
    mean, of = best.value, "" if unit is None else f" {unit}"
    if best.low is None or best.high is None:
        return f"{mean:.4g}{of}"
    low, high, half = best.low, best.high, (best.high - best.low) / 2
    if half <= 0 or abs((high + low) / 2 - mean) > 0.05 * half:
        return f"{mean:.4g}{of} (90 % interval {low:.4g} to {high:.4g})"
    decimals = 1 - math.floor(math.log10(half))
    if not -6 <= decimals <= 5:
        return f"{mean:.4g} ± {half:.2g}{of} (90 % interval)"
    shown = max(0, decimals)
    return f"{round(mean, decimals) + 0.0:.{shown}f} ± {round(half, decimals):.{shown}f}{of} (90 % interval)"


def find_amended(events: Iterable[Event]) -> dict[int, str]:
    """The trials that were put right, with the newest reason; not those where that was undone."""
    found = list(enumerate(events, start=1))
    undone = {event.position for _, event in found if isinstance(event, Undone)}
    return {
        event.number: event.reason
        for position, event in found
        if isinstance(event, Amended) and event.number is not None and position not in undone
    }


def read_slices(study: ViewedStudy, trials: Sequence[Trial], here: Params, context: Params | None) -> list[BeliefSlice]:
    """The belief along every coordinate of the space, and then of the context."""
    fits = study.hyperparameters()
    kernel = fits[-1].gp.kernel if fits else study.settings.problem.kernel
    inside = [trial for trial in trials if study.settings.space.holds(trial.params)]
    heard = read_heard_rows(study.settings, inside, here, context)
    around = () if study.settings.context is None else study.settings.context.widths
    spaces = ((study.settings.space, False, sum(around)), (study.settings.context, True, 0))
    return [
        read_slice(study, inside, heard, kernel, space, i, find_columns(space, i, first), here, context, of_context)
        for space, of_context, first in spaces
        if space is not None
        for i in range(len(space.names))
    ]


def find_columns(space: Space, i: int, first: int) -> slice:
    """The columns of a parameter in the rows of the model, where those of its space begin with `first`."""
    begin = first + sum(space.widths[:i])
    return slice(begin, begin + space.widths[i])


def read_slice(
    study: ViewedStudy,
    trials: Sequence[Trial],
    heard: HeardRows,
    kernel: Kernel,
    space: Space,
    i: int,
    columns: slice,
    here: Params,
    context: Params | None,
    of_context: bool,
) -> BeliefSlice:
    """The belief along coordinate i of the space or of the context."""
    name, listed = space.names[i], isinstance(space.parameters, Points)
    base: Params = (context or {}) if of_context else here
    if isinstance(space.parameters, Points):
        everywhere: list[Params] = [space.at(k) for k in range(len(space.parameters.rows))]
        kind: Parameter | None = None
        values = [params[name] for params in everywhere]
    else:
        kind = space.parameters[i]
        values = list_values(kind)
        everywhere = [{**base, name: value} for value in values]
    labels = place_options(kind, values)
    place = (lambda v: float(labels[make_key(v)])) if labels is not None else float
    if of_context:
        beliefs = [study.posterior([here], z) for z in everywhere]
        belief = Belief(*np.transpose([[column[0] for column in b] for b in beliefs]))
    else:
        belief = study.posterior(everywhere, context)
    x = np.array([place(value) for value in values])
    at_here = float(study.posterior([here], context).mean[0])

    def coordinate(trial: Trial) -> Any:
        return ((trial.context or {}) if of_context else trial.params)[name]

    at = np.array([place(coordinate(t)) for t in heard.trials])
    order = np.argsort(x, kind="stable")
    return BeliefSlice(
        name=name,
        label=space.format_label(name),
        x=x[order],
        mean=belief.mean[order],
        low=belief.low[order],
        high=belief.high[order],
        here=(place(base[name]), at_here),
        heard=np.column_stack([at, heard.values, heard.measure_nearness(kernel, columns)]),
        pending=np.array([place(coordinate(t)) for t in trials if t.status == "pending"], dtype=float),
        infeasible=np.array([place(coordinate(t)) for t in trials if t.failure == "infeasible"], dtype=float),
        options=None if labels is None else tuple(str(v) for v in drop_repeats(values)),
        dots=listed or labels is not None or (isinstance(kind, Integer) and len(values) <= DOTS),
        log=isinstance(kind, Real | Integer) and kind.log,
        context=of_context,
        whole=listed,
    )


@dataclass(frozen=True)
class HeardRows:
    """The trials whose outcomes are drawn beside a belief, as rows of the model: the context, then the query."""

    trials: Sequence[Trial]
    values: Sequence[float]
    rows: Array  # (k, D)
    here: Array  # the recommended point in its context                  (D,)
    listed: Mask  # columns of a list of points: it has none in between   (D,)

    def measure_nearness(self, kernel: Kernel, columns: slice) -> Array:
        """k(x_s, x') / k(x', x'), where x' is the point of the slice with the trial's own coordinate: 1 on the slice.

        columns  of the coordinate along which the slice goes"""
        own = self.listed.copy()
        own[columns] = True
        moved = np.where(own, self.rows, self.here)
        blocks = [slice(i, i + BLOCK) for i in range(0, len(moved), BLOCK)]
        near = [np.diagonal(kernel(self.rows[block], moved[block])) for block in blocks]
        return np.concatenate([np.empty(0), *near]) / kernel.variance


def read_heard_rows(settings: Settings, trials: Sequence[Trial], here: Params, context: Params | None) -> HeardRows:
    """What was heard; of conversions the counts alone, since a single one beside silence says no rate: the share of all
    people who were shown a query in a context, on whatever day."""
    if settings.outcomes == "conversion":
        found = list_shares(trials)
    else:
        found = [(trial, value) for trial in trials if (value := find_value(trial)) is not None]
    heard, values = [trial for trial, _ in found], [value for _, value in found]
    spaces = [settings.space] if settings.context is None else [settings.context, settings.space]

    def encode(params: Iterable[Params], contexts: Iterable[Params | None]) -> Array:
        around = [] if settings.context is None else [settings.context.encode_all([z or {} for z in contexts])]
        return np.hstack([*around, settings.space.encode_all(params)])

    listed = [np.full(sum(space.widths), isinstance(space.parameters, Points)) for space in spaces]
    return HeardRows(
        trials=heard,
        values=values,
        rows=encode([t.params for t in heard], [t.context for t in heard]),
        here=encode([here], [context])[0],
        listed=np.concatenate(listed),
    )


def list_shares(trials: Sequence[Trial]) -> list[tuple[Trial, float]]:
    """Of each query and context that people were counted at, the newest day and the share of all days."""
    days: dict[object, list[Trial]] = {}
    for trial in trials:
        if trial.status == "counted" and trial.shown:
            days.setdefault((freeze(trial.params), freeze(trial.context)), []).append(trial)
    shares = [sum(t.converted or 0 for t in alike) / sum(t.shown or 0 for t in alike) for alike in days.values()]
    return [(alike[-1], share) for alike, share in zip(days.values(), shares, strict=True)]


def list_values(kind: Parameter) -> list[Any]:
    """Where the belief is computed along a coordinate."""
    if isinstance(kind, Choice):
        return list(kind.options)
    if isinstance(kind, Real):
        return [kind.decode(np.array([u])) for u in np.linspace(0.0, 1.0, GRID)]
    if kind.high - kind.low < GRID:
        return list(range(kind.low, kind.high + 1))
    return list(dict.fromkeys(kind.decode(np.array([u])) for u in np.linspace(0.0, 1.0, GRID)))


def drop_repeats(values: Sequence[Any]) -> list[Any]:
    """Each value once, in order."""
    return list({make_key(value): value for value in values}.values())


def place_options(kind: Parameter | None, values: Sequence[Any]) -> Mapping[object, int] | None:
    """The place of each option along the axis; None where the values are numbers."""
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    if isinstance(kind, Real | Integer) or (kind is None and numeric):
        return None
    return {make_key(value): place for place, value in enumerate(drop_repeats(values))}
