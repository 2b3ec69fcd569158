"""Ask and add: one query or a batch, coordinates fixed by hand, the first queries, and what was tried elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

import belated
from belated import Choice, Integer, Real, Study
from belated.learner.gp.kernels import SE

MIXED = {"x": Real(0, 1), "lr": Real(1e-6, 1, log=True), "layers": Integer(1, 8), "act": Choice("relu", "tanh")}
GRID = belated.Points([i / 10 for i in range(11)])


def create(**said: Any) -> Study:
    if "algorithm" not in said:
        said.setdefault("silence", "unknown")
    return Study.create(**{"space": GRID, "seed": 0, **said})


def fixed(name: str, **parts: Any) -> belated.algorithms.Algorithm:
    return belated.algorithms.paper(name, **{"kernel": SE(0.2), "lam": 0.01, "refit_every": None, **parts})


def statuses(study: Study) -> list[str]:
    return [trial.status for trial in study.trials()]


# Asking ---------------------------------------------------------------------------------------------------------------


def test_ask_gives_a_trial_and_ask_n_a_list_for_one_context() -> None:
    study = create(context={"z": Real(0, 1)})
    assert isinstance(study.ask(context={"z": 0.5}), belated.Trial)
    assert [t.number for t in study.ask(context={"z": 0.5}, n=1)] == [2]
    batch = study.ask(context={"z": 0.25}, n=4)
    assert [t.number for t in batch] == [3, 4, 5, 6]
    assert [t.context for t in batch] == [{"z": 0.25}] * 4


def test_contexts_are_answered_one_by_one_in_their_order() -> None:
    """Each knows those before it: the batch is what as many single asks would have been, and can be replayed."""
    whole, single = (create(context={"z": Real(0, 1)}, algorithm=fixed("GP-BUCB"), floor=0.0) for _ in range(2))
    contexts = [{"z": z} for z in (0.1, 0.9, 0.1, 0.1)]
    for study in (whole, single):
        study.add({"x": 0.3}, 0.5, context={"z": 0.1})
    batch = whole.ask(contexts=contexts)
    assert [(t.number, t.context) for t in batch] == list(zip(range(2, 6), contexts, strict=True))
    assert [t.params for t in batch] == [single.ask(context=z).params for z in contexts]
    assert all(whole.replay(t.number).same for t in batch)


def test_a_key_stands_for_the_whole_list_of_contexts() -> None:
    study = create(context={"z": Real(0, 1)})
    contexts = [{"z": 0.1}, {"z": 0.9}]
    batch = study.ask(contexts=contexts, key="k")
    assert study.ask(contexts=contexts, key="k") == batch
    for other in (contexts[::-1], contexts[:1], [*contexts, {"z": 0.1}]):
        with pytest.raises(belated.KeyTaken):
            study.ask(contexts=other, key="k")
    assert study.rounds == 2


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"contexts": []}, "contexts must be a list of contexts, at least one"),
        ({"contexts": {"z": 0.1}}, "contexts must be a list of contexts, at least one"),
        ({"contexts": [{"z": 0.1}], "n": 2}, "leave context and n out"),
        ({"contexts": [{"z": 0.1}], "context": {"z": 0.1}}, "leave context and n out"),
        ({"contexts": [{"z": 0.1}, {"z": 7.0}]}, "z: value must be between"),
        ({"contexts": [{"z": 0.1}, None]}, "context must be given: z"),
    ],
)
def test_contexts_that_are_none_are_refused_and_nothing_is_asked(wrong: dict[str, Any], sentence: str) -> None:
    study = create(context={"z": Real(0, 1)})
    with pytest.raises(belated.InvalidInput, match=sentence):
        study.ask(**wrong)
    assert study.rounds == 0


def test_the_queries_of_a_batch_know_of_each_other() -> None:
    """With pending ones shrinking the uncertainty, a batch is what as many single asks would have been."""
    whole, single = (create(algorithm=fixed("GP-BUCB"), floor=0.0) for _ in range(2))
    for study in (whole, single):
        study.add({"x": 0.3}, 0.5)
    batch = [t.params for t in whole.ask(n=5)]
    assert batch == [single.ask().params for _ in range(5)]
    assert len({p["x"] for p in batch}) > 1


def test_params_fix_some_coordinates_and_the_rest_is_chosen() -> None:
    study = create(space=MIXED, initial=2)
    for s in range(8):
        trial = study.ask(params={"lr": 3e-4, "act": "tanh"})
        assert (trial.params["lr"], trial.params["act"]) == (pytest.approx(3e-4, rel=1e-12), "tanh")
        assert 0 <= trial.params["x"] <= 1
        assert trial.params["layers"] in range(1, 9)
        study.tell(trial, 0.1 * s)
    assert len({t.params["x"] for t in study.trials()}) > 1  # chosen, query by query; it may come back to a bound
    everything = {"x": 0.25, "lr": 0.01, "layers": 2, "act": "relu"}
    assert study.ask(params=everything).params == pytest.approx(everything)
    assert not study.ask(params=everything).by_hand


def test_what_a_person_said_is_recorded_as_it_was_said() -> None:
    """Not 0.0009999999999999996, nor what else is left after a trip through the unit cube."""
    study = create(space=MIXED, context={"c": Real(1e-6, 1, log=True)})
    said = {"x": 0.3, "lr": 1e-3, "layers": 3, "act": "relu"}
    assert study.add(said, 1.0, context={"c": 1e-3}).params == said
    assert study.trials()[0].context == {"c": 1e-3}
    assert study.ask(params={"lr": 1e-3}, context={"c": 1e-3}).params["lr"] == 1e-3


def test_on_a_finite_space_params_choose_among_the_points_that_match() -> None:
    """The best upper confidence bound among them, which is not the best of all."""
    Q = [{"a": a, "b": b} for a in ("left", "right") for b in (0.0, 0.5, 1.0)]
    study = create(space=belated.Points(Q), algorithm=fixed("GP-UCB"), floor=0.0, ceiling=1.0)
    study.add({"a": "left", "b": 1.0}, 0.9)
    mean, std, _, _ = study.posterior(Q)
    right = [i for i, q in enumerate(Q) if q["a"] == "right"]
    best = max(right, key=lambda i: (mean + std)[i])
    assert (mean + std)[best] < max(mean + std)
    assert study.ask(params={"a": "right"}).params == Q[best]
    assert study.ask(params={"b": 0.5}).params["b"] == 0.5


def test_ask_chooses_the_best_upper_confidence_bound_of_the_posterior() -> None:
    """For both goals, in the user's units: argmax μ + σ, argmin μ - σ."""
    for goal, floor, ceiling, sign in (("maximize", -3.0, 7.0, 1), ("minimize", 7.0, -3.0, -1)):
        study = create(algorithm=fixed("GP-UCB"), goal=goal, floor=floor, ceiling=ceiling)
        for x, y in ((0.0, 1.0), (0.4, 5.5), (0.9, -2.0)):
            study.add({"x": x}, y)
        Q = study.queries()
        assert Q is not None
        for _ in range(6):
            mean, std, _, _ = study.posterior(Q)
            trial = study.ask()
            assert trial.params == Q[int(np.argmax(sign * mean + std))]
            study.tell(trial, 4 - 10 * (trial.params["x"] - 0.6) ** 2)


