"""What a person may rely on who names no algorithm: the belief is usable while outcomes are out, in every context."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import belated
from belated import Choice, Points, Real, Study
from belated.record.choices import find_situation
from belated.record.events import Asked
from belated.record.ledger.memory import MemoryLedger
from tests.support.studies import state_of


def rebuilt(study: Study) -> Study:
    return Study(study.original_settings, MemoryLedger(study.events()), study.name, study.clock)


@pytest.mark.parametrize("silence", ["floor", "waiting", "unknown"])
def test_what_is_pending_beside_the_best_does_not_move_the_recommendation_elsewhere(silence: str) -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence=silence, floor=0.0, ceiling=1.0, seed=0)
    for x in np.linspace(0, 1, 11):
        study.add({"x": x}, 1 - (x - 0.6) ** 2)
    study.add({"x": 0.62})
    study.add({"x": 0.55})
    assert study.recommend().params["x"] == pytest.approx(0.6, abs=0.03)
    assert study.recommend().value <= 1.02  # f is nowhere above 1, and 1 is the stated ceiling


def test_where_little_is_known_a_pending_floor_counts() -> None:
    """The same query pending far from what was heard: floor pulls the belief down, unknown leaves it."""
    means = {}
    for silence in ("floor", "unknown"):
        study = Study.create(space={"x": Real(0, 1)}, silence=silence, floor=0.0, ceiling=1.0, seed=0)
        study.add({"x": 0.05}, 0.8)
        study.add({"x": 0.9})
        means[silence] = float(study.posterior([{"x": 0.9}]).mean[0])
    assert means["floor"] < means["unknown"] - 0.2


def test_the_belief_reports_what_was_told_however_bad() -> None:
    """Most queries end up near the best; the few bad ones at the start are reported as they were."""
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    for _ in range(25):
        trial = study.ask()
        study.tell(trial, trial.params["x"])
    told = study.trials()
    belief = study.posterior([trial.params for trial in told])
    assert_allclose(belief.mean, [trial.outcome for trial in told], rtol=0, atol=1e-3)


def test_only_conversions_are_told() -> None:
    """20 queries of each arm, 3 of them converted: where silence is an outcome, the belief has its noise."""
    arms = [{"arm": arm} for arm in "abc"]
    study = Study.create(space=Points(arms), silence="floor", floor=0.0, ceiling=1.0, patience=5, seed=0)
    for i in range(60):
        trial = study.ask(params=arms[i % 3])
        if i % 7 == 0:
            study.tell(trial, 1.0)
    for _ in range(6):
        study.ask()
    belief = study.posterior(arms)
    assert np.all((0.08 < belief.mean) & (belief.mean < 0.25))
    assert np.all((0.03 < belief.std) & (belief.std < 0.15))  # √(0.15 · 0.85 / 20) = 0.08


def test_each_context_has_its_own_best() -> None:
    """Two contexts whose outcomes are 20 apart: improvement in the lower one is over what is good there."""
    points = Points(np.linspace(0, 1, 41))
    study = Study.create(space=points, context={"z": Choice("low", "high")}, silence="unknown", seed=0, initial=6)

    def g(params: Any, context: Any) -> float:
        return float(-10 * (params["x"] - 0.3) ** 2 + (20.0 if context["z"] == "high" else 0.0))

    gaps = []
    for i in range(50):
        context = {"z": "low" if i % 2 else "high"}
        trial = study.ask(context=context)
        study.tell(trial, g(trial.params, context))
        if i >= 30:
            gaps.append(g({"x": 0.3}, context) - g(trial.params, context))
    assert np.median(gaps) < 0.05
    assert study.recommend(context={"z": "low"}).params["x"] == pytest.approx(0.3, abs=0.03)


def test_moves_take_turns_in_every_context_and_over_what_is_added() -> None:
    study = Study.create(
        space=Points(np.linspace(0, 1, 21)), context={"z": Choice("a", "b")}, silence="unknown", initial=0, seed=0
    )
    turns: dict[str, list[int]] = {"a": [], "b": []}
    for i in range(8):
        z = "ab"[i % 2]
        state = state_of(study)
        turns[z].append(find_situation(state, 0.0, state.encode_context({"z": z})[1])[1].turn)
        study.ask(context={"z": z})
        study.add({"x": 0.0}, 0.5, context={"z": z})
    assert turns == {"a": [0, 1, 2, 3], "b": [0, 1, 2, 3]}


def test_a_batch_that_was_given_up_leaves_no_trace() -> None:
    points = Points([i / 10 for i in range(11)])
    study = Study.create(space=points, silence="unknown", repeats="never", seed=0)
    for i in range(6):
        study.tell(study.ask(), (i * 7 % 5) / 5)
    with pytest.raises(belated.Exhausted):
        study.ask(n=6)
    for x in (0.9, 0.7, 0.5):
        if all(trial.params["x"] != x for trial in study.trials()):
            study.add({"x": x}, 0.3)
    queries = study.queries()
    assert queries is not None
    live, again = study.posterior(queries), rebuilt(study).posterior(queries)
    assert_allclose(live.mean, again.mean, rtol=0, atol=1e-9)
    assert_allclose(live.std, again.std, rtol=0, atol=1e-9)


def test_outcomes_at_the_end_of_float64_are_survived() -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0, initial=0)
    for i, value in enumerate([0, 1, 2, 3, 1e160, -1e308, 1e308]):
        study.add({"x": i / 7}, value)
    assert 0 <= study.ask().params["x"] <= 1
    assert 0 <= study.recommend().params["x"] <= 1
    belief = study.posterior([{"x": 0.3}])
    assert np.all(np.isfinite(belief.mean))
    assert np.all(np.isfinite(belief.std))


def test_rounds_by_hand_do_not_make_the_papers_fits_go_missing() -> None:
    study = Study.create(space={"x": Real(0, 1)}, algorithm="GP-UCB", floor=0.0, seed=0)
    for i in range(34):
        if i % 10 == 0 and i:
            study.add({"x": i / 40}, float(np.sin(i)) + 1)
        else:
            study.tell(study.ask(), float(np.sin(i)) + 1)
    fitted = [event.number for event in study.events() if isinstance(event, Asked) and event.fitted is not None]
    assert fitted == [12, 22, 32]


def test_asking_from_two_threads_gives_blas_its_threads_back() -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    with threadpool_limits(limits=2, user_api="blas"):
        before = [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

        def work(seed: int) -> None:
            study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=seed)
            for _ in range(15):
                study.tell(study.ask(), 0.5)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        after = [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]
    assert after == before


def test_a_trial_of_another_study_is_not_told_here() -> None:
    one = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    other = Study.create(space={"y": Real(0, 5)}, silence="unknown", seed=1)
    one.ask()
    with pytest.raises(belated.UnknownTrial, match="a trial of another one"):
        one.tell(other.ask(), 3.0)
    assert one.trial(1).status == "pending"


def test_the_simulated_world_counts_with_the_study() -> None:
    """What the caller adds or asks inside the loop is a round like any other, and is answered."""
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    for trial in belated.simulate(study, lambda p: p["x"], delay=belated.delays.Fixed(1), rounds=6, seed=0):
        if trial.number == 2:
            study.add({"x": 0.5}, 0.5)
        if trial.number == 5:
            study.ask()
    assert [t.delay for t in study.trials()] == [1.0, 2.0, None, 1.0, 2.0, 1.0, 1.0, 1.0]
