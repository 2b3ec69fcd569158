"""The reading `released`, checked against what the authors published: their choices, and the regret of their runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit
from scipy.stats import ks_2samp, mannwhitneyu

from belated.comparison.statistics import holm, summarize
from belated.learner.arrays import Array
from reproduction.curves import PUBLISHED
from reproduction.replay_counts import ReplayCount
from reproduction.report.document import Block, Code, Heading, Listing, Paragraph, TableBlock, Text
from reproduction.report.formatting import count_decimals, format_interval, format_number, format_p_cell
from reproduction.report.intervals import LEVEL, MeanInterval
from reproduction.report.naming import format_short_name
from reproduction.report.verdicts import JudgedPanel, compute_deciding_values

RELEASED = "released"
PHASES = {  # of the GP that chose, in words
    "zeros": "made of zeros alone",
    "unfitted": "before its first fit",
    "fitted": "fitted",
}
REASONS: tuple[Text, ...] = (
    (
        "The hyperparameters of the authors' fits were not published. Most outcomes are equal here, so the likelihood "
        "has several maxima, and ten random starts find the best or do not. From one fit to the next, queries agree as "
        "a whole or hardly at all."
    ),
    (
        "GP-BUCB hands its past on: after one other fit its predictions are others, and so is every later GP. Some of "
        "our fits have a lengthscale near 0; then all points are equal, and what was asked is not explained."
    ),
    (
        "With a lengthscale below 0.02 there are peaks narrower than the distance between the 10,000 points of the "
        "program's search, which ends at another peak from seed to seed."
    ),
)
SAME_DIGITS = 6  # published with eight; an accuracy is a count of 231


def make_published_section(judged: Sequence[JudgedPanel], counts: Sequence[ReplayCount]) -> list[Block]:
    """Both checks; nothing where there is nothing to compare with."""
    samples = compare_released(judged)
    if not samples and not counts:
        return []
    return [
        Heading("The authors' program, checked against their runs", 3),
        *(_make_replay_part(counts) if counts else []),
        *(_make_regret_part(samples) if samples else []),
    ]


# Their choices ------------------------------------------------------------------------------------------------------


def _make_replay_part(counts: Sequence[ReplayCount]) -> list[Block]:
    most = max(count.tries for count in counts)
    return [
        Paragraph(
            (
                "Their choices. Every query that a UCB method made under fixed delays was published, and is compared "
                "here with the acquisition that ",
                Code(RELEASED),
                " builds from the queries and outcomes before it. Near the maximum: at most 1 % of the maximum below "
                "it. Agreeing is stricter: at most 1 % of the spread between maximum and minimum (5 % where the "
                "surface is flat, and never where all points are equal). One fit is the fit that a run of ours would "
                f"make. The best of {most} is chosen by what it is to explain: it says that such a fit exists, not "
                "that the authors had it.",
            )
        ),
        tabulate_replay(counts),
        Paragraph("What does not agree has these reasons:"),
        Listing(REASONS),
    ]


def tabulate_replay(counts: Sequence[ReplayCount]) -> TableBlock:
    """A row for every method and phase: how many queries, and how many agree by either measure."""
    tries = sorted({count.tries for count in counts})
    rows: list[tuple[Text, ...]] = []
    for method, phase in dict.fromkeys((count.method, count.phase) for count in _order(counts)):
        cells: list[Text] = []
        for each in tries:
            found = [c for c in counts if (c.tries, c.method, c.phase) == (each, method, phase)]
            cells += [str(sum(c.near_maximum for c in found)), str(sum(c.agreeing for c in found))]
        of = sum(c.queries for c in counts if (c.tries, c.method, c.phase) == (tries[0], method, phase))
        rows.append((method, PHASES[phase], str(of), *cells))
    named = ["one fit" if each == 1 else f"best of {each}" for each in tries]
    titles = ("method", "its GP", "queries", *(f"{what}, {name}" for name in named for what in ("near", "agreeing")))
    return TableBlock(titles, tuple(rows), frozenset(range(2, len(titles))))


def _order(counts: Sequence[ReplayCount]) -> list[ReplayCount]:
    """Baselines by method, phases as they come in a run."""
    return sorted(counts, key=lambda count: (count.method, list(PHASES).index(count.phase)))


# The regret of their runs -------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class UnpairedDifference:
    """A difference of means, its standard error, and its degrees of freedom (Welch's)."""

    mean: float
    error: float
    freedom: float

    @property
    def interval(self) -> MeanInterval:
        """95 %."""
        reach = float(stdtrit(self.freedom, 1 - LEVEL / 2)) * self.error
        return MeanInterval(self.mean - reach, self.mean + reach)


def average_differences(found: Sequence[UnpairedDifference]) -> UnpairedDifference:
    """The mean of independent differences."""
    squares = [each.error**2 for each in found]
    return UnpairedDifference(
        mean=float(np.mean([each.mean for each in found])),
        error=math.sqrt(sum(squares)) / len(found),
        freedom=sum(squares) ** 2 / sum(s**2 / each.freedom for s, each in zip(squares, found, strict=True)),
    )


@dataclass(frozen=True, kw_only=True)
class RegretSamples:
    """The quantity that decides, of our runs and of theirs: one curve of one panel."""

    panel: str
    curve: str
    ours: Array
    theirs: Array

    @property
    def difference(self) -> UnpairedDifference:
        """Ours minus theirs."""
        a, b = summarize(self.ours.tolist()), summarize(self.theirs.tolist())
        share = a.error**4 / (len(self.ours) - 1) + b.error**4 / (len(self.theirs) - 1)
        error = math.hypot(a.error, b.error)
        return UnpairedDifference(mean=a.mean - b.mean, error=error, freedom=error**4 / share)

    @property
    def p_ranks(self) -> float:
        """Whether one lies above the other (Mann and Whitney's test)."""
        return float(mannwhitneyu(*self._rounded()).pvalue)

    @property
    def p_gap(self) -> float:
        """Whether they differ in any way (Kolmogorov and Smirnov's test)."""
        return float(ks_2samp(*self._rounded()).pvalue)

    def _rounded(self) -> tuple[Array, Array]:
        return np.round(self.ours, SAME_DIGITS), np.round(self.theirs, SAME_DIGITS)


def compare_released(judged: Sequence[JudgedPanel]) -> list[RegretSamples]:
    """Every curve that was run here as released and published too."""
    return [
        RegretSamples(
            panel=format_short_name(j.panel),
            curve=curve.label,
            ours=compute_deciding_values(j.panel, ours),
            theirs=compute_deciding_values(j.panel, theirs),
        )
        for j in judged
        for curve in j.panel.curves
        if (ours := j.lines.get(RELEASED, {}).get(curve.key)) is not None
        and (theirs := j.lines.get(PUBLISHED, {}).get(curve.key)) is not None
    ]


def _make_regret_part(samples: Sequence[RegretSamples]) -> list[Block]:
    return [
        Paragraph(
            "Their regret. Delays that were drawn were not published, nor were the features of a Thompson draw, so "
            "those runs cannot be replayed; what can be compared is how their regret is distributed. Validation error, "
            f"average over iterations 10 to 100, of {_list_runs([len(s.ours) for s in samples])} runs here and "
            f"{_list_runs([len(s.theirs) for s in samples])} published. The p-values are uncorrected: by ranks, "
            "whether one of the two lies above the other; by the largest gap between the two distributions, whether "
            "they differ in any way."
        ),
        tabulate_samples(samples),
        Paragraph(describe_samples(samples)),
    ]


def _list_runs(counts: Sequence[int]) -> str:
    return " or ".join(map(str, sorted(set(counts))))


def tabulate_samples(samples: Sequence[RegretSamples]) -> TableBlock:
    """A row per curve."""
    return TableBlock(
        ("panel", "curve", "here", "published", "here − published [95 %]", "p, ranks", "p, largest gap"),
        tuple(
            (
                s.panel,
                s.curve,
                *(format_number(m, count_decimals([m])) for m in (float(np.mean(s.ours)), float(np.mean(s.theirs)))),
                format_interval(s.difference.mean, s.difference.interval),
                format_p_cell(s.p_ranks),
                format_p_cell(s.p_gap),
            )
            for s in samples
        ),
        frozenset(range(2, 7)),
    )


def describe_samples(samples: Sequence[RegretSamples]) -> str:
    """What is left after the correction for so many lines, and which lines stand out before it."""
    ranks, gaps = (min(holm([getattr(s, name) for s in samples])) for name in ("p_ranks", "p_gap"))
    low = [f"{s.curve} in {s.panel}" for s in samples if min(s.p_ranks, s.p_gap) < LEVEL]
    apart = f"Below {LEVEL} before a correction: {', '.join(low)}. " if low else ""
    told = "none is told apart" if min(ranks, gaps) >= LEVEL else "some are told apart"
    by_curve = {s.curve: average_differences([o.difference for o in samples if o.curve == s.curve]) for s in samples}
    furthest = max(by_curve, key=lambda curve: abs(by_curve[curve].mean) / by_curve[curve].error)
    apart += (
        f"Averaged over its panels, {furthest} is the furthest off, by "
        f"{format_interval(by_curve[furthest].mean, by_curve[furthest].interval)}, one of {len(by_curve)} methods. "
    )
    return (
        f"{apart}Corrected by Holm's method over the {len(samples)} lines, {told}: the least p is {ranks:.2f} by ranks "
        f"and {gaps:.2f} by the largest gap. {sum(s.difference.mean > 0 for s in samples)} of the differences are "
        "above 0; all methods begin with the same initial queries, theirs with theirs and ours with ours, so the lines "
        "are not independent. Ten published runs do not show small differences; the intervals say how large a one "
        "there may be."
    )
