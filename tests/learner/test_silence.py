"""What silence counts as: the paper's indicator in a table, every fill by hand, and the laws that tell them apart."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from belated.errors import InvalidInput
from belated.learner.belief import FactorCache, ModelBelief, believe
from belated.learner.delays.survival import Arrivals
from belated.learner.gp.kernels import SE, Matern52
from belated.learner.gp.merging import number_points
from belated.learner.gp.posterior import GP
from belated.learner.history import History, in_time
from belated.learner.silence import (
    SILENCES,
    Fading,
    Filled,
    Floor,
    Halfway,
    Ignored,
    Nearest,
    Unknown,
    Waiting,
    estimate_arrival,
)

inf = math.inf
GP_ = GP(SE(0.3), 0.05)
Q = np.random.default_rng(0).random((25, 2))
FATES = ("heard", "pending", "expired", "infeasible", "gone", "late and not used")
EVERY = {**SILENCES, "halfway unknown": Halfway(Unknown()), "halfway floor": Halfway(Floor(), 0.3)}
every_silence = pytest.mark.parametrize("silence", EVERY.values(), ids=EVERY.keys())


def history(*fates: str, floor: float | None = 0.0, order: list[int] | None = None, waited=None) -> History:
    """Query s at the s-th of some fixed points, with a fixed outcome of its own, and a fate each."""
    n, rng = len(fates), np.random.default_rng(1)
    fate = np.array(fates, dtype=object)
    X, y = rng.random((40, 2))[:n], rng.uniform(0.5, 2.0, 40)[:n]
    heard = fate == "heard"
    return History(
        number=np.arange(1, n + 1),
        X=X,
        point=number_points(X),
        y=np.where(heard | (fate == "late and not used"), y, np.nan),
        seen=heard,
        pending=fate == "pending",
        infeasible=fate == "infeasible",
        gone=fate == "gone",
        recent=(fate == "pending") | heard,
        by_hand=np.zeros(n, dtype=bool),
        order=np.arange(n) if order is None else np.array(order),
        lams=np.full(n, np.nan),
        floor=floor,
        age=np.full(n, 30.0),
        m=20.0,
        waited=np.full(n, np.nan) if waited is None else np.asarray(waited, dtype=float),
        arrived=heard | (fate == "late and not used"),
        late=fate == "late and not used",
    )


def packed(factor):
    """Every row of L, one after the other."""
    return np.concatenate([np.empty(0), *(factor.row(i) for i in range(factor.n))])


def without(h: History, rows: np.ndarray) -> History:
    """The same history with some queries never asked."""
    return History(
        **{
            name: value[~rows] if isinstance(value, np.ndarray) else value
            for name, value in ((f, getattr(h, f)) for f in h.__dataclass_fields__)
        }
    )


def same_belief(one: ModelBelief, other: ModelBelief, atol: float = 1e-9) -> None:
    assert_allclose(one.posterior.mean(Q), other.posterior.mean(Q), rtol=0, atol=atol)
    assert_allclose(one.posterior.variance(Q), other.posterior.variance(Q), rtol=0, atol=atol)


def direct(h: History, y_tilde: dict[int, float]) -> ModelBelief:
    """The belief from ỹ written down by hand: row -> value."""
    rows = np.array(sorted(y_tilde), dtype=int)
    posterior = GP_.condition(h.X[rows], np.array([y_tilde[int(r)] for r in rows]), h.own_lams(GP_)[rows])
    return ModelBelief(posterior, h.known[rows], h.recent[rows])


# The indicator


@pytest.mark.parametrize(
    ("delay", "m", "heard_at"),
    [
        # ages           1  2  3  4  5  6       1{d ≤ min(m, age)}
        (0, 3, "yes yes yes yes yes yes"),
        (1, 3, "yes yes yes yes yes yes"),  # a drawn delay of 0 and one of 1 are heard at the same ask
        (2, 3, "no  yes yes yes yes yes"),
        (3, 3, "no  no  yes yes yes yes"),  # at the end of patience: in time, and for good
        (4, 3, "no  no  no  no  no  no"),  # too late by one: never
        (inf, 3, "no  no  no  no  no  no"),
        (4, inf, "no  no  no  yes yes yes"),  # without patience it is heard when it comes
        (inf, inf, "no  no  no  no  no  no"),
        (1, 1, "yes yes yes yes yes yes"),
        (2, 1, "no  no  no  no  no  no"),
        (2.5, 3, "no  no  yes yes yes yes"),  # by the clock
        (3.0000001, 3, "no  no  no  no  no  no"),
    ],
)
def test_the_indicator_round_by_round(delay, m, heard_at):
    ages = np.arange(1.0, 7.0)
    expected = [word == "yes" for word in heard_at.split()]
    assert_array_equal(in_time(np.full(6, float(delay)), ages, m), expected)


def test_the_indicator_of_many_queries_at_once():
    """m = 2, t = 5: queries 1 to 4 have the ages 4, 3, 2, 1."""
    assert_array_equal(in_time(np.array([2.0, 3.0, 3.0, 1.0]), np.array([4.0, 3.0, 2.0, 1.0]), 2), [1, 0, 0, 1])


# Every fill by hand


def test_floor_fills_the_floor_and_keeps_it_after_patience():
    h = history("heard", "pending", "expired", "infeasible", "gone", "late and not used", floor=-0.5)
    expected = direct(h, {0: h.y[0], 1: -0.5, 2: -0.5, 3: -0.5, 5: -0.5})
    belief = believe(GP_, Floor(), h)
    assert_array_equal(belief.posterior.y_tilde, expected.posterior.y_tilde)
    same_belief(belief, expected, 0.0)


def test_waiting_fills_the_floor_and_forgets_after_patience():
    h = history("heard", "pending", "expired", "infeasible", "gone", "late and not used", floor=-0.5)
    same_belief(believe(GP_, Waiting(), h), direct(h, {0: h.y[0], 1: -0.5, 3: -0.5}))


def test_unknown_fills_the_mean_of_the_heard_and_forgets_after_patience():
    h = history("heard", "pending", "heard", "expired", "infeasible", "gone", "late and not used", floor=-0.5)
    heard = direct(h, {0: h.y[0], 2: h.y[2], 4: -0.5}).posterior
    guess = float(heard.mean(h.X[1:2])[0])
    same_belief(believe(GP_, Unknown(), h), direct(h, {0: h.y[0], 1: guess, 2: h.y[2], 4: -0.5}))


def test_ignored_takes_what_is_known_in_order_of_arrival():
    h = history("heard", "pending", "heard", "expired", "infeasible", "gone", order=[9, 0, 3, 0, 5, 0], floor=-0.5)
    belief = believe(GP_, Ignored(), h)
    assert_array_equal(belief.posterior.X, h.X[[2, 4, 0]])
    assert_array_equal(belief.posterior.y_tilde, [h.y[2], -0.5, h.y[0]])
    same_belief(belief, direct(h, {0: h.y[0], 2: h.y[2], 4: -0.5}))


def test_nearest_by_hand():
    """Heard at 0, 0.1, 0.5, 1; pending at 0.08: its two nearest are 0.1 and 0, not 0.5."""
    h = replace(
        history("heard", "heard", "heard", "heard", "pending", "expired"),
        X=np.array([[0.0, 0], [0.1, 0], [0.5, 0], [1.0, 0], [0.08, 0], [0.3, 0]]),
    )
    known = {i: float(h.y[i]) for i in range(4)}
    mean = direct(h, known).posterior.mean
    two = float(np.mean(mean(h.X[[1, 0]])))
    assert believe(GP_, Nearest(2), h).posterior.y_tilde[4] == pytest.approx(two, abs=1e-12)
    same_belief(believe(GP_, Nearest(2), h), direct(h, {**known, 4: two}))
    one = float(mean(h.X[[1]])[0])
    same_belief(believe(GP_, Nearest(1), h), direct(h, {**known, 4: one}))
    everyone = float(np.mean(mean(h.X[:4])))
    same_belief(believe(GP_, Nearest(9), h), direct(h, {**known, 4: everyone}))  # fewer heard than k: all of them


def test_nearest_takes_the_first_of_equally_near_ones():
    X = np.array([[0.6, 0.5], [0.4, 0.5], [0.5, 0.5]])
    h = replace(history("heard", "heard", "pending"), X=X)
    mean = direct(h, {0: h.y[0], 1: h.y[1]}).posterior.mean(X[:1])
    assert believe(GP_, Nearest(1), h).posterior.y_tilde[2] == pytest.approx(float(mean[0]), abs=1e-12)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, None, "3"])
def test_nearest_needs_a_whole_k(k):
    with pytest.raises(InvalidInput, match=r"k must be a positive whole number \(got "):
        Nearest(k)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_halfway_leaves_alone_what_is_nearer_to_the_belief(share):
    h = history("heard", "pending", "heard", "expired", "infeasible", "gone", "pending", floor=-0.5)
    same_belief(believe(GP_, Halfway(Unknown(), share), h), believe(GP_, Unknown(), h))


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("base", [Floor(), Waiting(), Ignored()], ids=lambda s: type(s).__name__)
def test_halfway_lies_between_the_floor_and_the_belief(base, share):
    h = history("heard", "pending", "heard", "expired", "infeasible", "gone", "pending", floor=-0.5)
    heard = {0: float(h.y[0]), 2: float(h.y[2]), 4: -0.5}
    guess = direct(h, heard).posterior.mean(h.X[[1, 6]])
    fill = -0.5 + share * (guess + 0.5)
    expired = {3: -0.5} if base == Floor() else {}
    belief = believe(GP_, Halfway(base, share), h)
    same_belief(belief, direct(h, {**heard, 1: fill[0], 6: fill[1], **expired}))


fates = st.lists(st.sampled_from(FATES), max_size=12)


@given(fates)
def test_the_ends_of_halfway_are_the_floor_and_the_belief(words):
    h = history(*words, floor=-0.5)
    same_belief(believe(GP_, Halfway(Unknown(), 1.0), h), believe(GP_, Unknown(), h))
    same_belief(believe(GP_, Halfway(Waiting(), 0.0), h), believe(GP_, Waiting(), h))
    same_belief(believe(GP_, Halfway(Floor(), 0.0), h), believe(GP_, Floor(), h))


# Laws


@given(fates, st.sampled_from([0.0, -1.0, None]))
def test_unknown_leaves_the_mean_of_the_heard_untouched_and_shrinks_the_variance(words, floor):
    h = history(*words, floor=floor)
    unknown, heard = believe(GP_, Unknown(), h).posterior, believe(GP_, Ignored(), h).posterior
    assert_allclose(unknown.mean(Q), heard.mean(Q), rtol=0, atol=1e-9)
    assert np.all(unknown.variance(Q) <= heard.variance(Q) + 1e-12)
    if np.any(h.pending):
        at = h.X[h.pending]
        assert_allclose(unknown.mean(at), heard.mean(at), rtol=0, atol=1e-9)
        assert np.all(unknown.variance(at) < heard.variance(at))


@every_silence
@given(words=fates)
def test_what_is_gone_might_never_have_been_asked(silence, words):
    h = history(*words, floor=-0.5)
    same_belief(believe(GP_, silence, h), believe(GP_, silence, without(h, h.gone)), 1e-12)
    assert len(believe(GP_, silence, h).posterior.X) <= int(np.sum(~h.gone))


@every_silence
@given(words=fates)
def test_a_silence_forgets_exactly_when_what_has_expired_leaves_the_belief(silence, words):
    """`forgets` is what it does: after patience the belief is that of a history in which it was never asked."""
    h = history("heard", "expired", *words, floor=-0.5)
    expired = ~(h.known | h.pending | h.gone)
    belief, never = believe(GP_, silence, h), believe(GP_, silence, without(h, expired))
    forgotten = len(belief.posterior.X) == len(never.posterior.X)
    assert forgotten == silence.forgets
    if forgotten:
        same_belief(belief, never, 1e-12)


@every_silence
@given(words=fates)
def test_when_everything_is_heard_all_silences_agree(silence, words):
    h = history(*["heard" for _ in words])
    same_belief(believe(GP_, silence, h), believe(GP_, Ignored(), h))


@every_silence
@given(words=fates)
def test_what_is_infeasible_is_an_outcome_at_the_floor(silence, words):
    h = history(*words, floor=-0.5)
    told = replace(
        h, seen=h.seen | h.infeasible, y=np.where(h.infeasible, -0.5, h.y), infeasible=np.zeros(len(words), bool)
    )
    one, other = believe(GP_, silence, h), believe(GP_, silence, told)
    same_belief(one, other, 0.0)
    assert_array_equal(one.known, other.known)


@every_silence
@pytest.mark.parametrize("mean", [0.0, 0.8])
def test_without_a_floor_and_before_anything_is_heard_the_pending_count_as_the_prior_mean(silence, mean):
    gp = replace(GP_, mean=mean)
    h = history("pending", "pending", "infeasible", floor=None)
    belief = believe(gp, silence, h).posterior
    assert_array_equal(belief.y_tilde, np.full(len(belief.X), mean))
    assert_allclose(belief.mean(Q), mean, rtol=0, atol=1e-12)


@every_silence
def test_an_outcome_may_bring_its_own_noise(silence):
    """It replaces λ in that row, and only there."""
    h = history("heard", "pending", "heard", "pending")
    own = replace(h, lams=np.array([np.nan, np.nan, 4.0, np.nan]))
    belief = believe(GP_, silence, own).posterior
    noisy = np.all(belief.X == h.X[2], axis=1)
    assert_array_equal(belief.lams, np.where(noisy, 4.0, GP_.lam))
    where = h.X[2:3]
    assert belief.variance(where)[0] > believe(GP_, silence, h).posterior.variance(where)[0] + 0.01


@every_silence
@given(words=fates)
def test_the_masks_of_a_belief_belong_to_its_rows(silence, words):
    h = history(*words)
    belief = believe(GP_, silence, h)
    row_of = {x.tobytes(): i for i, x in enumerate(h.X)}
    rows = np.array([row_of[x.tobytes()] for x in belief.posterior.X], dtype=int)
    assert_array_equal(belief.known, h.known[rows])
    assert_array_equal(belief.recent, h.recent[rows])
    assert_array_equal(np.sort(rows[belief.known]), np.flatnonzero(h.known))  # what was heard is always there


@every_silence
@given(words=fates)
def test_believing_changes_no_history(silence, words):
    h = history(*words)
    kept = {name: np.copy(getattr(h, name)) for name in h.__dataclass_fields__ if name != "floor"}
    believe(GP_, silence, h)
    for name, value in kept.items():
        assert_array_equal(getattr(h, name), value)


# Memory


@dataclass
class Story:
    """A study as it goes on: queries are asked, and each then meets its fate."""

    fates: list[str]
    order: list[int]
    own: list[float]
    clock: int = 0

    def history(self) -> History:
        h = history(*self.fates, floor=-0.5, order=self.order)
        return replace(h, lams=np.array(self.own))

    def go_on(self, verb: str, which: int, noise: float) -> None:
        self.clock += 1
        pending = [i for i, fate in enumerate(self.fates) if fate in ("pending", "expired")]
        if verb == "ask" or not pending:
            self.fates.append("pending")
            self.order.append(10**6)
            self.own.append(math.nan)
            return
        i = pending[which % len(pending)]
        self.fates[i], self.order[i] = verb, self.clock
        if verb == "heard":
            self.own[i] = noise


events = st.tuples(
    st.sampled_from(["ask", "ask", "ask", "heard", "heard", "expired", "infeasible", "gone"]),
    st.integers(0, 40),
    st.sampled_from([math.nan, math.nan, 0.5]),
)
glances = st.tuples(
    st.sampled_from(list(EVERY.values())), st.sampled_from([GP_, GP_, GP(Matern52(0.4), 0.05, 0.3)]), st.booleans()
)


@given(st.lists(st.tuples(st.lists(events, max_size=4), glances), max_size=9))
def test_a_memory_only_saves_time(story):
    """Whatever happened between two beliefs, and whatever was asked of the memory before: the same bits in the factors
    as without it, the same numbers to 1e-9."""
    state, memory = Story([], [], []), FactorCache()
    for happened, (silence, gp, listed) in story:
        for event in happened:
            if len(state.fates) < 40:
                state.go_on(*event)
        h, asked = state.history(), Q if listed else None
        kept, fresh = believe(gp, silence, h, asked, memory), believe(gp, silence, h, asked)
        assert_array_equal(packed(kept.posterior.factor), packed(fresh.posterior.factor))
        assert_array_equal(kept.posterior.y_tilde, fresh.posterior.y_tilde)
        same_belief(kept, fresh)
        assert_array_equal(kept.known, fresh.known)
        assert_array_equal(kept.recent, fresh.recent)


# Values


@pytest.mark.parametrize("name", SILENCES)
def test_every_silence_says_its_name(name):
    assert SILENCES[name].spec()["silence"] == name


def test_silences_are_values():
    assert Floor() == Floor()
    assert Nearest(3) == Nearest()
    assert Nearest(3) != Nearest(4)
    assert Floor() != Waiting()
    assert Nearest(4).spec() == {"silence": "nearest", "k": 4}
    assert Halfway(Floor(), 0.25).spec() == {"silence": "halfway", "base": {"silence": "floor"}, "share": 0.25}


def test_a_silence_that_leaves_an_outcome_unfilled_is_refused():
    class Forgetful:
        forgets = False

        def fill(self, h, floor, heard):
            return Filled(np.arange(len(h.X)), h.y)

    with pytest.raises(InvalidInput, match="left an outcome unfilled"):
        believe(GP_, Forgetful(), history("heard", "pending"))


def test_the_belief_of_the_heard_is_made_only_when_asked_for():
    """floor needs one factor, not two."""
    memory = FactorCache()
    believe(GP_, Floor(), history("heard", "pending", "heard"), None, memory)
    assert memory.heard.factor.n == 0
    assert memory.belief.factor.n == 3
    believe(GP_, Unknown(), history("heard", "pending", "heard"), None, memory)
    assert memory.heard.factor.n == 2


# Fading


HEARD = ["heard"] * 12
DELAYS = [1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 4.0, 5.0, 5.0, 6.0, 6.0]


def faded(h: History) -> ModelBelief:
    return believe(GP_, Fading(), h)


def test_while_everything_comes_fading_is_unknown():
    """S(∞) = 0, so that p = 1 however long a query has been out."""
    h = history(*HEARD, "pending", "pending", "expired", waited=[*DELAYS, 1.0, 4.0, 5.0])
    same_belief(faded(h), believe(GP_, Unknown(), h))


def test_what_has_been_out_for_longer_than_anything_ever_was_fades_to_the_floor():
    """Silence that is as long as the longest, when some never come: S(a) = S(∞), p = 0."""
    h = history(*HEARD, "pending", "expired", "expired", waited=[*DELAYS, 40.0, 40.0, 40.0])
    same_belief(faded(h), believe(GP_, Floor(), h))


def test_in_between_a_pending_one_counts_by_the_probability_that_it_still_comes():
    """Fifteen queries: twelve came, three never did. By hand: S(∞) = 3/15, S(3) = 9/15, p = (9 - 3)/9."""
    h = history(*HEARD, "expired", "expired", "expired", "pending", waited=[*DELAYS, 40.0, 40.0, 40.0, np.nan])
    h = replace(h, waited=np.where(h.pending, 3.0, h.waited))
    # The one that is pending is at risk until 3: S(3) = Π (1 - d/n) with n counting it
    S3 = (1 - 1 / 16) * (1 - 2 / 15) * (1 - 3 / 13)
    rest = (1 - 2 / 9) * (1 - 2 / 7) * (1 - 2 / 5)
    p, never = estimate_arrival(h)
    assert p[-1] == pytest.approx(1 - rest, abs=1e-12)
    assert never[-1] == pytest.approx(S3 * rest, abs=1e-12)
    mean = GP_.condition(h.X[h.seen], h.y[h.seen]).mean(h.X[-1:])[0]
    values = {i: float(h.y[i]) for i in range(12)} | dict.fromkeys((12, 13, 14), 0.0) | {15: (1 - rest) * mean}
    same_belief(faded(h), direct(h, values))


def test_with_fewer_than_ten_heard_it_is_half_and_half():
    h = history("heard", "heard", "pending", waited=[1.0, 2.0, 1.0])
    p, never = estimate_arrival(h)
    assert p.tolist() == [0.5, 0.5, 0.5]
    assert never.tolist() == [0.5, 0.5, 0.5]
    same_belief(faded(h), believe(GP_, Halfway(Floor(), 0.5), h))


def test_an_expired_one_counts_in_part():
    """With the share 1 - p its noise is λ / (1 - p)."""
    h = history("heard", "heard", "expired", waited=[1.0, 2.0, 1.0])
    mean = GP_.condition(h.X[:2], h.y[:2]).mean(h.X[2:])[0]
    by_hand = GP_.condition(h.X, np.array([*h.y[:2], mean / 2]), np.array([GP_.lam, GP_.lam, 2 * GP_.lam]))
    found = faded(h).posterior
    assert_allclose(found.mean(Q), by_hand.mean(Q), rtol=0, atol=1e-12)
    assert_allclose(found.std(Q), by_hand.std(Q), rtol=0, atol=1e-12)


def test_the_width_fades_alike():
    """Σ σ over the recent: nothing of it while everything comes, all of it when nothing more does."""
    coming = history(*HEARD, "pending", waited=[*DELAYS, 1.0])
    assert faded(coming).recent_spread() == pytest.approx(0.0, abs=1e-12)
    silent = history(*["heard"] * 10, *["pending"] * 30, waited=[*[1.0] * 10, *[50.0] * 30])
    belief, floor = faded(silent), believe(GP_, Floor(), silent)
    share = belief.widths
    assert share is not None
    assert share[~belief.known].tolist() == [1.0] * 30
    assert share[belief.known] == pytest.approx(np.full(10, 0.75))
    spread = floor.posterior.std_of(floor.recent)
    assert belief.recent_spread() == pytest.approx(float(np.sum(spread * np.where(floor.known, 0.75, 1.0))))


def test_where_the_waits_differ_by_query_the_silence_of_a_slow_region_says_less():
    """Half of the square answers within two rounds, the other after thirty: out for ten, one is odd and one is not."""
    rng = np.random.default_rng(0)
    n = 120
    X = rng.random((n, 2))
    slow = X[:, 0] > 0.5
    waited = np.where(slow, rng.integers(25, 36, n), rng.integers(1, 3, n)).astype(float)
    arrived = np.ones(n, dtype=bool)
    arrived[rng.choice(np.flatnonzero(~slow), 12, replace=False)] = False  # a few never come, where it is fast
    waited[~arrived] = 60.0
    X[:2], waited[:2], arrived[:2] = [[0.1, 0.5], [0.9, 0.5]], 10.0, False
    h = replace(history(*["heard"] * 40), X=X, waited=waited, arrived=arrived)
    p, _ = estimate_arrival(h)
    pooled = Arrivals(waited, arrived).comes(10.0)
    assert p[0] < pooled - 0.2
    assert p[1] > 0.95
