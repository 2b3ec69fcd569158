"""What an executor of another library must do for us: several processes, one of which is killed in mid-work."""

import os
import signal
import time
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated
from belated.execution.optimize import Run
from belated.execution.parallel import run_in_parallel
from belated.learner.gp import summary
from belated.learner.gp.summary import Sizes
from benchmarks.regret import __main__ as regret
from benchmarks.regret.entrants import entrants
from tests.support.summaries import use_sizes


def make_deadly(folder: Path, f: Any) -> Any:
    """f, which kills its process the second time that it is called, and leaves a file each time."""

    def deadly(*given: Any) -> Any:
        calls = len(list(folder.iterdir()))
        (folder / f"{os.getpid()}-{time.monotonic_ns()}").touch()
        if calls == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return f(*given)

    return deadly


class ExecutorContract:
    """A test inherits this, and has a fixture `executor`."""

    def test_optimize_loses_nothing_when_a_worker_is_killed(self, executor: Executor, tmp_path: Path) -> None:
        study = belated.Study.create(space={"x": belated.Real(0, 1)}, silence="unknown", seed=0, initial=1000)
        f = make_deadly(tmp_path, lambda params: -((params["x"] - 0.3) ** 2))
        assert study.optimize(f, rounds=8, workers=2, executor=executor) == Run(asked=8, told=8)
        assert all(trial.outcome == -((trial.params["x"] - 0.3) ** 2) for trial in study.trials())
        assert len(list(tmp_path.iterdir())) >= 9  # what the killed worker had is computed again

    def test_results_are_those_of_one_process_when_a_worker_is_killed(self, executor: Executor, tmp_path: Path) -> None:
        def work(seed: int) -> Any:
            X = np.random.default_rng(seed).random((40, 40))
            return np.linalg.solve(X @ X.T + np.eye(40), X[0])

        serial = run_in_parallel(work, range(12), 1)
        found = run_in_parallel(make_deadly(tmp_path, work), range(12), 1, executor=executor)
        np.testing.assert_allclose(found, serial, rtol=0, atol=1e-9)
        assert len(list(tmp_path.iterdir())) >= 13

    def test_a_comparison_is_the_one_of_one_process(self, executor: Executor) -> None:
        study = belated.Study.create(space=belated.Points(np.linspace(0, 1, 20).tolist()), silence="unknown", seed=0)
        for _ in belated.simulate(study, lambda p: p["x"], delay=belated.delays.Poisson(3), rounds=15, seed=1):
            pass
        said: Any = {"algorithms": ["GP-BTS", "GP-UCB"], "seeds": 3, "rounds": 8}
        assert str(belated.compare(study, executor=executor, **said)) == str(belated.compare(study, **said))

    def test_a_benchmark_has_the_rows_of_one_process(self, executor: Executor, tmp_path: Path) -> None:
        jobs = regret.jobs_of(["branin"], [entrants()["random"]], seeds=3, share=0.1)
        here, there = (
            regret.measure_all(jobs, tmp_path / f"{name}.csv", 1, pool)
            for name, pool in (("here", None), ("there", executor))
        )
        assert len(there) == 3
        assert [(row.job, row.simple, row.cumulative) for row in there] == [
            (row.job, row.simple, row.cumulative) for row in here
        ]

    def test_a_refit_and_its_summary_are_those_of_one_process_when_a_worker_is_killed(
        self, executor: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        use_sizes(monkeypatch, Sizes(exact=40, centres=16, newest=8, block=8, chunk=2, aside=3))
        here, there = (
            belated.Study.create(space={"x": belated.Real(0, 1)}, silence="unknown", regret="cumulative", seed=0)
            for _ in range(2)
        )
        for study in (here, there):
            study.add_many([{"params": {"x": i / 90}, "value": (i / 90 - 0.3) ** 2} for i in range(90)])
        monkeypatch.setattr(summary, "sum_chunk", make_deadly(tmp_path, summary.sum_chunk))
        found = there.refit(executor=executor)
        monkeypatch.undo()
        use_sizes(monkeypatch, Sizes(exact=40, centres=16, newest=8, block=8, chunk=2, aside=3))
        assert len(list(tmp_path.iterdir())) >= 6  # five chunks, one of them twice
        assert found == here.refit()
        assert found is not None
        assert found.centres
        points = [{"x": i / 20} for i in range(20)]
        mine, theirs = here.posterior(points), there.posterior(points)
        np.testing.assert_allclose(mine.mean, theirs.mean, rtol=0, atol=1e-9)
        np.testing.assert_allclose(mine.std, theirs.std, rtol=0, atol=1e-9)
