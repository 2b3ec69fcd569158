"""`belated outlook`: what more queries are likely to bring."""

import pytest

from tests.cli.shell import SPACE, check_refused, invoke, open_lab, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_the_shell_says_what_python_says() -> None:
    invoke("new", "lab", *SPACE)
    for x, value in (("0.2", "0.25"), ("0.5", "0.75"), ("0.9", "0.5")):
        invoke("add", f"x={x}", "act=relu", "--value", value)
    found = open_lab().outlook(5, margin=0.2)
    assert run_json("outlook", "-n", "5", "--margin", "0.2") == found.to_dict()
    assert invoke("outlook", "lab", "-n", "5", "--margin", "0.2").stdout == f"{found}\n"
    assert run_json("show")["outlook"] == open_lab().outlook().to_dict()


@pytest.mark.usefixtures("lab")
def test_bad_input_is_one_sentence_and_nothing_is_stored() -> None:
    check_refused(["outlook", "lab", "-n", "-1"], "queries must be at least 0 (got -1)")
    check_refused(["outlook", "lab", "-n", "201"], "queries must be at most 200")
    check_refused(["outlook", "lab", "--margin", "-1"], "margin must be a finite number of at least 0 (got -1.0)")
    check_refused(["outlook", "lob"], "there is no study 'lob'; there are lab")


def test_a_closed_study_and_one_that_heard_nothing_have_none_to_show() -> None:
    invoke("new", "lab", *SPACE)
    assert run_json("show")["outlook"] is None
    check_refused(["outlook", "lab"], "No outcome has been heard yet")
    invoke("add", "x=0.2", "act=relu", "--value", "1")
    assert run_json("show")["outlook"]["queries"] == 10
    invoke("close", "lab")
    assert run_json("show")["outlook"] is None
