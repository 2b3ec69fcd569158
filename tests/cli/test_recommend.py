"""`belated recommend`: the query that the study believes to be best."""

import pytest

from tests.cli.shell import SPACE, check_refused, invoke, open_lab, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_what_is_recommended_comes_with_its_interval() -> None:
    invoke("new", "lab", *SPACE)
    for x, value in (("0.2", "0.25"), ("0.5", "0.75"), ("0.9", "0.5")):
        invoke("add", f"x={x}", "act=relu", "--value", value)
    found, printed = open_lab().recommend(), run_json("recommend")
    assert (printed["params"], printed["quantity"], printed["trial"]) == (found.params, "mean", None)
    assert (printed["value"], printed["low"], printed["high"]) == (found.value, found.low, found.high)
    words = invoke("recommend").stdout.splitlines()
    assert words[0] == f"Mean {found.value:.4g} (90 %: {found.interval}); never asked: other queries suggest it"
    assert words[2] == f"  act  {found.params['act']}"


def test_it_is_for_one_context() -> None:
    invoke("new", "lab", *SPACE, "--context-real", "t", "0", "40")
    invoke("add", "x=0.2", "act=relu", "--context", "t=20", "--value", "0.5")
    assert run_json("recommend", "--context", "t=20")["context"] == {"t": 20.0}
    assert "context must be given: t" in invoke("recommend", code=2).stderr


@pytest.mark.usefixtures("lab")
def test_bad_input_is_one_sentence_and_nothing_is_stored() -> None:
    check_refused(["recommend", "lob"], "there is no study 'lob'; there are lab")
    check_refused(["recommend", "lab", "2"], "the arguments must be [NAME] (got lab 2)")
