"""A study in Optuna's storage, read."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna")

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from belated import Choice, Integer, InvalidInput, Real, Study, UnknownStudy, Unreadable
from belated.integrations.optuna.reading import read_study

optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/old.db"


def add(study: Any, params: dict[str, Any], **distributions: Any) -> None:
    study.add_trial(optuna.create_trial(params=params, distributions=distributions, value=1.0))


def test_the_space_has_what_all_completed_trials_share_in_ranges_that_hold_them_all(url: str) -> None:
    study = optuna.create_study(storage=url, study_name="old", direction="maximize")
    kinds, rate = CategoricalDistribution(("a", None, 2)), FloatDistribution(1e-4, 1, log=True)
    every = {"kind": "a", "rate": 0.1, "n": 3, "step": 0.5, "one": 1.0}
    one = FloatDistribution(1, 1)
    add(study, every, kind=kinds, rate=rate, n=IntDistribution(0, 5), step=FloatDistribution(0, 1, step=0.5), one=one)
    more = {**every, "n": 9, "branch": 0.5}
    wider = {"n": IntDistribution(2, 9), "step": FloatDistribution(0, 2, step=0.5), "branch": FloatDistribution(0, 1)}
    add(study, more, kind=kinds, rate=rate, one=one, **wider)
    study.ask({"n": IntDistribution(0, 5)})
    study.enqueue_trial({"n": 1})
    read = read_study(url, "old")
    assert read.space == {
        "kind": Choice("a", None, 2),
        "n": Integer(0, 9),
        "rate": Real(1e-4, 1, log=True),
        "step": Real(0, 2),
    }
    assert read.goal == "maximize"
    assert read.left_out == ("branch", "one")
    assert [(trial.number, trial.state) for trial in read.trials] == [
        (0, TrialState.COMPLETE),
        (1, TrialState.COMPLETE),
    ]


def test_what_is_not_there_is_said_and_nothing_is_made(url: str, tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"^there is no file .*old\.db$"):
        read_study(url, "old")
    assert list(tmp_path.iterdir()) == []
    optuna.create_study(storage=url, study_name="older")
    with pytest.raises(UnknownStudy, match=r"^Optuna has no study 'old' there; it has older$"):
        read_study(url, "old")


def test_a_file_that_is_not_optunas_stays_as_it_is(tmp_path: Path) -> None:
    ours, text = tmp_path / "lab.db", tmp_path / "notes.txt"
    Study.create(f"sqlite:///{ours}", "lab", space={"x": Real(0, 1)}, silence="unknown", seed=0).disconnect()
    text.write_text("no database")
    before = ours.read_bytes()
    for path in (ours, text):
        with pytest.raises(Unreadable, match=r"is not a storage of Optuna$"):
            read_study(f"sqlite:///{path}", "lab")
    assert ours.read_bytes() == before


def test_a_url_that_optuna_cannot_open_is_refused_without_its_password() -> None:
    with pytest.raises(Unreadable, match="is no storage that Optuna can read") as refused:
        read_study("postgresql+nodriver://me:secret@nowhere/db", "old")
    assert "secret" not in str(refused.value)


def test_a_study_that_belated_cannot_take_is_refused(url: str) -> None:
    optuna.create_study(storage=url, study_name="two", directions=["minimize", "minimize"])
    with pytest.raises(InvalidInput, match="must have one objective"):
        read_study(url, "two")
    optuna.create_study(storage=url, study_name="none")
    with pytest.raises(InvalidInput, match=r"^no parameter is shared by all completed trials of 'none'$"):
        read_study(url, "none")
