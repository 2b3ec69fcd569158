"""Waits: the band of ρ against lifelines, by hand and by its coverage; the tail; what is to come; delays near x."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from belated.errors import InvalidInput
from belated.learner.delays.survival import Arrivals, Nearby

# After 1, 2 and 2 rounds three of six arrived, one after 4; two are out, for 2 and for 5 rounds:
# S = 5/6 at 1, 5/6 · 3/5 = 1/2 at 2 (the one out for 2 counts), 1/2 · 1/2 = 1/4 at 4.
BY_HAND = Arrivals(np.array([1.0, 2, 2, 2, 4, 5]), np.array([True, True, True, False, True, False]))


def censored(n, seed, whole, mean=8.0, never=0.0, until=20.0):
    """Waits of n queries asked evenly over a time: exponential delays, or geometric ones in rounds."""
    rng = np.random.default_rng(seed)
    d = rng.geometric(1 / mean, n).astype(float) if whole else rng.exponential(mean, n)
    d[rng.random(n) < never] = math.inf
    age = rng.integers(1, int(until) + 1, n).astype(float) if whole else rng.uniform(0, until, n)
    return Arrivals(np.where(d <= age, d, age), d <= age)


# ρ and its band


def test_rho_by_hand():
    estimates = [BY_HAND.rho(m).estimate for m in (0, 1, 1.5, 2, 3, 4, 5, 100)]
    assert_allclose(estimates, [0, 1 / 6, 1 / 6, 1 / 2, 1 / 2, 3 / 4, 3 / 4, 3 / 4], rtol=1e-12)


def test_the_band_by_hand():
    """At 2: S = 1/2, Greenwood's sum 1/(6·5) + 2/(5·3) = 1/6, so S^exp(±1.96 √(1/6) / log 2)."""
    e = math.exp(1.959963984540054 * math.sqrt(1 / 6) / math.log(2))
    assert_allclose(BY_HAND.rho(2), (0.5, 1 - 0.5 ** (1 / e), 1 - 0.5**e), rtol=1e-12)


@pytest.mark.parametrize("whole", [True, False], ids=["rounds", "time"])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_the_band_is_that_of_lifelines(whole, confidence):
    pytest.importorskip("lifelines", reason="lifelines is not installed: pip install belated[dev]")
    from lifelines import KaplanMeierFitter

    for seed in range(5):
        seen = censored(40, seed, whole)
        theirs = KaplanMeierFitter(alpha=1 - confidence).fit(seen.waited, seen.arrived).confidence_interval_
        ours = [seen.rho(t, confidence) for t in seen.survival.times]
        rows = theirs.loc[seen.survival.times].to_numpy()  # lower and upper limit of S
        inside = seen.survival.survival > 0
        assert_allclose(np.array(ours)[inside, 1:], 1 - rows[inside, ::-1], rtol=0, atol=1e-9)


def test_nothing_arrived():
    nothing = Arrivals(np.array([3.0, 5, 5]), np.zeros(3, dtype=bool))
    assert nothing.rho(5) == (0.0, 0.0, pytest.approx(1 - 0.025 ** (1 / 2)))  # none of two: Clopper-Pearson
    assert nothing.rho(2) == (0.0, 0.0, pytest.approx(1 - 0.025 ** (1 / 3)))
    assert nothing.rho(6) == (0.0, 0.0, 1.0)  # nobody has waited for so long
    assert (nothing.never, nothing.settled, nothing.quantile(0.5)) == (1.0, False, None)
    assert nothing.expected([3.0, 5.0], 10) == 0


def test_nobody_asked():
    empty = Arrivals(np.empty(0), np.empty(0, dtype=bool))
    assert empty.rho(1) == (0.0, 0.0, 1.0)
    assert (empty.never, empty.settled, empty.quantile(1.0), empty.longest) == (1.0, False, None, 0.0)
    assert empty.comes([]).tolist() == []


