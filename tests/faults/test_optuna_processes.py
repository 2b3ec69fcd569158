"""Several processes work on one Optuna study, and one of them is killed."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("optuna")

import optuna
from optuna.trial import TrialState

WORK = """
import sys, time, optuna
from belated.integrations.optuna import BelatedSampler

def objective(trial):
    x, y = (trial.suggest_float(name, 0, 1) for name in "xy")
    time.sleep(0.02 * (trial.number % 3))
    if sys.argv[2] == "hang" and trial.number > 3:
        print("hangs", flush=True)
        time.sleep(600)
    return (x - 0.3) ** 2 + (y - 0.6) ** 2

optuna.logging.set_verbosity(optuna.logging.ERROR)
sampler = BelatedSampler(silence="unknown", patience="1h", seed=0)
study = optuna.load_study(study_name="shared", storage=sys.argv[1], sampler=sampler)
study.optimize(objective, n_trials=12)
"""


def start(url: str, how: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", WORK, url, how], stdout=subprocess.PIPE, text=True)


def test_processes_share_a_study_and_one_that_dies_leaves_a_pending_trial(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/optuna.db"
    study = optuna.create_study(storage=url, study_name="shared")
    dies = start(url, "hang")
    workers = [start(url, "work") for _ in range(2)]
    try:
        assert dies.stdout is not None
        assert dies.stdout.readline() == "hangs\n"
        dies.kill()
        assert [worker.wait(120) for worker in workers] == [0, 0]
    finally:
        for process in (dies, *workers):
            process.kill()
            process.communicate()
    trials = study.trials
    states = [trial.state for trial in trials]
    assert (states.count(TrialState.COMPLETE), states.count(TrialState.RUNNING)) == (len(trials) - 1, 1)
    assert [trial.number for trial in trials] == list(range(len(trials)))
    assert study.best_value < 0.02
    (pending,) = (trial.params for trial in trials if trial.state == TrialState.RUNNING)
    after = [trial.params for trial in trials if trial.state == TrialState.COMPLETE]
    assert pending not in after
