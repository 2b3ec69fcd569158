"""The maximiser: corners exactly, never outside, discrete coordinates as what they are, as good as brute force."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from belated.learner.belief import ModelBelief
from belated.learner.choice.maximize import Effort, Search, argmax, maximize, spread_candidates
from belated.learner.choice.sequence import kronecker
from belated.learner.gp.domain import Compact, Interval, Lattice, OneHot
from belated.learner.gp.kernels import SE, Matern52
from belated.learner.gp.posterior import GP
from belated.learner.policies import UCB, LogEI, Overtaking, ThompsonSampling
from tests.support.examples import examples

EFFORT = Effort(512)


@dataclass(frozen=True)
class Formula:
    """A surface from a function of the columns; its gradient by central differences, which is exact enough here."""

    f: object

    def __call__(self, Q):
        return np.asarray(self.f(Q), dtype=float)

    def gradient(self, Q):
        h = 1e-6
        steps = h * np.eye(Q.shape[1])
        return self(Q), np.stack([(self(Q + s) - self(Q - s)) / (2 * h) for s in steps], axis=1)


def search(domain: Compact, given: dict[int, float] | None = None, anchors: np.ndarray | None = None) -> Search:
    columns = np.full(domain.D, np.nan)
    for c, value in (given or {}).items():
        columns[c] = value
    return Search(domain, columns, np.empty((0, domain.D)) if anchors is None else anchors)


def best(surface, where: Search, seed: int = 0) -> np.ndarray:
    return maximize(surface, where, np.random.default_rng(seed), EFFORT)[0]


def believed(domain: Compact, seed: int, n: int = 15, kernel=None) -> ModelBelief:
    """What was heard at n random points of a space."""
    rng = np.random.default_rng(seed)
    X = domain.place(rng.random((n, len(domain.coordinates))))
    kernel = (kernel or Matern52(0.5)).on([domain.widths])
    return ModelBelief(GP(kernel, 1e-3).condition(X, rng.standard_normal(n)), np.ones(n, bool), np.zeros(n, bool))


def anchors(b: ModelBelief) -> np.ndarray:
    """The points worth starting near, as a choice has them: the four best heard and the two newest."""
    heard = np.argsort(-b.posterior.y_tilde, kind="stable")[:4]
    return b.posterior.X[np.union1d(heard, np.arange(len(b.posterior.X))[-2:])]


# A finite Q


@pytest.mark.parametrize(
    ("values", "index"),
    [
        ([1.0, 3.0, 2.0], 1),
        ([3.0, 1.0, 3.0, 3.0], 0),
        ([1.0, 3.0, 3.0], 1),
        ([0.0, 0.0, 0.0], 0),
        ([5.0], 0),
        ([-7.0, -7.0], 0),
        ([1.0, 2.0, 2.0 + 4e-16], 1),  # the same number, computed twice
        ([0.1 + 0.2, 0.3, 0.0], 0),
        ([0.3, 0.1 + 0.2, 0.0], 0),
        ([1.0, 1.0 + 1e-6, 0.0], 1),  # and a different one
        ([1e-9, 2e-9, 0.0], 1),
        ([-math.inf, 1.0, 1.0], 1),
        ([-math.inf, -math.inf], 0),
    ],
)
def test_ties_go_to_the_lowest_index(values, index):
    assert argmax(np.array(values)) == index


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.data())
def test_argmax_takes_the_best_of_the_allowed(values, data):
    """What it takes is allowed, best up to the slack it states, and nothing before it is as good."""
    v = np.array(values)
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=len(v), max_size=len(v))))
    if not allowed.any():
        allowed[data.draw(st.integers(0, len(v) - 1))] = True
    i = argmax(v, allowed)
    slack = 1e-10 * np.max(np.abs(v)) + 1e-12
    assert allowed[i]
    assert v[i] >= np.max(v[allowed]) - slack
    assert np.all(v[:i][allowed[:i]] < np.max(v[allowed]))


@pytest.mark.parametrize("terrible", [-1e14, -1e24, -1e300])
def test_one_terrible_value_does_not_tie_the_rest(terrible):
    """LogEI is that low where an outcome is certain: u²/2 with u = (μ - μ⁺)/σ."""
    values = np.array([terrible, 1.0, 3.0, 2.0])
    assert argmax(values) == 2
    assert argmax(values, np.array([False, True, True, True])) == 2
    most = np.array([terrible, 1.0, terrible, 3.0, terrible, 2.0, terrible, terrible])  # nearly all have been tried
    assert argmax(most) == 3


def test_what_is_not_allowed_is_never_taken():
    values = np.array([5.0, -math.inf, -math.inf])
    assert argmax(values, np.array([False, False, True])) == 2


# Candidates


@pytest.mark.parametrize("d", [1, 2, 6, 20])
def test_a_stretch_of_the_sequence_is_the_sequence(d):
    shift = np.random.default_rng(0).random(d)
    U = kronecker(0, 200, d, shift)
    assert U.shape == (200, d)
    assert np.all((U >= 0) & (U < 1))
    assert_allclose(kronecker(150, 50, d, shift), U[150:], rtol=0, atol=1e-12)
    assert len(np.unique(U.round(9), axis=0)) == 200


@pytest.mark.parametrize("start", [0, 7, 10_000])
def test_any_stretch_fills_evenly(start):
    """In one dimension no gap of n points is wider than 2/n (three-distance theorem of the golden ratio: 1.9/n)."""
    for n in (10, 50, 300):
        u = np.sort(kronecker(start, n, 1, np.array([0.3]))[:, 0])
        gaps = np.diff(np.append(u, u[0] + 1))
        assert gaps.max() < 2.0 / n


def test_in_two_dimensions_every_cell_of_a_coarse_grid_is_hit():
    cells = np.floor(kronecker(0, 400, 2, np.array([0.1, 0.7])) * 10).astype(int)
    assert len({tuple(c) for c in cells.tolist()}) == 100


MIXED = Compact((Interval(), Lattice(0, 9), OneHot(3), Interval(), Lattice(1, 10**6, log=True)))


@pytest.mark.parametrize("count", [0, 1, 5])
def test_candidates_are_admissible_and_hold_what_is_given(count):
    A = MIXED.place(np.random.default_rng(1).random((count, 5)))
    given_option = MIXED.columns[2]
    fixed = dict(zip(range(MIXED.D)[given_option], [0.0, 1 / math.sqrt(2), 0.0], strict=True)) | {0: 0.123}
    C = spread_candidates(search(MIXED, fixed, A), 64, np.random.default_rng(2))
    assert np.all(MIXED.contains(C))
    assert len(C) >= 64
    for c, value in fixed.items():
        assert_array_equal(C[:, c], value)
    free = spread_candidates(search(MIXED, {}, A), 64, np.random.default_rng(2))
    assert np.all(MIXED.contains(free))
    for a in A:
        assert np.any(np.all(free == a, axis=1))


def test_candidates_near_an_anchor_come_close_and_far():
    domain = Compact((Interval(),) * 4)
    anchor = np.full((1, 4), 0.5)
    C = spread_candidates(search(domain, {}, anchor), 256, np.random.default_rng(3))
    distance = np.linalg.norm(C - anchor, axis=1)
    assert np.sum((distance > 0) & (distance < 0.02)) > 10
    assert np.sum((distance > 0.02) & (distance < 0.2)) > 10


# The continuous


@pytest.mark.parametrize("d", [1, 2, 6])
@pytest.mark.parametrize("seed", range(6))
def test_a_corner_is_reached_exactly(d, seed):
    rng = np.random.default_rng(seed)
    weights = rng.choice([-1.0, 1.0], d) * rng.uniform(0.05, 3.0, d)
    x = best(Formula(lambda Q: Q @ weights), search(Compact((Interval(),) * d)), seed)
    assert_array_equal(x, (weights > 0).astype(float))


@pytest.mark.parametrize("seed", range(6))
def test_a_curved_surface_with_its_optimum_in_a_corner(seed):
    """The optimum of the formula lies outside the cube, so inside it is the corner or edge nearest to it."""
    rng = np.random.default_rng(seed)
    centre = rng.choice([-0.4, 0.5, 1.3], 5)
    x = best(Formula(lambda Q: -np.sum((Q - centre) ** 2, axis=1)), search(Compact((Interval(),) * 5)), seed)
    outside = centre != 0.5
    assert_array_equal(x[outside], np.clip(centre, 0, 1)[outside])
    assert_allclose(x[~outside], 0.5, rtol=0, atol=1e-5)


@pytest.mark.parametrize("corner", list(itertools.product([0.0, 1.0], repeat=3)))
def test_a_belief_whose_mean_rises_to_a_corner(corner):
    """The policy's surface itself: heard along the diagonal to a corner, the better the nearer."""
    domain, corner = Compact((Interval(),) * 3), np.array(corner)
    near = np.linspace(0.3, 0.9, 6)[:, None]
    X = corner * near + (1 - corner) * (1 - near)
    posterior = GP(SE(1.0), 1e-4).condition(X, 3 * near[:, 0])
    b = ModelBelief(posterior, np.ones(6, bool), np.zeros(6, bool))
    for policy in (UCB(), LogEI(), Overtaking()):
        x = best(policy.surface(b, 1.0, np.random.default_rng(0)), search(domain, {}, X[-2:]))
        assert_array_equal(x, corner)


