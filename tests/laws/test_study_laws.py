"""Laws: neither the order of tells, nor a restart, nor units matter, and a batch is a fixed delay."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated
from belated import Choice, Integer, Real, Study
from belated.learner.gp.kernels import SE
from belated.record.ledger.memory import MemoryLedger
from belated.record.trials import Asked
from tests.support.examples import examples

SIX = ["GP-UCB-SDF", "GP-TS-SDF", "GP-UCB", "asy-TS", "GP-BUCB", "GP-BTS"]
GRID = belated.Points([{"x": i / 6, "y": j / 5} for i in range(7) for j in range(6)])
SPACES: dict[str, Any] = {
    "finite": GRID,
    "continuous": {"x": Real(0, 1), "y": Real(1e-3, 1, log=True)},
    "mixed": {"x": Real(-2, 2), "n": Integer(1, 9), "y": Real(0, 1), "kind": Choice("a", "b", "c")},
}
STUDIES: dict[str, dict[str, Any]] = {
    **{name: {"algorithm": name, **({"patience": 6} if name.endswith("SDF") else {})} for name in SIX},
    **{
        f"default, {silence}": {"silence": silence, "patience": 6}
        for silence in ("floor", "unknown", "waiting", "ignored")
    },
}


# Much noise, so that a Thompson draw shows which outcome was given which noise.
NOISY = {
    f"{name}, noisy": {
        **STUDIES[name],
        "algorithm": belated.algorithms.paper(name, kernel=SE(0.3), lam=0.3, refit_every=None),
    }
    for name in SIX
}


def create(study: str, **said: Any) -> Study:
    return Study.create(**{"space": GRID, "seed": 7, "clock": lambda: 0.0, **{**STUDIES, **NOISY}[study], **said})


def f(params: Any) -> float:
    return math.sin(5 * float(params["x"])) + math.cos(3 * params["y"]) + 0.1 * params.get("n", 0)


def queries(study: Study) -> list[Any]:
    return [trial.params for trial in study.trials()]


# The order of tells ---------------------------------------------------------------------------------------------------


def after(study: str, order: Sequence[int], clock: bool = False) -> tuple[Any, Any]:
    """The next query and the belief, once the outcomes of a batch were told in some order (two of them failed)."""
    s = create(study, initial=12, floor=-2.0, **({"patience": "1h"} if clock else {}))
    for i in range(4):
        s.add(s.settings.space.at(9 * i), math.sin(i), at=0.0)
    batch = s.ask(n=8)
    for i in order:
        if i < 5:
            s.tell(batch[i], f(batch[i].params) + 0.3 * math.sin(9 * i), at=100.0 * i if clock else None)
        else:
            s.fail(batch[i], "infeasible" if i == 5 else "lost")
    x = s.ask().params
    return x, s.posterior(s.queries() or [])


in_order = functools.cache(after)


@pytest.mark.parametrize("study", [*STUDIES, *NOISY])
@settings(max_examples=examples(6))
@given(order=st.permutations(range(7)))
def test_the_order_of_tells_never_matters(study: str, order: list[int]) -> None:
    x, belief = after(study, order)
    expected_x, expected = in_order(study, tuple(range(7)))
    np.testing.assert_allclose(belief.mean, expected.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(belief.std, expected.std, rtol=0, atol=1e-9)
    assert x == expected_x


@settings(max_examples=examples(10))
@given(order=st.permutations(range(7)))
def test_nor_by_the_clock_when_the_tells_say_when_they_came(order: list[int]) -> None:
    for study in ("GP-UCB-SDF", "default, unknown"):
        x, belief = after(study, order, clock=True)
        expected_x, expected = in_order(study, tuple(range(7)), clock=True)
        np.testing.assert_allclose(belief.mean, expected.mean, rtol=0, atol=1e-9)
        np.testing.assert_allclose(belief.std, expected.std, rtol=0, atol=1e-9)
        assert x == expected_x


# Restarts -------------------------------------------------------------------------------------------------------------


def script(s: Study, rounds: int, start: int = 1) -> None:
    """Asks, batches, tells of all delays, failures and outcomes added by hand, the same for every study."""
    for t in range(start, start + rounds):
        trials = s.trials()
        for trial in trials:
            if trial.outcome is None and trial.failure is None and (trial.number * 7 + t) % 4 == 0:
                s.tell(trial, f(trial.params) + 0.1 * math.sin(trial.number))
        if t % 9 == 5:
            s.ask(n=2)
        elif t % 9 == 7:
            last = s.best().params
            s.add(last, f(last) + 0.05)
        else:
            trial = s.ask()
            if t % 9 == 3:
                s.fail(trial, "infeasible" if t % 2 else "lost")


def rebuilt(s: Study, events: int | None = None, clock: Callable[[], float] | None = None) -> Study:
    """A study made from another's settings and its first events, and nothing else."""
    return Study(s.settings, MemoryLedger(s.events()[:events]), s.name, clock or s.clock)


