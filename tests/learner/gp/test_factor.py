"""The factor: growing is factoring afresh, cut and grown again it has the same bits, sharing memory hurts nobody."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from belated.errors import NotPositiveDefinite
from belated.learner.gp.factor import BLOCK, Factor, packed_size
from belated.learner.gp.kernels import SE, Matern52


def with_duplicates(n: int, seed: int = 0) -> np.ndarray:
    """n points of which about a third occur twice or more."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    again = rng.random(n) < 0.4
    X[again] = X[rng.integers(max(1, n // 4), size=int(again.sum()))]
    return X


def grown(K: np.ndarray, lam: float, factor: Factor | None = None) -> Factor:
    """K + λI factored row by row, going on from `factor`."""
    factor = Factor() if factor is None else factor
    for i in range(factor.n, len(K)):
        factor = factor.grow(K[i, :i], K[i, i] + lam)
    return factor


def packed(factor: Factor) -> np.ndarray:
    """Every row of L, one after the other."""
    return np.concatenate([np.empty(0), *(factor.row(i) for i in range(factor.n))])


def lower(factor: Factor) -> np.ndarray:
    """L as a square matrix, read row by row."""
    L = np.zeros((factor.n, factor.n))
    for i in range(factor.n):
        L[i, : i + 1] = factor.row(i)
    return L


@pytest.mark.parametrize("lam", [1e-3, 0.05, 1.02])
@pytest.mark.parametrize("kernel", [SE(0.2), Matern52(0.3)], ids=["SE", "Matern"])
@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 200, 500])
def test_growing_is_factoring_afresh(n, kernel, lam):
    X = with_duplicates(n)
    assert n < 200 or len(np.unique(X, axis=0)) < 0.8 * n
    K = kernel(X, X)
    factor = grown(K, lam)
    fresh = np.linalg.cholesky(K + lam * np.eye(n))
    assert factor.n == n
    assert_allclose(lower(factor), fresh, rtol=0, atol=1e-9)
    assert_allclose(factor.diagonal, np.diag(fresh), rtol=0, atol=1e-9)
    assert_allclose(factor.logdet(), np.linalg.slogdet(K + lam * np.eye(n))[1], rtol=0, atol=1e-9 * n)


@pytest.mark.parametrize("n", [1, 40, 300])
def test_solving(n):
    X = with_duplicates(n)
    K = SE(0.2)(X, X)
    factor, b = grown(K, 0.05), np.random.default_rng(1).standard_normal(n)
    L = np.linalg.cholesky(K + 0.05 * np.eye(n))
    kept = b.copy()
    assert_allclose(factor.solve(b), np.linalg.solve(L, b), rtol=0, atol=1e-9)
    assert_allclose(factor.solve_transposed(b), np.linalg.solve(L.T, b), rtol=0, atol=1e-9)
    assert_array_equal(b, kept)


def test_before_the_first_row():
    empty = Factor()
    assert empty.n == 0
    assert empty.solve(np.empty(0)).shape == (0,)
    assert empty.solve_transposed(np.empty(0)).shape == (0,)
    assert empty.diagonal.shape == (0,)
    assert empty.logdet() == 0.0
    assert [packed_size(n) for n in range(5)] == [0, 1, 3, 6, 10]


@pytest.mark.parametrize("at", [0, 1, 31, 150, 299])
def test_cutting_and_growing_again_gives_the_same_bits(at):
    X = with_duplicates(300)
    K = SE(0.2)(X, X)
    whole = grown(K, 1e-3)
    kept = packed(whole).copy()
    assert whole.count_kept(at) == (at if at >= BLOCK else 0)  # of a full block all rows are kept, or none
    short = whole.cut(whole.count_kept(at))
    assert_array_equal(packed(short), kept[: packed_size(short.n)])
    assert_array_equal(packed(grown(K, 1e-3, short)), kept)
    assert_array_equal(packed(whole), kept)


def test_cutting_and_growing_otherwise():
    """Rows taken out of the middle: the factor is that of the rows that are left."""
    X = with_duplicates(120)
    left = np.delete(np.arange(120), [70, 71, 99])
    K = SE(0.2)(X, X)
    factor = grown(K[np.ix_(left, left)], 0.05, grown(K, 0.05).cut(70))
    assert_allclose(lower(factor), np.linalg.cholesky(K[np.ix_(left, left)] + 0.05 * np.eye(117)), rtol=0, atol=1e-9)


def test_cutting_nothing_off_is_the_same_factor():
    factor = grown(np.eye(3), 1.0)
    assert factor.cut(3) is factor


POOL = np.vstack([np.random.default_rng(2).random((8, 2)), np.full((2, 2), 0.5)])  # two of the ten are equal
POOL_K = SE(0.3)(POOL, POOL)
LAM = 1e-2


def pool_factor(rows: tuple[int, ...]) -> Factor:
    """The factor of some points of the pool, from nothing."""
    return grown(POOL_K[np.ix_(rows, rows)], LAM)


steps = st.one_of(
    st.tuples(st.just("grow"), st.integers(0, 10**6), st.lists(st.integers(0, len(POOL) - 1), min_size=1, max_size=12)),
    st.tuples(st.just("cut"), st.integers(0, 10**6), st.integers(0, 10**6)),
)


@given(st.sampled_from([0, 30]), st.lists(steps, max_size=14))
def test_sharing_memory_never_corrupts_an_older_factor(start, sequence):
    """Any factor ever made may be grown or cut again, in any order, across the end of the room kept for 32 rows; all of
    them keep the bits of a fresh one."""
    first = tuple(i % len(POOL) for i in range(start))
    made: list[tuple[tuple[int, ...], Factor]] = [(first, pool_factor(first))]
    for verb, which, what in sequence:
        rows, factor = made[which % len(made)]
        if verb == "grow":
            for i in what:
                factor = factor.grow(POOL_K[i, list(rows)], POOL_K[i, i] + LAM)
                rows = (*rows, i)
                made.append((rows, factor))
        else:
            n = what % (len(rows) + 1)
            made.append((rows[:n], factor.cut(n)))
    for rows, factor in made:
        assert factor.n == len(rows)
        assert_array_equal(packed(factor), packed(pool_factor(rows)))


def test_growing_writes_one_row_and_copies_nothing_while_there_is_room():
    """300 appends move to another room only when a block is full: they cost O(n²) each, not a copy of all before."""
    factors, K = [Factor()], np.eye(300)
    for i in range(300):
        factors.append(factors[-1].grow(K[i, :i], 2.0))
    corners = [factor.blocks[-1].corner for factor in factors[1:]]
    moved = [not np.shares_memory(a, b) for a, b in itertools.pairwise(corners)]
    assert sum(moved) == 2  # the block is computed once more as a whole, and the next one begins


@pytest.mark.parametrize("n", [1, 255, 256, 257, 600])
@pytest.mark.parametrize("known", [0, 3, 256, 300])
def test_many_rows_at_once_have_the_same_bits_as_one_by_one(n, known):
    X = with_duplicates(n)
    K = SE(0.2)(X, X)
    one_by_one = grown(K, 1e-3)
    begun = grown(K[:known, :known], 1e-3)
    at_once = begun.extend(K[known:], np.diag(K)[known:] + 1e-3)
    assert_array_equal(packed(at_once), packed(one_by_one))
    b = np.random.default_rng(5).random((n, 3))
    L = lower(at_once)
    assert_allclose(L @ at_once.solve(b), b, rtol=0, atol=1e-9)
    assert_allclose(L.T @ at_once.solve_transposed(b), b, rtol=0, atol=1e-9)
    assert_allclose(at_once.solve(b)[:, 0], at_once.solve(b[:, 0]), rtol=0, atol=1e-10)


def test_two_factors_grown_from_one_do_not_meet():
    base = pool_factor((0, 1, 2))
    left = base.grow(POOL_K[3, [0, 1, 2]], 1.0 + LAM)
    right = base.grow(POOL_K[4, [0, 1, 2]], 1.0 + LAM)
    assert_array_equal(packed(left), packed(pool_factor((0, 1, 2, 3))))
    assert_array_equal(packed(right), packed(pool_factor((0, 1, 2, 4))))


@pytest.mark.parametrize(
    ("k", "kappa"),
    [
        ([np.nan, 0.0], 1.0),
        ([0.1, np.inf], 1.0),
        ([0.1, 0.2], np.nan),
        ([1.0, 0.5], 1.0),  # the first point again, without noise
        ([1.0, 0.5], 0.9),
        ([0.0, 0.0], 0.0),
        ([0.0, 0.0], -1.0),
    ],
)
def test_a_row_that_cannot_be_is_refused_and_leaves_no_trace(k, kappa):
    factor = Factor().grow(np.empty(0), 1.0).grow(np.array([0.5]), 1.0)
    kept = packed(factor).copy()
    with pytest.raises(NotPositiveDefinite), np.errstate(all="ignore"):
        factor.grow(np.array(k), kappa)
    assert_array_equal(packed(factor), kept)
    longer = factor.grow(np.array([0.2, 0.3]), 1.0)
    assert_allclose(lower(longer) @ lower(longer).T, [[1, 0.5, 0.2], [0.5, 1, 0.3], [0.2, 0.3, 1]], atol=1e-15)


@pytest.mark.parametrize("n", [1, BLOCK - 1, BLOCK, 2 * BLOCK + 40])
def test_few_rows_are_solved_by_products_to_the_same(n):
    X = np.random.default_rng(n).random((n, 3))
    factor = Factor.compute(Matern52(0.5)(X, X) + 0.05 * np.eye(n))
    B = np.random.default_rng(0).standard_normal((4, n))
    assert_allclose(factor.solve_rows(B), factor.solve(B.T).T, rtol=0.0, atol=1e-10)
    assert_allclose(factor.solve_rows_transposed(B), factor.solve_transposed(B.T).T, rtol=0.0, atol=1e-10)
