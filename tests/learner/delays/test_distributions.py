"""Delays: draws against ρ_m and the mean, Kaplan-Meier against two libraries and by hand, and what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from belated import delays
from belated.errors import BelatedError, InvalidInput
from belated.learner.delays.distributions import (
    ByInput,
    Delay,
    Distribution,
    Empirical,
    Exponential,
    Fixed,
    Geometric,
    LogNormal,
    Poisson,
    Sometimes,
    Uniform,
)
from belated.learner.delays.survival import kaplan_meier

ALWAYS_HEARD = [
    Poisson(10),
    Poisson(0.3),
    Fixed(4),
    Geometric(0.2),
    Geometric(1.0),
    Exponential(3.0),
    LogNormal(5.0, 0.5),
    Uniform(2.0, 6.0),
    Empirical([1, 1, 2, 7.5]),
]
ALL = [*ALWAYS_HEARD, Sometimes(Poisson(4), 0.3), Sometimes(Uniform(0, 2), 1.0), Empirical([3, math.inf])]


def draws(delay, n, seed=20220617):
    rng = np.random.default_rng(seed)
    return np.array([delay.draw(rng, {}, None) for _ in range(n)])


# Draws


@pytest.mark.parametrize("delay", ALL, ids=str)
def test_draws_have_the_stated_rho(delay):
    """Dvoretzky-Kiefer-Wolfowitz: sup_m |share of draws ≤ m - ρ_m| passes 0.019 with probability at most 1e-6."""
    n = 20_000
    drawn = draws(delay, n)
    assert (drawn >= 0).all()
    shares = [(m, np.mean((drawn <= m) & np.isfinite(drawn))) for m in [*np.arange(0, 30, 0.25), math.inf]]
    distance = max(abs(share - delay.rho(m)) for m, share in shares)
    assert distance <= math.sqrt(math.log(2 / 1e-6) / (2 * n))


@pytest.mark.parametrize("delay", ALWAYS_HEARD, ids=str)
def test_draws_have_the_stated_mean(delay):
    """The average of 20,000 draws is off by more than five standard errors with probability about 6e-7."""
    drawn = draws(delay, 20_000)
    assert abs(drawn.mean() - delay.mean) <= 5 * drawn.std() / math.sqrt(len(drawn))


def test_the_mean_is_infinite_when_some_never_come():
    assert Sometimes(Poisson(4), 0.999).mean == math.inf
    assert Sometimes(Poisson(4), 1).mean == 4
    assert Empirical([3, math.inf]).mean == math.inf
    assert Fixed(math.inf).mean == math.inf
    assert LogNormal(1, 40).mean == math.inf


def test_the_same_seed_draws_the_same_delays():
    for delay in ALL:
        assert_allclose(draws(delay, 50, seed=3), draws(delay, 50, seed=3), rtol=0, atol=0)
    assert (draws(Poisson(10), 50, seed=3) != draws(Poisson(10), 50, seed=4)).any()


def test_draws_are_floats():
    assert {type(delay.draw(np.random.default_rng(0), {}, None)) for delay in ALL} == {float}


def test_every_delay_keeps_the_contract():
    assert all(isinstance(delay, Distribution) for delay in ALL)
    assert isinstance(ByInput(lambda params: 1), Delay)


# ρ_m


@pytest.mark.parametrize(
    ("delay", "m", "rho"),
    [
        (Poisson(2), 0, math.exp(-2)),
        (Poisson(2), 2, 5 * math.exp(-2)),
        (Poisson(2), 2.99, 5 * math.exp(-2)),
        (Poisson(0), 0, 1),
        (Poisson(2), -0.5, 0),
        (Fixed(4), 3.99, 0),
        (Fixed(4), 4, 1),
        (Fixed(0), 0, 1),
        (Fixed(math.inf), math.inf, 0),
        (Geometric(0.2), 0.99, 0),
        (Geometric(0.2), 1, 0.2),
        (Geometric(0.2), 3.5, 1 - 0.8**3),
        (Geometric(1), 1, 1),
        (Exponential(3), 6, 1 - math.exp(-2)),
        (Exponential(3), -1, 0),
        (LogNormal(5, 0.5), 5, 0.5),
        (LogNormal(5, 0.5), 5 * math.exp(0.5), (1 + math.erf(1 / math.sqrt(2))) / 2),
        (LogNormal(5, 0.5), 0, 0),
        (Uniform(2, 6), 3, 0.25),
        (Uniform(2, 6), 1, 0),
        (Uniform(2, 6), 7, 1),
        (Empirical([1, 1, 2, math.inf]), 1, 0.5),
        (Empirical([1, 1, 2, math.inf]), 1.5, 0.5),
        (Empirical([1, 1, 2, math.inf]), math.inf, 0.75),
        (Sometimes(Fixed(4), 0.3), 4, 0.3),
        (Sometimes(Fixed(4), 0.3), 3, 0),
        (Sometimes(Geometric(0.5), 0.5), 1, 0.25),
    ],
)
def test_rho_by_hand(delay, m, rho):
    assert_allclose(delay.rho(m), rho, rtol=0, atol=1e-14)


@pytest.mark.parametrize("mean", [1e-9, 0.3, 1, 10, 59.5, 60, 745, 1e4, 1e6])
def test_rho_of_poisson_is_the_distribution_function(mean):
    from scipy.special import pdtr

    spread = math.sqrt(mean)
    ms = np.unique(np.clip(np.floor(mean + spread * np.linspace(-9, 9, 37)), 0, None))
    assert_allclose([Poisson(mean).rho(m) for m in ms], pdtr(ms, mean), rtol=0, atol=1e-10 if mean > 1e4 else 1e-12)


laws = st.one_of(
    st.builds(Poisson, st.floats(0, 2000)),
    st.builds(Fixed, st.floats(0, 100) | st.just(math.inf)),
    st.builds(Geometric, st.floats(1e-6, 1)),
    st.builds(Exponential, st.floats(1e-6, 1e6)),
    st.builds(LogNormal, st.floats(1e-6, 1e6), st.floats(1e-3, 50)),
    st.builds(Uniform, st.floats(0, 10), st.floats(10.5, 100)),
    st.builds(Empirical, st.lists(st.floats(0, 100) | st.just(math.inf), min_size=1)),
)
delay_laws = laws | st.builds(Sometimes, laws, st.floats(0, 1))
patiences = st.floats(-5, 200) | st.integers(0, 10**6) | st.just(math.inf)


@given(delay_laws, patiences, patiences)
def test_rho_rises_from_0_to_at_most_1(delay, m, other):
    low, high = sorted([m, other])
    assert 0 <= delay.rho(low) <= delay.rho(high) <= 1
    assert delay.rho(-1e-9) == 0


@given(laws, st.floats(0, 1), patiences)
def test_sometimes_scales_rho(delay, share, m):
    assert Sometimes(delay, share).rho(m) == share * delay.rho(m)


# Single delays


def test_sometimes_never_comes():
    drawn = draws(Sometimes(Fixed(2), 0.5), 200)
    assert set(drawn) == {2.0, math.inf}
    assert set(draws(Sometimes(Fixed(2), 0), 200)) == {math.inf}
    assert set(draws(Sometimes(Fixed(2), 1), 200)) == {2.0}


def test_sometimes_hands_the_input_on():
    class Echo:
        mean = 0.0

        def draw(self, rng, params, context):
            return params["x"] + context["z"]

        def rho(self, m):
            return 1.0

    assert Sometimes(Echo(), 1.0).draw(np.random.default_rng(0), {"x": 2}, {"z": 3}) == 5


def test_empirical_draws_only_what_it_was_given():
    assert set(draws(Empirical(np.array([1.0, 4.0, 4.0])), 200)) == {1.0, 4.0}
    assert Empirical(np.array([1.0, 4.0])) == Empirical([1, 4])
    assert hash(Empirical([1, 4])) == hash(Empirical((1, 4)))


# Delays that depend on the input


def test_by_input_of_the_query():
    delay = ByInput(lambda params: Fixed(params["x"]))
    assert delay.draw(np.random.default_rng(0), {"x": 3}, None) == 3
    assert delay.draw(np.random.default_rng(0), {"x": 5}, {"z": 1}) == 5


def test_by_input_of_the_query_and_the_context():
    delay = ByInput(lambda params, context: Fixed(params["x"] + context["z"]))
    assert delay.draw(np.random.default_rng(0), {"x": 3}, {"z": 4}) == 7


def test_by_input_passes_the_context_to_its_name_only():
    def with_default(params, context=None):
        return 1 if context is None else 2

    by_closure = [ByInput(lambda params, k=k: k) for k in (3, 4)]
    rng = np.random.default_rng(0)
    assert ByInput(with_default).draw(rng, {}, {"z": 0}) == 2
    assert ByInput(with_default).draw(rng, {}, None) == 1
    assert [delay.draw(rng, {}, {"z": 0}) for delay in by_closure] == [3, 4]


def test_by_input_reads_methods_and_callable_values():
    class Slow:
        def __call__(self, params):
            return 5

        def method(self, params, context):
            return 6

    rng = np.random.default_rng(0)
    assert ByInput(Slow()).draw(rng, {}, {}) == 5
    assert ByInput(Slow().method).draw(rng, {}, {}) == 6


def test_by_input_takes_numbers_and_distributions():
    assert ByInput(lambda params: np.float64(2.5)).at({}) == Fixed(2.5)
    assert ByInput(lambda params: math.inf).at({}) == Fixed(math.inf)
    assert ByInput(lambda params: Poisson(3)).at({}) == Poisson(3)


def test_by_input_reads_the_parameters_once():
    calls = []

    class Watched:
        @property
        def __signature__(self):
            import inspect

            calls.append("read")
            return inspect.signature(lambda params: 0)

        def __call__(self, params):
            return 1

    delay = ByInput(Watched())
    after_construction = len(calls)
    assert after_construction > 0
    delay.draw(np.random.default_rng(0), {}, None)
    assert len(calls) == after_construction


def test_rho_over_is_the_least_over_the_queries():
    """ρ_m = min_t P(d_t ≤ m): of Geometric(½), (¼), (1) within two rounds, 1 - (¾)² is the least."""
    delay = ByInput(lambda params: Geometric(params["p"]))
    queries = [{"p": 0.5}, {"p": 0.25}, {"p": 1.0}]
    assert_allclose(delay.rho_over(2, queries), 1 - 0.75**2, rtol=0, atol=1e-15)
    assert delay.rho_over(2, queries[:1]) == Geometric(0.5).rho(2)
    assert delay.rho_over(2, iter(queries)) == delay.rho_over(2, queries)


def test_rho_over_pairs_queries_with_their_contexts():
    delay = ByInput(lambda params, context: Fixed(params["x"] * context["z"]))
    queries = [{"x": 1}, {"x": 3}]
    assert delay.rho_over(6, queries, [{"z": 6}, {"z": 2}]) == 1
    assert delay.rho_over(6, queries, [{"z": 2}, {"z": 6}]) == 0


# Kaplan-Meier


def test_kaplan_meier_by_hand():
    """Eight queries: arrived after 1, 3, 3, 5, 8; pending at ages 3, 6, 8. Of equal waits, arrivals come first.

    t = 1: 8 waiting, 1 arrives   S = 7/8
    t = 3: 7 waiting, 2 arrive    S = 7/8 · 5/7 = 5/8      (the one pending at 3 still counts as waiting)
    t = 5: 4 waiting, 1 arrives   S = 5/8 · 3/4 = 15/32
    t = 8: 2 waiting, 1 arrives   S = 15/32 · 1/2 = 15/64  (the one pending at 8 still counts as waiting)"""
    waited = np.array([3.0, 8, 1, 6, 3, 5, 3, 8])
    arrived = np.array([True, False, True, False, False, True, True, True])
    S = kaplan_meier(waited, arrived)
    assert_allclose(S.times, [1, 3, 5, 8])
    assert_allclose(S.survival, [7 / 8, 5 / 8, 15 / 32, 15 / 64], rtol=0, atol=1e-15)
    assert [S.at(t) for t in (0, 0.99, 1, 2.9)] == [1, 1, S.survival[0], S.survival[0]]
    assert [S.at(t) for t in (3, 7.9, 8, 100, math.inf)] == S.survival[[1, 2, 3, 3, 3]].tolist()
    assert_allclose(S.over(np.array([[0.0, 3.0], [5.0, 9.0]])), [[1, 5 / 8], [15 / 32, 15 / 64]])
    assert_allclose(S.rho(5), 17 / 32, rtol=0, atol=1e-15)
    greenwood = np.cumsum([1 / (8 * 7), 2 / (7 * 5), 1 / (4 * 3), 1 / (2 * 1)])
    assert_allclose([S.error(t) for t in (1, 3, 5, 8)], S.survival * np.sqrt(greenwood), rtol=1e-14)
    assert S.error(0.5) == 0


def censored(n, seed, whole):
    """Delays and censoring ages, in rounds with many ties or in continuous time."""
    rng = np.random.default_rng(seed)
    delay, age = rng.exponential(8, n), rng.uniform(0, 20, n)
    if whole:
        delay, age = np.ceil(delay), np.ceil(age)
    return np.minimum(delay, age), delay <= age


@pytest.mark.parametrize("whole", [True, False], ids=["rounds", "time"])
@pytest.mark.parametrize("n", [1, 2, 7, 200])
def test_kaplan_meier_is_that_of_lifelines(n, whole):
    pytest.importorskip("lifelines", reason="lifelines is not installed: pip install belated[dev]")
    from lifelines import KaplanMeierFitter

    waited, arrived = censored(n, 11 + n, whole)
    S = kaplan_meier(waited, arrived)
    t = np.linspace(0, 25, 301)
    theirs = KaplanMeierFitter().fit(waited, arrived)
    assert_allclose(S.over(t), theirs.survival_function_at_times(t).to_numpy(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("whole", [True, False], ids=["rounds", "time"])
def test_greenwood_is_that_of_scipy(whole):
    """scipy's linear interval is S ± z error; at the level 1 % it stays inside (0, 1), where scipy would cut it."""
    from scipy import stats
    from scipy.special import ndtri

    waited, arrived = censored(200, 5, whole)
    S = kaplan_meier(waited, arrived)
    sf = stats.ecdf(stats.CensoredData(uncensored=waited[arrived], right=waited[~arrived])).sf
    interval = sf.confidence_interval(0.01, method="linear")
    times = S.times[S.survival > 0]
    theirs = (interval.high.evaluate(times) - interval.low.evaluate(times)) / (2 * ndtri(0.505))
    assert len(times) > 10
    assert_allclose([S.error(t) for t in times], theirs, rtol=1e-9)


