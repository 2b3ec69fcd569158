"""What a panel's runs say of the paper's claim: supported, contradicted or unresolved.

The rule was written down before the runs that it judges:

the quantity   of a simple-regret panel the average of the curve over iterations 10 to T, of a cumulative one its value
               at T; one number per run
a comparison   the paired differences a − b over the seeds that both curves have: their mean, its 95 % interval
               (Student's t, n − 1), and the smallest true difference that so many seeds detect with 80 % power:
               (t_0.975 + t_0.8) · sd/√n
less           supported where the 95 % interval lies below 0; contradicted where the interval at level 1 − 0.05/k lies
               above 0, for k comparisons in the claim
alike          supported where the 95 % interval lies within ±10 % of the mean of the two curves' quantities;
               contradicted where the interval at level 1 − 0.05/k lies wholly outside of ±10 %
a claim        supported if every comparison is: all must be, so no correction is needed (an intersection-union test);
               contradicted if any comparison is: one of k suffices, hence the correction of the level (Bonferroni);
               unresolved otherwise
too few        with fewer than 5 paired seeds a comparison is unresolved; without its curves a claim is not run
pooled         of a group of panels and one kind of baseline: the effect in a panel and a seed is (a − b) / (mean of b
               over the panel's seeds); for every seed that all panels of the group have, the average of the effect
               over the panels (the panels of a seed share worlds, so seeds are the units); then mean, 95 % interval
               and verdict over seeds as for one comparison

Nothing is corrected across panels. The sign-flip test, Holm-corrected, and Wilcoxon's are a check on the intervals and
decide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from belated.comparison.statistics import PairedComparison, Summary, compare_pairs, holm
from belated.learner.arrays import Array
from belated.wording import format_count
from reproduction.curves import PUBLISHED, CurveKey, Curves, Series
from reproduction.panels import Claim, Panel
from reproduction.report.formatting import format_interval, format_size
from reproduction.report.intervals import LEVEL, MeanInterval, find_detectable, find_interval

FIRST_COUNTED, FEWEST, TOLERANCE = 10, 5, 0.1
Word = Literal["supported", "contradicted", "unresolved", "not run"]
WORDS: tuple[Word, ...] = get_args(Word)


def select_lines(panel: Panel, curves: Curves) -> dict[str, dict[str, Series]]:
    """The lines of a panel that there are, by reading and in the panel's order; the authors' own runs come last.

    All end at T, the last iteration that every one of them has."""
    readings = (*panel.readings, *((PUBLISHED,) if panel.measure == "simple" else ()))
    keys = [CurveKey(panel.name, curve.key, reading) for reading in readings for curve in panel.curves]
    found = {key: curves[key] for key in keys if key in curves and len(curves[key].iterations)}
    T = min((panel.iterations, *(int(line.iterations[-1]) for line in found.values())))
    return {
        reading: lines
        for reading in readings
        if (lines := {key.curve: line.cut_at(T) for key, line in found.items() if key.reading == reading})
    }


def select_measure(panel: Panel, line: Series) -> Array:
    """What the panel's picture shows: runs × iterations."""
    return line.simple if panel.measure == "simple" else line.cumulative


def compute_deciding_values(panel: Panel, line: Series) -> Array:
    """The quantity that decides, one number per run."""
    if panel.measure == "cumulative":
        return compute_final_values(panel, line)
    counted = line.iterations >= min(FIRST_COUNTED, int(line.iterations[-1]))
    return np.asarray(np.mean(line.simple[:, counted], axis=1))


def compute_final_values(panel: Panel, line: Series) -> Array:
    """The value at T, one number per run."""
    return select_measure(panel, line)[:, -1]


# Comparisons --------------------------------------------------------------------------------------------------------


def judge_less(difference: Summary[float], pairs: int, comparisons: int = 1) -> Word:
    """Whether a difference is below 0, as one of so many comparisons of a claim."""
    if pairs < FEWEST:
        return "unresolved"
    if find_interval(difference, pairs).high < 0:
        return "supported"
    return "contradicted" if find_interval(difference, pairs, LEVEL / comparisons).low > 0 else "unresolved"


