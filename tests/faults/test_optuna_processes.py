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


FORK = """
import os, signal, threading, optuna
from optuna.distributions import FloatDistribution
from belated.integrations.optuna import BelatedSampler
from belated.silence import Unknown

chosen, go_on, slow = threading.Event(), threading.Event(), True

class Slow(Unknown):
    def fill(self, h, floor, heard):
        if slow:
            chosen.set()
            go_on.wait()
        return super().fill(h, floor, heard)

optuna.logging.set_verbosity(optuna.logging.ERROR)
space = {"x": FloatDistribution(0, 1)}
study = optuna.create_study(sampler=BelatedSampler(silence=Slow(), seed=0))
for i in range(9):
    study.add_trial(optuna.create_trial(params={"x": i / 9}, distributions=space, value=float(i)))
thread = threading.Thread(target=study.ask, args=(space,))
thread.start()
chosen.wait()  # the thread is in the middle of its choice, and holds the sampler's lock
child = os.fork()
slow = False
if child == 0:
    signal.alarm(60)  # nobody waits for a child that hangs
    os._exit(0 if "x" in study.ask(space).params else 1)
print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
go_on.set()
thread.join()
print("parent", "x" in study.ask(space).params)
"""


def test_a_process_may_fork_while_a_thread_chooses() -> None:
    ran = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=False, timeout=120)
    assert ran.stdout == "child 0\nparent True\n", ran.stderr