@pytest.mark.parametrize(
    ("space", "study"),
    [
        *(("finite", study) for study in STUDIES),
        *(("continuous", study) for study in ("GP-UCB-SDF", "asy-TS", "GP-BUCB", "default, unknown")),
        *(("mixed", study) for study in ("GP-TS-SDF", "GP-UCB", "GP-BTS", "default, floor")),
    ],
)
def test_a_restart_from_the_same_trials_and_seed_asks_the_same(space: str, study: str) -> None:
    s, again = (create(study, space=SPACES[space], floor=-2.0, initial=4) for _ in range(2))
    script(s, 12)
    script(again, 12)
    assert queries(again) == queries(s)  # the same calls, bit for bit
    restarted = rebuilt(s)
    assert restarted.trials() == s.trials()
    script(s, 4, start=13)
    script(restarted, 4, start=13)
    assert queries(restarted) == queries(s)
    probes = queries(s)[::3]
    np.testing.assert_array_equal(restarted.posterior(probes), s.posterior(probes))
    assert restarted.recommend() == s.recommend()


@pytest.mark.parametrize("study", ["default, unknown", "default, waiting", "GP-TS-SDF", "asy-TS", "GP-BUCB"])
@pytest.mark.parametrize("space", ["finite", "mixed"])
def test_every_choice_can_be_made_again_from_the_events_before_it(study: str, space: str) -> None:
    """No cache, no order of calls: trial k follows from what is recorded before it."""
    s = create(study, space=SPACES[space], floor=-2.0, initial=3)
    script(s, 16)
    asked = [(i, e) for i, e in enumerate(s.events()) if isinstance(e, Asked) and not e.by_hand]
    for position, event in asked[3::2]:
        assert rebuilt(s, position).ask().params == event.params, event.number


def test_by_the_clock_every_choice_can_be_made_again_at_the_time_it_was_considered() -> None:
    now = iter(range(0, 10**6, 7))
    s = create("GP-UCB-SDF", patience="200s", clock=lambda: float(next(now)), initial=2, floor=-2.0)
    script(s, 18)
    assert {t.status for t in s.trials()} >= {"heard", "late", "pending"}
    for position, event in [(i, e) for i, e in enumerate(s.events()) if isinstance(e, Asked) and not e.by_hand]:
        again = rebuilt(s, position, lambda event=event: event.considered_at)  # type: ignore[misc]
        assert again.ask().params == event.params, event.number


def test_in_a_contextual_study_too() -> None:
    def play(s: Study, start: int, stop: int) -> None:
        for t in range(start, stop):
            s.ask(context={"z": (t % 3) / 2, "site": "ab"[t % 2]})
            if t > 3:
                s.tell(t - 3, f(s.trials()[t - 4].params) * (t % 3))

    for study in ("default, unknown", "GP-TS-SDF"):
        context = {"z": Real(0, 1), "site": Choice("a", "b")}
        s = create(study, space=SPACES["mixed"], context=context, floor=-2.0)
        play(s, 1, 12)
        restarted = rebuilt(s)
        play(s, 12, 16)
        play(restarted, 12, 16)
        assert queries(restarted) == queries(s)


def test_each_round_and_each_seed_draws_its_own_function() -> None:
    """asy-TS does not know of the pending: what differs from query to query is the draw alone."""
    thompson = {s: create("asy-TS, noisy", seed=s) for s in (7, 8)}
    greedy = create("GP-UCB, noisy")
    for s in (*thompson.values(), greedy):
        for i in (3, 14, 25, 38):
            s.add(GRID.at(i), math.sin(i))
        s.ask(n=8)
    xs = {seed: [repr(x) for x in queries(s)[4:]] for seed, s in thompson.items()}
    assert len(set(xs[7])) > 2
    assert xs[7] != xs[8]
    assert len({repr(x) for x in queries(greedy)[4:]}) == 1