def test_everything_arrived():
    at_once = Arrivals(np.full(7, 3.0), np.ones(7, dtype=bool))
    assert at_once.rho(3) == (1.0, pytest.approx(0.025 ** (1 / 7)), 1.0)  # seven of seven: Clopper-Pearson
    assert at_once.rho(2.9)[:2] == (0.0, 0.0)
    one_by_one = Arrivals(np.arange(1.0, 8), np.ones(7, dtype=bool))
    assert one_by_one.rho(7) == (1.0, one_by_one.rho(6).low, 1.0)
    assert (one_by_one.never, one_by_one.settled) == (0.0, False)


def test_beyond_the_longest_wait_anything_may_happen():
    assert BY_HAND.rho(5).high < 1
    assert BY_HAND.rho(5.01) == (0.75, BY_HAND.rho(5).low, 1.0)
    settled = Arrivals(np.repeat([1.0, 2.0, 30.0], 10), np.repeat([True, True, False], 10))
    assert settled.settled
    assert settled.rho(math.inf) == settled.rho(2)


@given(st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=30), st.floats(0, 15), st.floats(0.5, 0.99))
def test_the_band_holds_its_estimate(waits, m, confidence):
    seen = Arrivals(np.array([float(w) for w, _ in waits]), np.array([a for _, a in waits], dtype=bool))
    band = seen.rho(m, confidence)
    assert 0 <= band.low <= band.estimate <= band.high <= 1
    wider = seen.rho(m, (1 + confidence) / 2)
    assert wider.low <= band.low
    assert wider.high >= band.high


def cover(studies, n, seed):
    """How often the 95 % band at m holds ρ(m), by rounds and by time, for an early, a middle and a late m."""
    hits = []
    for r in range(studies):
        for whole in (True, False):
            seen = censored(n, [seed, r], whole, never=0.2)
            truth = [0.8 * (1 - (7 / 8) ** m if whole else 1 - math.exp(-m / 8)) for m in (2, 6, 14)]
            bands = [seen.rho(m) for m in (2, 6, 14)]
            hits.append([band.low <= rho <= band.high for band, rho in zip(bands, truth, strict=True)])
    return np.sum(np.reshape(hits, (-1, 2, 3)), axis=0)


def test_the_band_covers():
    """250 studies of 60 queries: at a coverage of 95 % fewer than 223 hits have a probability below 1e-3."""
    assert np.all(cover(250, 60, 20240) >= 223)


@pytest.mark.long
def test_the_band_covers_closely():
    """4000 studies of 60: the coverage lies between 93 % and 98 % (its standard error is 0.35 %)."""
    share = cover(4000, 60, 20241) / 4000
    assert np.all((share > 0.93) & (share < 0.98)), share


@pytest.mark.parametrize("confidence", [0, 1, -0.5, math.nan, "0.9"])
def test_a_confidence_lies_between_0_and_1(confidence):
    with pytest.raises(InvalidInput, match="confidence must"):
        BY_HAND.rho(2, confidence)


def test_m_must_be_a_number():
    with pytest.raises(InvalidInput, match="m must not be nan"):
        BY_HAND.rho(math.nan)


# Quantiles


def test_quantiles_by_hand():
    assert [BY_HAND.quantile(q) for q in (0.1, 1 / 6, 0.17, 0.5, 0.6, 0.75, 0.76, 1.0)] == [
        1,
        1,
        2,
        2,
        4,
        4,
        None,
        None,
    ]


@pytest.mark.parametrize("q", [0, -1, 1.1, math.nan])
def test_a_quantile_is_of_a_share(q):
    with pytest.raises(InvalidInput, match="q must"):
        BY_HAND.quantile(q)


@given(st.integers(1, 60))
def test_half_of_all_is_the_middle_one(n):
    """However S was rounded on its way."""
    seen = Arrivals(np.arange(1.0, 2 * n + 1), np.ones(2 * n, dtype=bool))
    assert seen.quantile(0.5) == n
    assert seen.quantile(1.0) == 2 * n