def check_gaps(gaps: list[float]) -> None:
    """How far below the optimum, relative to the range of the surface: nearly always at it, and never far from it."""
    assert sum(gap <= 1e-9 for gap in gaps) >= len(gaps) - 1, gaps
    assert max(gaps) <= 1e-3, gaps


@pytest.mark.parametrize("policy", [UCB(), LogEI(), Overtaking(), ThompsonSampling()], ids=lambda p: type(p).__name__)
def test_two_dimensions_against_a_fine_grid(policy):
    """Of 8 surfaces with several hills each, at least 7 to the last digit and the other to a thousandth."""
    domain, gaps, side = Compact((Interval(), Interval())), [], np.linspace(0, 1, 81)
    for seed in range(8):
        b = believed(domain, seed, 12, Matern52(0.3))
        surface = policy.surface(b, 2.0, np.random.default_rng(seed))
        grid = surface(np.stack(np.meshgrid(side, side, indexing="ij"), -1).reshape(-1, 2))
        x = best(surface, search(domain, {}, anchors(b)), seed)
        gaps.append((grid.max() - surface(x[None, :])[0]) / np.ptp(grid))
    check_gaps(gaps)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("sharp", [0.15, 0.08])
def test_a_corner_is_found_beside_a_broad_hill(d, sharp):
    """A hill of height 1 in the middle has nearly all the candidates; the corner is half as high again. No anchors
    help; but a space of so few dimensions has only four or eight corners, and they can all be looked at."""
    for corner in itertools.product([0.0, 1.0], repeat=d):
        at = np.array(corner)

        def surface(Q, at=at):
            hill = np.exp(-0.5 * np.sum((Q - 0.5) ** 2, axis=1) / 0.3**2)
            return hill + 1.5 * np.exp(-np.sum(np.abs(Q - at), axis=1) / sharp)

        assert_array_equal(best(Formula(surface), search(Compact((Interval(),) * d))), at)


