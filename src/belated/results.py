"""What a study answers with: trials, receipts, beliefs, replays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from belated.learner.arrays import Array
from belated.learner.gp.scale import describe_stand_in
from belated.validation import unwrap
from belated.wording import format_count, format_value

Failure = Literal["lost", "infeasible", "withdrawn"]
FAILURES: tuple[Failure, ...] = ("lost", "infeasible", "withdrawn")
Status = Literal["pending", "heard", "late", "expired", "failed", "counted"]
STATUSES: tuple[Status, ...] = ("pending", "heard", "late", "expired", "failed", "counted")


def list_awaited(conversions: bool) -> tuple[Status, ...]:
    """The statuses of trials that are out: of conversions, silence for longer than patience is an answer."""
    return ("pending",) if conversions else ("pending", "expired")


ENOUGH = 1e-6  # of the acquisition's range: how close a replayed maximum must be on another machine


def takes_outcome(told: bool, failure: Failure | None) -> bool:
    """Whether an outcome told now counts: none was told before, and the trial has not failed or is only lost."""
    return not told and failure in (None, "lost")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A query and everything known about it at the time of the call that returned it.

    >>> from belated import Real, Study
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    >>> trial = study.ask()
    >>> trial.number, trial.status, trial.outcome
    (1, 'pending', None)
    >>> _ = study.tell(trial, 0.83)
    >>> study.trial(1).outcome  # a trial does not change; this one is newer
    0.83
    """

    number: int  # t
    params: Mapping[str, Any]  # x_t: what was run, as far as is known
    context: Mapping[str, Any] | None = None  # z_t
    asked_at: float  # τ_t, seconds
    status: Status
    outcome: float | None = None  # y_t, once told
    delay: float | None = None  # d_t, once told: rounds, or seconds by the clock; None where there is no delay
    told_at: float | None = None  # seconds
    known_from: int | None = None  # the first number whose choice knew the outcome, or the next number
    noise: float | None = None  # standard deviation that came with the outcome
    failure: Failure | None = None
    shown: int | None = None  # where it stands for many people: how many
    converted: int | None = None  # how many of them, by `counted_at`
    counted_at: float | None = None  # seconds
    by_hand: bool = False
    knew_trials: int = 0  # how many earlier trials the choice knew
    note: str = ""
    asked_params: Mapping[str, Any] | None = None  # what was asked, where something else was run
    asked_by: str | None = None  # who asked, where that was said
    ended_by: str | None = None  # who told its outcome or failure
    remark: str = ""  # what they said with it

    @property
    def takes_outcome(self) -> bool:
        """Whether an outcome told now would count."""
        return self.status != "counted" and takes_outcome(self.outcome is not None, self.failure)

    def describe_outcome(self) -> str:
        """What was told of it, or the people it counts, in words; empty while it is unheard."""
        if self.counted_at is not None:
            return f"{self.converted} of {self.shown}"
        return "" if self.outcome is None else format_value(self.outcome)

    @property
    def has_delay(self) -> bool:
        """Whether its outcome has, or will have, a delay. One that was added together with its query has none."""
        return self.status != "counted" and (self.outcome is None or self.delay is not None)


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """The result of a tell.

    >>> from belated import Real, Study
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", ceiling=1.0, seed=0)
    >>> receipt = study.tell(study.ask(), 1.2)
    >>> receipt.status, receipt.used, receipt.note
    ('heard', True, 'the outcome 1.2 is better than the ceiling 1.0')
    """

    number: int
    status: Literal["heard", "duplicate", "late"]
    delay: float
    used: bool  # whether the model uses the outcome
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class BestQuery:
    """A query that is best, in its context: what it is worth, and how much is known of it; print it.

    >>> from belated import Points, Study
    >>> study = Study.create(space=Points([0.0, 0.5, 1.0]), silence="unknown", seed=0)
    >>> _ = study.add({"x": 0.0}, 0.1), study.add({"x": 0.5}, 0.9), study.add({"x": 1.0}, 0.2)
    >>> print(study.best())
    x = 0.5: outcome 0.9, of trial 2; asked 1 time, heard 1 time
    >>> study.recommend().params
    {'x': 0.5}
    """

    params: Mapping[str, Any]
    context: Mapping[str, Any] | None = None
    value: float
    quantity: Literal["outcome", "mean", "rate"]  # what the value is: as told, or the mean of the belief
    low: float | None = None  # the ends of the belief's 90 % interval there; None where a told outcome is exact
    high: float | None = None
    asked: int  # how often this query was asked in this context
    heard: int  # how many of these were heard; of conversions, how many came
    trial: Trial | None = None  # whose outcome it is; None where it is a belief

    @property
    def interval(self) -> str:
        """The ends of the interval, in words; empty where there is none."""
        return "" if self.low is None or self.high is None else f"{self.low:.4g} to {self.high:.4g}"

    def __str__(self) -> str:
        return f"{self._describe_query()}: {self.describe_value()}"

    def describe_value(self) -> str:
        """Its value and interval, and how often it was asked and heard, in words."""
        if self.trial is not None:
            believed = f", where {self.interval} is believed (90 %)" if self.interval else ""
            worth = f"outcome {self.value:.6g}, of trial {self.trial.number}{believed}"
        else:
            worth = f"{self.quantity} {self.value:.4g} (90 %: {self.interval})"
        if self.asked == 0:
            return f"{worth}; never asked: other queries suggest it"
        came = "converted" if self.quantity == "rate" else "heard"
        return f"{worth}; asked {format_count(self.asked, 'time')}, {came} {format_count(self.heard, 'time')}"

    def _describe_query(self) -> str:
        where = "" if self.context is None else f" in the context {describe_params(self.context)}"
        return f"{describe_params(self.params)}{where}"