# The tail, and what is still to come


def test_the_tail_is_settled_once_silence_has_lasted():
    some = censored(200, 3, True, mean=4.0, never=0.3, until=100)
    assert some.settled
    assert abs(some.never - 0.3) < 0.1
    early = sum(
        censored(200, [3, r], whole, mean=40.0, until=50).settled for r in range(100) for whole in (True, False)
    )
    assert early <= 24  # 5 % of 200: more than 24 have a probability of 1e-4
    assert not Arrivals(np.append(some.waited, 200.0), np.append(some.arrived, True)).settled  # the longest arrived


def test_comes_by_hand():
    few = Arrivals(BY_HAND.waited, BY_HAND.arrived)
    assert few.comes([0, 3, 50]).tolist() == [0.5, 0.5, 0.5]  # four arrivals are too few to tell
    seen = Arrivals(np.repeat([1.0, 3.0, 9.0], [10, 6, 4]), np.repeat([True, True, False], [10, 6, 4]))
    # S = 1/2 from 1 on, 1/5 from 3 on, and 1/5 never come
    assert_allclose(seen.comes([0, 1, 2, 3, 9]), [0.8, 0.6, 0.6, 0, 0], atol=1e-12)
    assert seen.comes([[0.0, 1.0]]).shape == (1, 2)


def test_where_all_arrived_all_come():
    seen = Arrivals(np.arange(1.0, 13), np.ones(12, dtype=bool))
    assert seen.comes([0, 5, 11.5, 12, 40]).tolist() == [1, 1, 1, 1, 1]


def test_expected_by_hand():
    """S(2) = 1/2, S(4) = 1/4: of those out for 2 one half comes within 2 more, of those out for 5 none."""
    assert BY_HAND.expected([2.0, 5.0], 2) == pytest.approx(0.5)
    assert BY_HAND.expected([2.0, 5.0], 1.9) == 0
    assert BY_HAND.expected([0.0], 1) == pytest.approx(1 / 6)
    assert BY_HAND.expected([], 5) == 0
    with pytest.raises(InvalidInput, match="h must be at least 0"):
        BY_HAND.expected([1.0], -1)


@given(st.integers(0, 2**32), st.booleans())
def test_all_that_come_are_expected_in_the_end(seed, whole):
    seen = censored(60, seed, whole)
    ages = seen.waited[~seen.arrived]
    assert_allclose(seen.expected(ages, math.inf), np.sum(seen.comes(ages)), atol=1e-9)
    steps = [seen.expected(ages, h) for h in (0, 1, 2, 5, 10, 100)]
    assert steps[0] == 0
    assert np.all(np.diff(steps) >= -1e-12)


def test_what_is_expected_comes():
    """Over 300 studies as many come within 5 rounds as were expected to; geometric delays, all of them seen to their
    end by the older queries. The difference, in standard errors of its mean, passes 4 with probability 1e-4."""
    differences = []
    for r in range(300):
        rng = np.random.default_rng([7, r])
        d, age = rng.geometric(0.15, 120).astype(float), np.arange(120.0, 0, -1)
        seen = Arrivals(np.minimum(d, age), d <= age)
        out = ~seen.arrived
        differences.append(np.sum(d[out] <= age[out] + 5) - seen.expected(age[out], 5))
    assert abs(np.mean(differences)) < 4 * np.std(differences) / math.sqrt(300)


# Near x


def grouped(seed, n=400):
    """Two places far apart: fast at 0, slow at 1."""
    rng = np.random.default_rng(seed)
    slow = rng.random(n) < 0.5
    d, age = rng.geometric(np.where(slow, 0.05, 0.4)).astype(float), rng.integers(1, 60, n).astype(float)
    return slow[:, None].astype(float), Arrivals(np.minimum(d, age), d <= age)