def test_it_returns_points_in_order_of_value():
    domain = Compact((Interval(),) * 2)
    surface = UCB().surface(believed(domain, 0), 1.0, np.random.default_rng(0))
    ranked = maximize(surface, search(domain), np.random.default_rng(0), EFFORT)
    values = surface(ranked)
    assert np.all(np.diff(values) <= 1e-12)
    assert len(ranked) > 500  # the runners-up, for when the best is taken


def test_the_same_generator_gives_the_same_points():
    domain = Compact((Interval(), Lattice(0, 20), OneHot(3)))
    surface = UCB().surface(believed(domain, 0), 1.0, np.random.default_rng(0))
    one, other = (maximize(surface, search(domain), np.random.default_rng(5), EFFORT) for _ in range(2))
    assert_array_equal(one, other)


# The discrete


def brute_force(surface, domain: Compact, steps: int) -> np.ndarray:
    """The values at every combination of the discrete coordinates and a grid of the continuous ones."""
    axes = [
        [np.array([u]) for u in np.linspace(0, 1, steps)] if c.continuous else list(c.list_points())
        for c in domain.coordinates
    ]
    return surface(np.array([np.concatenate(parts) for parts in itertools.product(*axes)]))


@pytest.mark.parametrize(
    ("coordinates", "steps"),
    [
        ((Interval(), Lattice(0, 9), OneHot(3)), 201),
        ((OneHot(4), OneHot(3), Interval()), 401),
        ((Lattice(1, 100, log=True), Interval()), 101),
        ((Lattice(0, 40), Lattice(0, 40)), 1),
        ((OneHot(5), Lattice(0, 6), OneHot(4), Lattice(-3, 3)), 1),
    ],
    ids=["real integer choice", "choice choice real", "log integer and real", "integers", "choices and integers"],
)
def test_mixed_surfaces_against_brute_force(coordinates, steps):
    """Of 12 surfaces at least 11 to the last digit; the other to a thousandth: a ridge that runs across both kinds of
    coordinates can be climbed one level at a time only so far."""
    domain, gaps = Compact(coordinates), []
    for seed in range(12):
        b = believed(domain, seed, 20)
        surface = UCB().surface(b, 1.5, np.random.default_rng(seed))
        x = best(surface, search(domain, {}, anchors(b)), seed)
        assert np.all(domain.contains(x[None, :]))
        everything = brute_force(surface, domain, steps)
        gaps.append((everything.max() - surface(x[None, :])[0]) / np.ptp(everything))
    check_gaps(gaps)


