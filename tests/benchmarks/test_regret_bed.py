"""The regret benchmark's world: everyone meets the same f, first queries, contexts, noise and delays."""

from __future__ import annotations

import math

import numpy as np
import pytest

import belated
from belated.simulation.simulate import evaluate_exactly
from belated.space.encoding import Space
from benchmarks.regret import functions
from benchmarks.regret.columns import Columns, parameters
from benchmarks.regret.entrants import entrants
from benchmarks.regret.peers.ours import FORMER
from benchmarks.regret.tasks import BEDS, FAMILIES, drawn_task
from benchmarks.regret.world import Job, beginnings, played, space_filling

ROUNDS = 24


def trials(task: str, name: str, seed: int = 0) -> list[belated.Trial]:
    return played(Job(task, name, seed, ROUNDS), entrants()[name])[1].trials()


@pytest.mark.parametrize("task", ["branin", "hartmann-kinds"])
def test_everyone_meets_the_same_world(task):
    drawn = drawn_task(task, 0)
    first = beginnings(drawn)
    runs = [trials(task, name) for name in ("random", "default", "GP-BTS")]
    for s, together in enumerate(zip(*runs, strict=True), start=1):
        told = [t for t in together if t.outcome is not None]
        noises = {round(t.outcome - evaluate_exactly(drawn.f, t.params, t.context), 9) for t in told}
        assert len(noises) <= 1  # the same noise, whatever was asked
        assert len({t.delay for t in together}) == 1
        assert len({str(t.context) for t in together}) == 1
        if s <= first:
            assert all(t.params == space_filling(drawn, 0, s - 1) for t in together)
    assert runs[0][first:] != runs[1][first:]


def test_another_seed_is_another_world():
    one, other = trials("gp2", "random", 0), trials("gp2", "random", 1)
    assert one[0].params != other[0].params
    assert [t.delay for t in one] != [t.delay for t in other]


def test_delays_by_input_are_drawn_at_the_input():
    few, many = (
        {"layers": n, "width": w, "activation": "relu", "rate": 1e-3, "dropout": 0.1} for n, w in ((1, 16), (8, 512))
    )
    delay = drawn_task("network", 0).delay
    means = [np.mean([delay.draw(np.random.default_rng(i), x, None) for i in range(200)]) for x in (few, many)]
    assert means == pytest.approx([4, 28], rel=0.1)