def judge_alike(difference: Summary[float], pairs: int, tolerance: float, comparisons: int = 1) -> Word:
    """Whether a difference is within ± tolerance, as one of so many comparisons of a claim."""
    if pairs < FEWEST:
        return "unresolved"
    interval = find_interval(difference, pairs)
    if -tolerance <= interval.low and interval.high <= tolerance:
        return "supported"
    corrected = find_interval(difference, pairs, LEVEL / comparisons)
    return "contradicted" if corrected.low > tolerance or corrected.high < -tolerance else "unresolved"


@dataclass(frozen=True, kw_only=True)
class CurvePair:
    """Two curves of a panel, compared run by run."""

    a: str  # keys of the curves
    b: str
    claimed: Literal["less", "alike"]
    comparisons: int  # in the claim that this one belongs to
    decides: PairedComparison  # of the quantity
    at_end: PairedComparison  # of the values at T
    p: float  # sign-flip; Holm-corrected where the claim is "less"
    p_ranks: float  # the same by Wilcoxon's test
    p_end: float  # and of the values at T

    @property
    def interval(self) -> MeanInterval:
        return find_interval(self.decides.difference, self.decides.pairs)

    @property
    def detectable(self) -> float:
        return find_detectable(self.decides.difference, self.decides.pairs)

    @property
    def word(self) -> Word:
        found = self.decides
        if self.claimed == "less":
            return judge_less(found.difference, found.pairs, self.comparisons)
        return judge_alike(found.difference, found.pairs, self.tolerance, self.comparisons)

    @property
    def tolerance(self) -> float:
        """The difference up to which two curves are alike."""
        return TOLERANCE * (self.decides.a + self.decides.b) / 2

    @property
    def is_checked(self) -> bool:
        """Whether the interval and the sign-flip test, both uncorrected, say the same about 0."""
        return self.interval.excludes_zero == (self.decides.p < LEVEL)


def pair_quantities(panel: Panel, a: Series, b: Series) -> tuple[list[int], Array, Array]:
    """The seeds that both lines have, and the quantity that decides of either."""
    seeds = sorted(set(a.seeds) & set(b.seeds))
    first, second = (compute_deciding_values(panel, line)[_find_rows(line, seeds)] for line in (a, b))
    return seeds, first, second


def _find_rows(line: Series, seeds: Sequence[int]) -> list[int]:
    return [line.seeds.index(seed) for seed in seeds]


def compare_curve_pairs(panel: Panel, claim: Claim, lines: dict[str, Series]) -> tuple[CurvePair, ...]:
    """The comparisons that the claim comes to, of those curves that were run; runs of the same seed are a pair."""
    less, alike = (_compare_curves(panel, lines, wanted) for wanted in (claim.less, claim.alike))
    comparisons = len(claim.less) + len(claim.alike)
    corrected = zip(
        holm([decides.p for _, _, decides, _ in less]),
        holm([decides.p_ranks for _, _, decides, _ in less]),
        holm([at_end.p for _, _, _, at_end in less]),
        strict=True,
    )
    single = [(decides.p, decides.p_ranks, at_end.p) for _, _, decides, at_end in alike]
    return tuple(
        CurvePair(
            a=a,
            b=b,
            claimed="less" if (a, b) in claim.less else "alike",
            comparisons=comparisons,
            decides=decides,
            at_end=at_end,
            p=p,
            p_ranks=p_ranks,
            p_end=p_end,
        )
        for (a, b, decides, at_end), (p, p_ranks, p_end) in zip([*less, *alike], [*corrected, *single], strict=True)
    )


def _compare_curves(
    panel: Panel, lines: dict[str, Series], wanted: Sequence[tuple[str, str]]
) -> list[tuple[str, str, PairedComparison, PairedComparison]]:
    compared = []
    for a, b in wanted:
        if a not in lines or b not in lines:
            continue
        seeds, *quantities = pair_quantities(panel, lines[a], lines[b])
        if seeds:
            ends = (compute_final_values(panel, lines[key])[_find_rows(lines[key], seeds)] for key in (a, b))
            compared.append((a, b, compare_pairs(*quantities), compare_pairs(*ends)))
    return compared