@pytest.mark.parametrize(
    "coordinates",
    [
        (Lattice(1, 1000, log=True), Lattice(1, 8), OneHot(3)),
        (Lattice(0, 10**6), Interval()),
        (Lattice(0, 300), Lattice(0, 300), Lattice(0, 300)),
    ],
    ids=["log integer, integer, choice", "long integer and real", "three integers"],
)
@pytest.mark.parametrize("seed", range(4))
def test_no_neighbour_of_the_best_is_better(coordinates, seed):
    """It climbs until neither a gradient nor a discrete step helps, however many levels there are."""
    domain = Compact(coordinates)
    b = believed(domain, seed, 20)
    for policy in (UCB(), LogEI(), Overtaking()):
        surface = policy.surface(b, 1.5, np.random.default_rng(seed))
        x = best(surface, search(domain, {}, anchors(b)), seed)
        around = surface(domain.list_neighbours(x))
        assert around.max() <= surface(x[None, :])[0] + 1e-9


@pytest.mark.parametrize("target", [0, 1, 123_456_789, 10**9 - 1, 10**9])
def test_a_long_lattice_is_climbed_to_within_a_step(target):
    """A billion levels cannot be listed; neighbours and candidates must get there. Ends exactly."""
    domain = Compact((Lattice(0, 10**9), Interval()))
    surface = Formula(lambda Q: -((Q[:, 0] - target / 1e9) ** 2) - (Q[:, 1] - 1.5) ** 2)
    x = best(surface, search(domain))
    assert np.all(domain.contains(x[None, :]))
    assert x[1] == 1.0
    assert abs(x[0] - target / 1e9) < 0.01
    if target in (0, 10**9):
        assert x[0] == target / 1e9


