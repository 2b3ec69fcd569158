"""What an executor of another library must do for us: several processes, one of which is killed in mid-work."""

import os
import signal
import time
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np

import belated
from belated.execution.optimize import Run
from belated.execution.parallel import run_in_parallel


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