@pytest.mark.parametrize("whole", [True, False], ids=["rounds", "time"])
@pytest.mark.parametrize("n", [1, 2, 7, 200])
def test_kaplan_meier_is_that_of_scipy(n, whole):
    from scipy import stats

    waited, arrived = censored(n, 23 + n, whole)
    S = kaplan_meier(waited, arrived)
    theirs = stats.ecdf(stats.CensoredData(uncensored=waited[arrived], right=waited[~arrived])).sf
    t = np.linspace(0, 25, 301)
    assert_allclose(S.over(t), theirs.evaluate(t), rtol=0, atol=1e-12)


waits = st.lists(st.floats(0, 50) | st.integers(0, 10).map(float), min_size=1, max_size=40)


@given(waits)
def test_without_censoring_it_is_one_minus_the_share_arrived(waited):
    S = kaplan_meier(waited, np.ones(len(waited), dtype=bool))
    for t in [*waited, -1.0, 0.0, 5.0, 60.0]:
        share = np.mean(np.array(waited) <= t)
        assert_allclose(S.rho(t), share, rtol=0, atol=1e-12)
        assert_allclose(S.error(t), math.sqrt(share * (1 - share) / len(waited)), rtol=1e-6, atol=1e-7)


@given(st.lists(st.tuples(st.integers(0, 10), st.booleans()), min_size=1, max_size=40), st.randoms())
def test_survival_is_a_falling_step_function_of_a_set(history, random):
    shuffled = random.sample(history, len(history))
    one, other = (kaplan_meier([w for w, _ in h], [a for _, a in h]) for h in (history, shuffled))
    assert_allclose(one.survival, other.survival, rtol=0, atol=0)
    steps = np.concatenate([[1.0], one.survival])
    assert (np.diff(steps) < 0).all()
    assert ((steps >= 0) & (steps <= 1)).all()


