"""Tests of dependence: their level under an optimiser that improves, what they find, and what they are made of.

A level is judged by how often p ≤ 0.05 in studies where nothing depends, against the binomial law: with 120 studies
more than 15 alarms have a probability of 1e-3 or less; with 1000, more than 72 do.
"""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from belated.learner.delays import dependence
from belated.learner.delays.dependence import RiskSets, judge_by_outcome, judge_by_query, rank

ALARMS = {120: 15, 1000: 72}


class Seen:
    """What a study has seen of an optimiser that asks near the best it has heard of, ever closer: x drifts towards the
    optimum at 0.8, outcomes rise, and queries asked late have been out for less long."""

    def __init__(self, seed, delay, n=80, d=2, clock=False, policy=False):
        rng = np.random.default_rng(seed)
        self.X, self.y, self.z = np.empty((n, d)), np.empty(n), rng.random(n)
        delays, tau = np.empty(n), np.cumsum(rng.exponential(1, n)) if clock else np.arange(1.0, n + 1)
        for t in range(n):
            heard = np.flatnonzero(tau[:t] + delays[:t] <= tau[t])
            if len(heard) < 3:
                x = rng.random(d)
            else:
                best = self.X[heard[np.argmax(self.y[heard])]]
                x = np.clip(best + rng.normal(0, 0.05 + 0.5 * (1 - t / n), d), 0, 1)
            if policy:  # what is best depends on the context
                x[0] = np.clip((x[0] + self.z[t]) / 2 + rng.normal(0, 0.1), 0, 1)
            self.X[t], self.y[t] = x, -np.sum((x - 0.8) ** 2) + 0.1 * rng.normal()
            wait = delay(rng, x, self.y[t], self.z[t])
            delays[t] = wait if clock or math.isinf(wait) else max(1.0, math.ceil(wait))
        self.limit = tau[-1] + 1 - tau
        self.arrived = delays <= self.limit
        self.waited = np.where(self.arrived, delays, self.limit)

    @property
    def parts(self):
        return list(self.X.T[:, :, None])

    def query(self, rng, covariates=()):
        return judge_by_query(self.parts, self.waited, self.arrived, rng, covariates)

    def outcome(self, rng):
        came = self.arrived
        return judge_by_outcome(self.y[came], self.waited[came], self.limit[came], rng)


def alarms(count, seed, delay, test, **world):
    """How many of so many studies give p ≤ 0.05."""
    found = 0
    for r in range(count):
        verdict = test(Seen([seed, r], delay, **world), np.random.default_rng([seed, r, 1]))
        found += verdict is not None and verdict.p <= 0.05
    return found


def geometric(rng, x, y, z):
    return rng.geometric(0.1)


def exponential(rng, x, y, z):
    return rng.exponential(10)


def long(rng, x, y, z):
    return rng.geometric(0.03)


def some_never(rng, x, y, z):
    return math.inf if rng.random() < 0.3 else rng.lognormal(2, 1)


NULLS = {
    "rounds": (geometric, {}),
    "few": (geometric, {"n": 40}),
    "clock": (exponential, {"clock": True}),
    "many out": (long, {}),
    "some never": (some_never, {"clock": True, "n": 120}),
    "eight columns": (geometric, {"d": 8, "n": 100}),
}


# Level


@pytest.mark.parametrize("null", ["rounds", "many out"])
def test_the_level_is_kept_while_the_optimiser_improves(null):
    delay, world = NULLS[null]
    assert alarms(120, 1, delay, Seen.query, **world) <= ALARMS[120]
    assert alarms(120, 2, delay, Seen.outcome, **world) <= ALARMS[120]


@pytest.mark.long
@pytest.mark.parametrize("null", NULLS)
@pytest.mark.parametrize("test", [Seen.query, Seen.outcome], ids=["query", "outcome"])
def test_the_level_is_kept_closely(null, test):
    delay, world = NULLS[null]
    assert alarms(1000, 3, delay, test, **world) <= ALARMS[1000]


def rising(seed, n=120):
    """Outcomes that rise with the order of asking, delays that depend on nothing and are often cut off."""
    rng = np.random.default_rng(seed)
    d, limit = rng.geometric(0.03, n).astype(float), np.arange(n, 0.0, -1)
    came = d <= limit
    return (np.arange(n) / n + 0.2 * rng.normal(size=n))[came], d[came], limit[came]


def test_plain_correlation_raises_false_alarms_and_this_does_not():
    """Truncation confounds: what was asked late and has arrived was fast, and good."""
    from scipy.stats import spearmanr

    plain = honest = 0
    for r in range(120):
        y, d, limit = rising([4, r])
        plain += spearmanr(y, d).pvalue <= 0.05
        honest += judge_by_outcome(y, d, limit, np.random.default_rng(r)).p <= 0.05
    assert plain > 60
    assert honest <= ALARMS[120]


def by_context(rng, x, y, z):
    return rng.geometric(0.12 if z > 0.5 else 0.04)


