"""`belated best`: the best trial, in all contexts or in one."""

import pytest

from tests.cli.shell import SPACE, check_refused, invoke, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_the_best_trial_is_printed() -> None:
    invoke("new", "lab", *SPACE)
    for value in ("0.25", "0.75", "0.5"):
        invoke("add", "x=0.5", "act=relu", "--value", value)
    assert invoke("best").stdout == "Trial 2: 0.75\n  x    0.5\n  act  relu\n"


def test_the_best_in_one_context() -> None:
    invoke("new", "lab", *SPACE, "--context-real", "t", "0", "40")
    invoke("add", "x=0.2", "act=relu", "--context", "t=20", "--value", "0.5")
    invoke("add", "x=0.1", "act=relu", "--context", "t=3", "--value", "0.9")
    assert run_json("best", "--context", "t=20")["number"] == 1
    assert run_json("best")["number"] == 2
    invoke("best", "--context", "t=21", code=2)


@pytest.mark.usefixtures("lab")
def test_bad_input_is_one_sentence_and_nothing_is_stored() -> None:
    check_refused(["best", "lob"], "there is no study 'lob'; there are lab")
    check_refused(["best", "lab", "2"], "the arguments must be [NAME] (got lab 2)")
