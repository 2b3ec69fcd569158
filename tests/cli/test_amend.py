"""`belated amend`: outcomes, the floor and the limits."""

import pytest

import belated
from tests.cli.shell import check_refused, invoke, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_an_outcome_is_corrected_and_one_that_is_missing_is_refused(lab: belated.Study) -> None:
    assert run_json("amend", "1", "-0.25", "--reason", "sign")["outcome"] == -0.25
    assert invoke("amend", "1", "0.75", "--reason", "again").stdout == "Trial 1: 0.75 from now on\n"
    assert lab.trial(1).outcome == 0.75
    assert "no outcome to amend" in invoke("amend", "2", "0.5", "--reason", "typo", code=2).stderr


@pytest.mark.usefixtures("lab")
def test_the_floor_and_the_limits_hold_from_now_on() -> None:
    assert run_json("amend", "lab", "--floor", "-1", "--limits", "-2", "2", "--reason", "new sensor") == {
        "study": "lab",
        "floor": -1.0,
        "limits": [-2.0, 2.0],
        "patience": "none",
        "ranges": {"x": [0.0, 1.0]},
    }
    assert "limits -2.0 to 2.0" in invoke("tell", "2", "3", code=2).stderr


REFUSED = [
    (
        ["amend", "lab", "1", "--reason", "typo"],
        'VALUE is missing; for example: belated amend lab 1 0.28 --reason "..."',
    ),
    (["amend", "1", "0.6", "--reason", " "], "reason must say why"),
    (["amend", "1", "0.5"], "Missing option '--reason'"),
    (["amend", "1", "nan", "--reason", "typo"], "value must be a finite number"),
    (["amend", "--limits", "2", "1", "--reason", "typo"], "limits must have lo less than hi (got 2.0, 1.0)"),
    (["amend", "1", "1", "--floor", "0", "--reason", "typo"], "the arguments must be [NAME] with --floor, --limits"),
]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(("args", "sentence"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_one_sentence_and_nothing_is_stored(args: list[str], sentence: str) -> None:
    check_refused(args, sentence)


def test_every_mistake_has_its_option(lab: belated.Study) -> None:
    invoke("fail", "2", "infeasible", "--by", "Anna")
    assert (
        invoke("amend", "2", "--failure", "lost", "--reason", "the flask broke").stdout == "Trial 2: lost from now on\n"
    )
    assert invoke("amend", "2", "--take-back", "--reason", "found").stdout == "Trial 2: pending from now on\n"
    assert run_json("amend", "lab", "1", "--at", "2026-03-01T12:00", "--reason", "clock")["outcome"] == 0.5
    changed = run_json("amend", "1", "--run", "x=0.75", "--reason", "the knob has steps", "--by", "Anna")
    assert (changed["params"]["x"], changed["asked_params"]) == (0.75, lab.events()[0].params)
    said = run_json("amend", "--range", "x", "0", "2", "--patience", "20", "--reason", "at the edge")
    assert (said["ranges"], said["patience"]) == ({"x": [0.0, 2.0]}, "20 rounds")
    assert belated.check("sqlite:///belated.db").ok


def test_the_study_is_as_it_is_now_for_new(lab: belated.Study) -> None:
    invoke("amend", "--range", "x", "0", "2", "--reason", "at the edge")
    space = ("--choice", "act", "relu,tanh", "--silence", "unknown", "--seed", "0")
    assert "exists with these settings" in invoke("new", "lab", "--real", "x", "0", "2", *space).stdout
    assert "exists with another space" in invoke("new", "lab", "--real", "x", "0", "1", *space, code=2).stderr
    assert lab.settings.created_by is None


@pytest.mark.usefixtures("lab")
def test_limits_name_the_outcomes_that_lie_outside() -> None:
    said = invoke("amend", "--limits", "0.6", "1", "--reason", "the scale ends there").stderr
    assert said == "Warning: trial 1 was told 0.5, outside the limits; it stays in use\n"
    assert invoke("amend", "--limits", "0", "1", "--reason", "no").stderr == ""
