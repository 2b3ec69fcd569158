"""Everything recorded about one trial, and what an outcome of it that is told now would be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from belated.record.events import Asked, Converted, Failed, Told
from belated.record.statements import Statement
from belated.results import takes_outcome

# What an outcome told now is. In a study of conversions: a conversion after a 0, and a 0 after a conversion.
Judgement = Literal["new", "duplicate", "conflict", "conversion", "nothing new"]


@dataclass(slots=True)
class TrialRecord:
    """Everything recorded about one trial."""

    asked: Asked
    told: Told | None = None
    failed: Failed | None = None
    rounds: int = 0  # once told: its delay in rounds
    known_from: int = 0  # once told: the first number whose choice knew it, min {t : position of the tell <= knew_t}
    amended: int = 0  # how often its outcome was amended
    first_told: Told | None = None  # as it was told, before any amendment
    has_delay: bool = True  # or will have one. Counts have none, nor has a 0 in place of a conversion, nor an outcome
    # that was added together with its query
    converted: Converted | None = None  # after it was told 0
    statements: Sequence[Statement] = ()  # where it stands for many people: their counts, by age
    counted_at: float | None = None  # the time of the last of them
    run: Mapping[str, Any] | None = None  # what was run, where that is not what was asked
    ended_by: str | None = None  # who told its outcome or failure
    remark: str = ""  # what they said with it

    @property
    def params(self) -> Mapping[str, Any]:
        """What was run, as far as is known."""
        return self.asked.params if self.run is None else self.run

    @property
    def takes_outcome(self) -> bool:
        """Whether an outcome told now counts."""
        failure = None if self.failed is None else self.failed.kind
        return self.asked.shown_over is None and takes_outcome(self.told is not None, failure)

    def judge_outcome(
        self,
        value: float,
        noise: float | None,
        params: Mapping[str, Any] | None = None,
        *,
        conversions: bool = False,
    ) -> Judgement:
        """What an outcome told now is. An amended outcome is a decision, which no tell changes.

        params  what was run, if that was said"""
        if self.takes_outcome:
            return "new"
        if params is not None and dict(params) != dict(self.params):
            return "conflict"
        if self.told is not None and (self.told.value, self.told.noise) == (value, noise):
            return "duplicate"
        if self.told is not None and conversions and not self.amended:
            if self.told.value == 0.0:
                return "conversion"
            if value == 0.0:
                return "nothing new"
        return "conflict"