def describe_params(params: Mapping[str, Any]) -> str:
    """Params in words."""
    values = {name: unwrap(value) for name, value in params.items()}
    return ", ".join(f"{name} = {v:.6g}" if isinstance(v, float) else f"{name} = {v}" for name, v in values.items())


class Belief(NamedTuple):
    """What the study believes about f, in the user's units: mean, standard deviation and 90 % interval per point.

    >>> from belated import Real, Study
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    >>> _ = study.add({"x": 0.2}, 0.5), study.add({"x": 0.8}, 0.7)
    >>> belief = study.posterior([{"x": 0.2}, {"x": 0.5}])
    >>> bool(belief.std[0] < belief.std[1])  # more is known where something was heard
    True
    """

    mean: Array
    std: Array
    low: Array  # the ends of an interval that holds f with a probability of 90 %
    high: Array


@dataclass(frozen=True, kw_only=True)
class WorstValue:
    """The value that counts as the worst: the floor, or what stands in for it if none was stated.

    >>> from belated import Real, Study
    >>> print(Study.create(space={"x": Real(0, 1)}, silence="floor", floor=0.0, seed=0).floor)
    floor 0
    """

    value: float | None  # None: nothing was heard yet, and the prior mean stands in
    stated: bool
    used: bool  # whether silence, the algorithm or an infeasible query uses it

    def __str__(self) -> str:
        """In words; the same as in a trial's note where it is not stated."""
        return f"floor {self.value:g}" if self.stated else describe_stand_in(self.value)


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A choice computed again from what it knew.

    >>> from belated import Real, Study
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    >>> trials = study.ask(n=3)
    >>> print(study.replay(3))
    trial 3: the same query, bit for bit
    """

    number: int
    params: Mapping[str, Any]  # what was chosen this time
    same: bool  # bit for bit what was recorded
    alike: bool  # computed by the same versions, so `same` must be True
    by: str | None  # another version of belated that chose it, which may choose otherwise; None: this one
    gap: float  # how far the recorded query is from this maximum, as a share of the acquisition's range

    @property
    def ok(self) -> bool:
        """Whether nothing contradicts the recorded choice: it is the same, or nearly as good and computed by other
        versions of libraries, or another version of belated chose it."""
        return self.same or self.by is not None or (not self.alike and self.gap <= ENOUGH)

    def __str__(self) -> str:
        if self.same:
            return f"trial {self.number}: the same query, bit for bit"
        if self.by is not None:
            return f"trial {self.number}: chosen by belated {self.by}, and this version chooses another query"
        how = "the same versions" if self.alike else "other versions"
        return f"trial {self.number}: another query under {how}, {self.gap:.1e} of the acquisition's range away"
