"""The result of a comparison: a row per candidate, which one was best, and how certain that is.

Differences are paired: every candidate met the same worlds. p-values are from the exact sign-flip test, with Holm's
correction over all comparisons with the same row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from belated.comparison.candidates import Candidate
from belated.comparison.statistics import MOST, Summary, holm, least_p, sign_flip, subtract_pairs, summarize
from belated.learner.arrays import Array
from belated.settings import RegretKind
from belated.wording import align_columns, format_count

LEVEL = 0.05  # of error, over all comparisons together
NAMED = 3  # candidates that a sentence names

CAVEAT = "This world is the study's own belief, and no better than that: it cannot know what the study has not seen."


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparisonRow:
    """One candidate over all seeds."""

    candidate: Candidate
    simple: Array  # regret (seeds, rounds)
    cumulative: Array  # regret (seeds, rounds)
    difference: Summary[float]  # from the study's own settings, after the last round, in `measure`
    p: float  # of that difference

    @property
    def own(self) -> bool:
        """Whether these are the study's own settings."""
        return self.candidate.own

    @property
    def algorithm(self) -> str:
        return self.candidate.algorithm

    @property
    def silence(self) -> str:
        return self.candidate.silence

    @property
    def patience(self) -> str:
        return self.candidate.patience

    def last(self, measure: RegretKind) -> Array:
        """Regret after the last round, one per seed."""
        return np.asarray((self.simple if measure == "simple" else self.cumulative)[:, -1])

    def ends(self, measure: RegretKind) -> Summary[float]:
        """Its mean, and the standard error of that."""
        return summarize(self.last(measure))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ComparisonResult:
    """Candidates in worlds simulated from a study, the best first; print it.

    >>> from belated import Points, Study, compare, simulate
    >>> from belated.delays import Fixed
    >>> study = Study.create(space=Points([0.0, 0.5, 1.0]), silence="unknown", seed=0)
    >>> for _ in simulate(study, lambda params: params["x"], delay=Fixed(2), rounds=8, seed=1):
    ...     pass
    >>> result = compare(study, algorithms=["GP-BTS"], rounds=4, seeds=1, progress=False)
    >>> sorted({row.algorithm for row in result.rows})  # the study's own settings are compared too
    ['GP-BTS', 'default']
    """

    rows: tuple[ComparisonRow, ...]
    measure: RegretKind  # the kind of regret that decides: the study's
    rounds: int
    seeds: int
    world: str  # a description of the worlds
    warning: str  # what makes the worlds doubtful; empty when nothing does

    @property
    def best(self) -> ComparisonRow:
        """The row with the least regret; whether that is more than chance, `tied` says."""
        return self.rows[0]

    @cached_property
    def tied(self) -> bool:
        """Whether nothing can be told apart: no row differs from the one with the least regret by more than chance."""
        return len(self.alike) == len(self.rows) - 1 > 0

    @property
    def own(self) -> ComparisonRow:
        """What the study uses."""
        return next(row for row in self.rows if row.own)

    @cached_property
    def alike(self) -> tuple[ComparisonRow, ...]:
        """The rows that do not differ from the best by more than chance."""
        best = self.best.last(self.measure)
        p = holm([sign_flip(row.last(self.measure), best) for row in self.rows[1:]])
        return tuple(row for row, value in zip(self.rows[1:], p, strict=True) if value > LEVEL)

    @property
    def answer(self) -> str:
        """Which settings would have been best, and whether that is more than chance."""
        best, own, n = self.best, self.own, len(self.rows)
        if n == 1:
            regret = self._format_regret(own)
            return f"{own.candidate}, what the study uses, ends with {regret}; there is nothing to compare it with."
        if self.tied:
            regrets = f"{self.measure} regret {self._format_value(best)} at best, {self._format_value(own)} of"
            why = self._too_few or "No difference is more than chance."
            return f"Nothing can be told apart: {regrets} {own.candidate}, what the study uses. {why}"
        if best.own:
            first = f"What the study uses serves it best: {own.candidate}, with {self._format_regret(own)}."
        elif best.p <= LEVEL:
            first = (
                f"{best.candidate} would have served best: {self._format_regret(best)} against "
                f"{self._format_value(own)} of what the study uses (p = {best.p:.2g})."
            )
        else:
            first = (
                f"{best.candidate} comes out best, with {self._format_regret(best)} against "
                f"{self._format_value(own)} of what the study uses, "
                f"but that difference is within chance (p = {best.p:.2g})."
            )
        return f"{first} {self._others}"

    @property
    def _others(self) -> str:
        """Which of the others may be as good."""
        alike, n = self.alike, len(self.rows) - 1
        if not alike:
            return "All others are behind it by more than chance."
        names = ", ".join(str(row.candidate) for row in alike[:NAMED])
        more = f" and {len(alike) - NAMED} more" if len(alike) > NAMED else ""
        do = "does" if len(alike) == 1 else "do"
        return f"Of the {n} others, {len(alike)} {do} not differ from it by more than chance: {names}{more}."

    @property
    def _too_few(self) -> str:
        """A sentence where no difference, however large, could be more than chance; empty elsewhere."""
        k = len(self.rows) - 1
        if least_p(self.seeds) * k <= LEVEL:
            return ""
        enough = next((n for n in range(1, MOST + 1) if least_p(n) * k <= LEVEL), MOST)
        return f"With {format_count(self.seeds, 'seed')} no difference can be more than chance; that takes {enough}."

    def __str__(self) -> str:
        return "\n".join([self.table, "", self.answer, f"{self.world} {CAVEAT}", *filter(None, [self.warning])])

    def __repr__(self) -> str:
        answer = "nothing can be told apart" if self.tied else f"best {self.best.candidate}"
        return f"Compared({len(self.rows)} candidates, {answer})"

    @property
    def table(self) -> str:
        """A line per candidate, the best first."""
        after = f"after {format_count(self.rounds, 'round')}, mean{'' if self.seeds == 1 else ' ± standard error'}"
        counts = {self.measure: " ↓"}  # the column that sorts the lines
        regrets = [f"{measure}{counts.get(measure, '')}" for measure in ("simple", "cumulative")]
        titles = ["algorithm", "silence", "patience", *regrets, "than the study's", "p"]
        simple, cumulative = (
            _format_summaries([row.ends(measure) for row in self.rows]) for measure in ("simple", "cumulative")
        )
        other = _format_summaries([row.difference for row in self.rows], signed=True)
        lines = [
            [
                row.algorithm + (" *" if row.own else ""),
                row.silence,
                row.patience,
                simple[i],
                cumulative[i],
                "" if row.own else other[i],
                "" if row.own else f"{row.p:.2g}",
            ]
            for i, row in enumerate(self.rows)
        ]
        return "\n".join(
            [
                f"Regret {after}; sorted and compared by {self.measure} regret",
                "",
                *align_columns([titles, *lines], numbers=range(3, len(titles))),
                "* what the study uses",
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything measured, as plain values; what is not a number is None."""
        return {
            "measure": self.measure,
            "rounds": self.rounds,
            "seeds": self.seeds,
            "world": self.world,
            "warning": self.warning,
            "tied": self.tied,
            "answer": self.answer,
            "candidates": [
                {
                    "algorithm": row.algorithm,
                    "silence": row.silence,
                    "patience": row.patience,
                    "own": row.own,
                    "simple_regret": _summary_to_dict(row.ends("simple")),
                    "cumulative_regret": _summary_to_dict(row.ends("cumulative")),
                    "difference": _summary_to_dict(row.difference),
                    "p": row.p,
                    "runs": {
                        "simple_regret": row.last("simple").tolist(),
                        "cumulative_regret": row.last("cumulative").tolist(),
                    },
                }
                for row in self.rows
            ],
        }

    def _format_regret(self, row: ComparisonRow) -> str:
        return f"{self.measure} regret {self._format_value(row)}"

    def _format_value(self, row: ComparisonRow) -> str:
        return _format_summaries([row.ends(self.measure)])[0].replace("±", " ± ")


def build_result(
    candidates: Sequence[Candidate], simple: Array, cumulative: Array, measure: RegretKind, world: str, warning: str
) -> ComparisonResult:
    """The result from the regrets (candidates, seeds, rounds), the study's own settings first."""
    ends = (simple if measure == "simple" else cumulative)[:, :, -1]
    p = [1.0, *holm([sign_flip(others, ends[0]) for others in ends[1:]])]
    rows = [
        ComparisonRow(
            candidate=candidate,
            simple=simple[i],
            cumulative=cumulative[i],
            difference=summarize(subtract_pairs(ends[i], ends[0])),
            p=p[i],
        )
        for i, candidate in enumerate(candidates)
    ]
    rows.sort(key=lambda row: row.ends(measure).mean)
    return ComparisonResult(
        rows=tuple(rows),
        measure=measure,
        rounds=simple.shape[2],
        seeds=simple.shape[1],
        world=world,
        warning=warning,
    )


def _summary_to_dict(value: Summary[float]) -> dict[str, float | None]:
    return {"mean": value.mean, "standard_error": None if math.isnan(value.error) else value.error}


def _format_summaries(values: Sequence[Summary[float]], signed: bool = False) -> list[str]:
    """mean±error, all with the same number of digits: two digits of the median error."""
    errors = [value.error for value in values if value.error > 0]
    size = float(np.median(errors)) if errors else 0.01 * max((abs(value.mean) for value in values), default=1.0)
    digits = 2 if size <= 0 else min(max(0, 1 - math.floor(math.log10(size))), 9)
    form = f"{'+' if signed else ''}.{digits}f"
    return [
        f"{value.mean:{form}}" + ("" if math.isnan(value.error) else f"±{value.error:.{digits}f}") for value in values
    ]
