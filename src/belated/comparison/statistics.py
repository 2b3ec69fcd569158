"""Paired comparisons of two curves, run by run: exact tests, Holm's correction, effect sizes.

a_i, b_i  the quantity compared, of the i-th run of either curve; runs of the same seed are a pair
d_i       a_i - b_i

The sign-flip test asks how often |Σ s_i d_i| ≥ |Σ d_i| when every sign s_i = ±1 is equally likely, as it is when the
two curves are exchangeable. All 2^n choices of signs are counted without listing them: the sums of the first half
of the runs are combined with those of the second. With more than MOST pairs the d_i are first rounded to whole steps of
Σ|d_i| / STEPS, and the distribution of their sum is built up run by run. Wilcoxon's signed-rank test is the same with
ranks in place of the |d_i|; ranks are whole or half numbers, so that their distribution needs no rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from belated.errors import InvalidInput
from belated.learner.arrays import Array

MOST = 40  # pairs whose signs are counted without rounding: 2^20 sums for either half
STEPS = 2**18  # of Σ|d_i|, for more pairs: with 60 of them a sum is off by less than 0.012 % of Σ|d_i|
ROUNDING = 1e-9  # of the size of what is summed: values are recorded in ten digits, so that closer sums may be equal


Values = TypeVar("Values", float, Array)


@dataclass(frozen=True)
class Summary(Generic[Values]):
    """A mean over runs and its standard error (NaN for a single run): of one number, or of every round of a curve."""

    mean: Values
    error: Values


@dataclass(frozen=True, kw_only=True)
class PairedComparison:
    """a against b, less being better."""

    pairs: int
    a: float  # means
    b: float
    difference: Summary[float]  # of a - b
    won: int  # pairs in which a is less
    tied: int
    lost: int
    effect: float  # mean difference in standard deviations of the differences; NaN when there is none to divide by
    p: float  # sign-flip, two-sided
    p_ranks: float  # Wilcoxon's signed ranks, two-sided


def summarize(values: Sequence[float] | Array) -> Summary[float]:
    """The mean over runs and its standard error, s/√n with s² = Σ(v - mean)²/(n - 1)."""
    v = np.asarray(values, dtype=float)
    return Summary(float(np.mean(v)), float(np.std(v, ddof=1) / math.sqrt(len(v))) if len(v) > 1 else math.nan)


def summarize_curves(runs: Array) -> Summary[Array]:
    """The same for every round of curves (runs, rounds)."""
    n = len(runs)
    error = np.std(runs, axis=0, ddof=1) / math.sqrt(n) if n > 1 else np.full(runs.shape[1:], math.nan)
    return Summary(np.mean(runs, axis=0), error)


def compare_pairs(a: Sequence[float] | Array, b: Sequence[float] | Array) -> PairedComparison:
    """The full comparison of a pair of curves."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    d = subtract_pairs(a, b)
    spread = float(np.std(d, ddof=1)) if len(d) > 1 else 0.0
    difference = summarize(d)
    return PairedComparison(
        pairs=len(d),
        a=float(np.mean(a)),
        b=float(np.mean(b)),
        difference=difference,
        won=int(np.sum(d < 0)),
        tied=int(np.sum(d == 0)),
        lost=int(np.sum(d > 0)),
        effect=difference.mean / spread if spread > 0 else math.nan,
        p=sign_flip(a, b),
        p_ranks=signed_ranks(a, b),
    )