def test_the_first_queries_fill_the_space_and_added_ones_count_among_them() -> None:
    """Outcomes cannot matter to the first `initial` queries, and do to the next."""

    def queries(added: int, slope: float, initial: int) -> list[Any]:
        study = create(space={"x": Real(0, 1), "y": Real(0, 1)}, initial=initial)
        for i in range(added):
            study.add({"x": i / 10, "y": 0.5}, slope * i)
        for _ in range(5):
            trial = study.ask()
            study.tell(trial, slope * (trial.params["x"] + 2 * trial.params["y"]))
        return [(t.params["x"], t.params["y"]) for t in study.trials() if not t.by_hand]

    up, down = queries(0, 1.0, 4), queries(0, -1.0, 4)
    filling = queries(0, 1.0, 100)
    assert up[:4] == down[:4] == filling[:4]
    assert len({up[4], down[4], filling[4]}) == 3
    up, down = queries(3, 1.0, 4), queries(3, -1.0, 4)  # three were added: one is left
    filling = queries(3, 1.0, 100)
    assert up[0] == down[0] == filling[0]
    assert len({up[1], down[1], filling[1]}) == 3
    assert queries(4, 1.0, 4)[0] != queries(4, -1.0, 4)[0]
    assert queries(3, 1.0, 0)[0] != queries(3, -1.0, 0)[0]
    assert queries(2, 1.0, 0)[0] == queries(2, -1.0, 0)[0]  # fewer than three are heard: too few to learn from


# Adding ---------------------------------------------------------------------------------------------------------------


def test_added_with_a_value_is_told_at_once_and_has_no_delay() -> None:
    study = create(patience=1, clock=lambda: 50.0)
    study.ask()
    trial = study.add({"x": 0.2}, 0.4)
    assert (trial.number, trial.params, trial.outcome) == (2, {"x": 0.2}, 0.4)
    assert (trial.status, trial.delay, trial.by_hand) == ("heard", None, True)
    assert (trial.asked_at, trial.told_at) == (50.0, 50.0)
    later = study.add({"x": 0.3}, 0.5, at=7.0)  # in rounds, at= is only recorded
    assert (later.asked_at, later.told_at, later.delay) == (7.0, 7.0, None)
    assert statuses(study) == ["expired", "heard", "heard"]
    assert not study.trials()[0].by_hand


def test_added_by_the_clock_is_asked_and_told_at_the_time_given_and_never_late() -> None:
    study = create(patience="1h", clock=lambda: 1e9)
    trial = study.add({"x": 0.2}, 0.4, at=1000.0)
    assert (trial.asked_at, trial.told_at, trial.delay, trial.status) == (1000.0, 1000.0, None, "heard")
    now = study.add({"x": 0.2}, 0.4)
    assert (now.asked_at, now.told_at, now.delay, now.status) == (1e9, 1e9, None, "heard")
    when = datetime(2020, 1, 2, tzinfo=UTC)
    assert study.add({"x": 0.3}, 0.4, at=when).told_at == when.timestamp()


def test_added_without_a_value_is_pending_and_told_like_any_other() -> None:
    study = create(patience=2)
    trial = study.add({"x": 0.2})
    assert (trial.status, trial.outcome, trial.delay, trial.by_hand) == ("pending", None, None, True)
    study.ask()
    receipt = study.tell(trial, 0.5)
    assert (receipt.status, receipt.delay) == ("heard", 2.0)