@given(st.lists(st.integers(0, 10), min_size=1, max_size=20), st.integers(0, 10))
def test_a_query_too_young_to_have_been_heard_changes_nothing(waited, m):
    """A pending query younger than every arrival says nothing about them."""
    arrived = [True] * len(waited)
    more = kaplan_meier([w + 1 for w in waited] + [0], [*arrived, False])
    assert_allclose(more.rho(m), kaplan_meier([w + 1 for w in waited], arrived).rho(m), rtol=0, atol=1e-12)


def test_pending_queries_only():
    S = kaplan_meier([1.0, 5.0], [False, False])
    assert (S.at(100), S.rho(100), S.error(100)) == (1, 0, 0)


def test_nothing_asked_yet():
    S = kaplan_meier([], [])
    assert (S.at(3), S.rho(3)) == (1, 0)
    assert math.isnan(S.error(3))


def test_rho_from_delays_and_ages():
    """Arrived after 1, 2, 4; pending at ages 1 and 3: S = 4/5, then 4/5 · 2/3, then 0."""
    delay = np.array([1, math.inf, 2, 4, math.inf])
    age = np.array([9, 1, 8, 7, 3.0])
    rhos = [delays.estimate_rho(m, delay, age) for m in (0, 1, 2, 3, 4)]
    assert_allclose(rhos, [0, 1 / 5, 7 / 15, 7 / 15, 1], rtol=0, atol=1e-15)


