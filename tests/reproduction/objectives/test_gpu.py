"""Tuning on six GPUs: the table's values, its failures as infeasible queries, and the speed of an ask."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

import belated
from reproduction.objectives import gpu
from tests.reproduction.needs_data import needs_data

pytestmark = needs_data("gpu_convolution.npz")

FIRST = dict(zip(gpu.NAMES, (16, 0, 1, 1, 0, 0, 0), strict=True))
RNG = np.random.default_rng(0)


def create(task: gpu.Task, **said: object) -> belated.Study:
    return belated.Study.create(
        space=task.space,
        context=task.context,
        goal=task.goal,
        floor=task.floor,
        ceiling=task.ceiling,
        seed=0,
        clock=belated.SimulatedClock(),
        **said,  # type: ignore[arg-type]
    )


def test_known_values_and_the_scale() -> None:
    task = gpu.make_task(0)
    assert task.f(FIRST, {"gpu": "A100"}) == pytest.approx(math.log2(3.8753278), abs=1e-7)
    assert task.ceiling == task.best({"gpu": "A100"}) == pytest.approx(math.log2(0.5536), abs=1e-6)
    assert task.best({"gpu": "W6600"}) == pytest.approx(math.log2(1.7276194), abs=1e-7)
    assert task.floor == pytest.approx(math.log2(310.61627), abs=1e-7)
    assert task.goal == "minimize"


def test_the_delay_is_what_compiling_and_measuring_took() -> None:
    delay = gpu.make_task(0).delay
    assert delay is not None
    assert delay.draw(RNG, FIRST, {"gpu": "A100"}) == pytest.approx((918.59906 + 126.38292) / 1000, abs=1e-6)
    assert np.all(gpu.load_table().delay > 0.2)


def test_the_gpus_take_turns() -> None:
    task = gpu.make_task(0)
    assert task.context_of is not None
    names = [task.context_of(s)["gpu"] for s in range(1, 14)]
    assert names == [*gpu.load_table().gpus, *gpu.load_table().gpus, "A100"]
    assert gpu.load_table().gpus == ("A100", "A4000", "A6000", "MI250X", "W6600", "W7800")


def test_what_a_gpu_refused_is_infeasible_there() -> None:
    task, value = gpu.make_task(0), gpu.load_table().value
    space = task.space
    assert isinstance(space, belated.Points)
    assert len(space) == 4362
    assert np.isnan(value).sum(axis=1).tolist() == [161, 161, 473, 0, 0, 116]
    failed = int(np.flatnonzero(np.isnan(value[2]))[0])
    with pytest.raises(belated.Infeasible, match=r"^the A6000 does not run this configuration$"):
        task.f(space.at(failed), {"gpu": "A6000"})
    assert math.isfinite(task.f(space.at(failed), {"gpu": "W6600"}))


def test_a_run_by_the_clock_meets_failures_and_counts_them_as_the_floor() -> None:
    task, (gpus, _, value, _) = gpu.make_task(0), gpu.load_table()
    space = task.space
    assert isinstance(space, belated.Points)
    assert task.delay is not None
    assert task.context_of is not None
    refused = np.flatnonzero(np.isnan(value[2]))  # by the A6000, every third of six rounds

    study = create(task, algorithm="GP-UCB-SDF", patience="4s")
    for _ in belated.simulate(
        study,
        task.f,
        delay=task.delay,
        rounds=18,
        seed=0,
        workers=4,
        contexts=task.context_of,
        choose=lambda study: space.at(int(refused[study.rounds])),
    ):
        pass
    ended = [t for t in study.trials() if t.status in ("heard", "late", "failed")]
    for trial in ended:
        assert trial.context is not None
        refuses = np.isnan(value[gpus.index(trial.context["gpu"]), refused[trial.number - 1]])
        assert trial.failure == ("infeasible" if refuses else None)
    failures = [t.number for t in ended if t.failure == "infeasible"]
    assert {3, 9} <= set(failures)
    cumulative = belated.measure_regret(study, task.f, task.best).cumulative
    assert cumulative[2] - cumulative[1] == pytest.approx(task.floor - task.best({"gpu": "A6000"}))


def test_asking_among_4362_points_is_fast() -> None:
    """The hundredth ask takes about 30 ms; one that lists the points anew each time would take seconds."""
    task = gpu.make_task(0)
    assert task.delay is not None
    study = create(task, algorithm="GP-UCB-SDF", patience="4s")
    rng = np.random.default_rng(0)
    space = task.space
    assert isinstance(space, belated.Points)
    assert task.context_of is not None
    for s in range(1, 100):
        params, context = space.at(int(rng.integers(len(space)))), task.context_of(s)
        try:
            study.add(params, task.f(params, context), context=context)
        except belated.Infeasible:
            study.fail(study.add(params, context=context), "infeasible")
    study.ask(context=task.context_of(100))  # fits
    began = time.process_time()
    for s in range(101, 106):
        study.ask(context=task.context_of(s))
    assert (time.process_time() - began) / 5 < 1.0
