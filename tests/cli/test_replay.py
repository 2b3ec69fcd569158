"""`belated replay`: choices computed again."""

import pytest

from tests.cli.shell import check_refused, invoke, run_json

pytestmark = pytest.mark.usefixtures("lab")


def test_one_choice_or_every_choice_is_compared() -> None:
    assert invoke("replay", "lab", "2").stdout == "trial 2: the same query, bit for bit\n"
    assert invoke("replay").stdout.splitlines() == [f"trial {n}: the same query, bit for bit" for n in (1, 2)]
    invoke("add", "x=0.5", "act=relu")  # by hand: there is nothing to replay
    assert [(each["number"], each["same"], each["ok"]) for each in run_json("replay")] == [
        (1, True, True),
        (2, True, True),
    ]
    check_refused(["replay", "lab", "3"], "trial 3 was given by hand")


def test_bad_input_is_one_sentence_and_nothing_is_stored() -> None:
    check_refused(["replay", "lab", "9"], "there is no trial 9; trials 1 to 2 exist")
    check_refused(["replay", "lab", "1", "2"], "the arguments must be [NAME] [NUMBER] (got lab 1 2)")
    check_refused(["replay", "a", "b"], "the arguments must be [NAME] [NUMBER] (got a b)")