def test_what_the_context_does_is_not_laid_to_the_query():
    """The policy follows the context, so queries go with delays; with the context beside them they do not."""
    count, blamed, cleared, context = 120, 0, 0, 0
    for r in range(count):
        seen, rng = Seen([5, r], by_context, n=100, policy=True), np.random.default_rng(r)
        z = seen.z[:, None]
        blamed += seen.query(rng).p <= 0.05
        cleared += seen.query(rng, [z]).p <= 0.05
        context += judge_by_query([z], seen.waited, seen.arrived, rng, seen.parts).p <= 0.05
    assert blamed > 30
    assert cleared <= ALARMS[count]
    assert context > 84


# Power


def doubles(rng, x, y, z):
    return rng.geometric(0.15 / (1 + x[0]))


def never_there(rng, x, y, z):
    return math.inf if x[0] > 0.75 else rng.poisson(6)


def slow_in_the_middle(rng, x, y, z):
    return rng.geometric(0.04 if abs(x[1] - 0.5) < 0.25 else 0.2)


def good_comes_late(rng, x, y, z):
    return rng.geometric(0.06 if y > -0.15 else 0.25)


@pytest.mark.parametrize(
    ("delay", "test", "world", "power"),
    [
        (never_there, Seen.query, {"n": 100}, 0.9),
        (slow_in_the_middle, Seen.query, {"n": 150}, 0.7),
        (good_comes_late, Seen.outcome, {"n": 100}, 0.5),
    ],
)
def test_a_planted_dependence_is_found(delay, test, world, power):
    assert alarms(40, 6, delay, test, **world) >= 40 * power


@pytest.mark.parametrize(("n", "power"), [(150, 0.3), (500, 0.8)])
def test_delays_that_double_across_the_space_are_found(n, power):
    """By queries spread over it; an optimiser that has settled shows less of it."""
    found = 0
    for r in range(40):
        rng = np.random.default_rng([7, r])
        X, limit = rng.random((n, 2)), np.arange(n, 0.0, -1)
        d = rng.geometric(0.15 / (1 + X[:, 0])).astype(float)
        parts = [X[:, [0]], X[:, [1]]]
        found += judge_by_query(parts, np.minimum(d, limit), d <= limit, rng).p <= 0.05
    assert found >= 40 * power


# What it says


def spaced(seed, hazard, columns=1, n=300):
    rng = np.random.default_rng(seed)
    X, limit = rng.random((n, columns)), np.arange(n, 0.0, -1)
    d = rng.geometric(hazard(X)).astype(float)
    return X, np.minimum(d, limit), d <= limit, rng


def test_trends_name_the_parameter_and_the_direction():
    X, w, a, rng = spaced(1, lambda X: 0.4 / (1 + 5 * X[:, 1]), columns=3)
    verdict = judge_by_query(list(X.T[:, :, None]), w, a, rng)
    ps = [trend.p for trend in verdict.trends]
    assert verdict.p == ps[1] == 0.001
    assert min(ps[0], ps[2]) > 0.05
    assert verdict.trends[1].rise > 3
    falling = judge_by_query([1 - X[:, [1]]], w, a, rng)
    assert falling.trends[0].rise < -3


def test_a_bow_is_seen():
    X, w, a, rng = spaced(2, lambda X: np.where(np.abs(X[:, 0] - 0.5) < 0.25, 0.05, 0.3))
    trend = judge_by_query([X], w, a, rng).trends[0]
    assert trend.bow > 5 > abs(trend.rise)


def test_an_option_is_named():
    rng = np.random.default_rng(3)
    kind, limit = rng.integers(3, size=200), np.arange(200, 0.0, -1)
    d = rng.geometric(np.array([0.3, 0.05, 0.3])[kind]).astype(float)
    hot = (kind[:, None] == np.arange(3)) / math.sqrt(2)
    verdict = judge_by_query([hot], np.minimum(d, limit), d <= limit, rng)
    assert verdict.p == 0.001
    assert np.argmax(verdict.trends[0].options) == 1
    assert verdict.trends[0].options[1] > 0


def test_a_corner_is_found_that_no_parameter_shows_alone():
    X, w, a, rng = spaced(4, lambda X: np.where((X[:, 0] > 0.5) == (X[:, 1] > 0.5), 0.4, 0.05), columns=2)
    verdict = judge_by_query([X[:, [0]], X[:, [1]]], w, a, rng)
    assert verdict.p <= 0.01
    assert min(trend.p for trend in verdict.trends) > 0.05


@pytest.mark.parametrize("sign", [1, -1])
def test_the_direction_of_an_outcome(sign):
    rng = np.random.default_rng(5)
    y, limit = rng.normal(size=300), np.arange(300, 0.0, -1)
    d = rng.geometric(np.where(sign * y > 0, 0.05, 0.3)).astype(float)
    came = d <= limit
    verdict = judge_by_outcome(y[came], d[came], limit[came], rng)
    assert verdict.p == 0.001
    assert sign * verdict.trends[0].rise > 3


