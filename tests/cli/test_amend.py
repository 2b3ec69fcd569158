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
    (["amend", "1", "1", "--floor", "0", "--reason", "typo"], "the arguments must be [NAME] with --floor or --limits"),
]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(("args", "sentence"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_one_sentence_and_nothing_is_stored(args: list[str], sentence: str) -> None:
    check_refused(args, sentence)