def test_integers_next_to_the_optimum_of_the_relaxation_are_not_assumed_best():
    """The relaxed optimum is at 0.5 with a tilt; only the levels 0 and 1 exist, and 1 is better."""
    domain = Compact((Lattice(0, 1), Interval()))
    surface = Formula(lambda Q: -((Q[:, 0] - 0.45) ** 2) + np.where(Q[:, 0] > 0.99, 0.2, 0.0) + Q[:, 1])
    assert_array_equal(best(surface, search(domain)), [1.0, 1.0])


# What is given


@pytest.mark.parametrize("seed", range(5))
def test_given_columns_stay_as_given_and_the_rest_is_optimal(seed):
    domain = Compact((Interval(), Lattice(0, 9), OneHot(3), Interval()))
    option = [0.0, 0.0, 1 / math.sqrt(2)]
    fixed = {0: 0.317, **dict(zip((2, 3, 4), option, strict=True))}
    b = believed(domain, seed, 20)
    surface = UCB().surface(b, 1.5, np.random.default_rng(seed))
    near = anchors(b).copy()
    near[:, list(fixed)] = list(fixed.values())
    ranked = maximize(surface, search(domain, fixed, near), np.random.default_rng(seed), EFFORT)
    for c, value in fixed.items():
        assert_array_equal(ranked[:, c], value)
    assert np.all(domain.contains(ranked))
    free = np.array([[0.317, k / 9, *option, u] for k in range(10) for u in np.linspace(0, 1, 401)])
    assert surface(ranked[:1])[0] >= surface(free).max() - 1e-9


def test_when_everything_is_given_there_is_one_point():
    domain = Compact((Interval(), Lattice(0, 4)))
    ranked = maximize(Formula(lambda Q: Q[:, 0]), search(domain, {0: 0.4, 1: 0.25}), np.random.default_rng(0), EFFORT)
    assert_array_equal(np.unique(ranked, axis=0), [[0.4, 0.25]])


# Never outside

coordinates = (
    st.just(Interval())
    | st.builds(lambda low, span: Lattice(low, low + span), st.integers(-50, 50), st.integers(1, 10**6))
    | st.builds(lambda low, span: Lattice(low, low + span, log=True), st.integers(1, 50), st.integers(1, 10**6))
    | st.builds(OneHot, st.integers(1, 4))
)
domains = st.lists(coordinates, min_size=1, max_size=4).map(lambda cs: Compact(tuple(cs)))


@given(domains, st.integers(0, 2**32 - 1), st.data())
@settings(max_examples=examples(40))
def test_it_never_proposes_outside(domain, seed, data):
    rng = np.random.default_rng(seed)
    b = believed(domain, seed, 6)
    policy = data.draw(st.sampled_from([UCB(), LogEI(), Overtaking(), ThompsonSampling()]))
    some = domain.place(rng.random((1, len(domain.coordinates))))[0]
    fixed = {
        c: float(some[c])
        for s in domain.columns
        for c in range(domain.D)[s]
        if data.draw(st.booleans(), label="given") and (s.stop - s.start == 1)
    }
    near = b.posterior.X[: data.draw(st.integers(0, 4))].copy()
    near[:, list(fixed)] = list(fixed.values())
    surface = policy.surface(b, 2.0, rng)
    ranked = maximize(surface, search(domain, fixed, near), rng, Effort(32, starts=3))
    assert np.all(np.isfinite(ranked))
    assert np.all((ranked >= 0) & (ranked <= 1))
    assert np.all(domain.contains(ranked))
    for c, value in fixed.items():
        assert_array_equal(ranked[:, c], value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("share", [0.5, 0.0], ids=["half", "all"])
def test_a_surface_that_is_not_finite_is_a_failure_and_no_choice(value, share):
    """What follows is not a matter of the maximiser: a choice has other hyperparameters to try."""

    class Broken:
        def __call__(self, Q):
            return np.where(Q[:, 0] >= share, value, Q[:, 1])

        def gradient(self, Q):
            return self(Q), np.full(Q.shape, value)

    with pytest.raises(FloatingPointError):
        maximize(Broken(), search(Compact((Interval(), Interval(), Lattice(0, 5)))), np.random.default_rng(0), EFFORT)
