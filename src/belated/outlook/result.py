"""An outlook, and its sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from belated.errors import Contradiction, NothingHeard, NotPositiveDefinite
from belated.results import describe_params
from belated.validation import Params
from belated.wording import format_count, format_duration

NOTHING = 0.01  # of the margin: a gain that is not worth a number


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What more queries are likely to bring, in the user's units; print it.

    A gain is f at the query that is recommended then, minus f at the one that is recommended now; more than 0 is
    better, also when minimizing.

    >>> from belated import Real, Study, simulate
    >>> from belated.delays import Fixed
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    >>> for _ in simulate(study, lambda params: params["x"] * (1 - params["x"]), delay=Fixed(2), rounds=8, seed=1):
    ...     pass
    >>> outlook = study.outlook(5)
    >>> outlook.queries, outlook.low <= outlook.gain <= outlook.high, outlook.pending
    (5, True, 1)
    """

    queries: int  # how many more are asked
    context: Mapping[str, Any] | None = None  # in which the gain is meant
    gain: float  # on average
    low: float  # the ends of an interval that holds the gain with a probability of 80 %
    high: float
    chance: float  # that some query is better than the one recommended now by more than the margin
    margin: float
    pending: int  # queries without an outcome now
    expected: float | None  # how many of them are heard by then; None while fewer than ten were heard in all
    seconds: float | None  # from now to then, at the pace of asking so far; None: rounds count

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return asdict(self)

    def describe_gain(self) -> str:
        """The gain and the chance, in one sentence."""
        return (
            f"the next {format_count(self.queries, 'query', 'queries')} {self._describe_interval()}; something better "
            f"by more than {self.margin:.2g} exists with a chance of {format_chance(self.chance)}"
        )

    def _describe_interval(self) -> str:
        if max(abs(self.low), abs(self.high)) < NOTHING * self.margin:
            return "will hardly gain anything"
        return f"may gain {format_gain(self.gain)} (80 %: {format_gain(self.low)} to {format_gain(self.high)})"

    def describe_pending(self) -> str:
        """When the pending are expected, in one sentence; empty where none are."""
        if not self.pending:
            return ""
        if self.expected is None:
            return f"{self.pending} pending: fewer than ten delays are known, too few to say when they come"
        when = "" if self.seconds is None else f", about {format_duration(self.seconds)} from now"
        few = "none" if self.expected < 0.05 else f"{self.expected:.1f}"
        return f"{self.pending} pending: {few} of them are expected by then{when}"

    def __str__(self) -> str:
        pending = self.describe_pending()
        return describe_outlook(self) + (f"\n{pending}." if pending else "")


def format_chance(chance: float) -> str:
    """A probability in percent. What no simulated study found is unlikely, not impossible."""
    percent = round(100 * chance)
    return "less than 1 %" if percent < 1 else "more than 99 %" if percent > 99 else f"{percent} %"


def format_gain(gain: float) -> str:
    """A gain with its sign, in two digits."""
    return f"{gain:+.2g}" if gain else "0"


class ForeseenStudy(Protocol):
    """What is read of a study."""

    @property
    def closed(self) -> bool: ...
    def outlook(self, queries: int | None = None, context: Params | None = None) -> Outlook: ...


def find_outlook(study: ForeseenStudy, context: Params | None) -> Outlook | None:
    """The outlook of a study, to be shown beside other things. None where there is none: the study is closed, nothing
    was heard yet, or its model is of another kind."""
    if study.closed:
        return None
    try:
        return study.outlook(None, context)
    except (NothingHeard, Contradiction, NotPositiveDefinite):
        return None


def describe_outlook(outlook: Outlook, where: bool = False) -> str:
    """What more queries may bring, as a sentence; `where` says in which context."""
    sentence = outlook.describe_gain()
    if where and outlook.context is not None:
        return f"In the context {describe_params(outlook.context)} {sentence}."
    return f"{sentence[0].upper()}{sentence[1:]}."