def test_regret_is_what_belated_measures():
    run, study = played(Job("branin", "random", 3, ROUNDS), entrants()["random"])
    task = drawn_task("branin", 3)
    measured = belated.measure_regret(study, task.f, task.best)
    assert run.simple == pytest.approx(measured.late[-1])
    assert run.simple_half == pytest.approx(measured.late[ROUNDS // 2 - 1])
    assert run.cumulative == pytest.approx(measured.cumulative[-1])
    assert run.cpu > 0
    assert math.isnan(played(Job("branin-context", "random", 0, 12), entrants()["random"])[0].simple)


def test_a_peer_that_raises_asks_a_space_filling_query(monkeypatch):
    from benchmarks.regret.peers import random

    def chooser(task, seed):
        def choose(study):
            raise ArithmeticError("singular")

        return choose

    monkeypatch.setattr(random, "chooser", chooser)
    run, study = played(Job("branin", "random", 0, ROUNDS), entrants()["random"])
    task = drawn_task("branin", 0)
    assert run.failures == ROUNDS - beginnings(task)
    assert run.note == "ArithmeticError: singular"
    assert [t.params for t in study.trials()] == [space_filling(task, 0, i) for i in range(ROUNDS)]


@pytest.mark.parametrize("name", [name for name, one in entrants().items() if one.own and name not in FORMER])
def test_all_of_ours_can_be_asked(name):
    run, study = played(Job("svm", name, 0, 14), entrants()[name])
    assert study.rounds == 14
    assert np.isfinite(run.simple)


# The tasks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BEDS)
def test_nothing_beats_the_best_and_nothing_is_below_the_floor(name):
    task = drawn_task(name, 1)
    for i in range(256):
        context = None if task.context_of is None else task.context_of(i + 1)
        value = evaluate_exactly(task.f, space_filling(task, 1, i), context)
        best = task.best(context) if callable(task.best) else task.best
        assert task.floor - 1e-9 <= value <= best + 1e-9 <= task.ceiling + 2e-9


BEST = {
    "svm": {"C": 10**1.5, "gamma": 0.01, "kernel": "rbf"},
    "ackley-mixed": {"x1": 0.0, "x2": 0.0, "n1": 0, "n2": 0, "kind": "a"},
    "network": {"layers": 4, "width": 128, "activation": "gelu", "rate": 1e-3, "dropout": 0.2},
    "ackley5": {f"x{i}": 0.0 for i in range(1, 6)},
    "rosenbrock4": {f"x{i}": 1.0 for i in range(1, 5)},
    "branin": {"x1": math.pi, "x2": 2.275},
    "hartmann3-every": dict(zip(("x1", "x2", "x3"), functions.HARTMANN3_AT.tolist(), strict=True)),
    "hartmann6": dict(
        zip((f"x{i}" for i in range(1, 7)), (0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573), strict=True)
    ),
}


@pytest.mark.parametrize("name", BEST)
def test_the_best_is_reached_where_it_is_said_to_lie(name):
    task = drawn_task(name, 0)
    assert evaluate_exactly(task.f, BEST[name], None) == pytest.approx(task.best, abs=1e-6)


def test_the_best_of_a_context_is_the_best_in_that_context():
    task = drawn_task("branin-context", 0)
    for s in range(1, 20):
        z = task.context_of(s)
        grid = max(task.f({"x2": x2}, z) for x2 in np.linspace(0, 15, 3001))
        assert task.best(z) == pytest.approx(grid, abs=1e-4)
    task = drawn_task("hartmann-context", 0)
    for z in np.linspace(0, 1, 11):
        shift = np.array([0.5 * z, 0.3 * math.sin(2 * math.pi * z), -0.5 * z])
        at = functions.HARTMANN3_AT + shift
        assert np.all((at >= 0) & (at <= 1))
        assert task.f(dict(zip(("x1", "x2", "x3"), at, strict=True)), {"z": z}) == pytest.approx(task.best)


def test_a_sample_is_normalised():
    f = functions.sample(5, 2, 0.08, frequencies=64, cells=60)
    values = [f(x) for x in np.random.default_rng(0).random((2000, 2))]
    assert -0.02 <= min(values) < 0.2
    assert 0.8 < max(values) <= 1 + 1e-9


def test_the_tasks_span_what_they_are_to_span():
    kinds, dimensions, noises = set(), set(), set()
    for name in BEDS:
        task = drawn_task(name, 0)
        kinds.add(type(task.delay).__name__)
        dimensions.add(len(Space.of(task.space).names))
        noises.add(task.noise > 0)
    assert kinds == {"Poisson", "Fixed", "Geometric", "LogNormal", "ByInput"}
    assert dimensions >= {1, 2, 3, 4, 5, 6}
    assert noises == {True, False}
    assert {bed.family for bed in BEDS.values()} == set(FAMILIES) == {b.family for b in BEDS.values() if b.quick}
    assert all(bed.counts == "cumulative" for name, bed in BEDS.items() if drawn_task(name, 0).context is not None)


def test_columns_there_and_back():
    for name in ("svm", "network", "ackley-mixed", "hartmann-kinds"):
        task = drawn_task(name, 0)
        columns = Columns(parameters(task.space))
        for i in range(32):
            params = space_filling(task, 0, i)
            row = np.array(columns.encode(params))
            assert np.all((columns.bounds[0] <= row) & (row <= columns.bounds[1]))
            back = columns.decode(row)
            assert back == {n: pytest.approx(v) if isinstance(v, float) else v for n, v in params.items()}
    columns = Columns(parameters(drawn_task("network", 0).space))
    assert list(columns.levels) == [0, 1]
    assert columns.options == {2: [0.0, 1.0, 2.0, 3.0]}
    assert parameters(None) == {}