def subtract_pairs(a: Sequence[float] | Array, b: Sequence[float] | Array) -> Array:
    """a_i - b_i, and exactly 0 where the two differ by rounding alone."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.ndim != 1 or a.shape != b.shape or not len(a):
        raise InvalidInput(f"pairs need as many values of one curve as of the other (got {a.shape}, {b.shape})")
    if not (np.all(np.isfinite(a)) and np.all(np.isfinite(b))):
        raise InvalidInput("values to be compared must be finite")
    d = a - b
    return np.where(np.abs(d) <= _find_tolerance(a, b), 0.0, d)


def _find_tolerance(a: Array, b: Array) -> float:
    """The distance up to which two values are equal."""
    return ROUNDING * float(max(np.max(np.abs(a)), np.max(np.abs(b))))


def sign_flip(a: Sequence[float] | Array, b: Sequence[float] | Array) -> float:
    """The two-sided p-value of the mean difference: exact up to MOST pairs, on a fine grid above."""
    d = subtract_pairs(a, b)
    size = float(np.sum(np.abs(d)))
    if len(d) > MOST and size > 0:
        return _share_of_whole_sums(np.rint(d * (STEPS / size)))
    return _share_as_extreme(d, ROUNDING * float(np.sum(np.abs(a)) + np.sum(np.abs(b))))


def signed_ranks(a: Sequence[float] | Array, b: Sequence[float] | Array) -> float:
    """The exact two-sided p-value of Wilcoxon's test: pairs without a difference left out, ties at their mean rank."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    d = subtract_pairs(a, b)
    d = d[d != 0]
    ranked = np.sign(d) * ranks(np.abs(d), _find_tolerance(a, b))
    return _share_of_whole_sums(2 * ranked)


def ranks(values: Sequence[float] | Array, close: float = 0.0) -> Array:
    """1 for the least; neighbours no further apart than `close` share the mean of their ranks."""
    v = np.asarray(values, dtype=float)
    order = np.argsort(v, kind="stable")
    group = np.concatenate([[0], np.cumsum(np.diff(v[order]) > close)]) if len(v) else np.zeros(0, dtype=int)
    size = np.bincount(group)
    middle = np.cumsum(size) - (size - 1) / 2
    placed = np.empty(len(v))
    placed[order] = middle[group]
    return placed


def _share_as_extreme(d: Array, close: float) -> float:
    """The share of the 2^n choices of signs with |Σ s_i d_i| ≥ |Σ d_i|; sums at most `close` apart count as equal."""
    least = abs(float(np.sum(d))) - close
    if least <= 0:
        return 1.0
    first, second = _sums(d[: len(d) // 2]), np.sort(_sums(d[len(d) // 2 :]))
    # All sums come with their negatives, so those at the upper end are half of the extreme ones.
    above = len(second) - np.searchsorted(second, least - first, side="left")
    return float(min(1.0, 2 * int(np.sum(above)) / 2.0 ** len(d)))


def _sums(d: Array) -> Array:
    """Σ s_i d_i for every choice of signs."""
    sums = np.zeros(1)
    for value in d:
        sums = np.concatenate([sums - value, sums + value])
    return sums


def _share_of_whole_sums(d: Array) -> float:
    """The same share for whole numbers d_i, from the chance of every value of Σ |d_i| over the runs with s_i = +1."""
    sizes = np.abs(d).astype(int)
    chance = np.zeros(int(np.sum(sizes)) + 1)
    chance[0] = 1.0
    for size in sizes:
        half = chance / 2
        chance = half.copy()
        chance[size:] += half[: len(half) - size]
    least = (len(chance) - 1 + abs(int(np.sum(d)))) // 2
    return float(min(1.0, 2 * np.sum(chance[least:])))


def holm(p: Sequence[float]) -> list[float]:
    """Holm's correction: the k-th smallest of K p-values times K - k + 1, at least the one before it, at most 1."""
    corrected = [1.0] * len(p)
    largest = 0.0
    for k, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        largest = max(largest, min(1.0, (len(p) - k) * p[i]))
        corrected[i] = largest
    return corrected


def least_p(pairs: int) -> float:
    """The smallest p-value that the sign-flip test can give: every pair to the same side."""
    return float(min(1.0, 2.0 ** (1 - pairs)))


def average_ranks(values: Array) -> list[Summary[float]]:
    """Of an array of curves × runs: every curve's rank within a run (1 for the least), averaged over runs."""
    placed = np.array([ranks(run, ROUNDING * float(np.max(np.abs(run)))) for run in np.asarray(values, dtype=float).T])
    return [summarize(column) for column in placed.T]
