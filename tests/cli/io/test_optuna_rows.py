"""`belated import --optuna`: a study of Optuna's goes on in belated."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna")

import optuna
from optuna.distributions import FloatDistribution
from optuna.trial import FrozenTrial, TrialState

import belated
from tests.cli.shell import STORE, check_refused, invoke, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")
optuna.logging.set_verbosity(optuna.logging.ERROR)

OLD = "sqlite:///old.db"
NOON = datetime(2026, 5, 4, 12)


def make_old_study(*trials: tuple[float, float, float | None, TrialState], name: str = "tuning") -> Any:
    """A study of Optuna's with trials (x, started, ended, how), in hours after noon; the value of x is 10 x."""
    study = optuna.create_study(storage=OLD, study_name=name)
    for x, start, end, state in trials:
        study.add_trial(
            FrozenTrial(
                number=0,
                trial_id=0,
                state=state,
                value=10 * x if state == TrialState.COMPLETE else None,
                datetime_start=NOON + timedelta(hours=start),
                datetime_complete=None if end is None else NOON + timedelta(hours=end),
                params={"x": x},
                distributions={"x": FloatDistribution(0, 1)},
                user_attrs={},
                system_attrs={},
                intermediate_values={},
            )
        )
    return study


FOUR = (
    (0.1, 0, 3, TrialState.COMPLETE),
    (0.2, 1, 2, TrialState.PRUNED),
    (0.3, 2.5, None, TrialState.RUNNING),
    (0.4, 4, 4, TrialState.COMPLETE),
)


def open_tuning() -> belated.Study:
    return belated.Study.open(STORE, "tuning")


def test_a_study_is_made_with_its_trials_their_times_and_delays() -> None:
    make_old_study(*FOUR)
    printed = invoke("import", "--optuna", OLD, "tuning").stdout
    assert printed == "Imported 4 rows: 4 new trials, 0 here before, 2 outcomes, 1 failed\n"
    study = open_tuning()
    assert (study.settings.objective.goal, study.settings.silence.name) == ("minimize", "unknown")
    trials = study.trials()
    assert [trial.params["x"] for trial in trials] == [0.1, 0.2, 0.3, 0.4]
    assert [(trial.status, trial.outcome, trial.delay) for trial in trials] == [
        ("heard", 1.0, 3.0),  # rounds: three trials had been asked when it came
        ("failed", None, None),
        ("pending", None, None),
        ("heard", 4.0, None),  # it was added with its value
    ]
    noon = NOON.timestamp()
    assert [trial.asked_at - noon for trial in trials] == [0, 3600, 9000, 14400]
    assert trials[0].told_at == noon + 3 * 3600
    assert [trial.failure for trial in trials] == [None, "lost", None, None]


def test_importing_again_adds_what_is_new() -> None:
    theirs = make_old_study(*FOUR)
    invoke("import", "--optuna", OLD, "tuning")
    assert run_json("import", "--optuna", OLD, "tuning")["new"] == 0
    theirs.tell(2, 3.5)
    theirs.tell(theirs.ask({"x": FloatDistribution(0, 1)}), 0.5)
    again = run_json("import", "--optuna", OLD, "tuning")
    assert (again["new"], again["known"], again["told"]) == (1, 4, 2)
    assert open_tuning().trial(3).outcome == 3.5


def test_a_pruned_trial_counts_as_the_silence_says() -> None:
    make_old_study(*FOUR)
    invoke("import", "--optuna", OLD, "tuning", "--silence", "floor")
    assert open_tuning().trial(2).failure == "infeasible"
    assert "has another silence" in invoke("import", "--optuna", OLD, "tuning", "--silence", "unknown", code=2).stderr


def test_a_study_that_exists_keeps_its_own_settings() -> None:
    make_old_study(*FOUR)
    invoke("new", "mine", "--real", "x", "0", "2", "--goal", "minimize", "--silence", "fading", "--seed", "0")
    assert run_json("import", "mine", "tuning", "--optuna", OLD)["new"] == 4
    assert belated.studies(STORE) == ["mine"]


def test_a_dry_run_and_a_wrong_trial_make_nothing() -> None:
    make_old_study(*FOUR)
    assert invoke("import", "--optuna", OLD, "tuning", "--dry-run").stdout.startswith("Would import 4 rows: 4 new")
    assert not Path("belated.db").exists()
    invoke("new", "mine", "--real", "x", "0", "0.0001", "--goal", "minimize", "--silence", "fading", "--seed", "0")
    refused = invoke("import", "mine", "tuning", "--optuna", OLD, code=2).stderr
    assert "  tuning:3: x: value must not be farther than 1000 ranges from 0.0 to 0.0001 (got 0.4)" in refused
    assert belated.Study.open(STORE, "mine").rounds == 0


def test_what_is_left_out_is_said() -> None:
    study = make_old_study(*FOUR)
    both = {"x": FloatDistribution(0, 1), "branch": FloatDistribution(0, 1)}
    study.tell(study.ask(both), 1.0)
    ran = invoke("import", "--optuna", OLD, "tuning")
    assert ran.stderr == "Warning: left out, as not every trial has a choice of them: branch\n"
    assert open_tuning().settings.space.names == ("x",)


def test_a_silence_belongs_to_optuna() -> None:
    invoke("new", "lab", "--real", "x", "0", "1", "--silence", "unknown", "--seed", "0")
    check_refused(["import", "past.csv", "--silence", "floor"], "--silence belongs to --optuna")
