"""`belated refit`: hyperparameters ahead of time."""

from types import SimpleNamespace

import pytest

from belated import Study
from tests.cli.shell import SPACE, invoke, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def add_rows() -> None:
    invoke("new", "lab", *SPACE)
    for x in ("0.1", "0.4", "0.9"):
        invoke("add", f"x={x}", "act=relu", "--value", x)


def test_refit_records_a_fit_for_the_next_trial() -> None:
    add_rows()
    assert invoke("refit").stdout == "Study lab: fitted to 3 outcomes; used from trial 4 on\n"
    assert run_json("refit")["fitted"]["number"] == 4
    assert len(Study.open("sqlite:///belated.db", "lab").hyperparameters()) == 2


def test_refit_says_when_there_is_nothing_to_fit() -> None:
    invoke("new", "lab", *SPACE)
    assert "too little was heard" in invoke("refit").stdout
    assert run_json("refit") == {"study": "lab", "fitted": None}


def test_refit_again_and_again_until_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    add_rows()
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("belated.cli.refit.time", SimpleNamespace(sleep=sleep))  # other threads go on sleeping
    assert invoke("refit", "--every", "30m", code=130).stdout.count("fitted to") == 3
    assert pauses == [1800.0] * 3


def test_refit_refuses_a_time_that_is_none() -> None:
    add_rows()
    assert "--every must be a number and a unit" in invoke("refit", "--every", "often", code=2).stderr