def test_near_x_it_is_the_kaplan_meier_of_the_queries_there():
    X, seen = grouped(1)
    near = Nearby.fit(X, seen)
    assert near.width < 0.5
    for x in (0.0, 1.0):
        there = X[:, 0] == x
        alone = Arrivals(seen.waited[there], seen.arrived[there])
        for m in (1, 5, 20):
            assert abs(near.rho(m, np.array([[x]]))[0] - alone.rho(m).estimate) < 0.03


def test_where_x_makes_no_difference_it_is_that_of_all():
    X, seen = grouped(2)
    everywhere = Nearby(X, seen, math.inf)
    far_away = Nearby(X, seen, 0.05)
    for m in (0, 1, 4.5, 17, 80):
        assert_allclose(everywhere.rho(m, X[:5]), seen.rho(m).estimate, atol=1e-12)
        assert_allclose(far_away.rho(m, np.array([[0.5]])), seen.rho(m).estimate, atol=1e-12)  # nobody is near
    ages = np.array([0.0, 3, 50])
    assert_allclose(everywhere.survival(X[:3], ages), seen.survival.over(ages), atol=1e-12)
    assert_allclose(everywhere.expected(X[:3], ages, 4), seen.expected(ages, 4), atol=1e-12)


def test_a_smooth_dependence_is_followed():
    rng = np.random.default_rng(3)
    X = rng.random((600, 1))
    p = 0.4 / (1 + 5 * X[:, 0])
    d, age = rng.geometric(p).astype(float), rng.integers(1, 100, 600).astype(float)
    near = Nearby.fit(X, Arrivals(np.minimum(d, age), d <= age))
    x = np.array([[0.1], [0.5], [0.9]])
    assert_allclose(near.rho(5, x), 1 - (1 - 0.4 / (1 + 5 * x[:, 0])) ** 5, atol=0.12)


def test_a_model_of_few_or_many_rows():
    nothing = Nearby.fit(np.zeros((3, 1)), Arrivals(np.ones(3), np.zeros(3, dtype=bool)))
    assert nothing.rho(5, np.zeros((2, 1))).tolist() == [0, 0]
    X, seen = grouped(4, n=2500)
    assert len(Nearby.fit(X, seen).X) == 2000
    with pytest.raises(InvalidInput, match="x must be rows of 1 columns"):
        nothing.rho(5, np.zeros((2, 3)))


def test_the_wait_of_all_is_kept_when_x_says_nothing():
    rng = np.random.default_rng(5)
    _, seen = grouped(5)
    near = Nearby.fit(rng.random((400, 3)), seen)
    spread = near.rho(5, rng.random((50, 3)))
    assert np.ptp(spread) < 0.25


def test_many_of_the_same_age_at_one_query_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What memory would not hold: a row for each of ten million people."""
    rng = np.random.default_rng(0)
    X, d = rng.random((600, 2)), rng.exponential(size=600)
    near = Nearby(X, Arrivals(np.minimum(d, 1.0), d <= 1.0), 0.2)
    x, age, many = X[:5], np.linspace(0.0, 0.4, 5), np.array([1, 3, 2, 400, 1])
    looked: list[int] = []
    there = near.survival
    monkeypatch.setattr(Nearby, "survival", lambda _, x, age: looked.append(len(x)) or there(x, age))
    one_by_one = [near.expected(x[i : i + 1], age[i : i + 1], 0.5) for i in range(5)]
    assert near.expected(x.repeat(many, axis=0), age.repeat(many), 0.5) == pytest.approx(np.dot(many, one_by_one))
    assert max(looked) == 5
    assert near.expected(X, d, 0.5) == pytest.approx(
        sum(near.expected(X[i : i + 1], d[i : i + 1], 0.5) for i in range(600))
    )
    assert near.expected(X[:0], d[:0], 0.5) == 0.0