def test_keys_are_kept_as_long_as_the_study() -> None:
    s = create("default, unknown")
    one, batch, added = s.ask(key="a"), s.ask(n=2, key="b"), s.add(GRID.at(3), 0.5, key="c")
    receipt = s.tell(one, 0.25, key="d")
    restarted = rebuilt(s)
    assert restarted.ask(key="a").number == one.number
    assert [t.number for t in restarted.ask(n=2, key="b")] == [t.number for t in batch]
    assert restarted.add(GRID.at(3), 0.5, key="c").number == added.number
    assert restarted.tell(one, 0.25, key="d") == receipt
    assert len(restarted.trials()) == 4
    with pytest.raises(belated.KeyTaken):
        restarted.tell(batch[0], 0.25, key="d")


# Batches --------------------------------------------------------------------------------------------------------------


class WholeBatches:
    """The j-th query of a batch of B_x waits B_x - j + 1 rounds: all of a batch are heard before the next begins."""

    def __init__(self, size: int) -> None:
        self.size, self.asked = size, 0

    def draw(self, rng: Any, params: Any, context: Any) -> float:
        j = self.asked % self.size + 1
        self.asked += 1
        return self.size - j + 1


@pytest.mark.parametrize("space", ["finite", "continuous"])
@pytest.mark.parametrize("study", [*SIX, "default, floor"])
def test_batches_are_fixed_delays(study: str, space: str) -> None:
    """With patience = B_x, simulating the delays gives the queries of ask(n=B_x) and telling whole batches."""
    size, batches = 4, 5
    said: dict[str, Any] = {"space": SPACES[space], "floor": -2.0}
    if "patience" in STUDIES[study]:
        said["patience"] = size
    simulated, by_hand = create(study, **said), create(study, **said)
    rounds = size * batches
    list(belated.simulate(simulated, f, delay=WholeBatches(size), rounds=rounds, seed=3, noise=0.1))
    noisy = [trial.outcome for trial in simulated.trials()]
    for _ in range(batches):
        for trial in by_hand.ask(n=size):
            value = noisy[trial.number - 1]
            assert value is not None
            assert by_hand.tell(trial, value).status == "heard"
    assert queries(by_hand) == queries(simulated)
    delays = [trial.delay for trial in simulated.trials()]
    assert delays == [trial.delay for trial in by_hand.trials()] == [4.0, 3.0, 2.0, 1.0] * batches


# Units ----------------------------------------------------------------------------------------------------------------


def played(study: str, transform: Callable[[float], float], **said: Any) -> Iterator[Any]:
    """The queries, and the final belief, of a study whose outcomes are written down in other units."""
    s = create(study, **said)
    for t in range(1, 19):
        trial = s.ask()
        yield trial.params
        if t > 2:
            s.tell(t - 2, transform(f(s.trials()[t - 3].params)))
    yield s.posterior(s.queries() or []), s.recommend().params, s.best().params


@pytest.mark.parametrize("study", STUDIES)
def test_minimizing_is_maximizing_the_negative(study: str) -> None:
    *up, (high, x, best) = played(study, lambda y: y, floor=-2.0, ceiling=3.0)
    *down, (low, x_low, best_low) = played(study, lambda y: -y, floor=2.0, ceiling=-3.0, goal="minimize")
    assert up == down
    assert (x, best) == (x_low, best_low)
    np.testing.assert_allclose(high.mean, -low.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(high.std, low.std, rtol=0, atol=1e-9)


@pytest.mark.parametrize("study", STUDIES)
def test_units_do_not_matter(study: str) -> None:
    """y in degrees Celsius or Fahrenheit: the same queries, and a belief in the same units as the outcomes."""
    *plain, (belief, x, best) = played(study, lambda y: y, floor=-2.0, ceiling=3.0)
    *other, (scaled, x_scaled, best_scaled) = played(study, lambda y: 1.8 * y + 32, floor=28.4, ceiling=37.4)
    assert plain == other
    assert (x, best) == (x_scaled, best_scaled)
    np.testing.assert_allclose(scaled.mean, 1.8 * belief.mean + 32, rtol=0, atol=1e-6)
    np.testing.assert_allclose(scaled.std, 1.8 * belief.std, rtol=0, atol=1e-6)