# What it is made of


def test_the_score_of_a_choice_is_the_log_rank_test_of_lifelines():
    pytest.importorskip("lifelines", reason="lifelines is not installed: pip install belated[dev]")
    from lifelines.statistics import logrank_test

    rng = np.random.default_rng(6)
    for whole in (True, False):
        group = rng.random(60) < 0.4
        w = rng.geometric(0.15, 60).astype(float) if whole else rng.exponential(5, 60)
        a = rng.random(60) < 0.7
        U, V = RiskSets.forwards(w, a).scores(group[:, None].astype(float), rng)
        theirs = logrank_test(w[group], w[~group], a[group], a[~group]).test_statistic
        assert_allclose(U[0, 0] ** 2 / V[0, 0], theirs, rtol=1e-9)


@pytest.mark.parametrize("whole", [True, False], ids=["rounds", "time"])
def test_redraws_have_mean_zero_and_covariance_v(whole, monkeypatch):
    monkeypatch.setattr(dependence, "DRAWS", 20_000)
    rng = np.random.default_rng(7)
    d, limit = rng.geometric(0.2, 50).astype(float), np.arange(50, 0.0, -1)
    d = d if whole else d + rng.random(50)
    came = d <= limit
    sets = RiskSets.forwards(np.minimum(d, limit), came)
    phi = rng.normal(size=(len(sets.who), 3))
    U, V = sets.scores(phi, rng)
    scale = np.sqrt(np.diag(V))
    assert_allclose(np.mean(U[1:], axis=0) / scale, 0, atol=0.03)
    assert_allclose(np.cov(U[1:].T) / np.outer(scale, scale), V / np.outer(scale, scale), atol=0.05)


@pytest.mark.parametrize("delay", [(1.0, 2, 3, 4), (1.0, 1, 3, 3), (2.0, 2, 2, 4)])
def test_backwards_every_way_to_give_the_delays_is_equally_likely(delay, monkeypatch):
    """Against the list of all: limits 2, 3, 4, 4, and the score of each permutation that they allow."""
    monkeypatch.setattr(dependence, "DRAWS", 40_000)
    limit, phi = np.array([2.0, 3, 4, 4]), np.array([1.0, 3.3, 0.2, 7.1])[:, None]
    d = np.array(delay)
    ways = [np.array(way) for way in itertools.permutations(d) if np.all(np.array(way) <= limit)]
    rng = np.random.default_rng(11)
    each = [RiskSets.backwards(way, limit).scores(phi, rng)[0][0, 0] for way in ways]
    drawn = RiskSets.backwards(ways[0], limit).scores(phi, rng)[0][1:, 0]
    for score in np.unique(np.round(each, 9)):
        share = np.mean(np.isclose(each, score))
        assert abs(np.mean(np.isclose(drawn, score)) - share) < 5 * math.sqrt(share * (1 - share) / 40_000) + 1e-12
    assert np.all(np.isclose(drawn[:, None], each).any(axis=1))


def test_backwards_only_those_are_compared_who_could_have_been():
    sets = RiskSets.backwards(np.array([1.0, 3, 2]), np.array([2.0, 5, 9]))
    assert sets.among.tolist() == [[True, False, False], [True, False, True], [False, True, True]]
    assert sets.came.tolist() == [1, 1, 1]


def test_ranks():
    assert rank(np.array([3.0, 1.0, 3.0, 9.0])).tolist() == [0.5, 0.125, 0.5, 0.875]


def test_nothing_to_tell():
    rng = np.random.default_rng(8)
    w, few = np.arange(1.0, 31), np.arange(30) < 9
    x = rng.random((30, 1))
    assert judge_by_query([x], w, few, rng) is None
    assert judge_by_outcome(x[:9, 0], w[:9], w[:9] + 5, rng) is None
    assert judge_by_query([np.ones((30, 1))], w, ~few, rng) is None  # never varies
    half = (x > 0.5).astype(float)
    assert judge_by_query([half], w, ~few, rng, [half]) is None  # a function of its covariate
    assert judge_by_query([x], np.ones(30), np.ones(30, dtype=bool), rng) is None  # all arrived at once
    assert judge_by_outcome(x[:, 0], np.ones(30), w, rng) is None


def test_the_same_numbers_give_the_same_p():
    X, w, a, _ = spaced(9, lambda X: 0.1 + 0 * X[:, 0], columns=2)
    parts = [X[:, [0]], X[:, [1]]]
    one, two = (judge_by_query(parts, w, a, np.random.default_rng(1)) for _ in range(2))
    assert one == two


def test_many_trials_are_thinned():
    X, w, a, rng = spaced(10, lambda X: 0.4 / (1 + 5 * X[:, 0]), n=2500)
    assert judge_by_query([X], w, a, rng).p == 0.001