# Verdicts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClaimVerdict:
    """What the runs say of the claim, and why, pair by pair."""

    word: Word
    because: str


def reach_verdict(panel: Panel, claim: Claim, found: Sequence[CurvePair]) -> ClaimVerdict:
    """The verdict on a claim, from its comparisons."""
    missing = len(claim.less) + len(claim.alike) - len(found)
    if missing:
        return ClaimVerdict("not run", "the curves that the claim is about have not all been run" if found else "")
    words = [pair.word for pair in found]
    word: Word = "unresolved"
    if "contradicted" in words:
        word = "contradicted"
    elif set(words) == {"supported"}:
        word = "supported"
    return ClaimVerdict(word, "; ".join(_phrase_pair(panel, pair) for pair in found))


def _phrase_pair(panel: Panel, pair: CurvePair) -> str:
    notes = [f"alike is within ±{format_size(pair.tolerance)}"] if pair.claimed == "alike" else []
    notes += [f"only {format_count(pair.decides.pairs, 'pair')}"] if pair.decides.pairs < FEWEST else []
    return f"{name_difference(panel, pair)} is {format_difference(pair)}" + (f" ({'; '.join(notes)})" if notes else "")


def format_difference(pair: CurvePair) -> str:
    """The mean difference with its interval."""
    return format_interval(pair.decides.difference.mean, pair.interval)


def name_difference(panel: Panel, pair: CurvePair) -> str:
    """Which curves, the first minus the second."""
    return f"{quote_label(panel, pair.a)} − {quote_label(panel, pair.b)}"


def quote_label(panel: Panel, key: str) -> str:
    """The name of a curve in a sentence."""
    label = panel.find_curve(key).label
    return f"“{label}”" if "," in label or "=" in label else label


@dataclass(frozen=True)
class JudgedPanel:
    """A panel with what its runs say, by reading; the authors' own runs come as one more, "published"."""

    panel: Panel
    lines: dict[str, dict[str, Series]]
    pairs: dict[str, tuple[CurvePair, ...]]
    verdicts: dict[str, ClaimVerdict]

    @property
    def readings(self) -> list[str]:
        """The readings that were run here."""
        return [reading for reading in self.panel.readings if reading in self.lines]

    @property
    def first(self) -> str:
        """The reading that the report is about, the text's; others stand beside it."""
        return next(iter(self.panel.readings))

    @property
    def verdict(self) -> ClaimVerdict:
        """On the panel's first reading."""
        return self.verdicts.get(self.first, ClaimVerdict("not run", ""))

    def has_enough(self, reading: str) -> bool:
        """Whether every comparison of a reading has the fewest pairs that can decide one."""
        return all(pair.decides.pairs >= FEWEST for pair in self.pairs[reading])

    @property
    def last(self) -> int:
        """T, as run; 0 when nothing was."""
        return max((int(line.iterations[-1]) for lines in self.lines.values() for line in lines.values()), default=0)


def judge_panel(panel: Panel, curves: Curves) -> JudgedPanel:
    """The lines of a panel, its comparisons and its verdicts, by reading."""
    lines = select_lines(panel, curves)
    claim = panel.claim
    if claim is None:
        return JudgedPanel(panel, lines, {}, {})
    compared = {reading: compare_curve_pairs(panel, claim, found) for reading, found in lines.items()}
    return JudgedPanel(panel, lines, compared, {r: reach_verdict(panel, claim, found) for r, found in compared.items()})


def list_readings(judged: Sequence[JudgedPanel]) -> list[str]:
    """All readings that were run, in the order of the panels; the authors' own runs come last."""
    found = list(dict.fromkeys(reading for j in judged for reading in j.readings))
    return [*found, *([PUBLISHED] if any(PUBLISHED in j.lines for j in judged) else [])]
