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

Until those runs are there, the code below decides by the former rule:

the quantity   of a simple-regret panel the average of the curve over iterations 10 to T, of a cumulative one its value
               at T; one number per run
less           the mean of the quantity is smaller and the sign-flip test, two-sided and Holm-corrected over these pairs
               of the panel, has p < 0.05
alike          the sign-flip test has p ≥ 0.05, uncorrected: a correction would only make it easier to pass
holds          every pair is as claimed
too few runs   so few that nothing could be significant (said since the first report, none of whose verdicts it touches)
in mean only   every mean is in the claimed order and no pair that should be alike differs, but not all are significant
does not hold  anything else
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from belated.comparison.statistics import PairedComparison, compare_pairs, holm, least_p
from belated.learner.arrays import Array
from reproduction.curves import PUBLISHED, CurveKey, Curves, Series
from reproduction.panels import Claim, Panel

FIRST_COUNTED, LEVEL = 10, 0.05
Word = Literal["holds", "holds in mean only", "does not hold here", "too few runs", "not run"]
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


@dataclass(frozen=True, kw_only=True)
class CurvePair:
    """Two curves of a panel, compared run by run."""

    a: str  # keys of the curves
    b: str
    claimed: Literal["less", "alike"]
    decides: PairedComparison  # of the quantity
    at_end: PairedComparison  # of the values at T
    p: float  # what is held against LEVEL: corrected where the claim is "less"
    p_ranks: float  # the same by Wilcoxon's test
    p_end: float  # and of the values at T

    @property
    def significant(self) -> bool:
        return self.p < LEVEL

    @property
    def as_claimed(self) -> bool:
        """In mean, for a pair of which one should be less."""
        return not self.significant if self.claimed == "alike" else self.decides.difference.mean < 0


def compare_curve_pairs(panel: Panel, claim: Claim, lines: dict[str, Series]) -> tuple[CurvePair, ...]:
    """The comparisons that the claim comes to, of those curves that were run; runs of the same seed are a pair."""
    less = _compare_curves(panel, lines, claim.less)
    alike = _compare_curves(panel, lines, claim.alike)
    corrected = zip(
        holm([decides.p for _, _, decides, _ in less]),
        holm([decides.p_ranks for _, _, decides, _ in less]),
        holm([at_end.p for _, _, _, at_end in less]),
        strict=True,
    )
    return (
        *(
            CurvePair(a=a, b=b, claimed="less", decides=decides, at_end=at_end, p=p, p_ranks=p_ranks, p_end=p_end)
            for (a, b, decides, at_end), (p, p_ranks, p_end) in zip(less, corrected, strict=True)
        ),
        *(
            CurvePair(
                a=a,
                b=b,
                claimed="alike",
                decides=decides,
                at_end=at_end,
                p=decides.p,
                p_ranks=decides.p_ranks,
                p_end=at_end.p,
            )
            for a, b, decides, at_end in alike
        ),
    )


def _compare_curves(
    panel: Panel, lines: dict[str, Series], wanted: Sequence[tuple[str, str]]
) -> list[tuple[str, str, PairedComparison, PairedComparison]]:
    compared = []
    for a, b in wanted:
        both = sorted(set(lines[a].seeds) & set(lines[b].seeds)) if a in lines and b in lines else []
        if both:
            rows_a, rows_b = ([lines[key].seeds.index(seed) for seed in both] for key in (a, b))
            quantities = (
                compute_deciding_values(panel, lines[a])[rows_a],
                compute_deciding_values(panel, lines[b])[rows_b],
            )
            ends = compute_final_values(panel, lines[a])[rows_a], compute_final_values(panel, lines[b])[rows_b]
            compared.append((a, b, compare_pairs(*quantities), compare_pairs(*ends)))
    return compared


@dataclass(frozen=True)
class ClaimVerdict:
    """Whether the claim holds, and why, pair by pair."""

    word: Word
    because: str


def reach_verdict(panel: Panel, claim: Claim, found: Sequence[CurvePair]) -> ClaimVerdict:
    """The verdict on a claim, from its comparisons."""
    missing = len(claim.less) + len(claim.alike) - len(found)
    if missing:
        return ClaimVerdict("not run", "the curves that the claim is about have not all been run" if found else "")
    word: Word = "holds"
    if _note_too_few(found):
        word = "too few runs"
    elif not all(pair.as_claimed for pair in found):
        word = "does not hold here"
    elif not all(pair.significant for pair in found if pair.claimed == "less"):
        word = "holds in mean only"
    return ClaimVerdict(word, "; ".join([*_list_reasons(panel, found), *_note_too_few(found)]))


def _list_reasons(panel: Panel, found: Sequence[CurvePair]) -> list[str]:
    """What was found, curve by curve."""
    below: dict[str, list[str]] = {}
    for pair in found:
        if pair.claimed == "less":
            below.setdefault(quote_label(panel, pair.a), []).append(
                f"{_describe_order(panel, pair)} ({format_p(pair.p)})"
            )
    return [
        *(f"{a} is {', '.join(places)}" for a, places in below.items()),
        *(
            f"{quote_label(panel, pair.a)} and {quote_label(panel, pair.b)} "
            f"{'differ' if pair.significant else 'are not told apart'} ({format_p(pair.p)})"
            for pair in found
            if pair.claimed == "alike"
        ),
    ]


def _describe_order(panel: Panel, pair: CurvePair) -> str:
    b = quote_label(panel, pair.b)
    if pair.significant:
        return f"significantly {'below' if pair.as_claimed else 'above'} {b}"
    return f"below {b} in mean only" if pair.as_claimed else f"not below {b}"


def quote_label(panel: Panel, key: str) -> str:
    """The name of a curve in a sentence."""
    label = panel.find_curve(key).label
    return f"“{label}”" if "," in label else label


def _note_too_few(found: Sequence[CurvePair]) -> list[str]:
    """Said when the runs are so few that no result could have been significant."""
    family = [pair for pair in found if pair.claimed == "less"]
    if not family or len(family) * min(least_p(pair.decides.pairs) for pair in family) < LEVEL:
        return []
    n = max(pair.decides.pairs for pair in family)
    return [f"with {n} paired run{'s' if n > 1 else ''} no difference can be significant"]


def format_p(p: float) -> str:
    """A p-value in a sentence."""
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}"


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
    def verdict(self) -> ClaimVerdict:
        """On the panel's first reading, the text's."""
        return self.verdicts.get(self.panel.readings[0], ClaimVerdict("not run", ""))

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
