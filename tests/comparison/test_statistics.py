"""Our exact tests are counted over all signs, ties included, as scipy's are; the rest is as worked by hand."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from belated.comparison.statistics import (
    average_ranks,
    compare_pairs,
    holm,
    least_p,
    ranks,
    sign_flip,
    signed_ranks,
    subtract_pairs,
    summarize,
    summarize_curves,
)
from belated.errors import InvalidInput

coarse = st.integers(0, 6).map(lambda k: k / 3)  # many ties, whose sums differ in their last bits
exact = st.integers(0, 24).map(lambda k: k / 8)  # many ties, whose sums are exact
fine = st.floats(0, 10).map(lambda v: round(v, 6))
samples = st.integers(1, 8).flatmap(
    lambda n: st.one_of(*(st.tuples(*[arrays(float, n, elements=e)] * 2) for e in (coarse, fine)))
)
probabilities = st.lists(st.floats(0, 1), max_size=8)


def counted(values: np.ndarray) -> float:
    """The share of choices of signs with a sum at least as far from 0, one choice at a time."""
    signs = np.array(list(product([-1, 1], repeat=len(values))))
    sums = np.abs(signs @ values)
    return float(np.mean(sums >= abs(values.sum()) - 1e-7))


@given(samples)
def test_sign_flips_are_counted_over_all_signs(pair: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = pair
    assert sign_flip(a, b) == pytest.approx(counted(a - b), abs=1e-12)
    assert sign_flip(a, b) == sign_flip(b, a)


def test_sums_that_differ_in_their_last_bit_are_tied() -> None:
    """The differences add up to 0, and no choice of signs comes nearer to it: all 256 count, so p is 1."""
    a = np.array([0, 0, 0, 0, 0, 0, 2, 0.0])
    b = np.array([0, 0, 0, 0, 0, 2 / 3, 1, 1 / 3])
    assert sign_flip(a, b) == sign_flip(b, a) == 1.0
    assert sign_flip(a[5:], b[5:]) == 1.0
    # -1, -2/3, 1/3 add up to -4/3: as far are ±(1 + 2/3 - 1/3) and ±(1 + 2/3 + 1/3), 4 of 8
    assert sign_flip([0, 0, 1 / 3], [1, 2 / 3, 0]) == 0.5


@given(st.integers(2, 8).flatmap(lambda n: st.tuples(*[arrays(float, n, elements=exact)] * 2)))
def test_sign_flips_are_scipys(pair: tuple[np.ndarray, np.ndarray]) -> None:
    """On values whose sums are exact: scipy loses ties that differ in their last bit."""
    theirs = stats.permutation_test(
        pair, lambda x, y, axis: np.sum(x - y, axis), permutation_type="samples", n_resamples=np.inf
    )
    assert sign_flip(*pair) == pytest.approx(theirs.pvalue, abs=1e-12)


@given(samples)
def test_signed_ranks_are_counted_over_all_signs(pair: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = pair
    d = subtract_pairs(a, b)
    d = d[d != 0]
    by_hand = counted(np.sign(d) * stats.rankdata(np.round(np.abs(d), 9))) if len(d) else 1.0
    assert signed_ranks(a, b) == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize("n", [2, 5, 10, 13])
def test_signed_ranks_without_ties_are_scipys(n: int) -> None:
    a, b = np.random.default_rng(n).normal(size=(2, n))
    assert signed_ranks(a, b) == pytest.approx(stats.wilcoxon(a, b, method="exact").pvalue, abs=1e-12)


def test_sixteen_pairs_are_counted_to_the_last_sign() -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 16))
    assert sign_flip(a, b) == counted(a - b)


def test_forty_pairs_are_counted_without_rounding() -> None:
    assert sign_flip(np.zeros(40), np.arange(1.0, 41.0)) == least_p(40) == 2.0**-39


@pytest.mark.parametrize(("won", "lost"), [(60, 0), (40, 20), (33, 27), (30, 30), (41, 4)])
def test_more_pairs_of_equal_size_are_a_sign_test(won: int, lost: int) -> None:
    d = np.array([-0.1] * won + [0.1] * lost)
    expected = stats.binomtest(won, won + lost).pvalue
    assert sign_flip(d, np.zeros(len(d))) == pytest.approx(expected, rel=1e-9)
    assert signed_ranks(d, np.zeros(len(d))) == pytest.approx(expected, rel=1e-9)


def test_more_pairs_are_counted_on_a_grid_that_hardly_changes_p() -> None:
    """Pairs without a difference add none: the same test with them is on the grid, and without them is exact."""
    rng = np.random.default_rng(3)
    for shift in (0.0, 0.2, 0.5, 1.0):
        d = rng.normal(shift, 1.0, 30)
        padded = np.concatenate([d, np.zeros(15)])
        assert sign_flip(padded, np.zeros(45)) == pytest.approx(sign_flip(d, np.zeros(30)), rel=0.002)


@pytest.mark.parametrize("n", [41, 60])
def test_signed_ranks_of_many_pairs_are_scipys(n: int) -> None:
    a, b = np.random.default_rng(n).normal(size=(2, n))
    assert signed_ranks(a, b + 0.3) == pytest.approx(stats.wilcoxon(a, b + 0.3, method="exact").pvalue, rel=1e-9)


def test_rounding_makes_and_breaks_no_ties() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        whole = rng.integers(50, 90, (2, 10))
        a, b = (np.array([float(f"{v / 231:.10g}") for v in row]) for row in whole)
        assert sign_flip(a, b) == counted((whole[0] - whole[1]).astype(float))
        assert compare_pairs(a, b).tied == int(np.sum(whole[0] == whole[1]))


@given(arrays(float, st.integers(1, 20), elements=coarse))
def test_ranks_are_scipys(values: np.ndarray) -> None:
    assert ranks(values).tolist() == stats.rankdata(values).tolist()


def test_what_is_no_pair_is_refused() -> None:
    for a, b in (([1.0], [1.0, 2.0]), ([], []), ([math.nan], [1.0]), ([1.0], [math.inf])):
        with pytest.raises(InvalidInput):
            compare_pairs(a, b)


# Holm: four p-values by hand: 4 × 0.005, 3 × 0.01, 2 × 0.03, and 1 × 0.04 raised to the one before it.
@pytest.mark.parametrize(
    ("p", "corrected"),
    [
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.04, 0.03], [0.06, 0.06]),
        ([0.9, 0.001], [0.9, 0.002]),
        ([0.6, 0.7], [1.0, 1.0]),
        ([0.02], [0.02]),
        ([], []),
    ],
)
def test_holm_by_hand(p: list[float], corrected: list[float]) -> None:
    assert holm(p) == pytest.approx(corrected)


@given(probabilities)
def test_holm_is_between_nothing_and_bonferroni_and_keeps_the_order(p: list[float]) -> None:
    corrected = holm(p)
    assert all(raw <= c <= min(1.0, len(p) * raw) + 1e-12 for raw, c in zip(p, corrected, strict=True))
    for i, j in product(range(len(p)), repeat=2):
        assert p[i] > p[j] or corrected[i] <= corrected[j]


def test_a_comparison_by_hand() -> None:
    found = compare_pairs([1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 5.0, 3.0])  # differences -1, 0, -2, 1
    assert (found.pairs, found.a, found.b) == (4, 2.5, 3.0)
    assert (found.won, found.tied, found.lost) == (2, 1, 1)
    spread = math.sqrt((0.25 + 0.25 + 2.25 + 2.25) / 3)  # around the mean, -0.5
    assert found.difference.mean == -0.5
    assert found.difference.error == pytest.approx(spread / 2)
    assert found.effect == pytest.approx(-0.5 / spread)
    assert found.p == 12 / 16  # |±1 ± 2 ± 1| ≥ 2 in six of eight ways, with 0 either way
    assert math.isnan(compare_pairs([1.0, 2.0], [2.0, 3.0]).effect)  # the differences do not differ
    assert math.isnan(compare_pairs([1.0], [2.0]).effect)


def test_a_standard_error_is_scipys_and_one_run_has_none() -> None:
    values = np.random.default_rng(2).normal(size=10)
    assert summarize(values).error == pytest.approx(stats.sem(values))
    assert math.isnan(summarize([1.0]).error)


def test_mean_ranks_by_hand() -> None:
    found = average_ranks(np.array([[0.1, 0.2, 0.3], [0.2, 0.2, 0.1], [0.3, 0.1, 0.2]]))  # curves × runs
    assert [rank.mean for rank in found] == pytest.approx([(1 + 2.5 + 3) / 3, (2 + 2.5 + 1) / 3, (3 + 1 + 2) / 3])


def test_curves_have_a_mean_and_a_standard_error_in_every_round() -> None:
    summary = summarize_curves(np.array([[1.0, 2.0], [3.0, 2.0], [8.0, 2.0]]))
    assert summary.mean.tolist() == [4.0, 2.0]
    assert summary.error == pytest.approx([np.sqrt(13.0 / 3.0), 0.0])
    assert np.all(np.isnan(summarize_curves(np.ones((1, 2))).error))