def test_a_negative_age_counts_as_zero():
    assert delays.estimate_rho(5, [2.0, math.inf], [9.0, -3.0]) == delays.estimate_rho(5, [2.0, math.inf], [9.0, 0.0])


def test_rho_is_consistent_where_the_share_heard_is_not():
    """4,000 Poisson(10) delays seen at ages 1 to 40: the estimate of ρ_10 lies within five standard errors of the truth
    (false alarm about 6e-7), the share heard within 10 of all queries far below it."""
    rng = np.random.default_rng(1)
    delay, age = draws(Poisson(10), 4000, seed=2), rng.integers(1, 41, 4000).astype(float)
    heard = delay <= age
    S = kaplan_meier(np.where(heard, delay, age), heard)
    truth = Poisson(10).rho(10)
    assert abs(S.rho(10) - truth) <= 5 * S.error(10)
    assert S.error(10) < 0.02
    assert delays.estimate_rho(10, np.where(heard, delay, math.inf), age) == S.rho(10)
    assert np.mean(heard & (delay <= 10)) < truth - 5 * S.error(10)


# What is refused, and in which words


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Poisson(-1), "mean must lie between 0 and 1e9 (got -1)"),
        (lambda: Poisson(math.nan), "mean must lie between 0 and 1e9 (got nan)"),
        (lambda: Poisson(math.inf), "mean must lie between 0 and 1e9 (got inf)"),
        (lambda: Poisson("10"), "mean must be a number (got '10')"),
        (lambda: Poisson(True), "mean must be a number (got True)"),
        (lambda: Poisson(None), "mean must be a number (got None)"),
        (lambda: Fixed(-0.5), "delay must be at least 0 (got -0.5)"),
        (lambda: Fixed(-(10**400)), "delay must be at least 0 (got -inf)"),
        (lambda: Fixed(math.nan), "delay must be at least 0 (got nan)"),
        (lambda: Geometric(0), "p must lie in (0, 1] (got 0)"),
        (lambda: Geometric(1.5), "p must lie in (0, 1] (got 1.5)"),
        (lambda: Exponential(0), "mean must be a finite number greater than 0 (got 0)"),
        (lambda: Exponential(math.inf), "mean must be a finite number greater than 0 (got inf)"),
        (lambda: LogNormal(0, 1), "median must be a finite number greater than 0 (got 0)"),
        (lambda: LogNormal(1, 0.0), "sigma must be a finite number greater than 0 (got 0.0)"),
        (lambda: Uniform(-1, 1), "low must be a finite number of at least 0 (got -1)"),
        (lambda: Uniform(0, math.inf), "high must be a finite number of at least 0 (got inf)"),
        (lambda: Uniform(3, 1), "low must be less than high (got 3, 1)"),
        (lambda: Uniform(2, 2), "low must be less than high (got 2, 2)"),
        (lambda: Empirical([]), "delays must hold at least one delay (got none)"),
        (lambda: Empirical([1, -2]), "delays[1] must be at least 0 (got -2)"),
        (lambda: Empirical([1, 2, math.nan]), "delays[2] must be at least 0 (got nan)"),
        (lambda: Empirical(["1"]), "delays[0] must be a number (got '1')"),
        (lambda: Empirical(5), "delays must be a sequence of numbers (got 5)"),
        (lambda: Sometimes(Poisson(1), 1.2), "share must lie in [0, 1] (got 1.2)"),
        (lambda: Sometimes(Poisson(1), -0.1), "share must lie in [0, 1] (got -0.1)"),
        (
            lambda: Sometimes(10, 0.5),
            "delay must be a delay with rho and mean, such as Poisson(10) (got 10)",
        ),
        (
            lambda: Sometimes(Poisson, 0.5),
            f"delay must be a delay with rho and mean, such as Poisson(10) (got {Poisson!r})",
        ),
        (lambda: ByInput(10), "fn must be a function of (params) or (params, context) (got 10)"),
        (
            lambda: ByInput(lambda params: "soon").at({"x": 1}),
            "fn must return a delay or a number (got 'soon' for {'x': 1})",
        ),
        (
            lambda: ByInput(lambda params: True).at({"x": 1}),
            "fn must return a delay or a number (got True for {'x': 1})",
        ),
        (lambda: ByInput(lambda params: -1).at({}), "a delay returned by fn must be at least 0 (got -1)"),
        (lambda: ByInput(lambda params: math.nan).at({}), "a delay returned by fn must be at least 0 (got nan)"),
        (lambda: ByInput(lambda params: 1).rho_over(1, []), "queries must hold at least one query (got none)"),
        (lambda: ByInput(lambda params: 1).rho_over(1, [{}], []), "contexts must be as many as queries (got 0, 1)"),
        (lambda: Poisson(1).rho(math.nan), "m must not be nan (got nan)"),
        (lambda: Exponential(1).rho("3"), "m must be a number (got '3')"),
        (lambda: kaplan_meier([1, -1], [True, True]), "waited[1] must be a finite number of at least 0 (got -1.0)"),
        (lambda: kaplan_meier([math.inf], [False]), "waited[0] must be a finite number of at least 0 (got inf)"),
        (lambda: kaplan_meier([[1.0]], [[True]]), "waited must have one axis (got shape (1, 1))"),
        (
            lambda: kaplan_meier([1.0, 2.0], [True]),
            "arrived must be a mask as long as waited (got bool (1,), (2,))",
        ),
        (lambda: kaplan_meier([1.0], [1]), "arrived must be a mask as long as waited (got int64 (1,), (1,))"),
        (lambda: delays.estimate_rho(1, [1.0, 2.0], [1.0]), "delay and age must have the same shape (got (2,), (1,))"),
        (
            lambda: delays.estimate_rho(1, [math.nan], [1.0]),
            "waited[0] must be a finite number of at least 0 (got nan)",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(InvalidInput) as refused:
        make()
    assert str(refused.value) == sentence
    assert isinstance(refused.value, ValueError)
    assert isinstance(refused.value, BelatedError)


class Unreadable:
    __signature__ = 3

    def __call__(self, params):
        return 1


@pytest.mark.parametrize(
    "fn",
    [lambda: 1, lambda a, b, c: 1, lambda *, params: 1, lambda params, *, k: 1, lambda *params: 1, Unreadable()],
    ids=["none", "three", "keyword", "keyword beside", "any number", "unreadable"],
)
def test_by_input_refuses_functions_it_cannot_call(fn):
    with pytest.raises(InvalidInput, match=r"^fn must be a function of \(params\) or \(params, context\) \(got .*\)$"):
        ByInput(fn)


def test_any_kind_of_number_will_do():
    assert Poisson(np.int64(3)).rho(np.float32(2)) == Poisson(3).rho(2)
    assert Geometric(Fraction(1, 2)).mean == 2
    assert Geometric(Fraction(1, 2)).rho(2) == 0.75
