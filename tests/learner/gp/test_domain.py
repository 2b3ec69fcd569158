"""The unit cube as the learner sees it: every point is admissible, and the nearest one is the nearest."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from belated.errors import InvalidInput
from belated.learner.arrays import Array
from belated.learner.gp.domain import HOT, Compact, Coordinate, Finite, Interval, Lattice, OneHot

spans = st.integers(1, 12) | st.integers(1, 10**12)
linear = st.builds(lambda low, span: Lattice(low, low + span), st.integers(-(10**6), 10**6), spans)
logarithmic = st.builds(lambda low, span: Lattice(low, low + span, log=True), st.integers(1, 10**6), spans)
lattices = linear | logarithmic
one_hots = st.builds(OneHot, st.integers(1, 5))
coordinates = st.just(Interval()) | lattices | one_hots
compacts = st.lists(coordinates, min_size=1, max_size=4).map(lambda cs: Compact(tuple(cs)))
seeds = st.integers(0, 2**32 - 1)

small_lattices = st.builds(
    lambda low, span, log: Lattice(low, low + span, log), st.integers(1, 30), st.integers(1, 5), st.booleans()
)
small = st.lists(small_lattices | st.builds(OneHot, st.integers(1, 4)), max_size=3).map(lambda cs: Compact(tuple(cs)))


def some_points(domain: Compact, seed: int, n: int = 20) -> Array:
    """Random points, with the ends of every coordinate among them."""
    U = np.random.default_rng(seed).random((n, len(domain.coordinates)))
    U[0], U[1], U[2:] = 0.0, 1.0, np.where(U[2:] < 0.1, 0.0, np.where(U[2:] > 0.9, 1.0, U[2:]))
    return domain.place(U)


# Lattice


@given(lattices, st.data())
def test_level_undoes_unit(lattice: Lattice, data: st.DataObject) -> None:
    k = data.draw(st.integers(lattice.low, lattice.high))
    assert 0.0 <= lattice.unit(k) <= 1.0
    assert lattice.level(lattice.unit(k)) == k


@given(lattices)
def test_the_ends_of_a_lattice_are_exact(lattice: Lattice) -> None:
    assert lattice.unit(lattice.low) == 0.0
    assert lattice.unit(lattice.high) == 1.0
    assert lattice.level(0.0) == lattice.low
    assert lattice.level(1.0) == lattice.high
    assert lattice.level(-0.3) == lattice.low
    assert lattice.level(1.3) == lattice.high


@given(lattices, st.data())
def test_units_rise_strictly(lattice: Lattice, data: st.DataObject) -> None:
    k = data.draw(st.integers(lattice.low, lattice.high - 1))
    assert lattice.unit(k) < lattice.unit(k + 1)


@given(lattices, st.floats(0, 1))
def test_level_is_the_nearest(lattice: Lattice, u: float) -> None:
    k = lattice.level(u)
    assert lattice.low <= k <= lattice.high
    off = abs(lattice.unit(k) - u)
    for other in {max(k - 1, lattice.low), min(k + 1, lattice.high), lattice.low, lattice.high}:
        assert off <= abs(lattice.unit(other) - u) + 1e-15


def test_unit_follows_its_formula() -> None:
    assert Lattice(1, 9).unit(3) == 0.25
    assert Lattice(-10, 10).unit(0) == 0.5
    assert Lattice(1, 10**4, log=True).unit(100) == pytest.approx(0.5, abs=1e-15)
    assert Lattice(10, 1000, log=True).level(0.5) == 100


@given(logarithmic, seeds)
def test_one_level_and_many_are_computed_alike(lattice: Lattice, seed: int) -> None:
    column = some_points(Compact((lattice, Interval())), seed)[:, 0]  # a strided view
    for u in lattice.snap(column[:, None])[:, 0]:
        assert lattice.unit(lattice.level(u)) == u


@pytest.mark.parametrize("log", [False, True])
def test_places_on_a_lattice(log: bool) -> None:
    lattice = Lattice(1, 4, log)
    U = (np.arange(4000) + 0.5) / 4000
    levels = [lattice.level(u) for u in lattice.place(U)[:, 0]]
    shares = np.bincount(levels, minlength=5)[1:] / 4000
    cuts = np.log(np.sqrt([1 * 2, 2 * 3, 3 * 4])) / np.log(4)  # midpoints on the log scale
    expected = np.diff([0.0, *cuts, 1.0]) if log else np.full(4, 0.25)
    assert shares == pytest.approx(expected, abs=1e-3)
    assert levels == sorted(levels)


@pytest.mark.parametrize(
    ("bounds", "rule"),
    [
        ((3, 1), r"low must be less than high \(got 3, 1\)"),
        ((2, 2), r"low must be less than high \(got 2, 2\)"),
        ((0, 5, True), r"low must be at least 1 when log=True \(got 0\)"),
        ((0, 10**12 + 1), r"high - low must be at most 10\*\*12 \(got 0, 1000000000001\)"),
    ],
)
def test_a_lattice_refuses(bounds: tuple[int, ...], rule: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{rule}$"):
        Lattice(*bounds)  # type: ignore[arg-type]


# OneHot


def test_two_options_are_at_squared_distance_one() -> None:
    options = OneHot(3).list_points()
    for a, b in itertools.combinations(options, 2):
        assert np.sum((a - b) ** 2) == pytest.approx(1.0, abs=1e-15)


def test_options_take_equal_shares() -> None:
    chosen = OneHot(3).place(np.array([0.0, 0.33, 0.34, 0.66, 0.67, 1.0]))
    assert_array_equal(np.argmax(chosen, axis=1), [0, 0, 1, 1, 2, 2])
    assert_array_equal(np.sort(chosen, axis=1), np.tile([0.0, 0.0, HOT], (6, 1)))


def test_one_hot_refuses_no_options() -> None:
    with pytest.raises(InvalidInput, match=r"count must be at least 1 \(got 0\)"):
        OneHot(0)


# Compact


def test_layout() -> None:
    domain = Compact((OneHot(3), Interval(), Lattice(1, 8)))
    assert domain.D == 5
    assert domain.widths == (3, 1, 1)
    assert domain.columns == (slice(0, 3), slice(3, 4), slice(4, 5))
    assert domain.continuous.tolist() == [False, False, False, True, False]
    assert domain == Compact((OneHot(3), Interval(), Lattice(1, 8)))


@given(compacts, seeds)
def test_placed_points_are_admissible(domain: Compact, seed: int) -> None:
    X = some_points(domain, seed)
    assert X.shape == (20, domain.D)
    assert X.dtype == np.float64
    assert domain.contains(X).all()


@given(compacts, seeds)
def test_snap_keeps_admissible_points_and_is_idempotent(domain: Compact, seed: int) -> None:
    X = some_points(domain, seed)
    assert_array_equal(domain.snap(X), X)
    rough = np.random.default_rng(seed).normal(0.5, 1.0, X.shape)
    once = domain.snap(rough)
    assert domain.contains(once).all()
    assert_array_equal(domain.snap(once), once)


@given(small, seeds)
def test_snap_finds_the_nearest_of_all_points(domain: Compact, seed: int) -> None:
    every = domain.list_points(10**4)
    assert every is not None
    X = np.random.default_rng(seed).random((10, domain.D))
    distance = np.sqrt(((X[:, None, :] - every) ** 2).sum(axis=2)).min(axis=1)
    assert np.sqrt(((X - domain.snap(X)) ** 2).sum(axis=1)) == pytest.approx(distance, abs=1e-12)


@given(st.floats(0, 1))
def test_an_interval_is_left_as_it_is(u: float) -> None:
    domain = Compact((Interval(),))
    assert domain.place(np.array([[u]]))[0, 0] == u
    assert domain.snap(np.array([[u]]))[0, 0] == u


@pytest.mark.parametrize(
    "x",
    [
        [-1e-300, 0.0, HOT, 0.0],
        [1 + 1e-15, 0.0, HOT, 0.0],
        [np.nan, 0.0, HOT, 0.0],
        [0.5, 0.1, HOT, 0.0],
        [0.5, np.nan, HOT, 0.0],
        [0.5, 0.0, HOT, HOT],
        [0.5, 0.0, 0.0, 0.0],
        [0.5, 0.0, 1.0, 0.0],
    ],
)
def test_what_a_domain_does_not_contain(x: list[float]) -> None:
    domain = Compact((Interval(), Lattice(0, 4), OneHot(2)))
    assert domain.contains(np.array([x, [0.5, 0.25, HOT, 0.0]])).tolist() == [False, True]


@given(compacts, seeds)
def test_neighbours_are_admissible_and_differ_in_one_discrete_coordinate(domain: Compact, seed: int) -> None:
    for x in some_points(domain, seed, n=4):
        N = domain.list_neighbours(x, np.zeros(len(domain.coordinates), dtype=bool))
        assert domain.contains(N).all()
        assert len(np.unique(N, axis=0)) == len(N)
        changed = np.array([(N[:, s] != x[s]).any(axis=1) for s in domain.columns])
        assert_array_equal(changed.sum(axis=0), np.ones(len(N)))
        for coordinate, times in zip(domain.coordinates, changed.sum(axis=1), strict=True):
            moves = 2 * coordinate.span.bit_length() if isinstance(coordinate, Lattice) else expected_moves(coordinate)
            assert times == moves or (isinstance(coordinate, Lattice) and 1 <= times <= moves)


def expected_moves(coordinate: Coordinate) -> int:
    return coordinate.count - 1 if isinstance(coordinate, OneHot) else 0


@given(lattices, st.data())
def test_a_lattice_steps_by_one_and_further(lattice: Lattice, data: st.DataObject) -> None:
    k = data.draw(st.integers(lattice.low, lattice.high))
    around = {lattice.level(u) for u in Compact((lattice,)).list_neighbours(np.array([lattice.unit(k)]))[:, 0]}
    assert {max(k - 1, lattice.low), min(k + 1, lattice.high)} - {k} <= around
    assert {level for level in (k - 4, k + 4) if lattice.low <= level <= lattice.high} <= around
    assert k not in around


def test_any_level_is_a_few_steps_away() -> None:
    """From the lowest level uphill to a level in the middle of 10**9 by the best neighbour each time."""
    lattice = Lattice(0, 10**9)
    x, target, steps = lattice.unit(0), lattice.unit(123_456_789), 0
    while x != target:
        others = Compact((lattice,)).list_neighbours(np.array([x]))[:, 0]
        x, steps = others[np.argmin(np.abs(others - target))], steps + 1
    assert steps <= 2 * 30


def test_neighbours_of_a_lattice_by_hand() -> None:
    domain = Compact((Lattice(0, 30),))
    steps = domain.list_neighbours(domain.snap(np.array([[0.5]]))[0])[:, 0] * 30
    assert steps == pytest.approx([0, 7, 11, 13, 14, 16, 17, 19, 23, 30])  # 15 -+ 1, 2, 4, 8, and both ends
    steps = domain.list_neighbours(np.array([1 / 30]))[:, 0] * 30
    assert steps == pytest.approx([0, 2, 3, 5, 9, 17])  # never below the end, never twice


def test_fixed_coordinates_stay() -> None:
    domain = Compact((OneHot(3), Lattice(0, 1), Interval()))
    x = domain.place(np.array([[0.0, 0.0, 0.5]]))[0]
    assert len(domain.list_neighbours(x, np.array([False, False, False]))) == 3
    assert_array_equal(domain.list_neighbours(x, np.array([True, False, False])), [[HOT, 0, 0, 1, 0.5]])
    assert domain.list_neighbours(x, np.array([True, True, False])).shape == (0, 5)


@given(small)
def test_points_are_all_points_in_lexicographic_order(domain: Compact) -> None:
    size = domain.size
    assert size is not None
    every = domain.list_points(size)
    assert every is not None
    product = itertools.product(*(c.list_points().tolist() for c in domain.coordinates))
    assert_array_equal(every, np.array([list(itertools.chain(*parts)) for parts in product]))
    assert len(every) == size
    assert domain.contains(every).all()
    assert len(np.unique(every, axis=0)) == len(every)
    assert domain.list_points(size - 1) is None


def test_there_is_no_list_of_infinitely_or_too_many_points() -> None:
    assert Compact((Interval(), OneHot(2))).list_points(10**9) is None
    assert Compact((Interval(), OneHot(2))).size is None
    wide = Compact((Lattice(1, 10**9), Lattice(1, 10**9, log=True)))
    assert wide.list_points(10**6) is None
    assert wide.size == 10**18
    with pytest.raises(InvalidInput, match="no list of points"):
        Interval().list_points()


# Finite


def test_finite_keeps_its_own_read_only_points() -> None:
    given_points = np.array([[0.0, 1.0], [0.5, 0.5]])
    domain = Finite(given_points)
    given_points[0, 0] = 9.0
    assert domain.D == 2
    assert domain.Q[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        domain.Q[0, 0] = 1.0


@pytest.mark.parametrize("Q", [np.zeros(3), np.zeros((0, 2)), np.array([[np.nan]]), np.array([[np.inf]])])
def test_finite_refuses(Q: Array) -> None:
    with pytest.raises(InvalidInput, match=r"^Q must"):
        Finite(Q)
